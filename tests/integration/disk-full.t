#!/bin/sh
# A run that fills the disk of 200 MB on which the project and guard's state
# lie, by bytes that do not shrink: what it did is still applied, stored and
# dropped.
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

# --- as far as a run may go by itself ---
# Not so fast that there is no room for the same twice more where guard has to
# wait for its turn.
cat >"$T/fill" <<'END'
echo theirs >mine
echo new >new
while :; do head -c 300000 /dev/urandom || exit; done >big
END
gives 124 'a run that fills the disk is ended' \
	guard run --ro "$T/fill" -- sh "$T/fill"
says "$err" '--layer-size lets it have more'
note "$(free) KB free"
gives 0 'its layer is whole' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	mine A	big A	new ' 'all of it is listed'
gives 0 'it is applied' guard apply -q -y
is "$(cat mine new)" 'theirs
new' 'it is there'
ok 'whole' test "$(stat -c %s big)" -gt 10000000
gives 0 'stored' guard snapshot -q
gives 0 'taken back' guard undo -q -y
is "$(cat mine; ls)" 'mine
mine' 'as before'
gives 0 'and dropped' guard discard -q -y
note "$(free) KB free"

# --- further, because the user said so ---
gives 0 'what was dropped' guard prune -n --trash
says "$err" 'of runs'
no 'is asked about' guard prune --trash
gives 0 'goes' guard prune -y --trash
says "$err" 'gone'
gives 1 'and cannot be brought back' guard undo -y
gives 1 'a run that fills the disk to its end' \
	guard run --layer-size 1G --ro "$T/fill" -- sh "$T/fill"
says "$err" 'No space left on device'
says "$err" 'guard prune --trash frees what was dropped'
ok 'there is no room left' test "$(free)" -lt 6000
gives 0 'its layer is whole too' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	mine A	big A	new ' 'with all of it'
gives 0 'a version is stored' guard snapshot -q
gives 1 'what has no room twice is not applied' guard apply -y
says "$err" 'No space left on device'
is "$(cat mine; ls)" 'mine
mine' 'and nothing is half done'
gives 0 'what is named and has room is' guard apply -q -y mine new
is "$(cat mine new)" 'theirs
new' 'and nothing else'
gives 0 'and taken back' guard undo -q -y
is "$(cat mine; ls)" 'mine
mine' 'as before'
gives 0 'without it' guard discard -q -y big
gives 0 'the rest is' guard apply -q -y
is "$(cat mine new)" 'theirs
new' 'it is there'
gives 0 'taken back' guard undo -q -y
gives 0 'and dropped' guard discard -q -y
gives 0 'then there is room again' guard prune -q -y --trash
ok 'nearly all of it' test "$(free)" -gt 100000
gives 0 'a run' guard run -q -- touch made
gives 0 'all is well' guard apply -q -y
gives 0 'one that is dropped' guard run -q -- touch other
gives 0 'by a discard' guard discard -q -y
gives 0 'for good' guard prune -q -y --trash
gives 1 'cannot come back' guard undo -q -y
says "$err" 'cannot be taken back'
gives 0 'but what was done before can be taken back' guard undo -q -y
no 'it is' test -e made
gives 2 'the trash and the caches' guard prune --trash --caches
gives 0 'in JSON' guard prune --trash -y --json
says "$out" '"done": true'
finish
