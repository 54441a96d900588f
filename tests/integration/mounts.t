#!/bin/sh
# Mounts inside of the project and below the home: each has a layer of its own
# or is read-only, and the directories around it work as usual.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# A plain user mounts in a namespace.
if [ "$me" != root ] && [ -z "${INNER:-}" ]; then
	if INNER=1 unshare --map-current-user --keep-caps --mount true; then
		rm -rf "$T"
		INNER=1 exec unshare --map-current-user --keep-caps --mount \
			sh "$0"
	fi
	skip 'the plain user cannot mount here'
	finish
fi

# last_run: the id of the run that guard printed last
last_run() {
	sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err"
}

make_home
mkdir -p "$HOME/app/src/deep" "$HOME/app/data/cold" "$HOME/app/bound" \
	"$HOME/app/sys" "$HOME/elsewhere" "$HOME/app/gone"
cd "$HOME/app" || exit 99
git init -q .
echo one >src/one
echo two >two
echo gone >gone/file
echo top >deleted
ln -s two link
git add -A
git commit -q -m first
echo real >"$HOME/elsewhere/real"
mount -t tmpfs data data || exit 99
mount --bind "$HOME/elsewhere" bound || exit 99
mkdir data/sub data/cold
echo warm >data/sub/warm
mount -t tmpfs cold data/cold || exit 99
echo ice >data/cold/ice
mounts_before=$(mounts)

# --- in the project ---
cat >"$T/work" <<'END'
set -e
test "$(cat src/one two link data/sub/warm data/cold/ice bound/real)" = \
	"$(printf 'one\ntwo\ntwo\nwarm\nice\nreal')"
echo more >>src/one
echo more >>two
rm deleted
rm -r gone/file
echo new >new
mkdir newdir
echo in >newdir/in
rm data/sub/warm
! rmdir data/sub 2>/dev/null
echo cold >data/cold/made
echo over >bound/real
cd src/deep
git status --porcelain
END
gives 0 'a run can change files in mounts of the project' \
	guard run --ro "$T/work" -- \
	sh -e "$T/work"
run=$(last_run)
says "$err" "'$HOME/app' has mounts below"
says "$err" "'$HOME/app/data/cold'"
says "$err" "has mounts below ('data', 'bound')"
says "$out" 'D deleted'
says "$out" 'M two'
is "$(cat src/one two deleted data/sub/warm bound/real | tr '\n' ' ')" \
	'one two top warm real ' 'the run changes no file outside'
no 'the run creates no file outside' test -e data/cold/made
gives 0 'diff accepts a project with mounts' guard diff --name-status "$run"
grep -v '\.git/' "$out" | tr '\t' ' ' | LC_ALL=C sort >"$T/names"
tilde='~'
p=$tilde/app
cat >"$T/wanted" <<END
A new
A newdir
A newdir/in
A $p/data/cold/made
D deleted
D gone/file
D $p/data/sub/warm
M src/one
M two
M!! $p/bound/real
END
LC_ALL=C sort "$T/wanted" >"$T/sorted"
ok 'diff lists exactly the changes in all mounts' diff "$T/sorted" "$T/names"
gives 0 'run --continue keeps the layers of mounts' \
	guard run "--continue=$run" -- sh -c \
	'test ! -e deleted && test ! -e data/sub/warm && cat new data/cold/made &&
	test -z "$(find . -type c)" && echo again >>new'
is "$(tr '\n' ' ' <"$out")" 'new cold ' \
	'the continued run sees its changes in mounts'
gives 0 'diff accepts one deleted path' guard diff --name-status "$run" deleted
says "$out" D
gives 0 'discard accepts one path' guard discard -y "$run" gone/file
gives 0 'apply accepts the run with mounts' guard apply --yes-to all -y "$run"
no 'apply deletes a file' test -e deleted
is "$(cat new src/one gone/file data/cold/made bound/real | tr '\n' ' ')" \
	'new again one more gone cold over ' 'apply changes files in mounts'
is "$(cat "$HOME/elsewhere/real")" over 'apply writes through a bind mount'
no 'apply deletes a file of a mount' test -e data/sub/warm
gives 0 'undo reverts the apply' guard undo -y
is "$(cat src/one two deleted data/sub/warm bound/real | tr '\n' ' ')" \
	'one two top warm real ' 'undo restores files in mounts'
no 'undo deletes a new file in a mount' test -e data/cold/made
gives 0 'discard drops the run with mounts' guard discard -y "$run"
gives 0 'a run can change nothing' guard run -- true
says "$err" 'changed nothing'

