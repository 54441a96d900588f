#!/bin/sh
# A run wherever a project may lie: one table of places. Each is run in,
# reviewed, applied and taken back, or refused in a line that says why.
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

# seen NAME: what the run did is listed as it was done
listed() {
	gives 0 "$1: the changes are listed" guard diff --name-status
	is "$(tr '\n' ' ' <"$out")" \
		"D	folder D	folder/two M	one A	empty A	moved A	new " \
		"$1: all of them"
}

# place NAME PROJECT: all of it
place() {
	cd "$2" || {
		flunk "$1: there is no such place"
		return
	}
	gives 0 "$1: a run" guard run -q --ro "$T/work" -- sh "$T/work"
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" \
		"$1: nothing has changed outside"
	listed "$1"
	gives 0 "$1: applied" guard apply -q -y
	is "$(cat one new; ls)" "$(printf 'one\nmore\nnew\nempty\nmoved\nnew\none')" \
		"$1: the result is there"
	gives 0 "$1: taken back" guard undo -q -y
	is "$(cat one folder/two; ls)" "$(printf 'one\ntwo\nfolder\none')" \
		"$1: as before"
	gives 0 "$1: dropped" guard discard -q -y
	cd /
}

# --- names ---
long=$(printf '%0150d' 7)
for name in 'with a space' 'comma,colon:back\slash' "quote'\"\$HOME" \
	"$(printf 'line\nfeed\ttab')" 'ümläut' '%s%n' ' lead' '-rf' \
	"$long/$long"; do
	make_project "$HOME/names/$name"
	place "name '$(printf '%.20s' "$name" | tr '\n' '?')'" \
		"$HOME/names/$name"
done

# --- below a private folder ---
for folder in /tmp/place /var/tmp/place /dev/shm/place; do
	make_project $folder/project
	place "below $folder" $folder/project
	rm -rf $folder
done

# --- behind a link: known by the name that the user came by ---
make_project "$HOME/data/linked-to"
ln -s data/linked-to "$HOME/by-link"
cd "$HOME/by-link" || exit 99
gives 0 'behind a link' guard run -q -- sh -c 'pwd; pwd -P; cd folder; pwd'
is "$(tr '\n' ' ' <"$out")" \
	"$HOME/by-link $HOME/data/linked-to $HOME/by-link/folder " \
	'by its name'
cd / || exit 99
gives 0 'that is named with -C' guard run -q -C "$HOME/by-link" -- sh -c pwd
is "$(cat "$out")" "$HOME/by-link" 'by that name'
gives 0 'a PWD that is another folder' env "PWD=$HOME/by-link" \
	guard -C "$HOME/data/linked-to/folder" run -q -- sh -c 'echo "$PWD"'
is "$(cat "$out")" "$HOME/data/linked-to/folder" 'is not passed on'

# --- file systems, and the state on the same one, then on another ---
for kind in ext4 xfs btrfs; do
	has_image $kind || continue
	make_project "/images/$kind/project"
	place "$kind" "/images/$kind/project"
	(
		GUARD_HOME=/images/$kind/state
		export GUARD_HOME
		cd "/images/$kind/project" || exit 1
		guard run -q --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y && guard undo -q -y &&
			guard run -q --frozen --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y && guard undo -q -y &&
			guard verify -q
	) >"$out" 2>"$err" </dev/null
	is $? 0 "$kind: the state too"
	make_project "$HOME/on-$kind"
	(
		GUARD_HOME=/images/$kind/state
		export GUARD_HOME
		cd "$HOME/on-$kind" || exit 1
		guard run -q --ro "$T/work" -- sh "$T/work" &&
			guard apply -q -y && guard undo -q -y
	) >"$out" 2>"$err" </dev/null
	is $? 0 "$kind: the state alone"
done
# --- big folders, moved and new, out of a layer on another disk ---
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
# All that is in this folder.
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
	gives 0 "$kind: big folders are moved and made" guard run -q \
		--rw "$T" -- sh -ec ". '$T/big'
		sh '$T/list' >'$T/big.inside'"
	gives 0 "$kind: applied" guard apply -q -y
	sh "$T/list" >"$T/big.after"
	ok "$kind: they are what the run saw" same "$T/big.inside" "$T/big.after"
	is "$(getfattr -d in/moved/f2 | grep colour)" 'user.colour="red"' \
		"$kind: with attributes"
	ok "$kind: and holes" test "$(stat -c %b in/moved/hole)" -lt 100
	gives 0 "$kind: taken back" guard undo -q -y
	sh "$T/list" >"$T/big.after"
	ok "$kind: as before" same "$T/big.before" "$T/big.after"
	gives 0 "$kind: dropped" guard discard -q -y
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
	is $? 0 'tmpfs: the state too'
