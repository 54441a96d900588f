#!/bin/sh
# The home as a project, and a missing home.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME" || exit 99
mkdir -p photos letters/old .ssh
echo p >photos/1
echo l >letters/old/1
echo key >.ssh/id

gives 125 'guard run in the home without --home is refused' guard run -- true
says "$err" '--home to include all of it'
gives 1 'guard snapshot of the home as a project is refused' guard snapshot
says "$err" 'name it to include all of it'
gives 125 'a state inside of the project is refused' \
	env GUARD_HOME="$HOME/project/state" guard run -C project -- true
says "$err" 'outside of the project'
gives 1 'a state inside of the project is refused for snapshot' \
	env GUARD_HOME="$HOME/project/state" guard -C project snapshot
no 'no state is created in the project' test -e project/state
gives 0 'guard run --home works' guard run --home -- sh -c \
	'rm -rf photos; echo new >letters/new; cat .ssh/id; : >made'
silent "$out" key
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
says "$err" "in '$HOME'"
is "$(cat photos/1)" p 'the run changes nothing outside'
gives 0 'diff accepts the run in the home' guard diff --name-status "$run"
says "$out" 'photos/1'
says "$out" 'letters/new'
silent "$out" '~'
silent "$out" 'local/share/guard'
silent "$out" 'lib/guard'
gives 0 'apply accepts a path of the home' guard apply -y "$run" letters
is "$(cat letters/new)" new 'apply of a path writes that path'
is "$(cat photos/1)" p 'apply of a path changes nothing else'
gives 0 'apply accepts the whole run' guard apply -y "$run"
no 'apply deletes a directory' test -e photos
gives 0 'undo reverts that apply' guard undo -y
is "$(cat photos/1)" p 'undo brings back the directory'
gives 0 'undo 1 reverts the first apply' guard undo -y 1
no 'undo 1 deletes the new file' test -e letters/new
is "$(cat .ssh/id)" key 'a masked file is unchanged'
gives 0 'a run with --home deletes all it can' guard run --home -- sh -c \
	'rm -rf ~/* ~/.[a-z]* 2>/dev/null; ls -A ~/.local/share/guard; :'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
is "$(cat "$out")" '' "the run does not see guard's state"
gives 0 'discard drops that run' guard discard -y "$run"
rm -rf photos
gives 0 'restore accepts a directory of the home' guard restore -y photos
is "$(cat photos/1)" p 'restore brings back the directory'
gives 0 'restore --exact accepts a directory of the home' \
	guard restore -y --exact --at latest~1 letters
gives 0 'verify accepts the store' guard verify
gives 0 'a project in the home is a project of its own' \
	guard run -C project -- sh -c \
	'echo x >x; echo h >~/h'
says "$err" "in '$HOME/project'"
gives 125 '--home with another directory is refused' \
	guard run --home -C / -- true
says "$err" 'not in your home'
gives 125 '--home with --frozen is refused' guard run --home --frozen -- true
says "$err" '--frozen'
gives 0 '--home accepts a directory of the home' \
	guard run --home -C project -- pwd
is "$(cat "$out")" "$HOME/project" 'the command starts in that directory'

# --- no home ---
mkdir -p "$T/alone"
cd "$T/alone" || exit 99
gives 0 'a run without HOME works' \
	env -u HOME GUARD_HOME="$T/state" guard run -- sh -c \
	'echo "$HOME"; echo x >~/x && cat ~/x; : >made'
is "$(head -n 1 "$out")" "$HOME" \
	'the home without HOME is the one of the user database'
says "$err" '1 change in your home directory'
gives 0 'apply without HOME works' \
	env -u HOME GUARD_HOME="$T/state" guard apply -y
ok 'apply without HOME writes the file' test -e made
gives 0 'a run with a missing home works' \
	env HOME=/no/such GUARD_HOME="$T/state" \
	guard run -- true
says "$err" 'no home directory: the run gets an empty one'

finish
