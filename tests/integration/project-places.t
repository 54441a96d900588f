#!/bin/sh
# A run in every kind of place of a project: each run is reviewed, applied and
# reverted, or refused with the reason.
# needs: images
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

uid=$(id -u)
cat >"$T/work" <<'END'
set -e
[ "$(cat one)" = one ] && [ "$(cat folder/two)" = two ]
echo more >>one
echo new >new
rm folder/two
mkdir empty
mv folder moved
END

make_project() {
	mkdir -p "$1/folder" || return
	echo one >"$1/one"
	echo two >"$1/folder/two"
}

# listed NAME: checks that diff lists the changes of the run
listed() {
	gives 0 "$1: diff accepts the run" guard diff --name-status
	is "$(tr '\n' ' ' <"$out")" \
		"D	folder D	folder/two M	one A	empty A	moved A	new " \
		"$1: diff lists all changes"
}

# place NAME PROJECT: run, diff, apply, undo and discard
place() {
	cd "$2" || {
		flunk "$1: the directory exists"
		return
	}
	gives 0 "$1: a run can change the project" \
		guard run -q --ro "$T/work" -- sh "$T/work"
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" \
		"$1: the run changes nothing outside"
	listed "$1"
	gives 0 "$1: apply accepts the run" guard apply -q -y
	is "$(cat one new; ls)" "$(printf 'one\nmore\nnew\nempty\nmoved\nnew\none')" \
		"$1: apply writes all changes"
	gives 0 "$1: undo reverts the apply" guard undo -q -y
	is "$(cat one folder/two; ls)" "$(printf 'one\ntwo\nfolder\none')" \
		"$1: undo restores the project"
	gives 0 "$1: discard drops the run" guard discard -q -y
	cd /
}

# --- names of directories ---
long=$(printf '%0150d' 7)
for name in 'with a space' 'comma,colon:back\slash' "quote'\"\$HOME" \
	"$(printf 'line\nfeed\ttab')" 'ümläut' '%s%n' ' lead' '-rf' \
	"$long/$long"; do
	make_project "$HOME/names/$name"
	place "name '$(printf '%.20s' "$name" | tr '\n' '?')'" \
		"$HOME/names/$name"
done

# --- below directories that a run has of its own ---
for folder in /tmp/place /var/tmp/place /dev/shm/place; do
	make_project $folder/project
	place "below $folder" $folder/project
	rm -rf $folder
done

# --- behind a symbolic link: the run keeps the name that the user came by ---
make_project "$HOME/data/linked-to"
ln -s data/linked-to "$HOME/by-link"
cd "$HOME/by-link" || exit 99
gives 0 'a project behind a symbolic link is accepted' \
	guard run -q -- sh -c 'pwd; pwd -P; cd folder; pwd'
is "$(tr '\n' ' ' <"$out")" \
	"$HOME/by-link $HOME/data/linked-to $HOME/by-link/folder " \
	"the run's directory has the name with the link"
cd / || exit 99
gives 0 '-C accepts a path with a symbolic link' \
	guard run -q -C "$HOME/by-link" -- sh -c pwd
is "$(cat "$out")" "$HOME/by-link" \
	"with -C the run's directory has the name with the link"
gives 0 'a wrong PWD of the caller is accepted' env "PWD=$HOME/by-link" \
	guard -C "$HOME/data/linked-to/folder" run -q -- sh -c 'echo "$PWD"'
is "$(cat "$out")" "$HOME/data/linked-to/folder" \
	'a wrong PWD of the caller is not passed on'

# --- file systems of project and state ---
for kind in ext4 xfs btrfs; do
	has_image $kind || continue
	make_project "/images/$kind/project"
	place "$kind" "/images/$kind/project"
	(
		GUARD_HOME=/images/$kind/state
		export GUARD_HOME
		cd "/images/$kind/project" || exit 1
		guard run -q --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y latest && guard undo -q -y &&
			guard run -q --frozen --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y latest && guard undo -q -y &&
			guard verify -q
	) >"$out" 2>"$err" </dev/null
	is $? 0 "$kind: project and state on this file system work"
	make_project "$HOME/on-$kind"
	(
		GUARD_HOME=/images/$kind/state
		export GUARD_HOME
		cd "$HOME/on-$kind" || exit 1
		guard run -q --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y && guard undo -q -y
	) >"$out" 2>"$err" </dev/null
	is $? 0 "$kind: only the state on this file system works"
