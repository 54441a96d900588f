#!/bin/sh
# guard doctor: its findings are true, and it fails where runs fail.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

landlock() { guard doctor | grep -q '^ok *landlock'; }

gives 0 'doctor ends with 0 where runs work' guard doctor
says "$out" 'guard run works here'
says "$out" 'fence'
gives 0 'doctor --json ends with 0 where runs work' guard doctor --json
says "$out" '"usable": true'
gives 2 'doctor with an operand is refused' guard doctor now

# --- a missing layer of protection ---
saved=$(cat /proc/sys/user/max_user_namespaces)
if echo 0 2>/dev/null >/proc/sys/user/max_user_namespaces; then
	gives 1 'doctor ends with 1 without user namespaces' guard doctor
	says "$out" 'missing  fence'
	says "$out" 'sysctl -w user.max_user_namespaces'
	gives 1 'doctor --json ends with 1 without user namespaces' \
		guard doctor --json
	says "$out" '"usable": false'
	gives 125 'guard run is refused without user namespaces' \
		guard run -- true
	echo "$saved" >/proc/sys/user/max_user_namespaces
	# a nested namespace, from which the limit of the outer one is not
	# visible
	echo 1 >/proc/sys/user/max_user_namespaces
	gives 1 'doctor ends with 1 where one level of namespaces is left' \
		guard doctor
	says "$out" 'sysctl -w user.max_user_namespaces'
	echo "$saved" >/proc/sys/user/max_user_namespaces
	saved=$(cat /proc/sys/user/max_pid_namespaces)
	echo 0 >/proc/sys/user/max_pid_namespaces
	gives 1 'doctor ends with 1 without another kind of namespace' \
		guard doctor
	says "$out" 'sysctl -w user.max_pid_namespaces'
	gives 125 'guard run names the missing kind of namespace' \
		guard run -- true
	says "$err" 'sysctl -w user.max_pid_namespaces'
	echo "$saved" >/proc/sys/user/max_pid_namespaces
else
	skip 'namespaces cannot be disabled here'
fi
# The filter of a container answers with either of two errors.
for call in mount umount2 pivot_root open_tree move_mount mount_setattr fsopen \
	fsconfig fsmount openat2 seccomp landlock_restrict_self close_range; do
	[ "$call" != landlock_restrict_self ] || landlock || continue
	gives 1 "doctor ends with 1 where $call is not permitted" \
		/opt/guard/build/tests/lib/refuse $call 1 guard doctor
	says "$out" 'a seccomp filter around guard forbids it'
	gives 125 "guard run is refused where $call seems to be missing" \
		/opt/guard/build/tests/lib/refuse $call 38 guard run -- true
	says "$err" 'a seccomp filter around guard forbids it'
done
gives 1 'doctor ends with 1 without /proc' unshare -Urm sh -c \
	'mount -t tmpfs none /proc && exec guard doctor'
says "$out" 'sudo mount -t proc proc /proc'
if [ "$me" = root ]; then
	mkdir /srv/nostate
	mount -t ramfs none /srv/nostate
	chmod 700 /srv/nostate
	gives 1 'doctor ends with 1 for a state that can hold no layer' \
		env GUARD_HOME=/srv/nostate guard doctor
	says "$out" 'missing  state'
	umount /srv/nostate
	mount -t tmpfs -o mode=0700,nr_inodes=100 none /srv/nostate
	if holds_layers /srv/nostate; then
		gives 0 'doctor ends with 0 for a state that can hold layers' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'ok       layers'
		is "$(find /srv/nostate -name 'trial.*')" '' \
			'doctor leaves no trial directory'
		i=0
		while mkdir "/srv/nostate/full-$i" 2>/dev/null; do
			i=$((i + 1))
		done
		gives 1 'doctor ends with 1 where no overlay can be mounted' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'missing  layers'
		says "$out" 'No space left on device'
	else
		gives 1 'doctor ends with 1 for tmpfs before Linux 6.6' \
			env GUARD_HOME=/srv/nostate guard doctor
		says "$out" 'without user xattrs'
	fi
	umount /srv/nostate
fi

# --- the finding about control groups ---
guard doctor >"$out"
if grep -q '^ok *limits' "$out"; then
	guard run --memory 50m -- true 2>"$err"
	says "$err" 'a cgroup'
else
	guard run --memory 50m -- true 2>"$err"
	says "$err" 'guard measures'
fi
# --- the finding about private networks ---
guard doctor >"$out"
if grep -q '^ok *network' "$out"; then
	gives 0 '--net private works where doctor says so' \
		guard run --net private -- true
else
	says "$out" '--net private does not work'
	gives 125 '--net private is refused where doctor says so' \
		guard run --net private -- true
fi
ok 'doctor in a run ends with 1' guard run -- sh -c '! guard doctor'
finish
