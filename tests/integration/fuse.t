#!/bin/sh
# FUSE file systems of the user (bindfs, like sshfs or fuse2fs): a project on
# one, and one mounted in the project.
# needs: fuse
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

needs 'a FUSE file system' bindfs || finish
if [ ! -r /dev/fuse ]; then
	skip 'no /dev/fuse here'
	finish
fi
# A plain user mounts in a namespace.
if [ "$me" != root ] && [ -z "${INNER:-}" ]; then
	if INNER=1 unshare --map-current-user --keep-caps --mount true; then
		rm -rf "$T"
		INNER=1 exec unshare --map-current-user --keep-caps --mount \
			sh "$0"
	fi
	skip 'the plain user cannot mount here'
	finish
fi
mkdir -p "$HOME/real/folder" "$HOME/fuse" "$HOME/app/inner" "$HOME/other"
echo one >"$HOME/real/one"
echo two >"$HOME/real/folder/two"
echo far >"$HOME/other/far"
echo near >"$HOME/app/near"
# No other user may access it: not even root where it is the plain user's.
mounted() {
	bindfs -f "$1" "$2" &
	servers="${servers:-} $!"
	until grep -q " $2 .* fuse" /proc/self/mountinfo; do
		kill -0 $! || return 1
	done
}
mounted "$HOME/real" "$HOME/fuse" || exit 99
mounted "$HOME/other" "$HOME/app/inner" || exit 99
mounts_before=$(mounts)

# A renamed project is recognized by its birth time, which is not told here.
mkdir "$HOME/fuse/p" && cd "$HOME/fuse/p" || exit 99
guard run -q -- sh -c 'echo agent >f'
mv "$HOME/fuse/p" "$HOME/fuse/q" && cd "$HOME/fuse/q" || exit 99
gives 0 'a project that may have been renamed is not taken over' guard status
says "$err" "this directory may have been '$HOME/fuse/p'"
ok 'the printed command takes over its run' \
	sh -c "$(grep -o 'guard repair [^\`]*' "$err")"
gives 0 'the run is listed then' guard status
says "$out" 'echo agent'
cd "$HOME/fuse" && rm -r q || exit 99

# An encrypted directory: its files are readable in the store.
mkdir -p "$HOME/vault"
bindfs -f -o subtype=gocryptfs "$HOME/other" "$HOME/vault" &
vault=$!
until grep -q " $HOME/vault .* fuse.gocryptfs" /proc/self/mountinfo; do
	kill -0 $! || exit 99
done
mounts_before=$(mounts)
cd "$HOME/vault" || exit 99
gives 0 'a run in an encrypted directory ends with 0' guard run -- \
	sh -c 'echo x >>far'
says "$err" "'$HOME/vault' is encrypted (gocryptfs), and guard keeps unencrypted"
ok 'the printed command removes the copies' \
	sh -c "$(grep -o 'guard purge [^\`]*' "$err") --confirm '$HOME/vault'"
gives 0 'a second run there ends with 0' guard run -- true
silent "$err" 'is encrypted'
gives 0 'a snapshot there ends with 0' guard snapshot
mkdir sub && cd sub || exit 99
gives 0 'the first snapshot of a directory there ends with 0' guard snapshot .
says "$err" 'is encrypted (gocryptfs)'
cd .. && rmdir sub || exit 99
gives 0 'a run writes a file there' guard run -q --name plain -- \
	sh -c 'echo plain >secret'
lines=$(cat "$state"/workspaces/*/record | wc -l)
gives 0 'status there ends with 0' guard status -q
is "$(cat "$state"/workspaces/*/record | wc -l)" "$lines" \
	'a command there adds nothing to the record of the project'
settle
cd "$HOME" && umount "$HOME/vault" || exit 99
wait "$vault"
mounts_before=$(mounts)
cd "$HOME/vault" || exit 99
gives 1 'while it is closed, its run is not applied to what is below' \
	guard apply -y plain
