#!/bin/sh
# make bench: guard beside what else there is, as ratios.
#
#	GUARD=build/guard [BENCH=quick] [SUBTREE=drivers] tests/bench/run.sh
#
# Every figure is a median of rounds in which each command ran once. Root gets
# the Linux sources (of Debian's linux-source package) on a journaled ext4
# image of its own, in private mount and pid namespaces; others a generated
# tree below /var/tmp. BENCH=quick: a small tree, three rounds, a minute.
# SUBTREE: only that folder of the Linux sources.
set -eu
LC_ALL=C
export LC_ALL
umask 022

here=$(dirname "$(realpath "$0")")
quick=
[ "${BENCH:-full}" = full ] || quick=yes
image_gb=10

say() {
	printf '%s\n' "$*" >&2
}

have() {
	command -v "$1" >/dev/null
}

# ---- the place ----

# Packs are read-only (and for root immutable) at rest.
wipe() {
	[ -d "$1" ] || return 0
	chmod -R u+rwX "$1" 2>/dev/null || :
	[ "$(id -u)" -ne 0 ] || chattr -R -f -i "$1" 2>/dev/null || :
	rm -rf "$1"
}

clean_up() {
	trap '' INT TERM HUP
	cd /
	wipe "$work"
}

compile() {
	for name in measure maketree; do
		${CC:-cc} -O2 -std=gnu11 -D_GNU_SOURCE \
			-o "$work/bin/$name" "$here/$name.c"
	done
	${CC:-cc} -O2 -std=gnu11 -D_GNU_SOURCE -static \
		-o "$work/bin/payload" "$here/payload.c"
}

# All of the image goes with the last process of the namespace: its name is
# removed before anything else happens.
enter_image() {
	free_kb=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
	if [ "$free_kb" -lt $((image_gb * 1048576)) ]; then
		say "bench: less than $image_gb GB free in $work"
		return 77
	fi
	truncate -s ${image_gb}G "$work/image"
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 \
		"$work/image" >&2
	unshare --mount --pid --fork --kill-child --mount-proc \
		"$here/run.sh" --inside "$guard" "$work"
}

in_image() {
	mount -o loop "$work/image" /mnt || return 1
	rm -f "$work/image"
	base=/mnt
}

make_generated() {
	count=20000
	[ -z "$quick" ] || count=2000
	tree_name="generated, like a source tree"
	"$work/bin/maketree" "$base/tree" $count
}

make_linux() {
	set -- /usr/src/linux-source-*.tar.xz
	[ -z "$quick" ] && [ -e "$1" ] && have xz || return 1
	for archive; do :; done # the newest
	name=$(basename "$archive" .tar.xz)
	tree_name=$name${SUBTREE:+/$SUBTREE}
	mkdir "$base/unpack"
	tar -C "$base/unpack" -xf "$archive" "$name${SUBTREE:+/$SUBTREE}"
	mv "$base/unpack/$tree_name" "$base/tree"
	wipe "$base/unpack"
}

prepare() {
	tree=$base/tree
	empty=$base/empty
	mkdir "$empty" "$base/home"
	say "bench: making the tree..."
	if [ "$base" = "$work" ] || ! make_linux; then
		make_generated
	fi
	cp "$work/bin/payload" "$tree/payload"
	cp "$work/bin/payload" "$empty/payload"
	HOME=$base/home
	XDG_CACHE_HOME=$HOME/.cache
	GUARD_HOME=$base/state
	RESTIC_PASSWORD=bench
	GIT_CONFIG_NOSYSTEM=1
	GIT_CONFIG_GLOBAL=/dev/null
	export HOME XDG_CACHE_HOME GUARD_HOME RESTIC_PASSWORD
	export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL
	unset XDG_DATA_HOME GUARD GUARD_RUN
	sync -f "$base"
	made=$(date +%s)
	tar -C "$tree" -cf - . | cat >/dev/null # warm
}

# ---- what is said about the machine ----

file_system() {
	type=$(findmnt -no FSTYPE -T "$base")
	device=$(basename "$(findmnt -no SOURCE -T "$base")")
	case $type in
	ext3 | ext4)
		if ls -d /proc/fs/jbd2/"$device"-* >/dev/null 2>&1; then
			type="$type, journaled"
		else
			type="$type without a journal"
		fi
		;;
	esac
	[ "$base" = "$work" ] || type="$type, on a loop image"
	echo "$type"
}

version() {
	if have "$1"; then
		"$@" | grep -o '[0-9]\+\.[0-9.]*[0-9]' | head -n 1
	else
		echo "(none)"
	fi
}

