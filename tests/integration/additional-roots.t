#!/bin/sh
# --cow: additional directories with layers of their own, reviewed and applied
# in one transaction with the project.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
mkdir -p "$HOME/app/src" "$HOME/lib/src" "$T/far"
echo app >"$HOME/app/a"
printf 'one\ntwo\nthree\n' >"$HOME/lib/l"
echo gone >"$HOME/lib/src/gone"
echo far >"$T/far/f"
git -C "$HOME/lib" init -q
git -C "$HOME/lib" add .
git -C "$HOME/lib" commit -q -m first
cd "$HOME/app" || exit 99

# last_run: the id of the run that guard printed last
last_run() {
	sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err"
}

tilde='~'

# --- refused directories ---
refused() {
	what=$1 words=$2
	shift 2
	gives 125 "$what" guard run "$@" -- true
	says "$err" "$words"
}
refused '--cow refuses the project itself' 'is the project itself' --cow .
refused '--cow refuses a directory in the project' 'is in the project' --cow src
refused '--cow refuses the root directory' 'contains your home directory' --cow /
mkdir -p "$T/up/project"
gives 125 '--cow refuses a directory that contains the project' \
	guard run -C "$T/up/project" --cow "$T/up" -- true
says "$err" 'contains the project'
refused '--cow refuses the home' 'is your home directory' --cow "$HOME"
refused '--cow refuses the same directory twice' 'is named twice' \
	--cow ../lib --cow "$HOME/lib"
refused '--cow refuses one directory in another' 'contain one another' \
	--cow ../lib --cow ../lib/src
refused '--cow refuses a missing directory' 'no/such' --cow no/such
refused '--cow refuses a file' 'directory' --cow ../lib/l
refused '--cow refuses an empty path' 'the path is empty' --cow ''
refused "--cow refuses guard's state" "guard's own state" --cow "$state"
mkdir -p "$HOME/.ssh/sub"
refused '--cow refuses a masked directory' 'is masked in runs' --cow ~/.ssh
no "a refused run leaves nothing in guard's state" \
	sh -c "ls '$state'/runs/* 2>/dev/null | grep ."
gives 125 '--rw of a --cow directory is refused' \
	guard run --cow ../lib --rw ../lib -- true
says "$err" 'a directory of --cow'

# --- a run with two additional directories ---
cat >"$T/work" <<'END'
echo changed >a
sed -i s/two/TWO/ ../lib/l
rm ../lib/src/gone
echo new >../lib/new
echo far2 >"$1/f"
git -C ../lib add -A
END
gives 0 'a run can change two --cow directories' \
	guard run --ro "$T/work" --cow ../lib \
	--cow "$T/far" -- sh "$T/work" "$T/far"
run=$(last_run)
says "$err" "$HOME/lib"
says "$err" 'in ~/lib/: 1 deleted, 1 modified, 1 added'
says "$err" 'deleted in ~/lib/:'
is "$(cat a ../lib/src/gone "$T/far/f" | tr '\n' ' ')" 'app gone far ' \
	'the run changes no --cow directory itself'
gives 0 'status --porcelain accepts the run' guard status --porcelain
is "$(cut -f 4-6 "$out" | tr '\t' ' ')" '1 3 1' \
	'status --porcelain counts the changes of all directories'
gives 0 'diff shows the changes of --cow directories' guard diff "$run"
says "$out" 'Deleted in ~/lib/ (1)'
says "$out" '+TWO'
says "$out" 'Git in ~/lib/, not applied'
gives 0 'diff --name-status accepts the run' guard diff --name-status "$run"
grep -v '\.git/' "$out" | tr '\t' ' ' >"$T/names"
printf 'M a\nD ~/lib/src/gone\nM ~/lib/l\nA ~/lib/new\nM %s/far/f\n' \
	"$T" >"$T/wanted"
ok 'diff --name-status lists each directory with its path' \
	cmp "$T/names" "$T/wanted"
gives 0 'diff --json accepts the run' guard diff --json "$run"
says "$out" '"extra"'
says "$out" "\"path\": \"$HOME/lib\""
gives 0 'diff accepts a path of a --cow directory' \
	guard diff --name-only "$run" ../lib/l
is "$(cat "$out")" "$tilde/lib/l" \
	'diff of a path of a --cow directory lists only that'
