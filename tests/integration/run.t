#!/bin/sh
# guard run: how it ends, what the command sees, what it cannot touch.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
manifest "$HOME" >"$T/before"

# --- exit status ---
gives 0 'a command that succeeds' guard run -- true
gives 1 'a command that fails' guard run -- false
gives 42 'the own status of the command' guard run -- sh -c 'exit 42'
gives 124 'a status that guard has a meaning for passes too' \
	guard run -- sh -c 'exit 124'
gives 143 'SIGTERM is 128+15' guard run -- sh -c 'kill -TERM $$'
gives 137 'SIGKILL is 128+9' guard run -- sh -c 'kill -KILL $$'
gives 127 'a command that is not there' guard run -- no-such-command-here
says "$err" 'no-such-command-here'
gives 126 'a file that is not executable' guard run -- ./README.md
says "$err" "run './README.md': you may not execute it"
gives 126 'a folder is not executable' guard run -- ./src
says "$err" "run './src': it is a folder"
gives 124 'a command that takes too long' guard run --timeout 0.3s -- sleep 60
says "$err" 'timeout'
gives 125 'an option that does not exist' guard run --no-such-option -- true
gives 125 'no command' guard run --
gives 125 'a forbidden project: /' guard -C / run -- true
says "$err" "'/'"
gives 125 'a forbidden project: home' guard -C "$HOME" run -- true
says "$err" 'home'
mkdir -p "$state"
gives 125 'a forbidden project: the state' guard -C "$state" run -- true
gives 125 'a folder that is not there' guard -C /no/such/folder run -- true
says "$err" '/no/such/folder'
if [ "$me" = root ]; then
	skip 'root can read every project'
else
	mkdir "$HOME/closed"
	chmod 000 "$HOME/closed"
	gives 125 'a project that cannot be read' \
		guard -C "$HOME/closed" run -- true
	says "$err" 'closed'
	rmdir "$HOME/closed"
	touch -r "$HOME/project/docs" "$HOME" # its time: compared below
	manifest "$HOME" >"$T/before"
fi

# --- arguments and environment ---
gives 0 'arguments pass untouched' \
	guard run -- printf '<%s>' 'a b' '' '--help' '$x' "$(printf 'n\nl')"
is "$(cat "$out")" "<a b><><--help><\$x><n
l>" 'every argument as it was given'
gives 0 'the environment' guard run -- env
says "$out" 'GUARD=1'
says "$out" 'GUARD_RUN='
says "$out" "HOME=$HOME"
silent "$out" 'GUARD_HOME'
SECRET_TOKEN=hush AWS_SECRET_ACCESS_KEY=hush SSH_AUTH_SOCK=/x \
	gives 0 'secrets of the environment' guard run -- env
silent "$out" 'hush'
silent "$out" 'SSH_AUTH_SOCK'
says "$err" 'SECRET_TOKEN'
SECRET_TOKEN=told gives 0 'one let in' \
	guard run --env SECRET_TOKEN --env OTHER=value -- env
says "$out" 'SECRET_TOKEN=told'
says "$out" 'OTHER=value'
gives 0 'standard input' sh -c 'echo words | guard run -q -- cat'
is "$(cat "$out")" 'words' 'standard input reaches the command'
gives 0 'the folder' guard -C src/deep run -q -- pwd
is "$(cat "$out")" "$HOME/project/src/deep" 'it starts where it was called'
gives 3 'descriptors' sh -c 'exec 7<README.md
	guard run -q -- sh -c "read -r line <&7 2>/dev/null || exit 3"'

# --- what it cannot write ---
for path in /usr/x /etc/x /opt/x /srv/x /x; do
	no "$path cannot be written" guard run -q -- touch "$path"
	no "$path is not there" test -e "$path"
done
ok 'the private /tmp can' guard run -q -- \
	sh -c 'echo x >/tmp/a; echo x >/var/tmp/a; echo x >/dev/shm/a; echo x >/run/a'
no 'and nothing of it is seen outside' \
	sh -c 'test -e /tmp/a || test -e /var/tmp/a || test -e /dev/shm/a || test -e /run/a'
echo mine >/tmp/mine
no 'nor is /tmp seen inside' guard run -q -- test -e /tmp/mine
no 'no capability is left' guard run -q -- sh -c \
	'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status'
ok 'no new privileges' guard run -q -- \
	grep -q '^NoNewPrivs:.*1' /proc/self/status
no 'nothing can be mounted' guard run -q -- mount -t tmpfs none /mnt
no 'no user namespace can be made' guard run -q -- unshare -Ur true

# --- what it cannot see ---
no 'the state is not seen' guard run -q -- sh -c "ls -A '$state' | grep ."
no 'nor any file of it' guard run -q -- sh -c \
	"test -e '$state/store' || test -e '$state/runs'"
