#!/bin/sh
# make bench: guard beside other tools, as ratios.
#
#	GUARD=build/guard [BENCH=quick] [ROWS='first restore'] [TREES=linux] \
#		[SUBTREE=drivers] tests/bench/run.sh
#
# Prints one table, a row at a time; docs/performance.md explains it. Every
# figure is a median of rounds in which each command ran once. Root gets a
# journaled ext4 image of its own, in private mount and pid namespaces; others
# work below /var/tmp, without the rows that need root.
#
# TREES: linux (the sources of Debian's linux-source package, or a generated
# tree like them; SUBTREE: only that directory) and node (a node_modules from
# the npm registry, a copy of NODE_MODULES, or a generated tree like one).
# BENCH=quick: small trees, few rounds, five minutes. ROWS: see `rows` below.
set -eu
LC_ALL=C
export LC_ALL
umask 022

rows='first first-cold readers unchanged changed restore one-file
	restore-place start wall exec grep git-status apply-few make npm apply-new
	durable huge growth kept diff-first review-open rewind backup
	backup-again backup-prune recover'
# These have a tree of their own, or are the same on every tree.
once='exec make npm apply-new durable huge growth kept diff-first review-open
	rewind backup-again backup-prune recover'
# Only these give new information on a second tree.
once_more='first first-cold unchanged changed restore'

here=$(dirname "$(realpath "$0")")
quick=
[ "${BENCH:-full}" = full ] || quick=yes
image_gb=14

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
	library=$(dirname "$guard")/libguard.a
	for name in readers filters seal; do
		[ -e "$library" ] || break
		# shellcheck disable=SC2046 # a list of flags
		${CC:-cc} -O2 -std=gnu11 -D_GNU_SOURCE -pthread -I"$here/../.." \
			-o "$work/bin/$name" "$here/$name.c" "$library" \
			$(pkg-config --libs liburing libxxhash libzstd \
				libseccomp libcrypto) ||
			say "bench: cannot build $name: its rows are left out"
	done
	[ ! -x "$work/bin/filters" ] ||
		"$work/bin/filters" "$work/bin/calls" ||
		rm -f "$work/bin/calls"
	${CC:-cc} -O2 -std=gnu11 -D_GNU_SOURCE -static \
		-o "$work/bin/payload" "$here/payload.c"
	${CC:-cc} -O2 -std=gnu11 -D_GNU_SOURCE -shared -fPIC \
		-o "$work/bin/clock.so" "$here/../compare/clock.c"
}

# The image disappears with the last process of the namespace: its name is
# removed at once.
enter_image() {
	free_kb=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
	if [ "$free_kb" -lt $((image_gb * 1048576)) ]; then
		say "bench: less than $image_gb GB free in $work"
		return 77
	fi
	truncate -s ${image_gb}G "$work/image"
	mkfs.ext4 -q -F -N 2500000 "$work/image" >&2
	unshare --mount --pid --fork --kill-child --mount-proc \
		"$here/run.sh" --inside "$guard" "$work"
}

# Without the page cache of the file below it; otherwise every cold read would
# be two.
in_image() {
	mount -o loop,discard,noinit_itable "$work/image" /mnt || return 1
	losetup --direct-io=on "$(findmnt -no SOURCE /mnt)" 2>/dev/null || :
	rm -f "$work/image"
	base=/mnt
}

make_linux() {
	set -- /usr/src/linux-source-*.tar.xz
	if [ -n "$quick" ] || [ ! -e "$1" ] || ! have xz ||
		[ "$base" = "$work" ]; then
		count=40000
		[ -z "$quick" ] || count=5000
		tree_name="generated, like a source tree"
		"$bin/maketree" "$base/linux" $count
		return 0
	fi
	for archive; do :; done # the newest
	name=$(basename "$archive" .tar.xz)
	tree_name=$name${SUBTREE:+/$SUBTREE}
	mkdir "$base/unpack"
	tar -C "$base/unpack" -xf "$archive" "$name${SUBTREE:+/$SUBTREE}"
	mv "$base/unpack/$tree_name" "$base/linux"
	wipe "$base/unpack"
}

# Common dependencies of projects: some 60,000 files. Their scripts are not run.
node_packages='react-scripts@5.0.1 @mui/icons-material@5.16.7
	@mui/material@5.16.7 @emotion/react@11.13.3 @emotion/styled@11.13.0
	react@18.3.1 react-dom@18.3.1 date-fns@2.30.0 rxjs@7.8.1 core-js@3.38.1
	lodash@4.17.21 typescript@4.9.5 @angular/core@15.2.10'

