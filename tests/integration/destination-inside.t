#!/bin/sh
# A destination of backups inside a project: no snapshot has guard's own files
# of it, whichever command looks at the project, and the store no copy of them.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

tools=$(dirname "$(command -v guard)")/tests/lib
[ -x "$tools/stopat" ] || tools=/opt/guard/build/tests/lib
make_home
P=$HOME/project
mkdir -p "$P/copies" "$HOME/lib/copies"
cd "$P" || exit 99
echo 'a long passphrase' >"$T/pass"
head -c 3000000 /dev/urandom >big
echo lib >"$HOME/lib/file"
guard snapshot -q >"$T/said"
destination 1 "$P/copies"
destination 2 "$HOME/lib/copies"
for dir in "$P/copies" "$HOME/lib/copies"; do
	gives 0 'a backup into a project' \
		guard backup --passphrase-file "$T/pass" "$dir"
	echo mine >"$dir/mine"
	ok 'a snapshot with it' guard snapshot -q "$dir/.."
done

# outside COMMAND: whether no snapshot has a file of the destinations now
outside() {
	for root in "$P" "$HOME/lib"; do
		cd "$root" || exit 99
		sealed=$(find copies -path '*/p/*' -type f | head -n 1)
		gives 1 "no snapshot has them after $1" guard find guard-copy
		gives 1 "nor a sealed file ($1)" guard find \
			"${sealed##*/}"
		gives 0 "but the files beside them ($1)" guard find mine
	done
	cd "$P" || exit 99
}
packs_size() {
	du -sb "$state/store/packs" | cut -f 1
}

guard snapshot -q >"$T/said"
outside snapshot
guard snapshot -q copies copies/guard-copy >"$T/said" 2>&1
outside 'snapshot of the destination'
gives 0 'guard diff' guard diff --name-status 1
silent "$out" guard-copy
is "$(grep -c copies "$out")" 1 'lists only the files beside them'
guard run -q --cow "$HOME/lib" -- sh -c \
	'echo new >new; echo x >copies/new; echo y >../lib/copies/new'
gives 0 'a run with two roots is applied' guard apply -q -y
outside apply
gives 0 'undo reverts it' guard undo -q -y
outside undo
guard discard -q -y
gives 0 'restore restores all' guard restore -q -y --exact --at 1 .
ok 'it leaves the destination' guard verify "$P/copies"
outside restore
guard undo -q -y

# The next command finishes an apply of two roots that was killed late.
# applied AT: a run with two roots, whose apply is killed at that call
applied() {
	guard run -q --cow "$HOME/lib" -- sh -c \
		"echo $1 >copies/new; echo $1 >../lib/copies/new
		chmod 700 copies ../lib/copies"
	"$tools/stopat" --count "$T/count" --at "$1" -- guard apply -q -y \
		>"$T/said" 2>&1
	guard status >"$T/said" 2>&1
	guard apply -q -y >"$T/said" 2>&1
	ok "it is undone ($1)" guard undo -q -y
	guard discard -q -y
}
applied 0
read -r calls _ <"$T/count"
note "$calls calls"
for part in 5 6 7 8 9; do
	applied $((calls * part / 10))
done
outside 'apply that was killed'

# --- repair ---
pack=$(find "$state/store/packs" -size +2000k | head -n 1)
before=$(packs_size)
chmod u+w "$pack"
printf 'XXXXXXXX' | dd of="$pack" bs=1 seek=1000000 conv=notrunc status=none
gives 0 'repair takes the lost file from the project' guard repair -y
outside repair
after=$(packs_size)
ok 'it stores no file of a backup' test $((after - before)) -lt 2000000

# --- recover ---
GUARD_HOME=$T/other
export GUARD_HOME
gives 0 'another machine recovers' \
	guard recover --passphrase-file "$T/pass" "$P/copies"
guard snapshot -q >"$T/said"
guard run -q -- sh -c 'echo newer >new'
guard apply -q -y
gives 1 'its snapshots have no file of the destination' \
	sh -c 'guard find -q guard-copy | grep copies/'
finish
