#!/bin/sh
# Kinds of hunks: a codemod of many files with two odd hunks in it.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir src
i=0
while [ $i -lt 200 ]; do
	i=$((i + 1))
	{
		echo "var m$i = require(\"lib/m$i\")"
		seq 10
		echo "module.exports = m$i"
	} >src/m$i.js
	echo "version: 1.$i" >src/m$i.yml
done
echo old >gone
git add -A
git commit -q -m files
ok 'a codemod runs' guard run -q -- sh -c '
	sed -i "s/^var \(.*\) = require(\(.*\))/import \1 from \2/
		s/^module.exports = /export default /" src/*.js
	sed -i "s/lib.m77\"/lib\/m78\"/" src/m77.js
	sed -i "s/default m33/default eval(m33)/" src/m33.js
	for i in $(seq 20); do sed -i "s/1.*/2.$((i % 3))/" src/m$i.yml; done
	mkdir -p .vscode
	echo "{\"tasks\":[{\"runOptions\":{\"runOn\":\"folderOpen\"}}]}" \
		>.vscode/tasks.json
	rm gone
	echo new >added'

gives 0 'diff --kinds shows the kinds' guard diff --kinds
says "$out" '420 hunks of 24 kinds'
is "$(grep -c '^[ !] *[0-9]* *[0-9a-f]\{6,\}  src/m' "$out")" 4 \
	'each kind outside of a family has one line'
is "$(grep '^  *1  [0-9a-f]*  src.*js$' "$out" | sed 's/^.*  //')" 'src/m33.js
src/m77.js' 'the odd ones are on top'
says "$out" '+export default eval(m33)'
says "$out" '+import m77 from "lib/m78"'
says "$out" 'src/m1.js and 198 other files'
says "$out" '      20  family'
says "$out" '20 kinds, rare ones first; they differ in these values:'
says "$out" '1.5 -> 2.2  src/m5.yml'
says "$out" '3 other changes have no kind'
id=$(sed -n 's/^ *1  \([0-9a-f]*\)  src.m33.js$/\1/p' "$out")
gives 0 'diff --kinds of a path' guard diff --kinds -- src/m33.js
says "$out" '2 hunks of 2 kinds'
says "$out" "$id"
gives 2 'two runs have no kinds' guard diff --kinds 1 1
says "$err" 'one run'
gives 0 'review --kinds without a terminal prints them' guard review --kinds
says "$out" '420 hunks of 24 kinds'
says "$out" 'export default eval(m33)'

# --- one kind alone ---
import=$(guard diff --kinds | sed -n 's/^ *199  \([0-9a-f]*\)  src.m1.js .*$/\1/p' |
	head -n 1)
gives 1 'an unknown kind is refused' guard apply -y --kind 000000
says "$err" "no kind '000000'"
gives 2 '--kind is not for --patch' guard apply -p --kind "$import"
gives 0 'apply -n shows the verdict on the run' guard apply -n --yes-to all
says "$out" '.vscode/tasks.json'
says "$out" '!!'
gives 0 'apply --kind applies the hunks of a kind' \
	guard apply -y --kind "$import"
says "$err" "kind $import: 199 hunks"
silent "$out" '.vscode/tasks.json'
silent "$out" '!!'
gives 0 'status has the verdict on all of the run' guard status
says "$out" '!!'
is "$(head -n 1 src/m1.js)" 'import m1 from "lib/m1"' 'a hunk of the kind is applied'
is "$(head -n 1 src/m77.js)" 'var m77 = require("lib/m77")' \
	'the odd hunk is not applied'
is "$(tail -n 1 src/m1.js)" 'module.exports = m1' \
	'another hunk of the same file is not applied'
is "$(cat gone)" old 'no deletion is applied'
gives 0 'the rest of the run is pending' guard diff --kinds
says "$out" '221 hunks of 23 kinds'
ok 'undo reverts a kind' guard undo -y -q

# --- answers to kinds ---
no 'a family is not taken before all its values were shown' \
	answers 'review --kinds' k j j y q n
says "$out" 'Apply 1 hunk of this kind'
gives 0 'the answers of a review are kept' grep -c . "$state"/runs/*/review
ok 'five answers take a codemod without its odd hunks' \
	answers 'review --forget --kinds' n n y y y q y
says "$out" '420 hunks of 24 kinds'
says "$out" 'Accepted: 220 of 223 changes'
is "$(head -n 1 src/m200.js)" 'import m200 from "lib/m200"' \
	'the kinds with a yes are applied'
is "$(head -n 1 src/m77.js)" 'var m77 = require("lib/m77")' \
	'a kind with a no is not applied'
is "$(tail -n 1 src/m33.js)" 'module.exports = m33' \
	'the other odd one is not applied, either'
is "$(head -n 1 src/m33.js)" 'import m33 from "lib/m33"' \
	'the good hunk of its file is'
no 'an added file without an answer is not applied' test -e added

# --- lines ---
mkdir ../lines
cd ../lines || exit 99
seq 40 >text
git init -q
git add -A
git commit -q -m lines
ok 'a run changes a text in five places' guard run -q -- sh -c '
	sed -i "3s/.*/three/;5s/.*/five/;20s/.*/twenty/;30d;40s/.*/forty/" text
	echo new >new'
gives 1 'lines that were not changed are refused' guard apply -y text:8-18
says "$err" 'did not change these lines'
gives 1 'lines of an added file are refused' guard apply -y new:1
says "$err" 'only a modified text'
gives 1 'lines are not for --patch' guard apply -p text:3
gives 0 'apply takes the lines of a text' guard apply -y text:4-10 text:29
says "$err" "'text:4-10': 1 of 5 hunks"
is "$(sed -n '3p;5p;20p;40p' text | tr '\n' ' ')" '3 five 20 ' \
	'only the hunks of these lines are applied'
is "$(sed -n '29,30p' text | tr '\n' ' ')" '29 31 ' \
	'a deletion behind the line is applied'
gives 0 'the other hunks are pending' guard diff --stat
says "$out" 'text  +3 -3'
ok 'undo reverts the lines' guard undo -y -q
is "$(cksum <text)" "$(seq 40 | cksum)" 'all lines are back'
gives 0 'a path beside lines is applied completely' guard apply -y text:39 new
is "$(cat new)" new 'the added file is applied'
is "$(tail -n 1 text)" forty 'and the line'
echo a >'name:3'
ok 'a run changes a file with such a name' guard run -q -- sh -c 'echo b >name:3'
gives 0 'the name of an existing file is no range' guard apply -y latest name:3
is "$(cat name:3)" b 'that file is applied'

# --- long hunks that are alike at their beginning ---
mkdir long
for i in 1 2 3; do seq 20 | sed 's/^/x /' >long/$i; done
git add -A
ok 'a run changes long blocks' guard run -q --name blocks -- sh -c '
	sed -i "s/^x/y/" long/*
	sed -i "s/^y 15$/evil/" long/2'
gives 0 'diff --kinds shows where the odd one differs' guard diff --kinds blocks
usual=$(sed -n 's/^ *2  \([0-9a-f]*\)  long.1 .*/\1/p' "$out")
says "$out" "... 32 lines as in $usual"
says "$out" '+evil'
ok 'and the usual one from its beginning' grep -q '^      -x 1$' "$out"
finish
