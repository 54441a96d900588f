#!/bin/sh
# A run that fills the disk, and a disk that is already full.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
state=/small/state
export GUARD_HOME=$state
if ! holds_layers /small; then
	skip 'the small disk holds no layers (tmpfs before Linux 6.6)'
	finish
fi
mkdir /small/project
cd /small/project || exit 99
echo mine >mine

# These commands end neither by themselves nor by SIGTERM. tmpfs is full within
# a tenth of a second; guard may have to wait that long for the processor, and
# the checks that follow need space.
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

# fills KIND [OPTION]: checks that guard ends the run and reports why
fills() {
	kind=$1
	shift
	gives 124 "guard ends a run that fills the disk: $kind $*" \
		guard run --ro "$T/fill" "$@" -- sh "$T/fill" "$kind"
	says "$err" 'the run was ended'
}

gives 0 'a run below --layer-size ends with 0' guard run -q --layer-size 8M -- \
	sh -c 'head -c 4000000 /dev/zero >four'
gives 0 'discard drops the run below --layer-size' guard discard -y
size=
for kind in bytes tmp dark; do
	# shellcheck disable=SC2086 # none or one word
	fills $kind $size
	size=--layer-size=8M
	says "$err" '--layer-size sets another limit'
	gives 0 "diff accepts the layer of the ended run: $kind" \
		guard diff --name-status
	says "$out" 'A	first'
	yes=
	[ "$kind" != dark ] || yes='--yes-to dark' # who cannot list it himself
	# shellcheck disable=SC2086 # none or two words
	gives 0 "apply accepts the ended run: $kind" guard apply -q -y $yes
	is "$(cat first)" new "apply writes the file of the ended run: $kind"
	gives 0 "snapshot works after the ended run: $kind" guard snapshot -q
	rm -rf first big
	[ ! -d dark ] || chmod 700 dark
	rm -rf dark
done
fills bytes --layer-size 2M
gives 0 'run --continue accepts a larger --layer-size' \
	guard run --continue -q --layer-size 60M -- \
	sh -c 'rm big; head -c 3000000 /dev/zero >three'
gives 124 '--layer-size of run --continue counts the whole layer' \
	guard run --continue -q --layer-size 2M -- sleep 600
gives 0 'discard drops the continued run' guard discard -y
fills files --layer-files 500
says "$err" '--layer-files sets another limit'
gives 0 'diff accepts a layer with too many files' guard diff --name-status
says "$out" 'A	many/400'
gives 0 'discard drops a layer with too many files' guard discard -y
fills files
says "$err" '--layer-files sets another limit'
gives 0 'discard drops a layer with all files of the disk' guard discard -y
gives 125 'an invalid --layer-size is refused' \
	guard run --layer-size lots -- true
gives 125 'an invalid --layer-files is refused' \
	guard run --layer-files 0 -- true

# --- another process has filled the disk ---
# The layers of the runs above take space, more for runs that were ended later.
chmod -R u+rwX "$state"
rm -rf "$state"
gives 0 'a run on the small disk ends with 0' \
	guard run -q -- sh -c 'echo new >small; echo more >>mine'
ok 'guard keeps a reserve on the disk' test -s "$state/reserve"
gives 0 'snapshot works where a quota is full and the disk is not' \
	"$stopat" --only fallocate --at 1 --error EDQUOT -- guard snapshot -q
no 'guard released its reserve for that snapshot' test -e "$state/reserve"
gives 0 'status works with space again' guard status
ok 'guard has its reserve again' test -s "$state/reserve"
dd if=/dev/zero of=/small/filler bs=64k 2>/dev/null
no 'the disk is full' dd if=/dev/zero of=/small/more bs=64k count=1
rm -f /small/more
"$stopat" --only openat --below "$state/runs" --at 1 --on --taking \
	--error ENOSPC -- guard run -q --continue -- true >"$out" 2>"$err"
is $? 125 'run --continue is refused on a full disk'
says "$err" 'guard prune --trash'
gives 0 'apply works on a full disk' guard apply -q -y
is "$(cat small)" new 'apply on a full disk writes the file'
no 'guard released its reserve for apply' test -e "$state/reserve"
gives 0 'snapshot works on a full disk' guard snapshot -q
gives 0 'undo works on a full disk' guard undo -q -y
gives 0 'discard works on a full disk' guard discard -q -y
rm /small/filler
gives 0 'status works after space was freed' guard status
ok 'guard has its reserve again after space was freed' test -s "$state/reserve"

# --- no inode is free ---
cat >"$T/names" <<'END'
for (;;) { open(F, ">/small/filler/" . $i++) or exit 0 }
END
gives 0 'a run before the inodes are used up ends with 0' \
	guard run -q -- sh -c 'echo newer >small'
mkdir /small/filler
perl "$T/names"
no 'no inode is free' touch /small/more
gives 0 'apply works without a free inode' guard apply -q -y
is "$(cat small)" newer 'apply without a free inode writes the file'
gives 0 'undo works without a free inode' guard undo -q -y
gives 0 'discard works without a free inode' guard discard -q -y
no 'guard released its reserve of inodes' test -e "$state/reserve-files"
rm -rf /small/filler
gives 0 'status works with free inodes' guard status
ok 'guard has its reserve of inodes again' test -e "$state/reserve-files/63"

# --- only the project's disk is full ---
state=$HOME/state
GUARD_HOME=$state
gives 0 "a run writes more than fits on the project's disk" \
	guard run -q -- sh -c 'head -c 300000 /dev/urandom >big'
dd if=/dev/zero of=/small/filler bs=64k 2>/dev/null
gives 1 "apply is refused when the project's disk is full" guard apply -q -y
says "$err" "the disk of '/small/project' is full: it has"
silent "$err" 'guard prune'
no 'the refused apply leaves nothing' test -e big
rm /small/filler
gives 0 'apply is accepted after space was freed' guard apply -q -y
finish
