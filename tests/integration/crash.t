#!/bin/sh
# guard is killed, or one of its calls fails, at every point: the next command
# finds the project exactly as before or exactly as after, completes the action,
# and undo reverts it.
#
#	crash.t [full [VERB [K/N [ERRORS]]]]
#	crash.t VERB NUMBER [ERROR]	one point
#
# ERRORS: only these errors, each at every call, for example "ENOENT EACCES".
# CRASH_CALLS=--every: also calls that only read; or other words of stopat:
# "--every --only open".
# CRASH_EDITS=yes: the user works on before the next command; or what a point
# has named, "3/2/10", see tests/crash/edits.sh.
#
# `make check` takes random points for a while, then as many with edits (the
# seed is printed; CRASH_SEED sets it); `make crash` takes all. K/N: every N-th
# point from the K-th on.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/crash/lib.sh
. "${0%/*}/../crash/lib.sh"
# shellcheck source=tests/crash/edits.sh
. "${0%/*}/../crash/edits.sh"

mode=${1:-sample}
only=${2:-}
part=${3:-1/1}
every=${4:-}
reads=${CRASH_CALLS:---reads}
edits=${CRASH_EDITS:-}
verbs='apply undo restore discard bring empty finish back drop regain'
seconds=24
stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99
crash_seed "${CRASH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"

# --- a project, and a run that makes every kind of change ---
mkdir -p "$HOME/project" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
crash_project
crash_run guard || exit 99
settle
crash_edit "$T/text"

look() {
	crash_look "$HOME/project" >"$1"
}

settle
crash_put_aside pending
look "$T/apply.before"
gives 0 'apply is accepted without a failure' guard apply -q -y
look "$T/apply.after"
no 'apply changes the project' cmp -s "$T/apply.before" "$T/apply.after"
settle
crash_put_aside applied
cp "$T/apply.after" "$T/undo.before"
cp "$T/apply.before" "$T/undo.after"
gives 0 'undo is accepted without a failure' guard undo -q -y
look "$T/is"
ok 'undo restores the project' same "$T/apply.before" "$T/is"
crash_put_back applied
cp "$T/apply.after" "$T/restore.before"
ok 'the project is changed for a restore' crash_mess
crash_put_aside mess
look "$T/restore.before"
first=$(crash_first)
# shellcheck disable=SC2046 # words
gives 0 'restore --exact is accepted without a failure' $(crash_verb restore)
look "$T/restore.after"
no 'restore --exact changes the project' \
	cmp -s "$T/restore.before" "$T/restore.after"

start_of() {
	case $1 in
	apply | discard | drop) crash_put_back pending ;;
	regain) crash_put_back dropped ;;
	undo) crash_put_back applied ;;
	restore) crash_put_back mess ;;
	bring | empty) crash_put_back discarded ;;
	finish | back) crash_put_back pending
		"$stopat" --at "$half" --only rename --below "$HOME/project" -- \
			guard apply -q -y >"$out" 2>"$err" </dev/null ;;
	esac
}

# Where the project is of those two.
side_of() {
	case $1 in
	finish | back) side apply ;;
	*) side "$1" ;;
	esac
}

# If the call fails, or is not reached, that sets the mtime of a directory in the
# layer or of the project's directory, the present time stays.
timeless() {
	sed 's/^\(d [0-9]* [0-9:]*\) [0-9.]* $/\1 - /' "$1" |
		LC_ALL=C sort >"$T/timeless.$2"
}

alike() {
	case $error:$hit in
	:utimensat*) ;;
	:*)
		cmp -s "$1" "$2"
		return
		;;
	esac
	timeless "$1" a
	timeless "$2" b
	cmp -s "$T/timeless.a" "$T/timeless.b"
}

bad() {
	flunk "$point: $*"
	note "$hit"
	show_output
	broken=$((broken + 1))
	[ "$every" ] || [ $broken -lt 5 ] || finish
}