done
# --- large directories, moved and new, out of an upper layer on another file system ---
cat >"$T/big" <<'END'
set -e
mv old moved
mkdir new
for i in $(seq 80); do echo $i >new/n$i; done
mv moved/deep new/
mkdir in
mv moved in/
ln new/n1 new/other-name
touch -d 2002-02-03 new/n2 new
END
# Lists all entries of the current directory.
cat >"$T/list" <<'END'
find . -mindepth 1 \( -type d -printf '%P %y %m %T@\n' \) -o \
	-printf '%P %y %m %T@ %s %n %l\n' | LC_ALL=C sort
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
END
for kind in xfs btrfs; do
	has_image $kind || continue
	GUARD_HOME=/images/$kind/state
	export GUARD_HOME
	mkdir -p "$HOME/big/old/deep"
	cd "$HOME/big" || exit 99
	for i in $(seq 80); do
		echo "$i" >"old/f$i"
	done
	ln old/f1 old/deep/hard
	ln -s f1 old/link
	mkfifo old/fifo
	echo in >old/deep/file
	head -c 3000000 /dev/urandom >old/bytes
	truncate -s 5M old/hole
	setfattr -n user.colour -v red old/f2
	chmod 750 old
	touch -d 2001-02-03 old/f3 old
	sh "$T/list" >"$T/big.before"
	gives 0 "$kind: a run moves and creates large directories" \
		guard run -q \
		--rw "$T" -- sh -ec ". '$T/big'
		sh '$T/list' >'$T/big.inside'"
	gives 0 "$kind: apply accepts large directories" guard apply -q -y
	sh "$T/list" >"$T/big.after"
	ok "$kind: apply writes what the run saw" \
		same "$T/big.inside" "$T/big.after"
	is "$(getfattr -d in/moved/f2 | grep colour)" 'user.colour="red"' \
		"$kind: apply keeps extended attributes"
	ok "$kind: apply keeps holes" test "$(stat -c %b in/moved/hole)" -lt 100
	gives 0 "$kind: undo reverts the large directories" guard undo -q -y
	sh "$T/list" >"$T/big.after"
	ok "$kind: undo restores the large directories" \
		restored "$T/big.before" "$T/big.after"
	gives 0 "$kind: discard drops the run of large directories" \
		guard discard -q -y
	cd "$HOME" || exit 99
	rm -r big
	unset GUARD_HOME
done

make_project /small/project
place 'tmpfs' /small/project
if holds_layers /small; then
	(
		GUARD_HOME=/small/state
		export GUARD_HOME
		cd /small/project || exit 1
		guard run -q --ro "$T/work" -- sh "$T/work" && guard apply -q -y &&
			guard undo -q -y && guard verify -q
	) >"$out" 2>"$err" </dev/null
	is $? 0 'tmpfs: project and state on this file system work'
else
	skip 'tmpfs: it holds no layers before Linux 6.6'
fi

# --- --frozen: a run on a copy of the project ---
make_project "$HOME/frozen"
cd "$HOME/frozen" || exit 99
chmod 750 folder
touch -d '2001-02-03' folder/two
truncate -s 5G sparse
ln -s /nowhere link
mkfifo pipe "$T/to" "$T/from"
guard run -q --frozen -- sh -c '
	echo ready
	read -r _
	cat one folder/two
	cat late saved 2>/dev/null
	stat -c "%a %Y" folder folder/two
	echo by-the-run >>folder/two
	echo by-the-run >>one; echo more >third' <"$T/to" >"$T/from" 2>"$err" &
run=$!
exec 8>"$T/to" 9<"$T/from"
read -r ready <&9
is "$ready" ready 'a run with --frozen starts'
echo by-the-user >>one
echo late >late
echo saved >two.tmp
touch -d '2001-02-03' two.tmp
mv two.tmp saved
rm sparse
echo >&8
exec 8>&-
is "$(cat <&9)" "$(printf 'one\ntwo\n750 %s\n644 %s' \
	"$(stat -c %Y folder)" "$(date -d 2001-02-03 +%s)")" \
	'a run with --frozen sees no edit of the user'
exec 9<&-
wait $run
is $? 0 'a run with --frozen ends with 0'
gives 0 'diff accepts a run with --frozen' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	folder/two M	one A	third ' \
	'diff lists only the changes of the run with --frozen'
gives 1 'apply refuses a file that both sides changed' guard apply -q -y
says "$err" 'one'
gives 0 'apply accepts the other file' guard apply -q -y folder/two
is "$(cat one folder/two)" "$(printf 'one\nby-the-user\ntwo\nby-the-run')" \
	'apply keeps the edit and writes the other file'
