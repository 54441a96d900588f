#!/bin/sh
# Each command that a message names as the way on is taken from the message and
# run as it is printed, in the situation and directory that printed it: it
# helps. tests/lint/remedies.list names all of them. The project's directory and
# its files have blanks, quotes and a leading dash in their names.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
project="$HOME/it's a project"
mkdir "$project"
cd "$project" || exit 99
git init -q -b main
mkdir 'a dir'
echo one >'a dir/f 1'
echo one >"it's"
echo one >./-x
git add -A
git commit -q -m one

# says_command COMMAND...: guard's message, whatever its status is
prints() {
	"$@" >"$out" 2>"$err" </dev/null
	cat "$out" >>"$err"
}

# works REGEX [STATUS [OPTIONS [SED]]]: the command that the message names, with
# options for what a terminal would be asked, and values for words like PATH
works() {
	command=$(grep -oE -- "$1" "$err" | head -n 1)
	[ -n "$command" ] || {
		flunk "the message names: $1"
		show_output
		return
	}
	command=$(printf '%s\n' "$command" | sed "${4:-}")
	sh -c "$command ${3:-}" >"$T/o" 2>"$T/e" </dev/null
	got=$?
	if [ "$got" = "${2:-0}" ]; then
		pass "it works as printed: $command"
	else
		flunk "it works as printed: $command"
		note "status $got: $(cat "$T/e")"
	fi
}

# --- after a run ---
prints guard run --name r1 -- sh -c 'echo 2 >>"a dir/f 1"; echo n >new'
works 'guard diff r1'
works 'guard review r1'
works 'guard apply r1' 0 -y
prints guard undo -y
works 'guard redo'  0 -y
prints guard undo -y
silent "$err" 'one step further'
prints guard undo -y
silent "$err" 'guard undo'
works 'guard redo' 0 -y
prints guard run --name r2 -- sh -c 'echo 3 >new2'
works 'guard discard r2' 0 -y
prints guard undo -y
works 'guard undo -y 1'
prints guard undo -y
silent "$err" 'further'
guard redo -y -q
prints guard redo -y
works 'guard undo' 0 -y
guard redo -y -q
prints guard undo -y r1
works 'guard undo [0-9]+' 0 -y
guard redo -y -q 2

# --- .git, commits; in a subdirectory ---
cd 'a dir' || exit 99
guard run -q --name g1 -- sh -c 'echo x >in; git tag t1; git commit -q --allow-empty -m two'
prints guard apply -y g1
works 'guard apply g1 .*git'\''?' 0 -y
cd .. || exit 99
guard undo -q -y
guard undo -q -y 1
prints guard apply -y g1 'a dir'
works 'guard import g1'  0 -y
guard run -q --name g2 -- git commit -q --allow-empty -m three
prints guard apply -y g2
works 'guard apply --commits g2' 0 -y

# --- conflicts and consents ---
cp /bin/true tool
guard snapshot -q
guard run -q --name c1 -- sh -c 'echo run >"it'\''s"; echo y >-x; rm "a dir/f 1"; chmod u+s tool'
echo mine >"it's"
prints guard apply -y c1
silent "$err" '--except critical'
command=$(grep -oE "guard show c1:PATH" "$err")
ok 'guard show prints the version of the run' \
	sh -c "$(printf '%s' "$command" | sed "s/PATH/\"it's\"/")"
echo one >"it's"
git checkout -q -- "it's"
prints guard apply c1
works 'guard apply --except critical.*' 0
guard undo -q -y
prints guard apply c1
works 'guard apply --yes-to .*' 0
guard undo -q -y
cd / || exit 99
prints guard -C "$project" apply c1
works 'guard -C .* apply --except critical.*'
prints guard -C "$project" undo -y
works 'guard -C .* redo' 0 -y
prints guard undo
prints guard apply -y --yes-to all c1
works 'guard -C .* undo' 0 -y
prints guard discard -y c1
works 'guard -C .* undo' 0 -y
cd "$project/a dir" || exit 99
prints guard apply c1
works 'guard apply --yes-to .*'
cd .. || exit 99

# --- commits beside the deletion of a file without another copy ---
echo untracked >"un tracked"
guard run -q --name d1 -- sh -c 'rm "un tracked"; echo 5 >four; git add four; git commit -q -m four'
for option in --commits --commit; do
	prints guard apply "$option" d1
	command=$(grep -oE 'guard apply --branch NAME -y d1' "$err")
	ok "apply $option names a branch of its own" \
		sh -c "$(printf '%s' "$command" | sed "s/NAME/own$option/")"
done
prints guard apply --commits d1
works 'guard import -y d1'
ok 'the file is there' test -e 'un tracked'
works 'guard apply --yes-to .*'
ok 'the consent deletes it' test ! -e 'un tracked'

