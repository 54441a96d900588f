#!/bin/sh
# Few descriptors, and a kernel without memory: an action fails. No file is
# taken for unreadable, absent or unchanged. Calls are hit at sampled points;
# with step=1 in the environment at every one.
# users: one
# shellcheck disable=SC2317 # checks are called through each
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

mkdir -p "$HOME/project" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
for i in $(seq 30); do
	mkdir -p "d$i/a/b"
	echo "$i" >"d$i/file"
	echo x >"d$i/a/b/file"
done
deep=$(printf 'a-long-name-of-a-directory/%.0s' $(seq 30))
mkdir -p "$deep"
echo deep >"$deep/file"
head -c 2000000 /dev/urandom >long
ln d1/file d2/hard
ln -s file d3/link
setfattr -n user.note -v text d4/file

# files [DIR]: what an action changes there.
files() {
	(
		cd "${1:-.}" || exit 1
		set -- -mindepth 1 \( -name '.guard-staging-*' -o -name .git \) \
			-prune -o
		find . "$@" -printf '%y %m %n %l %p\n' | sort
		find . "$@" -type f -print | sort | xargs sha256sum
		getfattr -R -d -m - . 2>&1
	)
}
files >"$T/wanted"

# --- a snapshot ---
# try COMMAND...: a snapshot in a new state directory. Sets $ended; appends to
# $lied when it reports success and is not complete, to $died when it is killed.
try() {
	GUARD_HOME=$T/state "$@" guard snapshot -q >"$out" 2>"$err" </dev/null
	ended=$?
	case $ended in
	0)
		GUARD_HOME=$T/state guard restore -q -y --at latest \
			--to "$T/restored" . >"$T/log" 2>&1
		files "$T/restored/project" >"$T/now"
		cmp -s "$T/now" "$T/wanted" ||
			lied="$lied $hit: $(head -n 1 "$err");"
		;;
	1) ;;
	*) died="$died $hit: $ended;" ;;
	esac
	chmod -R u+rwx "$T/state" 2>"$T/log"
	rm -rf "$T/state" "$T/restored"
}

lied='' died='' failed=0 worked=0
for hit in $(seq 12 "${step:-6}" 60); do
	try sh -c "ulimit -n $hit && exec \"\$@\"" sh
	[ "$ended" = 0 ] && worked=$((worked + 1)) || failed=$((failed + 1))
done
is "$lied" '' 'a snapshot with few descriptors fails or is complete'
is "$died" '' 'a snapshot with few descriptors ends by itself'
ok 'both happened' test $failed -gt 0 -a $worked -gt 0

for fault in 'open EMFILE' 'statx ENOMEM' 'getdents ENOMEM' 'readlink ENOMEM' \
	'xattr ENOMEM' 'io_uring EMFILE'; do
	lied='' died='' at=1 hit=x
	while [ "$hit" ]; do
		try "$stopat" --count "$T/count" --at $at --every --reads \
			--only "${fault% *}" --error "${fault#* }" --
		read -r _ hit <"$T/count"
		at=$((at + ${step:-61}))
	done
	is "$lied$died" '' "a snapshot with $fault fails or is complete"
done

# --- a run, its diff, apply and restore ---
git init -q "$HOME/small"
cd "$HOME/small" || exit 99
for i in 1 2 3; do
	mkdir -p "d$i/a"
	echo "$i" >"d$i/file"
	echo x >"d$i/a/file"
done
ln d1/file d1/hard
git add .
git commit -q -m begin
ok 'a snapshot of the project' guard snapshot -q
ok 'a run changes the project' guard run -q -- sh -c 'echo new >d1/file
	rm -r d2/a; mkdir -p made/in; echo new >made/in/file; chmod 700 d3/a
	mv d3/file d3/moved; ln -s x d3/link'
settle
files >"$T/before"
ok 'apply' guard apply -q -y
files >"$T/after"
ok 'undo' guard undo -q -y
guard diff --name-only | sort >"$T/names"

