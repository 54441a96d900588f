#!/bin/sh
# guard run --memory, --cpus, --pids-limit, --tmp-size, --user: each bites, and
# guard says which one it was. As root a cgroup holds them where the machine
# has version 1, else guard looks itself.
# needs: team
# shellcheck disable=SC2317 # delegated is called through gives
# shellcheck disable=SC2016 # texts for inner shells
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
programs=/opt/guard/build/tests/hostile
held=
[ ! -w /sys/fs/cgroup/memory/cgroup.procs ] || held=v1
[ ! -w /sys/fs/cgroup/cgroup.procs ] || held=v2

# --- memory ---
if [ -n "$held" ]; then
	gives 1 'several processes that take too much are killed one by one' \
		guard run --memory 200m -- "$programs/resources" P75m
	says "$err" "a cgroup ($held) holds it"
	says "$err" 'out of memory: at the 200 MiB of --memory'
	gives 137 'a command that takes too much is killed' \
		guard run --memory 100m -- "$programs/resources" P75
	says "$err" 'kernel killed'
else
	gives 124 'a command that takes too much is ended' \
		guard run --memory 100m -- "$programs/resources" P75
	says "$err" 'guard looks ten times a second'
	says "$err" 'more memory than the 100 MiB of --memory'
fi
gives 0 'below the limit all is well' guard run --memory 300m -- true
silent "$err" 'out of memory'
for size in 1m 5.9m x -3 '' 12q 1gg 512mx 512mi 512kbb 1bb inf 0x20000000; do
	gives 125 "--memory '$size' is refused" \
		guard run --memory "$size" -- true
	says "$err" "--memory is a size like 512m or 2g, at least 6144k, not '$size'"
done
# Docker's, all of them
for size in 1048576 1048576b 1024k 1024K 1m 1M 1mb 1MB 1MiB '1 m' 1.0m \
	.0009765625g .0009765625GiB; do
	gives 0 "'$size' is a size" guard run --tmp-size "$size" -- \
		sh -c 'echo $(($(stat -f -c "%b * %S" /tmp)))'
	is "$(cat "$out")" 1048576 'of a MiB'
done
gives 0 '0 is no limit' guard run --memory 0 --cpus 0 -- true
silent "$err" 'memory:'
silent "$err" 'processors:'
for number in 0 -1; do
	gives 0 "nor is $number one of processes" guard run \
		--pids-limit "$number" -- sh -c \
		'most=$(ulimit -u 2>/dev/null || ulimit -p)
		test "$most" = unlimited || test "$most" -gt 1024'
done
gives 125 'a number of processes is one' guard run --pids-limit -2 -- true
says "$err" "--pids-limit is a number, or -1 for none, not '-2'"

# Groups that somebody handed to a plain user, as systemd does: those of v2
# with a process in them can have no others with limits below, so that one is
# for the caller alone.
groups=/sys/fs/cgroup
case $held in
v1)
	handed="$groups/memory/delegated $groups/pids/delegated
		$groups/cpu/delegated"
	joined=$handed
	;;
*)
	handed=$groups/delegated
	joined=$handed/caller
	;;
esac
delegated() {
	(
		for folder in $joined; do
			exec 3>"$folder/cgroup.procs"
			sh -c 'echo $PPID >&3'
		done
		exec 3>&-
		cd /srv/project || exit 99
		exec setpriv --reuid=tester --regid=tester --clear-groups \
			env HOME=/home/tester "$@"
	)
}
if [ -n "$held" ] && [ "$me" = root ]; then
	for folder in $handed; do
		mkdir "$folder"
		chown tester "$folder" "$folder/cgroup.procs"
		[ "$held" = v1 ] || chown tester "$folder/cgroup.subtree_control"
	done
	# shellcheck disable=SC2086 # a list of folders
	[ "$held" = v1 ] || mkdir $joined
	mkdir /srv/project
	chown tester /srv/project
	gives 137 'in a delegated group the kernel holds a plain user as well' \
		delegated guard run --memory 100m --cpus 0.5 --pids-limit 50 \
		-- "$programs/resources" P75
	says "$err" "memory: a cgroup ($held) holds it"
	says "$err" "processors: a cgroup ($held)"
	says "$err" "processes: a cgroup ($held)"
	# the snapshot beside it was in that group as well
	settle
	# shellcheck disable=SC2086 # a list of folders
	is "$(find $handed -name 'guard-*')" '' 'and none of it is left'
	# shellcheck disable=SC2086 # a list of folders
	[ "$held" = v1 ] || rmdir $joined
	# shellcheck disable=SC2086 # a list of folders
	rmdir $handed
