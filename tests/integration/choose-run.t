#!/bin/sh
# Which run a command takes: names, ids and their beginnings, "latest", and no
# operand with several pending runs.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
newest() {
	guard status -q | head -n 1
}

# ---- names ----
gives 0 'run --name starts a run' guard run --name fix-login -- \
	sh -c 'echo one >named; echo "$GUARD_NAME" >name; echo "$GUARD_RUN" >id'
says "$err" 'run fix-login: 3 added'
says "$err" 'guard apply fix-login '
first=$(newest)
is "$(guard show fix-login:name)" fix-login 'the command finds its name'
is "$(guard show fix-login:id)" "$first" 'the command finds its id'
gives 125 'a second pending run cannot have the name' \
	guard run --name fix-login -- true
says "$err" "$first, is already called 'fix-login'"
for name in latest 2x a/b 'a b' abcdefghijklmnopqrstuvwxyz0123456; do
	gives 125 "--name refuses '$name'" guard run --name "$name" -- true
	says "$err" 'a name is a letter'
done
gives 0 'status takes the name' guard status fix-login
says "$out" "$first  fix-login  ended"
gives 0 'status takes the id' guard status "$first"
says "$out" "$first  fix-login  ended"
gives 1 'status does not know another name' guard status fix-logout
says "$err" "no such directory and no such run: 'fix-logout'"
gives 0 'status shows the name' guard status
says "$out" "$first  fix-login  ended"
gives 0 'status --json has the name' guard status --json
says "$out" '"name": "fix-login"'
is "$(guard status --porcelain | tail -n 1 | cut -f 10)" fix-login \
	'status --porcelain ends with the name'
for verb in diff review ls; do
	gives 0 "$verb takes a name" guard "$verb" fix-login
done
gives 0 'apply takes a name' guard apply -n fix-login
gives 0 'exec takes a name' guard exec -q fix-login -- test -f named
gives 0 'run --continue takes a name' \
	guard run -q --continue=fix-login -- sh -c 'echo two >>named'
is "$(guard show fix-login:named | tr '\n' ' ')" 'one two ' \
	'the continued run has both changes'

# ---- latest, beginnings of ids, files of the same name ----
ok 'a second run changes a file' guard run -q -- sh -c 'echo 2 >second'
second=$(newest)
is "$(guard diff --name-only latest)" second 'latest is the newest pending run'
is "$(guard diff --name-only "${second%???????}")" second \
	'the first four characters of an id name the run'
# Ids are random: one time in a thousand the other run shares two characters.
short=$(echo "$second" | cut -c 1-2)
guard status -q | grep -v "^$second" | grep -q "^$short" ||
	is "$(guard diff --name-only "$short")" second \
		'two characters name the run while no other run shares them'
ok 'a third run changes a file' \
	guard run -q --name "$(echo "$second" | cut -c 1-4)" -- sh -c 'echo 3 >third'
is "$(guard diff --name-only "$(echo "$second" | cut -c 1-4)")" third \
	'a name wins over the beginning of an id'
echo file >fix-login
gives 2 'a run and a file of the same name are told apart' \
	guard diff fix-login
says "$err" 'write ./fix-login for the file'
rm fix-login

# ---- several pending runs and nobody to ask ----
for verb in 'apply -y' 'discard -y' 'import -y' apply discard 'patch' \
	'export --tar'; do
	# shellcheck disable=SC2086 # words
	gives 4 "$verb lists the pending runs" guard $verb </dev/null
	says "$err" '3 runs are pending in'
	case $verb in apply | discard) verb="$verb -y" ;; esac
	says "$err" "guard $verb fix-login  "
	says "$err" "guard $verb $second  "
done
gives 4 'discard of a path lists the runs, too' guard discard -y -- named
says "$err" 'guard discard -y fix-login -- named'
gives 4 'apply of lines lists the runs with these lines' \
	guard apply -y second:1-2
says "$err" 'guard apply -y fix-login second:1-2'
gives 4 'apply -n of lines, too' guard apply -n second:1-2
says "$err" 'guard apply -n fix-login second:1-2'
no 'nothing was applied' test -e named
is "$(guard status -q | wc -l)" 3 'all runs are pending still'
gives 0 'a dry run of apply takes the newest' guard apply -n
gives 0 'apply takes the named run' guard apply -y -q "$second" </dev/null
is "$(cat second)" 2 'apply wrote the named run'
ok 'discard takes the named run' \
	guard discard -y -q "$(echo "$second" | cut -c 1-4)"
gives 0 'with one pending run apply needs no name' guard apply -y -q
is "$(tail -n 1 named)" two 'apply wrote the only pending run'

# ---- closed runs ----
gives 0 'an applied run frees its name' \
	guard run -q --name fix-login -- sh -c 'echo new >named'
is "$(guard diff --name-only fix-login)" named \
	'the pending run is taken of two with the same name'
