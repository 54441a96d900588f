#!/bin/sh
# review and apply --patch: the shown, asked and applied changes.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

helpers=$(dirname "$(command -v guard)")/tests/lib
make_home

# anew COMMAND ANSWER...: answers(), without the answers of an earlier review
anew() {
	rm -f "$state"/runs/*/review
	answers "$@"
}

cd "$HOME/project" || exit 99
seq 1 40 >text
mkdir -p old/deep
echo a >old/a
echo b >old/deep/b
echo '{"scripts": {"test": "jest"}}' >package.json
git add -A
git commit -q -m three
ok 'guard snapshot stores the committed files' guard snapshot -q

cat >"$HOME/work.sh" <<'END'
sed -i '3s/.*/three/;20s/.*/twenty/;22s/.*/twentytwo/;38s/.*/near the end/' text
rm -r old
mkdir -p .vscode new node_modules/left
echo '{"tasks": [{"command": "evil"}]}' >.vscode/tasks.json
echo '{"scripts": {"test": "jest", "postinstall": "evil"}}' >package.json
printf 'a\033[2Jb \342\200\256 c\n' >new/odd
echo kept >new/file
ln -s /etc/passwd new/link
chmod +x notes.txt
for i in 1 2 3 4 5 6; do echo $i >node_modules/left/$i.js; done
git config core.fsmonitor /nowhere/evil
echo evil >.git/hooks/post-checkout
echo more >>README.md
git -c core.fsmonitor=false -c user.name=run -c user.email=run commit -q -m 'by the run' README.md
END
ok 'a run changes files of many kinds' guard run -q -- sh "$HOME/work.sh"
run=$(guard status -q)
manifest "$HOME/project" >"$T/before"

# --- without a terminal review only prints ---
gives 0 'review prints into a pipe' guard review
says "$out" 'Deleted (1)'
says "$out" 'old/  with its entries: 2 files'
says "$out" 'runs when the directory is opened in an editor'
silent "$out" 'has set-id bits'
says "$out" 'fsmonitor = /nowhere/evil'
says "$out" 'scripts.postinstall: evil'
says "$out" 'leads out of the project: /etc/passwd'
says "$out" 'has invisible characters (U+202E, line 1)'
says "$out" '.git/hooks/post-checkout'
says "$out" 'text  +4 -4'
says "$out" 'is executable now'
says "$out" 'node_modules/  6 added'
silent "$out" 'left/3.js'
says "$err" 'guard review'
no 'review prints no control character' grep -q "$(printf '[\033\302]')" "$out"
is "$(grep -n -m 1 '' "$out" | cut -d ' ' -f 2)" "$run" \
	'the id of the run comes first'
first=$(grep -n 'Deleted (' "$out" | cut -d : -f 1)
has "$out" '; [0-9]* to look at first; '
then=$(grep -n 'Look at these first (' "$out" | cut -d : -f 1)
last=$(grep -n 'Modified (' "$out" | cut -d : -f 1)
ok 'review lists deletions, then dangerous changes, then the rest' \
	test "$first" -lt "$then" -a "$then" -lt "$last"
gives 1 'apply --patch without a terminal is refused' guard apply --patch
gives 2 'apply --patch with -y is refused' guard apply --patch -y
gives 0 'review accepts a path' guard review -- text
says "$out" 'text  +4 -4'
silent "$out" Deleted

# --- without an answer nothing is applied ---
no 'review ended by q applies nothing' anew review q
silent "$out" --------
says "$out" 'nothing applied'
no 'review ended by the end of input applies nothing' anew review
no 'review with a final no applies nothing' anew 'review -- text' a n
says "$out" 'Accepted: 1 of 1 change'
no 'A is refused before the dangerous changes are decided' \
	anew review A q
says "$out" 'deleted or dangerous file'
manifest "$HOME/project" >"$T/after"
ok 'the project is unchanged after declined reviews' same "$T/before" "$T/after"
no 'a declined review stores no snapshot' sh -c 'guard log | grep -q pre-apply'
printf 'y\n\003' | TERM=dumb timeout 60 script -q -e -c 'guard review' \
	/dev/null >"$out" 2>&1
manifest "$HOME/project" >"$T/after"
ok 'review ended by Ctrl-C changes no file' same "$T/before" "$T/after"
gives 0 'the run is still pending after Ctrl-C' guard status
says "$out" "$run  ended"

# --- parts of changes ---
ok 'review accepts hunks, split hunks, a search and a number' anew review \
	'/twenty' s n y '/three' y \
	'g 1' s y n '/package' n '/hooks/' n '/tasks' y q y
says "$out" 'split into 2 hunks'
says "$out" 'Accepted: 3 of '
says "$out" 'in part'
says "$out" 'guard undo reverts it'
is "$(sed -n 3p text)" three 'the accepted hunk is applied'
is "$(sed -n 20p text)" 20 'the declined half of a split hunk is not applied'
is "$(sed -n 22p text)" twentytwo 'the accepted half of a split hunk is applied'
is "$(sed -n 38p text)" 38 'a hunk without an answer is not applied'
no 'the accepted file of a split directory is deleted' test -e old/a
is "$(cat old/deep/b)" b 'the other file of the split directory stays'
is "$(cat .vscode/tasks.json)" '{"tasks": [{"command": "evil"}]}' \
	'an accepted new file is created with its directory'
no 'a file without an answer is not created' test -e new
no 'a hook without an answer is not created' test -e .git/hooks/post-checkout
gives 0 'review lists the rest of the run' guard review
says "$out" 'text  +2 -2'
silent "$out" 'tasks.json'
says "$out" 'old/  with its entries: 1 file'

# --- .git: every part has its own question ---
ok 'review accepts a git setting alone' \
	anew 'review -- .git/config' y y
is "$(git config core.fsmonitor)" /nowhere/evil \
	'the accepted git setting is applied'
no 'no hook is applied with the setting' test -e .git/hooks/post-checkout
is "$(git -c core.fsmonitor=false log -1 --format=%s)" three \
	'no commit is applied with the setting'
ok 'undo reverts the git setting' guard undo -y -q 1
no 'undo removes the git setting' git config core.fsmonitor
ok 'undo reverts the apply before it' guard undo -y -q 1
manifest "$HOME/project" >"$T/after"
ok 'undo restores the project' restored "$T/before" "$T/after"

# --- an edited hunk, and edits during the review ---
cat >"$HOME/editor.sh" <<'END'
sed -i 's/^+three$/+three and more/' "$1"
END
EDITOR="sh $HOME/editor.sh"
export EDITOR
ok 'a hunk can be edited' anew 'apply -p -- text' e d y
is "$(sed -n 3p text)" 'three and more' 'the edited hunk is applied'
ok 'undo reverts the edited hunk' guard undo -y -q

# The editor stands for a user who edits the project during the review, and for
# a process that changes the layer.
cat >"$HOME/editor.sh" <<'END'
sed -i '3s/.*/by the user/' text
echo swapped >"$LAYER/new/file"
END
LAYER=$state/runs/$run/upper
export LAYER
no 'a conflict that arises during the review is asked about' \
	anew 'review -- text new/file' e a y y q q n
says "$out" 'text  changed on both sides, from line 3 of yours on'
says "$out" "THE RUN'S"
says "$out" '(1/1) Which version [o,t,m,e,u,q,?]?'
is "$(sed -n 3p text)" 'by the user' 'the unanswered conflict changes no file'
no 'the unanswered conflict applies no other path' test -e new/file
echo kept >"$LAYER/new/file"
ok "the answer o keeps the user's version" \
	anew 'review -- text new/file' e a y y o
says "$out" '  conflict'
says "$out" '! you changed it, too, and the two conflict: the end of the review asks'
is "$(sed -n 3p text)" 'by the user' "the user's line is kept"
is "$(cat new/file)" kept 'the shown content is applied, not a later one'
ok 'undo reverts that review' guard undo -y -q
echo kept >"$LAYER/new/file"
ok 'u leaves the file of a conflict out' \
	anew 'review --forget -- text new/file' e a y y u
is "$(sed -n 3p text)" 'by the user' 'the file is unchanged'
is "$(cat new/file)" kept 'the other file is applied'
ok 'undo reverts what u left' guard undo -y -q
no 'm takes both versions, and says that they are to be resolved' \
	anew 'review --forget -- text new/file' e a y y m
ok 'the markers are in the file' grep -q '^>>>>>>> run' text
ok 'undo reverts the markers' guard undo -y -q
echo kept >"$LAYER/new/file"
ok "T takes the run's version everywhere" \
	anew 'review --forget -- text new/file' e a y y T
is "$(sed -n 3p text)" three "the run's line is in the file"
ok 'undo restores the version of the user' guard undo -y -q
gives 0 'a write into the layer after the end of the run is ignored' \
	guard apply -y -q "$run" -- new/file
is "$(cat new/file)" kept 'the file of the result is applied'
ok 'undo takes it back' guard undo -y -q
ok 'discard drops the run' guard discard -y -q "$run"

# --- refused and large changes ---
ok 'a run creates a set-id file and large changes' \
	guard run -q -- sh -c 'cp run.sh setid
	chmod 4755 setid; seq 3000 >long; rm src/f9.c
	mkdir many; for i in $(seq 50); do echo $i >many/$i; done
	head -c 3000 /dev/zero >zeros'
no 'review asks about a binary file' anew 'review -- zeros' q
is "$(grep -c '3\.0 KB' "$out")" 1 \
	'the title of a binary file has its size once'
cat >"$T/script" <<END
size 15 40
> ?\r
<   A    take all open changes but those
<        with !!, once deletions and risks
<   ?    this help
> q\r
end 1
END
ok 'the help fits into a narrow terminal' \
	env NO_COLOR=1 "$helpers/pty" "$T/script" guard review --no-pager
ok 'review accepts all changes with y and A' anew review y y y A y
says "$out" 'has set-id bits or capabilities'
says "$out" 'lines not shown'
is "$(stat -c %a setid)" 4755 'a yes to the set-id file applies its mode'
is "$(wc -l <long)" 3000 'the long file is applied completely'
is "$(find many -type f | wc -l)" 50 'the directory is applied completely'
no 'the deleted file is gone' test -e src/f9.c
ok 'a run creates two set-id files' \
	guard run -q -- sh -c 'cp run.sh one; cp run.sh two
	chmod 4755 one; chmod 2755 two; echo x >beside'
ok 'review accepts a no to one of two set-id files' anew review y n y y
is "$(stat -c %a one)" 4755 'the accepted set-id file is applied'
no 'the declined set-id file is not applied' test -e two
is "$(cat beside)" x 'the file beside them is applied'
guard undo -y -q
no 'apply with a no to a set-id file asks about the others' anew apply n y n
says "$out" "'one' carries set-id bits"
says "$out" "'two' carries set-id bits"
no 'apply with a final no applies nothing' test -e beside
list() {
	grep -o -e '^  [A-Z]  [a-z]*' -e "guard: '[a-z]*' carries" \
		-e "refused: '[a-z]*'" -e 'guard: run .*: [0-9] added' "$out" |
		sed -e 's/^  [A-Z]  //' -e 's/guard: //' -e 's/^run .*: //' | tr '\n' ' '
}
is "$(list)" \
	"beside one two 'one' carries 'two' carries 2 added " \
		'apply prints the whole list before the first question'
seq=$(guard log one | awk '/post-run/ { print $1; exit }')
gives 1 'restore refuses the set-id file of a run' guard restore --at "$seq" one
says "$err" 'nothing restored: name only paths that are not refused'
silent "$err" '--yes-to'
ok 'apply with a yes to each set-id file is accepted' anew apply y y y
is "$(list)" \
	"beside one two 'one' carries 'two' carries 3 added " \
		'apply prints the list, then asks about each set-id file'
is "$(stat -c %a one) $(stat -c %a two)" '4755 2755' \
	'apply writes both set-id files'
ok 'a run creates a set-id file and a socket' \
	guard run -q -- sh -c 'cp run.sh three
	chmod 4755 three; perl -MIO::Socket::UNIX -e \
		"IO::Socket::UNIX->new(Local => q(node), Listen => 1) or die"'
ok 'apply asks about the set-id file alone' anew apply y y
is "$(list)" "three 'three' carries 1 added " '... and lists no socket'

# --- some paths applied, then edited, then the rest applied ---
mkdir parts
cd parts || exit 99
for name in a b c d; do seq 5 >$name; done
part() {
	guard run -q -- sh -c 'echo run >>a; echo run >>b; rm c; echo run >>d
		echo run >new' && guard apply -y -q a b c new
}
ok 'some paths of a run are applied' part
echo mine >>a
echo mine >>new
rm b
echo mine >c
listed() {
	guard diff --name-status | tr '\t\n' '  '
}
is "$(listed)" 'M parts/d ' 'an edit after apply is no change of the run'
guard status >"$out"
says "$out" ' 1 modified '
gives 0 'an edit after apply is no conflict of the rest' guard apply -y
is "$(sed -n 's/^  //p' "$out")" 'M  parts/d  14 B' 'apply lists only the rest'
is "$(tail -qn 1 a c d new)" 'mine
mine
run
mine' 'apply of the rest keeps every edit'
no 'apply of the rest keeps a deletion' test -e b
for name in a b c d; do seq 5 >$name; done
rm new
ok 'some paths of a second run are applied' part
guard undo -y -q
sed -i '1s/.*/mine/' a
is "$(listed)" 'D!! parts/c M parts/a M parts/b M parts/d A parts/new ' \
	'after undo all paths are changes of the run again'
gives 0 'apply accepts an edit after undo' guard apply --yes-to all -y
says "$out" 'a  17 B  merged'
is "$(cat new)" run 'apply writes the files again that undo removed'
for name in a b c d; do seq 5 >$name; done
rm new
ok 'some paths of a third run are applied' part
seq 5 >a
rm new
is "$(listed)" 'M parts/d ' \
	'a file that the user takes back after an apply is no change any more'
gives 0 'apply accepts the rest' guard apply -y
is "$(tail -qn 1 a b d | sort | uniq -c | tr -s ' \n' ' ')" \
	' 1 5 2 run ' 'apply writes the rest alone'
no 'a new file that was taken back is not there' test -e new

for name in a b c d; do seq 5 >$name; done
rm new
ok 'some paths of a fourth run are applied' part
gives 0 'undo reverts the apply' guard undo -y -q
gives 0 'redo repeats the apply' guard redo -y -q
echo mine >>a
rm b
is "$(listed)" 'M parts/d ' \
	'an edit after a repeated apply is no change of the run'
gives 0 'apply of the rest is accepted after a repeated apply' guard apply -y
is "$(sed -n 's/^  //p' "$out")" 'M  parts/d  14 B' \
	'apply lists only the rest after a repeated apply'
is "$(tail -qn 1 a d new)" 'mine
run
run' 'apply keeps edits after a repeated apply'
no 'apply keeps a deletion after a repeated apply' test -e b
for name in a b c d; do seq 5 >$name; done
rm new
ok 'some paths of a fifth run are applied' part
guard undo -y -q
guard redo -y -q
guard undo -y -q
sed -i '1s/.*/mine/' a
gives 0 'apply merges an edit after undo, redo and undo' \
	guard apply -y --yes-to all
says "$out" 'a  17 B  merged'

# --- both sides deleted the same entries ---
mkdir -p "$HOME/both/folder"
cd "$HOME/both" || exit 99
echo old | tee file folder/in >other
gives 0 'a run deletes a file and a directory' \
	guard run -q -- sh -c 'rm -r file folder; echo >other'
settle
rm -r file folder
gives 0 'apply of paths that the user deleted too is accepted' \
	guard apply -y file folder/in
says "$err" 'nothing left to apply'
gives 0 'diff of such a path is accepted' guard diff file
says "$out" 'no changes'
# A name with a dot is not the start of a run's name.
gives 1 'apply of an unknown path is refused' guard apply -y fil.
says "$err" 'no such run, file or change'
gives 1 'discard of a path without a change is refused' guard discard -y file
says "$err" "has no change at 'file': \`guard diff"
gives 1 'discard of the home without a change is refused' guard discard -y "$HOME"
says "$err" "has no change at ~: \`guard diff"
gives 1 'patch of the home is refused' guard patch -- "$HOME"
says "$err" "'~' is in your home directory: "
gives 0 'apply accepts such a path with another one' \
	guard apply -q -y file other
is "$(cat other)" '' 'apply writes the other path'
# A moved and edited file: hunks under the new name, and the move with them.
mkdir "$HOME/moved"
cd "$HOME/moved" || exit 99
seq 9 >same
seq 9 >s
git init -q .
git add .
git commit -qm one
for new in t dir/t; do
	guard run -q -- sh -c "mkdir -p dir; mv s $new; sed -i 's/2/two/; s/9/nine/' $new
		chmod +x $new"
	gives 1 "$new: lines of the old name are refused" guard apply -y s:2
	says "$err" "'s:2': the run moved the file to '$new'"
	for lines in 2 1-3; do
		gives 0 "one hunk of it: $lines" guard apply -y "$new:$lines"
		says "$err" "1 of 2 hunks"
		is "$(sed -n '2p;9p' "$new" | tr '\n' ' ')" 'two 9 ' \
			'is there alone'
		no 'the old name is gone' test -e s
		no 'the mode is pending' test -x "$new"
		gives 0 'undo' guard undo -y
		is "$(cat s)" "$(cat same)" 'has the file at its old name'
	done
	gives 0 'a hunk, then the rest' guard apply -y "$new:9"
	ok 'which is pending' guard apply -y
	is "$(sed -n '2p;9p' "$new" | tr '\n' ' ')" 'two nine ' 'has all'
	ok 'and the mode' test -x "$new"
	ok 'both are undone' guard undo -y 2
	guard discard -qy
done

finish
