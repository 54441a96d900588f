#!/bin/sh
# apply renames a large new directory out of the upper layer instead of copying
# it: the result in the project, and the layer after undo.
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

# All attributes except those of overlayfs.
look() {
	crash_look "$1" | sed '/^user[.]overlay/d' | sed '/^# file/d; /^$/d'
}

numbers "$upper/new" >"$T/numbers"
look "$upper/new" >"$T/look"
look "$upper" >"$T/look.all"
guard diff --name-status >"$T/diff"
marks "$upper/new" >"$T/marks"
ok 'the upper layer has attributes of overlayfs' test -s "$T/marks"

gives 0 'apply of a large directory is accepted' guard apply -q -y
numbers new >"$T/is"
ok 'the directory has the inodes of the upper layer' same "$T/numbers" "$T/is"
look new >"$T/is"
ok 'the directory has the modes, times, links and attributes of the run' \
	same "$T/look" "$T/is"
marks . >"$T/is"
is "$(cat "$T/is")" '' 'the directory has no attributes of overlayfs'
no 'the directory is no longer in the upper layer' test -e "$upper/new"
is "$(cat kept)" 'old
more' 'apply replaces an old file as usual'
gives 0 'snapshot accepts the moved directory' guard snapshot
gives 0 'status works after the move' guard status
says "$err" 'no run in'

# --- undo ---
gives 0 'undo of the apply is accepted' guard undo -q -y
no 'undo removes the directory from the project' test -e new
gives 0 'diff accepts the run again' guard diff --name-status
ok 'diff shows the same changes as before the apply' same "$T/diff" "$out"
gives 0 'redo is accepted' guard redo -q -y
look new >"$T/is"
ok 'redo brings the directory back' same "$T/look" "$T/is"
gives 0 'a second undo is accepted' guard undo -q -y
gives 0 'apply does not need the layer' guard apply -q -y
look new >"$T/is"
ok 'apply writes the same directory' same "$T/look" "$T/is"
gives 0 'a third undo is accepted' guard undo -q -y
gives 0 'run --continue restores the layer before its command' guard run -q \
	--continue "$run" -- true
look "$upper" >"$T/is"
ok 'the upper layer is complete' same "$T/look.all" "$T/is"
gives 0 'run --continue works with the restored layer' \
	guard run -q --continue "$run" -- \
	sh -c 'test ! -e moved -a "$(cat new/sub/n80)" = 80 && rm new/sub/n80'
gives 0 'apply accepts the continued run' guard apply -q -y
look new | grep -v 'sub$' >"$T/is"
grep -v 'n80\( \|$\)\|sub$' "$T/look" >"$T/wanted"
ok 'apply writes the same directory with the later change' \
	same "$T/wanted" "$T/is"

# --- an earlier guard has applied the run ---
is "$(find "$state/runs" -path "*/$run/upper/new")" '' \
	'the apply has moved the directory'
record=$(find "$state/runs" -path "*/$run/record")
sed -i '/^stored=/d' "$record"
gives 0 'undo accepts a run without stored results' guard undo -q -y
ok 'the layer has the directory again' test -e "$upper/new/sub/n79"
gives 0 'diff accepts that run' guard diff --name-only
says "$out" new/sub/n79
gives 0 'apply accepts it, too' guard apply -q -y
look new | grep -v 'sub$' >"$T/is"
ok 'apply writes the same directory again' same "$T/wanted" "$T/is"

# --- the applied directory is lost ---
chmod 755 new/shut
mv new "$T/new"
gives 0 'restore of the directory is accepted' guard restore -q -y new
chmod 555 "$T/new/shut"
look "$T/new" >"$T/wanted"
look new >"$T/is"
ok 'restore brings the directory back' same "$T/wanted" "$T/is"
chmod 755 "$T/new/shut" new/shut
rm -r new "$T/new"

# --- directories that must be copied ---
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
gives 0 'apply of many files is accepted' guard apply -q -y
is "$(number many/7)" "$before" 'apply moves many files'

begin 'p=many; for i in $(seq 150); do p=$p/d; done
	mkdir -p $p && echo far >$p/f && ln $p/f many/near'
far=many$(printf '/d%.0s' $(seq 150))/f
before=$(number "$upper/$far")
gives 0 'apply of a deep directory is accepted' guard apply -q -y
is "$(number "$far")" "$before" 'apply moves a deep directory'
is "$(number many/near)" "$before" 'apply moves both names of a file'

begin 'ln many/7 outside'
before=$(number "$upper/many/7")
gives 0 'apply of a file with another name outside is accepted' \
	guard apply -q -y
no 'apply copies a file with another name outside' \
	test "$(number many/7)" = "$before"
is "$(number outside)" "$(number many/7)" \
	'the copy is a hard link of the other name'
rm outside

begin 'mkdir many/.git && echo x >many/.git/HEAD'
before=$(number "$upper/many")
gives 0 'apply of a directory with a repository is accepted' guard apply -q -y
no 'apply copies a directory with a repository' \
	test "$(number many)" = "$before"
no 'apply leaves the repository out' test -e many/.git

begin true
before=$(number "$upper/many")
gives 0 'apply of some files of a directory is accepted' \
	guard apply -q -y many/1 many/2 many/3
gives 0 'apply of the rest is accepted' guard apply -q -y
no 'apply copies a partly applied directory' test "$(number many)" = "$before"
ok 'the upper layer keeps the files of that directory' \
	test -e "$state/runs/closed/${upper#"$state"/runs/}/many/90"

# --- another process holds the directory ---
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
	is "$(cat "$T/held")" 0 \
		'a run passes a descriptor of a directory to another process'
	begin_of_last
	before=$(number "$upper/many")
	gives 0 'apply is accepted while another process holds the directory' \
		guard apply -q -y
	no 'apply copies a directory that another process holds' \
		test "$(number many)" = "$before"
	echo >"$T/let-go"
	wait $holder
fi
finish