# 0: as before, 1: as after, 2: neither.
side() {
	look "$T/is"
	alike "$T/is" "$T/$1.before" && return 0
	alike "$T/is" "$T/$1.after" && return 1
	diff "$T/is" "$T/$1.before" | head -n 10 | cat -v | sed 's/^/# before: /'
	diff "$T/is" "$T/$1.after" | head -n 10 | cat -v | sed 's/^/# after: /'
	return 2
}

# Completes an unfinished apply, or at every other point rolls it back.
settled() {
	[ "$every" ] || guard status >"$out" 2>"$err" ||
		bad 'no status afterwards'
	if [ $(((befores + afters) % 2)) -eq 0 ]; then
		guard apply --continue >"$out" 2>"$err" ||
			grep -q 'was rolled back' "$err" || bad 'it cannot go on'
		back=1
	else
		guard apply --abort >"$out" 2>"$err"
		back=$?
		[ $back -le 1 ] || bad 'it cannot be taken back'
	fi
}

# A run that is applied waits no longer, one of which that was taken back does.
waits_as_it_is() {
	case $1.$is_now in
	restore.* | *.2) return ;;
	undo.0 | apply.1 | finish.1 | back.1) wanted= ;;
	*) wanted=$run ;;
	esac
	waiting=$(guard status -q 2>"$err")
	[ "$waiting" = "$wanted" ] || bad "what waits: '$waiting'"
}

# The command has ended with $2; what is there now, and does all go on?
judge() {
	settled
	side_of "$1"
	is_now=$?
	[ $back -eq 1 ] || [ $is_now -eq 0 ] || bad 'taken back, and is not'
	waits_as_it_is "$1"
	case $1.$2.$is_now in
	*.2) bad 'neither before nor after' ; return ;;
	back.0.0) ;;
	*.0.0 | back.0.1) bad 'it says done, and is not' ;;
	esac
	case $1 in
	finish | back) set -- apply "$2" ;;
	esac
	# If many points had no effect, a retry is tested after some of them
	# only.
	[ $is_now -ne 0 ] || befores=$((befores + 1))
	[ -z "$every" ] || [ $is_now -ne 0 ] || [ $((befores % 8)) -eq 0 ] || {
		untouched=$1
		return
	}
	if [ $is_now -eq 0 ]; then
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_verb "$1") >"$out" 2>"$err" </dev/null ||
			bad 'not done the second time'
		side "$1"
		[ $? -eq 1 ] || bad 'not done when it is done again'
		befores=$((befores + 1))
	else
		afters=$((afters + 1))
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_revert "$1") >"$out" 2>"$err" </dev/null
		undone=$?
		side "$1"
		case $?.$undone in
		0.0) ;;
		# A file that could not be read after the action cannot be
		# undone.
		1.1) [ "$error" ] || bad 'not taken back' ;;
		*) bad "undo says $undone, and it is not so" ;;
		esac
	fi
}

# A discard changes nothing of the project; its run waits, or can come back,
# whole. Only where the trash is emptied it may be gone for good.
judge_run() {
	guard status >"$out" 2>"$err" || bad 'no status afterwards'
	look "$T/is"
	cmp -s "$T/is" "$T/unmoved" || bad 'the project has changed'
	if guard diff --name-status >"$T/diff" 2>/dev/null; then
		[ "$1.$2" != discard.0 ] || bad 'it says discarded, and is not'
		befores=$((befores + 1))
	elif guard undo -q -y >"$out" 2>"$err" </dev/null; then
		[ "$1.$2" != empty.0 ] || bad 'it says emptied, and is not'
		guard diff --name-status >"$T/diff" 2>"$err" ||
			bad 'brought back, and not there'
		afters=$((afters + 1))
	else
		[ "$1" = empty ] || bad 'not brought back'
		grep -q 'no longer in' "$err" || bad 'not said to be gone'
		afters=$((afters + 1))
		return
	fi
	cmp -s "$T/diff" "$T/diff.wanted" || bad 'its layer has changed'
}

