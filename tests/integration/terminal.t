#!/bin/sh
# guard run at a terminal: a person types and sees the same as without guard,
# and the terminal is left as it was. tests/lib/pty.c plays the person.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

pty=$(dirname "$(command -v guard)")/tests/lib/pty
jobs=${0%/*}/../lib/jobs.pty
mkdir "$HOME/project"
cd "$HOME/project" || exit 99
seq 1 500 >lines
cat >"$HOME/outrc" <<'END'
PS1='out> '
bind 'set enable-bracketed-paste off'
saved=$(stty -g)
modes() { [ "$(stty -g)" = "$saved" ] && echo modes are kept; }
END
printf "PS1='in> '\nbind 'set enable-bracketed-paste off'\n" >inrc
TERM=xterm
export TERM

# play WHAT: the script on stdin is played at an interactive shell at its
# prompt. In addition to the words of pty:
#	run CMD		guard run -q -- CMD
#	back		at the prompt again, the terminal as it was
#	status N	that of the last command
#	bye		the shell ends
#	jobs		tests/lib/jobs.pty
play() {
	{
		echo 'prompt out>'
		sed -e 's/^run \(.*\)/> guard run -q -- \1\\r/' \
			-e 's/^back$/< out>\nsane\n> modes\\r\n< are kept\\r\\n/' \
			-e 's/^status \(.*\)/> echo status=$?\\r\n< status=\1/' \
			-e 's/^bye$/> exit\\r\nend 0/' \
			-e "/^jobs\$/{" -e "r $jobs" -e 'd' -e '}'
	} >"$T/script"
	gives 0 "$1" "$pty" "$T/script" bash --rcfile "$HOME/outrc" -i
}

play 'a shell in a run has job control' <<'END'
run bash --rcfile inrc -i
< in>
> echo $((6 * 7))\r
< 42
jobs
> exit 7\r
< out>
status 7
sane
> modes\r
< are kept\r\n
bye
END

play 'input typed before the run and its end reach the command' <<'END'
> sh -c 'echo waits; tail -f /dev/null; guard run -q -- cat; echo over=$?'\r
< waits\r\n
> hello\r\x04
< hello
kill tail
< hello
< over=0
back
bye
END

play 'Ctrl-Z of the command stops guard, and fg continues both' <<'END'
run sed -u s/^/said:/
> hello\r
< said:hello
> \x1a
< Stopped
back
> echo at the shell\r
< at the shell\r\n
< out>
> fg\r
< guard run
> again\r
< said:again
> \x1a
< Stopped
> bg\r
< guard run
> echo free\r
< free\r\n
> fg\r
> last\r
< said:last
> \x04
back
status 0
bye
END

play 'Ctrl-C ends the command, and guard has its status' <<'END'
run sh -c 'echo ready; exec sleep 1000'
< ready\r\n
> \x03
< out>
status 130
sane
> modes\r
< are kept\r\n
run sh -c 'trap "echo caught; exit 3" INT; echo ready; while :; do sleep .05; done'
< ready\r\n
> \x03
< caught
< out>
status 3
bye
END

# In sh -c: bash loses a typed line if a signal comes while it reads "$(".
play 'a new window size reaches the command' <<'END'
run sh -c 'trap "echo changed" WINCH; stty size; until [ "$(stty size)" = "33 101" ]; do :; done; echo done'
< 24 80\r\n
size 33 101
< changed\r\n
< done\r\n
back
bye
END

play 'a run in the background prints, and the shell keeps the terminal' <<'END'
run sh -c 'sleep .2; printf "one\\ntwo\\n"; exec sed -u s/^/said:/' &
< one\r\ntwo\r\n
> echo still here\r
< still here\r\n
> \r
> fg\r
< guard run
> read now\r
< said:read now
> \x04
back
bye
END

play 'terminal modes are reset after the run, and answers do not reach the shell' <<'END'
run sh -c 'stty raw -echo; printf "\\033[?1049h\\033[?1000h\\033[?1006h\\033[?25l\\033[?2004h\\033[?1004h\\033[?1h\\033[>1u\\033(0\\033[5n\\033[6n\\033[c"'
back
! 0n
! R
> echo typed\r
< typed\r\ntyped
bye
END

play 'a process left behind cannot read from the terminal' <<'END'
run sh -c 'setsid sh -c "while read x; do echo stolen \$x; done" & sleep .1; echo done'
< done\r\n
< out>
> echo secret\r
< secret\r\nsecret
! stolen
sane
> modes\r
< are kept\r\n
bye
END

play 'a hangup of the terminal ends the run' <<'END'
run sh -c 'echo ready; exec sleep 1234'
< ready\r\n
hangup
gone guard
gone sleep
END

play 'a hangup of the terminal ends a stopped run' <<'END'
run sh -c 'echo ready; exec sleep 1234'
< ready\r\n
> \x1a
< Stopped
hangup
gone guard
gone sleep
END

play 'a stopped run ends when its shell is killed' <<'END'
run sh -c 'echo ready; exec sleep 1236'
< ready\r\n
> \x1a
< Stopped
kill bash
hangup
gone guard
gone sleep
END

play 'a stopped run that ignores SIGHUP and reads keys ends' <<'END'
> trap '' HUP\r
< out>
run sh -c 'stty -icanon -echo; echo ready; exec cat'
< ready\r\n
> \x1a
< Stopped
kill bash
hangup
gone guard
gone cat
END

play 'a hangup ends a run that reads in the background' <<'END'
run sh -c 'echo ready; cat; echo read' &
< ready\r\n
kill bash
hangup
gone guard
END

play 'the terminal is usable and no process is left when guard is killed' <<'END'
run sh -c 'echo ready; exec sleep 1235'
< ready\r\n
kill guard
< Killed
< out>
gone sleep
> stty sane; echo fine\r
< fine
bye
END

if needs 'less' less; then
	play 'less works in a run and behind a pipe from one' <<'END'
run less lines
< 23\r\n
> G
< 500\r\n
> q
back
run cat lines | less
< 23\r\n
> G
< 500\r\n
> q
back
bye
END
fi

if needs 'vi' vi; then
	play 'vi can insert, write, stop, continue and quit' <<'END'
> guard run -- vi -u NONE -N note\r
< New
> i
< INSERT
> from vim\e:w\r
< written
> \x1a
< Stopped
back
> fg\r
< from vim
> :q\r
< 1 added
back
> guard show $(guard status -q):note 2>/dev/null || guard diff --no-pager\r
< from vim
> guard discard -q -y latest\r
< out>
bye
END
fi

# Ctrl-C does not shorten a sleep that has not begun: many short ones.
if needs 'python prompt' python3; then
	play 'a python prompt works' <<'END'
run /usr/bin/python3 -q
< >>>
> 6*7\r
< 42
> input()\r
> some text\r
< 'some text'
> import time; print('z' + 'z'); [time.sleep(.05) for i in range(9999)]\r
< zz\r
> \x03
< KeyboardInterrupt
< >>>
> \x04
back
bye
END
fi

if needs 'a program that draws' node; then
	cat >tui.js <<'END'
process.stdout.write('\x1b[?1049h\x1b[2J\x1b[?25l');
process.stdin.setRawMode(true);
const draw = () => process.stdout.write(
	`\x1b[Hsize ${process.stdout.columns}x${process.stdout.rows}.`);
process.stdout.on('resize', draw);
process.stdin.on('data', d => {
	process.stdout.write(`key ${d.toString('hex')}.`);
	if (d.toString() === 'q') {
		process.stdout.write('\x1b[?25h\x1b[?1049l');
		process.exit(5);
	}
});
draw();
END
	play 'a program that draws (node) works' <<'END'
run node tui.js
< size 80x24.
> \e[A
< key 1b5b41.
> \x03
< key 03.
size 30 90
< size 90x30.
> q
< out>
status 5
sane
> modes\r
< are kept\r\n
bye
END
fi

if needs 'tmux' tmux; then
	play 'tmux works in a run' <<'END'
run tmux -f /dev/null new-session bash --rcfile inrc -i
< in>
> echo $((1000 - 1))\r
< 999
> exit\r
< [exited]
back
bye
END
fi

# --- the summary ---
# A run that ends inside of a string, in a color, with another title, or with
# text beside the lines of guard.
cat >"$HOME/openers" <<'END'
\033Xsos
\033ktitle
\033Ptmux;\a
\033P+q\033
\033]2;title
\033]4;7;#000000\a\033]10;#000000\a
\033_apc\a
\033^pm\a
\033[
\033[38;5
\033[8;30;40m
\033(0\016
\033[?1049h\033[?69h
\033[2;70HFORGED\033[4;60HFORGED\033[H
END
if needs 'tmux' tmux; then
	# tmux has read all output when it answers a query (CSI c).
	cat >"$HOME/summary.sh" <<'END'
while read -ru 3 opener; do
	clear
	guard run -- sh -c 'date >changed; printf "$1"' sh "$opener"
	read -rs -d c -p $'\033[c'
	tmux capture-pane -e -p >"$HOME/screen"
	sed -n '/run .* 1 added/,$p' "$HOME/screen" >"$HOME/seen"
	grep -q 'guard discard' "$HOME/seen" &&
		! grep -q $'\033\|\016\|FORGED' "$HOME/seen" ||
		{ printf '%s\n' "$opener" && cat "$HOME/screen"; } \
			>>"$HOME/hidden"
	guard discard -q -y latest
done 3<"$HOME/openers"
tmux display-message -p '#{pane_title}' >"$HOME/title"
END
	: >"$HOME/hidden"
	play 'no output of a run hides, colors or completes the summary' <<'END'
> tmux -f /dev/null new-session sh -c 'printf "\\\\033]2;mine\\\\a"; bash ~/summary.sh'\r
< [exited]
bye
END
	is "$(cat -v "$HOME/hidden")" '' 'each summary is shown in plain text'
	is "$(cat "$HOME/title")" mine 'the title of the window is kept'
fi

# A run's end waits for the snapshot before the run, which another process
# delays: hold, > echo free >"$HOME/go"
workspace=$(dirname "$(find "$state/workspaces" -name snapshot.lock)")
mkfifo "$HOME/go"
cat >>"$HOME/outrc" <<END
hold() {
	(flock 7; echo held; read -r _ <~/go) 7>'$workspace/snapshot.lock' &
}
END
play 'a second Ctrl-C after the end of the command keeps the summary' <<'END'
> hold\r
< held
> guard run -- sh -c 'echo 2 >changed; echo ready; exec sleep 1000'\r
< ready\r\n
> \x03
< finishing the snapshot
> \x03
< its changes are being counted: Ctrl-C again
> \x1a
< Stopped
> echo >~/go; fg\r
< 1 added
< guard discard
status 130
bye
END
play 'a third Ctrl-C stops the count and names the run' <<'END'
> hold\r
< held
> guard run -- sh -c 'echo 3 >changed; echo ready; exec sleep 1000'\r
< ready\r\n
> \x03
< finishing the snapshot
> \x03
< its changes are being counted: Ctrl-C again
> \x03
< ended; changes not counted: guard diff
status 130
> echo >~/go; guard diff --no-pager\r
< 1 added
< +3
bye
END
for run in $(guard status -q); do
	guard discard -q -y "$run"
done
# At any time after the end of the command guard names the run.
for delay in 0 .01 .02 .05 .1 .2; do
	guard run -- sh -c 'echo >changed; exec echo' 2>"$err" >"$HOME/go" &
	read -r _ <"$HOME/go"
	sleep $delay
	kill -TERM $! 2>/dev/null
	wait $!
	is "$(grep -c 'guard diff' "$err")" 1 \
		"SIGTERM $delay s after the end of the command keeps the run's name"
	guard discard -q -y latest
done

# --- a narrow one ---
for run in $(guard status -q); do
	guard discard -q -y "$run"
done
guard run -q -- sh -c ": $(printf '%0300d' 0); echo >changed"
play 'tables and headings fit on a narrow terminal' <<'END'
size 24 50
> guard status\r
< exit 0  1 added\r\n
< \x20   sh -c
< out>
> guard diff --no-pager --stat\r
< $ sh -c : 0000
< 00000...\r\n
< changed
< out>
bye
END
guard discard -q -y latest
# Keys and lines are reset after any end of a command.
# "runs tail": dash loses a SIGINT while it forks.
printf '#!/bin/sh\nprintf "\\033[2h"\n"$@"\n' >locks
chmod 755 locks
play 'a locked keyboard does not stay, whatever ends the command' <<'END'
run ./locks true
< \x1b[2l\x1b[12h\x1b[20l\x1b[?9001l\x1b[?2l\x1b<\x1b%G
< \x1b]8;;\x1b\\
back
run ./locks sh -c 'kill -9 $PPID'
< \x1b[2h
< \x1b[2l
back
run ./locks tail -f /dev/null
< \x1b[2h
kill tail
< \x1b[2l
back
run ./locks tail -f /dev/null
< \x1b[2h
runs tail
> \x03
< \x1b[2l
back
bye
END

finish
