#!/bin/sh
# log of a path, find, grep and diff of snapshots.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# row S: the columns of snapshot S
row() {
	sed -n "s/^$1  *//p" "$out"
}

# --- log of a path ---
mkdir h
echo one >h/a
echo 'the same bytes' >h/old-name
gives 0 'the first snapshot has a message' guard snapshot -m 'at first'
echo two >>h/a
mv h/old-name h/new-name
gives 0 'a second snapshot contains a rename' guard snapshot
guard run -- sh -c 'chmod 600 h/a; rm h/new-name; echo made >h/made' \
	>"$out" 2>"$err"
gives 0 'apply of a run stores snapshots' guard apply --yes-to all -y
rm h/a
gives 0 'a last snapshot contains a deletion' guard snapshot
gives 0 'log accepts a file' guard log h/a
is "$(wc -l <"$out")" 6 'log of a file has a row for each version'
is "$(sed 's/  *[0-9.]* B//; s/  */ /g' "$out" | cut -d' ' -f4- |
	sed 's/^\(post-[a-z]*\|during-run\) [^ ]* /\1 RUN /; s/ sh -c.*/ COMMAND/')" \
	'manual deleted
post-apply RUN metadata COMMAND
post-run RUN metadata COMMAND
during-run RUN metadata
manual modified
manual first at first' \
	'log of a file prints the kind of each change and its reason'
gives 0 'log accepts the new name of a renamed file' guard log h/new-name
says "$out" 'from h/old-name'
says "$out" 'deleted'
gives 0 'log accepts the old name of a renamed file' guard log h/old-name
says "$out" 'now h/new-name'
gives 0 'log accepts a directory' guard log h
is "$(row 2 | sed 's/.*modified  *//')" '+1 ~1 -1' \
	'log of a directory counts the changes below it'
gives 0 'log --json accepts a path' guard log --json h/new-name
says "$out" '"change": "added"'
says "$out" "\"renamed_from\": \"$HOME/project/h/old-name\""
says "$out" '"command": "sh -c chmod'
gives 1 'log of an unknown path is refused' guard log h/never
says "$err" "no stored version of '$HOME/project/h/never'; \`guard find NAME\`"
printf x >"$(printf 'h/\033[31mred')"
guard snapshot -q >"$out"
gives 0 'log accepts a name with control characters' \
	guard log "$(printf 'h/\033[31mred')"
mv "$(printf 'h/\033[31mred')" h/plain
guard snapshot -q >"$out"
gives 0 'log accepts a file that had such a name' guard log h/plain
says "$out" 'from h/\x1b[31mred'

gives 0 'log --progress=json is accepted' guard log --progress=json h/a
says "$err" '"progress": "log", "unit": "snapshots"'
says "$err" '"ended": true'
gives 0 'du --progress=json is accepted' guard du --progress=json
says "$err" '"progress": "du", "unit": "'

# --- find ---
# plain: the output without times
plain() {
	sed 's/[0-9]*-[0-9]*-[0-9]* [0-9]*:[0-9]*:[0-9]*/TIME/g; s/  */ /g' \
		"$out"
}
gives 0 'find accepts a name' guard find old-name
is "$(plain)" '1 TIME TIME 15 B h/old-name' \
	'find prints the snapshots and the path'
gives 0 'find accepts a name that still there' guard find notes.txt
says "$out" 'still there'
is "$(wc -l <"$out")" 1 'find prints an unchanged file once'
gives 0 'find accepts a pattern' guard find '*-name'
is "$(wc -l <"$out")" 2 'find prints all matching names'
gives 0 'find accepts a pattern with directories' guard find 'src/**/f1*.c'
says "$out" 'src/f10.c'
silent "$out" 'src/f2.c'
gives 0 'find accepts a file with several versions' guard find a
is "$(plain)" '4-7 TIME TIME 8 B h/a
2-6 TIME TIME 8 B h/a
1 TIME TIME 4 B h/a' 'find prints every version, the newest first'
cd h || exit 99
gives 0 'find accepts a name from a subdirectory' guard find old-name
is "$(plain)" '1 TIME TIME 15 B old-name' \
	'find prints paths relative to the current directory'
