#!/bin/sh
# Errors of the system while guard reads a run: the message names the right
# object and reason, and no change of the run is lost.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

mkdir -p "$HOME/project/src/deep"
mkdir -p "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
echo old >src/edited
echo old >src/deep/edited
echo old >top
mkdir gone
echo old >gone/below
echo old >away
ok 'a run makes changes of eight kinds' \
	guard run -q -- sh -c 'echo new >src/edited
	echo new >src/deep/edited; echo new >src/deep/made; echo new >top
	rm -r gone away; echo new >"$HOME/of-home"'
settle
run=$(guard status -q)
LC_ALL=C
export LC_ALL
guard diff --name-only | sort >"$T/names"
is "$(wc -l <"$T/names")" 8 'diff lists eight changes'

# each DIR ERROR CALL COMMAND...: every such call of guard below DIR fails, one
# at a time; $lied: the calls after which guard reports success wrongly; $mute:
# those after which it fails without a reason. A call that fails with ERROR by
# itself is left out: it would make no difference.
each() {
	dir=$1 error=$2 call=$3
	shift 3
	at=1 hit=x lied='' mute=''
	while [ "$hit" ]; do
		"$stopat" --count "$T/count" --at $at --every --only "$call" \
			--later --below "$dir" --error "$error" -- "$@" \
			>"$out" 2>"$err" </dev/null
		ended=$?
		read -r _ hit <"$T/count"
		case $ended in
		0) sort "$out" | comm -23 "$T/names" - >"$T/lost"
			[ ! -s "$T/lost" ] ||
				lied="$lied $at ($hit: $(tr '\n' ' ' <"$T/lost"))" ;;
		*) grep -qE "$why" "$err" ||
			mute="$mute $at ($hit: $(head -n 1 "$err"))" ;;
		esac
		at=$((at + 1))
	done
}

cp "$T/names" "$T/all"

# A single ENOENT is no deletion by the user.
why='No such file'
for call in openat2 statx; do
	each "$HOME/project" ENOENT $call guard diff --name-only
	is "$lied" '' \
		"a single ENOENT of $call in the project hides no change in diff"
	ok "diff makes more than 3 $call calls" test $at -gt 3
done
guard apply -n 2>/dev/null | sort >"$T/names"
for call in open statx; do
	each "$HOME/project" ENOENT $call guard apply -n
	is "$lied$mute" '' \
		"a single ENOENT of $call in the project hides no change in apply -n"
	ok "apply -n makes more than 9 $call calls" test $at -gt 9
done
cp "$T/all" "$T/names"
why='Input/output error'
each "$HOME/project" EIO fstat guard diff --name-only
is "$lied" '' 'a failing fstat hides no change in diff'
grep -E 'away|gone' "$T/all" >"$T/names"
each "$HOME/project" EIO statx guard diff --name-only
is "$lied$mute" '' 'a failing statx hides no deleted entry'
cp "$T/all" "$T/names"
each "$state/runs" EIO open guard diff --name-only
is "$lied$mute" '' 'a layer that cannot be opened is reported'
each "$state/runs" EIO getdents guard diff --name-only
is "$mute" '' 'a layer that cannot be listed is reported'
# As an earlier guard leaves it: the layer of the home directory is read.
sed -i '/^home-/d' "$state/runs/$run/record"
"$stopat" --at 1 --on --every --only getdents \
	--below "$state/runs/$run/home-upper" \
	--error EIO -- guard diff >"$out" 2>"$err"
says "$err" "read directory '$state/runs/$run/home-upper'"
# Of yesterday: an apply writes times that are later than all others, and waits
# for the next second behind them.
echo edited >top
touch -d yesterday top
guard diff >"$out" 2>"$err"
says "$out" 'CHANGED HERE SINCE'
"$stopat" --at 1 --on --every --only getdents --below "$state/store/packs" \
	--error EIO -- guard diff >"$out" 2>"$err"
is $? 0 'diff works without the snapshot of the start'
says "$err" 'files that changed here since the run started'
guard diff --name-only | sort >"$T/all"

# forgotten WHAT PREPARE COMMAND: guard COMMAND, after guard PREPARE if there is
# one, while one lookup of the run fails. $lost: the calls after which neither
# it nor undo has the complete run. As root every third lookup: the plain user's
# are the same ones.
step=1
[ "$me" != root ] || step=3
forgotten() {
	at=1 hit=x lost=''
	while [ "$hit" ]; do
		# shellcheck disable=SC2086 # words
		[ -z "$2" ] || guard $2 >"$out" 2>"$err"
		# shellcheck disable=SC2086 # words
		"$stopat" --count "$T/count" --at $at --every --only at \
			--below "$state/runs" --error EIO -- guard $3 \
			>"$out" 2>"$err" </dev/null
		read -r _ hit <"$T/count"
		guard diff --name-only 2>/dev/null | sort | cmp -s "$T/all" - ||
			guard undo -y -q >"$out" 2>&1
		guard diff --name-only 2>/dev/null | sort | cmp -s "$T/all" - ||
			lost="$lost $at ($hit: $(head -n 1 "$err"))"
		[ -z "$lost" ] || break
		at=$((at + step))
	done
	is "$lost" '' "$1"
	ok 'the command looks up the run more than 3 times' test $at -gt 3
}
forgotten 'undo finds a discard in which a lookup failed' '' 'discard -y -q'
forgotten 'one of paths too' '' 'discard -y -q src/edited gone'
forgotten 'what did not come back, is' 'discard -y -q src/edited gone' \
	'undo -y -q'
forgotten 'undo of a discard in which a lookup failed keeps the run' 'discard -y -q' 'undo -y -q'

# --- a single ENOENT while the staging directory is removed ---
left=''
for at in $(seq 30); do
	"$stopat" --count "$T/count" --at "$at" --every --only newfstat \
		--below "$PWD" --error ENOENT -- guard apply -y -q src \
		>"$out" 2>"$err" </dev/null
	read -r _ hit <"$T/count"
	# Finishes a rollback in which one of the later calls failed.
	guard diff >"$out" 2>&1
	[ -z "$(find . -maxdepth 1 -name '.guard-staging-*')" ] || {
		left="$left $at ($hit)"
		break
	}
	! grep -q new src/edited || guard undo -y -q
done
is "$left" '' 'the staging directory is not taken for removed'

# --- a home that cannot be read ---
[ "$me" = root ] || {
	gives 2 'a home that cannot be read is reported' "$stopat" --at 1 \
		--every --only fstatat --below "$PWD" --error EIO -- \
		guard status
	says "$err" "home directory '$HOME'"
}
finish
