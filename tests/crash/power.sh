#!/bin/sh
# Power cuts while guard changes a project: the file system is shut down at one
# of guard's calls without its log, so that everything not synced is lost (btrfs
# has no such shutdown: there the image is copied at that point). After a new
# mount the next command must find the project exactly as before or exactly as
# after, and continue. During a discard of a run, its undo and an emptying of
# the trash, the project stays and the run is complete or gone; during a discard
# of paths, all of them are gone or none. During the first snapshot and the first
# run of a project, and a restore into a new directory, the project stays and
# both directories can be used afterwards. TAP; for root, on images of its own.
#
#	BUILD=build power.sh [full [FILESYSTEM [VERB [K/N]]]]
#	BUILD=build power.sh FILESYSTEM VERB NUMBER
#
# Without full: random points for a while; CRASH_SEED sets the sequence. K/N:
# every N-th point from the K-th on.
set -u
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/crash/lib.sh
. "$here/lib.sh"
LC_ALL=C
export LC_ALL
build=$(realpath "${BUILD:-$here/../../build}")
mode=${1:-sample}
seconds=${CRASH_SECONDS:-15}
plain=1777 # whoever it is: the images are his

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

[ "$(id -u)" -eq 0 ] || skip_all 'only root can mount images'
if [ "${POWER_INSIDE:-}" != 1 ]; then
	unshare --mount true 2>/dev/null || skip_all 'no mount namespaces'
	POWER_INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
fi

