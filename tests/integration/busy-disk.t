#!/bin/sh
# A live run has a copy of the mount table, which keeps a disk busy after it was
# unmounted: explain names the run, and doctor does unless the disk is mounted
# elsewhere.
# needs: images
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

if [ "$me" != root ]; then
	skip 'a plain user cannot unmount a disk'
	finish
elif [ ! -d /images/ext4 ]; then
	skip "no disk to unmount: $(cat /images/ext4.why)"
	finish
fi
mkdir "$HOME/project"
cd "$HOME/project" || exit 99
mkfifo "$T/wait" "$T/ready"
guard run --rw "$T" --name holder -- \
	sh -c "echo >'$T/ready'; read -r line <'$T/wait'" >"$out" 2>"$err" &
pid=$!
read -r line <"$T/ready"
guard doctor >"$out"
silent "$out" 'busy disk'
# The mounts below /images can be unmounted together only.
ok 'the disk can be unmounted' umount -l /images
mounts_before=$(mounts)
# The checkout has the same disks.
guard doctor >"$out"
silent "$out" 'busy disk'
gives 0 'explain accepts the mount point' guard explain /images/ext4
says "$out" 'run holder keeps this disk busy until its end'
gives 0 'explain accepts another directory' guard explain "$HOME"
silent "$out" busy
echo end >"$T/wait"
wait "$pid"
guard doctor >"$out"
silent "$out" 'busy disk'
gives 0 'explain accepts the mount point after the run' \
	guard explain /images/ext4
silent "$out" busy
settle
finish