cd "$HOME/lib" || exit 99
gives 0 'diff finds the run from a --cow directory' guard diff --name-only
says "$out" 'new'
gives 0 'status finds the run from a --cow directory' guard status -q
is "$(cat "$out")" "$run" 'status -q prints the run in a --cow directory'
cd "$HOME/app" || exit 99
gives 0 'show prints a file of a --cow directory' guard show "$run:$HOME/lib/l"
says "$out" TWO
gives 0 'show prints an unchanged file of a --cow directory' \
	guard show "$run:$HOME/lib/.git/HEAD"
gives 0 'patch accepts a run with --cow directories' guard patch "$run"
says "$out" '+changed'
silent "$out" TWO
says "$err" "patches are of the project: 3 changes in $tilde/lib/ not listed"
gives 1 'patch of a path in a --cow directory is refused' \
	guard patch "$run" ../lib/l
says "$err" 'not of a directory of --cow'
gives 0 'review shows the changes of --cow directories' guard review "$run"
says "$out" 'In ~/lib/: 3 changes'
says "$out" "$tilde/lib/src/gone"
says "$out" "$T/far/f"
gives 0 'explain accepts --cow' guard explain --cow ../lib ../lib/l
says "$out" "the layer over '$HOME/lib'"
gives 0 'apply -n lists changes of --cow directories' guard apply -n "$run"
says "$out" "$tilde/lib/new"
is "$(cat a)" app 'apply -n changes no file'
gives 0 'apply accepts the run with --cow directories' guard apply -y "$run"
is "$(cat a ../lib/l ../lib/new "$T/far/f" | tr '\n' ' ')" \
	'changed one TWO three new far2 ' \
		'apply changes the files of all directories'
no 'apply deletes a file of a --cow directory' test -e ../lib/src/gone
says "$err" "guard apply $run $HOME/lib/.git applies them"
gives 0 'undo reverts the apply of all directories' guard undo -y
# shellcheck disable=SC2088 # as it is shown
says "$out" '~/lib/src/gone'
is "$(cat a ../lib/src/gone "$T/far/f" | tr '\n' ' ')" 'app gone far ' \
	'undo restores the files of all directories'
no 'undo deletes new files of a --cow directory' test -e ../lib/new

# --- apply of single paths, and run --continue ---
gives 0 'apply accepts a path of a --cow directory' \
	guard apply -y "$run" ../lib/l
is "$(sed -n 2p ../lib/l)" TWO 'apply of one path changes that file'
is "$(cat a)" app 'apply of one path changes no other directory'
gives 0 'run --continue keeps its --cow directories' \
	guard run --continue "$run" -- sh -c \
	'cat ../lib/new; echo more >>../lib/l; test ! -e ../lib/src/gone'
is "$(cat "$out")" new 'the continued run sees its layers'
says "$err" "$HOME/lib"
mkdir "$HOME/third"
gives 125 'run --continue refuses a further --cow directory' \
	guard run "--continue=$run" --cow ../third \
	-- true
says "$err" 'keeps its directories'
gives 0 'apply accepts a file that it has applied before' \
	guard apply -y "$run" ../lib/l
is "$(tail -n 1 ../lib/l)" more 'apply writes what the continued run added'
gives 0 'discard accepts a path of a --cow directory' \
	guard discard -y "$run" ../lib/src/gone
gives 0 'apply accepts the rest of the run' guard apply -y "$run"
is "$(cat ../lib/src/gone)" gone \
	'apply of the rest leaves the discarded deletion out'
is "$(cat ../lib/new)" new 'apply of the rest creates the new file'

# --- conflicts in a --cow directory ---
gives 0 'a run changes a file in two directories' \
	guard run --cow ../lib -- sh -c \
	'echo run >a; sed -i s/one/run/ ../lib/l'
run=$(last_run)
sed -i s/one/mine/ ../lib/l
gives 0 'diff shows an edit in a --cow directory' guard diff "$run"
says "$out" 'CHANGED HERE SINCE THE RUN STARTED'
gives 1 'apply refuses a conflict in a --cow directory' guard apply -y "$run"
says "$err" "$tilde/lib/l"
is "$(cat a)" changed 'the refused apply changes no directory'
gives 0 'apply --theirs accepts the conflict' guard apply -y --theirs "$run"
is "$(cat a) $(head -n 1 ../lib/l)" 'run run' \
	'apply --theirs writes both directories'

# --- a --cow directory that has moved ---
gives 0 'a run changes a --cow directory' \
	guard run --cow ../lib -- sh -c 'echo r >>../lib/l'
run=$(last_run)
mv ../lib ../elsewhere
ln -s elsewhere ../lib
gives 2 'diff with a symbolic link in place of the directory ends with 2' \
	guard diff "$run"
