#!/bin/sh
# A store in use, killed, with a failing call or with a power cut at one of its
# calls: every snapshot that was reported complete is intact afterwards, also a
# snapshot that prune put into the trash, and later commands work. Compared with
# plain copies as text. TAP.
#
#	BUILD=build store.sh calls|power [full | SYSTEM VERB NUMBER [ERROR]]
#
# calls: a kill or a failing call, in a directory of its own (SYSTEM: here).
# power: the file system is shut down without its log, so that everything not
# synced is lost; for root, on images of its own (SYSTEM: ext4 or xfs). Without
# full: random points for CRASH_SECONDS; CRASH_SEED sets the sequence.
# users: one
set -u
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/crash/lib.sh
. "$here/lib.sh"
LC_ALL=C
export LC_ALL
build=$(realpath "${BUILD:-$here/../../build}")
stopat=$build/tests/lib/stopat
storeact=$build/tests/crash/storeact
kind=${1:-calls}
mode=${2:-sample}
seconds=${CRASH_SECONDS:-10}
errors='ENOSPC EIO EROFS EDQUOT EINTR'
verbs='snapshot prune undelete repair'

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

if [ "$kind" = power ]; then
	[ "$(id -u)" -eq 0 ] || skip_all 'only root can mount images'
	if [ "${POWER_INSIDE:-}" != 1 ]; then
		unshare --mount true 2>/dev/null ||
			skip_all 'no mount namespaces'
		POWER_INSIDE=1 exec unshare --mount --propagation private \
			"$0" "$@"
	fi
fi

T=$(mktemp -d /var/tmp/storecrash.XXXXXX) || exit 99
mkdir "$T/m" "$T/project" "$T/models" "$T/now"
cd "$T" || exit 99

# Removes only files of this script.
clear_folder() {
	chmod -R u+rwX "$T/$1"
	find "$T/$1" -xdev -mindepth 1 -delete
}

