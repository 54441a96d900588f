#!/bin/sh
# guard rewind puts an earlier state back into a run, live or ended: every kind
# of entry, all of it or some paths, and undo and redo go back and forth.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/told.sh
. "${0%/*}/../lib/told.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

mkdir -p "$HOME/project" "$HOME/beside" "$HOME/gate"
cd "$HOME/project" || exit 99
git init -q .
mkdir -p dir/deep gone kept
for file in edited dir/x dir/deep/y gone/z kept/file 'a name
of two lines' ../beside/edited ../beside/kept; do
	echo "base of $file" >"$file"
done
git add -A
git commit -q -m base
git tag base

# Prints each entry that a user of the run sees in the project.
cat >"$HOME/look" <<'END'
find . -mindepth 1 \( -type d -printf 'd %m %P\n' \) -o \
	\( -type f -printf 'f %m %T@ %P\n' \) -o -printf '%y %m %P -> %l\n' |
	LC_ALL=C sort
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
getfattr -R -h -d . 2>/dev/null
END
look() {
	guard exec "$run" -q -- sh "$HOME/look" >"$T/$1" 2>"$err"
}
# marks STATE: the present state of the run, with a mark
marks() {
	settle
	look "$1"
	guard exec "$run" -q -- sh -c "echo state $1 >/run/guard/mark" 2>"$err"
	settle
}
# sees TITLE STATE
sees() {
	look now
	ok "$1" same "$T/$2" "$T/now"
}
undoes() {
	gives 0 "$1" guard undo -y 1
}

# --- an ended run ---

# shellcheck disable=SC2016 # of the run
guard run -q --cow "$HOME/beside" -- sh -ec '
	echo a >edited; rm -r gone; mkdir new; echo n >new/file; ln new/file hard
	ln -s edited link; mkfifo pipe; chmod 500 kept; echo a >../beside/edited
	mkdir -p shut/below; echo s >shut/below/file; chmod 555 shut/below shut
	mkdir .guard-rewind; echo t >.guard-rewind/.guard-rewind
	echo tagged >tagged; setfattr -n user.test -v one tagged || true' 2>"$err"
run=$(guard status -q)
marks a
# shellcheck disable=SC2016 # of the run
guard exec "$run" -q -- sh -ec '
	echo b >edited; rm link hard pipe; mkdir pipe; echo in >pipe/in
	chmod 755 kept; rm -r dir; ln -s new dir; chmod 700 new
	mkdir gone; echo other >gone/z; touch -d 2001-01-01 new/file
	chmod 755 shut shut/below; rm -r shut; echo only >only
	git commit -qam b; rm ../beside/kept' 2>"$err"
marks b
# shellcheck disable=SC2016 # of the run
guard exec "$run" -q -- sh -ec '
	rm dir; mkdir -p dir/deep; echo c >dir/deep/y; : >edited; rm -r new pipe
	rm -r .guard-rewind; head -c 3000000 /dev/zero >long; truncate -s 50M sparse
	printf "\0bin" >only; cp -r .git/refs more; rm -rf .git/refs' 2>"$err"
marks c

gives 0 'a dry run shows the difference' guard rewind -n "$run" --to "state a"
says "$out" 'D  long'
says "$out" 'A  pipe'
sees 'a dry run changes nothing' c
gives 1 'without a terminal -y is needed' guard rewind "$run" --to "state a"
says "$err" 'use -y'
for at in a c b start c start; do
	[ $at = start ] && to=start || to="state $at"
	gives 0 "rewind goes to $to" guard rewind -y --to "$to"
	[ $at = start ] || sees "the run has $to" $at
done
guard diff --name-only >"$out" 2>"$err"
is "$(cat "$out")" '' 'at its start a run has no changes, and stays'
gives 0 'the state before a rewind has a mark' \
	guard rewind -y --to before-rewind
sees 'rewind to that mark' c
for at in start c start b; do
	undoes 'a rewind is undone'
	[ "$at" = start ] || sees "undo goes back to state $at" "$at"
done
gives 0 'a rewind is repeated' guard redo -y
no 'redo repeats a rewind' guard exec -q "$run" -- test -e only
undoes 'the repeated rewind is undone'
sees 'undo of a redo' b
gives 0 'rewind to the present state does nothing' guard rewind --to "state b"
says "$err" 'nothing to do'
is "$(git rev-parse HEAD)" "$(git rev-parse base)" 'no real file changes'
is "$(cat edited)" 'base of edited' 'no real file has other bytes'

# The user has got a file at a path that the run has added.
echo user >only
gives 0 'rewind to the start' guard rewind -y --to start
silent "$err" 'only'
gives 0 'the run sees the file of the user' \
	guard exec -q "$run" -- grep -q user only
undoes 'that is undone'
rm only
sees 'undo beside a file of the user' b

# --- named paths ---

gives 0 'rewind takes paths' \
	guard rewind -y --to "state a" -- edited new/file dir
look now
gives 0 'a path of the wanted state has its bytes' \
	guard exec -q "$run" -- sh -c 'grep -qx a edited && test -d dir/deep'
gives 0 'other paths stay' guard exec -q "$run" -- test -d pipe
undoes 'a rewind of paths is undone'
gives 0 'undo of a rewind of paths' guard exec -q "$run" -- \
	sh -c 'grep -q b edited && test -L dir && test -d pipe'
