#!/bin/sh
# snapshot, log, ls, show, restore: every file comes back byte for byte.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

manifest "$HOME/project" >"$T/before"
gives 0 'snapshot accepts a message' guard snapshot -m 'first of all'
gives 0 'log lists the snapshot' guard log
says "$out" 'first of all'
gives 0 'ls lists the latest snapshot' guard ls latest
says "$out" 'README.md'
says "$out" '.git'
says "$out" '.env'
says "$out" 'debug.log'
gives 0 'ls lists a directory' guard ls latest src
says "$out" 'f19.c'
is "$(guard show --list latest:src)" "$(guard ls latest src)" \
	'show --list takes SNAP:PATH, too'
gives 0 'show prints a binary file' guard show latest:data/blob.bin
ok 'show prints exactly the stored bytes' cmp "$out" data/blob.bin
gives 0 'show accepts an ignored file' guard show latest:.env
is "$(cat "$out")" SECRET=1 'show prints the content of an ignored file'
today=$(date +%Y-%m-%d)
gives 0 'ls accepts a day' guard ls "$today" src
says "$out" 'f19.c'
gives 0 'show accepts a day' guard show "$today:.env"
is "$(cat "$out")" SECRET=1 'show of a day prints the content of that day'
gives 1 'ls of a day before the first snapshot is refused' guard ls 2001-02-03
says "$err" 'no version as old as'
gives 2 'ls of a date that does not exist is refused' guard ls 2026-02-30
says "$err" 'invalid time'
taken=$(guard log --json | sed -n 's/.*"time": "\(.*\)".*/\1/p')
gives 0 'show accepts a time as log --json prints it' guard show "$taken:.env"
is "$(cat "$out")" SECRET=1 'show of a time prints the content of that time'
gives 0 'show of a path prints the latest version' guard show src/f19.c
says "$out" 'return 19;'
gives 2 'ls of a path without a snapshot is refused' guard ls src
says "$err" "'latest:src'"
gives 1 'show of a missing path is refused' guard show latest:no/such
gives 1 'show of a missing snapshot is refused' guard show 999:README.md
says "$err" 'no such snapshot: 999; `guard log --all` lists all snapshots'
gives 1 'restore from a missing snapshot is refused' \
	guard restore --at 999 README.md
says "$err" 'no such snapshot: 999; `guard log --all` lists all snapshots'

# --- one file ---
echo broken >README.md
gives 0 'restore --dry-run is accepted' guard restore --dry-run README.md
is "$(cat README.md)" broken 'restore --dry-run changes no file'
gives 0 'restore accepts one file' guard restore -y README.md
manifest "$HOME/project" >"$T/after"
ok 'restore brings back content and metadata of the file' \
	restored "$T/before" "$T/after"
gives 0 'restore stores the replaced content first' guard log README.md
echo 'written later' >later.txt
rm -rf src
gives 0 'restore accepts a directory' guard restore -y src
manifest "$HOME/project" >"$T/after"
ok 'restore brings back the directory' contained "$T/before" "$T/after"
rm src/f3-again.c
ok 'restore accepts one of two hard links' guard restore -y src/f3-again.c
ok 'the restored hard link has its content' cmp src/f3.c src/f3-again.c
ok 'the restored file is a hard link again' test src/f3.c -ef src/f3-again.c
is "$(cat later.txt)" 'written later' \
	'restore of a directory changes no other file'
rm later.txt

# --- files that could not be read ---
if [ "$me" != root ]; then
	mkdir -p shut/in open
	echo one >shut/in/f
	echo one >open/f
	echo two >open/g
	guard snapshot -q >/dev/null
	chmod 000 open/f shut/in
	gives 0 'snapshot accepts unreadable files' guard snapshot
	says "$err" "incomplete: 'open/f'"
	number=$(cat "$out")
	chmod 700 shut/in
	rm -rf open shut
	gives 0 'restore accepts a file that the last snapshot could not read' \
		guard restore -y open/f
	is "$(cat open/f)" one \
		'restore takes the file from the last snapshot that could read it'
	rm -rf open
	gives 0 'restore accepts a snapshot with unread files' \
		guard restore -y --at "$number" .
	says "$err" "'open/f' is skipped"
	says "$err" "this snapshot has only a part of 'shut/in'"
	is "$(cat open/g)" two 'restore brings back the readable files'
	no 'restore creates no empty file in place of an unread one' \
		test -e open/f
	ok 'restore keeps a directory whose entries were not read' \
		test -d shut/in
	gives 0 'restore --to accepts a snapshot with unread files' \
		guard restore -y --at "$number" --to "$HOME/aside" open
	is "$(cat "$HOME/aside/open/g")" two \
		'restore --to brings back the readable files'
	echo mine >open/f
	gives 0 'restore of a directory with an unread file is accepted' \
		guard restore -y --at "$number" open
	is "$(cat open/f)" mine \
		'restore keeps the existing file in place of an unread one'
	gives 1 'restore of an unread file by name is refused' \
		guard restore -y --at "$number" open/f
	is "$(cat open/f)" mine 'a refused restore keeps the existing file'
	chmod -R u+rwx "$HOME/aside" open shut
	rm -rf "$HOME/aside" open shut
fi

# --- restore to another directory ---
gives 0 'restore --to accepts one file' \
	guard restore --to "$HOME/aside" -y src/f4.c
