#!/bin/sh
# Real accidents inside of a live run: after each of them guard rewind brings
# back the tree of the moment before, byte for byte, and the run goes on.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
git branch -q -D side
# Two names of one file come back as two files.
rm src/f3-again.c
mkfifo "$T/go" "$T/done"

# The run executes one line after the other. Its own list of the tree has no
# link counts, and no mtimes of directories.
# shellcheck disable=SC2016 # the run's own
guard run -q --name accidents -- sh -c '
	list() {
		cd "$HOME/project"
		find . \( -type d -printf "d %m %U:%G %P\0" \) -o \
			\( -type f -printf "f %m %U:%G %T@ %s %P\0" \) -o \
			-printf "%y %m %U:%G %P %l\0" | LC_ALL=C sort -z
		find . -type f -print0 | LC_ALL=C sort -z |
			xargs -0 -r sha256sum -z
	}
	while read -r line; do
		eval "$line" </dev/null >/tmp/out 2>&1
		echo done
	done' <"$T/go" >"$T/done" 2>"$T/run.err" &
run=$!
exec 5>"$T/go" 6<"$T/done"

tell() {
	printf '%s\n' "$1" >&5
	read -r said <&6
	[ "$said" = "done" ] || flunk "the run executes: $1"
}

# settled: waits until the worker holds each file of the layer, as it does when
# a file has been at rest. Held files are copied before the next write.
settled() {
	n=0
	while [ $n -lt 500 ]; do
		grep LEASE /proc/locks | grep -o ':[0-9]* ' | sort >"$T/held"
		find "$state"/runs/*-*/upper -type f -size +0 \
			-printf ':%i \n' 2>/dev/null | sort >"$T/layer"
		[ "$(comm -23 "$T/layer" "$T/held")" ] || return 0
		sleep 0.02
		n=$((n + 1))
	done
	note 'not all files are held'
}

# accident NAME COMMAND: in one line
number=0
accident() {
	number=$((number + 1))
	tell "list >/tmp/before"
	settled
	gives 0 "$1: a mark is set" guard mark accidents "before $number"
	until grep -qa "before $number" "$state"/runs/*-*/timeline/records; do
		kill -0 $run || break
		sleep 0.02
	done
	tell "cd ~/project; $2"
	tell 'cd /; list >/tmp/after; cmp -s /tmp/before /tmp/after && echo none >/tmp/none'
	guard show accidents:/tmp/none >/dev/null 2>&1 &&
		flunk "$1: the command destroys something"
	gives 0 "$1: guard rewind is accepted" \
		guard rewind -y accidents --to "before $number"
	tell 'list >/tmp/after; cmp /tmp/before /tmp/after >/tmp/same 2>&1 || { tr "\0" "\n" </tmp/before >/tmp/b; tr "\0" "\n" </tmp/after >/tmp/a; diff /tmp/b /tmp/a >>/tmp/same; }'
	guard show accidents:/tmp/same >"$out" 2>"$err"
	is "$(head -n 20 "$out")" '' "$1: the tree is as before"
}

accident 'rm -rf of the project' 'rm -rf ~/project/* ~/project/.[a-z]*'
accident 'moved, then removed' \
	'mkdir new; mv src data new/; cp -r docs new; rm -rf new'
accident 'git reset --hard HEAD~1' 'git reset -q --hard HEAD~1'
accident 'git checkout .' 'git checkout -q .'
accident 'git clean -fdx' 'git clean -q -ffdx'
accident 'git stash of all, then clear' 'git stash -q -a; git stash clear'
accident 'orphan branch, rm, clean' \
	'git checkout -q --orphan x; git rm -q -rf .; git clean -q -fd'
accident 'rm -rf .git' 'rm -rf .git'
accident 'a nested .git renamed and cleaned' \
	'mv nested/.git nested/.git.bak; rm -rf nested/.git.bak'
accident 'reflog expired and collected' \
	'git stash drop -q; git reflog expire --expire=now --all; git gc -q --prune=now'
accident 'mv * into a missing folder' 'for f in *; do mv -f "$f" missing; done'
accident 'truncated by a redirection' 'for f in src/*.c; do : >"$f"; done'
accident 'find -exec truncate' 'find . -type f -exec truncate -s 0 {} +'
accident 'sed -i leaves nothing' 'sed -i d src/*.c README.md'
accident 'line ends of everything' \
	'find src -type f -exec sed -i "s/$/\r/" {} +'
accident 'NULs of the same size, time put back' \
	'for f in src/*.c notes.txt; do touch -r "$f" /tmp/stamp; dd if=/dev/zero of="$f" bs=$(stat -c %s "$f") count=1 conv=notrunc; touch -r /tmp/stamp "$f"; done'
accident 'dd over a binary' \
	'dd if=/dev/urandom of=data/blob.bin bs=1k count=4 conv=notrunc'
accident 'rsync --delete from an empty folder' \
	'rsync -a --delete --exclude=/empty empty/ ./'
accident 'chmod -R 000' 'chmod -R 000 src data'
accident 'a folder becomes a link' 'rm -rf data; ln -s /nowhere data'
accident 'the only backup' 'find . -name "*.db" -delete; rm -f .env'
accident 'a wiper' 'find . -type f -exec shred -n 1 -u {} +'
# the same on files of the run itself
tell 'cd ~/project; mkdir work; for i in 1 2 3; do seq $i 900 >work/$i; done'
accident 'own work emptied' ': >work/1; rm work/2; echo x >>work/3'
accident 'own work replaced' 'for i in 1 2 3; do echo y >work/t; mv work/t work/$i; done'
accident 'own work removed' 'rm -rf work'
exec 5>&- 6<&-
wait $run
settle
gives 0 'diff accepts the run' guard diff --name-status accidents
gives 0 'the ended run is rewound, too' \
	guard rewind -y accidents --to 'before 1'
is "$(guard diff --name-only accidents)" '' 'nothing is left of the run'
gives 0 'and back' guard rewind -y accidents --to 'before 25'
is "$(guard diff --name-only accidents | tr '\n' ' ')" \
	'work work/1 work/2 work/3 ' 'its own work is there again'
finish
