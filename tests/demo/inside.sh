#!/bin/sh
# The steps of `guard demo` (guard/cli/demo.sh), each of them checked, in a
# throw-away root: run.sh starts it there. A home directory is wiped unguarded,
# so this refuses to run elsewhere.
#
#	inside.sh GUARD COLORS
#
# The first failed check ends it.
# shellcheck disable=SC2016,SC2088 # texts are compared as they are shown
# shellcheck disable=SC2154 # the variables of demo.sh
# shellcheck disable=SC2317 # its functions call those of here
set -eu

die() {
	printf '\nFAILED: %s\n' "$*"
	exit 1
}

# ---- only in a throw-away root ----

# The marker must contain root.c's notes about the outside, and none of them may
# be true here. No file of the machine may be writable.
refuse_elsewhere() {
	[ "${GUARD_TEST_ROOT:-}" = 1 ] || die "not in a throw-away root"
	[ -n "${GUARD_TEST_OUTSIDE:-}" ] || die "the outside is not known"
	[ "$(cat /.guard-test-root)" = "$GUARD_TEST_OUTSIDE" ] ||
		die "the marker of the throw-away root is missing"
	here="$(readlink /proc/self/ns/mnt) $(stat -c %d:%i /)"
	[ "${here%% *}" != "${GUARD_TEST_OUTSIDE%% *}" ] ||
		die "this is the machine's own mount namespace"
	[ "${here#* }" != "${GUARD_TEST_OUTSIDE#* }" ] ||
		die "this is the machine's own root folder"
	case $HOME in
	/root | /home/tester) ;;
	*) die "HOME is $HOME" ;;
	esac
	[ "$(ls /home)" = tester ] || die "there are homes in /home"
	# /small and the control groups are the throw-away root's own.
	own='^/(proc|small|sys/fs/cgroup(/.*)?|dev(/.*)?)?$'
	writable=$(awk -v own="$own" '{ split($6, o, ",") }
		o[1] == "rw" && $5 !~ own { print $5 }' \
		/proc/self/mountinfo)
	[ -z "$writable" ] || die "writable mounts in here: $writable"
}

refuse_elsewhere
guard=$1
colors=$2
PATH=$(dirname "$guard"):$PATH
scratch=$(mktemp -d /var/tmp/demo.XXXXXX)
count=0
waits=''
# shellcheck source=guard/cli/demo.sh
. "${0%/*}/demo.sh"
green=''
if [ -n "$colors" ]; then
	use_colors
	green=$(printf '\033[32m')
fi

# ---- functions that demo.sh calls ----

good() {
	count=$((count + 1))
	printf '%s   ok: %s%s\n' "$green" "$*" "$off"
}

# stdout and stderr go to $out and, up to a number of lines, to the user.
execute() {
	status=0
	out=$scratch/out
	eval "$1" >"$out" 2>&1 </dev/null || status=$?
	case $1 in
	'rm -rf ~') lines=5 ;;
	*) lines=200 ;;
	esac
	head -n $lines "$out"
	left=$(($(wc -l <"$out") - lines))
	[ $left -le 0 ] || tell "${faint}[... $left lines more]$off"
	case $1 in
	guard\ *) [ $status -eq 0 ] || die "that ended with $status" ;;
	esac
}

checked() {
	"check_$1"
}

may_wipe() {
	refuse_elsewhere
}

says() {
	grep -qF -- "$1" "$out" || die "that did not say: $1"
}

says_not() {
	! grep -qF -- "$1" "$out" || die "that said: $1"
}

# ---- comparison of states ----

# Every entry below a directory, a record each: type, mode, owner, link target,
# time, of files the link count and size, xattrs; sha256 of contents. guard's
# own state is excluded.
manifest() (
	cd "$1"
	set -- . -path ./.local -prune -o
	find "$@" -type f -printf '%y %m %U:%G %T@ %n %s %p\0'
	find "$@" ! -type f -printf '%y %m %U:%G %T@ [%l] %p\0'
	find "$@" -type f -exec sha256sum -z {} +
	find "$@" -exec getfattr -hd -m - -- {} + 2>/dev/null | tr '\n' '\0'
)

remember() { # NAME FOLDER
	manifest "$2" | LC_ALL=C sort -z >"$scratch/$1"
	files=$(tr '\n\0' '?\n' <"$scratch/$1" | grep -c '^f ')
}

differences() { # NAME FOLDER: lines of those that differ
	manifest "$2" | LC_ALL=C sort -z >"$scratch/now"
	tr '\n\0' '?\n' <"$scratch/$1" >"$scratch/a"
	tr '\n\0' '?\n' <"$scratch/now" >"$scratch/b"
	diff "$scratch/a" "$scratch/b" | grep '^[<>]' || :
}

same() { # NAME FOLDER TEXT
	differences "$1" "$2" >"$scratch/differences"
	[ ! -s "$scratch/differences" ] || {
		cat "$scratch/differences"
		die "something differs in $2"
	}
	good "$3"
}