machine() {
	cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
	memory=$(awk '/^MemTotal/ { print int($2 / 1048576 + .5) }' \
		/proc/meminfo)
	load=$(cut -d ' ' -f 1 /proc/loadavg)
	echo "Linux $(uname -r), $(nproc) cores (${cpu:-$(uname -m)})," \
		"$memory GB; load $load before"
	echo "Files: $(file_system); uid $(id -u)"
	echo "Tree: $tree_name:" \
		"$(find "$tree" -type f | wc -l) files," \
		"$(find "$tree" -type d | wc -l) folders," \
		"$(du -sm --apparent-size "$tree" | cut -f 1) MB; read before" \
		"(warm)"
	echo "Beside: bwrap $(version bwrap --version)," \
		"git $(version git --version)," \
		"restic $(version restic version)," \
		"tar $(version tar --version), zstd $(version zstd --version)"
	awk -v load="$load" -v cores="$(nproc)" 'BEGIN {
		if (load > cores / 4) print "The machine is NOT idle:" \
			" take these figures for rough ones."
	}'
}

# ---- the tables ----

# measure ROUNDS SECONDS ARGS: measure.c's lines into $results.
measure() {
	rounds=$1
	[ -z "$quick" ] || rounds=3
	seconds=$2
	shift 2
	"$work/bin/measure" -n "$rounds" -b "$seconds" "$@" >"$results"
}

# shellcheck disable=SC2016 # awk's own $
awk_lib='
BEGIN { FS = "\t" }
{
	name[NR] = $1; rounds[$1] = $2; wall[$1] = $3; least[$1] = $4
	most[$1] = $5; start[$1] = $6; all[$1] = $7; peak[$1] = $8 / 1024
}
function ratio(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "-" }
function ms(x) { return sprintf("%.2f", x) }
'

# The stores that bench_first leaves are what bench_unchanged works on.
bench_first() {
	say "bench: the first snapshot..."
	sync="sync -f $base"
	set -- floor -p "rm -f $base/z; $sync" sh -c \
		"tar -cf - . | zstd -q -1 -T2 >$base/z && sync $base/z" ';;' \
		guard -p "'$here/run.sh' --wipe $base/state; $sync" \
		"$guard" snapshot -q -m bench
	! have git || set -- "$@" ';;' git -p \
		"rm -rf $base/git; git init -q --bare $base/git; $sync" \
		git --git-dir="$base/git" --work-tree=. add -A -f .
	! have restic || set -- "$@" ';;' restic -p \
		"rm -rf $base/restic $base/home/.cache;
		restic -q init -r $base/restic; $sync" \
		restic -q -r "$base/restic" backup .
	cd "$tree"
	measure 3 120 "$@"
	cd "$base"
	for store in z state git restic; do
		[ ! -e "$store" ] || printf 'mb-%s\t%s\n' $store \
			"$(du -sm $store | cut -f 1)"
	done >>"$results"
	awk "$awk_lib"'
$1 ~ /^mb-/ { mb[$1] = $2; next }
function line(text, key, store) {
	if (key in wall)
		printf "%-34s %8.2f %13s %7s %9.1f %9d\n", text, \
			wall[key] / 1000, sprintf("%.2f-%.2f", \
			least[key] / 1000, most[key] / 1000), \
			ratio(wall[key], wall["floor"]), peak[key], \
			mb["mb-" store]
}
END {
	printf "\n1. The first snapshot, s (median of %d)\n", \
		rounds["guard"]
	printf "%-34s %8s %13s %7s %9s %9s\n", "", "s", "least-most", \
		"/ Z", "peak MB", "stored MB"
	line("Z: tar | zstd -1 -T2; sync of it", "floor", "z")
	line("guard snapshot", "guard", "state")
	line("git add -A -f (nothing synced)", "git", "git")
	line("restic backup", "restic", "restic")
}' "$results"
}

# What the kernel may not have written back yet can still change without a
# trace in its times: guard reads such files again. Trees that people have are
# older than that.
settle() {
	expire=$(cat /proc/sys/vm/dirty_expire_centisecs)
	wakeup=$(cat /proc/sys/vm/dirty_writeback_centisecs)
	left=$((made + (expire + wakeup) / 100 + 3 - $(date +%s)))
	[ $left -gt 0 ] || return 0
	say "bench: waiting $left s, until the tree counts as written..."
	sleep $left
}

bench_unchanged() {
	say "bench: a snapshot of what has not changed..."
	set -- floor sh -c "find . -printf '%s %T@ %i\n' >/dev/null" ';;' \
		guard "$guard" snapshot -q -m bench
	! have git || set -- "$@" ';;' git \
		git --git-dir="$base/git" --work-tree=. add -A -f .
	! have restic || set -- "$@" ';;' restic \
		restic -q -r "$base/restic" backup .
	cd "$tree"
	measure 9 45 -w 1 "$@"
	cd "$base"
	awk "$awk_lib"'
function line(text, key) {
	if (key in wall)
		printf "%-34s %8.3f %13s %7s %9.1f\n", text, \
			wall[key] / 1000, sprintf("%.3f-%.3f", \
			least[key] / 1000, most[key] / 1000), \
			ratio(wall[key], wall["floor"]), peak[key]
}
END {
	printf "\n2. A snapshot of an unchanged tree, s (median of %d)\n", \
		rounds["guard"]
	printf "%-34s %8s %13s %7s %9s\n", "", "s", "least-most", "/ F", \
		"peak MB"
	line("F: find -printf size, mtime, inode", "floor")
	line("guard snapshot", "guard")
	line("git add -A -f", "git")
	line("restic backup", "restic")
}' "$results"
}

