#!/bin/sh
# snapshot, log, ls, show, restore: any file back, byte for byte.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

manifest "$HOME/project" >"$T/before"
gives 0 'a snapshot' guard snapshot -m 'first of all'
gives 0 'log' guard log
says "$out" 'first of all'
gives 0 'ls' guard ls latest
says "$out" 'README.md'
says "$out" '.git'
says "$out" '.env'
says "$out" 'debug.log'
gives 0 'ls of a folder' guard ls latest src
says "$out" 'f19.c'
gives 0 'show' guard show latest:data/blob.bin
ok 'gives the bytes' cmp "$out" data/blob.bin
gives 0 'show of an ignored file' guard show latest:.env
is "$(cat "$out")" SECRET=1 'gives it'
today=$(date +%Y-%m-%d)
gives 0 'ls of a day' guard ls "$today" src
says "$out" 'f19.c'
gives 0 'show of a day' guard show "$today:.env"
is "$(cat "$out")" SECRET=1 'gives it'
gives 1 'ls of a day before all' guard ls 2001-02-03
says "$err" 'no version as old as'
gives 1 'ls of a day that no month has' guard ls 2026-02-30
says "$err" 'no point in time'
taken=$(guard log --json | sed -n 's/.*"time": "\(.*\)".*/\1/p')
gives 0 'show of a time as JSON has it' guard show "$taken:.env"
is "$(cat "$out")" SECRET=1 'gives it'
gives 1 'show of a path alone' guard show src/f19.c
says "$err" "of which snapshot? The last one: 'latest:src/f19.c'"
gives 1 'ls of one' guard ls src
says "$err" "'latest:src'"
gives 1 'show of what is not there' guard show latest:no/such
gives 1 'show of a snapshot that is not there' guard show 999:README.md
says "$err" 'there is no snapshot 999: `guard log --all` lists them'
gives 1 'restore from one' guard restore --at 999 README.md
says "$err" 'there is no snapshot 999: `guard log --all` lists them'

# --- one file ---
echo broken >README.md
gives 0 'dry-run' guard restore --dry-run README.md
is "$(cat README.md)" broken 'changes nothing'
gives 0 'a file' guard restore -y README.md
manifest "$HOME/project" >"$T/after"
ok 'is back with all that belongs to it' same "$T/before" "$T/after"
gives 0 'what was broken is stored too' guard log README.md
echo 'written later' >later.txt
rm -rf src
gives 0 'a folder' guard restore -y src
manifest "$HOME/project" >"$T/after"
ok 'is back' contained "$T/before" "$T/after"
rm src/f3-again.c
ok 'one of two hard links' guard restore -y src/f3-again.c
ok 'has its bytes' cmp src/f3.c src/f3-again.c
ok 'is a link again' test src/f3.c -ef src/f3-again.c
is "$(cat later.txt)" 'written later' 'and nothing else was touched'
rm later.txt

# --- what could not be read ---
if [ "$me" != root ]; then
	mkdir -p shut/in open
	echo one >shut/in/f
	echo one >open/f
	echo two >open/g
	guard snapshot -q >/dev/null
	chmod 000 open/f shut/in
	gives 0 'a snapshot of what cannot be read' guard snapshot
	says "$err" "incomplete: 'open/f'"
	number=$(cat "$out")
	chmod 700 shut/in
	rm -rf open shut
	gives 0 'a file that was not read the last time' \
		guard restore -y open/f
	is "$(cat open/f)" one 'comes from the last time that it was'
	rm -rf open
	gives 0 'all of a snapshot that has such files' \
		guard restore -y --at "$number" .
	says "$err" "'open/f' is left out"
	says "$err" "not all of 'shut/in' is in this snapshot"
	is "$(cat open/g)" two 'brings the others back'
	no 'and no empty one' test -e open/f
	ok 'nor loses the folder' test -d shut/in
	gives 0 'the same elsewhere' \
		guard restore -y --at "$number" --to "$HOME/aside" open
	is "$(cat "$HOME/aside/open/g")" two 'brings them back too'
	echo mine >open/f
	gives 0 'over a newer file' guard restore -y --at "$number" open
	is "$(cat open/f)" mine 'leaves it alone'
	gives 1 'such a file by its name' \
		guard restore -y --at "$number" open/f
	is "$(cat open/f)" mine 'is refused'
	chmod -R u+rwx "$HOME/aside" open shut
	rm -rf "$HOME/aside" open shut
fi

# --- elsewhere ---
gives 0 'restore --to' guard restore --to "$HOME/aside" -y src/f4.c
ok 'puts it there' cmp "$HOME/aside/f4.c" src/f4.c
is "$(stat -c '%a %y' "$HOME/aside/f4.c")" "$(stat -c '%a %y' src/f4.c)" \
	'with mode and time'
