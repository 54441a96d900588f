#!/bin/sh
# A plain user's files with a group that the user is not in: each command works
# in a run as it does outside, and apply keeps the group where it can.
# needs: team
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# /srv/web gives its group to the entries that are created in it.
if [ "$(stat -c %g /srv/web)" = "$(id -g)" ]; then
	skip 'only root can make a directory of another group'
	finish
fi

# shared NAME: a project below /srv/web whose entries have that group. Without
# $setgid its directories do not pass the group on.
shared() {
	mkdir "/srv/web/$1"
	cd "/srv/web/$1" || exit 99
	mkdir -p src/deep tools locked
	for name in a b c d e f g h; do
		echo "$name" >"src/$name"
	done
	echo deep >src/deep/file
	echo read >locked/only
	chmod 444 locked/only
	ln -s ../src/a tools/link
	git init -q .
	git config user.name tester
	git config user.email t@example.org
	git add .
	git commit -q -m first
	[ -n "${setgid:-}" ] || {
		chmod 555 locked
		find . -type d -exec chmod g-s {} +
	}
}
groups_of() {
	stat -c '%G %a %n' "$@" 2>&1
}
entries() {
	find . -name .git -prune -o -type d -printf '%P %y %m\n' \
		-o -printf '%P %y %m %s %l\n' | LC_ALL=C sort
}

# --- the kinds of access ---
cat >"$T/each" <<'END'
try() {
	sh -c "$1" >/dev/null 2>&1
	echo "$? $1"
}
try 'echo more >>src/a'
try 'sed -i s/b/B/ src/b'
try 'chmod 600 src/c'
try 'mv src/d src/moved'
try 'ln src/e src/hard'
try 'truncate -s 1 src/f'
try 'touch -d @1000000000 src/g'
try 'cp src/a src/h'
try 'mv tools/link tools/other'
try 'mkdir src/deep/er && echo new >src/deep/er/new'
try 'mv src/deep deeper'
try 'echo more >>locked/only'
try 'echo new >locked/new'
try 'chmod u+w locked locked/only && echo more >>locked/only'
try 'rm -r tools && mkdir tools && echo new >tools/new'
try 'git add . && git commit -q -m second && git gc -q'
END
shared native
sh "$T/each" >"$T/native"
entries >"$T/native-entries"
shared project
gives 0 'explain accepts a file of another group' guard explain src/a
says "$out" 'it has group 1003, which you are not in'
gives 0 'doctor accepts a directory of another group' guard doctor
says "$out" 'of groups that you are not in: what a run writes gets your group'
says "$out" "chgrp -R $(id -g) ."
gives 0 'a run in a project of another group ends with 0' \
	guard run --ro "$T/each" -- sh "$T/each"
ok 'each command ends in the run as it does outside' diff "$T/native" "$out"
silent "$err" 'of other groups'
run=$(guard status -q)
gives 0 'diff accepts a project of another group' guard diff "$run"
says "$out" "  P  src/  group 1003 -> $(id -g) of 5 entries"
is "$(grep -c 'src/.*group 1003' "$out")" 1 \
	'diff names the group once for each directory'
says "$out" '  P  src/c  file  mode 0644 -> 0600'
gives 0 'apply accepts a project of another group' \
	guard apply --yes-to all -y "$run"
says "$err" 'of groups that you are not in: new files, which get another group'
entries >"$T/entries"
ok 'apply makes the tree that the commands make outside' \
	diff "$T/native-entries" "$T/entries"
is "$(groups_of src/a src/c src)" "tester 644 src/a
web 600 src/c
web 755 src" 'what apply does not write keeps its group'
gives 0 'undo reverts the apply' guard undo -y
is "$(cat src/a src/c src/d src/deep/file locked/only | tr '\n' ' ')" \
	'a c d deep read ' 'undo restores the files'
gives 0 'restore accepts files that cannot get their group back' \
	guard restore -y --at 1 .
silent "$out$err" 'with other permissions'
gives 0 'apply accepts one path of the run' guard apply -y "$run" src/b
is "$(cat src/b)" B 'apply writes the path'
gives 0 'discard accepts one path of the run' guard discard -y "$run" src/f
gives 0 'a run is continued in a project of another group' \
	guard run "--continue=$run" -- sh -c 'cat src/f && echo again >>src/f'
is "$(cat "$out")" f 'the discarded path is as before'
guard discard -q -y "$run"
gives 0 'a run in a frozen copy of the project ends with 0' \
	guard run --frozen -- sh -c 'echo more >>src/a; chmod 700 src/c'
gives 0 'diff accepts that run' guard diff
silent "$out" 'CHANGED HERE'
guard discard -q -y

# --- directories that pass their group on ---
setgid=1
shared inherited
setgid=
gives 0 'a run in directories that pass a group on ends with 0' \
	guard run --ro "$T/each" -- sh "$T/each"
gives 0 'diff accepts directories that pass a group on' guard diff
silent "$out" 'group 1003'
gives 0 'apply accepts directories that pass a group on' \
	guard apply --yes-to all -y
silent "$err" 'of groups that you are not in'
is "$(find . -path ./.git -prune -o ! -group web -print)" '' \
	'apply keeps the group in directories that pass it on'
guard undo -q -y
is "$(find . -path ./.git -prune -o ! -group web -print)" '' \
	'undo keeps the group in directories that pass it on'
guard discard -q -y

# --- more than a run copies ---
mkdir /srv/web/many
cd /srv/web/many || exit 99
seq 2100 | xargs touch
chmod 444 ./*
echo one >written
gives 0 'a run with many read-only files of another group ends with 0' \
	guard run -- sh -c 'echo more >>written'
says "$err" "'/srv/web/many': 52 entries of other groups or users cannot be"
says "$err" "chgrp -R $(id -g) '/srv/web/many'"
guard discard -q -y
chgrp -R "$(id -g)" .
settle
gives 0 'a run after chgrp ends with 0' guard run -- sh -c 'echo more >>written'
silent "$err" 'of other groups'

# --- files of another user ---
mkdir "$HOME/own"
cd "$HOME/own" || exit 99
mv /srv/team/notes .
gives 0 'a file of another user can be replaced' guard run -- \
	sh -c 'echo new >new; mv -f new notes; cat notes'
is "$(cat "$out")" new 'the run sees the new file'
gives 0 'apply accepts a replaced file of another user' guard apply -y
is "$(stat -c %U notes)" tester 'the user owns the new file'
finish
