#!/bin/sh
# snapshot: of several directories, with tags, and with excluded paths.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- several directories ---
gives 0 'snapshot accepts two directories' \
	guard snapshot -m both src ../documents
is "$(wc -l <"$out")" 2 'snapshot of two directories stores two snapshots'
gives 0 'log --all lists both' guard log --all
says "$out" "$HOME/project/src  both"
says "$out" "$HOME/documents  both"
rm -rf src
gives 0 'restore of one of them is accepted' guard restore -y src
ok 'restore brings back a file' test -f src/deep/er/file
gives 0 'snapshot --json accepts two directories' \
	guard snapshot --json src ../documents
is "$(python3 -c 'import json, sys
print([s["root"] for s in json.load(open(sys.argv[1]))["snapshots"]])' "$out")" \
	"['$HOME/project/src', '$HOME/documents']" \
		'snapshot --json prints both directories'
gives 0 'log of one directory works' guard -C "$HOME/documents" log -n 1
says "$out" "with $HOME/project/src"
gives 0 'snapshot accepts a message for two directories' \
	guard snapshot -q -m mine src ../documents
gives 0 'log of one directory shows the message' \
	guard -C "$HOME/documents" log -n 1
says "$out" mine
silent "$out" with
gives 0 'snapshot accepts the same directory three times' \
	guard snapshot src src/ src/../src
is "$(wc -l <"$out")" 1 'the same directory is stored once'
gives 0 "snapshot of a directory that contains guard's state is accepted" \
	guard snapshot "$HOME"
[ "$me" = root ] || {
	gives 0 'ls of that snapshot is accepted' \
		guard ls "$(cat "$out")" "$HOME/.local/share"
	is "$(cat "$out")" '' "that snapshot does not contain guard's state"
}
gives 1 'snapshot of / is refused' guard snapshot /
gives 1 'snapshot of a file is refused' guard snapshot README.md
says "$err" 'is not a directory'
gives 1 'snapshot of an empty name is refused' guard snapshot ''
says "$err" 'is not a directory'
gives 1 'snapshot of a missing directory is refused' guard snapshot src nowhere
is "$(cat "$out")" '' 'the refused snapshot stores no other directory'
gives 1 "snapshot of guard's state is refused" guard snapshot "$state"

# --- tags ---
gives 0 'snapshot accepts tags' guard snapshot --tag one --tag two
gives 0 'log shows the tags' guard log -n 1
says "$out" '[one, two]'
gives 2 'an invalid tag is refused' guard snapshot --tag 'a,b'

# --- --exclude ---
mkdir -p deps/in
echo x >deps/in/x
echo y >src/y.o
rm -f build/a.o
gives 0 'snapshot of everything is accepted' guard snapshot
gives 0 'snapshot with --exclude is accepted' \
	guard snapshot --exclude '*.o' --exclude deps --exclude 'src/deep/*'
says "$err" '3 paths excluded: *.o, deps, src/deep/*'
silent "$err" incomplete
number=$(cat "$out")
gives 0 'log works with excluded paths' guard log -n 1
says "$out" '(without *.o, deps, src/deep/*)'
gives 0 'show works with excluded paths' guard show "$number"
says "$out" 'left out by --exclude *.o'
gives 0 'ls works with excluded paths' guard ls "$number" src
silent "$out" 'y.o'
says "$out" 'f1.c'
gives 0 'log of an excluded path works' guard log src/y.o
silent "$out" deleted
gives 0 'find of an excluded path works' guard find y.o
says "$out" 'still there'
gives 0 'diff with the complete snapshot is accepted' \
	guard diff --name-status "$((number - 1))" "$number"
is "$(cat "$out")" '' 'excluded paths are no difference'
gives 0 'a second snapshot with --exclude is accepted' \
	guard snapshot --exclude '*.o' --exclude deps --exclude 'src/deep/*'
says "$err" '3 paths excluded'
echo new >src/y.o
echo changed >src/f1.c
gives 0 'a complete snapshot after that is accepted' guard snapshot
gives 0 'show accepts a path that was excluded before' guard show latest:src/y.o
is "$(cat "$out")" new 'the complete snapshot has its content'
gives 0 'restore --exact of a snapshot with excluded paths is accepted' \
	guard restore -y --exact --at "$number" .
says "$err" "this snapshot has only a part of 'src'"
is "$(cat src/y.o)" new 'restore --exact keeps excluded paths'
ok 'restore --exact keeps excluded paths in subdirectories' test -f deps/in/x
no 'restore --exact brings back the rest' grep -q changed src/f1.c
gives 2 'an empty --exclude is refused' guard snapshot --exclude ''
rm -rf src
gives 0 'restore --progress=json is accepted' \
	guard restore -y --progress=json src
says "$err" '"progress": "restore", "unit": "bytes"'
gives 0 'snapshot --progress=json is accepted' guard snapshot --progress=json
says "$err" '"progress": "snapshot"'
says "$err" '"ended": true'

# --- the origin of a snapshot ---
# origin HOME: of the newest snapshot in the state there
origin() {
	GUARD_HOME=$1 guard snapshot -q >/dev/null
	GUARD_HOME=$1 guard log --json -n 1 |
		sed -n 's/.*"origin": "\(.*\)",/\1/p'
}
first=$(origin "$state")
is "$(printf %s "$first" | wc -c)" 32 'a snapshot has an origin'
is "$(origin "$state")" "$first" 'the next one has the same'
copy_state "$state" "$T/copy"
other=$(origin "$T/copy")
ok 'a copied store has another one' \
	test -n "$other" -a "$other" != "$first"
is "$(origin "$T/copy")" "$other" 'and keeps it'
is "$(origin "$state")" "$first" 'the first store keeps its own'
gives 0 'show names the host' guard show 1
says "$out" "host       $(uname -n)"
chmod u+w "$state/store"
rm -f "$state/store/FORMAT"
gives 0 'repair writes FORMAT again' guard repair -y
is "$(origin "$state")" "$first" 'and the origin stays'

finish
