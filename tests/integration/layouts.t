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
	detached) base m && git worktree add -q --detach ../p ;;
	separate) base p && git init -q --separate-git-dir ../g.git . ;;
	link) base p && mv .git ../g.git && ln -s ../g.git .git ;;
	link-below) base p && mv .git git.d && ln -s git.d .git &&
		echo git.d >.git/info/exclude ;;
	objects) base p && mv .git/objects .. && ln -s ../../objects .git/objects ;;
	inside-submodule)
		base lib && base ../m && git submodule -q add ../lib p &&
			git commit -q -m sub && L=$L/m
		;;
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
	old-submodule)
		base lib && base ../p && git clone -q ../lib sub &&
			git submodule --quiet add ../lib sub >&2 &&
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
	subs=$(for s in sub sub/deep; do [ -e $s/.git ] && echo $s; done)
}

# state FILE: HEADs, refs, index and files of the project's repositories
state() {
	for s in . $subs; do
		git -C $s rev-parse HEAD
		git -C $s symbolic-ref -q HEAD
		git -C $s for-each-ref | grep -v refs/guard
		git -C $s status --short
		cat $s/f
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
	git -C $s config core.hooksPath /nonexistent
	git -C $s branch -f topic
done
WORK

layouts='plain linked bare separate link nested-submodule nested shallow'
[ "$me" = root ] ||
	layouts="$layouts detached link-below objects submodule old-submodule
		inside-submodule worktree-submodule worktree-below"
for l in $layouts; do
	layout $l
	state "$T/before"
	inner=$(printf '%s\n' $subs | sort -r)
	gives 0 "$l: a run commits" guard run -q -- sh "$HOME/work.sh" $inner
	run=$(guard status -q | head -n 1)
	state "$T/after"
	ok "$l: nothing of it is in the repository" same "$T/before" "$T/after"
	gives 1 "$l: a discard asks" guard discard "$run"
	says "$err" 'that you have not imported'
	gives 0 "$l: apply --commits" guard apply -q -y --commits "$run"
	for s in . $subs; do
		is "$(git -C $s log -1 --format=%s) $(tail -n 1 $s/f)" \
			"agent $s more" "$l: HEAD of $s has the commit"
		is "$(git -C $s status --short | grep -v '^?? \| m')" ' M f' \
			"$l: the index of $s is that of the commit"
		is "$(git -C $s config core.hooksPath)$(
			git -C $s rev-parse -q --verify refs/heads/topic)" '' \
			"$l: $s has no setting and no other branch of the run"
		[ "$me" = root ] ||
			ok "$l: $s is whole" git -C $s fsck --strict
	done
	state "$T/applied"
	gives 0 "$l: undo" guard undo -q -y
	state "$T/after"
	ok "$l: undo moves all back" same "$T/before" "$T/after"
	[ "$me" != root ] || continue
	gives 0 "$l: redo" guard redo -q -y
	state "$T/after"
	ok "$l: redo moves all again" same "$T/applied" "$T/after"
done
finish
