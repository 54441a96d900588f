#!/bin/sh
# apply --commits and import wherever git keeps a repository: beside its work
# tree, elsewhere, or in another repository.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
git config --global protocol.file.allow always
git config --global advice.detachedHead false
git config --global init.defaultBranch main
L=$HOME/layouts

# base DIR: a repository with one commit, and changes to it
base() {
	mkdir -p "$1" && cd "$1" && git init -q . && echo one >f &&
		git add f && git commit -q -m base || exit 99
}

# layout NAME: the project p of that layout, in an empty directory, and the
# directory of its objects and refs in $git
layout() {
	L=$HOME/$1
	mkdir "$L" && cd "$L" || exit 99
	case $1 in
	plain) base p ;;
	linked) base m && git worktree add -q -b w ../p ;;
	bare)
		base m && git clone -q --bare . ../b.git &&
			git -C ../b.git worktree add -q -b f/ü ../p &&
			git -C ../b.git pack-refs --all
		;;
	separate) base p && git init -q --separate-git-dir ../g.git . ;;
	link) base p && mv .git ../g.git && ln -s ../g.git .git ;;
	link-below) base p && mv .git git.d && ln -s git.d .git &&
		echo git.d >.git/info/exclude ;;
	objects) base p && mv .git/objects .. && ln -s ../../objects .git/objects ;;
	shallow)
		base m && git commit -q --allow-empty -m two &&
			git clone -q --depth 1 "file://$PWD" ../p
		;;
	worktree-submodule)
		base lib && base ../m && git submodule -q add ../lib sub &&
			git commit -q -m sub && git worktree add -q -b w ../p &&
			cd ../p && git submodule -q update --init
		;;
	submodule)
		base lib && base ../p && git submodule -q add ../lib sub &&
			git commit -q -m sub
		;;
	nested-submodule)
		base deep && base ../lib && git submodule -q add ../deep deep &&
			git commit -q -m deep && base ../p &&
			git submodule -q add ../lib sub &&
			git submodule -q update --init --recursive &&
			git commit -q -m sub
		;;
	nested)
		base p && base sub && cd .. && echo sub >.gitignore &&
			git add . && git commit -q -m ignore
		;;
	worktree-below) base p && git worktree add -q -b w sub &&
		echo sub >.git/info/exclude ;;
	esac 2>"$T/x" || exit 99
	cd "$L/p" || exit 99
	subs=$(for s in sub sub/deep; do [ -e "$s/.git" ] && echo "$s"; done)
}

# state FILE: HEADs, refs, index and files of the project's repositories
state() {
	for s in . $subs; do
		git -C "$s" rev-parse HEAD
		git -C "$s" symbolic-ref -q HEAD
		git -C "$s" for-each-ref | grep -v refs/guard
		git -C "$s" status --short
		cat "$s/f"
	done >"$1" 2>&1
}

# The commits of a run in all repositories of the project, the inner ones first,
# and changes that are not committed.
cat >"$HOME/work.sh" <<'WORK'
set -e
for s in "$@" .; do
	echo run >>$s/f
	(cd $s && git commit -q -a -m "agent $s")
	echo more >>$s/f
	git -C "$s" config core.hooksPath /nonexistent
	git -C "$s" branch -f topic
done
WORK

layouts='plain linked bare separate link nested-submodule nested shallow'
[ "$me" = root ] ||
	layouts='bare separate link nested-submodule link-below objects
		worktree-submodule worktree-below'
for l in $layouts; do
	layout "$l"
	state "$T/before"
	# shellcheck disable=SC2086
	inner=$(printf '%s\n' $subs | sort -r)
	# shellcheck disable=SC2086
	gives 0 "$l: a run commits" guard run -q -- sh "$HOME/work.sh" $inner
	run=$(guard status -q)
	state "$T/after"
	ok "$l: nothing of it is in the repository" same "$T/before" "$T/after"
	case $l in
	link | nested*)
		gives 1 "$l: a discard asks" guard discard "$run"
		says "$err" 'that you have not imported'
		gives 0 "$l: status" guard status
		says "$out" ' in .git'
		;;
	esac
	gives 0 "$l: apply --commits" guard apply -q -y --commits "$run"
	for s in . $subs; do
		is "$(git -C "$s" log -1 --format=%s) $(tail -n 1 "$s/f")" \
			"agent $s more" "$l: HEAD of $s has the commit"
		is "$(git -C "$s" status --short | grep -v '^?? \| m')" ' M f' \
			"$l: the index of $s is that of the commit"
		is "$(git -C "$s" config core.hooksPath)$(
			git -C "$s" rev-parse -q --verify refs/heads/topic)" '' \
			"$l: $s has no setting and no other branch of the run"
	done
	[ "$me" != root ] || continue
	state "$T/applied"
	gives 0 "$l: undo" guard undo -q -y
	state "$T/after"
	ok "$l: undo moves all back" same "$T/before" "$T/after"
	case $l in bare | nested*) ;; *) continue ;; esac
	gives 0 "$l: redo" guard redo -q -y
	state "$T/after"
	ok "$l: redo moves all again" same "$T/applied" "$T/after"
	for s in . $subs; do
		ok "$l: $s is whole" git -C "$s" fsck --strict
	done
