#!/bin/sh
# guard exec and guard shell: one more command in a run, be it live or ended.
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

# begin OPTIONS...: a run in the background that waits at the gate
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
# in_run WHAT: what a command in the run says of itself
in_run() {
	guard exec "$run" -- sh -c "$1" </dev/null
}

# hold_and SIGNAL SECONDS: a visitor, whose guard in $held, that sleeps; the run
# sends the signal to guard's process for him
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
gives 3 'a command in a live run ends as it ends' \
	guard exec "$run" -- sh -c 'echo seen: $(cat ready) $PWD; exit 3'
says "$out" "seen: $HOME/project"
is "$(cat "$err")" '' 'and nothing is said about it'
gives 143 'a signal too' guard exec "$run" -- sh -c 'kill $$'
gives 127 'no such command' guard exec "$run" -- nosuch
says "$err" "'nosuch': no such command in PATH"
gives 126 'not executable' guard exec "$run" -- ./file
gives 0 'it writes into the layer' \
	guard exec "$run" -- sh -c 'echo exec >file; rm -r sub'
is "$(cat file)" before 'and into nothing else'
gives 0 'which is reviewed' guard diff --name-status "$run"
says "$out" file
says "$out" sub
gives 0 'by its beginning' guard exec "${run%?}" -- true
gives 0 'the newest without a name' guard exec -- true
gives 0 'latest' guard exec latest -- true
is "$(echo typed | guard exec "$run" -- cat)" typed 'stdin, stdout: pipes'
is "$(in_run 'echo "$GUARD $GUARD_RUN"')" "1 $run" 'its environment is the run'"'"'s'
is "$(A=here guard exec --env A --env B=2 --env NOT_SET "$run" -- \
	sh -c 'echo "$A $B ${NOT_SET-unset}"')" 'here 2 unset' 'and what is named'
is "$(SECRET=1 guard exec "$run" -- sh -c 'echo "${SECRET-none}"')" none \
	'not what is not'
is "$(cd old && guard exec "$run" -- pwd)" "$HOME/project/old" \
	'it starts here when that is in the project'
is "$(cd / && guard exec "$run" -- pwd)" "$HOME/project" \
	'where the run began otherwise'
is "$(guard exec -C /tmp "$run" -- pwd)" /tmp '-C: anywhere the run can be'
is "$(guard exec -C old "$run" -- pwd)" "$HOME/project/old" 'or below here'
gives 125 'but not where it cannot' guard exec -C /nosuch "$run" -- pwd
says "$err" "enter '/nosuch' inside the run"

# The whole fence, compared with that of the run's own command.
fence='for pid in $(cat pid) self; do
	grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)" /proc/$pid/status
	for ns in user mnt pid net ipc uts cgroup; do
		readlink /proc/$pid/ns/$ns; done
	grep -v "Max core" /proc/$pid/limits
	cat /proc/$pid/cgroup /proc/$pid/oom_score_adj /proc/$pid/mountinfo
	echo ---; done'
in_run "$fence" >"$T/fence"
ok 'the fence of the run is there' grep -q 'NoNewPrivs:.1' "$T/fence"
is "$(sed '/^---$/,$d' "$T/fence" | cksum)" \
	"$(sed '1,/^---$/d; /^---$/d' "$T/fence" | cksum)" \
	'the same for the later command'
is "$(umask 27; in_run umask)" 0027 'the mask for new files is the caller'"'"'s'
is "$(in_run "ls -A $state 2>/dev/null | wc -l")" 0 'the state is as hidden'
if [ -x "$renamer" ]; then
	gives 0 'a folder that is older than the run can be renamed' \
		guard exec "$run" -- mv old renamed
	is "$(in_run 'cat renamed/below')" before 'with what is in it'
	gives 0 'a child that is left behind' guard exec "$run" -- sh -c '
		(trap "" HUP; until [ -e now ]; do sleep .05; done
		mv renamed again && : >moved) >/dev/null 2>&1 &'
	gives 0 'renames too, when its command has long ended' \
		guard exec "$run" -- sh -c ': >now; n=0
		until [ -e moved ] || [ $n -gt 1000 ]; do
			sleep .05; n=$((n + 1)); done; [ -e again/below ]'
fi

# --- what comes along ---
echo secret >"$HOME/input"
gives 0 'a file on stdin' sh -c 'guard exec "$0" -- sh -c "
	cat; echo hacked >/proc/self/fd/0" <"$1" 2>/dev/null; :' \
	"$run" "$HOME/input"
says "$out" secret
is "$(cat "$HOME/input")" secret 'can be read and not written'
sh -c 'guard exec "$0" -- true </' "$run" 2>"$err"
is $? 125 'a folder is no stdin'
says "$err" 'descriptor 0 is a folder'
is "$(guard exec "$run" -- sh -c 'echo /proc/self/fd/*' 9<"$HOME" </dev/null)" \
	"$(guard exec "$run" -- sh -c 'echo /proc/self/fd/*' </dev/null)" \
	'no other descriptor comes along'