ok 'that run is discarded' guard discard -y -q fix-login
gives 0 'undo of the discard names it' guard undo -y
says "$err" 'run fix-login is pending again'
ok 'the run is applied' guard apply -y -q --yes-to all fix-login
gives 0 'undo of the apply names it' guard undo -y
says "$err" 'apply of run fix-login in'
ok 'that run is applied again' \
	guard apply -y -q --yes-to all fix-login
first=$(guard status -a -q | head -n 1)
ok 'the name is free for a new run' \
	guard run -q --name fix-login -- sh -c 'echo newer >named'
ok 'undo makes the earlier run pending, too' guard undo -y
for verb in 'apply -y' 'discard -y' diff 'exec -q'; do
	end=
	[ "$verb" = 'exec -q' ] && end='-- true'
	status=1
	case $verb in exec*) status=125 ;; diff) status=2 ;; esac
	# shellcheck disable=SC2086 # words
	gives $status "$verb of the name is refused" guard $verb fix-login $end
	says "$err" "2 pending runs are called 'fix-login': give the id, $first, "
done
gives 0 'status tells the two apart' guard status
says "$err" "$first and $(newest) both changed 'named'"
ok 'the new one is discarded by its id' guard discard -y -q "$(newest)"
ok 'and the earlier one has the name again' \
	guard apply -y -q --yes-to all fix-login
ok 'a run makes a file with the name of the applied one' \
	guard run -q --name other -- sh -c 'echo 1 >fix-login'
echo file >fix-login
gives 0 'a file goes before an applied run' guard diff --name-only fix-login
is "$(cat "$out")" fix-login 'its changes in the pending run are shown'
rm fix-login
gives 0 'without the file the name is that of a run' \
	guard diff --json fix-login
says "$out" '"state": "applied"'
ok 'the other run is discarded' guard discard -y -q other
gives 125 'a name in the form of an id is refused' \
	guard run --name auth-script -- true
says "$err" "in the form of a run's id"
mkdir ../other
ok 'a run of another project has a name' \
	sh -c 'cd ../other && guard run -q --name elsewhere -- sh -c "echo 1 >e"'
gives 0 'a name of another project is found' guard status --all
gives 2 'diff takes no name of another project' guard diff elsewhere
says "$err" "give its id, $(cd ../other && newest)"

# ---- a run whose record cannot be read ----
ok 'a run is made unreadable' guard run -q -- sh -c 'echo 1 >unread'
hidden=$(newest)
ok 'an older run is pending' \
	sh -c 'cd ../other && guard discard -y -q elsewhere'
mv "$state/runs/$hidden/record" "$state/runs/$hidden/away"
echo broken >"$state/runs/$hidden/record"
gives 1 'no older run is taken instead of an unreadable one' guard apply -y
says "$err" "run $hidden"
mv "$state/runs/$hidden/away" "$state/runs/$hidden/record"
ok 'the repaired run is discarded' guard discard -y -q "$hidden"
# ---- a run that is in use ----
ok 'a run to review' guard run -q --name held -- sh -c 'echo held >held'
mkfifo "$T/keys"
TERM=dumb timeout 60 script -q -e -c 'guard review --plain held' /dev/null \
	<"$T/keys" >"$T/review" 2>&1 &
reviewer=$!
exec 8>"$T/keys"
while ! grep -q 'Apply ' "$T/review"; do
	kill -0 "$reviewer" 2>/dev/null || break
done
for verb in 'apply -y' 'discard -y' 'exec'; do
	# shellcheck disable=SC2086 # words
	guard $verb held true </dev/null >"$out" 2>"$err"
	no "$verb refuses a run that is in review" test $? -eq 0
	says "$err" 'run held is in use by process '
	says "$err" ' (guard review): try again when it has ended'
done
echo q >&8
echo y >&8
exec 8>&-
wait "$reviewer"
ok 'after the review the run can be discarded' guard discard -q -y held

# ---- the name of another project's run ----
mkdir "$HOME/other"
ok 'two projects have a run of one name' sh -c '
	guard run -q --name twin -- sh -c "echo here >twin-file" &&
	cd "$HOME/other" && guard run -q --name twin -- sh -c "echo far >far"'
gives 0 'apply takes the run of this project' guard apply -q -y twin
gives 1 'once more, no run is applied' guard apply -y twin
no 'and none of another project' test -e "$HOME/other/far"
gives 0 'undo makes it pending again' guard undo -q -y
gives 0 'discard takes the run of this project' guard discard -q -y twin
gives 1 'once more, no run is discarded' guard discard -y twin
far=$(cd "$HOME/other" && newest)
says "$err" "only one of '$HOME/other': give its id, $far"
gives 0 'undo finds the discarded run by this name' guard undo -q -y twin
is "$(guard diff --name-only twin)" twin-file 'it is pending again'
gives 0 'an id names a run of another project' guard diff --name-only "$far"
is "$(cat "$out")" far 'and its changes are shown'
guard discard -q -y twin
cd "$HOME" || exit 99
gives 0 'a directory above both takes the pending one' guard discard -q -y twin

finish