is "$(ls -A "$HOME/aside")" f4.c 'and nothing else'
gives 1 'once more' guard restore --to "$HOME/aside" -y src/f4.c
says "$err" 'is there already'
gives 0 'a second one' guard restore --to "$HOME/aside" -y src/f3.c src/f2.c
ok 'as a transaction' cmp "$HOME/aside/f2.c" src/f2.c
rm -rf "$HOME/aside"

# --- what was there is stored first ---
echo precious >README.md
gives 0 'restore over an edit' guard restore -y --at 1 README.md
ok 'is done' grep -q '# Project' README.md
gives 0 'undo' guard undo -y
is "$(cat README.md)" precious 'brings the edit back'
git show HEAD:README.md >README.md
ok 'as in the first snapshot' guard restore -y --at 1 README.md

# --- a link is not followed ---
mkdir "$HOME/elsewhere"
echo mine >"$HOME/elsewhere/f0.c"
rm -rf src
ln -s "$HOME/elsewhere" src
guard restore -y --at 1 src >"$out" 2>"$err" </dev/null
is "$(cat "$HOME/elsewhere/f0.c")" mine 'nothing is written through a link'
rm -rf src "$HOME/elsewhere"
gives 0 'the folder again' guard restore -y --at 1 src
manifest "$HOME/project" >"$T/after"
ok 'all is there' contained "$T/before" "$T/after"

# --- the whole project gone, from another folder, by path ---
cd / || exit 99
must_be_inside
rm -rf "$HOME/project"
gives 0 'the project from nothing' guard restore -y --at 1 "$HOME/project"
manifest "$HOME/project" >"$T/after"
ok 'every byte, time, mode, link and xattr is back' same "$T/before" "$T/after"
ok 'git agrees' git -C "$HOME/project" fsck --strict

# --- forged pair of XXH3-128 ---
pair=${0%/*}/../data/collision
cp "$pair/original" "$pair/forged" "$HOME/project/"
gives 0 'snapshot of two files with one public hash' \
	guard -C "$HOME/project" snapshot
rm "$HOME/project/original" "$HOME/project/forged"
cd "$HOME/project" || exit 99
gives 0 'restore of both' guard restore -y original forged
ok 'the first is itself' cmp "$pair/original" original
ok 'the second too' cmp "$pair/forged" forged

# --- a huge folder, whose tree is stored in parts ---
mkdir many
seq -f 'many/%05g.txt' 5000 | xargs touch
echo one >many/00777.txt
many=$(guard snapshot -q)
echo two >many/00777.txt
rm many/04000.txt
changed=$(guard snapshot -q)
gives 0 'two versions of it' guard diff --name-status "$many" "$changed"
is "$(tr '\t' ' ' <"$out")" "D many/04000.txt
M many/00777.txt" 'differ in what changed'
is "$(guard show "$many:many/00777.txt")" one 'a file in it is found'
is "$(guard ls "$many" many | wc -l)" 5000 'all are listed'
rm -r many
gives 0 'it comes back' guard restore -y --at "$many" many
is "$(find many -type f | wc -l)" 5000 'with every file'
is "$(cat many/00777.txt)" one 'and its bytes'
rm -r many

# --- what cannot be read is named ---
if [ "$me" != root ]; then
	echo x >unreadable
	chmod 000 unreadable
	guard snapshot >"$out" 2>"$err"
	says "$err" unreadable
	chmod 600 unreadable
	rm unreadable
fi
# --- the store survives the wiping of a home ---
if [ "$me" != root ]; then
	cd / || exit 99
	must_be_inside
	rm -rf "${HOME:?}"/* "${HOME:?}"/.[!.]* 2>/dev/null
	no 'the home is wiped' test -e "$HOME/documents"
	gives 0 'the project from the store in the wiped home' \
		guard restore -y --at 1 "$HOME/project"
	manifest "$HOME/project" >"$T/after"
	ok 'every byte is back' same "$T/before" "$T/after"
fi
# --- several at the same time ---
mkdir "$HOME/busy"
cd "$HOME/busy" || exit 99
echo f >f
for n in 1 2 3 4; do
	guard snapshot -m "at once $n" >"$T/snap.$n" 2>&1 &
	eval "snap$n=$!"
done
for n in 1 2 3 4; do
	eval "wait \$snap$n"
	is $? 0 "snapshot $n of four at once"
done
is "$(cat "$T"/snap.? | grep -v guard | sort -u | wc -l)" 4 \
	'each has a number of its own'

finish