fi

# --- processes ---
# Root's limit of processes is no rlimit: guard sees a short burst too late.
if [ -n "$held" ] || [ "$(id -u)" -ne 0 ]; then
	gives 1 'no more processes than allowed' \
		guard run --pids-limit 200 -- "$programs/resources" P74
else
	skip 'no cgroup: only what lasts is ended'
fi
gives 124 'a fork bomb that goes on is ended' \
	guard run --pids-limit 60 -- "$programs/resources" G03
says "$err" 'as many processes as it may: --pids-limit'
ok 'nothing of it is left' sh -c '! grep -qx resources /proc/[0-9]*/comm'
ok 'and the machine works' sh -c 'sh -c "sh -c true"'

# --- open files ---
# Whoever has all of its files open when it fails, closes them before it ends,
# or goes on without them.
eater=/opt/guard/build/tests/lib/eater
gives 1 'a program that opens files without end gets no more' \
	guard run -- sh -c 'ulimit -n 200; exec "$1"' sh "$eater"
says "$err" "'eater' had as many files open as it may, or nearly: 200"
gives 1 'one that closes them before it ends' \
	guard run -- sh -c 'ulimit -n 4096; exec "$1" closed' sh "$eater"
says "$err" "'eater' had as many files open as it may, or nearly: 4096"
# guard looks once a second
mkfifo "$T/end"
: >"$out" # the last one has said how many files, too
guard run --timeout 60 -- sh -c 'ulimit -n 200; exec "$1" on' sh "$eater" \
	<"$T/end" >"$out" 2>"$err" &
eating=$!
exec 8>"$T/end"
until grep -q files "$out"; do
	kill -0 $eating || break
	sleep 0.05
done
# Until it has looked: it wakes up four times a second, and now and then for
# something else; more often where the disk is small.
wakes() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$eating/status"; }
wakes=$(wakes)
then=$(($(date +%s) + 3))
until [ "$(wakes)" -gt $((wakes + 12)) ] && [ "$(date +%s)" -ge $then ]; do
	kill -0 $eating || break
	sleep 0.1
done
exec 8>&-
wait $eating
is $? 0 'one that goes on'
says "$err" "'eater' had as many files open as it may, or nearly: 200"
gives 1 'a failure alone is none of that' guard run -- \
	sh -c 'ulimit -n 4096; exec sh -c "exec 9</dev/null; exit 1"'
silent "$err" 'files open'

# --- inotify ---
silent "$err" 'inotify'
gives 1 'a program that takes all instances of inotify' \
	guard run -- sh -c '"$1" instances; exit 1' sh "$eater"
half=$(($(cat /proc/sys/fs/inotify/max_user_instances) / 2))
says "$err" "'eater' failed while the run had all the instances of inotify"
says "$err" "half of yours: $half (\`sysctl -w fs.inotify.max_user_instances"
# Half of the user's takes long; those above him have a limit as well.
saved=$(cat /proc/sys/user/max_inotify_watches)
if echo 100 2>/dev/null >/proc/sys/user/max_inotify_watches; then
	gives 1 'one that takes all watches' guard run -- "$eater" watches
	says "$err" "'eater' failed while the run had all the watches of"
	says "$err" 'fs.inotify.max_user_watches'
	echo "$saved" >/proc/sys/user/max_inotify_watches
else
	skip 'this user cannot change the number of watches'
fi

# --- what others need too ---
# The machine has it once: the tests who take it go one after the other.
exec 7<"${0%/*}/../hostile/play"
flock 7
gives 124 'whoever takes most of what the machine has is ended' \
	guard run -- "$programs/resources" G08
exec 7<&-
says "$err" 'fs.aio-max-nr'

# Numbers for processes, each PID namespace's own since Linux 6.14.
case $(uname -r) in
[1-5].* | 6.[0-9].* | 6.1[0-3].*) own= ;;
*) own=1 ;;
esac
outside=$(cat /proc/sys/kernel/pid_max)
gives 0 'how many there may be for a run' \
	guard run -q -- cat /proc/sys/kernel/pid_max
