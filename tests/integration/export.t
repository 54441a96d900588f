#!/bin/sh
# guard export: tar unpacks exactly the files of the run or of the snapshot.
# shellcheck disable=SC2317 # called by their names
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

unpack() {
	tar -x -p --warning=no-timestamp --numeric-owner --acls --xattrs --xattrs-include='*' \
		-C "$2" -f "$1" 2>"$T/tar.err"
}

# all except mtimes of directories: name, kind, mode, owner, links, size, mtime,
# target
meta() {
	(
		cd "$1" || exit 1
		find . -name .git -prune -o \
			-printf '%p|%y|%m|%U:%G|%s|%T@|%l|%n\0' |
			LC_ALL=C sed -z 's/^\([^|]*|d|[^|]*|[^|]*|\)[^|]*|\([^|]*|\).*/\1\2/
				'"${times:-}" |
			LC_ALL=C sort -z
	)
}

bytes() {
	(
		cd "$1" || exit 1
		find . -name .git -prune -o -type f -print0 |
			LC_ALL=C sort -z | xargs -0 sha256sum -z
	)
}

attrs() {
	(
		cd "$1" || exit 1
		find . -name .git -prune -o ! -type l -print0 |
			LC_ALL=C sort -z |
			xargs -0 getfattr -d -m - -e hex --absolute-names -- \
				2>/dev/null | grep -v '^security.selinux'
		find . -name .git -prune -o ! -type l -print0 |
			LC_ALL=C sort -z | xargs -0 getfacl -n -p --
	)
}

# same DIR DIR WHAT
same() {
	for what in meta bytes attrs; do
		$what "$1" >"$T/one"
		$what "$2" >"$T/two"
		cmp -s "$T/one" "$T/two" || {
			tr '\0' '\n' <"$T/one" >"$T/one.txt"
			tr '\0' '\n' <"$T/two" >"$T/two.txt"
			note "$(diff "$T/one.txt" "$T/two.txt" | head -n 20)"
			flunk "$3 ($what)"
			return
		}
	done
	pass "$3"
}

blocks() {
	stat -c %b "$1"
}

make_home
mkdir "$HOME/clean"
cd "$HOME/clean" || exit 99
git init -q -b main
seq 1 40 >text
echo gone >gone
mkdir -p folder/deep becomes-file
echo in >folder/deep/file
echo in >becomes-file/file
echo file >becomes-folder
echo stays >stays
echo moded >moded
odd=$(printf 'odd\nna"me\\\t\303\266\377')
echo odd >"$odd"
touch -d '2001-02-03 04:05:06.789' stays
valid=$(printf 'valid e\314\201\303\266')
echo valid >"$valid"
long=$(printf '%0120d' 7)
mkdir -p "$long/$long"
echo far >"$long/$long/$long"
git add -A
git commit -q -m one
cp -a "$HOME/clean" "$HOME/copy"

cat >"$HOME/change" <<'EOF'
sed -i '3d;20s/.*/changed/;$a more' text
rm -r folder
rm gone
rm -r becomes-file; echo file >becomes-file
rm becomes-folder; mkdir becomes-folder; echo in >becomes-folder/file
chmod 0711 moded
for f in odd* valid*; do echo changed >"$f"; done
for d in 000*; do
	echo farther >"$d/$d/new$d"
	ln -s "$d/$d/$d" long-link
	ln "$d/$d/new$d" second-name
