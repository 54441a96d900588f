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
	echo "{}" >.vscode/tasks.json
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
finish