gives 0 'the processes of a run' guard run -q -- sh -c 'ls -d /proc/[0-9]* | wc -l'
ok 'are few' test "$(cat "$out")" -le 8
sleep 300 &
sleeper=$!
no 'a process outside cannot be signalled' guard run -q -- kill -9 $sleeper
gives 137 'kill -9 of everything stays inside' guard run -q -- \
	sh -c 'kill -9 -1; kill -9 $$'
ok 'the process outside lives' kill -0 $sleeper
kill $sleeper
wait $sleeper 2>/dev/null

# --- what it may write is a layer ---
gives 0 'project and home can be written' guard run -- sh -c '
	echo changed >README.md && rm src/f5.c && echo new >new.txt &&
	echo new >~/new-in-home && rm ~/documents/letters/one.txt &&
	echo more >>~/.bashrc && mkdir -p a/b/c && mv docs docs2 &&
	chmod 700 run.sh'
says "$err" 'guard diff'
says "$err" 'guard apply'
says "$err" 'guard discard'
manifest "$HOME" >"$T/after"
ok 'project and home are as before' same "$T/before" "$T/after"

# --- what it leaves running is ended ---
gives 0 'a background process is ended with the run' guard run -q -- sh -c '
	(setsid sleep 300 >/dev/null 2>&1 &) ; exit 0'
settle
is "$(others)" '' 'nothing of it runs on'

# --- several runs at a time ---
mkfifo "$T/one.in" "$T/two.in"
guard run -- sh -c 'echo one >README.md; read -r line; cat README.md' \
	<"$T/one.in" >"$T/one.out" 2>"$T/one.err" &
one=$!
guard run -- sh -c 'echo two >README.md; read -r line; cat README.md' \
	<"$T/two.in" >"$T/two.out" 2>"$T/two.err" &
two=$!
exec 8>"$T/one.in" 9>"$T/two.in"
echo go >&8
echo go >&9
exec 8>&- 9>&-
wait $one
is $? 0 'the first of two runs at a time ends well'
wait $two
is $? 0 'the second too'
is "$(cat "$T/one.out") $(cat "$T/two.out")" 'one two' \
	'each sees its own layer'
manifest "$HOME" >"$T/after"
ok 'project and home are as before, still' same "$T/before" "$T/after"

# --- going on ---
gives 0 'a run with a result' guard run -- sh -c 'echo first >step.txt'
gives 0 'goes on with its layer' guard run --continue -- \
	sh -c 'cat step.txt; echo second >>step.txt'
is "$(cat "$out")" first 'it sees what it left'
gives 0 'its diff' guard diff
says "$out" '+second'
ok 'it is discarded' guard discard -y

# --- signals of guard itself ---
mkfifo "$T/ready"
guard run -q -- sh -c 'trap "echo caught; exit 7" TERM
	echo ready; while :; do sleep 0.05; done' >"$T/ready" 2>/dev/null &
runner=$!
{
	read -r line
	kill -TERM $runner
	read -r line2
} <"$T/ready"
wait $runner
is "$? $line $line2" '7 ready caught' 'SIGTERM of guard reaches the command'

# --- what is kept of a run ---
before=$(ls "$state/runs")
gives 0 'a run that changes nothing' guard run -- true
says "$err" 'changed nothing'
is "$(ls "$state/runs")" "$before" 'nothing of it is kept'
empty=$(find "$state/trash" -name '*-empty-*' | sort | tail -n 1)
ok 'it waits a minute for whoever is still at work in it' test -d "$empty"
mv "$empty" "$state/trash/1000000000-empty-${empty##*-empty-}"
gives 0 'another one' guard run -q -- true
# The kernel may still be at its work folder: the minute is there for that.
until=$(($(date +%s) + 60))
while [ "$(find "$state/trash" -name '1000000000-*' 2>/dev/null)" ] &&
	[ "$(date +%s)" -lt $until ]; do
	guard status >/dev/null 2>&1
done
is "$(find "$state/trash" -name '1000000000-*')" '' 'then it is gone'
gives 0 'a run that leaves a file in its /tmp' \
	guard run -- sh -c 'echo left >/tmp/note'
is "$(cat "$state"/trash/*-unchanged-*/tmp/note)" left \
	'that one waits in the trash'
gives 0 'a run' guard run -q -- sh -c 'echo done >done.txt'
id=$(guard list -q | head -n 1)
gives 0 'is applied' guard apply -y
ok 'its layer is kept' test -d "$state/runs/$id"
sed -i 's/^ended=.*/ended=1000000000.000000000/' "$state/runs/$id/record"
gives 0 'another one, much later' guard run -q -- sh -c 'echo x >x.txt'
no 'then it goes' test -d "$state/runs/$id"
ok 'to the trash' test -d "$state"/trash/*-applied-"$id"
ok 'the other is discarded' guard discard -y

finish
