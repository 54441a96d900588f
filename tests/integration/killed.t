#!/bin/sh
# guard is killed at any time: the run is interrupted, its layer is complete, no
# process and no mount is left.
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
is "$line" ready 'the command of the run is running'
gives 0 'status of a live run works' guard status
says "$out" running
gives 0 'diff of a live run works' guard diff --name-status
says "$out" kept.txt
kill -KILL $runner
wait $runner 2>/dev/null
timeout 60 tail -s 0.02 --pid=$runner -f /dev/null
# Waits for the end of the run's processes.
for dir in /proc/[0-9]*; do
	case $({ tr '\0' ' ' <"$dir/cmdline"; } 2>/dev/null) in
	'sleep 300 ') timeout 60 tail -s 0.02 --pid="${dir#/proc/}" \
		-f /dev/null ;;
	esac
done
settle
is "$(others)" '' 'no process of the killed run is left'
is "$(changed_mounts)" '' 'no mount of the killed run is left'
gives 0 'status works after guard was killed' guard status
says "$out" interrupted
gives 0 'the layer of the killed run is complete' guard diff
says "$out" '+kept'
says "$out" 'src/  all 21 files'
manifest "$HOME" >"$T/after"
ok 'project and home are unchanged' same "$T/before" "$T/after"
# A disk that is attached again may have another device number; another
# directory has another birth time. Where the file system has none, a disk with
# another number is another one until the next reboot.
record=$(echo "$state"/runs/*/record)
cp "$record" "$T/record"
sed -i 's/^project-born=.*/project-born=1.000000001/' "$record"
run=${record%/record}
gives 125 'run --continue is refused in another directory' \
	guard run -q --continue "${run##*/}" -- true
says "$err" 'was replaced: the run was created for another directory'
sed 's/^project-dev=.*/project-dev=999/' "$T/record" >"$record"
gives 0 'run --continue works on a disk that was attached again' \
	guard run -q --continue -- cat kept.txt
sed -i 's/^project-dev=.*/project-dev=999/; /^project-born=/d' "$record"
gives 125 'run --continue is refused with another disk in place' \
	guard run -q --continue -- true
says "$err" 'was replaced: the run was created for another directory'
sed -i 's/^boot=.*/boot=of-yesterday/' "$record"
gives 0 'run --continue works after a reboot' \
	guard run -q --continue -- cat kept.txt
is "$(cat "$out")" kept 'the continued run sees its layer'
gives 0 'apply accepts a path of the killed run' guard apply -y kept.txt
is "$(cat kept.txt)" kept 'apply writes that path'
ok 'discard drops the rest' guard discard -y
ok 'the sources are unchanged' test -e src/f0.c
gives 0 'status lists no pending run' guard status
silent "$out" interrupted

# As on a machine that suspends: guard and the run stand still; the command
# continues first, and has ended when guard continues.
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
# The command is stopped first: guard takes a stopped command for Ctrl-Z.
# shellcheck disable=SC2086
kill -CONT $command "$inner"
echo >"$T/on"
for pid in $command; do
	timeout 60 tail -s 0.02 --pid="$pid" -f /dev/null
done
kill -CONT $runner
wait $runner
is $? 7 'a suspended run ends with the status of its command'
gives 0 'apply accepts the suspended run' guard apply -q -y slept
is "$(cat slept)" slept 'apply writes the file of the suspended run'
gives 0 'undo reverts that apply' guard undo -q -y
gives 0 'discard drops the suspended run' guard discard -q -y

# Killed twenty times at different points of start and end.
i=0
while [ $i -lt 20 ]; do
	guard run -q -- sh -c 'echo x >x; rm -rf src' >/dev/null 2>&1 &
	runner=$!
	# from before main() to after the end: a growing number of forks
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
is "$(others)" '' 'no process is left after twenty kills'
rm kept.txt
touch -r "$HOME/project/src" "$T/stamp"
gives 0 'status works after twenty kills' guard status
silent "$out" running
is "$(find src -type f | wc -l)" 22 'all sources exist after twenty kills'
no 'no file has left the layers after twenty kills' test -e x
gives 0 'a run works after twenty kills' guard run -q -- true
finish
