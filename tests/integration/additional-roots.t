#!/bin/sh
# --cow: a second project with a layer of its own, reviewed and applied in one
# transaction with the first.
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

# last_run: the id that guard just said
last_run() {
	sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err"
}

tilde='~'

# --- what cannot be one ---
refused() {
	what=$1 words=$2
	shift 2
	gives 125 "$what" guard run "$@" -- true
	says "$err" "$words"
}
refused 'the project itself' 'is the project itself' --cow .
refused 'a folder in it' 'is in the project' --cow src
refused 'a folder that holds all' 'holds your home folder' --cow /
mkdir -p "$T/up/project"
gives 125 'the folder above' guard run -C "$T/up/project" --cow "$T/up" -- true
says "$err" 'holds the project'
refused 'the home folder' 'is your home folder' --cow "$HOME"
refused 'one twice' 'is named twice' --cow ../lib --cow "$HOME/lib"
refused 'one in another' 'lie in one another' --cow ../lib --cow ../lib/src
refused 'what is not there' 'no/such' --cow no/such
refused 'a file' 'folder' --cow ../lib/l
refused 'nothing' 'an empty path names nothing' --cow ''
refused 'the state' "guard's own state" --cow "$state"
mkdir -p "$HOME/.ssh/sub"
refused 'what is hidden' 'is hidden from runs' --cow ~/.ssh
no 'and nothing is left behind' sh -c "ls '$state'/runs/* 2>/dev/null | grep ."
gives 125 'the real one over it' guard run --cow ../lib --rw ../lib -- true
says "$err" 'a folder of --cow'

# --- one that is ---
cat >"$T/work" <<'END'
echo changed >a
sed -i s/two/TWO/ ../lib/l
rm ../lib/src/gone
echo new >../lib/new
echo far2 >"$1/f"
git -C ../lib add -A
END
gives 0 'a run with two more folders' guard run --ro "$T/work" --cow ../lib \
	--cow "$T/far" -- sh "$T/work" "$T/far"
run=$(last_run)
says "$err" "$HOME/lib"
says "$err" 'in ~/lib/: 1 deleted, 1 modified, 1 added'
says "$err" 'deleted in ~/lib/:'
is "$(cat a ../lib/src/gone "$T/far/f" | tr '\n' ' ')" 'app gone far ' \
	'changes none of them'
gives 0 'status counts them' guard status --porcelain
is "$(cut -f 4-6 "$out" | tr '\t' ' ')" '1 3 1' 'all together'
gives 0 'the diff' guard diff "$run"
says "$out" 'Deleted in ~/lib/ (1)'
says "$out" '+TWO'
says "$out" 'Git in ~/lib/, left alone'
gives 0 'its names' guard diff --name-status "$run"
grep -v '\.git/' "$out" | tr '\t' ' ' >"$T/names"
printf 'M a\nD ~/lib/src/gone\nM ~/lib/l\nA ~/lib/new\nM %s/far/f\n' \
	"$T" >"$T/wanted"
ok 'are told apart' cmp "$T/names" "$T/wanted"
gives 0 'as JSON' guard diff --json "$run"
says "$out" '"extra"'
says "$out" "\"path\": \"$HOME/lib\""
gives 0 'one path of it' guard diff --name-only "$run" ../lib/l
is "$(cat "$out")" "$tilde/lib/l" 'alone'
cd "$HOME/lib" || exit 99
gives 0 'from there it is seen, too' guard diff --name-only
says "$out" 'new'
gives 0 'by status' guard status -q
is "$(cat "$out")" "$run" 'as well'
cd "$HOME/app" || exit 99
gives 0 'a file of it' guard show "$run:$HOME/lib/l"
says "$out" TWO
gives 0 'and one that it did not touch' guard show "$run:$HOME/lib/.git/HEAD"
gives 0 'a patch' guard patch "$run"
says "$out" '+changed'
silent "$out" TWO
says "$err" "patches are of the project: 3 changes in $tilde/lib/ left out"
gives 1 'a patch is of the project' guard patch "$run" ../lib/l
says "$err" 'not of a folder of --cow'
gives 0 'a review names them' guard review "$run"
says "$out" 'In ~/lib/: 3 changes'
says "$out" "$tilde/lib/src/gone"
says "$out" "$T/far/f"
gives 0 'explain knows' guard explain --cow ../lib ../lib/l
says "$out" "the layer over '$HOME/lib'"
gives 0 'a dry apply' guard apply -n "$run"
says "$out" "$tilde/lib/new"
is "$(cat a)" app 'does nothing'
gives 0 'apply' guard apply -y "$run"
is "$(cat a ../lib/l ../lib/new "$T/far/f" | tr '\n' ' ')" \
	'changed one TWO three new far2 ' 'takes all of it'
no 'also what is deleted' test -e ../lib/src/gone
says "$err" '.git is left alone'
gives 0 'undo' guard undo -y
# shellcheck disable=SC2088 # as it is shown
says "$out" '~/lib/src/gone'
is "$(cat a ../lib/src/gone "$T/far/f" | tr '\n' ' ')" 'app gone far ' \
	'takes all of it back'
no 'what is new too' test -e ../lib/new

# --- in parts, and going on ---
gives 0 'a part' guard apply -y "$run" ../lib/l
is "$(sed -n 2p ../lib/l)" TWO 'is applied'
is "$(cat a)" app 'and no more'
gives 0 'the run goes on' guard run --continue "$run" -- sh -c \
	'cat ../lib/new; echo more >>../lib/l; test ! -e ../lib/src/gone'
