#!/bin/sh
# guard run: the exit status, and the view and permissions of the command.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
manifest "$HOME" >"$T/before"

# --- exit status ---
gives 0 'guard run of a successful command ends with 0' guard run -- true
gives 1 'guard run of a failing command ends with 1' guard run -- false
gives 42 'guard run ends with the status of the command' \
	guard run -- sh -c 'exit 42'
gives 124 'a status of the command that guard uses too is passed on' \
	guard run -- sh -c 'exit 124'
gives 143 'a command ended by SIGTERM gives 143' \
	guard run -- sh -c 'kill -TERM $$'
gives 137 'a command ended by SIGKILL gives 137' \
	guard run -- sh -c 'kill -KILL $$'
gives 127 'a missing command gives 127' guard run -- no-such-command-here
says "$err" 'no-such-command-here'
gives 126 'a file that is not executable gives 126' guard run -- ./README.md
says "$err" "run './README.md': you may not execute it"
gives 126 'a directory as command gives 126' guard run -- ./src
says "$err" "run './src': it is a directory"
gives 124 '--timeout ends the command and gives 124' \
	guard run --timeout 0.3s -- sleep 60
says "$err" 'timeout'
gives 125 'an unknown option gives 125' guard run --no-such-option -- true
gives 125 'guard run without a command gives 125' guard run --
gives 125 '/ is refused as a project' guard -C / run -- true
says "$err" "'/'"
gives 125 'the home is refused as a project' guard -C "$HOME" run -- true
says "$err" 'home'
mkdir -p "$state"
gives 125 "guard's state is refused as a project" guard -C "$state" run -- true
gives 125 'a missing directory is refused as a project' \
	guard -C /no/such/folder run -- true
says "$err" '/no/such/folder'
if [ "$me" = root ]; then
	skip 'root can read every project'
else
	mkdir "$HOME/closed"
	chmod 000 "$HOME/closed"
	gives 125 'a directory that cannot be read is refused as a project' \
		guard -C "$HOME/closed" run -- true
	says "$err" 'closed'
	rmdir "$HOME/closed"
	touch -r "$HOME/project/docs" "$HOME" # its time: compared below
	manifest "$HOME" >"$T/before"
fi

# --- arguments and environment ---
gives 0 'a command with unusual arguments ends with 0' \
	guard run -- printf '<%s>' 'a b' '' '--help' '$x' "$(printf 'n\nl')"
is "$(cat "$out")" "<a b><><--help><\$x><n
l>" 'arguments reach the command unchanged'
gives 0 'guard run env ends with 0' guard run -- env
says "$out" 'GUARD=1'
says "$out" 'GUARD_RUN='
says "$out" "HOME=$HOME"
silent "$out" 'GUARD_HOME'
SECRET_TOKEN=hush AWS_SECRET_ACCESS_KEY=hush SSH_AUTH_SOCK=/x \
	gives 0 'guard run env with secrets ends with 0' guard run -- env
silent "$out" 'hush'
silent "$out" 'SSH_AUTH_SOCK'
says "$err" 'SECRET_TOKEN'
SECRET_TOKEN=told gives 0 '--env passes a secret on' \
	guard run --env SECRET_TOKEN --env OTHER=value -- env
says "$out" 'SECRET_TOKEN=told'
says "$out" 'OTHER=value'
gives 0 'guard run accepts a pipe as stdin' \
	sh -c 'echo words | guard run -q -- cat'
is "$(cat "$out")" 'words' 'stdin reaches the command'
gives 0 '-C starts the run in a subdirectory' guard -C src/deep run -q -- pwd
is "$(cat "$out")" "$HOME/project/src/deep" \
	"the command starts in the caller's directory"
gives 3 'further descriptors of the caller do not reach the command' \
	sh -c 'exec 7<README.md
	guard run -q -- sh -c "read -r line <&7 2>/dev/null || exit 3"'

# --- paths that a run cannot write ---
for path in /usr/x /etc/x /opt/x /srv/x /x; do
	no "a run cannot create $path" guard run -q -- touch "$path"
	no "$path does not exist outside" test -e "$path"
done
ok 'a run can write to its private /tmp, /dev/shm and /run' guard run -q -- \
	sh -c 'echo x >/tmp/a; echo x >/var/tmp/a; echo x >/dev/shm/a; echo x >/run/a'
no 'files of the private /tmp do not exist outside' \
	sh -c 'test -e /tmp/a || test -e /var/tmp/a || test -e /dev/shm/a || test -e /run/a'
echo mine >/tmp/mine
no 'a run does not see the /tmp of the machine' \
	guard run -q -- test -e /tmp/mine
gives 0 'a run of a program with a file of /tmp ends with 0' \
	guard run -- true /tmp/mine
says "$err" "'/tmp/mine' is not visible in the run"
mkdir -p /var/tmp/home/project
echo one >/var/tmp/home/file
gives 0 'a file in a home directory below /var/tmp is visible' \
	env HOME=/var/tmp/home GUARD_HOME="$state" \
	guard run -C /var/tmp/home/project -- cat /var/tmp/home/file
