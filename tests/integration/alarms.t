#!/bin/sh
# Alarms of a run that destroys much: the line, the mark, the pause.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
mkdir "$HOME/p"
cd "$HOME/p" || exit 99
git init -q .
mkdir src
for i in $(seq 60); do
	echo "$i" >"src/$i"
done
git add -A
git commit -q -m first

# begin COMMAND [OPTIONS]: the command in a run that ends when "end" is there
begin() {
	command=$1
	shift
	rm -f "$T/end"
	: >"$T/run"
	guard run --name r --ro "$T" "$@" -- sh -c "$command
		until [ -e '$T/end' ]; do echo >>made; sleep 0.02; done" \
		>"$T/run" 2>&1 </dev/null &
}

# until_says TEXT: the guard of the run prints it
until_says() {
	for _ in $(seq 1000); do
		! grep -q "$1" "$T/run" || break
		sleep 0.02
	done
	says "$T/run" "$1"
}

ends() {
	touch "$T/end"
	wait
}

while IFS='	' read -r command text; do
	begin "$command"
	until_says 'guard: warning: alarm: '
	says "$T/run" "$text"
	ends
	is "$(grep -c 'alarm' "$T/run")" 1 'once'
	ok 'the timeline has it' grep -aqF 'alarm: ' "$state"/runs/*/timeline/records
	guard discard -y -q r
done <<'END'
rm -r src	60 files deleted
for i in 1 2 3 4 5; do : >src/$i; done	5 files emptied
rm .git/HEAD	/p/.git/HEAD' deleted or emptied
END
begin 'rm -r src; git checkout -q src; rm -r .git/refs/heads/*; touch done'
until [ -e "$(echo "$state"/runs/*/upper/done)" ]; do
	kill -0 $! || break
	sleep 0.02
done
ends
silent "$T/run" alarm
guard discard -y -q r

# --- the pause ---
begin 'rm -r src' --pause-on-alarm
until_says 'guard: run r is paused: guard stop --resume r continues it, guard stop r ends it'
gives 0 'guard status' guard status
says "$out" 'paused'
size() {
	stat -c %s "$state"/runs/*/upper/made
}
before=$(size)
gives 0 'guard diff reads it' guard diff --stat r
gives 0 'a suspended run stays paused' guard diff --stat r
is "$(size)" "$before" 'it does nothing'
gives 0 'guard stop --resume' guard stop --resume r
says "$err" 'run r continues'
gives 1 'a second one' guard stop --resume r
says "$err" 'run r is not paused'
gives 2 'it has no time' guard stop --resume -t 1s r
until [ "$(size)" -gt "$before" ]; do
	kill -0 $! || break
	sleep 0.02
done
ok 'the run goes on' kill -0 $!
ends
gives 1 'a run that has ended' guard stop --resume r
guard discard -y -q r

begin 'rm -r src' --pause-on-alarm
until_says 'is paused'
gives 0 'guard stop ends it' guard stop -t 0 r
wait
gives 0 'its changes are pending' guard diff --name-only r
guard discard -y -q r

begin 'rm -r src' --pause-on-alarm
until_says 'is paused'
supervisor=$(sed -n 's/^supervisor=\([0-9]*\) .*/\1/p' "$state"/runs/*/record)
kill -9 "$supervisor"
wait
gives 0 'after kill -9 of guard no process is left, and a new start is not paused' \
	guard run -q --continue r -- true
gives 0 'discarded' guard discard -y -q --all

# --- on a terminal ---
mkfifo "$T/keys"
for answer in continue end 'rewind\ncontinue'; do
	: >"$T/run"
	TERM=dumb timeout 60 script -q -e -f -c "guard run --name r \
		--pause-on-alarm -- sh -c 'rm -r src; sleep 2; echo >more'" \
		/dev/null <"$T/keys" >>"$T/run" 2>&1 &
	exec 3>"$T/keys"
	until_says 'paused: continue, rewind or end?'
	printf 'nonsense\n\n%b\n' "$answer" >&3
	wait $!
	got=$?
	exec 3>&-
	[ -e "$(echo "$state"/runs/*/upper/more)" ]
	is "$got $?" "$([ $answer = end ] && echo 137 1 || echo 0 0)" "$answer"
	says "$T/run" 'nonsense'
	guard diff --name-only r >"$out"
	is "$(grep -c "src/[0-9]" "$out")" "$([ $answer = "${answer#rewind}" ] &&
		echo 60 || echo 0)" 'the files that it deleted'
	guard discard -y -q r
done
finish