gives 0 'discard accepts a path of a run with --frozen' guard discard -q -y one
gives 0 'run --continue keeps the copy' guard run -q --continue -- cat one
is "$(cat "$out")" one "the continued run sees the copy's content"
gives 125 '--frozen with --continue is refused' \
	guard run --frozen --continue -- true
guard discard -q -y >/dev/null 2>&1
cd /

# --- file systems on which apply is impossible or limited ---
if has_image squashfs; then
	cd /images/squashfs || exit 99
	gives 0 'squashfs: a run works on a read-only file system' \
		guard run --ro "$T/work" -- sh "$T/work"
	says "$err" 'on a read-only file system'
	listed squashfs
	gives 1 'squashfs: apply is refused' guard apply -q -y
	says "$err" 'guard patch'
	gives 0 'squashfs: patch is accepted' guard patch
	says "$out" '+more'
	gives 0 'squashfs: discard drops the run' guard discard -q -y
fi
if has_image fuse; then
	cd /images/fuse || exit 99
	gives 0 'FUSE: a run works' guard run -q --ro "$T/work" -- sh "$T/work"
	listed FUSE
	gives 0 'FUSE: apply is accepted' guard apply -q -y
	gives 0 'FUSE: undo reverts the apply' guard undo -q -y
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" \
		'FUSE: the project is as before'
	gives 0 'FUSE: discard drops the run' guard discard -q -y
fi
if has_image overlay; then
	cd /images/overlay || exit 99
	gives 0 'overlay: a run works' \
		guard run -q --ro "$T/work" -- sh "$T/work"
	listed overlay
	gives 1 'overlay: apply refuses to move a directory of the lower layer' \
		guard apply -q -y
	says "$err" 'delete it yourself'
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" \
		'overlay: the refused apply changes nothing'
	gives 0 'overlay: apply accepts the other paths' \
		guard apply -q -y one new
	is "$(cat one new)" "$(printf 'one\nmore\nnew')" \
		'overlay: apply writes the other paths'
	gives 0 'overlay: undo reverts the apply' guard undo -q -y
	gives 0 'overlay: discard drops the run' guard discard -q -y
	echo fresh >one
	gives 0 'overlay: a run starts right after a write of the user' \
		guard run -q -- sh -c 'echo more >>one'
	gives 0 'overlay: a write right before the run is no conflict' \
		guard apply -q -y
	is "$(cat one)" "$(printf 'fresh\nmore')" \
		"overlay: apply writes the run's content"
	gives 0 'overlay: undo reverts that apply' guard undo -q -y
	gives 0 'overlay: discard drops that run' guard discard -q -y
	echo one >one
fi

# --- a --frozen copy shares its blocks where the file system supports reflinks ---
bytes_free() {
	stat -f -c '%f %S' . | while read -r blocks size; do
		echo $((blocks * size))
	done
}
for kind in xfs btrfs; do
	has_image $kind || continue
	mkdir -p "/images/$kind/$uid-shared"
	cd "/images/$kind/$uid-shared" || exit 99
	head -c 16000000 /dev/urandom >bytes
	sync -f .
	before=$(bytes_free)
	gives 0 "$kind: a run with --frozen works" \
		env "GUARD_HOME=/images/$kind/$uid-frozen" \
		guard run -q --frozen -- sh -c ': >made'
	settle
	sync -f .
	# The stored bytes and the reserve, but no second copy.
	taken=$((before - $(bytes_free)))
	note "$kind: $taken bytes taken for 16000000"
	ok "$kind: a --frozen copy shares its blocks with the project" \
		test "$taken" -lt 29000000
	rm bytes
	cd /
done

# --- file systems that cannot hold guard's state ---
mkdir -p "$HOME/plain"
cd "$HOME/plain" || exit 99
for kind in fuse overlay; do
	has_image $kind || continue
	gives 125 "$kind: the state is refused on this file system" \
		env GUARD_HOME=/images/$kind/state guard run -- true
	says "$err" 'set GUARD_HOME to'
	is "$(ls /images/$kind/state/runs)" '' \
		"$kind: the refused run leaves nothing"
done

