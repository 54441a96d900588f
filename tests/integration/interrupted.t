#!/bin/sh
# An apply that was killed in the middle: what status reports, and how the user
# finishes or reverts it.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

make_home
cd "$HOME/project" || exit 99
gives 0 'apply --continue without an interrupted apply ends with 0' \
	guard apply --continue
says "$err" 'no interrupted action'
gives 1 'apply --abort without an interrupted apply is refused' \
	guard apply --abort
gives 2 'apply --abort --continue is refused' guard apply --abort --continue
gives 2 'apply --abort with a path is refused' guard apply --abort src
mkdir many
seq 60 | while read -r i; do echo old >"many/$i"; done
git add many
ok 'a run changes 60 files and deletes one' guard run -q -- sh -c '
	for i in $(seq 60); do echo "of the run" >many/$i; done; rm README.md'
run=$(guard status -q)

changed() {
	grep -l 'of the run' many/* 2>/dev/null | wc -l
}
# halfway: kills an apply at a call after which some files are changed and
# others are not
halfway() {
	"$stopat" --count "$T/calls" -- guard apply -y -q "$run" \
		>/dev/null 2>&1 </dev/null
	guard undo -y -q
	calls=$(grep -o '[0-9]*' "$T/calls" | head -n 1)
	at=$((calls / 2))
	while [ "$at" -lt "$calls" ]; do
		"$stopat" --at "$at" -- guard apply -y -q "$run" \
			>/dev/null 2>&1 </dev/null
		n=$(changed)
		[ "$n" -lt 1 ] || [ "$n" -gt 59 ] || return 0
		guard apply --abort >/dev/null 2>&1
		[ "$(changed)" -eq 0 ] || guard undo -y -q
		at=$((at + 11))
	done
	return 1
}

manifest . >"$T/before"
ok 'an apply is killed in the middle' halfway
gives 0 'status accepts an interrupted apply' guard status
says "$err" "apply of run $run was interrupted"
says "$err" 'guard apply --abort'
gives 0 'status --json accepts an interrupted apply' guard status --json
says "$out" "\"unfinished\": \"apply of run $run\""
ok 'status and status --json change no file' \
	test "$(changed)" -ge 1 -a "$(changed)" -le 59
gives 0 'apply --abort reverts the interrupted apply' guard apply --abort
says "$err" 'rolled back'
manifest . >"$T/after"
ok 'apply --abort restores the project' restored "$T/before" "$T/after"
gives 0 'status works after apply --abort' guard status
silent "$err" interrupted
says "$out" "$run  ended"
ok 'an apply is killed in the middle again' halfway
gives 0 'apply --continue finishes the interrupted apply' guard apply --continue
is "$(changed)" 60 'apply --continue writes all files'
no 'apply --continue deletes the file' test -e README.md
is "$(guard status -q)" '' 'no run is pending after apply --continue'
ok 'undo reverts the finished apply' guard undo -y -q
manifest . >"$T/after"
ok 'undo restores the project' restored "$T/before" "$T/after"

# --- the project directory is missing for a while ---
ok 'an apply is killed in the middle once more' halfway
cd "$HOME" || exit 99
mv project away
mkdir project
gives 0 "a command works in another directory at the project's path" \
	guard snapshot -q "$HOME/project"
says "$err" 'rolled back when it is present again'
rmdir project
mv away project
cd project || exit 99
gives 0 'status works when the project is back' guard status
says "$err" "apply of run $run was interrupted during its rollback"
gives 0 'apply --abort is accepted when the project is back' guard apply --abort
manifest . >"$T/after"
ok 'apply --abort restores the project that was missing' \
	restored "$T/before" "$T/after"

# --- a power cut between a record and the snapshots that it names ---

# Only a file system that orders no writes between directories leaves these
# states.
state=${GUARD_HOME:-$HOME/.local/share/guard}
[ -d "$state/workspaces" ] || state=/var/lib/guard
last=$(find "$state/workspaces" -name actions)
next=${last%/*}/next-action
value() {
	sed -n "s/^$1=//p" "$last" | tail -n 1
}
# announce SED: the newest action of the log, edited, as the next one
announce() {
	echo 'guard-action 5'
	awk '/^action=/ { text = "" } { text = text $0 "\n" }
		END { printf "%s", text }' "$last" | sed -e "$1"
}

announce 's/^before=.*/before=4000000000/; s/^after=.*/after=0/
	s/^kind=.*/kind=apply/; s/^action=.*/action=99/' >"$next"
cp "$last" "$T/last"
gives 0 'a record of an action without its first snapshot is accepted' \
	guard snapshot -q
no 'an action without its first snapshot is dropped' test -e "$next"
ok 'the dropped action is not in the log' \
	cmp -s "$T/last" "$last"

ok 'apply is accepted after that' guard apply -y -q "$run"
announce 's/^after=.*/after=0/' >"$next"
sed 's/^after=.*/after=4000000000/' "$last" >"$T/last"
cp "$T/last" "$last"
gives 0 'a record of an action without its second snapshot is accepted' \
	guard snapshot -q
no 'the next command completes that action' test -e "$next"
ok 'the completed action has another snapshot' \
	test "$(value after)" -lt 4000000000
ok 'undo reverts the completed action' guard undo -y -q
manifest . >"$T/after"
ok 'undo restores the state before that action' restored "$T/before" "$T/after"

# --- apply is complete, but the snapshot after it cannot be stored ---

# The third snapshot of the apply fails, that of the files afterwards.
"$stopat" --at 3 --only rename --below "$state/store/snaps" --error ENOSPC -- \
	guard apply -y -q "$run" >"$out" 2>"$err" </dev/null
is $? 0 'apply ends with 0 when the snapshot after it fails'
says "$err" 'the next guard command here tries again'
is "$(changed)" 60 'that apply writes all files'
cp -p notes.txt "$T/notes"
echo mine >many/7
echo mine >notes.txt
"$stopat" --at 1 --on --only rename --error ENOSPC -- guard snapshot -q \
	>"$out" 2>"$err"
is $? 1 'the next command cannot store the snapshot either'
echo mine >many/8
gives 1 'undo is refused over edits made after the apply' \
	guard undo -y -q
says "$err" "'many/7'"
says "$err" "'many/8'"
silent "$err" notes.txt
is "$(cat many/7 many/8 notes.txt | uniq -c | tr -s ' ')" ' 3 mine' \
	'the refused undo keeps the edits'
is "$(changed)" 58 'the refused undo keeps the applied files'
for i in 7 8; do echo of the run >many/$i; done
gives 0 'undo is accepted without the edits' guard undo -y -q
is "$(cat notes.txt)" mine 'undo keeps a file that the apply did not change'
is "$(changed)" 0 'undo reverts the apply'
"$stopat" --at 3 --only rename --below "$state/store/snaps" --error ENOSPC -- \
	guard apply -y -q "$run" >"$out" 2>"$err" </dev/null
is $? 0 'a second apply without a later snapshot ends with 0'
gives 0 'status stores the missing snapshot' guard status
silent "$err" 'was interrupted'
gives 0 'apply --continue finds nothing interrupted' guard apply --continue
says "$err" 'no interrupted action'
is "$(changed)" 60 'the second apply has written all files'
gives 0 'undo accepts the second apply' guard undo -y -q
is "$(changed)" 0 'undo reverts the second apply'

# --- apply is complete, but its staging directory cannot be removed ---

staging() {
	find . -maxdepth 1 -name '.guard-staging-*' | wc -l
}
# goes_on ERROR: apply --continue while every removal fails with ERROR
goes_on() {
	"$stopat" --at 1 --on --only unlinkat --below "$PWD" --error "$1" -- \
		guard apply --continue >"$out" 2>"$err" </dev/null
}
touch -r . "$T/time"
for error in EIO EROFS; do
	ok "an apply is killed in the middle ($error)" halfway
	ok "apply --continue ends with 0 when removals fail with $error" \
		goes_on $error
	is "$(changed) $(staging)" '60 1' \
		"all files are written, the staging directory is left ($error)"
	says "$err" 'the next guard command here tries again'
	gives 0 "the next command is accepted ($error)" guard snapshot -q
	says "$err" 'was finished'
	is "$(staging)" 0 \
		"the next command removes the staging directory ($error)"
	gives 0 "a second command is accepted ($error)" guard snapshot -q
	is "$(cat "$err")" '' \
		"the second command prints nothing about it ($error)"
	ok "undo reverts the apply ($error)" guard undo -y -q
	is "$(changed)" 0 "undo restores all files ($error)"
done
ok 'an apply is killed in the middle on a read-only disk' halfway
ok 'apply --continue ends with 0 on a read-only disk' goes_on EROFS
ok 'a second apply --continue ends with 0 on a read-only disk' goes_on EROFS
says "$err" 'the next guard command here tries again'
ok 'apply --continue ends with 0 when only the removal fails' goes_on EIO
says "$err" 'remove it by hand'
gives 0 'the next command is accepted with the staging directory' \
	guard snapshot -q
is "$(cat "$err")" '' \
	'the next command prints nothing about the staging directory'
is "$(staging)" 1 'the staging directory is left'
ok 'undo is accepted with the staging directory' guard undo -y -q
rm -r .guard-staging-*
touch -r "$T/time" .

# --- apply is complete, but the run's record cannot be written ---

# unnoted N COMMAND...: the run's record cannot be written from the N-th time on
unnoted() {
	n=$1
	shift
	"$stopat" --at "$n" --on --only rename --below "$state/runs/$run" \
		--error ENOSPC -- "$@" >"$out" 2>"$err" </dev/null
}
ok 'apply accepts two paths' guard apply -y -q "$run" many/1 many/2
ok 'undo reverts the two paths' guard undo -y -q
"$stopat" --at 1 --only rename --below "$state/runs/$run" -- \
	guard redo -y -q >"$out" 2>"$err" </dev/null
is $? 137 "redo is killed before it writes the run's record"
is "$(changed)" 2 'the two paths are applied again'
is "$(guard status -q)" "$run" 'the rest of the run is still pending'
ok 'undo reverts the two paths again' guard undo -y -q
ok "apply ends with 0 when the run's record cannot be written" \
	unnoted 1 guard apply -y -q "$run"
says "$err" "write 'applied-base'"
says "$err" "done, but the state of run $run could not be written"
is "$(changed)" 60 'that apply has written all files'
ok 'the next command ends with 0 without the record, too' \
	unnoted 1 guard snapshot -q
says "$err" "record of run $run"
is "$(guard status -q)" '' 'the record is written by the command after that'
ok "undo ends with 0 when the run's record cannot be written" \
	unnoted 1 guard undo -y -q
says "$err" "done, but the record that run $run is pending again could not be written"
is "$(changed)" 0 'that undo has reverted all files'
is "$(guard status -q)" "$run" 'the next command marks the run as pending'
touch -r "$T/time" .

# --- apply is killed between its record and its journal ---
unbegun() {
	for at in $(seq 9); do
		"$stopat" --at "$at" --only rename --below "${next%/*}" -- \
			guard apply -y -q "$run" >"$out" 2>"$err" </dev/null
		[ ! -e "$next" ] || [ -e "${next%/*}/journal" ] || return 0
		guard apply --abort >/dev/null 2>&1
		[ "$(changed)" -eq 0 ] || guard undo -y -q
	done
	return 1
}
ok 'an apply is killed before its journal exists' unbegun
is "$(changed)" 0 'that apply has changed no file'
echo 'of the user' >notes.txt
ok 'the next command is accepted' guard snapshot -q
no 'the next command drops the record of that apply' test -e "$next"
is "$(guard status -q)" "$run" 'the run is still pending'
gives 0 'redo repeats the action before that apply' guard redo -y -q
is "$(changed)" 60 'redo has written all files'
is "$(cat notes.txt)" 'of the user' "redo keeps the user's edit"
ok 'undo reverts that' guard undo -y -q
cp -p "$T/notes" notes.txt

# --- a run that cannot start ---
printf 'mount -t tmpfs none /proc && exec guard run -- true\n' >"$T/blind"
blind() {
	if [ "$me" = root ]; then
		unshare --mount sh "$T/blind"
	else
		unshare --map-current-user --keep-caps --mount sh "$T/blind"
	fi
}
waiting=$(guard status -aq)
gives 125 'a run without a /proc is refused' blind
says "$err" '/proc is not mounted'
is "$(guard status -aq)" "$waiting" 'the refused run leaves no run behind'

# --- Ctrl-C before and after the first rename ---
gives 1 'apply interrupted while it stages files ends with 1' "$stopat" --at 1 \
	--only mkdirat --below "$HOME/project" --interrupt -- guard apply -y -q
says "$err" 'interrupted: nothing was changed'
manifest . >"$T/after"
ok 'the interrupted apply changes no file' restored "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'the run is still pending after the interrupt'
gives 1 'apply interrupted between two renames ends with 1' "$stopat" --at 5 \
	--only renameat2 --below "$HOME/project" --interrupt -- guard apply -y
says "$err" 'interrupted: all changes were rolled back'
manifest . >"$T/after"
ok 'the interrupted apply is rolled back' restored "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'the run is still pending after the rollback'
silent "$err" 'guard undo'
# The numbers of guard's own descriptors begin behind the caller's.
for open in 3 4 5 6 7 8 9; do
	eval "exec $open</dev/null"
	"$stopat" --at 5 --only renameat2 --below "$HOME/project" --interrupt \
		-- guard apply -y >"$out" 2>"$err" </dev/null
	manifest . >"$T/after"
	ok "so it is with descriptors up to $open of the caller" \
		restored "$T/before" "$T/after"
done
for open in 3 4 5 6 7 8 9; do eval "exec $open<&-"; done
ok 'an apply is killed in the middle before a failing --continue' halfway
# The first two calls are of the search for a renamed project.
"$stopat" --at 3 --every --only statx --below "$HOME/project" --error EACCES \
	-- guard apply --continue >"$out" 2>"$err"
is $? 1 'apply --continue that fails ends with 1'
says "$err" 'rolled back'
is "$(changed)" 0 'apply --continue that fails rolls back'
gives 0 'apply interrupted after its last rename ends with 0' \
	"$stopat" --at 1 --only unlinkat \
	--below "$HOME/project" --interrupt -- guard apply -y
says "$err" 'interrupted too late: done'
says "$err" 'guard undo reverts it'
is "$(changed)" 60 'that apply has written all files'
ok 'undo reverts that apply' guard undo -y -q
gives 0 'apply with ignored SIGINT is not interrupted' "$stopat" --at 1 \
	--only mkdirat --below "$HOME/project" --interrupt -- \
	sh -c 'trap "" INT; exec guard apply -y'
silent "$err" interrupted
is "$(changed)" 60 'apply with ignored SIGINT has written all files'
gives 0 'log --actions lists that apply' guard log --actions
says "$out" "run=$run"
gives 0 'undo reverts it' guard undo -y -q
manifest . >"$T/after"
ok 'undo restores the project' restored "$T/before" "$T/after"

# --- Ctrl-C while a large file is copied ---
ok 'discard drops the run' guard discard -y -q "$run"
head -c 12000000 /dev/urandom >long
first=$(guard snapshot -q)
manifest . >"$T/before"
ok 'a run changes a large file' \
	guard run -q -- sh -c 'tail -c +2 long >other; mv other long'
run=$(guard status -q)
calls() {
	read -r n _ <"$T/calls"
	echo "$n"
}
gives 1 'apply interrupted while it copies a large file ends with 1' \
	"$stopat" --count "$T/calls" --at 3 \
	--only pwrite64 --below "$HOME/project" --interrupt -- \
	guard apply -y -q --yes-to all
says "$err" 'interrupted: nothing was changed'
is "$(calls)" 3 'apply stops copying at the interrupt'
manifest . >"$T/after"
ok 'the interrupted copy changes no file' same "$T/before" "$T/after"
gives 1 'apply interrupted while it compares the old file ends with 1' \
	"$stopat" \
	--count "$T/calls" --at 3 --every --only pread64 --since renameat2 \
	--below "$HOME/project" --interrupt -- guard apply -y -q --yes-to all
says "$err" 'interrupted: all changes were rolled back'
is "$(calls)" 3 'apply stops reading at the interrupt'
manifest . >"$T/after"
ok 'the interrupted comparison changes no file' same "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'the run is still pending after both interrupts'
ok 'apply without an interrupt is accepted' guard apply -y -q --yes-to all
gives 1 'undo interrupted while it copies ends with 1' "$stopat" \
	--count "$T/calls" --at 3 --only pwrite64 --below "$HOME/project" \
	--interrupt -- guard undo -y -q
says "$err" 'interrupted: nothing was changed'
is "$(calls)" 3 'undo stops copying at the interrupt'
gives 1 'restore interrupted while it copies ends with 1' \
	"$stopat" --count "$T/calls" --at 3 --only pwrite64 \
	--below "$HOME/project" --interrupt -- \
	guard restore -y -q --overwrite always --at "$first" long
says "$err" 'interrupted: nothing was changed'
ok 'undo without an interrupt is accepted' guard undo -y -q
manifest . >"$T/after"
ok 'undo restores the large file' restored "$T/before" "$T/after"
finish
