#!/bin/sh
# snapshot: of folders, with tags, and with something left out.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- several folders ---
gives 0 'a snapshot of two folders' guard snapshot -m both src ../documents
is "$(wc -l <"$out")" 2 'is one of each'
gives 0 'log of all' guard log --all
says "$out" "$HOME/project/src  both"
says "$out" "$HOME/documents  both"
rm -rf src
gives 0 'one of the folders' guard restore -y src
ok 'is back' test -f src/deep/er/file
gives 0 'as JSON' guard snapshot --json src ../documents
is "$(python3 -c 'import json, sys
print([s["root"] for s in json.load(open(sys.argv[1]))["snapshots"]])' "$out")" \
	"['$HOME/project/src', '$HOME/documents']" 'both are in it'
gives 0 'the log of one' guard -C "$HOME/documents" log -n 1
says "$out" "with $HOME/project/src"
gives 0 'one with a message' guard snapshot -q -m mine src ../documents
gives 0 'its log' guard -C "$HOME/documents" log -n 1
says "$out" mine
silent "$out" with
gives 0 'the same folder thrice' guard snapshot src src/ src/../src
is "$(wc -l <"$out")" 1 'is stored once'
gives 0 'a folder that holds the state' guard snapshot "$HOME"
[ "$me" = root ] || {
	gives 0 'its list' guard ls "$(cat "$out")" "$HOME/.local/share"
	is "$(cat "$out")" '' 'is without the state'
}
gives 1 'a snapshot of /' guard snapshot /
gives 1 'of a file' guard snapshot README.md
says "$err" 'is not a folder'
gives 1 'of a name that is empty' guard snapshot ''
says "$err" 'is no folder'
gives 1 'of a folder and of one that is not there' guard snapshot src nowhere
is "$(cat "$out")" '' 'stores neither'
gives 1 'of the state' guard snapshot "$state"

# --- tags ---
gives 0 'a snapshot with tags' guard snapshot --tag one --tag two
gives 0 'its log' guard log -n 1
says "$out" '[one, two]'
gives 2 'a tag that is none' guard snapshot --tag 'a,b'

# --- left out ---
mkdir -p deps/in
echo x >deps/in/x
echo y >src/y.o
rm -f build/a.o
gives 0 'all of it' guard snapshot
gives 0 'a snapshot without some things' \
	guard snapshot --exclude '*.o' --exclude deps --exclude 'src/deep/*'
says "$err" '3 paths left out: *.o, deps, src/deep/*'
silent "$err" incomplete
number=$(cat "$out")
gives 0 'log' guard log -n 1
says "$out" '(without *.o, deps, src/deep/*)'
gives 0 'show' guard show "$number"
says "$out" 'left out by --exclude *.o'
gives 0 'its list' guard ls "$number" src
silent "$out" 'y.o'
says "$out" 'f1.c'
gives 0 'the log of what was left out' guard log src/y.o
silent "$out" deleted
gives 0 'find of what was left out' guard find y.o
says "$out" 'still there'
gives 0 'the difference to the one before' \
	guard diff --name-status "$((number - 1))" "$number"
is "$(cat "$out")" '' 'is none'
gives 0 'the same again' \
	guard snapshot --exclude '*.o' --exclude deps --exclude 'src/deep/*'
says "$err" '3 paths left out'
echo new >src/y.o
echo changed >src/f1.c
gives 0 'everything again' guard snapshot
gives 0 'what was left out in between' guard show latest:src/y.o
is "$(cat "$out")" new 'is stored'
gives 0 'all of a snapshot that is without them' \
	guard restore -y --exact --at "$number" .
says "$err" "not all of 'src' is in this snapshot"
is "$(cat src/y.o)" new 'leaves them as they are'
ok 'also below a folder' test -f deps/in/x
no 'and brings back the rest' grep -q changed src/f1.c
gives 2 'leaving out nothing' guard snapshot --exclude ''
rm -rf src
gives 0 'a restore with progress for programs' \
	guard restore -y --progress=json src
says "$err" '"progress": "restore", "unit": "bytes"'
gives 0 'with progress for programs' guard snapshot --progress=json
says "$err" '"progress": "snapshot"'
says "$err" '"ended": true'

finish
