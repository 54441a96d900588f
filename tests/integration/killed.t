#!/bin/sh
# guard killed at any time: the run is shown as interrupted, its layer is
# intact, nothing runs on, nothing stays mounted.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
manifest "$HOME" >"$T/before"

mkfifo "$T/ready"
guard run -- sh -c 'echo kept >kept.txt; rm -rf src; echo ready; sleep 300' \
	>"$T/ready" 2>"$T/run.err" &
runner=$!
read -r line <"$T/ready"
is "$line" ready 'the command is at work'
gives 0 'the status of a live run' guard status
says "$out" running
gives 0 'the diff of a live run' guard diff --name-status
says "$out" kept.txt
kill -KILL $runner
wait $runner 2>/dev/null
timeout 60 tail -s 0.02 --pid=$runner -f /dev/null
# Whatever was in the run ends with it: wait for that, not for a time.
for dir in /proc/[0-9]*; do
	case $({ tr '\0' ' ' <"$dir/cmdline"; } 2>/dev/null) in
	'sleep 300 ') timeout 60 tail -s 0.02 --pid="${dir#/proc/}" \
		-f /dev/null ;;
	esac
done
settle
is "$(others)" '' 'nothing of the run is left'
is "$(changed_mounts)" '' 'nothing is mounted'
gives 0 'the status afterwards' guard status
says "$out" interrupted
gives 0 'the layer is intact' guard diff
says "$out" '+kept'
says "$out" src/f0.c
manifest "$HOME" >"$T/after"
ok 'project and home are as before' same "$T/before" "$T/after"
# After a reboot the disk may have another number; without one it is another.
record=$(echo "$state"/runs/*/record)
sed -i 's/^project-dev=.*/project-dev=999/' "$record"
gives 125 'with another disk in its place' guard run -q --continue -- true
says "$err" 'is not the folder any more'
sed -i 's/^boot=.*/boot=of-yesterday/' "$record"
gives 0 'after a reboot it goes on' guard run -q --continue -- cat kept.txt
is "$(cat "$out")" kept 'in its layer'
gives 0 'a path of it can be applied' guard apply -y kept.txt
is "$(cat kept.txt)" kept 'and is there'
ok 'the rest is discarded' guard discard -y
ok 'the sources are there' test -e src/f0.c
gives 0 'no run waits' guard status
silent "$out" interrupted

# As on a machine that sleeps: guard stands still, and all of the run too; the
# command goes on first, and has ended when guard does.
mkfifo "$T/up" "$T/on"
guard run -q --timeout 600s --rw "$T" -- sh -c "echo \$\$ >pid
	echo >'$T/up'; read -r _ <'$T/on'; echo slept >slept; exit 7" &
runner=$!
read -r _ <"$T/up"
kill -STOP $runner
inner=$(sed -n 's/^init=\([0-9]*\) .*/\1/p' "$state"/runs/*/record)
command=$(cat "/proc/$inner/task/$inner/children")
# shellcheck disable=SC2086 # a list of numbers
kill -STOP "$inner" $command
# The command first: whoever sees it stopped takes it for a Ctrl-Z.
# shellcheck disable=SC2086
kill -CONT $command "$inner"
echo >"$T/on"
for pid in $command; do
	timeout 60 tail -s 0.02 --pid="$pid" -f /dev/null
done
kill -CONT $runner
wait $runner
is $? 7 'a run that slept ends as it ends'
gives 0 'and what it did' guard apply -q -y slept
is "$(cat slept)" slept 'is there'
gives 0 'is taken back' guard undo -q -y
gives 0 'and dropped' guard discard -q -y

# Killed again and again, at different points of its start and its end.
i=0
while [ $i -lt 20 ]; do
	guard run -q -- sh -c 'echo x >x; rm -rf src' >/dev/null 2>&1 &
	runner=$!
	# from "before main" to "after all": a growing number of forks
	n=0
	while [ $n -lt $((i * 3)) ]; do
		/bin/true
		n=$((n + 1))
	done
	kill -KILL $runner 2>/dev/null
	wait $runner 2>/dev/null
	i=$((i + 1))
done
settle
for dir in /proc/[0-9]*; do
	case $({ tr '\0' ' ' <"$dir/cmdline"; } 2>/dev/null) in
	'sh -c echo x >x; '*) timeout 60 tail -s 0.02 \
		--pid="${dir#/proc/}" -f /dev/null ;;
	esac
done
is "$(others)" '' 'after twenty kills nothing is left'
rm kept.txt
touch -r "$HOME/project/src" "$T/stamp"
gives 0 'the status after twenty kills' guard status
silent "$out" running
is "$(find src -type f | wc -l)" 22 'the sources are all there'
no 'and nothing came out of the layers' test -e x
gives 0 'a run after twenty kills' guard run -q -- true
finish