cd .. || exit 99
gives 0 'find --at accepts a snapshot' guard find --at 1 '*-name'
is "$(wc -l <"$out")" 1 'find --at finds only files of that snapshot'
gives 0 'find -i ignores case' guard find -i 'OLD-NAME'
gives 0 'find --json is accepted' guard find --json old-name
says "$out" '"snapshots": 1'
says "$out" '"newest": false'
gives 1 'find without a match ends with 1' guard find old
says "$err" "'*PART*'"
gives 2 'find without a name ends with 2' guard find
gives 2 'find --at with --all-versions ends with 2' \
	guard find --at 1 --all-versions a
gives 2 'find --at with an invalid time ends with 2' guard find --at nonsense a
says "$err" "'latest~2'"
for verb in 'restore --at nonsense' 'grep --at nonsense' ls pin unpin; do
	# shellcheck disable=SC2086 # several words
	gives 2 "$verb with an invalid time ends with 2" guard $verb nonsense
done
gives 1 'a snapshot that does not exist is no usage error' guard ls 999
gives 0 'find --progress=json is accepted' guard find --progress=json h
is "$(tail -n 1 "$err" | python3 -c 'import json, sys
line = json.load(sys.stdin)
print(line["progress"], line["ended"], line["done"] == line["total"])')" \
	'find True True' 'find --progress=json prints the end of its work'
mkdir "$HOME/other"
echo 'elsewhere' >"$HOME/other/in-other"
guard -C "$HOME/other" snapshot -q >"$out"
gives 1 'find does not search other projects' guard find in-other
gives 0 'find -a searches all projects' guard find -a in-other
says "$out" "$HOME/other/in-other"
guard -C "$HOME/project/src" snapshot -q >"$out"

# --- grep ---
gives 0 'grep accepts a directory' guard grep one h
is "$(cat "$out")" '7:h/a:one' \
	'grep prints a line once, with the newest snapshot that has it'
gives 0 'grep finds lines of a deleted file' guard grep 'same b[y]tes'
is "$(cat "$out")" '6:h/new-name:the same bytes
1:h/old-name:the same bytes' 'grep prints each path of a renamed file'
number=$(sed -n 's/\(h\/old-name\):.*/\1/p' "$out")
gives 0 'show accepts the name that grep prints' guard show "$number"
is "$(cat "$out")" 'the same bytes' 'show prints the file that grep found'
gives 0 'grep -n prints line numbers' guard grep -n two h/a
says "$out" 'h/a:2:two'
gives 0 'grep -l is accepted' guard grep -l return src
is "$(wc -l <"$out")" 21 'grep -l prints each file once'
gives 0 'grep -F searches a fixed string' guard grep -F 'f1(void)' src
gives 2 'grep with an invalid expression ends with 2' guard grep 'f1(void'
says "$err" '-F'
gives 0 'grep -i ignores case' guard grep -i 'INT F1\(VOID\)' src
gives 1 'grep without a match ends with 1' guard grep 'no such text at all'
gives 0 'grep --at accepts a snapshot' guard grep --at 1 'same bytes'
is "$(cat "$out")" '1:h/old-name:the same bytes' \
	'grep --at searches only that snapshot'
printf 'a\0b\nfind me\n\033[31m\n' >h/binary
printf 'x\033[31mred\n' >h/escape
i=0
while [ $i -lt 400000 ]; do
	i=$((i + 1))
	echo "line $i of a long file"
done >h/long
guard snapshot -q >"$out"
gives 0 'grep accepts a binary file' guard grep 'find me'
says "$out" 'h/binary: binary, matches'
gives 0 'grep accepts a file with escape sequences' guard grep red h/escape
says "$out" 'x\x1b[31mred'
gives 0 'grep accepts a file of many chunks' \
	guard grep -n 'line 39.999 of' h/long
is "$(cut -d: -f3- "$out")" "$(grep -n 'line 39.999 of' h/long)" \
	'grep finds the same lines as grep(1)'
gives 0 'grep --json is accepted' guard grep --json 'line 399999 of'
says "$out" '"line": 399999'
git config user.x yes
guard snapshot -q >"$out"
gives 1 'grep does not search .git' guard grep 'x = yes'
gives 0 'grep searches .git when it is named' guard grep 'x = yes' .git
says "$out" '.git/config:'