# --- guard is killed: the deletion of a copied file is not lost ---
cat >"$T/stop" <<'END'
rm two
echo >ready
read -r never <wait
END
mkfifo wait
guard run --ro "$T/stop" -- sh "$T/stop" >"$out" 2>"$err" &
pid=$!
id=
while [ -z "$id" ] && kill -0 "$pid" 2>/dev/null; do
	id=$(guard status -q | head -n 1)
	[ -z "$id" ] || guard ls "$id:$HOME/app" 2>/dev/null | grep -q ready ||
		[ -e "$state/runs/$id/upper/ready" ] || id=
done
kill -9 "$pid"
wait "$pid" 2>/dev/null
settle
gives 0 'diff accepts the interrupted run' guard diff --name-status "$id"
says "$out" 'D	two'
gives 0 'discard drops the interrupted run' guard discard -y "$id"
rm -f wait

# --- --cow with a mount ---
mkdir -p "$HOME/other/inner"
cd "$HOME/other" || exit 99
echo o >o
mount -t tmpfs inner inner
echo i >inner/i
gives 0 'a run with a --cow directory that has mounts ends with 0' \
	guard run --cow "$HOME/app" -- sh -c \
	'echo x >o; echo x >inner/i; echo x >../app/two; echo x >../app/data/x'
gives 0 'apply accepts a --cow directory with mounts' guard apply -y
is "$(cat o inner/i ../app/two ../app/data/x | tr '\n' ' ')" 'x x x x ' \
	'apply writes into all mounts'

# --- mounts below the home ---
head -c 2000000 /dev/zero >"$HOME/large"
mkdir -p "$HOME/.cache/tool" "$HOME/mnt" "$HOME/plain" "$HOME/.secret"
echo c >"$HOME/.cache/tool/c"
mount -t tmpfs mnt "$HOME/mnt"
echo seen >"$HOME/mnt/seen"
mount -t tmpfs cache "$HOME/.cache"
mkdir "$HOME/plain/sub"
cd "$HOME/plain" || exit 99
gives 0 'a run works in a home with mounts' guard run -- sh -c \
	'cat ~/mnt/seen; echo x >>~/.bashrc; echo x >~/.config/tool/config
	echo x >~/made; rm -r ~/documents/letters; rm ~/app/two
	! echo x >~/mnt/x && ! echo x >~/.cache/x; echo x >sub/x
	test ! -e ~/large; git -C ~/app/src log --oneline'
run=$(last_run)
says "$out" seen
says "$out" first
says "$err" "'$HOME' has mounts below"
says "$err" "'$HOME/large'"
gives 0 'diff accepts a home with mounts' \
	guard diff --name-status --no-renames "$run"
tr '\t' ' ' <"$out" | LC_ALL=C sort >"$T/names"
h=$tilde/
cat >"$T/wanted" <<END
A sub/x
A ${h}made
D ${h}app/two
D ${h}documents/letters
D ${h}documents/letters/one.txt
M!! ${h}.bashrc
M ${h}.config/tool/config
END
LC_ALL=C sort "$T/wanted" >"$T/sorted"
ok 'diff lists exactly the changes in the home' diff "$T/sorted" "$T/names"
gives 0 'explain accepts paths in mounts of the home' \
	guard explain ~/mnt/seen ~/.bashrc
says "$out" "mnt/seen': read-only"
says "$out" "bashrc': the layer over the home"
gives 0 'apply accepts paths of the home' \
	guard apply -y "$run" ~/.bashrc ~/app/two
is "$(tail -n 1 ~/.bashrc)" x 'apply changes a file of the home'
no 'apply deletes a file of the home' test -e ~/app/two
gives 0 'apply accepts the rest' guard apply -y "$run"
ok 'apply changes the project' test -e sub/x

# --- a file system that was mounted since the run ---
cd "$HOME/app" || exit 99
guard run -q -- sh -c 'echo x >>two; mkdir late; echo x >late/x'
mkdir late
mount -t tmpfs late late
gives 0 'apply leaves out what is below a later mount' guard apply -y
says "$err" "left out: 'late' is another file system since the run"
is "$(tail -n 1 two) $(ls late)" 'x ' 'the rest is applied'
umount late
gives 0 'without the mount the rest is applied' guard apply -y
is "$(cat late/x)" x 'all of it'

cd /
settle
for at in "$HOME/.cache" "$HOME/mnt" "$HOME/other/inner" \
	"$HOME/app/data/cold" "$HOME/app/data" "$HOME/app/bound"; do
	umount "$at" || flunk "$at can be unmounted"
done
mounts_before=$(mounts)
finish
