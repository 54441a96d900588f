#!/bin/sh
# A big new folder is not copied at apply: it is renamed out of the run's layer.
# What is then in the project, and what becomes of the layer when the apply is
# taken back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/crash/lib.sh
. "${0%/*}/../crash/lib.sh"

mkdir -p "$HOME/project" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
echo old >moved
echo old >kept
guard run -q -- sh -ec '
	mkdir new new/sub new/shut
	for i in $(seq 80); do echo $i >new/sub/n$i; done
	ln new/sub/n1 new/other-name
	ln -s sub/n2 new/link
	mkfifo new/fifo
	mv moved new/
	chmod 444 new/sub/n3
	chmod 600 new/sub/n4
	setfattr -n user.colour -v blue new/sub/n5 new
	echo in >new/shut/file
	chmod 555 new/shut
	touch -d "2001-02-03 04:05:06.789" new/sub/n6 new/sub
	chmod 750 new
	echo more >>kept
' || exit 99
settle
upper=$(echo "$state"/runs/*/upper)
run=$(basename "${upper%/upper}")

number() {
	stat -c %i "$1"
}
numbers() {
	find "$1" -printf '%i %P\n' | sort
}
marks() {
	find "$1" -print0 | xargs -0 getfattr -h -d -m '^(user|trusted)[.]overlay' \
		2>/dev/null
}

# All but the marks.
look() {
	crash_look "$1" | sed '/^user[.]overlay/d' | sed '/^# file/d; /^$/d'
}

numbers "$upper/new" >"$T/numbers"
look "$upper/new" >"$T/look"
look "$upper" >"$T/look.all"
guard diff --name-status >"$T/diff"
marks "$upper/new" >"$T/marks"
ok 'the layer has marks of its own' test -s "$T/marks"

gives 0 'an apply' guard apply -q -y
numbers new >"$T/is"
ok 'all of the new folder is what lay in the layer' same "$T/numbers" "$T/is"
look new >"$T/is"
ok 'with its modes, times, links and attributes' same "$T/look" "$T/is"
marks . >"$T/is"
is "$(cat "$T/is")" '' 'without the marks of the layer'
no 'it is not in the layer any more' test -e "$upper/new"
is "$(cat kept)" 'old
more' 'what was there before is replaced as ever'
gives 0 'a snapshot' guard snapshot
gives 0 'a status' guard status
says "$err" 'no run in'

# --- taken back ---
gives 0 'an undo' guard undo -q -y
no 'the folder is gone' test -e new
look "$upper" >"$T/is"
ok 'the layer is as the run left it' same "$T/look.all" "$T/is"
gives 0 'a diff' guard diff --name-status
ok 'which is shown as before' same "$T/diff" "$out"
gives 0 'the run goes on' guard run -q --continue "$run" -- \
	sh -c 'test ! -e moved -a "$(cat new/sub/n80)" = 80 && rm new/sub/n80'
gives 0 'an apply of that' guard apply -q -y
look new | grep -v 'sub$' >"$T/is"
grep -v 'n80\( \|$\)\|sub$' "$T/look" >"$T/wanted"
ok 'it is the same but for that' same "$T/wanted" "$T/is"

# --- the project has lost it again ---
chmod 755 new/shut
mv new "$T/new"
gives 0 'one folder of an applied run' guard apply -q -y "$run" new
chmod 555 "$T/new/shut"
look "$T/new" >"$T/wanted"
look new >"$T/is"
ok 'comes back' same "$T/wanted" "$T/is"
chmod 755 "$T/new/shut" new/shut
rm -r new "$T/new"

# --- what must be copied ---
many='mkdir many && for i in $(seq 90); do echo $i >many/$i; done'
begin_of_last() {
	settle
	upper=$(cd "$state/runs" && grep -l '^state=ended' ./*/record)
	upper=$state/runs/${upper%/record}/upper
}
begin() {
	[ ! -d many ] || rm -r many
	guard run -q -- sh -ec "$many; $1" || exit 99
	begin_of_last
}

begin true
before=$(number "$upper/many/7")
gives 0 'an apply of many files' guard apply -q -y
is "$(number many/7)" "$before" 'takes them'

begin 'p=many; for i in $(seq 150); do p=$p/d; done
	mkdir -p $p && echo far >$p/f && ln $p/f many/near'
far=many$(printf '/d%.0s' $(seq 150))/f
before=$(number "$upper/$far")
gives 0 'an apply of a deep folder' guard apply -q -y
is "$(number "$far")" "$before" 'takes it'
is "$(number many/near)" "$before" 'with both names of a file'

begin 'ln many/7 outside'
before=$(number "$upper/many/7")
gives 0 'an apply of a file with a name elsewhere' guard apply -q -y
no 'it is a copy' test "$(number many/7)" = "$before"
is "$(number outside)" "$(number many/7)" 'and of one file with that name'
rm outside

begin 'mkdir many/.git && echo x >many/.git/HEAD'
before=$(number "$upper/many")
gives 0 'an apply of a folder with a repository' guard apply -q -y
no 'it is a copy' test "$(number many)" = "$before"
no 'without the repository' test -e many/.git

begin true
before=$(number "$upper/many")
gives 0 'an apply of some paths' guard apply -q -y many/1 many/2 many/3
gives 0 'and of the rest' guard apply -q -y
no 'they are copies' test "$(number many)" = "$before"
ok 'the layer is whole' test -e "$upper/many/90"

# --- somebody still has it open ---
cat >"$T/send" <<'END'
import array, os, socket
fd = os.open("many", os.O_RDONLY)
s = socket.socket(fileno=0)
s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
	array.array("i", [fd]))])
END
cat >"$T/hold" <<'END'
import array, os, socket, subprocess, sys
ours, theirs = socket.socketpair()
status = subprocess.call(sys.argv[2:], stdin=theirs.fileno())
data, more, flags, who = ours.recvmsg(1, socket.CMSG_SPACE(4))
fds = array.array("i")
fds.frombytes(more[0][2][:4])
os.stat("1", dir_fd=fds[0])
open(sys.argv[1] + "/held", "w").write(str(status))
open(sys.argv[1] + "/let-go").read()
END
if needs 'a directory that a process holds' python3; then
	mkfifo "$T/let-go"
	[ ! -d many ] || rm -r many
	python3 "$T/hold" "$T" guard run -q -- \
		sh -ec "$many; python3 -c '$(cat "$T/send")'" &
	holder=$!
	until [ -s "$T/held" ] || ! kill -0 $holder; do sleep 0.05; done
	is "$(cat "$T/held")" 0 'a run that passes a folder on'
	begin_of_last
	before=$(number "$upper/many")
	gives 0 'an apply while another process holds a folder of the run' \
		guard apply -q -y
	no 'it is a copy' test "$(number many)" = "$before"
	echo >"$T/let-go"
	wait $holder
fi
finish
