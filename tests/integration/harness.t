#!/bin/sh
# The throw-away root: a test cannot change anything of the machine. And the
# checks of tests/lib/tap.sh.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

lib=${0%/*}/../lib

ok 'the test is in a throw-away root' inside
no 'a root without the variable of the harness is refused' \
	env -u GUARD_TEST_ROOT sh -c ". $lib/tap.sh"
no "the machine's own root is refused" \
	env GUARD_TEST_OUTSIDE="x $(stat -c %d:%i /)" sh -c ". $lib/tap.sh"
no "the machine's own mount namespace is refused" \
	env GUARD_TEST_OUTSIDE="$(readlink /proc/self/ns/mnt) 0:0" \
	sh -c ". $lib/tap.sh"
for dir in /usr /etc /usr/bin /opt/guard; do
	no "a file cannot be created in $dir" touch "$dir/x"
done
no "the machine's homes are not visible" \
	sh -c 'ls -A /home | grep -v "^tester$"'
is "$(ls /root 2>/dev/null)" '' "the machine's /root is not visible"
ok 'processes of the machine are not visible' \
	sh -c '[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 8 ]'
make_home
manifest "$HOME" >"$T/one"
manifest "$HOME" >"$T/two"
ok 'two manifests of the same home are equal' same "$T/one" "$T/two"
echo x >>"$HOME/project/src/f9.c"
manifest "$HOME" >"$T/two"
no 'a manifest contains the content of files' same "$T/one" "$T/two"
no 'a changed byte is a loss' contained "$T/one" "$T/two"
manifest "$HOME" >"$T/one"
chmod 600 "$HOME/project/src/f9.c"
manifest "$HOME" >"$T/two"
no 'a manifest contains modes' same "$T/one" "$T/two"
manifest "$HOME" >"$T/one"
touch -h -d 2003-01-01 "$HOME/project/docs/link"
manifest "$HOME" >"$T/two"
no 'a manifest contains the mtime of symbolic links' same "$T/one" "$T/two"
manifest "$HOME" >"$T/one"
setfattr -n user.colour -v blue "$HOME/project/notes.txt"
manifest "$HOME" >"$T/two"
no 'a manifest contains extended attributes' same "$T/one" "$T/two"
manifest "$HOME" >"$T/one"
: >"$HOME/project/new"
manifest "$HOME" >"$T/two"
ok 'a new file is no loss' contained "$T/one" "$T/two"

# --- mounts that a test leaves ---
now=$mounts_before
mounts_before=$(printf '%s\n' "$now" | grep -v ' /small$')
is "$(changed_mounts)" "left: $(printf '%s\n' "$now" | grep ' /small$')" \
	'a new mount is left'
mounts_before="$now
998 0:99 /etc/group
999 0:99 /small/inner"
is "$(changed_mounts)" 'gone: 999 0:99 /small/inner' \
	"only a mount in the machine's directories may go"
mounts_before=$now

# --- a failed check prints its file and line ---
cat >"$T/failing" <<'END'
. /opt/guard/tests/lib/tap.sh
is a b 'line 2'
nested() {
	for word in one two; do
		no 'line 5' true
	done
	: 'a text of two
	lines' && says "$out" 'line 8'
}
nested
(exit 3)
is $? 3 'the status before a check is kept'
ok 'line 13' test \
	-e /nowhere
false || if :; then gives 1 'line 15' true; fi
END
sh "$T/failing" >"$T/failed"
sed -n "s/^not ok [0-9]* - .*line /$(echo "$T/failing:" | sed 's|/|\\/|g')/p" \
	"$T/failed" >"$T/wanted.lines"
sed -n 's/^# at //p' "$T/failed" >"$T/at.lines"
is "$(grep -c . "$T/at.lines")" 6 'every failed check prints a line'
is "$(cat "$T/at.lines")" "$(cat "$T/wanted.lines")" \
	'the line of a check is right in functions, loops and lists'
ok 'the status before a check can be an argument of it' \
	grep -q '^ok .*the status before a check is kept$' "$T/failed"
finish