done
: >empty
mkdir -p new/empty-folder
chmod 1777 new/empty-folder
echo x >-dash
head -c 3000000 /dev/urandom >new/big
truncate -s 20M new/hole
printf middle | dd of=new/hole bs=1 seek=9000000 conv=notrunc 2>/dev/null
truncate -s 5M new/all-hole
truncate -s 200K new/small-hole
printf start | dd of=new/small-hole conv=notrunc 2>/dev/null
printf end | dd of=new/small-hole bs=1 seek=204797 conv=notrunc 2>/dev/null
mkfifo new/pipe
touch -d '1969-12-31 23:59:58 UTC' new/old
touch -d '2400-01-01 00:00:00.000000001 UTC' new/late
touch -h -d '2011-01-01 00:00:00.5 UTC' long-link
setfattr -n user.plain -v value new/big
setfattr -n 'user.a=b%c' -v 0x000a3d00ff new/big
setfattr -n user.folder -v x new/empty-folder
# A plain user's run maps only that user's ids.
uid=12 gid=13
[ "$(id -u)" -eq 0 ] || { uid=$(id -u); gid=$(id -g); }
setfacl -m u:$uid:rx,g:$gid:w new/old
setfacl -d -m u:$uid:rwx new/empty-folder
echo two >>.git/description
EOF
ok 'a run makes all kinds of changes' guard run -q --ro "$HOME/change" -- \
	sh "$HOME/change"
settle
guard export --tar >"$T/tar" 2>"$err" </dev/null
is $? 0 'export of a run ends with 0'
says "$err" "deleted: 'folder/'"
says "$err" "deleted: 'gone'"
silent "$err" 'folder/deep'
says "$err" "not in the archive: '.git': a .git is skipped"
is "$(grep -c '^guard: deleted: ' "$err")" 4 'export names deleted entries'
guard export --tar >/dev/full 2>"$err" </dev/null
is $? 1 'export fails when the archive cannot be written'
says "$err" 'write to stdout: No space left on device'
is "$(stat -c %s "$T/tar" | awk '{ print $1 % 10240 }')" 0 \
	'the archive consists of complete records'
ok 'the archive does not contain holes' \
	test "$(stat -c %s "$T/tar")" -lt 4000000
tar -t --quoting-style=escape -f "$T/tar" >"$T/list" 2>"$T/tar.err"
is $? 0 'tar lists the archive'
is "$(grep -c hdrcharset "$T/tar.err")" 1 \
	'tar reports the name that is not UTF-8'
is "$(grep -v hdrcharset "$T/tar.err")" '' 'tar reports nothing else'
no 'the archive has no absolute name and no ..' \
	grep -E '^/|(^|/)\.\.(/|$)' "$T/list"
silent "$T/list" .git
silent "$T/list" stays
(cd "$HOME/copy" && rm -r folder gone becomes-file becomes-folder)
ok 'tar unpacks the archive' unpack "$T/tar" "$HOME/copy"
is "$(grep -v hdrcharset "$T/tar.err")" '' \
	'tar reports nothing while it unpacks'
ok 'guard apply accepts the run' guard apply -y
# An apply may give written files the present time.
times='s/^\([^|]*|f|[^|]*|[^|]*|[^|]*|\)[^|]*/\1/'
same "$HOME/clean" "$HOME/copy" 'tar and guard apply write the same files'
times=
is "$(stat -c %Y "$HOME/copy/new")" "$(stat -c %Y new)" \
	'tar and guard apply set the same mtime of a directory'
ok 'tar unpacks hard links as one file' test "$HOME/copy/second-name" \
	-ef "$HOME/copy/$long/$long/new$long"
for file in hole all-hole small-hole; do
	ok "tar unpacks the holes of $file" \
		test "$(blocks "$HOME/copy/new/$file")" -le 512
done
ok 'the holes of a sparse file are at their places' \
	cmp new/hole "$HOME/copy/new/hole"

gives 1 'export of an applied run is refused' guard export --tar \
	"$(guard status -a -q | tail -n 1)"
says "$err" 'is applied: export a snapshot'

# --- export of a snapshot ---
ok 'guard snapshot stores the project' guard snapshot -q
mkdir "$HOME/all" "$HOME/part" "$HOME/git"
gives 0 'export -o of a snapshot is accepted' \
	guard export --tar -o "$HOME/all.tar" latest