# The command without guard, on a copy of this home directory.
wreck_twin() {
	cp -a "$HOME" "$scratch/twin"
	HOME=$scratch/twin sh "$scratch/twin/agent.sh" >/dev/null 2>&1
	sh -c 'cd "$1" && sh tests/run' sh "$scratch/twin/projects/greeter" \
		>/dev/null || die "the agent has not mended the copy"
}

# A letter and a path per line, for each change in the copy.
expected_changes() (
	list() {
		cd "$1"
		find . -path ./.local -prune -o -path '*/.git/*' -prune -o \
			! -type d -print | sort
	}
	list "$HOME" >"$scratch/old"
	list "$scratch/twin" >"$scratch/new"
	cd "$HOME"
	comm -23 "$scratch/old" "$scratch/new" | sed 's/^/D /'
	comm -13 "$scratch/old" "$scratch/new" | sed 's/^/A /'
	comm -12 "$scratch/old" "$scratch/new" | while IFS= read -r path; do
		[ -L "$path" ] || cmp -s "$path" "$scratch/twin/$path" ||
			printf 'M %s\n' "$path"
	done
)

# The same from guard, with ~/projects/greeter before the project's paths.
listed_changes() (
	cd "$HOME"
	guard -C projects/greeter diff -z | tr '\n\0' '?\n' |
		while IFS= read -r letter && IFS= read -r path; do
			case $path in
			'~/'*) path=./${path#'~/'} ;;
			.git | .git/*) continue ;;
			*) path=./projects/greeter/$path ;;
			esac
			path=${path%/}
			if [ "$letter" = D ] && [ -d "$path" ] &&
				[ ! -L "$path" ]; then
				find "$path" ! -type d | sed 's/^/D /'
			elif [ -L "$path" ] || [ ! -d "$path" ]; then
				printf '%s %s\n' "$letter" "$path"
			fi
		done
)

# ---- the checks, in the order of the steps ----

check_unsaved() {
	says '?? notes.md'
	says '!! .env'
}

check_failing() {
	says 'the tests fail'
}

check_run() {
	says 'the tests pass'
	says 'All done!'
	tell
	same home "$HOME" "all $files files of the home are as they were, \
to the byte"
}

check_unchanged() {
	says 'Rewritten all morning.'
}

check_listed() {
	says 'sh '
}

check_reviewed() {
	for path in notes.md .env docs/guide.md data/customers.db README.md \
		src/greet.sh chapters/1.md '~/photos'; do
		says "$path"
	done
	expected_changes | sort >"$scratch/expected"
	listed_changes | sort -u >"$scratch/listed"
	diff "$scratch/expected" "$scratch/listed" ||
		die "guard diff does not name what the agent does (< it does)"
	good "each of the $(wc -l <"$scratch/expected") changes is named, \
and no other: the same script did the same to a copy"
}

check_shown() {
	says '-echo "Helo, ${1:-world}!"'
	says '+echo "Hello, ${1:-world}!"'
	says_not 'Rewritten all morning'
}

check_applied() {
	differences home "$HOME" | cut -c 1 | sort | uniq -c |
		tr -s ' \n' ' ' >"$scratch/differences"
	# The file's line of the list and its line of the hashes, before and
	# after.
	[ "$(cat "$scratch/differences")" = ' 2 < 2 > ' ] || {
		differences home "$HOME"
		die "more than src/greet.sh has changed"
	}
	cmp src/greet.sh "$scratch/twin/projects/greeter/src/greet.sh" ||
		die "src/greet.sh is not what the agent made"
	[ "$(stat -c %a src/greet.sh)" = 755 ] || die "the mode is lost"
	good "src/greet.sh is the agent's, all else is as it was"
}

check_passing() {
	[ $status -eq 0 ] || die "the tests fail"
}

check_nothing_pending() {
	says_not 'agent.sh'
}

check_repository() {
	git fsck --no-progress --strict >/dev/null 2>&1 ||
		die "the repository is damaged"
}

check_still_unsaved() {
	check_unsaved
	says ' M src/greet.sh'
	check_repository
	good "nothing waits any more, the unsaved work is still there"
	remember home "$HOME"
	time=$(stat -c %y .)
}

check_restored() {
	touch -d "$time" . # rm has changed it
	same home "$HOME" "it is back, with its time and attributes"
}

check_stored() {
	time=$(stat -c %y .)
	remember project "$HOME/projects/greeter"
}

check_named() {
	says 'before lunch'
}

check_wiped() {
	for path in projects photos .bashrc agent.sh; do
		[ ! -e "$HOME/$path" ] || die "the home is not wiped: no test"
	done
}

check_back() {
	touch -d "$time" ~/projects/greeter # made anew: its own time is new
	same project "$HOME/projects/greeter" "all of the project is back, \
to the byte: contents, modes, links, times, attributes"
}

check_commits_back() {
	says 'Keep an idea'
}

check_work_back() {
	says '?? notes.md'
	says 'M  docs/guide.md'
	says '!! data/'
	check_repository
}

chapter "guard, shown as $(id -un) in a throw-away root"
make_home
wreck_twin
remember home "$HOME"
play
chapter "The demo holds as $(id -un): $count comparisons, every byte."