done
[ "$me" != root ] || finish

# --- a repository outside of the project, and a kill ---
stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || stopat=/opt/guard/build/tests/lib/stopat
rm -rf "$HOME/linked"
layout linked
state "$T/before"
gives 0 'a run commits for the kills' guard run -q -- sh "$HOME/work.sh"
run=$(guard status -q)
at=$((1 + $(od -An -N1 -tu1 /dev/urandom) % 15))
for at in $at $((at + 15)); do
	"$stopat" --at "$at" --below "$HOME/linked" -- \
		guard apply -q -y --commits "$run" >"$T/x" 2>&1
	is $? 137 "killed at the call $at"
	guard apply --continue >"$T/x" 2>&1
	state "$T/after"
	if same "$T/before" "$T/after" >"$T/x"; then
		guard apply -q -y --commits "$run"
	fi
	is "$(git log -1 --format=%s) $(git status --short)" \
		'agent .  M f' "$at: nothing or all is applied"
	ok "$at: the repository is whole" git fsck --strict
	gives 0 "$at: undo" guard undo -q -y
	state "$T/after"
	ok "$at: moves all back" same "$T/before" "$T/after"
	git update-ref -d "refs/guard/$run/heads/w"
	git update-ref -d "refs/guard/$run/heads/topic"
done

# --- HEAD is elsewhere when the run is applied ---
# elsewhere LAYOUT COMMANDS TEXT: a run that adds a file, the user's commands,
# and what an apply says
elsewhere() {
	rm -rf "${HOME:?}/$1"
	layout "$1"
	gives 0 "$1: a run adds a file" guard run -q -- sh -c '
		echo n >new; git commit -q --allow-empty -m empty'
	run=$(guard status -q | head -n 1)
	eval "$2" >"$T/x" 2>&1
	gives 1 "$2: --commit asks" guard apply --commit "$run"
	says "$err" "$3"
	gives 0 "$2: --commit -y goes on" guard apply --commit -y "$run"
	says "$err" "$3"
	gives 0 "$2: undo" guard undo -q -y
	gives 0 "$2: apply names it, too" guard apply -n "$run"
	says "$err" "$3"
	silent "$err" 'guard apply --commits'
}

other="the run began on 'main', you are on 'other'"
elsewhere plain 'git checkout -q -b other' "$other"
elsewhere linked 'git checkout -q -b other; git branch -q -D w' \
	"the run began on 'w', you are on 'other'"
rm -rf "$HOME/link"
layout link
git checkout -q --detach
gives 0 'a run begins at a detached HEAD' guard run -q -- sh -c 'echo n >new'
git checkout -q main
gives 0 'and is applied to a branch' guard apply -y
says "$err" "the run began on no branch, you are on 'main'"
git commit -q --allow-empty -m more
gives 0 'a run on the same branch' guard run -q -- sh -c 'echo m >more'
gives 0 'is applied without a word of it' guard apply -y
silent "$err" 'the run began'

# --- a branch with an upstream ---
hint='which has an upstream: after guard apply --commits'
for l in plain linked; do
	rm -rf "${HOME:?}/$l"
	layout "$l"
	b=$(git symbolic-ref --short HEAD)
	if [ $l = plain ]; then
		gives 0 "$l: a run commits on a branch without an upstream" \
			guard run -- git commit -q --allow-empty -m x
		silent "$err" "$hint"
	fi
	git config "branch.$b.remote" up
	git config "branch.$b.merge" "refs/heads/$b"
	gives 0 "$l: a run commits on a branch with one" \
		guard run -- git commit -q --allow-empty -m x
	says "$err" "commits on '$b', $hint"
	if [ $l = plain ]; then
		git config "branch.$b.remote" .
		gives 0 'a run commits on a branch with a local upstream' \
			guard run -- git commit -q --allow-empty -m x
		silent "$err" "$hint"
	fi