is "$(cat "$out")" new 'with its layers'
says "$err" "$HOME/lib"
mkdir "$HOME/third"
gives 125 'no folder comes to it' guard run "--continue=$run" --cow ../third \
	-- true
says "$err" 'keeps the folders that it began with'
gives 0 'what was applied is no conflict' guard apply -y "$run" ../lib/l
is "$(tail -n 1 ../lib/l)" more 'the rest of it comes on top'
gives 0 'a part can be dropped' guard discard -y "$run" ../lib/src/gone
gives 0 'the rest' guard apply -y "$run"
is "$(cat ../lib/src/gone)" gone 'is without it'
is "$(cat ../lib/new)" new 'and complete'

# --- both changed something ---
gives 0 'one more' guard run --cow ../lib -- sh -c \
	'echo run >a; sed -i s/one/run/ ../lib/l'
run=$(last_run)
sed -i s/one/mine/ ../lib/l
gives 0 'the diff sees it' guard diff "$run"
says "$out" 'CHANGED HERE SINCE THE RUN BEGAN'
gives 1 'a conflict there' guard apply -y "$run"
says "$err" "$tilde/lib/l"
is "$(cat a)" changed 'keeps the first as it is, too'
gives 0 'until it is decided' guard apply -y --theirs "$run"
is "$(cat a) $(head -n 1 ../lib/l)" 'run run' 'then both are done'

# --- a folder that is not there any more ---
gives 0 'a run' guard run --cow ../lib -- sh -c 'echo r >>../lib/l'
run=$(last_run)
mv ../lib ../elsewhere
ln -s elsewhere ../lib
gives 2 "its diff, with a link in the folder's place" guard diff "$run"
says "$err" "'$HOME/lib' is no folder any more, or is reached by a link"
says "$err" 'put it back'
gives 1 'and an apply' guard apply -y "$run"
says "$err" "'$HOME/lib' is no folder any more, or is reached by a link"
says "$err" 'put it back'
rm ../lib
gives 1 'with nothing there' guard apply -y "$run"
says "$err" "'$HOME/lib' is gone"
mv ../elsewhere ../lib
gives 0 'as soon as it is back' guard apply -y "$run"
is "$(tail -n 1 ../lib/l)" r 'it is applied'

# --- purge, and no changes ---
gives 0 'a secret in a layer' guard run --cow ../lib -- sh -c \
	'echo token >../lib/secret'
run=$(last_run)
gives 0 'is purged from it' guard purge --confirm "$HOME/lib/secret" \
	../lib/secret
gives 0 'it is gone' guard diff --name-only "$run"
silent "$out" secret
gives 0 'nothing changed' guard run --cow ../lib -- cat ../lib/l
says "$err" 'changed nothing'

# --- what is of the project alone says so ---
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
gives 0 'commits in two repositories' guard run --cow ../lib \
	--ro "$T/commit" -- sh "$T/commit"
run=$(last_run)
gives 0 'an import' guard import -y "$run"
says "$err" "imports are of the project's repository: what was done in $tilde/lib/.git is left out"
says "$err" "guard apply $tilde/lib/.git takes"
gives 0 'a branch' guard apply -y --branch side "$run"
says "$err" "commits are of the project: 1 change in $tilde/lib/ left out"
gives 0 'is dropped' guard discard -y "$run"
rm -rf "$HOME/app/.git"

# --- a part of it, edited, and the rest ---
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part() {
	gives 0 'a run' guard run --cow ../lib -- sh -c 'for f in part \
		../lib/part ../lib/rest ../lib/back; do echo run >>$f; done'
	run=$(last_run)
	gives 0 'a part of it' guard apply -y -q "$run" part ../lib/part
}
part
echo mine >>part
echo mine >>../lib/part
gives 0 'what was edited since is no conflict of the rest' guard apply -y "$run"
is "$(tail -qn 1 part ../lib/part ../lib/rest)" 'mine
mine
run' 'in no folder'
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part
gives 0 'taken back' guard undo -y -q
gives 0 'and done again' guard undo -y -q
echo mine >>../lib/part
gives 0 'the rest' guard apply -y "$run"
is "$(tail -qn 1 part ../lib/part ../lib/rest)" 'run
mine
run' 'likewise'
seq 5 | tee part ../lib/part ../lib/rest >../lib/back
part
gives 0 'taken back' guard undo -y -q
sed -i '1s/.*/mine/' ../lib/part
gives 0 'what was taken back comes again' guard apply -y "$run"
is "$(sed -n '1p;6p' ../lib/part)" 'mine
run' 'with what was edited there'

# --- a linked worktree beside its repository ---
git -C "$HOME/lib" worktree add -q "$HOME/tree" >/dev/null 2>&1
cd "$HOME/tree" || exit 99
gives 0 'a linked worktree with its main one' guard run --cow ../lib -- sh -c \
	'echo w >w; git add w && git -c user.name=t -c user.email=t@t commit -qm in &&
	echo m >../lib/main'
run=$(last_run)
gives 0 'its changes' guard diff --name-status "$run"
says "$out" "$tilde/lib/main"
gives 125 'the repository alone is covered' guard run --cow ../lib/.git -- true
says "$err" 'repository'
gives 0 'it is applied' guard apply -y "$run"
ok 'in both' test -e w -a -e ../lib/main
gives 0 'the store is whole' guard verify
finish
