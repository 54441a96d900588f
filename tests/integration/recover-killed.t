#!/bin/sh
# guard recover is killed at a call that changes a file: no command takes the
# remains for a store, and the same command again makes the complete one.
#
#	recover-killed.t [STEP]		every STEP-th call (4); 1: all
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

tools=$(dirname "$(command -v guard)")/tests/lib
[ -x "$tools/stopat" ] || tools=/opt/guard/build/tests/lib
step=${1:-4}
start=$(($(date +%s) % step))
note "calls $start + $step n"
make_home
cd "$HOME/project" || exit 99
D=$T/copies
M=$T/machine
destination 1 "$D"
echo 'a long passphrase' >"$T/pass"
guard snapshot -q >"$T/said"
gives 0 'a first backup' guard backup --passphrase-file "$T/pass" "$D"
head -c 3000000 /dev/urandom >big
guard snapshot -q >"$T/said"
guard pin 1 2>"$T/said"
gives 0 'a second backup' guard backup "$D"

# recover [COMMAND...]: on the other machine, below that command
recover() {
	"$@" env GUARD_HOME="$M" guard recover --passphrase-file "$T/pass" "$D"
}
recover_killed_at() {
	recover "$tools/stopat" --count "$T/count" --at "$1" --
}
# begin STATE: the other machine has no store, or the one of this name
begin() {
	[ ! -d "$M/store" ] || chmod -R u+w "$M/store" "$M/trash"
	rm -rf "$M/store" "$M/backups" "$M/pins" "$M/trash"/*
	[ "$1" != empty ] || cp -a "$T/empty" "$M/store"
}
# is_complete: whether the other machine has the store and the pins that a
# recover without a kill makes
is_complete() {
	(cd "$M" && find store pins -type f -exec sha256sum {} + |
		LC_ALL=C sort) >"$T/is"
	cmp -s "$T/wanted" "$T/is"
}

# killed STATE STATUS: recover, killed at its calls in turn, then not killed: it
# ends with STATUS
killed() {
	begin "$1"
	gives "$2" "recover ends with $2 where it is not killed ($1)" \
		recover_killed_at 0
	read -r calls _ <"$T/count"
	: >"$T/wanted"
	is_complete
	mv "$T/is" "$T/wanted"
	ok "it makes many calls ($1)" test "$calls" -gt 40
	wrong=
	at=$start
	while [ $((at += step)) -le "$calls" ]; do
		begin "$1"
		recover_killed_at $at >"$T/said" 2>&1
		[ $? = 137 ] || wrong="$wrong $at/alive"
		read -r _ call <"$T/count"
		if GUARD_HOME=$M guard show 1 >"$T/said" 2>&1; then
			is_complete || wrong="$wrong $at/$call/incomplete"
			grep -q '^number=2' "$M"/backups/*/record ||
				wrong="$wrong $at/$call/unknown"
			continue
		fi
		recover >"$T/said" 2>&1
		[ $? = "$2" ] && is_complete ||
			wrong="$wrong $at/$call/$(tail -n 1 "$T/said")"
	done
	is "$wrong" '' "recover goes on after a kill at any call ($1)"
	begin "$1"
	run="$M/trash/$(date +%s)-discarded-recover"
	mkdir -p "$run"
	at=0
	while [ $((at += 3)) -le "$calls" ]; do
		recover_killed_at $at >"$T/said" 2>&1
	done
	[ -e "$M/store" ] || recover >"$T/said" 2>&1
	ok "and after many kills ($1)" is_complete
	is "$(find "$M/trash" -maxdepth 1 -name '*-recover')" "$run" \
		"no remains stay, and other trash does ($1)"
}

mkdir -m 700 "$M"
GUARD_HOME=$M guard restore -y nothing >"$T/said" 2>&1
ok 'a refused restore makes an empty store' cp -a "$M/store" "$T/empty"
killed none 0
killed empty 0
pack=$(find "$D" -path '*/p/*' -size +2000k)
chmod u+w "$pack"
printf 'damaged' | dd of="$pack" bs=1 seek=500 conv=notrunc status=none
killed none 1

finish