# --- mounts inside, projects of other users: as root ---
if [ "$uid" -eq 0 ]; then
	make_project "$HOME/mounts"
	mkdir "$HOME/mounts/inner"
	mount -t tmpfs inner "$HOME/mounts/inner"
	echo hidden >"$HOME/mounts/inner/file"
	cd "$HOME/mounts" || exit 99
	gives 0 'a run sees a mount inside of the project' \
		guard run -q -- cat inner/file
	says "$out" hidden
	cd inner || exit 99
	gives 0 'a run can start in a mount inside of the project' \
		guard run -q -- cat file
	says "$out" hidden
	cd /
	settle
	umount "$HOME/mounts/inner"
	mkdir "$HOME/theirs"
	make_project "$HOME/theirs/project"
	chown -R 1000:1000 "$HOME/theirs/project"
	cd "$HOME/theirs/project" || exit 99
	gives 0 "root can run in another user's project" guard run -- cat one
	says "$err" 'belongs to uid 1000'
	mount --bind "$HOME/theirs" "$HOME/theirs"
	mount -o remount,bind,ro "$HOME/theirs"
	cd "$HOME/theirs/project" || exit 99
	gives 0 'a run works in a read-only project' guard run -- true
	says "$err" 'on a read-only file system'
	cd /
	settle
	umount "$HOME/theirs"
fi

# --- a project directory that the user cannot write ---
if [ "$uid" -ne 0 ]; then
	mkdir -p "$HOME/shut/open"
	cd "$HOME/shut" || exit 99
	echo one >open/file
	chmod 555 .
	gives 0 'a run works in a directory without write permission' \
		guard run -- sh -c 'echo two >open/file'
	silent "$err" 'no permission'
	gives 0 "apply in the user's own such directory is accepted" \
		guard apply -q -y
	is "$(cat open/file) $(stat -c %a .)" 'two 555' '... and it keeps its mode'
	cd /
fi

# --- repositories outside of the project directory ---
cat >"$T/commit" <<'END'
set -e
git -c user.name=run -c user.email=run@example.org commit -q -a -m by-the-run
git -c user.name=run -c user.email=run@example.org stash list
git branch from-the-run
git status --porcelain
END

# commits WHAT PROJECT REPOSITORY SUBJECT: a run commits, import takes it over
commits() {
	cd "$2" || exit 99
	echo "changed by hand" >>file
	manifest "$3" >"$T/before"
	gives 0 "$1: a run can commit" \
		guard run --ro "$T/commit" -- sh "$T/commit"
	says "$err" 'in the repository'
	says "$err" 'guard import'
	manifest "$3" >"$T/after"
	ok "$1: the run does not change the repository" \
		same "$T/before" "$T/after"
	run=$(guard status -q)
	gives 0 "$1: import accepts the commit" guard import -y "$run"
	is "$(git -C "$3" log -1 --format=%s "refs/guard/$run/heads/from-the-run")" \
		by-the-run "$1: import creates the ref"
	ok "$1: git fsck accepts the repository" git -C "$3" fsck --strict
	is "$(git log -1 --format=%s)" "$4" \
		"$1: import does not move the user's branch"
	gives 0 "$1: discard drops the run" guard discard -q -y
	git checkout -q file
	cd /
}

for base in "$HOME/linked" /var/tmp/linked; do
	mkdir "$base"
	cd "$base" || exit 99
	git init -q -b main main
	cd main || exit 99
	echo one >file
	git add file
	git commit -q -m one
	git worktree add -q ../tree -b side
	git clone -q . ../library
	git -c protocol.file.allow=always submodule --quiet add ../library sub
	git commit -q -m sub
	git init -q -b main --separate-git-dir="$base/apart" "$base/separate"
	cd "$base/separate" || exit 99
	echo one >file
	git add file
	git commit -q -m separate
	where=$([ "$base" = /var/tmp/linked ] && echo outside || echo 'at home')
	commits "a linked worktree, $where" "$base/tree" "$base/main/.git" one
	commits "a submodule, $where" "$base/main/sub" \
		"$base/main/.git/modules/sub" one
	commits "a separate folder, $where" "$base/separate" "$base/apart" \
		separate
done
cd /var/tmp/linked/tree || exit 99
gives 0 'a run in a linked worktree makes only a commit' \
	guard run -- git -c user.name=x \
	-c user.email=x@y commit -q --allow-empty -m empty
says "$err" 'in the repository'
gives 0 'import accepts that commit' guard import -y
says "$err" '1 new commit'
gives 0 'discard drops that run' guard discard -q -y
mkdir /var/tmp/linked/liar
cd /var/tmp/linked/liar || exit 99
echo "gitdir: $HOME" >.git
gives 0 'a .git file that names any directory is accepted' guard run -q -- true
no 'that directory gets no layer' ls -d "$state"/runs/*/git-upper
rm -rf /var/tmp/linked
cd "$HOME" || exit 99
git init -q --bare bare.git
cd bare.git || exit 99
gives 0 'a run works in a bare repository' \
	guard run -q -- git config core.tested yes
gives 0 'diff accepts a bare repository' guard diff --name-status
says "$out" 'M	config'
gives 0 'discard drops the run in a bare repository' guard discard -q -y
finish
