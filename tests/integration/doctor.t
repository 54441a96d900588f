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
if [ "$(stat -c %d "$HOME")" = "$(stat -c %d "$state")" ]; then
	guard doctor >"$out"
	silent "$out" 'backup'
	touch -d '8 days ago' "$state/last-hint"
	guard doctor >"$out"
	says "$out" 'guard backup DIR, on another disk'
	guard doctor --json >"$out"
	says "$out" 'guard backup DIR, on another disk'
fi
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
	says "$out" '--security-opt seccomp=unconfined'
	silent "$out" 'apparmor=unconfined'
	silent "$out" 'systempaths=unconfined'
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

# --- containers ---
if touch /.dockerenv 2>/dev/null; then
	gives 0 'doctor in a container where runs work' guard doctor
	says "$out" 'ok       container'
	gives 1 'doctor in a container where no run works' \
		/opt/guard/build/tests/lib/refuse mount 1 guard doctor
	says "$out" 'weaker   container'
	rm /.dockerenv
fi
covered='mount -t tmpfs none /proc/tty && exec guard doctor'
gives 1 'doctor ends with 1 where /proc is masked' unshare -Urm sh -c "$covered"
says "$out" '--security-opt systempaths=unconfined'
silent "$out" 'seccomp=unconfined'
if touch /run/.containerenv 2>/dev/null; then
	gives 1 'doctor ends with 1 where podman masks /proc' \
		unshare -Urm sh -c "$covered"
	says "$out" '--security-opt unmask=ALL'
	rm /run/.containerenv
fi

# --- chroot ---
# jail DIR PROC ARGS: guard ARGS in a chroot to DIR. PROC: "" without /proc,
# "point" with DIR as a mount point. The mounts are in their own namespace.
cat >"$T/jail" <<'END'
set -e
for dir in usr bin sbin lib lib64 etc dev opt; do
	[ -e "/$dir" ] || continue
	mkdir -p "$1/$dir"
	mount --rbind "/$dir" "$1/$dir"
done
mkdir -p "$1/proc" "$1/tmp" "$1/root/project" "$1/var/lib"
[ -z "$2" ] || mount --rbind /proc "$1/proc"
[ "$2" != point ] || mount --rbind "$1" "$1"
exec chroot "$1" env HOME=/root GUARD_HOME=/var/lib/guard \
	sh -c "cd /root/project && guard $3"
END
for proc in proc point ''; do
	# /proc/1/root of another user namespace cannot be read.
	namespaces=-Urm
	if [ "$proc" = point ]; then
		[ "$me" = root ] || continue
		namespaces=-m
	fi
	rm -rf --one-file-system "$HOME/jail"
	mkdir "$HOME/jail"
	gives 1 "doctor names the chroot (${proc:-without proc})" \
		unshare $namespaces sh "$T/jail" "$HOME/jail" "$proc" doctor
	says "$out" 'the kernel allows no user namespaces in a chroot: use'
	silent "$out" 'mount -t proc'
	gives 125 "run names the chroot (${proc:-without proc})" \
		unshare $namespaces sh "$T/jail" "$HOME/jail" "$proc" 'run -- true'
	says "$err" 'in a chroot: use systemd-nspawn, bwrap or pivot_root'
	says "$err" 'guard doctor'
done

# --- libraries that are loaded when they are needed ---
# no-LIBRARY: guard with an empty file in place of the library.
guard doctor >"$T/doctor"
for library in libgit2 libarchive libcrypto ncursesw libsodium libsystemd; do
	soname=$(sed -n "s/^ok *$library *//p" "$T/doctor")
	mkdir "$T/without-$library"
	: >"$T/without-$library/$soname"
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec guard "$@"\n' \
		"$T/without-$library" >"$T/no-$library"
	chmod +x "$T/no-$library"
	gives 0 "runs work without $library" "$T/no-$library" doctor
	says "$out" "weaker   $library"
	says "$out" "$soname cannot be loaded: "
	says "$out" '-> apt-get install lib'
done
cd "$HOME/project" || exit 99
guard run -q -- sh -c 'seq 9 >text; sed -i s/return/exit/ src/f5.c src/f6.c'
gives 1 'diff without libgit2 lists the changes and fails' \
	"$T/no-libgit2" diff --no-pager
says "$out" '1 added'
says "$out" 'src/f5.c'
silent "$out" '+++ b/src/f5.c'
says "$err" 'texts are not compared: libgit2.so'
is "$(grep -c 'apt-get install libgit2-' "$err")" 1 \
	'diff names the package once'
