#!/bin/sh
# Files that a run left in its own /tmp, project and home: ls lists and show
# prints them, and none is trusted.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
echo same >same
mkdir sub
echo below >sub/below
echo secret >"$HOME/secret"
echo outside >/tmp/outside
mkdir -p "$HOME/.app"
echo real >"$HOME/.app/real"
cat >"$HOME/leave" <<'END'
mkdir -p /tmp/report/deep /var/tmp/v /tmp/shut
echo result >/tmp/report/deep/out.txt
echo v >/var/tmp/v/file
printf 'esc\033[31m\n' >"/tmp/$(printf 'red\033[31m')"
ln -s ~/secret /tmp/link
ln -s /tmp/outside /tmp/report/up
ln -s / /tmp/root
mkfifo /tmp/pipe
echo x >/tmp/shut/x
chmod 000 /tmp/shut
echo changed >changed
rm sub/below
echo cfg >~/.app/cfg
rm ~/.app/real
END
# The first snapshot may not be ready at the end of a run.
guard snapshot -q
gives 0 'a run leaves files in several places' guard run -- sh "$HOME/leave"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")

# --- lists ---
gives 0 'ls lists the private directories of a run' guard ls "$run:"
says "$out" '/tmp/report/'
says "$out" '/tmp/link'
says "$out" '/var/tmp/v/'
silent "$out" 'outside'
no 'ls prints no escape sequence' grep -q "$(printf '\033')" "$out"
gives 0 'ls accepts the id without a colon' guard ls "$run"
says "$out" '/var/tmp/v/'
gives 0 'ls -l lists a directory of a run' guard ls -l "$run:/tmp/report"
says "$out" 'up -> /tmp/outside'
says "$out" 'deep/'
gives 0 'ls accepts a directory of mode 000' guard ls "$run:/tmp/shut"
is "$(cat "$out")" x 'ls lists the entries of a directory of mode 000'
gives 0 'ls --json accepts a directory of a run' guard ls --json "$run:/tmp"
says "$out" '"name": "pipe"'
says "$out" '"type": "fifo"'
gives 0 "ls accepts a directory of the run's project" guard ls "$run:sub"
is "$(cat "$out")" '' 'ls lists the project as the run left it'
gives 0 'ls accepts an absolute path in the project' \
	guard ls "$run:$HOME/project"
says "$out" 'changed'
says "$out" 'same'
gives 0 "ls accepts a directory of the run's home" guard ls "$run:$HOME/.app"
is "$(cat "$out")" cfg 'ls does not list a deleted file'

# --- files ---
gives 0 "show accepts a file of the run's /tmp" \
	guard show "$run:/tmp/report/deep/out.txt"
is "$(cat "$out")" result "show prints a file of the run's /tmp"
gives 0 "show accepts a file of the run's /var/tmp" \
	guard show "$run:/var/tmp/v/file"
is "$(cat "$out")" v "show prints a file of the run's /var/tmp"
gives 0 'show accepts a changed file of the project' guard show "$run:changed"
is "$(cat "$out")" changed 'show prints a changed file of the project'
gives 0 'show accepts an unchanged file of the project' guard show "$run:same"
is "$(cat "$out")" same 'show prints an unchanged file of the project'
gives 0 'show accepts a file of the home' guard show "$run:$HOME/.app/cfg"
is "$(cat "$out")" cfg 'show prints a file of the home'

# --- refused paths ---
gives 1 'show does not follow a symbolic link' guard show "$run:/tmp/link"
silent "$out" secret
gives 1 'ls does not follow a link to a directory' guard ls "$run:/tmp/root"
silent "$out" etc
gives 1 'show does not follow a link in the path' \
	guard show "$run:/tmp/root/etc/passwd"
silent "$out" root:
gives 1 'show does not wait for a FIFO' timeout 60 guard show "$run:/tmp/pipe"
gives 1 'show refuses a file that the run did not leave' \
	guard show "$run:/tmp/outside"
gives 1 'show refuses a path with ..' guard show "$run:/tmp/../record"
gives 1 'ls refuses another directory' guard ls "$run:/etc"
says "$err" 'not in the run'
gives 1 'ls refuses an unknown run' guard ls 000000-00:

# --- sizes: directories of mode 000 made by the kernel are counted as empty, those of the run are reported ---
gives 0 'du accepts a layer with unreadable directories' guard du
if [ "$(id -u)" -eq 0 ]; then
	silent "$err" 'not counted'
else
	says "$err" 'not counted: 1 directory that could not be read'
fi
finish
