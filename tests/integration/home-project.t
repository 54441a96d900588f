#!/bin/sh
# The home folder: as the project, and missing.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME" || exit 99
mkdir -p photos letters/old .ssh
echo p >photos/1
echo l >letters/old/1
echo key >.ssh/id

gives 125 'a run in the home is refused' guard run -- true
says "$err" '--home if all of it is meant'
gives 1 'so is its snapshot as a project' guard snapshot
says "$err" 'name it if all of it is meant'
gives 125 'a state in the project' \
	env GUARD_HOME="$HOME/project/state" guard run -C project -- true
says "$err" 'outside of the project'
gives 1 'and for a snapshot' \
	env GUARD_HOME="$HOME/project/state" guard -C project snapshot
no 'is not made there' test -e project/state
gives 0 'but with --home' guard run --home -- sh -c \
	'rm -rf photos; echo new >letters/new; cat .ssh/id; : >made'
silent "$out" key
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
says "$err" "in '$HOME'"
is "$(cat photos/1)" p 'nothing has happened'
gives 0 'its changes' guard diff --name-status "$run"
says "$out" 'photos/1'
says "$out" 'letters/new'
silent "$out" '~'
silent "$out" 'local/share/guard'
silent "$out" 'lib/guard'
gives 0 'a part of it' guard apply -y "$run" letters
is "$(cat letters/new)" new 'is applied'
is "$(cat photos/1)" p 'and no more'
gives 0 'all of it' guard apply -y "$run"
no 'is applied as well' test -e photos
gives 0 'undo' guard undo -y
is "$(cat photos/1)" p 'takes it back'
gives 0 'also the part' guard undo -y 1
no 'of before' test -e letters/new
is "$(cat .ssh/id)" key 'what it did not see is as before'
gives 0 'a run deletes all it can' guard run --home -- sh -c \
	'rm -rf ~/* ~/.[a-z]* 2>/dev/null; ls -A ~/.local/share/guard; :'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
is "$(cat "$out")" '' 'and sees nothing of the state'
gives 0 'that is dropped' guard discard -y "$run"
rm -rf photos
gives 0 'the home was stored' guard restore -y photos
is "$(cat photos/1)" p 'and comes back'
gives 0 'exactly, too' guard restore -y --exact --at latest~1 letters
gives 0 'and nothing of guard is lost' guard verify
gives 0 'a project in it is another one' guard run -C project -- sh -c \
	'echo x >x; echo h >~/h'
says "$err" "in '$HOME/project'"
gives 125 '--home elsewhere' guard run --home -C / -- true
says "$err" 'not in your home'
gives 125 '--home of a copy' guard run --home --frozen -- true
says "$err" '--frozen'
gives 0 'from a folder in it' guard run --home -C project -- pwd
is "$(cat "$out")" "$HOME/project" 'the command starts there'

# --- none at all ---
mkdir -p "$T/alone"
cd "$T/alone" || exit 99
gives 0 'without HOME' env -u HOME GUARD_HOME="$T/state" guard run -- sh -c \
	'echo "$HOME"; echo x >~/x && cat ~/x; : >made'
is "$(head -n 1 "$out")" "$HOME" 'it is the one that the system knows'
says "$err" '1 change in your home folder'
gives 0 'it can be applied' env -u HOME GUARD_HOME="$T/state" guard apply -y
ok 'as ever' test -e made
gives 0 'a home that is not there' env HOME=/no/such GUARD_HOME="$T/state" \
	guard run -- true
says "$err" 'no home folder: the run gets an empty one'

finish
