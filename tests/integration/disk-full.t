#!/bin/sh
# A run that fills a disk of 200 MB, on which project and guard's state are,
# with incompressible data: its changes can be applied, stored and discarded.
# needs: images
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

has_image room || finish
base=/images/room/$me
state=$base/state
GUARD_HOME=$state
export GUARD_HOME
mkdir -p "$base/project"
cd "$base/project" || exit 99
echo mine >mine
free() {
	df --output=avail -B 1000 . | tail -n 1
}
note "$(free) KB free"

# --- up to guard's own limit ---
# fill SECONDS: waits after each 300 KB.
cat >"$T/fill" <<'END'
echo theirs >mine
echo new >new
while :; do head -c 300000 /dev/urandom && sleep "$1" || exit; done >big
END
# Slow enough that space for two more copies is left where guard has to wait for
# the processor.
gives 124 'guard ends a run that fills the disk' \
	guard run --ro "$T/fill" -- sh "$T/fill" 0.05
says "$err" '--layer-size sets another limit'
note "$(free) KB free"
gives 0 'diff accepts the ended run' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	mine A	big A	new ' \
	'diff lists all changes of the ended run'
gives 0 'apply accepts the ended run' guard apply -q -y
is "$(cat mine new)" 'theirs
new' 'it is there'
ok 'apply writes the large file' test "$(stat -c %s big)" -gt 10000000
gives 0 'snapshot works after that apply' guard snapshot -q
gives 0 'undo reverts that apply' guard undo -q -y
is "$(cat mine; ls)" 'mine
mine' 'as before'
gives 0 'discard drops the ended run' guard discard -q -y
note "$(free) KB free"

# --- up to the end of the disk, as the user demands ---
gives 0 'prune -n --trash lists the run' guard prune -n --trash
says "$err" 'of runs'
no 'prune --trash without --yes is refused' guard prune --trash
gives 0 'prune -y --trash empties the trash' guard prune -y --trash
says "$err" 'removed'
gives 1 'undo of a discard is refused after that' guard undo -y
gives 1 'a run fills the disk completely' \
	guard run --layer-size 1G --ro "$T/fill" -- sh "$T/fill" 0
says "$err" 'No space left on device'
says "$err" 'guard prune --trash empties the trash'
ok 'the disk has less than 6 MB left' test "$(free)" -lt 6000
gives 0 'diff accepts the run that filled the disk' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	mine A	big A	new ' \
	'diff lists all changes of that run'
gives 0 'snapshot works on the full disk' guard snapshot -q
gives 1 'apply without space for a second copy is refused' guard apply -y
says "$err" 'No space left on device'
is "$(cat mine; ls)" 'mine
mine' 'and nothing is half done'
gives 0 'apply of small files is accepted' guard apply -q -y mine new
is "$(cat mine new)" 'theirs
new' 'and nothing else'
gives 0 'undo reverts the small files' guard undo -q -y
is "$(cat mine; ls)" 'mine
mine' 'as before'
gives 0 'discard of the large file is accepted' guard discard -q -y big
gives 0 'apply of the rest is accepted' guard apply -q -y
is "$(cat mine new)" 'theirs
new' 'it is there'
gives 0 'undo reverts the rest' guard undo -q -y
gives 0 'discard drops the rest' guard discard -q -y
gives 0 'prune -y --trash frees the space' guard prune -q -y --trash
ok 'more than 100 MB are free' test "$(free)" -gt 100000
gives 0 'a run works after that' guard run -q -- touch made
gives 0 'apply works after that' guard apply -q -y
gives 0 'a further run works' guard run -q -- touch other
gives 0 'discard drops the further run' guard discard -q -y
gives 0 'prune -y --trash empties the trash again' guard prune -q -y --trash
gives 1 'undo of that discard is refused' guard undo -q -y
says "$err" 'cannot be undone'
gives 0 'undo -y reverts the action before it' guard undo -q -y
no 'undo deletes the file' test -e made
gives 2 'prune --trash with --caches is refused' guard prune --trash --caches
gives 0 'prune --trash --json is accepted' guard prune --trash -y --json
says "$out" '"done": true'

# --- a disk that is too small for a large reserve ---
[ "$me" = root ] || finish
GUARD_HOME=$T/small/state
state=$GUARD_HOME
mkdir "$T/small"
mount -t tmpfs -o size=8m none "$T/small"
ok 'a run ends there' guard run -q -- touch made
gives 124 'another fills it' \
	guard run -q --ro "$T/fill" -- sh "$T/fill" 0.1
head -c 9000000 /dev/zero >"$T/small/rest" 2>/dev/null
is "$(df --output=avail "$T/small" | tail -n 1 | tr -d ' ')" 0 'it is full'
for run in $(guard status -q); do
	gives 0 'discard drops a run' guard discard -q -y "$run"
done
is "$(guard status -q)" '' 'no run is left'
rm "$T/small/rest"
gives 0 'undo restores one' guard undo -q -y
no 'which is pending again' test -z "$(guard status -q)"
umount "$T/small"
finish
