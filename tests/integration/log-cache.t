#!/bin/sh
# guard log of a path skips snapshots in which the path is unchanged, by the
# cache of changed paths. The output is the same as without it.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
cache=$state/store/changed-paths
mkdir -p "$HOME/project/dir/sub"
cd "$HOME/project" || exit 99
echo 0 >dir/sub/file
echo 0 >top
echo same >dir/same

# logs NAME: what guard log shows of several paths
logs() {
	for path in top dir dir/sub/file dir/same moved gone purged .; do
		guard log "$path"
		guard log --json "$path"
	done >"$T/$1" 2>&1
	guard log >>"$T/$1" 2>&1
}
# same_without TITLE: the output with the cache and without it
same_without() {
	ok "$1: there is a cache" test -s "$cache"
	logs with
	chmod u+w "$state/store"
	mv "$cache" "$T/cache"
	logs without
	mv "$T/cache" "$cache"
	chmod u-w "$state/store"
	ok "$1" same "$T/without" "$T/with"
}
# lists DIR COMMAND: whether it lists that directory of the store
lists() {
	listed=$1
	shift
	"$stopat" --count "$T/count" --every --only getdents \
		--below "$state/store/$listed" --at 0 -- "$@" >"$out" 2>"$err"
	[ "$(cut -d ' ' -f 1 "$T/count")" != 0 ]
}
# opens COMMAND: the number of calls that read or write snapshots
opens() {
	"$stopat" --count "$T/count" --reads --below "$state/store/snaps" \
		--at 0 -- "$@" >"$out" 2>"$err"
	cut -d ' ' -f 1 "$T/count"
}

for i in $(seq 12); do
	echo "$i" >top
	[ $((i % 4)) != 0 ] || echo "$i" >dir/sub/file
	case $i in
	3) echo x >purged ;;
	5) mv dir/same moved ;;
	7) rm moved; echo x >gone ;;
	9) rm gone; chmod 600 dir/sub/file ;;
	esac
	guard snapshot -q
done >"$out" 2>"$err"
for i in $(seq 6); do
	guard run -q -- sh -c "echo run $i >top; echo $i >dir/new-$i"
	settle
	guard apply -q -y
done
opens guard log dir/same >"$T/after-apply"
guard run -q --name pending -- sh -c 'echo pending >dir/sub/file'
settle
opens guard log dir/same >"$T/after-run"
no 'a diff finds the packs of the run in the index' lists packs guard diff pending
guard snapshot -q --exclude top >"$out"
gives 0 'a snapshot is accepted' guard snapshot -q
ok 'the cache exists' test -s "$cache"
ok 'log without the cache reads many snapshots' test "$(
	chmod u+w "$state/store"
	mv "$cache" "$T/cache"
	opens guard log dir/same
	mv "$T/cache" "$cache"
	chmod u-w "$state/store")" -gt 30
ok 'log with the cache reads few snapshots' test "$(opens guard log dir/same)" -lt 15
ok 'also right after an apply' test "$(cat "$T/after-apply")" -le 16
ok 'and right after a run' test "$(cat "$T/after-run")" -le 16
ok 'verify lists the snapshots' lists snaps guard verify
no 'log with the cache does not list them' lists snaps guard log dir/same
mkdir ../beside
ok 'a snapshot of another directory does not look through them' \
	test "$(opens guard snapshot -q ../beside)" -lt 20
cd ../beside || exit 99
ok 'log does not read the snapshots of another directory' \
	test "$(opens guard log)" -lt 15
ok 'nor does that of a path' test "$(opens guard log .)" -lt 15
cd ../project || exit 99
same_without 'log shows the same versions'
says "$T/with" pending
says "$T/with" renamed

gives 0 'purge is accepted' guard purge --confirm purged purged
gives 0 'another snapshot is stored' guard snapshot -q
same_without 'log shows the same after a purge'
# As prune leaves it, which keeps all of the last day.
trash=$state/store/trash/$(date +%s)-prune
chmod u+w "$state/store/snaps"
mkdir "$trash"
for seq in 2 4 5 9 14; do
	mv "$state/store/snaps/$(printf %010d.gsn $seq)" "$trash" || exit 99
done
same_without 'log shows the same after a prune'
gives 0 'undelete is accepted' guard undelete 9
gives 0 'a snapshot after that is stored' guard snapshot -q
same_without 'log shows the same after undelete'
# A snapshot that comes back by other means has no item for a while.
many() {
	for i in $(seq 70); do
		echo "$1 $i" >dir/many
		guard snapshot -q || exit 99
	done >"$out"
}
many first
chmod u+w "$state/store" "$state/store/snaps"
rm "$cache"
guard snapshot -q >"$out"
chmod u+w "$state/store/snaps"
mv "$trash/0000000005.gsn" "$state/store/snaps" || exit 99
many second
same_without 'log shows the same after a file was put back'
for seq in 2 4 14; do
	guard undelete "$seq" >"$out" 2>"$err" || exit 99
done
for i in $(seq 8); do
	echo "more $i" >top
	guard run -q --name "more-$i" -- sh -c "echo more $i >dir/same"
	settle
	guard apply -q -y "more-$i"
done
guard snapshot -q >"$out"
same_without 'log shows the same after more snapshots'
chmod u+w "$state/store" "$cache"
printf x | dd of="$cache" bs=1 seek=100 conv=notrunc 2>"$T/meanwhile"
logs with
ok 'a damaged cache is not used' same "$T/without" "$T/with"
chmod u-w "$state/store"

finish
