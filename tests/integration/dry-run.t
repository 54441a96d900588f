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
		both 'an apply over an immutable file' 1 immutable guard apply
		chattr -i a
		chattr +a e
		both 'into an append-only folder' 1 append-only guard apply
		chattr -a e
		both 'an apply' 0 '' guard apply
		chattr +i a
		both 'an undo over it' 1 immutable guard undo
		both 'a restore' 1 immutable guard restore --at 1 a
		chattr -i a
	else
		skip 'the file system has no immutable files'
		both 'an apply' 0 '' guard apply
	fi
else
	guard run -q -- sh -c 'echo new >a; chmod u+w d; echo new >d/f
		chmod u-w d' || exit 99
	settle
	both 'an apply into a folder that stays shut' 1 "'d'" guard apply
	both 'without it' 0 '' guard apply a
	chmod 755 d
	both 'opened' 0 '' guard apply
	chmod 555 d
	chmod 555 .
	both 'an undo in a folder that may not be written' 1 'may not write' \
		guard undo
	both 'a restore' 1 'may not write' guard restore --at 1 a
	chmod 755 . d
	mkdir -m 555 "$HOME/shut"
	both 'a restore into another' 1 "$HOME/shut" \
		guard restore --at 1 a --to "$HOME/shut/new"
	echo file >"$HOME/file"
	both 'a restore into a file' 1 "$HOME/file" \
		guard restore --at 1 a --to "$HOME/file"
	gives 0 'undo 2 reverts the applies' guard undo -q -y 2
fi
[ "$me" != root ] || gives 0 'undo reverts the apply of root' guard undo -q -y
gives 0 'discard drops the run' guard discard -q -y

# --- files open for writing ---
guard run -q -- sh -c 'echo new >a' || exit 99
settle
exec 9>>a
both 'an apply over a file that somebody writes to' 1 'open for writing' \
	guard apply
exec 9>&-
gives 0 'discard drops the run of an open file' guard discard -q -y
mkdir -p folder/in
echo old >folder/in/file
guard run -q -- rm -r folder || exit 99
settle
exec 9>>folder/in/file
both 'an apply that deletes the folder of such a file' 1 "'in/file' in it" \
	guard apply
exec 9>&-
rm -r folder
gives 0 'discard drops the run of an open file in a directory' \
	guard discard -q -y
guard run -q -- sh -c 'echo new >a' || exit 99

# --- conflicts ---
echo user >a
both 'a conflict' 1 'both sides' guard apply
echo old >a
gives 0 'discard drops the run with a conflict' guard discard -q -y
guard run -q -- sed -i 's/5/run/' text || exit 99
sed -i 's/5/user/' text
both 'conflict markers' 1 "in 'text'" guard apply --merge
gives 0 'undo reverts the markers' guard undo -q -y
seq 9 >text
gives 0 'discard drops the run with markers' guard discard -q -y

# --- git ---
git init -q . && git add . && git commit -q -m first || exit 99
guard run -q -- sh -c 'echo new >a' || exit 99
git checkout -q --detach
both 'a commit without a branch' 1 'no branch' guard apply --commit
both 'a branch of a bad name' 1 'no name' guard apply --branch 'a..b'
git checkout -q -
both 'a branch that is checked out' 1 'checked out' \
	guard apply --branch "$(git symbolic-ref --short HEAD)"
both 'another branch' 0 '' guard apply --branch side
both 'the same once more' 1 'all already' guard apply --branch side
both 'a commit' 0 '' guard apply --commit
finish