# --- every form of a time ---
for when in 1 s1 latest latest~1 '0s ago' '0 min' today "$(date +%F)" \
	"$(date +%FT%TZ --utc)" "$(date '+%F %H:%M')" "$(date +%F) 23:59:59" \
	'today 23:59' 23:59; do
	gives 0 "show accepts the time '$when'" guard show "$when:README.md"
	ok "show prints the file of '$when'" \
		grep -q '# Project' "$out"
	gives 0 "find accepts the time '$when'" \
		guard find --at "$when" README.md
	gives 0 "grep accepts the time '$when'" \
		guard grep --at "$when" -l Project README.md
	gives 0 "restore accepts the time '$when'" \
		guard restore -y --at "$when" --to "$HOME/then" README.md
	ok "restore brings back the file of '$when'" \
		cmp README.md "$HOME/then/README.md"
	rm -r "$HOME/then"
	gives 0 "ls accepts the time '$when'" guard ls "$when"
	says "$out" README.md
	gives 0 "diff accepts the time '$when'" \
		guard diff --name-only "$when"
	gives 0 "pin accepts the time '$when'" guard pin "$when"
	gives 0 "unpin accepts the time '$when'" guard unpin "$when"
done
gives 1 'show of a time before all snapshots ends with 1' \
	guard show 'yesterday 14:30:README.md'
says "$err" "no version as old as 'yesterday 14:30'"
echo thirty >./30
guard snapshot -q >"$out"
gives 0 'show accepts a file whose name is a number' \
	guard show "$(cat "$out"):30"
is "$(cat "$out")" thirty 'show prints that file'

# --- diff of snapshots ---
last=$(guard log --no-pager -n 1 | sed 's/ .*//')
gives 0 'diff accepts two snapshots' guard diff 1 2
says "$out" 'from snapshot 1'
says "$out" '  R  h/old-name -> h/new-name'
says "$out" '+two'
gives 0 'diff accepts two snapshots in reverse order' \
	guard diff s2 s1 --name-status
is "$(cat "$out")" "$(printf 'R100\th/new-name\th/old-name\nM\th/a')" \
	'diff in reverse order shows the reverse changes'
gives 0 'diff --stat accepts two snapshots' guard diff --stat 1 2
says "$out" 'M  h/a  +1 -0'
gives 0 'diff of two snapshots accepts a path' guard diff 1 2 --name-only h/a
is "$(cat "$out")" h/a 'diff of a path shows only that path'
gives 2 'diff of a path that neither snapshot has ends with 2' \
	guard diff 1 2 h/nothing
says "$err" 'in neither of the two states'
gives 1 'diff --exit-code ends with 1 for different snapshots' \
	guard diff --exit-code 1 2
gives 0 'diff --exit-code ends with 0 for equal snapshots' \
	guard diff --exit-code 2 2
gives 0 'diff --json accepts two snapshots' guard diff --json 1 2
says "$out" '"schema": "guard.diff-snapshots/1"'
gives 0 'diff of the last snapshot and unchanged files ends with 0' \
	guard diff --exit-code "$last"
echo changed >>README.md
ln -s target h/link
rm -r docs
gives 0 'diff of a snapshot and the files is accepted' guard diff latest
says "$out" '+changed'
says "$out" '+target'
says "$out" '  D  docs/'
is "$(guard log --no-pager -n 1 | sed 's/ .*//')" "$last" \
	'diff stores no snapshot'
gives 2 'diff of a day before all snapshots ends with 2' \
	guard diff 2020-01-01 latest
says "$err" 'as old as'
touch 2
gives 2 'diff of a number that is also a file name ends with 2' guard diff 2
says "$err" 'write s2 for the snapshot'
rm 2
gives 2 'diff of an invalid time ends with 2' guard diff '2h agoo'
says "$err" "'latest~2'"
gives 2 'diff of an unknown snapshot ends with 2' guard diff 1 999
gives 2 'diff of snapshots of two directories ends with 2' guard diff 1 \
	"$(guard log --no-pager -a | sed -n "s|^\([0-9]*\) .*$HOME/other.*|\1|p" |
		head -n 1)"
says "$err" 'cannot compare a snapshot of'

finish