else
	skip 'tmpfs: the state too: not before Linux 6.6'
fi

# --- a copy that is not edited meanwhile ---
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
	echo by-the-run >>one' <"$T/to" >"$T/from" 2>"$err" &
run=$!
exec 8>"$T/to" 9<"$T/from"
read -r ready <&9
is "$ready" ready 'a frozen run has begun'
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
	'it sees nothing of what the user does meanwhile'
exec 9<&-
wait $run
is $? 0 'it ends'
gives 0 'its changes' guard diff --name-status
is "$(tr '\n' ' ' <"$out")" 'M	folder/two M	one ' 'its own only'
gives 1 'what both changed is a conflict' guard apply -q -y
says "$err" 'one'
gives 0 'the other one is applied' guard apply -q -y folder/two
is "$(cat one folder/two)" "$(printf 'one\nby-the-user\ntwo\nby-the-run')" \
	'both are there'
gives 0 'one path is taken back in the copy' guard discard -q -y one
gives 0 'the run goes on with its copy' guard run -q --continue -- cat one
is "$(cat "$out")" one 'which is as it was'
gives 125 'a run that goes on cannot be frozen' \
	guard run --frozen --continue -- true
guard discard -q -y >/dev/null 2>&1
cd /

# --- where a run is possible, and an apply is not ---
if has_image squashfs; then
	cd /images/squashfs || exit 99
	gives 0 'squashfs: a run' guard run --ro "$T/work" -- sh "$T/work"
	says "$err" 'on a read-only file system'
	listed squashfs
	gives 1 'squashfs: not applied' guard apply -q -y
	says "$err" 'guard patch'
	gives 0 'squashfs: the way out' guard patch
	says "$out" '+more'
	gives 0 'squashfs: nothing is left half done' guard discard -q -y
fi
if has_image fuse; then
	cd /images/fuse || exit 99
	gives 0 'FUSE: a run' guard run -q --ro "$T/work" -- sh "$T/work"
	listed FUSE
	guard apply -q -y >"$out" 2>"$err" </dev/null
	case $? in
	0) gives 0 'FUSE: taken back' guard undo -q -y ;;
	*) says "$err" 'cannot swap two files in one step' ;;
	esac
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" 'FUSE: as before'
	gives 0 'FUSE: dropped' guard discard -q -y
fi
if has_image overlay; then
	cd /images/overlay || exit 99
	gives 0 'overlay: a run' guard run -q --ro "$T/work" -- sh "$T/work"
	listed overlay
	gives 1 'overlay: a folder of its lower layer stays' guard apply -q -y
	says "$err" 'delete it yourself'
	is "$(cat one folder/two)" "$(printf 'one\ntwo')" \
		'overlay: nothing was done'
	gives 0 'overlay: the rest is applied' guard apply -q -y one new
	is "$(cat one new)" "$(printf 'one\nmore\nnew')" 'overlay: it is there'
	gives 0 'overlay: taken back' guard undo -q -y
	gives 0 'overlay: dropped' guard discard -q -y
	echo fresh >one
	gives 0 'overlay: a run just after the user has written' \
		guard run -q -- sh -c 'echo more >>one'
	gives 0 'overlay: is no conflict' guard apply -q -y
	is "$(cat one)" "$(printf 'fresh\nmore')" 'overlay: it is applied'
	gives 0 'overlay: and taken back' guard undo -q -y
	gives 0 'overlay: and dropped' guard discard -q -y
	echo one >one
fi

# --- a frozen copy shares its bytes where the file system can ---
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
	gives 0 "$kind: a frozen run" env "GUARD_HOME=/images/$kind/$uid-frozen" \
		guard run -q --frozen -- sh -c ': >made'
	settle
	sync -f .
	# the stored bytes and the reserve, and no second copy
	taken=$((before - $(bytes_free)))
	note "$kind: $taken bytes taken for 16000000"
	ok "$kind: has no bytes of its own" test "$taken" -lt 29000000
	rm bytes
	cd /
done

