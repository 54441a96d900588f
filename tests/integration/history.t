#!/bin/sh
# log of a path, find, grep, diff of snapshots: what the store remembers.
# users: one
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

gives 0 'log with progress for programs' guard log --progress=json h/a
says "$err" '"progress": "log", "unit": "snapshots"'
says "$err" '"ended": true'
gives 0 'du with it' guard du --progress=json
says "$err" '"progress": "du", "unit": "'

# --- find ---
# rows OF THE OUTPUT without times
plain() {
	sed 's/[0-9]*-[0-9]*-[0-9]* [0-9]*:[0-9]*:[0-9]*/TIME/g; s/  */ /g' \
		"$out"
}
gives 0 'find of a name' guard find old-name
is "$(plain)" '1 TIME TIME 15 B h/old-name' 'tells where it was'
gives 0 'find of what is there' guard find notes.txt
says "$out" 'still there'
is "$(wc -l <"$out")" 1 'once, though many snapshots hold it'
gives 0 'find by a glob' guard find '*-name'
is "$(wc -l <"$out")" 2 'lists all that match'
gives 0 'find below a folder' guard find 'src/**/f1*.c'
says "$out" 'src/f10.c'
silent "$out" 'src/f2.c'
gives 0 'find of every version' guard find a
is "$(plain)" '4-6 TIME TIME 8 B h/a
2-5 TIME TIME 8 B h/a
1 TIME TIME 4 B h/a' 'lists each, the newest first'
cd h || exit 99
gives 0 'find from a folder in it' guard find old-name
is "$(plain)" '1 TIME TIME 15 B old-name' 'shows the path from there'
cd .. || exit 99
gives 0 'find in one snapshot' guard find --at 1 '*-name'
is "$(wc -l <"$out")" 1 'only finds what is in it'
gives 0 'find in another case' guard find -i 'OLD-NAME'
gives 0 'find as JSON' guard find --json old-name
says "$out" '"snapshots": 1'
says "$out" '"newest": false'
gives 1 'find of nothing' guard find old
says "$err" "'*PART*'"
gives 2 'find without a name' guard find
gives 2 'find at a time and at all times' guard find --at 1 --all-versions a
gives 1 'find at no time' guard find --at nonsense a
says "$err" "'latest~2'"
gives 0 'find with progress for programs' guard find --progress=json h
is "$(tail -n 1 "$err" | python3 -c 'import json, sys
line = json.load(sys.stdin)
print(line["progress"], line["ended"], line["done"] == line["total"])')" \
	'find True True' 'tells the end of it'
mkdir "$HOME/other"
echo 'elsewhere' >"$HOME/other/in-other"
guard -C "$HOME/other" snapshot -q >"$out"
gives 1 'find of what another project has' guard find in-other
gives 0 'find in all of them' guard find -a in-other
says "$out" "$HOME/other/in-other"
guard -C "$HOME/project/src" snapshot -q >"$out"

# --- grep ---
gives 0 'grep' guard grep one h
is "$(cat "$out")" '6:h/a:one' \
	'prints a line once, with the newest that has it'
gives 0 'grep of what is gone' guard grep 'same b[y]tes'
is "$(cat "$out")" '5:h/new-name:the same bytes
1:h/old-name:the same bytes' 'names each path'
number=$(sed -n 's/\(h\/old-name\):.*/\1/p' "$out")
gives 0 'what it names' guard show "$number"
is "$(cat "$out")" 'the same bytes' 'can be shown'
gives 0 'grep with numbers of lines' guard grep -n two h/a
says "$out" 'h/a:2:two'
gives 0 'grep for names' guard grep -l return src
is "$(wc -l <"$out")" 21 'names each file once'
gives 0 'grep for plain text' guard grep -F 'f1(void)' src
gives 2 'grep for what is no expression' guard grep 'f1(void'
says "$err" '-F'
gives 0 'grep in either case' guard grep -i 'INT F1\(VOID\)' src
gives 1 'grep for nothing' guard grep 'no such text at all'
gives 0 'grep in one snapshot' guard grep --at 1 'same bytes'
is "$(cat "$out")" '1:h/old-name:the same bytes' 'leaves the others out'
printf 'a\0b\nfind me\n\033[31m\n' >h/binary
printf 'x\033[31mred\n' >h/escape
i=0
while [ $i -lt 400000 ]; do
	i=$((i + 1))
	echo "line $i of a long file"
