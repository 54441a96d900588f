#!/bin/sh
# review and apply --patch: what is shown, asked, and taken over.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

helpers=$(dirname "$(command -v guard)")/tests/lib
make_home
cd "$HOME/project" || exit 99
seq 1 40 >text
mkdir -p old/deep
echo a >old/a
echo b >old/deep/b
echo '{"scripts": {"test": "jest"}}' >package.json
git add -A
git commit -q -m three
ok 'what was committed is stored' guard snapshot -q

cat >"$HOME/work.sh" <<'END'
sed -i '3s/.*/three/;20s/.*/twenty/;22s/.*/twentytwo/;38s/.*/near the end/' text
rm -r old
mkdir -p .vscode new node_modules/left
echo '{}' >.vscode/tasks.json
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
ok 'a run that changes much' guard run -q -- sh "$HOME/work.sh"
run=$(guard status -q)
manifest "$HOME/project" >"$T/before"

# --- without a terminal it is printed ---
gives 0 'review in a pipe' guard review
says "$out" 'Deleted (1)'
says "$out" 'old/  with all in it: 2 files'
says "$out" 'runs when the folder is opened in an editor'
says "$out" 'core.fsmonitor: /nowhere/evil'
says "$out" 'script postinstall: evil'
says "$out" 'leads out of the project: /etc/passwd'
says "$out" 'has signs in it that are not seen'
says "$out" '.git/hooks/post-checkout'
says "$out" 'text  +4 -4'
says "$out" 'may be executed now'
says "$out" 'node_modules/  6 added'
silent "$out" 'left/3.js'
says "$err" 'guard review'
no 'nothing raw in it' grep -q "$(printf '[\033\302]')" "$out"
is "$(grep -n -m 1 '' "$out" | cut -d ' ' -f 2)" "$run" 'the run comes first'
first=$(grep -n 'Deleted (' "$out" | cut -d : -f 1)
then=$(grep -n 'executed later (' "$out" | cut -d : -f 1)
last=$(grep -n 'Modified (' "$out" | cut -d : -f 1)
ok 'deleted, dangerous, then the rest' \
	test "$first" -lt "$then" -a "$then" -lt "$last"
gives 1 'apply --patch without a terminal is refused' guard apply --patch
gives 2 'and with -y is no use' guard apply --patch -y
gives 0 'a path alone' guard review -- text
says "$out" 'text  +4 -4'
silent "$out" Deleted

# --- nothing said is nothing done ---
no 'enough at once applies nothing' answers review q
silent "$out" --------
says "$out" 'nothing is applied'
no 'neither does the end of input' answers review
no 'nor a no at the end' answers 'review -- text' a n
says "$out" 'Accepted: 1 of 1 change'
no 'accept the rest is refused before the first are decided on' \
	answers review A q
says "$out" 'come first and are decided on one by one'
manifest "$HOME/project" >"$T/after"
ok 'the project is as it was' same "$T/before" "$T/after"
no 'nor is a snapshot left' sh -c 'guard log | grep -q pre-apply'
printf 'y\n\003' | TERM=dumb timeout 60 script -q -e -c 'guard review' \
	/dev/null >"$out" 2>&1
manifest "$HOME/project" >"$T/after"
ok 'nor is anything done after Ctrl-C' same "$T/before" "$T/after"
gives 0 'and the run waits' guard status
says "$out" "$run  ended"

# --- parts ---
ok 'one hunk, a split one, a search and a number' answers review \
	'/twenty' s n y '/three' y \
	'g 1' s y n '/package' n '/hooks/' n '/tasks' y q y
says "$out" 'parted into 2 hunks'
says "$out" 'Accepted: 3 of '
says "$out" 'in part'
says "$out" 'guard undo takes it back'
is "$(sed -n 3p text)" three 'the hunk that was taken'
is "$(sed -n 20p text)" 20 'the part that was not'
is "$(sed -n 22p text)" twentytwo 'the part that was'
is "$(sed -n 38p text)" 38 'the hunk that nobody asked about'
no 'a file of a folder that was parted is gone' test -e old/a
is "$(cat old/deep/b)" b 'the rest of the folder is there'
is "$(cat .vscode/tasks.json)" '{}' 'a new file with its folder'
no 'what was not decided on is not there' test -e new
no 'nor is the hook' test -e .git/hooks/post-checkout
gives 0 'the rest waits' guard review
says "$out" 'text  +2 -2'
silent "$out" 'tasks.json'
says "$out" 'old/  with all in it: 1 file'

