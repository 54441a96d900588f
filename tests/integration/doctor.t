#!/bin/sh
# guard doctor: what it says holds, and it fails where runs fail.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

landlock() { guard doctor | grep -q '^ok *landlock'; }

gives 0 'on this machine runs work' guard doctor
says "$out" 'guard run works here'
says "$out" 'fence'
gives 0 'also for programs' guard doctor --json
says "$out" '"usable": true'
gives 2 'it takes no operands' guard doctor now

# --- where a layer is missing ---
saved=$(cat /proc/sys/user/max_user_namespaces)
if echo 0 2>/dev/null >/proc/sys/user/max_user_namespaces; then
	gives 1 'without user namespaces they do not' guard doctor
	says "$out" 'missing  fence'
	says "$out" 'sysctl -w user.max_user_namespaces'
	gives 1 'programs see it as well' guard doctor --json
	says "$out" '"usable": false'
	gives 125 'and nothing is run bare' guard run -- true
	echo "$saved" >/proc/sys/user/max_user_namespaces
	# the inner one of two, from where the number cannot be seen
	echo 1 >/proc/sys/user/max_user_namespaces
	gives 1 'nor with one alone' guard doctor
	says "$out" 'sysctl -w user.max_user_namespaces'
	echo "$saved" >/proc/sys/user/max_user_namespaces
	saved=$(cat /proc/sys/user/max_pid_namespaces)
	echo 0 >/proc/sys/user/max_pid_namespaces
	gives 1 'nor without another kind of namespace' guard doctor
	says "$out" 'sysctl -w user.max_pid_namespaces'
	gives 125 'of which a run says the same' guard run -- true
	says "$err" 'sysctl -w user.max_pid_namespaces'
	echo "$saved" >/proc/sys/user/max_pid_namespaces
else
	skip 'no way to switch user namespaces off here'
fi
# Behind the filter of a container, which may answer either way.
for call in mount umount2 pivot_root open_tree move_mount mount_setattr fsopen \
	fsconfig fsmount openat2 seccomp landlock_restrict_self close_range; do
	[ "$call" != landlock_restrict_self ] || landlock || continue
	gives 1 "doctor, where $call is not permitted" \
		/opt/guard/build/tests/lib/refuse $call 1 guard doctor
	says "$out" 'a seccomp filter around guard refuses it'
	gives 125 "a run, where $call is said to be absent" \
		/opt/guard/build/tests/lib/refuse $call 38 guard run -- true
	says "$err" 'a seccomp filter around guard refuses it'
done
gives 1 'where there is no /proc' unshare -Urm sh -c \
	'mount -t tmpfs none /proc && exec guard doctor'
says "$out" 'sudo mount -t proc proc /proc'
if [ "$me" = root ]; then
	mkdir /srv/nostate
	mount -t ramfs none /srv/nostate
	chmod 700 /srv/nostate
	gives 1 'a state that can hold no layer is missing, too' \
		env GUARD_HOME=/srv/nostate guard doctor
	says "$out" 'missing  state'
	umount /srv/nostate
	mount -t tmpfs -o mode=0700,nr_inodes=100 none /srv/nostate
	if holds_layers /srv/nostate; then
		gives 0 'one that can is fine' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'ok       layers'
		is "$(find /srv/nostate -name 'trial.*')" '' 'nothing is left'
		i=0
		while mkdir "/srv/nostate/full-$i" 2>/dev/null; do
			i=$((i + 1))
		done
		gives 1 'but not when no layer can be put up' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'missing  layers'
		says "$out" 'No space left on device'
	else
		gives 1 'one before Linux 6.6 is neither' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'without user xattrs'
	fi
	umount /srv/nostate
fi

# --- what it says of control groups is true ---
guard doctor >"$out"
if grep -q '^ok *limits' "$out"; then
	guard run --memory 50m -- true 2>"$err"
	says "$err" 'a cgroup'
else
	guard run --memory 50m -- true 2>"$err"
	says "$err" 'guard looks'
fi
# --- and of a private network ---
guard doctor >"$out"
if grep -q '^ok *network' "$out"; then
	gives 0 'there is one' guard run --net private -- true
else
	says "$out" 'there is no --net private'
	gives 125 'there is none' guard run --net private -- true
fi
ok 'inside of a run it says why not' guard run -- sh -c '! guard doctor'
finish