# Some paths of the run, all of them or none; an undo restores the discarded
# ones.
judge_parts() {
	guard status >"$out" 2>"$err" || bad 'no status afterwards'
	look "$T/is"
	cmp -s "$T/is" "$T/unmoved" || bad 'the project has changed'
	guard diff --name-status >"$T/diff" 2>"$err" || bad 'no diff'
	if cmp -s "$T/diff" "$T/diff.wanted"; then
		[ "$1.$2" != drop.0 ] || bad 'it says discarded, and is not'
		[ "$1" = drop ] && befores=$((befores + 1)) ||
			afters=$((afters + 1))
		return
	fi
	cmp -s "$T/diff" "$T/diff.dropped" || bad 'half of it is there'
	[ "$1.$2" != regain.0 ] || bad 'it says put back, and is not'
	[ "$1" = drop ] && afters=$((afters + 1)) || befores=$((befores + 1))
	guard undo -q -y >"$out" 2>"$err" </dev/null || bad 'not put back'
	guard diff --name-status >"$T/diff" 2>"$err"
	cmp -s "$T/diff" "$T/diff.wanted" || bad 'its layer has changed'
}

# one VERB NUMBER [ERROR]: one point. Three more things can go wrong from that
# call on: the disk is GONE or FULL, the project is READONLY.
one() {
	error=${3:-}
	point="$1, ${error:-killed} at call $2"
	[ "$untouched" = "$1" ] || start_of "$1"
	untouched=
	how=
	[ -z "$edits" ] || {
		edits_choose "$edits" "$1"
		edits_before "$1"
	}
	case $error in
	GONE) how='--error EIO --on' ;;
	FULL) how='--error ENOSPC --on --taking' ;;
	READONLY) how="--error EROFS --on --below $HOME/project" ;;
	?*) how="--error $error $reads" ;;
	esac
	# shellcheck disable=SC2046,SC2086 # words
	"$stopat" --count "$T/count" --at "$2" $how -- \
		$(crash_verb "$1") >"$out" 2>"$err" </dev/null
	ended=$?
	read -r _ hit <"$T/count"
	points=$((points + 1))
	[ -z "$every" ] || note "$point: status $ended, $hit: $(cat "$err")"
	case $ended in
	0 | 137) ;;
	99) bad 'not run' ;;
	*) [ -s "$err" ] || bad 'it does not say why' ;;
	esac
	cp "$T/apply.before" "$T/unmoved"
	[ -z "$edits" ] || {
		edits_make "$edit"
		look "$T/unmoved"
	}
	case $1.$edits in
	discard.* | bring.* | empty.*) judge_run "$1" $ended ;;
	drop.* | regain.*) judge_parts "$1" $ended ;;
	*.) judge "$1" $ended ;;
	finish.* | back.*) judge_edits apply ;;
	*) judge_edits "$1" ;;
	esac
	[ $((points % 16)) -ne 0 ] || guard verify -q >"$out" 2>"$err" ||
		bad 'the store is damaged'
}

count_of() {
	start_of "$1"
	# shellcheck disable=SC2046,SC2086 # words
	"$stopat" --count "$T/count" --at 0 --error EIO $reads -- \
		$(crash_verb "$1") >"$out" 2>"$err" </dev/null ||
		bad 'not done under the tracer'
	read -r count _ <"$T/count"
	echo "$count" >"$T/count.$1.reads"
	start_of "$1"
	# shellcheck disable=SC2046 # words
	"$stopat" --count "$T/count" --at 0 -- $(crash_verb "$1") \
		>"$out" 2>"$err" </dev/null || bad 'not done under the tracer'
	read -r count _ <"$T/count"
	echo "$count" >"$T/count.$1"
	note "$1: $count calls that write"
	[ "$count" -gt "$2" ]
}