done >h/long
guard snapshot -q >"$out"
gives 0 'grep in a binary file' guard grep 'find me'
says "$out" 'h/binary: binary, matches'
gives 0 'grep in a file with escapes' guard grep red h/escape
says "$out" 'x\x1b[31mred'
gives 0 'grep in a file of many pieces' guard grep -n 'line 39.999 of' h/long
is "$(cut -d: -f3- "$out")" "$(grep -n 'line 39.999 of' h/long)" \
	'finds the lines that grep finds'
gives 0 'grep as JSON' guard grep --json 'line 399999 of'
says "$out" '"line": 399999'
git config user.x yes
guard snapshot -q >"$out"
gives 1 'grep leaves .git alone' guard grep 'x = yes'
gives 0 'unless it is named' guard grep 'x = yes' .git
says "$out" '.git/config:'

# --- a point in time, wherever one is asked for ---
for when in 1 s1 latest latest~1 '0s ago' '0 min' today "$(date +%F)" \
	"$(date +%FT%TZ --utc)" "$(date '+%F %H:%M')" "$(date +%F) 23:59:59" \
	'today 23:59' 23:59; do
	gives 0 "show at $when" guard show "$when:README.md"
	ok 'is that file' grep -q '# Project' "$out"
	gives 0 'find then' guard find --at "$when" README.md
	gives 0 'grep then' guard grep --at "$when" -l Project README.md
	gives 0 'restore then' guard restore -y --at "$when" --to "$HOME/then" \
		README.md
	ok 'brings it' cmp README.md "$HOME/then/README.md"
	rm -r "$HOME/then"
	gives 0 'ls then' guard ls "$when"
	says "$out" README.md
	gives 0 'diff since then' guard diff --name-only "$when"
	gives 0 'pin of it' guard pin "$when"
	gives 0 'unpin of it' guard unpin "$when"
done
gives 1 'show before all of it' guard show 'yesterday 14:30:README.md'
says "$err" "no version as old as 'yesterday 14:30'"
echo thirty >./30
guard snapshot -q >"$out"
gives 0 'a number, a colon and a file of digits' guard show "$(cat "$out"):30"
is "$(cat "$out")" thirty 'is that file'

# --- diff of snapshots ---
last=$(guard log --no-pager -n 1 | sed 's/ .*//')
gives 0 'diff of two snapshots' guard diff 1 2
says "$out" 'from snapshot 1'
says "$out" '  R  h/old-name -> h/new-name'
says "$out" '+two'
gives 0 'the other way round' guard diff s2 s1 --name-status
is "$(cat "$out")" "$(printf 'D\th/new-name\nM\th/a\nA\th/old-name')" \
	'turns it round'
gives 0 'diff --stat' guard diff --stat 1 2
says "$out" 'M  h/a  +1 -0'
gives 0 'diff of a path' guard diff 1 2 --name-only h/a
is "$(cat "$out")" h/a 'is of that alone'
gives 2 'diff of a path that neither has' guard diff 1 2 h/nothing
says "$err" 'in neither of the two'
gives 1 'diff --exit-code' guard diff --exit-code 1 2
gives 0 'and without a difference' guard diff --exit-code 2 2
gives 0 'diff as JSON' guard diff --json 1 2
says "$out" '"schema": "guard.diff-snapshots/1"'
gives 0 'diff with the files, which are as stored' \
	guard diff --exit-code "$last"
echo changed >>README.md
ln -s target h/link
rm -r docs
gives 0 'diff with the files as they are now' guard diff latest
says "$out" '+changed'
says "$out" '+target'
says "$out" '  D  docs/'
is "$(guard log --no-pager -n 1 | sed 's/ .*//')" "$last" \
	'stores no snapshot'
gives 2 'diff with a day before all snapshots' guard diff 2020-01-01 latest
says "$err" 'as old as'
touch 2
gives 2 'a number that is a file, too' guard diff 2
says "$err" 'write s2 for the snapshot'
rm 2
gives 2 'diff with what is no point in time' guard diff '2h agoo'
says "$err" "'latest~2'"
gives 2 'diff with a snapshot that is not there' guard diff 1 999
gives 2 'diff of snapshots of two folders' guard diff 1 \
	"$(guard log --no-pager -a | sed -n "s|^\([0-9]*\) .*$HOME/other.*|\1|p" |
		head -n 1)"
says "$err" 'nothing to compare'

finish
