#!/bin/sh
# An apply that was ended in the middle: what status says of it, and how the
# user finishes it or takes it back.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

make_home
cd "$HOME/project" || exit 99
gives 0 'with nothing unfinished there is nothing to go on with' \
	guard apply --continue
says "$err" 'is unfinished'
gives 1 'nor to take back' guard apply --abort
gives 2 'one of both' guard apply --abort --continue
gives 2 'and no run with it' guard apply --abort src
mkdir many
seq 60 | while read -r i; do echo old >"many/$i"; done
ok 'a run' guard run -q -- sh -c '
	for i in $(seq 60); do echo "of the run" >many/$i; done; rm README.md'
run=$(guard status -q)

changed() {
	grep -l 'of the run' many/* 2>/dev/null | wc -l
}
# Ends an apply at one of its calls after which a part of the files is changed
# and the rest is not.
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
ok 'an apply ends in the middle' halfway
gives 0 'status' guard status
says "$err" "apply of run $run was interrupted in the middle"
says "$err" 'guard apply --abort'
gives 0 'status --json' guard status --json
says "$out" "\"unfinished\": \"apply of run $run\""
ok 'which change nothing' test "$(changed)" -ge 1 -a "$(changed)" -le 59
gives 0 'it is taken back' guard apply --abort
says "$err" 'taken back'
manifest . >"$T/after"
ok 'all is as before' same "$T/before" "$T/after"
gives 0 'status has nothing to say of it' guard status
silent "$err" interrupted
says "$out" "$run  ended"
ok 'again in the middle' halfway
gives 0 'it is finished' guard apply --continue
is "$(changed)" 60 'all of it is there'
no 'also the deletion' test -e README.md
is "$(guard status -q)" '' 'the run is applied'
ok 'and can be taken back' guard undo -y -q
manifest . >"$T/after"
ok 'as before' same "$T/before" "$T/after"

# --- its disk was not there for a while ---
ok 'once more in the middle' halfway
cd "$HOME" || exit 99
mv project away
mkdir project
gives 0 'a command in what stands in its place' \
	guard snapshot -q "$HOME/project"
says "$err" 'is taken back when it is there again'
rmdir project
mv away project
cd project || exit 99
gives 0 'there again: status' guard status
says "$err" "apply of run $run was interrupted while it was taken back"
gives 0 'it is taken back' guard apply --abort
manifest . >"$T/after"
ok 'all is as before' same "$T/before" "$T/after"

# --- a power cut between records and the snapshots that they name ---

# Only a file system that keeps no order between folders leaves these.
state=${GUARD_HOME:-$HOME/.local/share/guard}
[ -d "$state/workspaces" ] || state=/var/lib/guard
last=$(find "$state/workspaces" -name last-action)
next=${last%/*}/next-action
value() {
	sed -n "s/^$1=//p" "$last"
}

sed -e 's/^before=.*/before=4000000000/' -e 's/^after=.*/after=0/' \
	-e 's/^kind=.*/kind=apply/' -e 's/^undoes=.*/undoes=/' "$last" >"$next"
cp "$last" "$T/last"
gives 0 'what was announced without the state before it' guard snapshot -q
no 'has never begun' test -e "$next"
ok 'and is no action' cmp -s "$T/last" "$last"

ok 'applied once more' guard apply -y -q "$run"
sed 's/^after=.*/after=0/' "$last" >"$next"
sed 's/^after=.*/after=4000000000/' "$last" >"$T/last"
cp "$T/last" "$last"
gives 0 'the state after it is not there: the next command' guard snapshot -q
no 'has settled it' test -e "$next"
ok 'by another one' test "$(value after)" -lt 4000000000
ok 'which undo knows of' guard undo -y -q
manifest . >"$T/after"
ok 'all is as it was before' same "$T/before" "$T/after"

# --- done, and the state after it could not be stored ---

# The second snapshot of it.
"$stopat" --at 2 --only rename --below "$state/store/snaps" --error ENOSPC -- \
	guard apply -y -q "$run" >"$out" 2>"$err" </dev/null
is $? 0 'an apply'
says "$err" 'the next command of guard here tries again'
is "$(changed)" 60 'it is done'
cp -p notes.txt "$T/notes"
echo mine >many/7
echo mine >notes.txt
"$stopat" --at 1 --on --only rename --error ENOSPC -- guard snapshot -q \
	>"$out" 2>"$err"
is $? 1 'nor can it by the next command'
echo mine >many/8
gives 1 'an undo does not take the edits since for what guard did' \
	guard undo -y -q
says "$err" "'many/7'"
says "$err" "'many/8'"
silent "$err" notes.txt
is "$(cat many/7 many/8 notes.txt | uniq -c | tr -s ' ')" ' 3 mine' \
	'they are still there'
is "$(changed)" 58 'and the rest of it'
for i in 7 8; do echo of the run >many/$i; done
gives 0 'without them' guard undo -y -q
is "$(cat notes.txt)" mine 'what is none of it stays'
is "$(changed)" 0 'it is taken back'
"$stopat" --at 2 --only rename --below "$state/store/snaps" --error ENOSPC -- \
	guard apply -y -q "$run" >"$out" 2>"$err" </dev/null
is $? 0 'another one'
gives 0 'status notes it' guard status
silent "$err" 'in the middle'
gives 0 'so that nothing is left to continue' guard apply --continue
says "$err" 'is unfinished'
is "$(changed)" 60 'it is done'
gives 0 'undo knows of it' guard undo -y -q
is "$(changed)" 0 'and takes it back'

# --- finished, and its staging folder cannot be removed ---

staging() {
	find . -maxdepth 1 -name '.guard-staging-*' | wc -l
}
# goes_on ERROR: nothing can be removed here meanwhile
goes_on() {
	"$stopat" --at 1 --on --only unlinkat --below "$PWD" --error "$1" -- \
		guard apply --continue >"$out" 2>"$err" </dev/null
}
touch -r . "$T/time"
for error in EIO EROFS; do
	ok 'an apply ends in the middle' halfway
	ok "it is finished, with $error" goes_on $error
	is "$(changed) $(staging)" '60 1' 'all but its staging folder'
	says "$err" 'the next command of guard here tries again'
	gives 0 'the next command' guard snapshot -q
	says "$err" 'was finished'
	is "$(staging)" 0 'removes it'
	gives 0 'once' guard snapshot -q
	is "$(cat "$err")" '' 'and has no more to say'
	ok 'it can be taken back' guard undo -y -q
	is "$(changed)" 0 'all of it'
done
ok 'an apply ends in the middle' halfway
ok 'a disk that cannot be written' goes_on EROFS
ok 'any longer' goes_on EROFS
says "$err" 'the next command of guard here tries again'
ok 'and one that can, but for this' goes_on EIO
says "$err" 'remove it by hand'
gives 0 'that stands in nobody'"'"'s way' guard snapshot -q
is "$(cat "$err")" '' 'nor is it said again'
is "$(staging)" 1 'it is there'
ok 'it can be taken back' guard undo -y -q
rm -r .guard-staging-*
touch -r "$T/time" .

# --- done, and the run's record cannot be written ---

# unnoted N COMMAND...: from the N-th record of the run on
unnoted() {
	n=$1
	shift
	"$stopat" --at "$n" --on --only rename --below "$state/runs/$run" \
		--error ENOSPC -- "$@" >"$out" 2>"$err" </dev/null
}
ok 'a part of it' guard apply -y -q "$run" many/1 many/2
ok 'not any more' guard undo -y -q
"$stopat" --at 1 --only rename --below "$state/runs/$run" -- \
	guard undo -y -q >"$out" 2>"$err" </dev/null
is $? 137 'again, and ended before the record of the run'
is "$(changed)" 2 'the part is there'
is "$(guard status -q)" "$run" 'the rest of it waits'
ok 'and not any more' guard undo -y -q
ok 'an apply' unnoted 1 guard apply -y -q "$run"
says "$err" "it is done, but what run $run had applied by now"
says "$err" "it is done, but the state of run $run could not be noted"
is "$(changed)" 60 'it is done'
ok 'nor can it by the next command' unnoted 1 guard snapshot -q
says "$err" "record of run $run"
is "$(guard status -q)" '' 'by the next one it is'
ok 'an undo' unnoted 1 guard undo -y -q
says "$err" "it is done, but that run $run waits again could not be noted"
is "$(changed)" 0 'it is done'
is "$(guard status -q)" "$run" 'and noted by the next command'
touch -r "$T/time" .

# --- announced, and ended before its journal was there ---
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
ok 'an apply that was ended before it began' unbegun
is "$(changed)" 0 'nothing of it is done'
echo 'of the user' >notes.txt
ok 'the next command' guard snapshot -q
no 'takes it for none' test -e "$next"
is "$(guard status -q)" "$run" 'the run waits'
gives 0 'an undo is of what was done before' guard undo -y -q
is "$(changed)" 60 'the undo of it'
is "$(cat notes.txt)" 'of the user' 'what the user did is not among that'
ok 'undone again' guard undo -y -q
cp -p "$T/notes" notes.txt

# --- one that could not begin ---
printf 'mount -t tmpfs none /proc && exec guard run -- true\n' >"$T/blind"
blind() {
	if [ "$me" = root ]; then
		unshare --mount sh "$T/blind"
	else
		unshare --map-current-user --keep-caps --mount sh "$T/blind"
	fi
}
waiting=$(guard status -aq)
gives 125 'where no mounts can be looked up' blind
says "$err" '/proc/self/mountinfo'
is "$(guard status -aq)" "$waiting" 'no run begins, none is left'

# --- Ctrl-C, before the first rename and after it ---
gives 1 'interrupted while the new files are made' "$stopat" --at 1 \
	--only mkdirat --below "$HOME/project" --interrupt -- guard apply -y -q
says "$err" 'interrupted: nothing was done'
manifest . >"$T/after"
ok 'it is so' same "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'and the run waits'
gives 1 'interrupted between two of its renames' "$stopat" --at 5 \
	--only renameat2 --below "$HOME/project" --interrupt -- guard apply -y
says "$err" 'interrupted: all of it was taken back'
manifest . >"$T/after"
ok 'it is so' same "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'and the run waits'
silent "$err" 'guard undo'
ok 'once more in the middle' halfway
"$stopat" --at 1 --every --only statx --below "$HOME/project" --error EACCES \
	-- guard apply --continue >"$out" 2>"$err"
is $? 1 'one that could not be finished has a status of its own'
says "$err" 'was taken back'
is "$(changed)" 0 'and is taken back'
gives 0 'interrupted after the last one' "$stopat" --at 1 --only unlinkat \
	--below "$HOME/project" --interrupt -- guard apply -y
says "$err" 'interrupted too late: it is done'
says "$err" 'guard undo takes it back'
is "$(changed)" 60 'all of it is there'
ok 'undone' guard undo -y -q
gives 0 'where Ctrl-C is ignored, as in the background' "$stopat" --at 1 \
	--only mkdirat --below "$HOME/project" --interrupt -- \
	sh -c 'trap "" INT; exec guard apply -y'
silent "$err" interrupted
is "$(changed)" 60 'all of it is there'
gives 0 'and among the actions' guard log --actions
says "$out" "run=$run"
gives 0 'it is taken back' guard undo -y -q
manifest . >"$T/after"
ok 'as before' same "$T/before" "$T/after"

# --- and in the middle of a long file ---
ok 'the run goes' guard discard -y -q "$run"
head -c 12000000 /dev/urandom >long
first=$(guard snapshot -q)
manifest . >"$T/before"
ok 'a run' guard run -q -- sh -c 'tail -c +2 long >other; mv other long'
run=$(guard status -q)
calls() {
	read -r n _ <"$T/calls"
	echo "$n"
}
gives 1 'interrupted while it is made' "$stopat" --count "$T/calls" --at 3 \
	--only pwrite64 --below "$HOME/project" --interrupt -- guard apply -y -q
says "$err" 'interrupted: nothing was done'
is "$(calls)" 3 'the rest of it is not written'
manifest . >"$T/after"
ok 'all is as before' same "$T/before" "$T/after"
gives 1 'interrupted while the old one is looked at' "$stopat" \
	--count "$T/calls" --at 3 --every --only pread64 --since renameat2 \
	--below "$HOME/project" --interrupt -- guard apply -y -q
says "$err" 'interrupted: all of it was taken back'
is "$(calls)" 3 'the rest of it is not read'
manifest . >"$T/after"
ok 'again as before' same "$T/before" "$T/after"
is "$(guard status -q)" "$run" 'and the run waits'
ok 'it can be applied' guard apply -y -q
gives 1 'an undo is interrupted in the same way' "$stopat" \
	--count "$T/calls" --at 3 --only pwrite64 --below "$HOME/project" \
	--interrupt -- guard undo -y -q
says "$err" 'interrupted: nothing was done'
is "$(calls)" 3 'as early'
gives 1 'and a restore' "$stopat" --count "$T/calls" --at 3 --only pwrite64 \
	--below "$HOME/project" --interrupt -- \
	guard restore -y -q --overwrite always --at "$first" long
says "$err" 'interrupted: nothing was done'
ok 'undone' guard undo -y -q
manifest . >"$T/after"
ok 'it is as before' same "$T/before" "$T/after"
finish