done
git checkout -q --detach
gives 0 'a run commits on no branch' guard run -- git commit -q --allow-empty -m x
says "$err" 'guard apply --commits'
gives 0 'a run without a commit' guard run -- sh -c 'echo n >new'
silent "$err" "$hint"

# --- a worktree that the run makes ---
rm -rf "$HOME/plain"
layout plain
gives 0 'a run commits in a new worktree' guard run -q -- sh -ec '
	git worktree add -q w -b topic/w; cd w; git commit -q --allow-empty -m w'
gives 0 'apply --commits' guard apply -y --commits
says "$err" "branch 'topic/w' created at"
is "$(git log -1 --format=%s topic/w) $(git log -1 --format=%s)" 'w base' \
	'creates its branch alone'
gives 0 'undo' guard undo -q -y
no 'removes the branch' git rev-parse -q --verify topic/w
gives 0 'a run commits on a branch without a worktree' \
	guard run -q --name aside -- sh -ec 'git checkout -q -b aside
	git commit -q --allow-empty -m a; git checkout -q main'
gives 1 'apply --commits has nothing to move' guard apply -y --commits aside
says "$err" "no commits on a branch that can move: guard import aside imports"

# --- a submodule that the run adds ---
base "$HOME/lib"
rm -rf "$HOME/plain"
layout plain
gives 0 'a run adds a submodule and commits in it' guard run -q -- sh -ec "
	git submodule -q add --name 'a b..lock' '$HOME/lib' new; cd new
	git commit -q --allow-empty -m inner; cd ..; git commit -q -a -m outer"
run=$(guard status -q)
gives 0 'import' guard import -y "$run"
says "$err" "the run added the submodule 'a b..lock'"
is "$(git log -1 --format=%s "refs/guard/$run/modules/a_b__lock/heads/main")" inner \
	'the commit of the submodule is in the repository of the project'
gives 0 'apply --commits' guard apply -q -y --commits "$run"
is "$(git log -1 --format=%s) $(ls)" 'outer f' \
	'leaves the work tree of the submodule to git submodule update'

# --- one of two repositories cannot move ---
rm -rf "$HOME/nested"
layout nested
gives 0 'a run commits in two repositories' \
	guard run -q -- sh "$HOME/work.sh" sub
git -C sub commit -q --allow-empty -m mine
run=$(guard status -q)
gives 0 'apply --commits moves one' guard apply -y --commits "$run"
says "$err" "'sub/.git' does not move, its commits are imported: 'main' moved"
is "$(git log -1 --format=%s) $(git -C sub log -1 --format=%s)" 'agent . mine' \
	'and leaves the commit of the user'
ok 'the commits of the other are imported' git -C sub rev-parse -q --verify \
	"refs/guard/$run/heads/main"

# --- a bare repository in the project, with worktrees beside it ---
base "$HOME/origin"
git clone -q --bare . "$HOME/tree/.bare"
cd "$HOME/tree" || exit 99
echo 'gitdir: ./.bare' >.git
git worktree add -q w main 2>"$T/x"
gives 0 'a run commits in a worktree' guard run -- sh -ec '
	cd w; echo run >>f; git commit -q -a -m agent
	echo "#!/bin/sh" >../.bare/hooks/post-checkout
	chmod 755 ../.bare/hooks/post-checkout'
says "$err" ' in .git'
says "$err" 'guard apply --commits'
run=$(guard status -q)
gives 1 'an apply of the repository asks' guard apply -y "$run" .bare
says "$err" "'.bare/hooks/post-checkout'"
git -C w commit -q --allow-empty -m mine
gives 0 'apply of the files' guard apply -y --theirs "$run"
is "$(git -C w log -1 --format=%s) $(tail -n 1 w/f)" 'mine run' \
	'skips the repository, which has another name'
gives 0 'undo' guard undo -q -y
git -C w reset -q --hard HEAD~1
gives 0 'apply --commits' guard apply -q -y --commits "$run"
is "$(git -C w log -1 --format=%s)$(git -C w status --short)" agent \
	'moves the branch of the worktree'
no 'the bare repository gets no index and no hook' \
	test -e .bare/index -o -e .bare/hooks/post-checkout
finish