# --- versions ---
n=$(guard snapshot "$HOME/documents")
prints guard diff "$n"
works "guard -C .* diff $n"
guard run -q --name v1 -- sh -c 'echo only >"only this"; echo that >"only that"; echo only >"$HOME/.only"'
prints guard restore 'only this'
works "guard restore --at [0-9]+ '[^']*('\\\\''[^']*)*'" 0 -y
guard undo -q -y
guard prune -q -y --keep-last 1
prints guard restore 'only that'
works "guard show [0-9]+:'[^']*('\\\\''[^']*)*'"
prints guard show ~/.only
works 'guard show [0-9]+:[^ ]*'
prints guard restore "v1:only this"
works "guard apply v1 'only this'" 0 -y
prints guard restore "$n:letters"
n=$(guard snapshot)
prints guard restore "$n:a dir"
works "guard restore --at $n 'a dir'" 0 -y
prints guard restore "$n" 'a dir'
works "guard restore --at $n 'a dir'" 0 -y
guard run -q --name h1 -- sh -c 'echo home >"$HOME/.of home"'
prints guard apply -y h1
works 'guard diff h1'
command=$(grep -o 'guard apply h1 ~/PATH' "$err")
ok 'the path of the home is applied' \
	sh -c "$(printf '%s' "$command -y" | sed "s/PATH/'.of home'/")"
echo 4 >"it's"
guard snapshot -q
prints guard restore -y "it's"
works "guard restore --at [0-9]+ '[^']*('\\\\''[^']*)*'" 0 -y
prints guard restore 'no such*'
works 'guard status --all|guard find' 2
prints guard log nosuch
works 'guard find' 2
mkdir "$HOME/fresh"
cd "$HOME/fresh" || exit 99
prints guard log
works 'guard snapshot'
prints guard diff
works 'guard status --all'
cd "$project" || exit 99
prints guard diff "$(guard log -n 3 | tail -n 1 | cut -d ' ' -f 1)" latest
silent "$err" '? -> ?'

# --- several runs, live runs ---
guard run -q --name m1 -- sh -c 'echo 1 >m1'
guard run -q --name m2 -- sh -c 'echo 1 >m2'
prints guard apply -y
works 'guard apply -y m1'
prints guard undo -y
prints guard run -q 'echo a | cat'
works "guard run -- sh -c '.*'"
guard run -q --name idle -- sh -c 'exec sleep 60' 2>/dev/null &
while ! guard status -q idle 2>/dev/null | grep -q .; do sleep 0.05; done
prints guard discard -y idle
works 'guard diff idle'
prints guard stop idle
silent "$err" 'guard diff'
wait
guard run -q --name busy -- sh -c 'echo x >busy; exec sleep 60' 2>/dev/null &
while ! guard diff busy 2>/dev/null | grep -q busy; do sleep 0.05; done
prints guard discard -y busy
works 'guard stop busy'
wait
prints guard discard -y busy
works 'guard undo' 0 -y
prints guard prune -y --keep-last 1 -q
prints guard verify
works 'guard verify --read-data'
prints guard diff nosuch
works 'guard status --all|guard diff m2'

# --- unknown names, nothing to do, no terminal ---
prints guard undo nosuch
works 'guard log --actions'
prints guard undo nosuch
works 'guard restore ' 0 -n "s/restore/restore \"it's\"/"
prints guard agents nosuch
works 'guard agents'
mkdir -p "$HOME/.pi/agent"
echo '{}' >"$HOME/.pi/agent/models.json"
prints guard run --agent pi -- sh -c 'echo "{ }" >~/.pi/agent/models.json'
echo '{"a": 1}' >"$HOME/.pi/agent/models.json"
prints guard run --agent pi -- true
works 'guard agents --reset pi' 0 -y
prints guard du
works 'guard prune --caches' 0 -n
works 'guard undo' 0 -n
prints guard purge nosuch
works 'guard find' 1 '' 's/find/find nosuch/'
prints guard export --tar r1
works 'guard log'
prints guard apply --follow -y m2
works 'guard apply m2' 0 -n
prints guard exec
works 'guard exec RUN -- COMMAND' 0 '' 's/RUN/m2/; s/COMMAND/true/'
prints guard show 99999
works 'guard log --all'
prints env GUARD_HOME="$HOME/new state" guard log
works 'guard snapshot'
prints guard apply --kind nosuch m2
works 'guard diff --kinds( m2)?'
prints guard apply m2 nosuch
works 'guard diff m2'
prints guard discard -y 'nosuch*'
works 'guard status'
prints guard review m2
works 'guard apply m2 PATHS' 0 -n 's/PATHS/m2/'
works 'guard diff m2'
guard restore -q -y m1
prints guard restore -y m1
works 'guard log PATH' 0 '' 's/PATH/m1/'
prints guard run -q --hide "it's" -- true
prints guard discard -y m2
works 'guard undo' 0 -y
prints guard discard -y m2 m2
works 'guard undo' 0 -y
prints guard run
works 'guard run \[options\] -- COMMAND' 0 '' 's/.options. //; s/COMMAND/true/'
finish