says "$err" 'is another directory than the one in which run plain began'
is "$(ls)" '' 'no plain text is written'
guard discard -q -y plain
cd "$HOME/fuse" || exit 99

cat >"$T/work" <<'END'
set -e
[ "$(cat one folder/two)" = "$(printf 'one\ntwo')" ]
echo more >>one
echo new >new
rm folder/two
mv folder moved
END
cd "$HOME/fuse" || exit 99
# Times of this file system may have a resolution of one or two seconds: a run
# waits for the next tick.
echo edited >young
gives 0 'a run right after an edit ends with 0' guard run -q -- \
	sh -c 'echo by the run >>young'
gives 0 'diff accepts a run right after an edit' guard diff --name-status
is "$(cat "$out")" 'M	young' 'the edited file is changed by the run only'
gives 0 'apply right after an edit ends with 0' guard apply -q -y
silent "$err" conflict
rm -f young
gives 0 'a run on a FUSE file system ends with 0' \
	guard run --ro "$T/work" -- sh "$T/work"
is "$(cat one folder/two)" 'one
two' 'the run changes nothing on the FUSE file system'
gives 0 'diff accepts a run on a FUSE file system' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'D	folder D	folder/two M	one A	moved A	new ' \
	'are all listed'
gives 0 'apply accepts the FUSE file system' guard apply -q -y
is "$(cat one; ls)" 'one
more
moved
new
one' '... and writes the changes'
gives 0 'undo reverts the apply on a FUSE file system' guard undo -q -y
is "$(cat one folder/two; ls)" 'one
two
folder
one' 'the FUSE file system is as before'
gives 0 'snapshot of a FUSE file system is accepted' guard snapshot -q
rm folder/two
gives 0 'restore writes on a FUSE file system' guard restore -q -y folder/two
is "$(cat folder/two)" two '... and the file is back'
gives 0 'restore --to from a FUSE file system is accepted' \
	guard restore -q -y --to "$T/back" \
	folder/two
is "$(find "$T/back" -type f -exec cat {} +)" two 'restore --to writes the file'
gives 0 'discard drops the run on a FUSE file system' guard discard -q -y

cd "$HOME/app" || exit 99
gives 0 'a run around a FUSE mount ends with 0' guard run -- sh -c '
	cat inner/far near; echo changed >near; echo changed >inner/far
	echo new >inner/new'
says "$out" far
is "$(cat near inner/far)" 'near
far' 'a run around a FUSE mount changes nothing outside'
gives 0 'diff accepts a run around a FUSE mount' guard diff --name-status
says "$out" 'M	near'
says "$out" 'inner/far'
gives 0 'apply accepts a path beside the FUSE mount' guard apply -y near
is "$(cat near)" changed 'apply writes that path'
gives 0 'apply writes in the FUSE mount of a project' guard apply -q -y
is "$(cat inner/far inner/new)" 'changed
new' '... and the files are there'

# A destination of backups whose server is away: calls there do not return.
mkdir "$T/copies"
mounted "$HOME/real" "$T/copies" || exit 99
mounts_before=$(mounts)
nas=$!
echo 'a long passphrase' >"$T/pass"
destination 1 "$T/copies/mine"
gives 0 'a backup to a FUSE file system' \
	guard backup --every --passphrase-file "$T/pass" "$T/copies/mine"
touch -d '1 day ago' "$state/last-backup"
kill -STOP "$nas"
for command in 'run -q -- sh -c "echo x >new"' status 'apply -y'; do
	gives 0 "$command does not wait for it" \
		timeout -s KILL 60 sh -c "guard $command"
done
says "$err" "the destination '$T/copies/mine' does not answer"
kill -CONT "$nas"
settle
guard status >"$out"
silent "$out" 'snapshots have changed since'
cd /
settle
for at in "$HOME/fuse" "$HOME/app/inner" "$T/copies"; do
	umount "$at" || flunk "$at can be unmounted"
done
# shellcheck disable=SC2086 # a list
wait ${servers:-}
mounts_before=$(mounts)
finish