# --- .git: each part for itself ---
ok 'a setting of git is taken, and nothing else' \
	answers 'review -- .git/config' y y
is "$(git config core.fsmonitor)" /nowhere/evil 'the setting'
no 'no hook with it' test -e .git/hooks/post-checkout
is "$(git -c core.fsmonitor=false log -1 --format=%s)" three \
	'no commit either'
ok 'undo takes it back' guard undo -y -q 1
no 'the setting is gone' git config core.fsmonitor
ok 'and what was applied before it' guard undo -y -q 1
manifest "$HOME/project" >"$T/after"
ok 'all is as it was' same "$T/before" "$T/after"

# --- edited, and what changes meanwhile ---
cat >"$HOME/editor.sh" <<'END'
sed -i 's/^+three$/+three and more/' "$1"
END
EDITOR="sh $HOME/editor.sh"
export EDITOR
ok 'a hunk is edited' answers 'apply -p -- text' e d y
is "$(sed -n 3p text)" 'three and more' 'and applied as it is then'
ok 'and taken back' guard undo -y -q

# The editor stands for somebody who works in the project, and for one who
# works in the layer, while the review goes on.
cat >"$HOME/editor.sh" <<'END'
sed -i '3s/.*/by the user/' text
echo swapped >"$LAYER/new/file"
END
LAYER=$state/runs/$run/upper
export LAYER
no 'a conflict that came up meanwhile is asked about' \
	answers 'review -- text new/file' e a y y r q n
says "$out" 'conflict:'
says "$out" "Your version, the run's, or both"
is "$(sed -n 3p text)" 'by the user' 'and nothing is done before that'
no 'nothing at all' test -e new/file
echo kept >"$LAYER/new/file"
ok 'yours stays where it is so said' \
	answers 'review -- text new/file' e a y y o
is "$(sed -n 3p text)" 'by the user' 'the line'
is "$(cat new/file)" kept 'what was shown is applied, not what came later'
ok 'that is taken back' guard undo -y -q
gives 0 'the next review' guard review -- new/file
says "$err" 'has changed since its end'
ok 'the run is dropped' guard discard -y -q "$run"

# --- what is refused, and what may be large ---
ok 'a run that makes set-id' guard run -q -- sh -c 'cp run.sh setid
	chmod 4755 setid; seq 3000 >long; rm src/f9.c
	mkdir many; for i in $(seq 50); do echo $i >many/$i; done
	head -c 3000 /dev/zero >zeros'
no 'what is no text is asked about' answers 'review -- zeros' q
is "$(grep -c '3\.0 KB' "$out")" 1 'and its title says all of it'
cat >"$T/script" <<END
size 15 40
> ?\r
< A - apply all that is left, once
<     everything deleted
< ? - this help
> q\r
end 1
END
ok 'help fits in a narrow terminal' \
	env NO_COLOR=1 "$helpers/pty" "$T/script" guard review --no-pager
ok 'all is said yes to' answers review y y y A y
says "$out" 'has set-id bits or capabilities'
says "$out" 'lines not shown'
is "$(stat -c %a setid)" 4755 'a yes to just that applies set-id too'
is "$(wc -l <long)" 3000 'the long file is'
is "$(find many -type f | wc -l)" 50 'the folder is'
no 'the deleted file is gone' test -e src/f9.c
ok 'a run that makes two' guard run -q -- sh -c 'cp run.sh one; cp run.sh two
	chmod 4755 one; chmod 2755 two; echo x >beside'
ok 'no to one of them' answers review y n y y
is "$(stat -c %a one)" 4755 'the other is applied'
no 'not that one' test -e two
is "$(cat beside)" x 'and what is beside them'
guard undo -y -q
no 'apply asks about each, and a no is one' answers apply n y
says "$out" "'one' carries set-id bits"
says "$out" "'two' carries set-id bits"
says "$out" 'nothing is applied: name the paths'
no 'a no leaves all as it is' test -e beside
list() {
	grep -o -e '^  [A-Z]  [a-z]*' -e "guard: '[a-z]*' carries" \
		-e "refused: '[a-z]*'" -e 'guard: [0-9] created' "$out" |
		sed -e 's/^  [A-Z]  //' -e 's/guard: //' | tr '\n' ' '
}
is "$(list)" \
	"beside one two 'one' carries 'two' carries refused: 'one' " 'the list comes first, with all of it'
