#!/bin/sh
# guard exec and guard shell: one more command in a live or an ended run.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/gate" old sub
mkfifo "$HOME/gate/go"
echo before >file
echo before >old/below
helpers=$(dirname "$(command -v guard)")/tests/lib
renamer=/opt/guard/${helpers#/opt/guard/}/renamer

# begin OPTIONS...: starts a run in the background that waits at the gate
begin() {
	rm -f "$T/live.err"
	guard run --rw "$HOME/gate" "$@" -- sh -c '
		echo "$$" >pid
		: >ready
		read -r _ <'"'$HOME'"'/gate/go' >"$T/live.out" 2>"$T/live.err" &
	guard=$!
	until run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' \
		"$T/live.err" 2>/dev/null) && [ -n "$run" ] &&
		[ -e "$state/runs/$run/upper/ready" ]; do
		kill -0 "$guard" || break
	done
}
end() {
	echo out >"$HOME/gate/go"
	wait "$guard"
}
# in_run SCRIPT: prints the output of a command in the run
in_run() {
	guard exec "$run" -- sh -c "$1" </dev/null
}

# hold_and SIGNAL SECONDS: starts an exec client, pid $held, whose command
# sleeps; the run then sends the signal to guard's process for it
hold_and() {
	in_run 'rm -f held'
	guard exec "$run" -- sh -c ": >held; exec sleep $2" </dev/null \
		>"$T/lost" 2>&1 &
	held=$!
	until [ -e "$state/runs/$run/upper/held" ]; do
		kill -0 "$held" || break
	done
	in_run 'for p in /proc/[0-9]*; do
		[ "$(cat $p/comm)" != guard ] || [ $p = /proc/1 ] ||
		[ $p = /proc/$PPID ] || kill -'"$1"' ${p#/proc/}; done'
}

# --- a live run ---
begin --pids-limit 200
gives 3 'guard exec ends with the status of its command in a live run' \
	guard exec "$run" -- sh -c 'echo seen: $(cat ready) $PWD; exit 3'
says "$out" "seen: $HOME/project"
is "$(cat "$err")" '' 'guard exec prints no message about a live run'
gives 143 'guard exec ends with 128 + signal where a signal ends its command' \
	guard exec "$run" -- sh -c 'kill $$'
gives 127 'a command that does not exist ends guard exec with 127' \
	guard exec "$run" -- nosuch
says "$err" "'nosuch': no such command in PATH"
gives 126 'a file that is not executable ends guard exec with 126' \
	guard exec "$run" -- ./file
gives 0 'a command of guard exec can write into the layer of the run' \
	guard exec "$run" -- sh -c 'echo exec >file; rm -r sub'
is "$(cat file)" before 'a write of guard exec does not reach the project'
gives 0 'guard diff shows the changes of guard exec' \
	guard diff --name-status "$run"
says "$out" file
says "$out" sub
gives 0 "guard exec accepts the beginning of a run's id" \
	guard exec "${run%?}" -- true
gives 0 'guard exec without a run enters the newest one' guard exec -- true
gives 0 "guard exec accepts 'latest' as a run" guard exec latest -- true
is "$(echo typed | guard exec "$run" -- cat)" typed \
	'stdin and stdout of guard exec can be pipes'
is "$(in_run 'echo "$GUARD $GUARD_RUN"')" "1 $run" \
	'a command of guard exec has the environment of the run'
is "$(A=here guard exec --env A --env B=2 --env NOT_SET "$run" -- \
	sh -c 'echo "$A $B ${NOT_SET-unset}"')" 'here 2 unset' \
		'--env passes named variables of the caller to guard exec'
is "$(SECRET=1 guard exec "$run" -- sh -c 'echo "${SECRET-none}"')" none \
	'variables that --env does not name do not reach the command'
is "$(cd old && guard exec "$run" -- pwd)" "$HOME/project/old" \
	"guard exec starts in the caller's directory inside of the project"
is "$(cd / && guard exec "$run" -- pwd)" "$HOME/project" \
	"guard exec starts in the run's directory when the caller is elsewhere"
is "$(guard exec -C /tmp "$run" -- pwd)" /tmp \
	'-C accepts any directory that the run can reach'
is "$(guard exec -C old "$run" -- pwd)" "$HOME/project/old" \
	"-C accepts a directory relative to the caller's"
gives 125 '-C of a directory that does not exist inside ends guard exec with 125' \
	guard exec -C /nosuch "$run" -- pwd
says "$err" "enter '/nosuch' inside the run"

# The complete sandbox, compared with that of the run's own command.
fence='for pid in $(cat pid) self; do
	grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)" /proc/$pid/status
	for ns in user mnt pid net ipc uts cgroup; do
		readlink /proc/$pid/ns/$ns; done
	grep -v "Max core" /proc/$pid/limits
	cat /proc/$pid/cgroup /proc/$pid/oom_score_adj /proc/$pid/mountinfo
	echo ---; done'
in_run "$fence" >"$T/fence"
ok "the run's own command has no_new_privs" grep -q 'NoNewPrivs:.1' "$T/fence"
is "$(sed '/^---$/,$d' "$T/fence" | cksum)" \
	"$(sed '1,/^---$/d; /^---$/d' "$T/fence" | cksum)" \
	'a later command has the ids, namespaces, limits and mounts of the run'
is "$(umask 27; in_run umask)" 0027 \
	'a command of guard exec has the umask of the caller'
is "$(in_run "ls -A $state 2>/dev/null | wc -l")" 0 \
	"guard's state is hidden from a command of guard exec"
if [ -x "$renamer" ]; then
	gives 0 'guard exec can rename a directory that is older than the run' \
		guard exec "$run" -- mv old renamed
	is "$(in_run 'cat renamed/below')" before \
		'the renamed directory has its entries'
	gives 0 'a background child of guard exec may outlive its command' \
		guard exec "$run" -- sh -c '
		(trap "" HUP; until [ -e now ]; do sleep .05; done
		mv renamed again && : >moved) >/dev/null 2>&1 &'
	gives 0 'the background child can rename a directory after its command has ended' \
		guard exec "$run" -- sh -c ': >now; n=0
		until [ -e moved ] || [ $n -gt 1000 ]; do
			sleep .05; n=$((n + 1)); done; [ -e again/below ]'
fi

# --- descriptors of the caller ---
echo secret >"$HOME/input"
gives 0 'guard exec accepts a file as stdin' sh -c 'guard exec "$0" -- sh -c "
	cat; echo hacked >/proc/self/fd/0" <"$1" 2>/dev/null; :' \
	"$run" "$HOME/input"
says "$out" secret
is "$(cat "$HOME/input")" secret \
	'the command can read the file on stdin, but not write to it'
sh -c 'guard exec "$0" -- true </' "$run" 2>"$err"
is $? 125 'guard exec refuses a directory as stdin'
says "$err" 'descriptor 0 is a directory'
is "$(guard exec "$run" -- sh -c 'echo /proc/self/fd/*' 9<"$HOME" </dev/null)" \
	"$(guard exec "$run" -- sh -c 'echo /proc/self/fd/*' </dev/null)" \
	'only stdin, stdout and stderr reach a command of guard exec'

# --- attacks of the run on guard's process for guard exec ---
cat >"$T/spy" <<'END'
found=0
for p in /proc/[0-9]*; do
	[ "$(cat "$p/comm")" = guard ] && [ "$p" != /proc/1 ] || continue
	found=$((found + 1))
	for secret in environ mem maps auxv; do
		head -c 1 "$p/$secret" >/dev/null 2>&1 && echo "read $p/$secret"
	done
	for way in fd/0 fd/3 cwd root exe ns/mnt; do
		ls -L "$p/$way" >/dev/null 2>&1 && echo "entered $p/$way"
		readlink "$p/$way" >/dev/null 2>&1 && echo "saw $p/$way"
	done
done
echo "found $found"
END
mkfifo "$HOME/gate/hold"
guard exec --env TOKEN=hunter2 "$run" -- \
	sh -c ': >held; read -r _ <"$HOME/gate/hold"' </dev/null 2>"$T/held" &
held=$!
until [ -e "$state/runs/$run/upper/held" ]; do
	kill -0 "$held" || break
done
gives 0 "the run can list guard's process for guard exec" \
	guard exec "$run" -- sh -c "$(cat "$T/spy")"
is "$(cat "$out")" 'found 2' \
	'the run can read and enter nothing of that process'
if needs 'a debugger' gdb; then
	pid=$(in_run 'for p in /proc/[0-9]*; do
		[ "$(cat $p/comm)" != guard ] || [ $p = /proc/1 ] ||
		[ $p = /proc/$PPID ] || echo ${p#/proc/}; done')
	gives 0 "a debugger in the run can be started on guard's process" \
		guard exec "$run" -- \
		gdb -batch -nx -ex 'set debuginfod enabled off' -p "$pid"
	says "$err" 'Operation not permitted'
fi
echo on >"$HOME/gate/hold"
wait "$held"
is $? 0 'the attacked guard exec ends with the status of its command'

# --- at a terminal ---
printf "PS1='in> '\nbind 'set enable-bracketed-paste off'\n" >"$HOME/inrc"
printf "PS1='out> '\nbind 'set enable-bracketed-paste off'\n" >"$HOME/outrc"
cat >"$T/script" <<END
prompt out>
> guard exec -q $run -- bash --rcfile ~/inrc -i\r
< in>
> tty; echo \$((6 * 7))\r
< /dev/pts/0\r\n42
$(cat "${0%/*}/../lib/jobs.pty")
size 33 101
> until [ "\$(stty size)" = '33 101' ]; do :; done; echo s''ized\r
< sized\r\n
> exit 7\r
< out>
> echo status=\$?\r
< status=7
sane
> guard exec -q $run -- sed -u s/^/said:/\r
> hello\r
< said:hello
> \x1a
< Stopped
< out>
sane
> fg\r
< guard exec
> again\r
< said:again
> \x04
< out>
> guard exec -q $run -- sh -c 'setsid sh -c "cat >/tmp/stolen" </dev/tty & until [ -e /tmp/stolen ]; do sleep .02; done'\r
< out>
sane
> echo a pass""word\r
< a password
> echo l''eft; cat </dev/null | guard exec -q $run -- cat /tmp/stolen; echo st=\$?\r
< left\r\nst=
> SHELL=/bin/bash guard shell $run\r
< a shell in run $run
> exit 4\r
< out>
> echo status=\$?\r
< status=4
> exit\r
end 0
END
gives 0 'guard exec and guard shell work at a terminal of their own' \
	env TERM=xterm \
	"$helpers/pty" "$T/script" bash --rcfile "$HOME/outrc" -i
no 'a process left behind by guard exec cannot read the terminal later' \
	guard exec "$run" -- grep -q password /tmp/stolen

# --- the end of guard exec or of its run ---
in_run 'rm -f held'
guard exec "$run" -- sh -c 'trap ": >hung; exit" HUP; : >held
	while :; do sleep .05; done' </dev/null >/dev/null 2>&1 &
held=$!
until [ -e "$state/runs/$run/upper/held" ]; do
	kill -0 "$held" || break
done
kill -KILL "$held"
wait "$held" 2>/dev/null
gives 0 'the command gets SIGHUP when its guard exec is killed' \
	guard exec "$run" -- \
	sh -c 'n=0; until [ -e hung ] || [ $n -gt 1000 ]; do
		sleep .05; n=$((n + 1)); done; [ -e hung ]'
gives 0 'the run continues when guard exec is killed' guard status
says "$out" running
hold_and KILL 1001
wait "$held"
is $? 137 "guard exec ends with 137 when the run kills guard's process for it"
ok "guard exec reports that the run stopped guard's process for it" \
	grep -q "stopped guard's process" "$T/lost"
gives 0 'the run accepts further commands after that kill' \
	guard exec "$run" -- true
hold_and STOP 1002
# Two signals in quick succession count as one.
while kill -TERM "$held" 2>/dev/null; do
	sleep .1
done
wait "$held"
is $? 137 "a third SIGTERM ends guard exec when the run stopped guard's process"
gives 0 'the run accepts further commands after that stop' \
	guard exec "$run" -- true
init=$(sed -n 's/^init=\([0-9]*\) .*/\1/p' "$state/runs/$run/record")
kill -STOP "$init"
guard exec "$run" -- echo through </dev/null >"$T/late" 2>"$T/late.err" &
late=$!
until grep -q 'does not answer' "$T/late.err"; do
	kill -0 "$late" || break
done
kill -CONT "$init"
wait "$late"
is "$? $(cat "$T/late")" '0 through' 'guard exec waits for a suspended run'
in_run 'rm -f held'
guard exec "$run" -- sh -c ': >held; exec sleep 1000' </dev/null 2>"$T/lost" &
lost=$!
until [ -e "$state/runs/$run/upper/held" ]; do
	kill -0 "$lost" || break
done
end
wait "$lost"
is $? 137 'the end of the run ends its later commands with 137'
ok 'guard exec reports that its run has ended' \
	grep -q "run $run has ended" "$T/lost"

# --- an ended run ---
gives 0 'guard exec enters the layer of an ended run' \
	guard exec "$run" -- sh -c '
	cat file; echo later >later'
says "$out" exec
says "$err" 'continued in its layer'
gives 0 'guard diff shows changes made after the run ended' \
	guard diff --name-status "$run"
says "$out" later
gives 0 'guard status lists the run with its first command' guard status
silent "$out" 'echo later'
gives 5 'guard exec ends with the status of its command in an ended run' \
	guard exec -q "$run" -- sh -c 'exit 5'
gives 0 "guard status keeps the exit status of the run's own command" \
	guard status --json
says "$out" '"exit": 0'
gives 127 'a command that does not exist ends guard exec with 127 in an ended run' \
	guard exec "$run" -- nosuch
gives 0 'a failed guard exec keeps the changes of earlier commands' \
	guard show "$run:later"
is "$(cat "$out")" later \
	'guard show prints the content that an earlier guard exec wrote'
# --- a command that changes nothing ---
guard exec -q "$run" -- true
record=$state/runs/$run/record
cp "$record" "$T/record"
gives 0 'guard exec can run a command that only reads' \
	guard exec "$run" -- cat later file
ok 'a command that only reads leaves the record of the run unchanged' \
	cmp -s "$record" "$T/record"
no 'a command that only reads leaves no mark of a live run' \
	test -e "$state/runs/$run/going"
is "$(guard status -q)" "$run" \
	'the run is still pending after a command that only reads'
gives 0 'guard exec can overwrite a file and restore its size and mtime' \
	guard exec -q "$run" -- sh -c '
	touch -r later kept; echo LATER >later; touch -r kept later; rm kept'
gives 0 'guard show finds the file after that' guard show "$run:later"
is "$(cat "$out")" LATER 'new content of the same size and mtime is stored'
gives 0 'guard exec can add a file to the upper layer of the home' \
	guard exec -q "$run" -- sh -c 'echo x >~/mine'
gives 0 'guard exec can delete a file of the upper layer of the home' \
	guard exec -q "$run" -- rm "$HOME/mine"
no 'that deletion changes the record of the run' cmp -s "$record" "$T/record"
gives 0 'guard shell works without a terminal' sh -c 'echo "echo \$((6 * 7))" |
	guard shell -q "$0"' "$run"
says "$out" 42
gives 0 'guard apply accepts a run that guard exec has changed' \
	guard apply -y "$run"
is "$(cat file)" exec 'guard apply includes the changes of guard exec'
gives 125 'guard exec refuses an applied run' guard exec "$run" -- true
says "$err" "run $run is applied: its layer can no longer be entered"

# --- the options of the run hold for later commands ---
echo key >"$HOME/private"
gives 0 'a run can have its own network, mask and variables' \
	guard run --net none --hide "$HOME/private" \
	--env TOKEN=hunter2 --env LATER -- sh -c 'echo 1 >new'
run=$(guard status -q)
look='wc -l </proc/net/dev; cat "$HOME/private"; echo "${TOKEN-no} ${LATER-no}"'
gives 0 'guard exec can enter that run' \
	env LATER=yes guard exec "$run" -- sh -c "$look"
is "$(cat "$out")" '3
no yes' \
	'guard exec keeps network, masks and names of variables, not their values'
says "$err" "'TOKEN' had a value in the run, which guard does not store"
silent "$err" "'LATER'"
gives 0 '--env gives guard exec the value again' \
	guard exec --env TOKEN=again "$run" -- \
	sh -c 'echo "$TOKEN"'
is "$(cat "$out")" again 'the command has the value of --env'
silent "$err" "'TOKEN' had"
mv "$HOME/private" "$HOME/renamed"
gives 125 'guard exec refuses a run whose masked file is gone' \
	guard exec "$run" -- cat "$HOME/renamed"
says "$err" "--hide '$HOME/private': no such file or directory"
says "$err" "guard run --continue=$run takes new ones"
gives 0 'guard run --continue takes the new name of the file' \
	guard run --continue="$run" --hide "$HOME/renamed" -- \
	cat "$HOME/renamed"
silent "$out" key
says "$err" "'$HOME/private' was hidden from run"
no 'the record of the run has no value of a variable' \
	grep -q hunter2 "$state/runs/$run/record"
gives 0 'guard discard drops the run' guard discard -y "$run"
gives 125 'guard exec refuses a discarded run' guard exec "$run" -- true
says "$err" "no such run: '$run'"

# --- interrupted ---
begin
kill -KILL "$guard"
wait "$guard" 2>/dev/null
gives 0 'guard exec can enter an interrupted run' \
	guard exec "$run" -- sh -c 'echo 2 >more'
gives 0 'guard diff shows the changes of both commands' \
	guard diff --name-only "$run"
says "$out" more
sed -i '/^options=/d' "$state/runs/$run/record"
gives 125 'guard exec refuses a run without stored options (of an older guard)' \
	guard exec "$run" -- true
says "$err" "guard run --continue=$run"

# --- refused calls ---
gives 125 'guard exec refuses an unknown run' guard exec no-such -- true
says "$err" "no such run: 'no-such'; \`guard status --all\`"
gives 125 'guard exec without a command is refused' guard exec "$run"
says "$err" 'no command given: guard exec RUN -- COMMAND'
gives 125 'guard exec without a command after -- is refused' \
	guard exec "$run" --
gives 125 '--env without a name is refused' guard exec --env = "$run" -- true
gives 125 'an unknown option is refused' guard exec --nosuch "$run" -- true
gives 125 'guard shell accepts one run only' guard shell "$run" "$run"
says "$err" 'expected at most one RUN'
gives 0 'a second run begins with the same characters' \
	guard run -q -- sh -c 'echo 3 >third'
first=$(printf %.2s "$run")
gives 125 'guard exec refuses an ambiguous beginning of an id' \
	guard exec "$first" -- true
says "$err" "$run"
if [ "$me" = root ]; then
	chown 4321 "$state/runs/$run"
	gives 125 'guard exec refuses a run of another user' \
		guard exec "$run" -- true
	says "$err" "run $run belongs to another user"
	chown 0 "$state/runs/$run"
fi

# --- runs with other sandboxes ---
begin --strict
is "$(in_run 'echo "$HOME $(id -u)"; touch /dev/shm/x; ls ~/project/file')" \
	"$HOME $(id -u)
$HOME/project/file" 'guard exec works in a run with --strict'
end
begin --nested
gives 0 'guard exec in a run with --nested can create a user namespace' \
	guard exec "$run" -- unshare -U true
end
if [ "$me" = root ]; then
	chmod 755 "$HOME" . && chmod 666 file
	: >"$T/user.err"
	guard run --user 4321 -- sh -c 'id -u >/tmp/id; exec sleep 1000' >/dev/null 2>"$T/user.err" &
	guard=$!
	until run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' \
		"$T/user.err") && [ -n "$run" ] &&
		[ -s "$state/runs/$run/tmp/id" ]; do
		kill -0 "$guard" || break
	done
	is "$(guard exec "$run" -- id -u)" 4321 \
		'guard exec has the user id of a run with --user'
	kill "$guard"
	wait "$guard"
fi
begin --pids-limit 30
guard exec "$run" -- sh -c 'n=0
	while [ $n -lt 40 ]; do sleep 1000 & n=$((n + 1)); done' \
	</dev/null >/dev/null 2>&1
if [ "$me" != root ]; then
	guard exec "$run" -- true </dev/null 2>"$err"
	says "$err" 'reached its limit of processes'
fi
end

# --- no new snapshot without a change ---
cd "$HOME/project" || exit 99
guard run -q -- sh -c 'echo kept >kept-result'
before=$(guard log -n 1000 | grep -c post-run)
gives 0 'guard exec can run a command that changes nothing' \
	guard exec -q -- true
is "$(guard log -n 1000 | grep -c post-run)" "$before" \
	'a command that changes nothing adds no snapshot of the result'
gives 0 'guard diff works after a command that changes nothing' guard diff
says "$out" +kept
gives 0 'guard exec can change a file of the result' \
	guard exec -q -- sh -c 'echo more >kept-result'
is "$(guard log -n 1000 | grep -c post-run)" "$((before + 1))" \
	'a command that changes a file adds one snapshot of the result'
guard discard -q -y
finish
