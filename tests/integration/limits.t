#!/bin/sh
# guard run --memory, --cpus, --pids-limit, --tmp-size, --user: each limit
# holds, and guard names the limit that was reached. As root a cgroup enforces
# them where one is available, else guard measures.
# needs: team
# shellcheck disable=SC2317 # delegated is called through gives
# shellcheck disable=SC2016 # texts for inner shells
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
programs=/opt/guard/build/tests/hostile
eater=/opt/guard/build/tests/lib/eater
held=
[ ! -w /sys/fs/cgroup/memory/cgroup.procs ] || held=v1
[ ! -w /sys/fs/cgroup/cgroup.procs ] || held=v2

# --- memory ---
if [ -n "$held" ]; then
	gives 1 '--memory: the kernel kills processes of a run one by one' \
		guard run --memory 200m -- "$programs/resources" P75m
	says "$err" "a cgroup ($held) limits it"
	says "$err" 'out of memory: at the limit of 200 MiB (--memory)'
	gives 137 '--memory: the kernel kills a command above the limit' \
		guard run --memory 100m -- "$programs/resources" P75
	says "$err" 'kernel killed'
else
	gives 124 '--memory: guard ends a run above the limit' \
		guard run --memory 100m -- "$programs/resources" P75
	says "$err" 'guard measures ten times a second'
	says "$err" 'more memory than the 100 MiB of --memory'
fi
gives 0 '--memory: a run below the limit ends with its own status' \
	guard run --memory 300m -- true
silent "$err" 'out of memory'
for size in 1m 5.9m x -3 '' 12q 1gg 512mx 512mi 512kbb 1bb inf 0x20000000; do
	gives 125 "--memory '$size' is refused" \
		guard run --memory "$size" -- true
	says "$err" "--memory must be a size like 512m or 2g, at least 6144k, not '$size'"
done
# All forms of docker.
for size in 1048576 1048576b 1024k 1024K 1m 1M 1mb 1MB 1MiB '1 m' 1.0m \
	.0009765625g .0009765625GiB; do
	gives 0 "--tmp-size '$size' is accepted" \
		guard run --tmp-size "$size" -- \
		sh -c 'echo $(($(stat -f -c "%b * %S" /tmp)))'
	is "$(cat "$out")" 1048576 "--tmp-size '$size' is one MiB"
done
gives 0 '--memory 0 and --cpus 0 set no limit' \
	guard run --memory 0 --cpus 0 -- true
silent "$err" 'memory:'
silent "$err" 'processors:'
for number in 0 -1; do
	gives 0 "--pids-limit $number sets no limit" guard run \
		--pids-limit "$number" -- sh -c \
		'most=$(ulimit -u 2>/dev/null || ulimit -p)
		test "$most" = unlimited || test "$most" -gt 1024'
done
gives 125 '--pids-limit -2 is refused' guard run --pids-limit -2 -- true
says "$err" "--pids-limit must be a number, or -1 for none, not '-2'"

# Control groups delegated to a plain user, as systemd does. In v2 a group with
# processes cannot have children with limits; therefore the caller has a group
# of its own.
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
	# shellcheck disable=SC2086 # a list of directories
	[ "$held" = v1 ] || mkdir $joined
	mkdir /srv/project
	chown tester /srv/project
	gives 137 'in a delegated group the kernel enforces the limits of a plain user' \
		delegated guard run --memory 100m --cpus 0.5 --pids-limit 50 \
		-- "$programs/resources" P75
	says "$err" "memory: a cgroup ($held) limits it"
	says "$err" "processors: a cgroup ($held)"
	says "$err" "processes: a cgroup ($held)"
	# The snapshot beside it was in that group as well. A group whose
	# processes take long to end is removed by a later run.
	settle
	# shellcheck disable=SC2086 # a list of directories
	[ -z "$(find $handed -name 'guard-*')" ] ||
		delegated guard run -q --memory 100m --cpus 0.5 \
			--pids-limit 50 -- true
	settle
	# shellcheck disable=SC2086 # a list of directories
	is "$(find $handed -name 'guard-*')" '' 'no group of the run is left'
	# shellcheck disable=SC2086 # a list of directories
	[ "$held" = v1 ] || rmdir $joined
	# shellcheck disable=SC2086 # a list of directories
	rmdir $handed
fi

# --- processes ---
# Root's limit of processes is no rlimit: guard notices a short burst too late.
if [ -n "$held" ] || [ "$(id -u)" -ne 0 ]; then
	gives 1 '--pids-limit stops a burst of processes' \
		guard run --pids-limit 200 -- "$programs/resources" P74
else
	skip 'no control group: guard ends only a burst that lasts'
fi
gives 124 '--pids-limit ends a fork bomb that lasts' \
	guard run --pids-limit 60 -- "$programs/resources" G03
says "$err" 'its limit of processes: --pids-limit'
ok 'no process of the fork bomb is left' \
	sh -c '! grep -qx resources /proc/[0-9]*/comm'
ok 'new processes can be started afterwards' sh -c 'sh -c "sh -c true"'

# --- resources shared with other processes of the machine ---
# The machine has this resource once: the tests that use it take a lock.
exec 7<"${0%/*}/../hostile/play"
flock 7
gives 124 "a run that takes most of the machine's aio requests is ended" \
	guard run -- "$programs/resources" G08