if [ -n "$own" ] && [ "$me" = root ]; then
	is "$(cat "$out")" 4400 'few, so that a burst of root'\''s ends'
	gives 0 'more where more are allowed' guard run -q --pids-limit 9000 \
		-- cat /proc/sys/kernel/pid_max
	is "$(cat "$out")" 36000 'four times as many'
else
	ok 'as many as ever' [ "$(cat "$out")" -ge "$outside" ]
fi
is "$(cat /proc/sys/kernel/pid_max)" "$outside" 'the machine'\''s stay as they are'

# --- processors ---
if [ -n "$held" ]; then
	gives 0 'a part of a processor is a quota' guard run --cpus 0.5 -- true
	says "$err" "processors: a cgroup ($held)"
else
	gives 0 'one processor is one' \
		guard run --cpus 1 -- sh -c 'test "$(nproc)" = 1'
	says "$err" 'kept on whole ones'
	gives 1 'it cannot have others' \
		guard run --cpus 1 -- "$programs/resources" G02
fi
for number in x -1 0.001 1e1 0x2 nan 1,5 ''; do
	gives 125 "--cpus '$number' is refused" guard run --cpus "$number" -- true
	says "$err" "not '$number'"
done

# --- /tmp ---
gives 1 '/tmp is as large as it may be' guard run --tmp-size 1m -- \
	sh -c 'head -c 2000000 /dev/zero >/tmp/x'
gives 1 '/var/tmp is the same' guard run --tmp-size 1m -- \
	sh -c 'head -c 700000 /dev/zero >/tmp/x && head -c 700000 /dev/zero \
		>/var/tmp/y'
gives 0 'what fits is no trouble' guard run --tmp-size 1m -- \
	sh -c 'head -c 900000 /dev/zero >/tmp/x'

# --- user ---
if [ "$me" = root ]; then
	mkdir -m 777 /srv/open
	cd /srv/open || exit 99
	echo secret >/srv/open/closed
	chmod 600 /srv/open/closed
	gives 0 'a run can be somebody else' guard run --user 1000:7 -- \
		sh -c 'id -u; id -g; id -G; stat -c %u "$XDG_RUNTIME_DIR"'
	is "$(tr '\n' ' ' <"$out")" '1000 7 7 1000 ' 'with nobody else'\''s groups'
	gives 1 'it may read what that one may' \
		guard run --user tester -- cat closed
	mkdir /srv/closed /srv/closed/tools
	chmod 755 /srv/closed /srv/closed/tools
	printf '#!/bin/sh\n' >/srv/closed/tools/one
	chmod 700 /srv/closed/tools/one
	gives 126 'what it may not execute' \
		guard run --user tester -- /srv/closed/tools/one
	says "$err" 'user 1000 of --user may not execute it'
	chmod 700 /srv/closed
	gives 126 'a command in a folder that it may not enter' \
		guard run --user tester -- /srv/closed/tools/one
	says "$err" "user 1000 of --user may not enter '/srv/closed'"
	gives 125 'a project that it may not enter' \
		guard -C /srv/closed/tools run --user tester -- true
	says "$err" "user 1000 of --user may not enter '/srv/closed'"
	gives 125 'there is no such user' guard run --user nosuch -- true
	says "$err" "there is no user 'nosuch'"
	gives 125 'nor such a group' guard run --user tester:nosuch -- true
	says "$err" "there is no group 'nosuch'"
	# As docker: a user alone has all his groups, with one named no others.
	spell() {
		gives 0 "--user $1" guard run --user "$1" -- \
			sh -c 'echo $(id -u) $(id -g) $(id -G)'
		is "$(cat "$out")" "$2" "is $2"
	}
	for user in tester 1000 tester: 1000:; do
		spell "$user" '1000 1000 1000 1001'
	done
	spell tester:team '1000 1001 1001'
	spell 1000:1001 '1000 1001 1001'
	spell 4242:team '4242 1001 1001'
	spell 4242 '4242 4242 4242'
else
	gives 125 'only root can be somebody else' guard run --user 0 -- true
	says "$err" 'for root'
fi
gives 125 'a variable without a name is refused' guard run --env '' -- true
says "$err" '--env is NAME'
finish