# each STEP TITLE CHECK ERROR COMMAND...: CHECK says what is wrong after a failed
# call of COMMAND. With $below only calls below that directory count.
below=
each() {
	step_here=$1 title=$2 check=$3 error=$4
	shift 4
	at=1 hit=x wrong=''
	while [ "$hit" ]; do
		"$stopat" --count "$T/count" --at $at --every --reads \
			--only open ${below:+--below "$below"} \
			--error "$error" -- "$@" >"$out" 2>"$err" </dev/null
		ended=$?
		read -r _ hit <"$T/count"
		why=$($check)
		[ -z "$why" ] || wrong="$wrong $at ($hit): $why;"
		at=$((at + ${step:-$step_here}))
	done
	is "$wrong" '' "$title"
}

check_names() {
	[ "$ended" != 0 ] || sort "$out" | cmp -s - "$T/names" || echo incomplete
}
check_applied() {
	[ "$ended" = 0 ] || guard status >"$T/log" 2>&1
	files >"$T/now"
	if cmp -s "$T/now" "$T/after"; then
		guard undo -q -y >"$T/log" 2>&1 || echo 'not undone'
	elif [ "$ended" = 0 ] || ! cmp -s "$T/now" "$T/before"; then
		echo 'a part is applied'
	fi
}
check_restored() {
	files >"$T/now"
	[ "$ended" != 0 ] || cmp -s "$T/now" "$T/before" || echo 'a part is back'
	rm -rf d1
}
each 41 'diff with EMFILE fails or is complete' check_names EMFILE \
	guard diff --name-only
each 41 'diff with ENOMEM fails or is complete' check_names ENOMEM \
	guard diff --name-only
each 79 'apply with EMFILE applies all or nothing' check_applied EMFILE \
	guard apply -q -y
rm -rf d1
each 79 'restore with EMFILE fails or is complete' check_restored EMFILE \
	guard restore -q -y d1
ok 'restore' guard restore -q -y d1

# --- the copy of a frozen run ---
check_copy() {
	[ "$ended" != 0 ] || cmp -s "$out" "$T/listed" || echo incomplete
}
mkdir -p "$HOME/frozen/d1/a" "$HOME/frozen/d2"
cd "$HOME/frozen" || exit 99
echo 1 >d1/a/file
echo 2 >d2/file
find . | sort >"$T/listed"
below=$PWD
each 1 'a frozen run with EMFILE fails or has the whole project' check_copy \
	EMFILE guard run -q --frozen -- sh -c 'find . >/tmp/all && sort /tmp/all'
below=

# --- versions, in more packs than are opened at first ---
check_log() {
	[ "$ended" != 0 ] || cmp -s "$out" "$T/listed" || echo incomplete
}
check_version() {
	[ "$ended" != 0 ] || [ "$(cat "$T/to/many/file")" = 20 ] ||
		echo 'another version'
	! grep -q missing "$err" || echo 'a pack is taken for missing'
	rm -rf "$T/to"
}
mkdir "$HOME/many"
cd "$HOME/many" || exit 99
for i in $(seq 20); do
	echo "$i" >file
	guard snapshot -q >"$T/log" || exit 99
done
guard run -q -- true
settle
guard log --json file >"$T/listed"
below=$state/store
each 1 'log with EMFILE fails or lists every version' check_log EMFILE \
	guard log --json file
each 1 'restore --at TIME with EMFILE fails or takes the newest version' \
	check_version EMFILE \
	guard restore -q -y --at "$(date +%FT%T)" --to "$T/to" .
below=

# --- verify ---
wrong='' at=1 hit=x
while [ "$hit" ]; do
	"$stopat" --count "$T/count" --at $at --reads --only open \
		--below "$state/store" --error EMFILE -- guard verify \
		>"$out" 2>"$err" </dev/null
	read -r _ hit <"$T/count"
	! grep -q damaged "$out" "$err" || wrong="$wrong $at ($hit)"
	at=$((at + ${step:-13}))
done
is "$wrong" '' 'verify with EMFILE takes nothing for damaged'
finish