silent "$err" 'is not visible in the run'
no 'a run has no capability' guard run -q -- sh -c \
	'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status'
ok 'a run has no_new_privs' guard run -q -- \
	grep -q '^NoNewPrivs:.*1' /proc/self/status
no 'a run cannot mount' guard run -q -- mount -t tmpfs none /mnt
no 'a run cannot create a user namespace' guard run -q -- unshare -Ur true

# --- masked paths and resources ---
no "a run does not see guard's state" \
	guard run -q -- sh -c "ls -A '$state' | grep ."
no "a run does not see files of guard's state" guard run -q -- sh -c \
	"test -e '$state/store' || test -e '$state/runs'"
gives 0 'a run can list its processes' \
	guard run -q -- sh -c 'ls -d /proc/[0-9]* | wc -l'
ok 'a run sees only its own processes' test "$(cat "$out")" -le 8
sleep 300 &
sleeper=$!
no 'a run cannot signal a process outside' guard run -q -- kill -9 $sleeper
gives 137 'kill -9 -1 in a run kills only the run' guard run -q -- \
	sh -c 'kill -9 -1; kill -9 $$'
ok 'the process outside is still running' kill -0 $sleeper
kill $sleeper
wait $sleeper 2>/dev/null

# --- project and home are layers ---
gives 0 'a run can change project and home' guard run -- sh -c '
	echo changed >README.md && rm src/f5.c && echo new >new.txt &&
	echo new >~/new-in-home && rm ~/documents/letters/one.txt &&
	echo more >>~/.bashrc && mkdir -p a/b/c && mv docs docs2 &&
	chmod 700 run.sh'
says "$err" 'guard diff'
says "$err" 'guard apply'
says "$err" 'guard discard'
manifest "$HOME" >"$T/after"
ok 'project and home outside are unchanged' same "$T/before" "$T/after"

# --- background processes end with the run ---
gives 0 'a run with a background process ends with 0' guard run -q -- sh -c '
	(setsid sleep 300 >/dev/null 2>&1 &) ; exit 0'
settle
is "$(others)" '' 'no process of the run is left'

# --- two runs at once ---
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
is $? 0 'the first of two runs at once ends with 0'
wait $two
is $? 0 'the second of two runs at once ends with 0'
is "$(cat "$T/one.out") $(cat "$T/two.out")" 'one two' \
	'each of two runs sees its own layer'
manifest "$HOME" >"$T/after"
ok 'project and home are unchanged after two runs' same "$T/before" "$T/after"

# --- run --continue ---
gives 0 'a run writes a file' guard run -- sh -c 'echo first >step.txt'
gives 0 'run --continue keeps the layer' guard run --continue -- \
	sh -c 'cat step.txt; echo second >>step.txt'
is "$(cat "$out")" first 'the continued run sees the file'
gives 0 'diff accepts the continued run' guard diff
says "$out" '+second'
ok 'discard drops the continued run' guard discard -y latest

# --- signals to guard ---
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
is "$? $line $line2" '7 ready caught' 'guard forwards SIGTERM to the command'

# --- data that stays after a run ---
before=$(ls "$state/runs")
gives 0 'a run without changes ends with 0' guard run -- true
says "$err" 'changed nothing'
is "$(ls "$state/runs")" "$before" 'nothing of a run without changes is kept'
empty=$(find "$state/trash" -name '*-empty-*' | sort | tail -n 1)
ok 'a run without changes stays in the trash for a minute' test -d "$empty"
mv "$empty" "$state/trash/1000000000-empty-${empty##*-empty-}"
gives 0 'a later run empties the trash' guard run -q -- true
# The kernel may still use the work directory; hence the minute.
until=$(($(date +%s) + 60))
while [ "$(find "$state/trash" -name '1000000000-*' 2>/dev/null)" ] &&
	[ "$(date +%s)" -lt $until ]; do
	guard status >/dev/null 2>&1
done
is "$(find "$state/trash" -name '1000000000-*')" '' \
	'the run in the trash is gone after a minute'
gives 0 'a run leaves a file in its /tmp' \
	guard run -- sh -c 'echo left >/tmp/note'
is "$(cat "$state"/trash/*-unchanged-*/tmp/note)" left \
	'a run with a file in its /tmp stays in the trash'
gives 0 'a run adds a file' guard run -q -- sh -c 'echo done >done.txt'
id=$(guard list -q | head -n 1)
gives 0 'apply accepts that run' guard apply -y latest
ok 'the layer of an applied run is kept' \
	test -d "$state/runs/closed/$id"
sed -i 's/^ended=.*/ended=1000000000.000000000/' \
	"$state/runs/closed/$id/record"
rm -f "$state/last-retired"
gives 0 'a much later run ends with 0' guard run -q -- sh -c 'echo x >x.txt'
no 'the layer of an old applied run is removed' \
	test -d "$state/runs/closed/$id"
ok 'the layer of an old applied run is in the trash' \
	test -d "$state"/trash/*-applied-"$id"
ok 'discard drops the other run' guard discard -y latest

finish