ok 'yes to all' answers apply y y y
is "$(list)" \
	"beside one two 'one' carries 'two' carries 3 created " 'and with each yes before the last'
is "$(stat -c %a one) $(stat -c %a two)" '4755 2755' 'applied'
ok 'a run that makes more of it' guard run -q -- sh -c 'cp run.sh three
	chmod 4755 three; perl -MIO::Socket::UNIX -e \
		"IO::Socket::UNIX->new(Local => q(node), Listen => 1) or die"'
no 'with what is refused in any case nothing is asked' answers apply y y
is "$(list)" "refused: 'node' refused: 'three' " 'all of that is named'
ok 'the run is dropped' guard discard -y -q

# --- a part of it, edited, and the rest ---
mkdir parts
cd parts || exit 99
for name in a b c d; do seq 5 >$name; done
part() {
	guard run -q -- sh -c 'echo run >>a; echo run >>b; rm c; echo run >>d
		echo run >new' && guard apply -y -q a b c new
}
ok 'a part of a run' part
echo mine >>a
echo mine >>new
rm b
echo mine >c
listed() {
	guard diff --name-status | tr '\t\n' '  '
}
is "$(listed)" 'M parts/d ' 'what was edited since is no change of the run'
guard status >"$out"
says "$out" ' 1 modified '
gives 0 'what was edited since is no conflict of the rest' guard apply -y
is "$(sed -n 's/^  //p' "$out")" 'M  parts/d  14 B' 'of which alone is left'
is "$(tail -qn 1 a c d new)" 'mine
mine
run
mine' 'every edit is there'
no 'a deletion too' test -e b
for name in a b c d; do seq 5 >$name; done
rm new
ok 'another one' part
guard undo -y -q
sed -i '1s/.*/mine/' a
is "$(listed)" 'D parts/c M parts/a M parts/b M parts/d A parts/new ' \
	'what was taken back and edited is a change of the run'
gives 0 'what was taken back and edited is not left out' guard apply -y
says "$out" 'a  17 B  merged'
is "$(cat new)" run 'nor what was not edited'
for name in a b c d; do seq 5 >$name; done
rm new
ok 'another one' part
seq 5 >a
rm new
is "$(listed)" 'M parts/a M parts/d A parts/new ' \
	'what is as it was before the apply is one, too'
gives 0 'what is as it was before comes again' guard apply -y
is "$(tail -qn 1 a b d new | sort -u)" run 'with the rest'

for name in a b c d; do seq 5 >$name; done
rm new
ok 'another one' part
gives 0 'what was taken back' guard undo -y -q
gives 0 'and is done again' guard undo -y -q
echo mine >>a
rm b
is "$(listed)" 'M parts/d ' 'nor is what was applied once more'
gives 0 'is applied as ever' guard apply -y
is "$(sed -n 's/^  //p' "$out")" 'M  parts/d  14 B' 'the rest of it alone is left'
is "$(tail -qn 1 a d new)" 'mine
run
run' 'and what was edited since stays so'
no 'a deletion too' test -e b
for name in a b c d; do seq 5 >$name; done
rm new
ok 'another one' part
for _ in 1 2 3; do guard undo -y -q; done
sed -i '1s/.*/mine/' a
gives 0 'taken back in the end, it comes again' guard apply -y
says "$out" 'a  17 B  merged'

# --- what both have deleted is known, and nothing is to be done of it ---
mkdir -p "$HOME/both/folder"
cd "$HOME/both" || exit 99
echo old | tee file folder/in >other
gives 0 'a run deletes' guard run -q -- sh -c 'rm -r file folder; echo >other'
settle
rm -r file folder
gives 0 'so does the user: an apply of it' guard apply -y file folder/in
says "$err" 'all of it is in the project already'
gives 0 'a diff of it' guard diff file
says "$out" 'no changes'
gives 1 'but what is nowhere' guard apply -y fil
says "$err" 'no change of the run'
gives 1 'there is nothing to discard' guard discard -y file
says "$err" "the run has no change at 'file'"
gives 0 'with something else' guard apply -q -y file other
is "$(cat other)" '' 'that is applied'
finish
