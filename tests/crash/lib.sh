# shellcheck shell=sh
# Fixtures of the crash tests: a small project, a run that makes every kind of
# change in it, and a sequence of pseudo-random numbers.
#
#	. tests/crash/lib.sh
#	crash_project		creates the project in the current directory
#	crash_run COMMAND...	starts the run with COMMAND ("guard" and the words
#				before it)
#	crash_edit FILE		edits of the user after it; FILE is scratch
#	crash_look DIR		prints all entries of DIR as text
#	crash_mess		changes that `restore` reverts
#	crash_first		prints the number of the first snapshot
#	crash_verb VERB		prints its command line; restores from $first
#	crash_put_aside NAME, crash_put_back NAME
#				save and restore project and state, with tap.sh
#	crash_systems NAME...	the file systems that can be made: $systems
#	crash_seed SEED		starts the sequence: $seed
#	next N			sets $number, from 1 to N

# tests/install-deps can install the tools on Debian; there a missing one is a
# failure.
crash_systems() {
	systems=
	for fs; do
		if command -v "mkfs.$fs" >/dev/null; then
			systems="${systems:+$systems }$fs"
		elif command -v apt-get >/dev/null; then
			echo "Bail out! no mkfs.$fs: tests/install-deps crash"
			exit 1
		fi
	done
	[ "$systems" ] || skip_all "no mkfs of $*"
}

crash_project() {
	mkdir -p src/deep gone/below both shut 'odd
name'
	seq 1 30 >text
	echo old >src/edited
	echo old >src/deep/edited
	echo old >gone/below/file
	echo old >both/x
	echo old >to-link
	echo old >to-folder
	echo in >'odd
name/file'
	ln -s old link
	ln src/edited src/other-name
	head -c 1500000 /dev/zero | tr '\0' a >big
	echo shut >shut/file
	setfattr -n user.colour -v red text
	chmod 555 shut
	touch -d '2001-02-03 04:05:06.789' src both .
}

# "made" is large enough for an apply to move it out of the upper layer.
crash_run() {
	"$@" run -q -- sh -ec '
	sed -i "s/^3$/three/" text
	echo new >src/edited
	echo new >src/deep/edited
	rm gone/below/file
	rmdir gone/below gone
	ln -sf new link
	rm to-link to-folder
	ln -s text to-link
	mkdir to-folder made made/below
	echo in >to-folder/file
	echo made >made/below/file
	setfattr -n user.colour -v blue made
	ln made/below/file made/other-name
	mkfifo made/fifo
	for i in $(seq 70); do echo $i >made/below/n$i; done
	chmod 700 src
	printf b | dd of=big bs=1 seek=700000 conv=notrunc status=none
	echo odd >"odd
name/new"
	touch -d "2002-02-03 04:05:06.789" both/x
'
}

# One text is merged; it is written in place, so the mtime of the directory
# stays.
crash_edit() {
	sed 's/^28$/of the user/' text >"$1"
	cat "$1" >text
}

# Kind, mode, owner, mtime, size, links, content and attributes of every entry;
# of files without the mtime: a merged or replaced file can have the present
# time.
crash_look() {
	(
		cd "$1" || exit 1
		find . \( -type d -printf 'd %m %U:%G %T@ %P\0' \) -o \
			\( -type f -printf 'f %m %U:%G %T@ %P %s x%n\0' \) \
			-o -printf '%y %m %U:%G %T@ %P -> %l\0' |
			sed -z 's/^\(f [0-9]* [0-9:]*\) [^ ]* /\1 - /' |
			LC_ALL=C sort -z
		find . -type f -print0 | LC_ALL=C sort -z |
			xargs -0 -r sha256sum -z
		find . ! -type l -print0 | LC_ALL=C sort -z |
			xargs -0 -r getfattr -h -d -m user -- | tr '\n' '\0'
	) | tr '\0' '\n'
}

# crash_revert VERB: the command line that reverts it.
crash_revert() {
	if [ "$1" = undo ]; then
		echo 'guard redo -q -y'
	else
		echo 'guard undo -q -y'
	fi
}

# The command line of a verb; $first: the snapshot to restore from.
crash_verb() {
	case $1 in
	apply) echo 'guard apply -q -y' ;;
	undo) echo 'guard undo -q -y' ;;
	restore) echo "guard restore -q --at ${first:-} --exact -y ." ;;
	discard) echo 'guard discard -q -y' ;;
	drop) echo 'guard discard -q -y gone/below/file src/edited made' ;;
	regain) echo 'guard undo -q -y' ;;
	bring) echo 'guard undo -q -y' ;;
	empty) echo 'guard prune --trash -q -y' ;;
	first) echo 'guard snapshot -q' ;;
	start) echo 'guard run -q -- touch started' ;;
	into) echo "guard restore -q --at ${first:-} --to ../into -y text" ;;
	finish) echo 'guard apply -q --continue' ;;
	back) echo 'guard apply -q --abort' ;;
	esac
}

# The first snapshot is the one before the run.
crash_first() {
	guard log --json | sed -n 's/.*"snapshot": *\([0-9]*\).*/\1/p' | sort -n |
		head -n 1
}

# Changes that restore reverts.
crash_mess() {
	rm -r src made text
	mkdir made
	echo mine >made/mine
	guard snapshot -q >/dev/null
}

# In the harness: saves the state, to be restored any number of times. The
# project's directory itself stays: a run knows it by its inode number.
crash_put_aside() {
	must_be_inside
	rm -rf "${T:?}/$1"
	mkdir "$T/$1"
	# overlayfs's own directories, which no user may read
	# shellcheck disable=SC2154 # of tap.sh
	chmod 700 "$state"/runs/*/*work/*/work \
		"$state"/runs/closed/*/*work/*/work "$state"/trash/*/*work/*/work 2>/dev/null
	chmod -R u+rwx "$state"/workspaces/*/caches/work 2>/dev/null
	cp -a "$HOME/project" "$T/$1/project"
	copy_state "$state" "$T/$1/state"
}

crash_put_back() {
	must_be_inside
	cd / || exit 99
	chmod -R u+rwX "$HOME/project" "$state"
	find "$HOME/project" -mindepth 1 -delete
	find "$state" -mindepth 1 -delete
	copy_state "$T/$1/state" "$state"
	cp -a "$T/$1/project/." "$HOME/project/"
	# The copy of a layer is younger than the end of its run.
	find "$state/runs" "$state/trash" -mindepth 2 -maxdepth 2 \
		-name record -exec \
		sed -i "s/^ended=.*/ended=$(date +%s.%N)/" {} +
	cd "$HOME/project" || exit 99
}

crash_seed() {
	seed=$1
	echo "# seed $seed"
}

next() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	# shellcheck disable=SC2034 # the caller's
	number=$((seed / 16 % $1 + 1))
}

# crash_down DIR: unmounts it; the kernel releases files that a killed process
# had in its io_uring a little later.
crash_down() {
	tries=1200
	until umount "$1" 2>/dev/null; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.05
	done
}