# A copy of the caller's node_modules, or one from the registry where npm can
# reach it.
install_node() {
	if [ -d "${NODE_MODULES:-}" ]; then
		tree_name="a node_modules from $NODE_MODULES"
		cp -a "$NODE_MODULES" "$base/node"
		return 0
	fi
	have npm && have timeout || return 1
	set --
	for package in $node_packages; do
		set -- "$@" "$package"
	done
	mkdir "$base/npm"
	(cd "$base/npm" && echo '{}' >package.json &&
		timeout 240 npm install --silent --ignore-scripts --no-audit \
			--no-fund --legacy-peer-deps --cache "$base/npm-cache" \
			"$@" >/dev/null 2>&1) || return 1
	mv "$base/npm/node_modules" "$base/node"
}

make_node() {
	count=55000
	[ -z "$quick" ] || count=5000
	tree_name="a node_modules from the npm registry"
	if [ -n "$quick" ] || ! install_node; then
		tree_name="generated, like a node_modules"
		"$bin/maketree" -p "$base/node" $count
	fi
	wipe "$base/npm"
	wipe "$base/npm-cache"
}

prepare() {
	bin=$base/bin
	empty=$base/empty
	mkdir "$empty" "$base/home"
	[ "$base" = "$work" ] || cp -R "$work/bin" "$bin"
	cp "$bin/payload" "$empty/payload"
	HOME=$base/home
	XDG_CACHE_HOME=$HOME/.cache
	RESTIC_PASSWORD=bench
	GIT_CONFIG_NOSYSTEM=1
	GIT_CONFIG_GLOBAL=/dev/null
	BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
	export HOME XDG_CACHE_HOME RESTIC_PASSWORD
	export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL
	export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK
	unset XDG_DATA_HOME GUARD GUARD_RUN
	results=$base/results
}

# tree_begin KEY: makes the tree and describes it.
tree_begin() {
	tree_key=$1
	say "bench: making the tree '$1'..."
	"make_$1"
	tree=$base/$1
	cp "$bin/payload" "$tree/payload"
	sync -f "$base"
	made=$(date +%s)
	state_of
	echo
	echo "Tree: $tree_name:" \
		"$(find "$tree" -type f | wc -l) files," \
		"$(find "$tree" -type d | wc -l) folders," \
		"$(du -sm --apparent-size "$tree" | cut -f 1) MB"
	tar -C "$tree" -cf - . | cat >/dev/null # warm
}

# ---- description of the machine ----

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
	echo "Beside: bwrap $(version bwrap --version)," \
		"git $(version git --version)," \
		"restic $(version restic version)," \
		"borg $(version borg --version)," \
		"tar $(version tar --version), zstd $(version zstd --version)"
	awk -v load="$load" -v cores="$(nproc)" 'BEGIN {
		if (load > cores / 4) print "The machine is NOT idle:" \
			" take these figures for rough ones."
	}'
}

# Until the kernel has written data back, a file can change without a trace in
# its times, so guard reads such files again. Real trees are older than that.
settle() {
	expire=$(cat /proc/sys/vm/dirty_expire_centisecs)
	wakeup=$(cat /proc/sys/vm/dirty_writeback_centisecs)
	left=$((made + (expire + wakeup) / 100 + 3 - $(date +%s)))
	[ $left -gt 0 ] || return 0
	say "bench: waiting $left s, until the tree counts as written..."
	sleep $left
}

# has WORD LIST
has() {
	for word in $2; do
		[ "$word" != "$1" ] || return 0
	done
	return 1
}

run_rows() {
	for name in $rows; do
		has "$name" "${ROWS:-$rows}" || continue
		[ "$1" = first ] || has "$name" "$once_more" || continue
		[ "$1" = first ] || ! has "$name" "$once" || continue
		say "bench: $name..."
		state_of
		"row_$(echo "$name" | tr - _)"
	done
}

bench() {
	begin=$(date +%s)
	missed=0
	machine
	which=first
	for key in ${TREES:-linux node}; do
		tree_begin "$key"
		table_begin
		run_rows $which
		wipe "$base/state-$key"
		wipe "$base/restic"
		wipe "$base/borg"
		wipe "$tree"
		which=second
	done
	table_end
	echo "Took $(($(date +%s) - begin)) s; load" \
		"$(cut -d ' ' -f 1 /proc/loadavg) at its end."
}

# shellcheck source=tests/bench/table.sh
. "$here/table.sh"
# shellcheck source=tests/bench/store.sh
. "$here/store.sh"
# shellcheck source=tests/bench/runs.sh
. "$here/runs.sh"
# shellcheck source=tests/bench/diffs.sh
. "$here/diffs.sh"
# shellcheck source=tests/bench/backups.sh
. "$here/backups.sh"

# ---- main ----

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
