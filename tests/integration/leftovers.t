#!/bin/sh
# What a run left in its own /tmp, its project and its home: listed, printed,
# and none of it believed.
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
gives 0 'a run that leaves much' guard run -- sh "$HOME/leave"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")

# --- lists ---
gives 0 'its private folders' guard ls "$run:"
says "$out" '/tmp/report/'
says "$out" '/tmp/link'
says "$out" '/var/tmp/v/'
silent "$out" 'outside'
no 'no escape sequence gets through' grep -q "$(printf '\033')" "$out"
gives 0 'the id alone means the same' guard ls "$run"
says "$out" '/var/tmp/v/'
gives 0 'a folder in it' guard ls -l "$run:/tmp/report"
says "$out" 'up -> /tmp/outside'
says "$out" 'deep/'
gives 0 'a folder of mode 000' guard ls "$run:/tmp/shut"
is "$(cat "$out")" x 'what is in it'
gives 0 'as JSON' guard ls --json "$run:/tmp"
says "$out" '"name": "pipe"'
says "$out" '"type": "fifo"'
gives 0 'its project' guard ls "$run:sub"
is "$(cat "$out")" '' 'as it left it'
gives 0 'by its absolute path too' guard ls "$run:$HOME/project"
says "$out" 'changed'
says "$out" 'same'
gives 0 'its home' guard ls "$run:$HOME/.app"
is "$(cat "$out")" cfg 'a deleted file is not there'

# --- files ---
gives 0 'a file' guard show "$run:/tmp/report/deep/out.txt"
is "$(cat "$out")" result 'its bytes'
gives 0 'one in /var/tmp' guard show "$run:/var/tmp/v/file"
is "$(cat "$out")" v 'its bytes'
gives 0 'a file of the project' guard show "$run:changed"
is "$(cat "$out")" changed 'its bytes'
gives 0 'one that it did not change' guard show "$run:same"
is "$(cat "$out")" same 'its bytes'
gives 0 'one of the home' guard show "$run:$HOME/.app/cfg"
is "$(cat "$out")" cfg 'its bytes'

# --- what is no file, or not the run's ---
gives 1 'a link is not followed' guard show "$run:/tmp/link"
silent "$out" secret
gives 1 'nor one to a folder' guard ls "$run:/tmp/root"
silent "$out" etc
gives 1 'nor on the way' guard show "$run:/tmp/root/etc/passwd"
silent "$out" root:
gives 1 'a fifo is not waited for' timeout 60 guard show "$run:/tmp/pipe"
gives 1 'what the run did not leave' guard show "$run:/tmp/outside"
gives 1 'nor upwards' guard show "$run:/tmp/../record"
gives 1 'nor beside' guard ls "$run:/etc"
says "$err" 'neither in the run'
gives 1 'no such run' guard ls 000000-00:

# --- sizes: what the kernel shut for itself is no loss, what the run shut is ---
gives 0 'du with a layer' guard du
if [ "$(id -u)" -eq 0 ]; then
	silent "$err" 'not counted'
else
	says "$err" 'not counted: 1 folder that could not be read'
fi
finish
