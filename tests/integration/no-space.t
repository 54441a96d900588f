#!/bin/sh
# A run that fills the disk, and a disk that is full already.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
state=/small/state
export GUARD_HOME=$state
if ! holds_layers /small; then
	skip 'the disk that may be filled holds no layers (tmpfs before 6.6)'
	finish
fi
mkdir /small/project
cd /small/project || exit 99
echo mine >mine

# Nothing in here ends by itself, nor by a polite signal. In memory all of the
# disk is full in a tenth of a second; guard may have to wait that long for its
# turn, and what is tested afterwards needs room.
cat >"$T/fill" <<'END'
trap '' TERM INT HUP
zeros() { while head -c 100000 /dev/zero; do :; done; }
echo new >first
case $1 in
bytes) zeros >big ;;
tmp) zeros >/tmp/big ;;
dark) mkdir dark; chmod 300 dark; zeros >dark/big ;;
files) mkdir many; exec perl -e 'for (;;) { open(F, ">many/" . $i++) }' ;;
esac
sleep 600
END

# fills KIND [OPTION]: ended for it, said why
fills() {
	kind=$1
	shift
	gives 124 "a run that fills the disk: $kind $*" \
		guard run --ro "$T/fill" "$@" -- sh "$T/fill" "$kind"
	says "$err" 'the run was ended'
}

gives 0 'a run that stays below' guard run -q --layer-size 8M -- \
	sh -c 'head -c 4000000 /dev/zero >four'
gives 0 'discard it' guard discard -y
size=
for kind in bytes tmp dark; do
	# shellcheck disable=SC2086 # none or one word
	fills $kind $size
	size=--layer-size=8M
	says "$err" '--layer-size lets it have more'
	gives 0 "its layer is whole: $kind" guard diff --name-status
	says "$out" 'A	first'
	yes=
	[ "$kind" != dark ] || yes='--yes-to dark' # who cannot list it himself
	# shellcheck disable=SC2086 # none or two words
	gives 0 "it can be applied: $kind" guard apply -q -y $yes
	is "$(cat first)" new "what it wrote is there: $kind"
	gives 0 "a version can be kept: $kind" guard snapshot -q
	rm -rf first big
	[ ! -d dark ] || chmod 700 dark
	rm -rf dark
done
fills bytes --layer-size 2M
gives 0 'going on where it was' guard run --continue -q --layer-size 60M -- \
	sh -c 'rm big; head -c 3000000 /dev/zero >three'
gives 124 'what the layer has counts when it goes on' \
	guard run --continue -q --layer-size 2M -- sleep 600
gives 0 'drop it' guard discard -y
fills files --layer-files 500
says "$err" '--layer-files lets it have more'
gives 0 'files are listed' guard diff --name-status
says "$out" 'A	many/400'
gives 0 'and dropped' guard discard -y
fills files
says "$err" '--layer-files lets it have more'
gives 0 'all of them too' guard discard -y
gives 125 'an odd size' guard run --layer-size lots -- true
gives 125 'an odd number' guard run --layer-files 0 -- true

# --- somebody else has filled it ---
# What the runs above left, more the later they were stopped, is in the way.
chmod -R u+rwX "$state"
rm -rf "$state"
gives 0 'a run' guard run -q -- sh -c 'echo new >small; echo more >>mine'
ok 'there is a reserve' test -s "$state/reserve"
gives 0 'a version where a quota is full and the disk is not' \
	"$stopat" --only fallocate --at 1 --error EDQUOT -- guard snapshot -q
no 'for which the reserve was given up' test -e "$state/reserve"
gives 0 'later' guard status
ok 'it is back' test -s "$state/reserve"
dd if=/dev/zero of=/small/filler bs=64k 2>/dev/null
no 'the disk is full' dd if=/dev/zero of=/small/more bs=64k count=1
rm -f /small/more
"$stopat" --only openat --below "$state/runs" --at 1 --on --taking \
	--error ENOSPC -- guard run -q --continue -- true >"$out" 2>"$err"
is $? 125 'no run goes on there'
says "$err" 'guard prune --trash'
gives 0 'an apply on the full disk' guard apply -q -y
is "$(cat small)" new 'it is applied'
no 'the reserve was given up' test -e "$state/reserve"
gives 0 'a version on the full disk' guard snapshot -q
gives 0 'undo on the full disk' guard undo -q -y
gives 0 'discard on the full disk' guard discard -q -y
rm /small/filler
gives 0 'when there is room again' guard status
ok 'the reserve is back' test -s "$state/reserve"

# --- and when it can hold no more files ---
cat >"$T/names" <<'END'
for (;;) { open(F, ">/small/filler/" . $i++) or exit 0 }
END
gives 0 'another run' guard run -q -- sh -c 'echo newer >small'
mkdir /small/filler
perl "$T/names"
no 'there is no file left' touch /small/more
gives 0 'an apply without a file left' guard apply -q -y
is "$(cat small)" newer 'that is applied too'
gives 0 'its undo' guard undo -q -y
gives 0 'its end' guard discard -q -y
no 'the files were given up' test -e "$state/reserve-files"
rm -rf /small/filler
gives 0 'when there are files again' guard status
ok 'they are kept again' test -e "$state/reserve-files/63"

# --- the project's disk is not guard's ---
state=$HOME/state
GUARD_HOME=$state
gives 0 'a run' guard run -q -- sh -c 'head -c 300000 /dev/urandom >big'
dd if=/dev/zero of=/small/filler bs=64k 2>/dev/null
gives 1 'has no room' guard apply -q -y
says "$err" "the disk of '/small/project' has room for"
silent "$err" 'guard prune'
no 'and nothing is there' test -e big
rm /small/filler
gives 0 'now it has' guard apply -q -y
finish