says "$err" "'$HOME/lib' is no longer a directory, or is reached through a link"
says "$err" 'put it back'
gives 1 'apply with a symbolic link in place of the directory is refused' \
	guard apply -y "$run"
says "$err" "'$HOME/lib' is no longer a directory, or is reached through a link"
says "$err" 'put it back'
rm ../lib
gives 1 'apply without the directory is refused' guard apply -y "$run"
says "$err" "'$HOME/lib' no longer exists"
mv ../elsewhere ../lib
gives 0 'apply is accepted when the directory is back' guard apply -y "$run"
is "$(tail -n 1 ../lib/l)" r 'apply writes into the directory'

# --- purge, and a run without changes ---
gives 0 'a run writes a secret into a --cow directory' \
	guard run --cow ../lib -- sh -c \
	'echo token >../lib/secret'
run=$(last_run)
gives 0 'purge removes a file of a --cow layer' \
	guard purge --confirm "$HOME/lib/secret" \
	../lib/secret
gives 0 'diff works after that purge' guard diff --name-only "$run"
silent "$out" secret
gives 0 'a run can change nothing in a --cow directory' \
	guard run --cow ../lib -- cat ../lib/l
says "$err" 'changed nothing'

# --- verbs that work on the project only ---
git -C "$HOME/app" init -q
git -C "$HOME/app" add .
git -C "$HOME/app" commit -q -m first
cat >"$T/commit" <<'END'
for dir in . ../lib; do
	echo more >>$dir/more
	git -C $dir add more
	git -C $dir -c user.name=t -c user.email=t@t commit -q -m more
done
END
gives 0 'a run commits in two repositories' guard run --cow ../lib \
	--ro "$T/commit" -- sh "$T/commit"
run=$(last_run)
gives 0 'import accepts a run with two repositories' guard import -y "$run"
says "$err" "repository '$HOME/lib/.git': 1 ref, 1 new commit"
is "$(git -C "$HOME/lib" for-each-ref --format='%(contents:subject)' \
	"refs/guard/$run")" more 'each into its own'
gives 0 'apply --branch accepts a run with two repositories' \
	guard apply -y --branch side "$run"
says "$err" "commits are of the project: 1 change in $tilde/lib/ not listed"
gives 0 'discard drops the run' guard discard -y "$run"
rm -rf "$HOME/app/.git"

# --- some paths applied, then edited, then the rest applied ---
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part() {
	gives 0 'a run changes four files in two directories' \
		guard run --cow ../lib -- sh -c 'for f in part \
		../lib/part ../lib/rest ../lib/back; do echo run >>$f; done'
	run=$(last_run)
	gives 0 'apply accepts some of the paths' \
		guard apply -y -q "$run" part ../lib/part
}
part
echo mine >>part
echo mine >>../lib/part
gives 0 'an edit after apply is no conflict of the rest' guard apply -y "$run"
is "$(tail -qn 1 part ../lib/part ../lib/rest)" 'mine
mine
run' 'apply of the rest keeps the edits in all directories'
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part
gives 0 'undo reverts the apply of some paths' guard undo -y -q
gives 0 'redo repeats it' guard redo -y -q
echo mine >>../lib/part
gives 0 'apply of the rest is accepted after a repeated apply' \
	guard apply -y "$run"
is "$(tail -qn 1 part ../lib/part ../lib/rest)" 'run
mine
run' 'apply of the rest keeps the edit after a repeated apply'
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part
gives 0 'undo reverts the third apply' guard undo -y -q
sed -i '1s/.*/mine/' ../lib/part
gives 0 'apply accepts an edit after undo' guard apply -y "$run"
is "$(sed -n '1p;6p' ../lib/part)" 'mine
run' 'apply merges the edit after undo'

# --- a linked worktree and its repository ---
git -C "$HOME/lib" worktree add -q "$HOME/tree" >/dev/null 2>&1
cd "$HOME/tree" || exit 99
gives 0 'a run commits in a linked worktree beside its repository' \
	guard run --cow ../lib -- sh -c \
	'echo w >w; git add w && git -c user.name=t -c user.email=t@t commit -qm in &&
	echo m >../lib/main'
run=$(last_run)
gives 0 'diff shows the changes of both' guard diff --name-status "$run"
says "$out" "$tilde/lib/main"
gives 125 '--cow of the repository only is refused' \
	guard run --cow ../lib/.git -- true
says "$err" 'repository'
gives 0 'apply accepts both' guard apply -y "$run"
ok 'apply writes both' test -e w -a -e ../lib/main
gives 0 'guard verify accepts the store' guard verify
finish
