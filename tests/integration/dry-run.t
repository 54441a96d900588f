#!/bin/sh
# A dry run ends like the real command: with the same status and refusals; and
# it changes nothing.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

mkdir -p "$HOME/project"
cd "$HOME/project" || exit 99
echo old >a
mkdir d e
echo old >d/f
seq 9 >text
[ "$me" = root ] || chmod 555 d

shot() {
	find . -path ./.git -prune -o -printf '%y %m %s %T@ %p\n' | sort
	cat a text d/f
	find .git -type f -path '*objects*' 2>/dev/null | wc -l
	find "$HOME/to" 2>/dev/null
	:
}

# both WHAT STATUS TEXT COMMAND...: checks the command with -n and with -y; TEXT
# must be on stderr unless it is empty
both() {
	what=$1 status=$2 text=$3
	shift 3
	shot >"$T/before"
	gives "$status" "$what, with -n" "$@" -n
	[ -z "$text" ] || says "$err" "$text"
	shot >"$T/after"
	ok "the dry run changes nothing: $what" cmp "$T/before" "$T/after"
	gives "$status" "$what, with -y" "$@" -y
	[ -z "$text" ] || says "$err" "$text"
}

# --- permissions ---
if [ "$me" = root ]; then
	guard run -q -- sh -c 'echo new >a; echo new >e/new; rm d/f' || exit 99
	settle
	if chattr +i a 2>/dev/null; then
		both 'apply over an immutable file is refused' 1 immutable guard apply
		chattr -i a
		chattr +a e
		both 'apply into an append-only directory is refused' 1 append-only guard apply
		chattr -a e
		both 'apply is accepted' 0 '' guard apply
		chattr +i a
		both 'undo over an immutable file is refused' 1 immutable guard undo
		both 'restore of an immutable file is refused' 1 immutable guard restore --at 1 a
		chattr -i a
	else
		skip 'the file system has no immutable files'
		both 'apply is accepted' 0 '' guard apply
	fi
else
	guard run -q -- sh -c 'echo new >a; chmod u+w d; echo new >d/f
		chmod u-w d' || exit 99
	settle
	both 'apply without the read-only directory is accepted' 0 '' guard apply a
	both "apply into a read-only directory of the user's is accepted" 0 '' \
		guard apply
	chmod 555 .
	both 'undo in a read-only directory is accepted' 0 '' guard undo
	both 'redo in a read-only directory is accepted' 0 '' guard redo
	both 'restore into a read-only directory is accepted' 0 '' \
		guard restore --at 1 a
	gives 0 'its undo is accepted' guard undo -q -y
	is "$(stat -c %a . d | tr '\n' ' ')" '555 555 ' '... and the modes stay'
	chmod 755 . d
	mkdir -m 555 "$HOME/shut"
	both 'restore --to a read-only directory is refused' 1 "$HOME/shut" \
		guard restore --at 1 a --to "$HOME/shut/new"
	echo file >"$HOME/file"
	both 'restore --to a file is refused' 1 "$HOME/file" \
		guard restore --at 1 a --to "$HOME/file"
	gives 0 'undo 2 reverts the applies' guard undo -q -y 2
fi
[ "$me" != root ] || gives 0 'undo reverts the apply of root' guard undo -q -y
gives 0 'discard drops the run' guard discard -q -y

# --- files open for writing ---
guard run -q -- sh -c 'echo new >a' || exit 99
settle
exec 9>>a
both 'apply over a file open for writing is refused' 1 'open for writing' \
	guard apply
exec 9>&-
gives 0 'discard drops the run of an open file' guard discard -q -y
mkdir -p folder/in
echo old >folder/in/file
guard run -q -- rm -r folder || exit 99
settle
exec 9>>folder/in/file
both 'apply that deletes the directory of an open file is refused' 1 "'in/file' in it" \
	guard apply
exec 9>&-
rm -r folder
gives 0 'discard drops the run of an open file in a directory' \
	guard discard -q -y
guard run -q -- sh -c 'echo new >a' || exit 99

# --- conflicts ---
echo user >a
both 'apply with a conflict is refused' 1 'both sides' guard apply
echo old >a
gives 0 'discard drops the run with a conflict' guard discard -q -y
guard run -q -- sed -i 's/5/run/' text || exit 99
sed -i 's/5/user/' text
both 'apply --merge with a conflict ends with 1' 1 "in 'text'" guard apply --merge
gives 0 'undo reverts the markers' guard undo -q -y
seq 9 >text
gives 0 'discard drops the run with markers' guard discard -q -y

# --- git ---
git init -q . && git add . && git commit -q -m first || exit 99
guard run -q -- sh -c 'echo new >a' || exit 99
git checkout -q --detach
both 'apply --commit without a branch is refused' 1 'HEAD is detached' guard apply --commit
both 'apply --branch with an invalid name is refused' 1 'not a valid name' guard apply --branch 'a..b'
git checkout -q -
both 'apply --branch of the current branch is refused' 1 'checked out' \
	guard apply --branch "$(git symbolic-ref --short HEAD)"
both 'apply --branch of a new branch is accepted' 0 '' guard apply --branch side
both 'apply --branch without a new change is refused' 1 'already has all of it' guard apply --branch side
both 'apply --commit is accepted' 0 '' guard apply --commit
finish