T=$(mktemp -d /var/tmp/power.XXXXXX) || exit 99
chmod 755 "$T"
mkdir "$T/m" "$T/guard"
cd "$T" || exit 99
# A plain user need not be able to reach the place where all this lies.
top=$(realpath "$here/../..")
mount --bind "$top" "$T/guard" || exit 99
here=$T/guard/tests/crash
case $build in
"$top"/*) build=$T/guard/${build#"$top"/} ;;
esac
stopat=$build/tests/lib/stopat
PATH=$build:$PATH

leave() {
	cd /
	umount "$T/m" 2>/dev/null
	umount "$T/guard" 2>/dev/null
	rm -f "$T"/*.img "$T"/*.cut "$T"/*.before "$T"/*.after "$T"/*.count "$T"/is \
		"$T"/diff "$T"/diff.wanted "$T"/diff.dropped \
		"$T"/out "$T"/err "$T"/count "$T"/text
	rmdir "$T/m" "$T/guard" "$T"
}
trap leave EXIT
trap 'exit 99' INT TERM HUP

tests=0 failures=0 points=0 befores=0 afters=0
flunk() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $point: $*"
	echo "# $(cat "$T/count" 2>/dev/null)"
	sed 's/^/#   /' "$T/out" "$T/err" 2>/dev/null | cat -v | head -n 20
	[ $failures -lt 6 ] || exit 1
}

pass() {
	tests=$((tests + 1))
	echo "ok $tests - $*"
}

# Runs a command as the owner of the image's files: a plain user on ext4, root
# elsewhere.
as() {
	if [ "$fs" = ext4 ]; then
		setpriv --reuid=$plain --regid=$plain --clear-groups "$@"
	else
		"$@"
	fi
}

guard() {
	as "$build/guard" "$@"
}

up() {
	mount -o "loop$options" "$T/work.img" "$T/m" || exit 99
	cd "$T/m/home/project" || exit 99
}

# Data that btrfs has not written to its image by then is lost: the copy is
# taken before the unmount. Only its own periodic write may come earlier; the
# mount options delay that.
cut() {
	if [ "$fs" = btrfs ]; then
		cp --sparse=always "$T/work.img" "$T/work.cut" || exit 99
		down
		mv "$T/work.cut" "$T/work.img" || exit 99
	else
		down
	fi
	up
}

down() {
	cd "$T" || exit 99
	crash_down "$T/m" || exit 99
}

# begin STATE: mounts a copy of the image of that state.
begin() {
	cp --sparse=always "$T/$fs-$1.img" "$T/work.img" || exit 99
	up
}

keep() {
	down
	cp --sparse=always "$T/work.img" "$T/$fs-$1.img" || exit 99
	up
}

look() {
	crash_look "$T/m/home/project" >"$1"
}

# The snapshot of a run may outlive the run.
settle() {
	guard status >/dev/null 2>&1
	until umount "$T/m" 2>/dev/null; do
		cd "$T" || exit 99
	done
	up
}

make_images() {
	truncate -s 320M "$T/work.img"
	case $fs in
	ext4) mkfs.ext4 -q -F -O has_journal -E \
		lazy_itable_init=0,lazy_journal_init=0 "$T/work.img" ;;
	xfs) mkfs.xfs -q -f "$T/work.img" ;;
	btrfs) mkfs.btrfs -q -f "$T/work.img" >/dev/null 2>&1 ;;
	esac || exit 99
	options=
	[ "$fs" != btrfs ] || options=,commit=300
	mount -o loop "$T/work.img" "$T/m" || exit 99
	mkdir -p "$T/m/home/project"
	[ "$fs" != ext4 ] || chown -R $plain:$plain "$T/m/home"
	cd "$T/m/home/project" || exit 99
	as sh -euc '. "$0/lib.sh"; crash_project' "$here" || exit 99
	keep unknown
	look "$T/unknown.before"
	as sh -euc '. "$0/lib.sh"; crash_run "$1/guard"' \
		"$here" "$build" || exit 99
	settle
	crash_edit "$T/text"
	keep pending
	look "$T/apply.before"
	run=$(guard list -q)
	what_it_did >"$T/diff.wanted" || exit 99
	# shellcheck disable=SC2046,SC2091 # words of a command
	$(crash_verb drop) >"$T/out" || exit 99
	keep dropped
	what_it_did >"$T/diff.dropped" || exit 99
	guard undo -q -y || exit 99
	guard discard -q -y || exit 99
	keep discarded
	guard undo -q -y || exit 99
	guard apply -q -y || exit 99
	look "$T/apply.after"
	keep applied
	cp "$T/apply.after" "$T/undo.before"
	cp "$T/apply.before" "$T/undo.after"
	as sh -euc '. "$0/lib.sh"; PATH=$1:$PATH; crash_mess' \
		"$here" "$build" || exit 99
	keep mess
	look "$T/restore.before"
	first=$(crash_first)
	# shellcheck disable=SC2046,SC2091 # words of a command
	$(crash_verb restore) || exit 99
	look "$T/restore.after"
	down
}

# The changes of the run; fails if it is not pending.
what_it_did() {
	guard diff --color=never "$run" 2>"$T/err" | sed 1d >"$T/text"
	test -s "$T/text" && cat "$T/text"
}

state_of() {
	case $1 in
	first | start) echo unknown ;;
	apply | discard | drop | into) echo pending ;;
	regain) echo dropped ;;
	bring | empty) echo discarded ;;
	undo) echo applied ;;
	restore) echo mess ;;
	esac
}

# 0: as before, 1: as after, 2: neither
side() {
	look "$T/is"
	cmp -s "$T/is" "$T/$1.before" && return 0
	cmp -s "$T/is" "$T/$1.after" && return 1
	diff "$T/is" "$T/$1.before" | head -n 10 | cat -v | sed 's/^/# before: /'
	diff "$T/is" "$T/$1.after" | head -n 10 | cat -v | sed 's/^/# after: /'
	return 2
}

judge() {
	guard apply --continue >"$T/out" 2>"$T/err" ||
		grep -q 'was rolled back' "$T/err" || flunk 'it cannot go on'
	side "$1"
	case $2.$? in
	*.2)
		flunk 'neither before nor after'
		return
		;;
	0.0) flunk 'it said done, and it is not' ;;
	*.0)
		befores=$((befores + 1))
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_verb "$1") >"$T/out" 2>"$T/err" </dev/null ||
			flunk 'not done the second time'
		side "$1"
		[ $? -eq 1 ] || flunk 'not done when it is done again'
		;;
	*)
		afters=$((afters + 1))
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_revert "$1") >"$T/out" 2>"$T/err" </dev/null ||
			flunk 'not taken back'
		side "$1" || flunk 'taken back, and not as before'
		;;
	esac
}

# The project never changes. A pending run is complete, and so is one restored
# from the trash; it may be gone only where the trash is emptied.
judge_run() {
	guard status >"$T/out" 2>"$T/err" || flunk 'no status afterwards'
	look "$T/is"
	cmp -s "$T/is" "$T/apply.before" || flunk 'the project has changed'
	if what_it_did >"$T/diff" 2>"$T/err"; then
		[ "$1.$2" != discard.0 ] || flunk 'it said done, and it is not'
		befores=$((befores + 1))
	elif guard undo -q -y >"$T/out" 2>"$T/err" </dev/null; then
		what_it_did >"$T/diff" 2>"$T/err" ||
			flunk 'brought back, and not there'
		afters=$((afters + 1))
	elif [ "$1" = empty ]; then
		[ -z "$(find "$T/m/home/state/trash" \
			-name upper 2>/dev/null)" ] || flunk 'half gone'
		afters=$((afters + 1))
		return
	else
		flunk 'neither there nor brought back'
		return
	fi
	cmp -s "$T/diff" "$T/diff.wanted" || flunk 'it is not what it was'
	# shellcheck disable=SC2046,SC2091 # words of a command
	$(crash_verb discard) >"$T/out" 2>"$T/err" </dev/null ||
		flunk 'not discarded afterwards'
}

# Some paths of the run: all of them are there, or none.
judge_parts() {
	guard status >"$T/out" 2>"$T/err" || flunk 'no status afterwards'
	look "$T/is"
	cmp -s "$T/is" "$T/apply.before" || flunk 'the project has changed'
	what_it_did >"$T/diff" 2>"$T/err" || flunk 'the run is gone'
	if ! cmp -s "$T/diff" "$T/diff.wanted"; then
		[ "$1.$2" != regain.0 ] || flunk 'it said done, and it is not'
		cmp -s "$T/diff" "$T/diff.dropped" || flunk 'half of it is there'
		guard undo -q -y >"$T/out" 2>"$T/err" </dev/null ||
			flunk 'not put back'
		what_it_did >"$T/diff" 2>"$T/err"
		cmp -s "$T/diff" "$T/diff.wanted" ||
			flunk 'put back, and not what it was'
		set -- "$1" "$2" dropped
	elif [ "$1.$2" = drop.0 ]; then
		flunk 'it said done, and it is not'
	fi
	case $1.${3:-} in
	drop.dropped | regain.) afters=$((afters + 1)) ;;
	*) befores=$((befores + 1)) ;;
	esac
}

# The verbs that follow make guard's records of a directory that it did not know.
judge_new() {
	before=$T/unknown.before
	[ "$1" != into ] || before=$T/apply.before
	look "$T/is"
	cmp -s "$T/is" "$before" || flunk 'the project has changed'
	as mkdir -p ../into
	for dir in . ../into; do
		for verb_after in status 'snapshot -q' \
			'run -q -- touch later' 'apply -q -y latest' \
			'undo -q -y' log 'prune -q -y'; do
			# shellcheck disable=SC2086 # words of a command
			(cd "$dir" && guard $verb_after) \
				>"$T/out" 2>"$T/err" </dev/null && continue
			# The record of a run may be torn: the message names
			# the command that moves the run to the trash.
			grep -q 'guard repair moves it' "$T/err" &&
				guard repair -y >"$T/out" 2>"$T/err" </dev/null
			# shellcheck disable=SC2086 # words of a command
			(cd "$dir" && guard $verb_after) \
				>"$T/out" 2>"$T/err" </dev/null ||
				flunk "in $dir: $verb_after is refused"
		done
	done
	afters=$((afters + 1))
}

# one VERB NUMBER
one() {
	point="$fs, $1, the power gone at call $2"
	begin "$(state_of "$1")"
	# shellcheck disable=SC2046 # words
	set -- "$1" "$2" $(crash_verb "$1" | sed 's/^guard //')
	verb_now=$1
	at=$2
	shift 2
	how="--cut $T/m"
	[ "$fs" != btrfs ] || how=
	# shellcheck disable=SC2086 # words
	"$stopat" --count "$T/count" --at "$at" $how -- \
		"$here/as.sh" "$fs" $plain "$build/guard" "$@" \
		>"$T/out" 2>"$T/err" </dev/null
	ended=$?
	points=$((points + 1))
	cut
	case $verb_now in
	discard | bring | empty) judge_run "$verb_now" $ended ;;
	drop | regain) judge_parts "$verb_now" $ended ;;
	first | start | into) judge_new "$verb_now" ;;
	*) judge "$verb_now" $ended ;;
	esac
	[ $((points % 8)) -ne 0 ] ||
		guard verify -q >"$T/out" 2>"$T/err" </dev/null ||
		flunk 'the store is damaged'
	down
}

count_of() {
	begin "$(state_of "$1")"
	# shellcheck disable=SC2046 # words
	"$stopat" --count "$T/count" --at 0 -- "$here/as.sh" "$fs" $plain \
		"$build/guard" $(crash_verb "$1" | sed 's/^guard //') \
		>"$T/out" 2>"$T/err" </dev/null || flunk 'not done'
	down
	read -r count _ <"$T/count"
	echo "$count" >"$T/$1.count"
}

# HOME stays root's own; guard's state is on the image too.
GUARD_HOME=$T/m/home/state
HOME=$T/m/home
export GUARD_HOME HOME
unset XDG_DATA_HOME GUARD GUARD_RUN

each() {
	for fs in $systems; do
		point=$fs
		make_images
		for verb in $verbs; do
			count_of "$verb"
			read -r count <"$T/$verb.count"
			echo "# $fs: $verb: $count calls"
			"$@" || return
		done
	done
}

all_of_them() {
	number=${part%/*}
	while [ "$number" -le "$count" ]; do
		one "$verb" "$number"
		number=$((number + ${part#*/}))
	done
}

some_of_them() {
	end=$(($(date +%s) + seconds / 33 + 1))
	while [ "$(date +%s)" -lt $end ]; do
		next "$count"
		one "$verb" "$number"
	done
}

btrfs=
! grep -qw btrfs /proc/filesystems || btrfs=btrfs
crash_systems ext4 xfs $btrfs
truncate -s 320M "$T/work.img"
mkfs.ext4 -q -F "$T/work.img" 2>/dev/null
mount -o loop "$T/work.img" "$T/m" 2>/dev/null ||
	skip_all 'no image can be mounted here'
umount "$T/m"
crash_seed "${CRASH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
verbs='apply undo restore discard bring empty drop regain first start into'
case $mode in
full)
	systems=${2:-$systems}
	verbs=${3:-$verbs}
	part=${4:-1/1}
	each all_of_them
	;;
sample) each some_of_them ;;
*)
	systems=$mode fs=$mode point=$mode
	make_images
	one "$2" "$3"
	;;
esac
echo "# $points points: $befores as before, $afters as after"
[ $failures -ne 0 ] || pass "at none of $points points was anything lost"
echo "1..$tests"
[ $failures -eq 0 ]
