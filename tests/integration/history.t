#!/bin/sh
# log of a path, find, grep, diff of snapshots: what the store remembers.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# field N of the row of snapshot S
row() {
	sed -n "s/^$1  *//p" "$out"
}

# --- log of a path ---
mkdir h
echo one >h/a
echo 'the same bytes' >h/old-name
gives 0 'the first snapshot' guard snapshot -m 'at first'
echo two >>h/a
mv h/old-name h/new-name
gives 0 'the second' guard snapshot
guard run -- sh -c 'chmod 600 h/a; rm h/new-name; echo made >h/made' \
	>"$out" 2>"$err"
gives 0 'apply of a run' guard apply -y
rm h/a
gives 0 'the last' guard snapshot
gives 0 'log of a file' guard log h/a
is "$(wc -l <"$out")" 5 'has a row for each version'
is "$(sed 's/  *[0-9.]* B//; s/  */ /g' "$out" | cut -d' ' -f4- |
	sed 's/^\(post-[a-z]*\) [^ ]* /\1 RUN /; s/ sh -c.*/ COMMAND/')" \
	'manual deleted
post-apply RUN metadata COMMAND
post-run RUN metadata COMMAND
manual modified
manual first at first' 'which say what happened, and why'
gives 0 'log of a name that came' guard log h/new-name
says "$out" 'from h/old-name'
says "$out" 'deleted'
gives 0 'log of a name that went' guard log h/old-name
says "$out" 'now h/new-name'
gives 0 'log of a folder' guard log h
is "$(row 2 | sed 's/.*modified  *//')" '+1 ~1 -1' \
	'counts what changed below it'
gives 0 'log of a path as JSON' guard log --json h/new-name
says "$out" '"change": "added"'
says "$out" "\"renamed_from\": \"$HOME/project/h/old-name\""
says "$out" '"command": "sh -c chmod'
gives 1 'log of what never was' guard log h/never
says "$err" "no version of '$HOME/project/h/never' is stored"
printf x >"$(printf 'h/\033[31mred')"
guard snapshot -q >"$out"
gives 0 'log of an odd name' guard log "$(printf 'h/\033[31mred')"
mv "$(printf 'h/\033[31mred')" h/plain
guard snapshot -q >"$out"
gives 0 'log where that name is told' guard log h/plain
says "$out" 'from h/\x1b[31mred'

finish