exec 7<&-
says "$err" 'fs.aio-max-nr'
# A network namespace of the test's with few ports is "the machine".
if [ "$me" = root ]; then
	gives 124 "a run that takes all of the machine's ports is ended" \
		timeout 60 unshare -n sh -c 'cd /proc/sys/net/ipv4 &&
		echo "40000 40999" >ip_local_port_range && cd "$1" &&
		exec guard run --net host -- "$2"' sh "$PWD" "$eater"
	says "$err" "it used up this machine's ports"
	is "$(cat "$out")" 1000 'the run had taken all of them'
else
	skip 'a plain user cannot change the range of ports'
fi

# pid_max belongs to each PID namespace since Linux 6.14.
case $(uname -r) in
[1-5].* | 6.[0-9].* | 6.1[0-3].*) own= ;;
*) own=1 ;;
esac
outside=$(cat /proc/sys/kernel/pid_max)
gives 0 'a run can read pid_max' \
	guard run -q -- cat /proc/sys/kernel/pid_max
if [ -n "$own" ] && [ "$me" = root ]; then
	is "$(cat "$out")" 4400 \
		"root's runs have a small pid_max that ends a burst"
	gives 0 '--pids-limit raises pid_max' guard run -q --pids-limit 9000 \
		-- cat /proc/sys/kernel/pid_max
	is "$(cat "$out")" 36000 'pid_max is four times the limit'
else
	ok "pid_max of a plain user's run is not lowered" \
		[ "$(cat "$out")" -ge "$outside" ]
fi
is "$(cat /proc/sys/kernel/pid_max)" "$outside" \
	"the machine's pid_max is unchanged"

# --- processors ---
if [ -n "$held" ]; then
	gives 0 '--cpus 0.5 sets a quota' guard run --cpus 0.5 -- true
	says "$err" "processors: a cgroup ($held)"
else
	gives 0 '--cpus 1 limits the run to one processor' \
		guard run --cpus 1 -- sh -c 'test "$(nproc)" = 1'
	says "$err" 'bound to complete ones'
	gives 1 'a run with --cpus 1 cannot use other processors' \
		guard run --cpus 1 -- "$programs/resources" G02
fi
for number in x -1 0.001 1e1 0x2 nan 1,5 ''; do
	gives 125 "--cpus '$number' is refused" \
		guard run --cpus "$number" -- true
	says "$err" "not '$number'"
done

# --- /tmp ---
gives 1 '--tmp-size limits /tmp' guard run --tmp-size 1m -- \
	sh -c 'head -c 2000000 /dev/zero >/tmp/x'
gives 1 '--tmp-size limits /tmp and /var/tmp together' \
	guard run --tmp-size 1m -- \
	sh -c 'head -c 700000 /dev/zero >/tmp/x && head -c 700000 /dev/zero \
		>/var/tmp/y'
gives 0 'a file below --tmp-size fits into /tmp' guard run --tmp-size 1m -- \
	sh -c 'head -c 900000 /dev/zero >/tmp/x'

# --- user ---
if [ "$me" = root ]; then
	mkdir -m 777 /srv/open
	cd /srv/open || exit 99
	echo secret >/srv/open/closed
	chmod 600 /srv/open/closed
	gives 0 '--user with numbers sets uid and gid' \
		guard run --user 1000:7 -- \
		sh -c 'id -u; id -g; id -G; stat -c %u "$XDG_RUNTIME_DIR"'
	is "$(tr '\n' ' ' <"$out")" '1000 7 7 1000 ' \
		'--user with a group has no other groups'
	gives 1 '--user cannot read files of root' \
		guard run --user tester -- cat closed
	mkdir /srv/closed /srv/closed/tools
	chmod 755 /srv/closed /srv/closed/tools
	printf '#!/bin/sh\n' >/srv/closed/tools/one
	chmod 700 /srv/closed/tools/one
	gives 126 '--user cannot execute a program of root' \
		guard run --user tester -- /srv/closed/tools/one
	says "$err" 'user 1000 of --user may not execute it'
	chmod 700 /srv/closed
	gives 126 '--user cannot execute a program in a closed directory' \
		guard run --user tester -- /srv/closed/tools/one
	says "$err" "user 1000 of --user may not enter '/srv/closed'"
	gives 125 '--user cannot enter a project in a closed directory' \
		guard -C /srv/closed/tools run --user tester -- true
	says "$err" "user 1000 of --user may not enter '/srv/closed'"
	gives 125 '--user of an unknown name is refused' \
		guard run --user nosuch -- true
	says "$err" "no such user: 'nosuch'"
	gives 125 '--user with an unknown group is refused' \
		guard run --user tester:nosuch -- true
	says "$err" "no such group: 'nosuch'"
	# As docker: a user without a group has all of the user's groups, with a
	# group no others.
	spell() {
		gives 0 "--user $1 is accepted" guard run --user "$1" -- \
			sh -c 'echo $(id -u) $(id -g) $(id -G)'
		is "$(cat "$out")" "$2" "--user $1 has the ids $2"
	}
	for user in tester 1000 tester: 1000:; do
		spell "$user" '1000 1000 1000 1001'
	done
	spell tester:team '1000 1001 1001'
	spell 1000:1001 '1000 1001 1001'
	spell 4242:team '4242 1001 1001'
	spell 4242 '4242 4242 4242'
else
	gives 125 '--user is refused for a plain user' \
		guard run --user 0 -- true
	says "$err" 'for root only'
fi
gives 125 '--env without a name is refused' guard run --env '' -- true
says "$err" '--env must be NAME'
finish
