#!/bin/sh
# guard exec --all: one command in a throw-away copy of each pending run; and
# globs of names in discard and status.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p dir/sub
echo first >file
echo first >dir/gone
echo first >dir/sub/deep
echo first >moving
guard run -q --name try-1 -- sh -c 'echo one >file; rm dir/gone; echo new >new'
guard run -q --name try-2 -- sh -c 'rm -r dir; mkdir dir; echo two >dir/other
	mv moving moved; echo setting >~/.setting'
guard run -q --name other -- sh -c 'echo other >file'

# layers FILE: everything in the layers of the runs, with times and attributes
layers() {
	for id in $(guard status -q); do
		for upper in upper home-upper; do
			find "$state/runs/$id/$upper" -printf '%P %y %m %s %T@\n'
			find "$state/runs/$id/$upper" -type f -exec cat {} +
		done
	done >"$T/$1"
}

layers before
gives 1 'the command fails in one of three runs' guard exec --all -- sh -c '
	cat file dir/other moved new ~/.setting 2>/dev/null
	[ ! -e dir/gone ] || echo gone; [ ! -e dir/sub ] || echo sub
	echo written >file; echo written >by-test; rm -rf dir; echo x >/tmp/x
	[ ! -e moved ] || exit 3
	printf "ends with \033[31m%s\n" "$(cat by-test)"'
is "$(sed -n 1p "$out")" \
	'RUN    EXIT  TIME   CHANGED BY THE TEST  LAST LINE' \
	'the table has a head'
is "$(awk 'NR > 1 { print $1, $2 }' "$out")" 'try-1 0
try-2 3
other 0' 'the table has the runs and their statuses'
says "$out" '\x1b[31mwritten'
layers after
ok 'no layer of a run has changed' same "$T/before" "$T/after"
is "$(cat file) $(ls -A)" "first $(ls -A)" 'no file of the project has changed'
is "$(tr '\n' ' ' <"$state/runs/$(guard status --porcelain |
	sed -n 's/^\([^	]*\).*	try-1$/\1/p')/test.log" | sed 's/ends.*//')" \
	'one new sub ' 'the first run has its own files'
is "$(tr '\n' ' ' <"$state/runs/$(guard status --porcelain |
	sed -n 's/^\([^	]*\).*	try-2$/\1/p')/test.log")" \
	'first two first setting ' \
	'the second has a replaced directory, a moved file, a file of the home'
no 'the copies are gone' sh -c 'ls -d "$1"/runs/*/copy-*' - "$state"
gives 0 'status shows the results' guard status
says "$out" 'test: exit 3'
gives 0 'a command in the layer' guard exec -q try-2 -- \
	sh -c 'echo x >later'
gives 0 'makes the result invalid' guard status 'try-2*'
silent "$out" 'test: exit 3'

# --- a part of the runs ---
gives 0 'a glob selects runs' guard exec --all --json 'try-*' -- true
says "$out" '"name": "try-1"'
says "$out" '"name": "try-2"'
silent "$out" '"name": "other"'
says "$out" '"status": 0'
gives 125 'a glob that matches no run' guard exec --all 'nix*' -- true
says "$err" "is called like 'nix*'"
gives 1 'a command that does not exist' guard exec --all -- no-such-command
says "$out" 'no such command in PATH'
gives 125 '--json needs --all' guard exec --json try-1 -- true
mkdir "$HOME/granted"
guard run -q --name rw --rw "$HOME/granted" -- sh -c 'echo x >more'
gives 0 'a copy does not write to a granted directory' \
	guard exec --all rw -- sh -c 'echo x >~/granted/x'
no 'nothing is written in it' test -e "$HOME/granted/x"
guard discard -q -y rw

# --- a killed guard leaves nothing that stays ---
layers before
guard exec --all try-1 -- sh -c 'echo x >file; sleep 60' >/dev/null 2>&1 &
killed=$!
until ls -d "$state"/runs/*/copy-*/upper-* >/dev/null 2>&1; do
	kill -0 "$killed" || break
	sleep 0.02
done
kill -9 "$killed"
wait "$killed" 2>/dev/null
layers after
ok 'the layers are as before' same "$T/before" "$T/after"
settle
gives 0 'the next one works' guard exec --all try-1 -- true
ok 'and has removed the copy' \
	sh -c '! ls -d "$1"/runs/*/copy-*' - "$state"

# --- globs ---
gives 0 'status shows the runs of a glob' guard status 'try-*'
says "$out" try-1
says "$out" try-2
silent "$out" 'echo other'
gives 0 'discard lists the runs of a glob' guard discard -n 'try-*'
says "$err" 'try-1'
gives 0 'and discards them' guard discard -y 'try-*'
gives 0 'the other run is pending' guard status -q
is "$(wc -l <"$out")" 1 'alone'

finish