ok 'restore --to writes the file into the directory' \
	cmp "$HOME/aside/f4.c" src/f4.c
is "$(stat -c '%a %y' "$HOME/aside/f4.c")" "$(stat -c '%a %y' src/f4.c)" \
	'restore --to sets mode and mtime'
is "$(ls -A "$HOME/aside")" f4.c \
	'restore --to leaves no other entry in the directory'
gives 1 'restore --to an existing file is refused' \
	guard restore --to "$HOME/aside" -y src/f4.c
says "$err" 'already exists'
gives 0 'restore --to accepts several files' \
	guard restore --to "$HOME/aside" -y src/f3.c src/f2.c
ok 'restore --to writes all of the files' cmp "$HOME/aside/f2.c" src/f2.c
rm -rf "$HOME/aside"

# --- the replaced content is stored first ---
echo precious >README.md
gives 0 'restore over an edit is accepted' guard restore -y --at 1 README.md
ok 'restore replaces the edited file' grep -q '# Project' README.md
gives 0 'undo reverts the restore' guard undo -y
is "$(cat README.md)" precious 'undo brings back the edit'
git show HEAD:README.md >README.md
ok 'restore --at 1 is accepted again' guard restore -y --at 1 README.md

# --- restore does not follow a symbolic link ---
mkdir "$HOME/elsewhere"
echo mine >"$HOME/elsewhere/f0.c"
rm -rf src
ln -s "$HOME/elsewhere" src
guard restore -y --at 1 src >"$out" 2>"$err" </dev/null
is "$(cat "$HOME/elsewhere/f0.c")" mine \
	'restore writes nothing through a symbolic link'
rm -rf src "$HOME/elsewhere"
gives 0 'restore accepts the deleted directory' guard restore -y --at 1 src
manifest "$HOME/project" >"$T/after"
ok 'restore brings back the whole directory' contained "$T/before" "$T/after"

# --- the whole project is deleted; restore by path from another directory ---
cd / || exit 99
must_be_inside
rm -rf "$HOME/project"
gives 0 'restore accepts the path of a deleted project' \
	guard restore -y --at 1 "$HOME/project"
manifest "$HOME/project" >"$T/after"
ok 'restore brings back every byte, mtime, mode, link and xattr' \
	restored "$T/before" "$T/after"
ok 'git fsck accepts the restored repository' \
	git -C "$HOME/project" fsck --strict

# --- two files with the same XXH3-128 hash ---
pair=${0%/*}/../data/collision
cp "$pair/original" "$pair/forged" "$HOME/project/"
gives 0 'snapshot accepts two files with the same XXH3-128 hash' \
	guard -C "$HOME/project" snapshot
rm "$HOME/project/original" "$HOME/project/forged"
cd "$HOME/project" || exit 99
gives 0 'restore accepts both files' guard restore -y original forged
ok "restore brings back the first file's content" cmp "$pair/original" original
ok "restore brings back the second file's content" cmp "$pair/forged" forged

# --- a directory so large that its tree is stored in parts ---
mkdir many
seq -f 'many/%05g.txt' 5000 | xargs touch
echo one >many/00777.txt
many=$(guard snapshot -q)
echo two >many/00777.txt
rm many/04000.txt
changed=$(guard snapshot -q)
gives 0 'diff accepts two snapshots of a large directory' \
	guard diff --name-status "$many" "$changed"
is "$(tr '\t' ' ' <"$out")" "D many/04000.txt
M many/00777.txt" 'diff lists the changed entries of a large directory'
is "$(guard show "$many:many/00777.txt")" one \
	'show finds a file in a large directory'
is "$(guard ls "$many" many | wc -l)" 5000 \
	'ls lists all entries of a large directory'
rm -r many
gives 0 'restore accepts a large directory' guard restore -y --at "$many" many
is "$(find many -type f | wc -l)" 5000 \
	'restore brings back every file of a large directory'
is "$(cat many/00777.txt)" one 'restore brings back the content of a file in it'
rm -r many

# --- snapshot names unreadable files ---
if [ "$me" != root ]; then
	echo x >unreadable
	chmod 000 unreadable
	guard snapshot >"$out" 2>"$err"
	says "$err" unreadable
	chmod 600 unreadable
	rm unreadable
fi
# --- the store survives the deletion of the home's entries ---
if [ "$me" != root ]; then
	cd / || exit 99
	must_be_inside
	rm -rf "${HOME:?}"/* "${HOME:?}"/.[!.]* 2>/dev/null
	no 'the home is empty' test -e "$HOME/documents"
	gives 0 'restore finds the store in the emptied home' \
		guard restore -y --at 1 "$HOME/project"
	manifest "$HOME/project" >"$T/after"
	ok 'restore brings back the project in an emptied home' \
		restored "$T/before" "$T/after"
fi
# --- several snapshots at once ---
mkdir "$HOME/busy"
cd "$HOME/busy" || exit 99
echo f >f
for n in 1 2 3 4; do
	guard snapshot -m "at once $n" >"$T/snap.$n" 2>&1 &
	eval "snap$n=$!"
done
for n in 1 2 3 4; do
	eval "wait \$snap$n"
	is $? 0 "snapshot $n of four at once is accepted"
done
is "$(cat "$T"/snap.? | grep -v guard | sort -u | wc -l)" 4 \
	'each of four snapshots at once has its own number'

finish