# --- from inside, against who enters ---
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
gives 0 'the process for a visitor, seen from the run' \
	guard exec "$run" -- sh -c "$(cat "$T/spy")"
is "$(cat "$out")" 'found 2' 'shows nothing and lets nobody in'
if needs 'a debugger' gdb; then
	pid=$(in_run 'for p in /proc/[0-9]*; do
		[ "$(cat $p/comm)" != guard ] || [ $p = /proc/1 ] ||
		[ $p = /proc/$PPID ] || echo ${p#/proc/}; done')
	gives 0 'a debugger' guard exec "$run" -- \
		gdb -batch -nx -ex 'set debuginfod enabled off' -p "$pid"
	says "$err" 'Operation not permitted'
fi
echo on >"$HOME/gate/hold"
wait "$held"
is $? 0 'it ends as if nobody had looked'

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
> guard exec -q $run -- sh -c 'setsid sh -c "cat >/tmp/stolen" </dev/tty & sleep .2'\r
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
gives 0 'a person at a terminal of the run'"'"'s own' env TERM=xterm \
	"$helpers/pty" "$T/script" bash --rcfile "$HOME/outrc" -i
no 'what is typed later reaches nobody in it' \
	guard exec "$run" -- grep -q password /tmp/stolen

# --- ends ---
in_run 'rm -f held'
guard exec "$run" -- sh -c 'trap ": >hung; exit" HUP; : >held
	while :; do sleep .05; done' </dev/null >/dev/null 2>&1 &
held=$!
until [ -e "$state/runs/$run/upper/held" ]; do
	kill -0 "$held" || break
done
kill -KILL "$held"
wait "$held" 2>/dev/null
gives 0 'kill -9 of who entered hangs his command up' guard exec "$run" -- \
	sh -c 'n=0; until [ -e hung ] || [ $n -gt 1000 ]; do
		sleep .05; n=$((n + 1)); done; [ -e hung ]'
gives 0 'and the run goes on' guard status
says "$out" running
hold_and KILL 1001
wait "$held"
is $? 137 'a run that kills the process for a visitor'
ok 'only loses him' grep -q "stopped guard's process for it" "$T/lost"
gives 0 'and nothing else' guard exec "$run" -- true
hold_and STOP 1002
# Two that come at once are one.
while kill -TERM "$held" 2>/dev/null; do
	sleep .1
done
wait "$held"
is $? 137 'where it stops that process, a third SIGTERM leaves'
gives 0 'and the run still goes on' guard exec "$run" -- true
init=$(sed -n 's/^init=\([0-9]*\) .*/\1/p' "$state/runs/$run/record")
kill -STOP "$init"
guard exec "$run" -- echo through </dev/null >"$T/late" 2>"$T/late.err" &
late=$!
until grep -q 'does not answer' "$T/late.err"; do
	kill -0 "$late" || break
done
kill -CONT "$init"
wait "$late"
is "$? $(cat "$T/late")" '0 through' 'a run that is held still is waited for'
in_run 'rm -f held'
guard exec "$run" -- sh -c ': >held; exec sleep 1000' </dev/null 2>"$T/lost" &
lost=$!
until [ -e "$state/runs/$run/upper/held" ]; do
	kill -0 "$lost" || break
done
end
wait "$lost"
is $? 137 'with the run its later commands end'
ok 'and it is said' grep -q "run $run has ended" "$T/lost"

# --- one that has ended ---
gives 0 'a command in its layer' guard exec "$run" -- sh -c '
	cat file; echo later >later'
says "$out" exec
says "$err" 'going on with its layer'
gives 0 'what waits is looked at anew' guard diff --name-status "$run"
says "$out" later
gives 0 'the run keeps its name' guard status
silent "$out" 'echo later'
gives 5 'its status' guard exec -q "$run" -- sh -c 'exit 5'
gives 0 'is not the run'"'"'s' guard status --json
says "$out" '"exit": 0'
gives 127 'what cannot be run' guard exec "$run" -- nosuch
gives 0 'takes nothing away' guard show "$run:later"
is "$(cat "$out")" later 'what was stored stays'
# --- one that only looks ---
guard exec -q "$run" -- true
record=$state/runs/$run/record
cp "$record" "$T/record"
gives 0 'what only looks' guard exec "$run" -- cat later file
ok 'leaves the record of the run as it was' cmp -s "$record" "$T/record"
no 'and nothing beside it' test -e "$state/runs/$run/going"
is "$(guard status -q)" "$run" 'the run waits as before'
gives 0 'who writes without another size or time' guard exec -q "$run" -- sh -c '
	touch -r later kept; echo LATER >later; touch -r kept later; rm kept'
gives 0 'has written' guard show "$run:later"
is "$(cat "$out")" LATER 'and it is stored'
gives 0 'who removes something from the home'"'"'s layer' \
	guard exec -q "$run" -- sh -c 'echo x >~/mine'
gives 0 'too' guard exec -q "$run" -- rm "$HOME/mine"
no 'the record says so' cmp -s "$record" "$T/record"
gives 0 'a shell without a terminal' sh -c 'echo "echo \$((6 * 7))" |
	guard shell -q "$0"' "$run"
says "$out" 42
gives 0 'apply' guard apply -y "$run"
is "$(cat file)" exec 'takes all of it over'
gives 125 'one that is applied' guard exec "$run" -- true
says "$err" "run $run is applied: its layer cannot be entered any more"

# --- its options hold later too ---
echo key >"$HOME/private"
gives 0 'a run with a policy' guard run --net none --hide "$HOME/private" \
	--env TOKEN=hunter2 --env LATER -- sh -c 'echo 1 >new'
run=$(guard status -q)
look='wc -l </proc/net/dev; cat "$HOME/private"; echo "${TOKEN-no} ${LATER-no}"'
gives 0 'and a later command' env LATER=yes guard exec "$run" -- sh -c "$look"
is "$(cat "$out")" '3
no yes' 'the same network, the same masks; of variables only the names'
says "$err" "'TOKEN' had a value in the run, which guard does not keep"
silent "$err" "'LATER'"
gives 0 'given again' guard exec --env TOKEN=again "$run" -- \
	sh -c 'echo "$TOKEN"'
is "$(cat "$out")" again 'it has one'
silent "$err" "'TOKEN' had"
no 'and no value is in the record' grep -q hunter2 "$state/runs/$run/record"
gives 0 'discard' guard discard -y "$run"
gives 125 'one that is discarded' guard exec "$run" -- true
says "$err" "there is no run '$run'"

# --- interrupted ---
begin
kill -KILL "$guard"
wait "$guard" 2>/dev/null
gives 0 'a run that was interrupted' guard exec "$run" -- sh -c 'echo 2 >more'
gives 0 'is whole' guard diff --name-only "$run"
says "$out" more
sed -i '/^options=/d' "$state/runs/$run/record"
gives 125 'one of an earlier guard' guard exec "$run" -- true
says "$err" "guard run --continue=$run"

# --- what cannot be ---
gives 125 'an unknown run' guard exec zz -- true
says "$err" "there is no run 'zz': \`guard status --all\`"
gives 125 'no command' guard exec "$run"
says "$err" 'which command? guard exec RUN -- COMMAND'
gives 125 'none behind the dashes' guard exec "$run" --
gives 125 'a variable without a name' guard exec --env = "$run" -- true
gives 125 'an unknown option' guard exec --nosuch "$run" -- true
gives 125 'two runs for a shell' guard shell "$run" "$run"
says "$err" 'one run at most'
gives 0 'another run' guard run -q -- sh -c 'echo 3 >third'
first=$(printf %.2s "$run")
gives 125 'an ambiguous beginning' guard exec "$first" -- true
says "$err" "$run"
if [ "$me" = root ]; then
	chown 4321 "$state/runs/$run"
	gives 125 'one of another user' guard exec "$run" -- true
	says "$err" "run $run belongs to another user"
	chown 0 "$state/runs/$run"
fi

# --- other fences ---
begin --strict
is "$(in_run 'echo "$HOME $(id -u)"; touch /dev/shm/x; ls ~/project/file')" \
	"$HOME $(id -u)
$HOME/project/file" 'with --strict'
end
begin --nested
gives 0 'with --nested' guard exec "$run" -- unshare -U true
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
	is "$(guard exec "$run" -- id -u)" 4321 'with --user'
	kill "$guard"
	wait "$guard"
fi
begin --pids-limit 30
guard exec "$run" -- sh -c 'n=0
	while [ $n -lt 40 ]; do sleep 1000 & n=$((n + 1)); done' \
	</dev/null >/dev/null 2>&1
if [ "$me" != root ]; then
	guard exec "$run" -- true </dev/null 2>"$err"
	says "$err" 'no room for another process'
fi
end

# --- who changes nothing ---
cd "$HOME/project" || exit 99
guard run -q -- sh -c 'echo kept >kept-result'
before=$(guard log -n 1000 | grep -c post-run)
gives 0 'one who changes nothing' guard exec -q -- true
is "$(guard log -n 1000 | grep -c post-run)" "$before" 'adds no result'
gives 0 'what is there' guard diff
says "$out" +kept
gives 0 'one who does' guard exec -q -- sh -c 'echo more >kept-result'
is "$(guard log -n 1000 | grep -c post-run)" "$((before + 1))" 'adds one'
guard discard -q -y
finish