is "$(stat -c %a "$HOME/all.tar")" 600 'only the owner can read the file of -o'
is "$(cat "$out")" '' 'export -o prints nothing to stdout'
ok 'tar unpacks the snapshot' unpack "$HOME/all.tar" "$HOME/all"
same "$HOME/clean" "$HOME/all" 'tar unpacks the files of the snapshot'
no 'the archive of a snapshot has no .git' test -e "$HOME/all/.git"
cp "$HOME/all.tar" "$T/all.tar"
gives 1 'export -o of an existing file is refused' \
	guard export --tar -o "$HOME/all.tar" latest
says "$err" 'exists: move it away'
ok 'the refused export keeps the existing file' cmp "$HOME/all.tar" "$T/all.tar"
guard export --tar latest .git >"$T/tar" 2>"$err"
is $? 0 'export of a named .git ends with 0'
silent "$err" .git
ok 'tar unpacks the .git' unpack "$T/tar" "$HOME/git"
is "$(git -C "$HOME/git" rev-parse HEAD)" "$(git rev-parse HEAD)" \
	'the unpacked .git is complete'
guard export --tar latest -- new/hole becomes-folder >"$T/tar"
ok 'tar unpacks an archive of one path' unpack "$T/tar" "$HOME/part"
is "$(cd "$HOME/part" && echo ./* ./*/*)" \
	'./becomes-folder ./new ./becomes-folder/file ./new/hole' 'only these'
gives 1 'export of an unknown path is refused' guard export --tar latest no/such
says "$err" "no such path: 'no/such' in snapshot"
gives 1 'export of an unknown snapshot is refused' guard export --tar 4711
gives 1 'export -o in a missing directory is refused' \
	guard export --tar -o no/such/file latest
no 'the refused export creates no directory' test -e no
gives 1 'export above the file size limit is refused' \
	sh -c "trap '' XFSZ; ulimit -f 400
	exec guard export --tar -o '$HOME/cut.tar' latest"
says "$err" "write '$HOME/cut.tar': File too large"
no 'the refused export leaves no file' test -e "$HOME/cut.tar"
gives 2 'export without --tar ends with 2' guard export latest
says "$err" '--tar is required'

# --- entries that an archive cannot contain ---
# shellcheck disable=SC2016 # perl's own variables
ok 'a run creates a socket' guard run -q -- perl -MIO::Socket::UNIX -e '
	IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die;
	open my $f, ">", "beside"; mkdir "sub"; open $f, ">", "sub/file"'
settle
gives 1 'export ends with 1 when it leaves a socket out' \
	guard export --tar -o "$HOME/socket.tar"
says "$err" "not in the archive: 'socket': tar cannot hold sockets"
ok 'that archive has the other file' tar -t -f "$HOME/socket.tar" beside
gives 0 'export of a path without the socket is accepted' \
	guard export --tar -o "$HOME/sub.tar" -- sub
is "$(tar -t -f "$HOME/sub.tar")" "$(printf 'sub/\nsub/file')" \
	'the archive of a path has only that path'
gives 1 'export of an unchanged path is refused' \
	guard export --tar -o "$HOME/x" -- no/such
gives 1 'export -o of an existing file is refused for a run' \
	guard export --tar -o "$HOME/sub.tar"
no 'a failed export leaves no file' test -e "$HOME/x"
is "$(find "$HOME" -maxdepth 1 -name '.*.tmp')" '' \
	'a failed export leaves no temporary file'
script -qec 'guard export --tar' /dev/null >"$out" 2>&1 </dev/null
says "$out" 'be written to a terminal: use -o FILE'
ok 'discard drops the run' guard discard -y
gives 1 'export without a pending run is refused' guard export --tar

# --- a live run ---
mkfifo "$T/go" "$T/began"
guard run -q -- sh -c 'echo x >live; echo began; read -r line' \
	<"$T/go" >"$T/began" 2>&1 &
exec 3>"$T/go"
read -r line <"$T/began"
is "$line" began 'a live run has started'
gives 1 'export of a live run is refused' guard export --tar
says "$err" 'still running: `guard stop'
echo >&3
exec 3>&-
wait $!
settle
guard export --tar 2>"$err" | tar -t >"$out"
says "$out" live
ok 'discard drops the run after its end' guard discard -y
finish