# --- where the state cannot be ---
mkdir -p "$HOME/plain"
cd "$HOME/plain" || exit 99
for kind in fuse overlay; do
	has_image $kind || continue
	gives 125 "$kind: no place for the state" \
		env GUARD_HOME=/images/$kind/state guard run -- true
	says "$err" 'put it elsewhere'
	is "$(ls /images/$kind/state/runs)" '' "$kind: no run is left there"
done

# --- mounts inside, others' files: as root, who can make them ---
if [ "$uid" -eq 0 ]; then
	make_project "$HOME/mounts"
	mkdir "$HOME/mounts/inner"
	mount -t tmpfs inner "$HOME/mounts/inner"
	echo hidden >"$HOME/mounts/inner/file"
	cd "$HOME/mounts" || exit 99
	gives 0 'a mount inside is seen' guard run -q -- cat inner/file
	says "$out" hidden
	cd inner || exit 99
	gives 0 'in the mount itself there is a run' guard run -q -- cat file
	says "$out" hidden
	cd /
	settle
	umount "$HOME/mounts/inner"
	mkdir "$HOME/theirs"
	make_project "$HOME/theirs/project"
	chown -R 1000:1000 "$HOME/theirs/project"
	cd "$HOME/theirs/project" || exit 99
	gives 0 'a project of somebody else' guard run -- cat one
	says "$err" 'belongs to uid 1000'
	mount --bind "$HOME/theirs" "$HOME/theirs"
	mount -o remount,bind,ro "$HOME/theirs"
	cd "$HOME/theirs/project" || exit 99
	gives 0 'a read-only project' guard run -- true
	says "$err" 'on a read-only file system'
	cd /
	settle
	umount "$HOME/theirs"
fi

# --- a folder that the user may not write in ---
if [ "$uid" -ne 0 ]; then
	mkdir -p "$HOME/shut/open"
	cd "$HOME/shut" || exit 99
	echo one >open/file
	chmod 555 .
	gives 0 'a shut project' guard run -- sh -c 'echo two >open/file'
	says "$err" "you may not write in '$HOME/shut'"
	gives 1 'is not applied' guard apply -q -y
	says "$err" 'guard patch'
	is "$(cat open/file)" one 'nothing was done'
	gives 0 'and dropped' guard discard -q -y
	cd /
fi

# --- repositories that do not lie in the project ---
cat >"$T/commit" <<'END'
set -e
git -c user.name=run -c user.email=run@example.org commit -q -a -m by-the-run
git -c user.name=run -c user.email=run@example.org stash list
git branch from-the-run
git status --porcelain
END

# commits WHAT FOLDER REPOSITORY
commits() {
	cd "$2" || exit 99
	echo "changed by hand" >>file
	manifest "$3" >"$T/before"
	gives 0 "$1: a commit in a run" \
		guard run --ro "$T/commit" -- sh "$T/commit"
	says "$err" 'in the repository'
	says "$err" 'guard import'
	manifest "$3" >"$T/after"
	ok "$1: the repository is as it was" same "$T/before" "$T/after"
	run=$(guard status -q)
	gives 0 "$1: it is imported" guard import -y "$run"
	is "$(git -C "$3" log -1 --format=%s "refs/guard/$run/heads/from-the-run")" \
		by-the-run "$1: it is there"
	ok "$1: the repository is whole" git -C "$3" fsck --strict
	is "$(git log -1 --format=%s)" "$4" "$1: the branch is the user's"
	gives 0 "$1: dropped" guard discard -q -y
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
gives 0 'nothing but a commit' guard run -- git -c user.name=x \
	-c user.email=x@y commit -q --allow-empty -m empty
says "$err" 'in the repository'
gives 0 'it is imported' guard import -y
says "$err" '1 new commit'
gives 0 'and dropped' guard discard -q -y
mkdir /var/tmp/linked/liar
cd /var/tmp/linked/liar || exit 99
echo "gitdir: $HOME" >.git
gives 0 'a .git that names any folder' guard run -q -- true
no 'gives that folder no layer' ls -d "$state"/runs/*/git-upper
rm -rf /var/tmp/linked
cd "$HOME" || exit 99
git init -q --bare bare.git
cd bare.git || exit 99
gives 0 'a bare repository' guard run -q -- git config core.tested yes
gives 0 'its changes are seen' guard diff --name-status
says "$out" 'M	config'
gives 0 'and dropped' guard discard -q -y
finish
