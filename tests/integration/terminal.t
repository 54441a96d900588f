#!/bin/sh
# At a terminal: what a person types and sees is what it would be without
# guard, and the terminal is left as it was. tests/lib/pty.c is the person.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

pty=$(dirname "$(command -v guard)")/tests/lib/pty
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

have() {
	command -v "$1" >/dev/null 2>&1 && return
	skip "$2: there is no $1"
	return 1
}

# play WHAT: the script on stdin, at an interactive shell of the user's
play() {
	cat >"$T/script"
	gives 0 "$1" "$pty" "$T/script" bash --rcfile "$HOME/outrc" -i
}

play 'a shell: Ctrl-C, Ctrl-Z, fg, bg, its own jobs' <<'END'
prompt out>
> guard run -q -- bash --rcfile inrc -i\r
< in>
> echo $((6 * 7))\r
< 42
> sh -c 'echo begun; exec sleep 1000'\r
< begun\r\n
> \x03
< in>
> echo after=$?\r
< after=130\r\n
> sh -c 'echo begun; exec sleep 1001'\r
< begun\r\n
> \x1a
< Stopped
< in>
> bg\r
< sleep 1001' &
> jobs\r
< Running
> kill %1; wait %1; echo gone=$?\r
< gone=143
> exit 7\r
< out>
> echo status=$?\r
< status=7
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END

play 'Ctrl-Z of the command itself stops guard, fg brings it back' <<'END'
prompt out>
> guard run -q -- cat\r
> hello\r
< hello\r\nhello
> \x1a
< Stopped
< out>
sane
> modes\r
< are kept\r\n
> echo at the shell\r
< at the shell\r\n
< out>
> fg\r
< guard run
> again\r
< again\r\nagain
> \x1a
< Stopped
> bg\r
< guard run
> echo free\r
< free\r\n
> fg\r
> last\r
< last\r\nlast
> \x04
< out>
sane
> modes\r
< are kept\r\n
> echo status=$?\r
< status=0
> exit\r
end 0
END

play 'Ctrl-C ends what is in the foreground, with its status' <<'END'
prompt out>
> guard run -q -- sh -c 'echo ready; exec sleep 1000'\r
< ready\r\n
> \x03
< out>
> echo status=$?\r
< status=130
sane
> modes\r
< are kept\r\n
> guard run -q -- sh -c 'trap "echo caught; exit 3" INT; echo ready; while :; do sleep .05; done'\r
< ready\r\n
> \x03
< caught
< out>
> echo status=$?\r
< status=3
> exit\r
end 0
END

play 'a new size of the window arrives' <<'END'
prompt out>
> guard run -q -- bash --rcfile inrc -i\r
< in>
> stty size\r
< 24 80
> trap 'echo changed' WINCH\r
< in>
size 33 101
> \r
< changed
> stty size\r
< 33 101
> exit\r
< out>
> exit\r
end 0
END

play 'in the background: output comes, the terminal stays the shell'"'"'s' <<'END'
prompt out>
> guard run -q -- sh -c 'sleep .2; echo one; echo two; exec cat' &\r
< one\r\ntwo\r\n
> echo still here\r
< still here\r\n
> \r
> fg\r
< guard run
> read now\r
< read now\r\nread now
> \x04
< out>
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END

play 'modes that were left on are put back, answers do not reach the shell' <<'END'
prompt out>
> guard run -q -- sh -c 'stty raw -echo; printf "\\033[?1049h\\033[?1000h\\033[?1006h\\033[?25l\\033(0\\033[5n\\033[6n"'\r
< out>
sane
> modes\r
< are kept\r\n
! 0n
! R
> echo typed\r
< typed\r\ntyped
> exit\r
end 0
END

play 'who is left behind with the terminal reads nothing' <<'END'
prompt out>
> guard run -q -- sh -c 'setsid sh -c "while read x; do echo stolen \$x; done" & sleep .1; echo done'\r
< done\r\n
< out>
> echo secret\r
< secret\r\nsecret
! stolen
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END

play 'the terminal goes away while it runs' <<'END'
prompt out>
> guard run -q -- sh -c 'echo ready; exec sleep 1234'\r
< ready\r\n
hangup
gone guard
gone sleep
END

play 'the terminal goes away while it is stopped' <<'END'
prompt out>
> guard run -q -- sh -c 'echo ready; exec sleep 1234'\r
< ready\r\n
> \x1a
< Stopped
hangup
gone guard
gone sleep
END

play 'the terminal goes away while it reads in the background' <<'END'
prompt out>
> guard run -q -- sh -c 'echo ready; cat; echo read' &\r
< ready\r\n
kill bash
hangup
gone guard
END

play 'guard is killed: nothing is left, the terminal can be used' <<'END'
prompt out>
> guard run -q -- sh -c 'echo ready; exec sleep 1235'\r
< ready\r\n
kill guard
< Killed
< out>
gone sleep
> stty sane; echo fine\r
< fine
> exit\r
end 0
END

if have less 'less'; then
	play 'less: in a run, and behind one' <<'END'
prompt out>
> guard run -q -- less lines\r
< 23\r\n
> G
< 500\r\n
> q
< out>
sane
> modes\r
< are kept\r\n
> guard run -q -- cat lines | less\r
< 23\r\n
> G
< 500\r\n
> q
< out>
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END
fi

if have vi 'vi'; then
	play 'vi: insert, write, stop, go on, quit' <<'END'
prompt out>
> guard run -- vi -u NONE -N note\r
< New
> i
< INSERT
> from vim\e:w\r
< written
> \x1a
< Stopped
< out>
sane
> modes\r
< are kept\r\n
> fg\r
< from vim
> :q\r
< 1 added
< out>
sane
> modes\r
< are kept\r\n
> guard show $(guard status -q):note 2>/dev/null || guard diff --no-pager\r
< from vim
> guard discard -q -y\r
< out>
> exit\r
end 0
END
fi

if have python3 'python prompt' && /usr/bin/python3 -c '' 2>/dev/null; then
	play 'a python prompt' <<'END'
prompt out>
> guard run -q -- /usr/bin/python3 -q\r
< >>>
> 6*7\r
< 42
> input()\r
> some text\r
< 'some text'
> import time; print('z' + 'z'); time.sleep(1000)\r
< zz\r
> \x03
< KeyboardInterrupt
< >>>
> \x04
< out>
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END
fi

if have node 'a program that draws' && node -e '' 2>/dev/null; then
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
	play 'a program that draws (node)' <<'END'
prompt out>
> guard run -q -- node tui.js\r
< size 80x24.
> \e[A
< key 1b5b41.
> \x03
< key 03.
size 30 90
< size 90x30.
> q
< out>
> echo status=$?\r
< status=5
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END
fi

if have tmux 'tmux'; then
	play 'tmux in a run' <<'END'
prompt out>
> guard run -q -- tmux -f /dev/null new-session bash --rcfile inrc -i\r
< in>
> echo $((1000 - 1))\r
< 999
> exit\r
< [exited]
< out>
sane
> modes\r
< are kept\r\n
> exit\r
end 0
END
fi

finish
