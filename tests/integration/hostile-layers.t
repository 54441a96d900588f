#!/bin/sh
# Hostile layers, and a process that swaps directories for symbolic links while
# guard works: nothing outside of the project is ever changed.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/crash/lib.sh
. "${0%/*}/../crash/lib.sh"
swapper=/opt/guard/build/tests/lib/swapper

# The directory outside has the same names as the project.
mkdir -p "$HOME/project" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
mkdir -p src/deep gone/below docs
for i in 1 2 3 4 5 6; do
	echo "old $i" >src/f$i
	echo "old $i" >src/deep/f$i
	echo "old $i" >gone/below/f$i
done
echo docs >docs/file
echo top >top
cp -a "$HOME/project" "$HOME/outside"
find "$HOME/outside" -type f -exec sed -i 's/$/ of mine/' {} +
# A package store outside; the project has hard links to its files.
mkdir "$HOME/packages" node
for i in 1 2 3; do
	echo "package $i" >"$HOME/packages/p$i"
	ln "$HOME/packages/p$i" node/p$i
done
touch -d '2001-02-03 04:05:06' "$HOME/outside" "$HOME/packages"
crash_look "$HOME/outside" >"$T/outside"
packages() {
	cat "$HOME"/packages/*
	stat -c '%n %a %U %s %Y' "$HOME"/packages/*
	getfattr -d -m user "$HOME"/packages/* 2>&1
}
packages >"$T/packages"

untouched() {
	crash_look "$HOME/outside" >"$T/outside.now"
	same "$T/outside" "$T/outside.now" || return 1
	packages >"$T/packages.now"
	same "$T/packages" "$T/packages.now"
}

ok 'guard snapshot stores the project' guard snapshot -q
crash_put_aside start

# run_of SCRIPT: executes the script in a run
# shellcheck disable=SC2317 # called through ok
run_of() {
	guard run -q -- sh -ec "$1"
	settle
}

# --- symbolic links in place of directories ---
ok 'a run replaces directories by links to the outside' run_of '
	rm -r src gone
	ln -s ../outside/src src
	ln -s ../outside/gone gone
	rm -r docs
	ln -s . docs
	ln -s ../outside new-link'
gives 0 'apply accepts links in place of directories' \
	guard apply -q -y --yes-to all
ok 'apply of links changes nothing outside' untouched
is "$(readlink src)" ../outside/src 'apply creates the link itself'
ok 'a run replaces the links by directories' run_of '
	rm -f src
	mkdir src
	echo run >src/f1
	rm gone; mkdir -p gone/below; echo run >gone/below/f2
	rm new-link; mkdir -p new-link/deep; echo run >new-link/deep/f1'
gives 0 'apply accepts directories in place of links' \
	guard apply -q -y --yes-to all
ok 'apply of directories changes nothing outside' untouched
is "$(cat new-link/deep/f1)" run 'apply creates the directory itself'
gives 0 'undo 2 reverts both applies' guard undo -q -y 2
ok 'undo of both changes nothing outside' untouched
is "$(cat src/f1)" 'old 1' 'undo brings back the directory'

# The user replaces a directory by a link after the run.
crash_put_back start
ok 'a run changes files in two directories' run_of 'echo run >src/f1; rm src/f2
	echo new >src/new; rm -r gone'
mv src kept-src
ln -s ../outside/src src
mv gone kept-gone
ln -s ../outside/gone gone
gives 1 'apply refuses a directory that is now a link' guard apply -q -y
gives 1 'apply --theirs refuses a directory that is now a link' \
	guard apply -q -y --theirs
guard apply -q -y --ours >"$out" 2>"$err"
ok 'refused applies change nothing outside' untouched
is "$(readlink src)" ../outside/src "the user's link stays"
# restore does the same.
gives 1 'restore through a link is refused' \
	guard restore -q --at latest~99 -y src/f1
guard restore -q -y src/f1 >"$out" 2>"$err"
guard restore -q -y --exact src >"$out" 2>"$err"
guard restore -q -y --overwrite always src gone >"$out" 2>"$err"
ok 'refused restores change nothing outside' untouched

# --- unusual entries ---
crash_put_back start
ok 'a run creates entries of unusual kinds and attributes of overlayfs' run_of '
	mkfifo pipe
	rm src/f1; mkfifo src/f1
	ln -s /etc/passwd passwd
	ln -s "$(printf "a\nb\033[31m")" "$(printf "\033]0;x\007 \342\200\256 \377")"
	mkdir -p "$(printf "%0250d" 0)/deep"
	cp /bin/true set-id; chmod 6755 set-id
	mkdir set-gid; chmod 2755 set-gid
	setfattr -n user.overlay.opaque -v y src || :
	setfattr -n user.overlay.redirect -v ../../outside src/deep || :
	setfattr -n user.overlay.whiteout -v y src/f3 || :
	setfattr -n user.overlay.metacopy -v "" src/f4 || :
	setfattr -n trusted.overlay.opaque -v y docs 2>/dev/null || :
	mknod null c 1 3 2>/dev/null || :
	mknod whiteout c 0 0 2>/dev/null || :'
gives 1 'apply refuses set-id bits' guard apply -q -y
says "$err" set-id
gives 0 'apply accepts the other entries' \
	guard apply -q -y pipe src passwd set-gid docs
ok 'apply of unusual entries changes nothing outside' untouched
ok 'apply creates a FIFO' test -p src/f1
is "$(cat src/f3)" 'old 3' 'a forged attribute of overlayfs masks no file'
is "$(cat src/deep/f2)" 'old 2' \
	'a forged attribute of overlayfs redirects no directory'
is "$(stat -c %a set-gid)" 2755 \
	'apply keeps the set-group-id bit of a directory'
ok 'discard drops the run' guard discard -y -q

# --- another process of the user changes the layer itself ---
crash_put_back start
ok 'a run changes one file' run_of 'echo run >src/f1'
upper=$(echo "$state"/runs/*/upper)
[ -d "$upper" ] || upper=$(echo "$state"/runs/*/upper/*)
setfattr -n user.overlay.opaque -v y "$upper/src"
setfattr -n user.overlay.redirect -v /outside "$upper/src"
ln -s "$HOME/outside/src/deep" "$upper/src/deep"
ln -s "$HOME/outside/src/deep/f2" "$upper/src/late"
gives 0 'a diff shows the result of the run' guard diff --name-only
is "$(cat "$out")" src/f1 'not what was written into its layer after its end'
gives 0 'apply takes the result of the run' guard apply -q -y
ok 'the apply changes nothing outside' untouched
is "$(cat src/f1)" run 'the apply changes the file of the run'
is "$(cat src/f2)" 'old 2' 'it changes no other file'
no 'it creates no link that was added later' test -L src/late
no 'nor in place of a directory' test -L src/deep

# --- hard links to a store outside ---
crash_put_back start
rm -r node
mkdir node
for i in 1 2 3; do ln "$HOME/packages/p$i" node/p$i; done
ok 'a run writes to files with hard links outside' run_of '
	echo run >>node/p1
	chmod 600 node/p2
	setfattr -n user.x -v 1 node/p3
	ln node/p1 node/again'
packages >"$T/packages"
gives 0 'apply accepts files with hard links outside' guard apply -q -y
ok 'apply changes no file of the store outside' untouched
is "$(tail -n 1 node/p1)" run 'apply changes the file of the project'
gives 0 'undo reverts that apply' guard undo -q -y
ok 'undo changes no file of the store outside' untouched

# --- directories are swapped for links while guard works ---
crash_put_back start
crash_mess_of() {
	rm -r src/f1 src/deep
	echo mess >src/f2
}
ok 'a run changes all directories' run_of '
	for i in 1 2 3 4 5 6; do
		echo run >src/f$i; echo run >src/deep/f$i
		echo new >src/new$i; echo new >src/deep/new$i
	done
	rm -r gone
	mkdir -p made/deep; echo made >made/deep/file'
crash_put_aside pending
# A run that only adds files: no old entry shows that the directory was
# replaced.
crash_put_back start
ok 'a run adds files' run_of '
	i=0; while [ $i -lt 60 ]; do echo new >src/new$i; i=$((i + 1)); done'
crash_put_aside adding

stopat=/opt/guard/build/tests/lib/stopat
prepare() {
	case $1 in
	add) crash_put_back adding ;;
	*) crash_put_back pending ;;
	esac
	case $1 in
	restore) crash_mess_of ;;
	undo) guard apply -q -y >"$out" 2>"$err" ;;
	esac
	rm -rf "${HOME:?}/swap"
	mkdir "$HOME/swap"
	ln -s "$HOME/outside/src" "$HOME/swap/src"
	ln -s "$HOME/outside/gone" "$HOME/swap/gone"
}

words_of() {
	case $1 in
	restore) echo guard restore -q -y --exact src gone ;;
	undo) echo guard undo -q -y ;;
	*) echo guard apply -q -y ;;
	esac
}

judge() {
	if [ "$2" -eq 0 ]; then
		done=$((done + 1))
	else
		refused=$((refused + 1))
	fi
	guard status >"$out" 2>"$err" || flunk "status works after $1"
	untouched >"$T/why" || {
		lost=$((lost + 1))
		flunk "nothing outside has changed after $1"
		sed 's/^/# /' "$T/why"
	}
	[ $lost -lt 3 ] || finish
	rounds=$((rounds + 1))
}

# The swap happens at one random call of guard.
crash_seed "${CRASH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
rounds=0 done=0 refused=0 lost=0
for verb in add apply restore undo; do
	prepare $verb
	# shellcheck disable=SC2046 # words
	"$stopat" --count "$T/count" --at 0 --reads -- $(words_of $verb) \
		>"$out" 2>"$err" </dev/null
	read -r count _ <"$T/count"
	end=$(($(date +%s) + 2))
	[ $verb != add ] || end=$((end + 2))
	least=$((rounds + 2))
	while [ "$(date +%s)" -lt $end ] || [ $rounds -lt $least ]; do
		prepare $verb
		next "$count"
		# shellcheck disable=SC2046 # words
		"$stopat" --at $number --reads --swap src "$HOME/swap/src" -- \
			$(words_of $verb) >"$out" 2>"$err" </dev/null
		ended=$?
		# While the link is in place guard may be unable to roll back.
		[ ! -L src ] || {
			mv src "$HOME/swap/link"
			mv "$HOME/swap/src" src
		}
		judge "$verb, swapped at call $number" $ended
	done
done
note "$rounds rounds: $done done, $refused refused"
is $lost 0 "a swap at $rounds calls changed nothing outside"

# Swaps at any time.
swap_begin() {
	rm -f "$T/swap.out"
	mkfifo "$T/swap.out"
	"$swapper" src "$HOME/swap/src" gone "$HOME/swap/gone" \
		>"$T/swap.out" &
	swapper_pid=$!
	exec 5<"$T/swap.out"
	read -r _ <&5
}

swap_end() {
	kill -TERM $swapper_pid
	read -r swaps <&5
	exec 5<&-
	wait $swapper_pid
	total=$((total + swaps))
}

rounds=0 done=0 refused=0 total=0
end=$(($(date +%s) + 6))
while [ "$(date +%s)" -lt $end ]; do
	for verb in add apply add restore add undo; do
		prepare $verb
		swap_begin
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(words_of $verb) >"$out" 2>"$err" </dev/null
		ended=$?
		swap_end
		judge $verb $ended
	done
done
note "$rounds rounds, $total swaps: $done done, $refused refused"
is $lost 0 "swaps in $rounds rounds changed nothing outside"
ok 'directories were swapped' test "$total" -gt 0
finish