gives 1 'diff --stat without libgit2 fails' "$T/no-libgit2" diff --stat
gives 1 'diff --html without libgit2 fails' \
	"$T/no-libgit2" diff --html "$T/report.html"
says "$err" 'texts are not compared: libgit2.so'
ok 'the report is written with all else' grep -q src/f5.c "$T/report.html"
gives 1 'apply of lines without libgit2 fails' \
	"$T/no-libgit2" apply -y src/f5.c:1-50
says "$err" "'src/f5.c:1-50': libgit2.so"
gives 0 'diff --name-status needs no libgit2' \
	"$T/no-libgit2" diff --name-status
gives 1 'review without libgit2 fails' "$T/no-libgit2" review
says "$out" 'src/f6.c'
is "$(grep -c 'apt-get install libgit2-' "$err")" 1 \
	'review names the package once'
for verb in patch 'apply -y --commit'; do
	# shellcheck disable=SC2086
	gives 1 "$verb without libgit2 fails" "$T/no-libgit2" $verb
	says "$err" 'apt-get install libgit2-'
done
gives 1 'export without libarchive fails' \
	"$T/no-libarchive" export --tar -o "$T/run.tar"
says "$err" 'libarchive.so.13 cannot be loaded; install it: apt-get install'
guard run -q -- git -c user.name=a -c user.email=b \
	commit -q --allow-empty -m empty
gives 1 'import without libgit2 fails' \
	"$T/no-libgit2" import -y "$(guard status -q | head -n 1)"
says "$err" 'apt-get install libgit2-'
# Only a file: with libsystemd the connection fails.
systemd=/run/systemd
[ "$(id -u)" = 0 ] || systemd=/run/user/$(id -u)/systemd
mkdir -p "$systemd"
[ -e "$systemd/private" ] || : >"$systemd/private"
for with in guard "$T/no-libsystemd"; do
	gives 0 "a limit works without a scope of systemd's (${with##*/})" \
		"$with" run -q --memory 900m --pids-limit 500 -- true
done
rm -f "$systemd/private"
# libgit2 may need libcrypto itself: this guard alone looks for another name.
sed 's/libcrypto[.]so/libabsent.so/g' "$(command -v guard)" >"$T/no-crypto"
chmod +x "$T/no-crypto"
gives 0 'import without libcrypto' "$T/no-crypto" import -y latest
guard discard -q -y latest
gives 0 'a run is stored without libcrypto' "$T/no-libcrypto" \
	run -q -- sh -c 'head -c 9000000 /dev/urandom >large'
guard discard -q -y latest
# shellcheck disable=SC2016
guard run -q -- sh -c 'echo large >file
	hash=$(sha256sum <file | cut -c 1-64)
	dir=.git/lfs/objects/$(echo "$hash" | sed "s|^\(..\)\(..\).*|\1/\2|")
	mkdir -p "$dir" && cp file "$dir/$hash" && git add file &&
	git -c user.name=a -c user.email=b commit -q -m lfs'
run=$(guard status -q | head -n 1)
for verb in import 'apply --commits'; do
	# shellcheck disable=SC2086
	gives 1 "$verb of files of git-lfs without libcrypto fails" \
		"$T/no-crypto" $verb -y "$run"
	says "$err" "check the run's files of git-lfs: libabsent.so"
	says "$err" 'cannot be loaded; install it: apt-get install libssl'
done
no 'none of them is imported' test -e .git/lfs
gives 0 'import with libcrypto' guard import -y "$run"
ok 'they are imported' test -e .git/lfs
gives 0 discard guard discard -q -y "$run"
printf '\nint mine;\n' >>src/f5.c
for option in '' --ours --theirs --merge; do
	# shellcheck disable=SC2086
	gives 1 "apply $option without libgit2 refuses to merge" \
		"$T/no-libgit2" apply -y $option
	says "$err" "'src/f5.c': changed on both sides, and the merge needs lib"
	says "$err" 'apt-get install libgit2-'
done
is "$(guard status -q | wc -l)" 1 'the run is still pending'
is "$(grep -c return src/f6.c)" 1 'nothing was applied'
gives 0 'apply without libgit2 takes files that need no merge' \
	"$T/no-libgit2" apply -y src/f6.c
gives 0 'apply with libgit2 merges' guard apply -y
says src/f5.c 'exit 5'
says src/f5.c 'int mine'

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
