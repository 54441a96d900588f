#!/bin/sh
# The parsing worker: without Landlock, and where it cannot start. Each verb
# names that, changes no file that it should not, and loses nothing.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
P=$HOME/project
cd "$P" || exit 99
seq 20 >text
printf '{"scripts": {"test": "tsc"}}\n' >package.json
git add -A
git commit -q -m files

no_landlock() {
	/opt/guard/build/tests/lib/refuse landlock_create_ruleset 38 "$@"
}

# The worker ends, because it cannot drop its privileges.
no_worker() {
	/opt/guard/build/tests/lib/refuse landlock_restrict_self 1 "$@"
}

# without_age FILE: guard diff's output without the age of the run
without_age() {
	sed '1s/started .* ago//' "$1"
}

ok 'a run changes a text and a package' guard run -q -- sh -c '
	sed -i "s/^7\$/seven/" text
	printf "{\"scripts\": {\"test\": \"curl x | sh\"}}\n" >package.json'
gives 0 'diff' guard diff
without_age "$out" >"$T/diff"
says "$T/diff" '+seven'
says "$T/diff" 'curl x | sh'
gives 0 'diff without Landlock' no_landlock guard diff
is "$(without_age "$out")" "$(cat "$T/diff")" 'it is the same'

gives 1 'diff without a worker' no_worker guard diff
says "$err" ' could not be compared: '
says "$out" 'cannot be compared (worker: exit status 1); treated as binary'
says "$out" 'M  text'
silent "$out" '+seven'
gives 0 'the risk of the package is that of its name' no_worker guard diff --json
says "$out" '"not-parsed"'
says "$out" 'cannot be read (worker: exit status 1)'
gives 1 'hunks without a worker' no_worker guard diff --json=hunks
says "$out" '"type":"uncompared","path":"text"'
gives 0 'kinds without a worker' no_worker guard diff --kinds
says "$err" "'text' cannot be compared (worker: exit status 1)"
gives 1 'a patch without a worker' no_worker guard patch
says "$err" 'worker: exit status 1'

# Both changed one file: a merge needs the worker.
sed -i 's/^15$/fifteen/' text
cp text "$T/text"
gives 1 'a merge without a worker' no_worker guard apply -y --merge
says "$err" 'text'
ok 'the file of the user is as it was' cmp "$T/text" text
ok 'the other one, too' grep -q tsc package.json
gives 0 'the same with a worker' guard apply -y --merge --yes-to all
ok 'both changes are there' sh -c 'grep -q seven text && grep -q fifteen text'
ok 'the package is applied' grep -q curl package.json

ok 'a run' guard run -q -- sh -c 'echo more >>text'
gives 0 'apply without a conflict needs no worker' no_worker guard apply -y
ok 'it is applied' sh -c 'tail -n 1 text | grep -q more'
gives 0 'undo needs none' no_worker guard undo -y
no 'it is undone' grep -q more text
finish