untouched=''  # what is as start_of() leaves it
points=0 befores=0 afters=0 broken=0 hit='' error=''
crash_put_back pending
guard diff --name-status >"$T/diff.wanted" 2>/dev/null
run=$(guard status -q)
# shellcheck disable=SC2046 # words
ok 'discard of some paths is accepted without a failure' $(crash_verb drop)
guard diff --name-status >"$T/diff.dropped" 2>/dev/null
no 'discard of some paths takes them out of the run' \
	cmp -s "$T/diff.wanted" "$T/diff.dropped"
crash_put_aside dropped
crash_put_back pending
ok 'discard is accepted without a failure' guard discard -q -y
crash_put_aside discarded
start_of apply
"$stopat" --count "$T/count" --at 0 --only rename --below "$HOME/project" -- \
	guard apply -q -y >"$out" 2>"$err" </dev/null
read -r half _ <"$T/count"
half=$((half / 2))
for verb in $verbs; do
	point=$verb
	case $verb in
	discard | bring | drop | regain) least=3 ;;
	*) least=60 ;;
	esac
	count_of "$verb" "$least"
	ok "$verb makes more than $least calls" test "$count" -gt $least
done

start_of empty
"$stopat" --at 10 --only unlinkat -- guard prune --trash -q -y >"$out" 2>"$err"
gives 1 'undo is refused when the trash was partly emptied' guard undo -q -y
says "$err" 'no longer in'
gives 1 'a second undo is refused too' guard undo -q -y
says "$err" 'nothing'
ok 'the next prune --trash empties the rest' guard prune --trash -q -y
is "$(ls -A "$state/trash")" '' 'the trash is empty'

errors='ENOSPC EIO EROFS EDQUOT EINTR'

# sample VERBS: points at random, for a while
sample() {
	some=$1
	end=$(($(date +%s) + seconds))
	while [ "$(date +%s)" -lt $end ]; do
		for verb in $some; do
			next 16
			# shellcheck disable=SC2086 # the n-th of the words
			set -- $errors FULL GONE READONLY
			kind=.reads
			[ $number -le 5 ] || kind=
			[ $number -le 8 ] || set --
			[ $number -gt 8 ] || shift $((number - 1))
			read -r count <"$T/count.$verb$kind"
			[ "${1:-}" != READONLY ] || count=$((count / 2))
			[ "${1:-}" != FULL ] || count=$((count / 2))
			next "$count"
			one "$verb" "$number" "${1:-}"
		done
	done
}

case $mode in
apply | undo | restore | discard | bring | empty | finish | back | drop | regain)
	one "$mode" "$only" "${3:-}"
	note "$point: status $ended, $hit"
	show_output
	;;
full)
	from=${part%/*} step=${part#*/}
	for verb in ${only:-$verbs}; do
		for error in $every; do
			read -r count <"$T/count.$verb.reads"
			at=$from
			while [ "$at" -le "$count" ]; do
				one "$verb" "$at" "$error"
				at=$((at + step))
			done
		done
		[ -z "$every" ] || continue
		read -r count <"$T/count.$verb"
		at=$from
		while [ "$at" -le "$count" ]; do
			one "$verb" "$at"
			at=$((at + step))
		done
		# As far as there are so many: the last one is not reached.
		for error in GONE FULL READONLY; do
			at=$((3 * from - 2))
			hit=x
			while [ "$hit" ]; do
				one "$verb" "$at" "$error"
				at=$((at + 3 * step))
			done
		done
		read -r count <"$T/count.$verb.reads"
		at=$from
		while [ "$at" -le "$count" ]; do
			# shellcheck disable=SC2086 # the n-th of the words
			set -- $errors
			shift $((at % 5))
			one "$verb" "$at" "$1"
			at=$((at + step))
		done
	done
	;;
sample)
	sample "apply undo restore apply $verbs"
	edits=yes
	sample 'apply undo restore finish back'
	;;
esac
note "$points points: $befores as before, $afters as after"
is $broken 0 "each of $points points left the project as before or as after"
[ "$mode.$part" != full.1/1 ] || ok 'points before and after the change occurred' \
	test $befores -gt 5 -a $afters -gt 5
finish