gives 0 'a path in .git takes the .git' guard rewind -y --to "state a" .git/HEAD
gives 0 'the commit is gone with the .git' \
	guard exec -q "$run" -- \
	sh -c 'git fsck && git diff --quiet base HEAD'
undoes 'a rewind of .git is undone'
gives 0 'the commit is back' \
	guard exec -q "$run" -- \
	sh -c 'git fsck && ! git diff --quiet base HEAD'
mkdir -p sub
cd sub || exit 99
gives 0 'paths are relative to the directory' guard rewind -y --to "state a" ../only
cd .. || exit 99
rmdir sub
no 'a file that the wanted state lacks is deleted' \
	guard exec -q "$run" -- test -e only
undoes 'a rewind of a deleted file is undone'
gives 1 'a path that neither state has is an error' \
	guard rewind -y --to "state a" nosuch
says "$err" 'file or change'
gives 0 'JSON lists the changes' guard rewind -n --json --to "state a" only
says "$out" '"op": "delete"'
says "$out" '"rewound": false'

# --- refusals ---

gives 1 'a time before the run is refused' guard rewind -y --to 2001-01-01
gives 2 'an unknown mark is refused' guard rewind -y --to 'no mark'
says "$err" "'state b'"
gives 1 'without --to the moments are listed' guard rewind -y
says "$err" 'before: state b'
gives 0 'also as JSON' guard rewind --json
says "$out" '"mark": "state b"'
guard run -q --name other --versions 0 -- sh -c 'echo other >other' 2>"$err"
gives 1 'a run without versions is refused' guard rewind -y other --to -5m
says "$err" 'has no timeline'
gives 1 'it has no moments to choose from' guard rewind -y other
says "$err" 'has no timeline'
gives 0 'apply of a part' guard apply -y other
gives 1 'an applied run is refused' guard rewind -y other --to start --
says "$err" 'guard undo makes it pending again'
gives 0 'after undo it is accepted' guard undo -y
gives 1 'as a run with no timeline' guard rewind -y other --to start --
guard discard -q -y "$run"
gives 1 'a discarded run is refused' guard rewind -y "$run" --to "state a"
guard discard -q -y other

# --- a live run ---

mkfifo "$HOME/gate/go"
# shellcheck disable=SC2016 # of the run
guard run --name live --rw "$HOME/gate" -- sh -c '
	echo 1 >edited; rm -r dir; echo 2 >kept/file; chmod 000 kept
	exec 3>>held; echo held >&3
	exec 4>>"$(printf "held\377")"; echo held >&4; : >ready
	while :; do read -r line <~/gate/go && eval "$line"; done' \
	>"$T/live.out" 2>"$T/live.err" &
guard=$!
run=live
until upper=$(echo "$state"/runs/*/upper/ready) && [ -e "$upper" ]; do
	kill -0 "$guard" || break
done
base_stored "$(basename "${upper%/upper/ready}")"
until [ -s "${upper%upper/ready}timeline/records" ]; do
	kill -0 "$guard" || break
done
look one
gives 0 'JSON names the open files' guard rewind -n --json live --to start
says "$out" '"text_b64": "aGVsZP8="'
gives 0 'rewind of a live run' guard rewind -y live --to start
says "$err" "'held' is open for writing"
gives 0 'the live run has the state' guard exec -q live -- \
	sh -c 'cat edited dir/deep/y kept/file && ! test -e held'
says "$out" 'base of edited'
says "$out" 'base of kept/file'
echo 'cat edited >seen; : >step' >"$HOME/gate/go"
until [ -e "${upper%ready}step" ]; do kill -0 "$guard" || break; done
gives 0 'the live run goes on with it' guard exec -q live -- cat seen
says "$out" 'base of edited'
gives 0 'its own files are deleted again' guard exec -q live -- rm seen step
undoes 'a rewind of a live run is undone'
sees 'undo in a live run' one
for at in 1 3 5; do
	gives 137 'guard is killed in the middle' "$stopat" --at $at \
		--only unlink --since unlink -- \
		guard rewind -y -q live --to start
	gives 0 'the run goes on after guard was killed' \
		timeout 60 guard exec -q live -- true
	gives 0 'rewind completes a killed one' \
		guard rewind -y live --to start
	gives 0 'the live run has the complete state' guard exec -q live -- \
		sh -c 'cat edited dir/deep/y && ! test -e held'
	gives 0 'the last rewind is undone' guard undo -y 2
	sees 'undo after a killed rewind' one
done
gives 0 'a rewind where no two names can be exchanged' \
	"$stopat" --count "$T/count" --at 1 --on --error EIO \
	--only renameat2 --below "$HOME/project" -- \
	guard rewind -y -q live --to start
says "$T/count" renameat2
gives 0 'the live run has this state' guard exec -q live -- \
	sh -c 'cat edited dir/deep/y && ! test -e held && ! ls -d .guard-*-*'
undoes 'that rewind is undone'
sees 'undo after a rewind without exchanges' one
echo 'exit 0' >"$HOME/gate/go"
wait "$guard"

# --- a run that deletes all of its work ---

# shellcheck disable=SC2119 # no options
begin
tell 'echo made >work'
held work
tell 'rm work'
end
cp "$T/run.err" "$err"
says "$err" 'changed nothing'
log=$(sed -n 's/.* are kept: guard log //p' "$err")
gives 0 'its end names the log' guard log "$log"
says "$out" work
finish