# measure_runs COMMAND: bare, in bwrap and in guard, in both folders.
measure_runs() {
	payload=$1
	set --
	for folder in empty tree; do
		path=$base/$folder
		[ $# -eq 0 ] || set -- "$@" ';;'
		set -- "$@" "bare-$folder" -d "$path" "$payload"
		! have bwrap || set -- "$@" ';;' "bwrap-$folder" -d "$path" \
			bwrap --unshare-all --share-net --ro-bind / / \
			--dev /dev --proc /proc --tmpfs /tmp --tmpfs /run \
			--die-with-parent "$payload"
		set -- "$@" ';;' "guard-$folder" -d "$path" \
			"$guard" run -q -- "$payload"
	done
	measure 41 45 -w 1 "$@"
}

bench_start() {
	say "bench: from start to the first instruction..."
	measure_runs ./payload
	awk "$awk_lib"'
function line(text, key) {
	printf "%-34s %9s %9s %11s\n", text, ms(start[key "-empty"]), \
		ms(start[key "-tree"]), \
		ratio(start[key "-tree"], start[key "-empty"])
}
END {
	printf "\n3. From start to the first line of the payload, ms " \
		"(median of %d)\n", rounds["guard-empty"]
	printf "%-34s %9s %9s %11s\n", "", "empty", "tree", "tree/empty"
	line("fork and exec, nothing else", "bare")
	if ("bwrap-empty" in start)
		line("bwrap, all namespaces but net", "bwrap")
	line("guard run", "guard")
	if ("bwrap-empty" in start)
		printf "%-34s %9s %9s\n", "= guard / bwrap", \
			ratio(start["guard-empty"], start["bwrap-empty"]), \
			ratio(start["guard-tree"], start["bwrap-tree"])
	printf "%-34s %9s %9s\n", "= guard / fork and exec", \
		ratio(start["guard-empty"], start["bare-empty"]), \
		ratio(start["guard-tree"], start["bare-tree"])
}' "$results"
}

bench_wall() {
	say "bench: a whole run of true..."
	measure_runs true
	awk "$awk_lib"'
function line(text, key) {
	printf "%-34s %9s %9s %11s %9.1f\n", text, ms(wall[key "-empty"]), \
		ms(wall[key "-tree"]), \
		ratio(wall[key "-tree"], wall[key "-empty"]), \
		peak[key "-tree"]
}
END {
	printf "\n4. A whole run of true, ms (median of %d)\n", \
		rounds["guard-empty"]
	printf "%-34s %9s %9s %11s %9s\n", "", "empty", "tree", \
		"tree/empty", "peak MB"
	line("fork, exec, wait", "bare")
	if ("bwrap-empty" in wall)
		line("bwrap, all namespaces but net", "bwrap")
	line("guard run -- true", "guard")
	printf "%-34s %9s %9s\n", "  its last process gone after", \
		ms(all["guard-empty"]), ms(all["guard-tree"])
	if ("bwrap-empty" in wall)
		printf "%-34s %9s %9s\n", "= guard / bwrap", \
			ratio(wall["guard-empty"], wall["bwrap-empty"]), \
			ratio(wall["guard-tree"], wall["bwrap-tree"])
}' "$results"
}

bench() {
	results=$base/results
	begin=$(date +%s)
	machine
	bench_first
	settle
	bench_unchanged
	bench_start
	bench_wall
	echo
	cat <<-END
	Each program with its own defaults, one after the other in every round.
	bwrap: --unshare-all --share-net --ro-bind / /, fresh /dev /proc /tmp
	/run: no layer, no filter, no snapshot. guard run takes its snapshot
	beside the command; where nothing was changed nobody waits for it, so
	"gone after" is when it was done. Z and guard snapshot are synced.
	END
	echo "Took $(($(date +%s) - begin)) s, without making the tree."
}

# ---- where it begins ----

case ${1:-} in
--wipe)
	wipe "$2"
	exit
	;;
--inside)
	guard=$2
	work=$3
	trap 'exit 130' INT TERM HUP
	if in_image; then
		prepare
		bench
		exit
	fi
	exit 77
	;;
esac

guard=$(realpath "${GUARD:-build/guard}")
[ -x "$guard" ] || {
	say "bench: no guard at ${GUARD:-build/guard}: run make"
	exit 1
}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/guard-bench.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/bin"
compile
if [ "$(id -u)" -eq 0 ]; then
	status=0
	enter_image || status=$?
	[ $status -eq 77 ] || exit $status
	rm -f "$work/image"
	say "bench: no loop image here: on $work itself"
fi
base=$work
prepare
bench