leave() {
	cd /
	if [ "$kind" = power ]; then
		umount "$T/m" 2>/dev/null
		rm -f "$T"/*.img
	fi
	for folder in m project models now here-base here-pruned here-hurt; do
		[ ! -d "$T/$folder" ] || clear_folder "$folder"
		[ ! -d "$T/$folder" ] || rmdir "$T/$folder"
	done
	rm -f "$T/out" "$T/err" "$T/count"
	rmdir "$T"
}
trap leave EXIT
trap 'exit 99' INT TERM HUP

tests=0 failures=0 points=0 point=
flunk() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $point: $*"
	sed 's/^/#   /' "$T/count" "$T/out" "$T/err" 2>/dev/null | cat -v |
		head -n 20
	[ $failures -lt 6 ] || exit 1
}

# --- the store's directory, in a recorded state ---

up() {
	[ "$kind" != power ] || mount -o loop "$T/work.img" "$T/m" || exit 99
}

down() {
	[ "$kind" != power ] || crash_down "$T/m" || exit 99
}

begin() {
	if [ "$kind" = power ]; then
		cp --sparse=always "$T/$fs-$1.img" "$T/work.img" || exit 99
		up
	else
		clear_folder m
		cp -a "$T/$fs-$1/." "$T/m" || exit 99
	fi
}

keep() {
	if [ "$kind" = power ]; then
		down
		cp --sparse=always "$T/work.img" "$T/$fs-$1.img" || exit 99
		up
	else
		mkdir "$T/$fs-$1"
		cp -a "$T/m/." "$T/$fs-$1" || exit 99
	fi
}

# --- a project that changes, and five snapshots of it ---

edit() {
	mkdir -p "$T/project/src/deep"
	seq "$1" 400 >"$T/project/src/text"
	echo "$1" >"$T/project/src/deep/small$1"
	rm -f "$T/project/src/deep/small$(($1 - 2))"
	ln -sf "small$1" "$T/project/src/link"
	head -c 90000 /dev/urandom >"$T/project/noise$(($1 % 2))"
	head -c $((1200000 + $1)) /dev/zero | tr '\0' "$1" >"$T/project/big"
}

act() {
	"$storeact" "$@" >"$T/out" 2>"$T/err" </dev/null
}

make_states() {
	if [ "$kind" = power ]; then
		truncate -s 320M "$T/work.img"
		case $fs in
		ext4) mkfs.ext4 -q -F -O has_journal -E \
			lazy_itable_init=0,lazy_journal_init=0 \
			"$T/work.img" ;;
		xfs) mkfs.xfs -q -f "$T/work.img" ;;
		esac || exit 99
		up
	fi
	[ "$kind" = power ] || clear_folder m
	clear_folder models
	for round in 1 2 3 4 5; do
		edit $round
		act snapshot "$T/m/store" "$T/project" "$T/m/cache" ||
			flunk 'no snapshot'
		"$storeact" model "$T/project" >"$T/models/$round"
	done
	edit 6
	keep base
	act prune "$T/m/store" 1 || flunk 'no prune'
	keep pruned
	down
	begin base
	# The longest pack loses its footer.
	pack=$(find "$T/m/store/packs" -name '*.gpk' -printf '%s %p\n' |
		sort -n | tail -n 1)
	chmod 600 "${pack#* }"
	truncate -s -40 "${pack#* }"
	chmod 400 "${pack#* }"
	keep hurt
	down
}

state_of() {
	case $1 in
	snapshot | prune) echo base ;;
	undelete) echo pruned ;;
	repair) echo hurt ;;
	esac
}

command_of() {
	case $1 in
	snapshot) echo "snapshot $T/m/store $T/project $T/m/cache" ;;
	prune) echo "prune $T/m/store 1" ;;
	*) echo "$1 $T/m/store" ;;
	esac
}

# The command ended with $2, and may have printed the number of a snapshot to
# out.
judge() {
	clear_folder now
	cp "$T"/models/* "$T/now/"
	read -r number_said <"$T/out" || number_said=
	if [ "$1.$2" = snapshot.0 ]; then
		[ "$number_said" ] || flunk 'done, and no number'
		"$storeact" model "$T/project" >"$T/now/$number_said"
	fi
	if [ "$1" = repair ]; then
		act repair "$T/m/store" || flunk 'not mended afterwards'
	fi
	act check "$T/m/store" "$T/now" "$T/project" || flunk 'not whole'
	# shellcheck disable=SC2046 # words
	act $(command_of "$1") || flunk 'not done the second time'
	act snapshot "$T/m/store" "$T/project" "$T/m/cache" ||
		flunk 'no snapshot afterwards'
	act check "$T/m/store" "$T/now" "$T/project" ||
		flunk 'not whole after a second time'
}

# one VERB NUMBER [ERROR]
one() {
	point="$fs, $1, ${3:-stopped} at call $2"
	begin "$(state_of "$1")"
	how=
	[ "$kind" != power ] || how="--cut $T/m"
	[ -z "${3:-}" ] || how="--error $3 --reads"
	# shellcheck disable=SC2046,SC2086 # words
	"$stopat" --count "$T/count" --at "$2" $how -- \
		"$storeact" $(command_of "$1") >"$T/out" 2>"$T/err" </dev/null
	ended=$?
	points=$((points + 1))
	# The command has ended: the power fails directly after it.
	[ "$kind.$ended" != power.0 ] || "$stopat" --count "$T/count" --at 1 \
		--cut "$T/m" -- touch "$T/m/touched" 2>/dev/null
	down
	up
	judge "$1" $ended
	down
}

# count_of VERB [OPTIONS]: prints the number of its calls.
count_of() {
	begin "$(state_of "$1")"
	verb_now=$1
	shift
	# shellcheck disable=SC2046 # words
	"$stopat" --count "$T/count" --at 0 "$@" -- \
		"$storeact" $(command_of "$verb_now") \
		>"$T/out" 2>"$T/err" </dev/null || flunk 'not done'
	down
	read -r count _ <"$T/count"
}

# --- the points ---

all_of_them() {
	for verb in $verbs; do
		count_of "$verb"
		echo "# $fs: $verb: $count calls"
		at=1
		while [ $at -le $((count + 1)) ]; do
			one "$verb" $at
			at=$((at + 1))
		done
		[ "$kind" = calls ] || continue
		count_of "$verb" --error EIO --reads
		at=1
		while [ $at -le "$count" ]; do
			for error in $errors; do
				one "$verb" $at "$error"
			done
			at=$((at + 1))
		done
	done
}

# At least after the last call: a reported result exists.
some_of_them() {
	for verb in $verbs; do
		[ "$kind" != power ] || one "$verb" 1000000
	done
	end=$(($(date +%s) + seconds + 1))
	while [ "$(date +%s)" -lt $end ]; do
		for verb in $verbs; do
			next 2
			error=
			options=
			if [ "$kind" = calls ] && [ "$number" -eq 1 ]; then
				next 5
				# shellcheck disable=SC2086 # the n-th word
				set -- $errors
				shift $((number - 1))
				error=$1
				options='--error EIO --reads'
			fi
			# shellcheck disable=SC2086 # words
			count_of "$verb" $options
			next $((count + 1))
			one "$verb" "$number" "$error"
		done
	done
}

systems=here
if [ "$kind" = power ]; then
	crash_systems ext4 xfs
	truncate -s 320M "$T/work.img"
	mkfs.ext4 -q -F "$T/work.img" 2>/dev/null
	mount -o loop "$T/work.img" "$T/m" 2>/dev/null ||
		skip_all 'no image can be mounted here'
	umount "$T/m"
fi
case $systems in
*' '*) seconds=$((seconds / 2)) ;;
esac
crash_seed "${CRASH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
case $mode in
full | sample)
	for fs in $systems; do
		point=$fs
		make_states
		case $mode in
		full) all_of_them ;;
		*) some_of_them ;;
		esac
	done
	;;
*)
	fs=$mode systems=$mode point=$mode
	make_states
	one "$3" "$4" "${5:-}"
	;;
esac
if [ $failures -eq 0 ]; then
	tests=$((tests + 1))
	echo "ok $tests - at none of $points points was a snapshot hurt"
fi
echo "1..$tests"
[ $failures -eq 0 ]
