#!/bin/sh
# Products of make, ninja and Python, and answers of an HTTP server, are never
# those of another version of the source after an apply, undo, redo or restore;
# and products that a run has built are not built again.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

mkdir -p "$HOME/p/src" && cd "$HOME/p" || exit 99

# The sources, an hour old; of one size, since Python compares size and second.
begin() {
	guard status -q | while read -r id _; do guard discard -q -y "$id"; done
	rm -rf ./* .ninja* && mkdir src
	printf 'prog: src/a.c b.h\n\tcat src/a.c b.h >prog\n' >Makefile
	# shellcheck disable=SC2016 # of ninja
	printf 'rule cat\n  command = cat $in >$out\nbuild out: cat src/a.c b.h\n' \
		>build.ninja
	echo 'old' >src/a.c
	echo 'head' >b.h
	echo 'X = "old"' >m.py
	touch -d '-1 hour' Makefile build.ninja src/a.c b.h m.py
	build
}

# build: builds everything; built: prints the products.
build() {
	make -s >"$T/build" 2>&1
	ninja >>"$T/build" 2>&1
	python3 -c 'import m; print(m.X)' >"$T/python"
}
built() {
	build
	cat prog out "$T/python" | tr '\n' ' '
}
# Whether the tools have nothing left to do.
# shellcheck disable=SC2317 # called by ok
is_fresh() {
	make -q && ninja -n | grep -q 'no work to do'
}
edit='echo new >src/a.c; echo "X = \"new\"" >m.py'
old='old head old head old '
new='new head new head new '

start() {
	begin
	guard snapshot -q >"$out" 2>"$err"
	first=$(guard log | awk '/ manual/ { print $1; exit }')
	gives 0 'a run edits sources' guard run -q -- sh -c "$1"
	[ -z "${2:-}" ] || sh -c "$2"
	gives 0 "apply is accepted ${2:+after: $2}" guard apply -q -y
}

# --- each verb, directly after the build of the other version ---
for meanwhile in '' 'rm prog out; make -s; ninja >/dev/null' \
	'touch -d "-1 minute" b.h' 'touch -d "+1 second" b.h'; do
	start "$edit" "$meanwhile"
	is "$(built)" "$new" 'apply: all products are of the new sources'
	gives 0 'undo is accepted' guard undo -q -y
	is "$(built)" "$old" 'undo: all products are of the old sources'
	gives 0 'redo is accepted' guard redo -q -y
	is "$(built)" "$new" 'redo: all products are of the new sources'
	gives 0 'restore of paths is accepted' \
		guard restore -q -y --at "$first" src m.py
	is "$(built)" "$old" 'restore: all products are of the old sources'
	gives 0 'a repeated restore is accepted' \
		guard restore -q -y --at "$first" src m.py
	is "$(built)" "$old" 'the products stay as they are'
	echo later >src/a.c
	is "$(built)" 'later head later head old ' 'an edit is built'
	gives 0 'restore of the project is accepted' \
		guard restore -q -y --at "$first" .
	is "$(built)" "$old" 'restore of all: all products are of the old sources'
	is "$(guard status -q)" '' 'no run is pending'
	sleep 1.01
	build
	ok 'then nothing is left to build' is_fresh
done

# --- a product that the run has built ---
start "$edit; make -s; ninja >/dev/null; python3 -c 'import m'"
ok 'after an apply without edits nothing is built again' is_fresh
is "$(built)" "$new" 'and all products are of the new sources'
start "$edit; make -s" 'echo edited >notes'
is "$(built)" "$new" 'with a younger file the products are of the new sources'

# --- times of other entries ---
start 'echo one >one; echo two >two; touch -d "2001-02-03" one
	ln one one-again; ln -s one link; mkdir dir; echo in >dir/in' 'echo >notes'
ok 'files of one time have one time' test ! one -nt one-again
ok 'the order of the times is that of the run' test two -nt one
ok 'and they are younger than the edit' test one -nt notes
is "$(stat -c %h one)" 2 'hard links stay hard links'
gives 0 'undo is accepted' guard undo -q -y
start 'touch -d 2001-02-03 b.h; echo q >q'
is "$(date -r b.h +%F)" 2001-02-03 'a mtime that the run has set is applied'

# --- missing files get their stored times ---
stored=$(stat -c %y b.h)
gives 0 'a snapshot is stored' guard snapshot
rm b.h && rm -r src
gives 0 'restore of missing files' guard restore -q -y src b.h
is "$(stat -c %y b.h)" "$stored" 'a missing file gets its stored time'
ok 'so do the files of a missing directory' test ! src/a.c -nt Makefile
gives 0 'restore --to' guard restore -q -y --to "$HOME/to" src b.h
is "$(stat -c %y "$HOME/to/b.h")" "$stored" 'and all files elsewhere'

# --- a large project, of which only the changed files are read ---
begin
perl -e 'for (1 .. 2100) { open my $f, ">", "many$_" or die }'
gives 0 'a run edits sources of a large project' guard run -q -- sh -c "$edit"
settle
rm prog
make -s
gives 0 'apply is accepted in a large project' guard apply -q -y
is "$(built)" "$new" 'apply: all products are of the new sources'
gives 0 'undo is accepted in a large project' guard undo -q -y
is "$(built)" "$old" 'undo: all products are of the old sources'
rm many*

# --- HTTP: a client asks whether its copy is still fresh ---
# fetched: the page, by a client that has the page of the call before.
fetched() {
	python3 - "http://127.0.0.1:$port/src/a.c" "$T/page" <<'END'
import email.utils, os, sys, urllib.error, urllib.request
url, page = sys.argv[1:]
ask = urllib.request.Request(url)
if os.path.exists(page):
    ask.add_header('If-Modified-Since',
                   email.utils.formatdate(os.path.getmtime(page), usegmt=True))
try:
    answer = urllib.request.urlopen(ask)
    open(page, 'wb').write(answer.read())
    time = email.utils.parsedate_to_datetime(answer.headers['Last-Modified'])
    os.utime(page, (time.timestamp(), time.timestamp()))
except urllib.error.HTTPError as e:
    assert e.code == 304
sys.stdout.write(open(page).read())
END
}
begin
python3 -c '
import http.server, sys
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
    http.server.SimpleHTTPRequestHandler)
print(s.server_address[1], flush=True)
s.serve_forever()' >"$T/port" 2>/dev/null &
server=$!
until [ -s "$T/port" ]; do kill -0 $server || break; done
port=$(cat "$T/port")
is "$(fetched)" old 'the server has the old page'
gives 0 'a run edits the page' guard run -q -- sh -c "$edit"
gives 0 'apply is accepted' guard apply -q -y
is "$(fetched)" new 'after apply the client gets the new page'
gives 0 'undo is accepted' guard undo -q -y
is "$(fetched)" old 'after undo the client gets the old page'
kill $server
wait

finish
