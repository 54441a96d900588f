#!/bin/sh
# Power cuts while a run writes: the file system with the layer is shut down
# without its log at a random time, and writes that are not on it are lost. After a new
# mount, under another boot id, no apply without a consent may write a damaged
# file over the user's: with NUL bytes, half of its lines, or none. TAP; for
# root, on images of its own.
#
#	BUILD=build layers.sh [COUNT [FILESYSTEM [OPTIONS OF run]]]
set -u
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/crash/lib.sh
. "$here/lib.sh"
build=$(realpath "${BUILD:-$here/../../build}")
count=${1:-2}
only=${2:-}
[ $# -lt 2 ] || shift 2

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

[ "$(id -u)" -eq 0 ] || skip_all 'only root can mount images'
if [ "${LAYERS_INSIDE:-}" != 1 ]; then
	unshare --mount true 2>/dev/null || skip_all 'no mount namespaces'
	LAYERS_INSIDE=1 exec unshare --mount --propagation private "$0" \
		"$count" "$only" "$@"
fi
[ "${1:-}" ] || set --

T=$(mktemp -d /var/tmp/layers.XXXXXX) || exit 99
mkdir "$T/m"
cd "$T" || exit 99
leave() {
	cd /
	umount "$T/m" 2>/dev/null
	rm -f "$T"/* 2>/dev/null
	rmdir "$T/m" "$T"
}
trap leave EXIT
trap 'exit 99' INT TERM HUP

# Each file has lines of 61 bytes; the first has their number, or "-" where the
# run appends. All lines have one version.
cat >"$T/write" <<'END'
use Fcntl;
srand(shift);
sub text { my ($v, $n, $head) = @_;
	join "", map { sprintf("%-60s\n", "$head $v " . ($_ + 1)) } 0 .. $n - 1 }
mkdir "new$_" for 1 .. 3;
for (my $v = 1; ; $v++) {
	my $how = int(rand(5));
	my $n = 1 + int(rand(300));
	my $f = (int(rand(2)) ? "" : "new" . (1 + int(rand(3))) . "/") .
		"$how." . int(rand(500));
	my $flags = O_WRONLY | O_CREAT;
	my $to = $how == 1 ? "$f~" : $f;
	my $text = text($v, $n, $n);
	$flags |= O_TRUNC if $how <= 1;
	$flags |= O_APPEND, $text = text("-", 1, "-") if $how == 2;
	if ($how == 3) { # in place, always of the same size
		$text = text($v, 200, 200);
	} elsif ($how == 4) {
		unlink $f;
		next;
	}
	sysopen(my $h, $to, $flags) or die "$to: $!";
	syswrite($h, $text) == length $text or die;
	close $h;
	rename $to, $f if $how == 1;
	select undef, undef, undef, rand(0.02);
}
END
# Prints each damaged file.
cat >"$T/check" <<'END'
for my $f (grep { -f } @ARGV) {
	open my $h, "<", $f or die;
	local $/;
	my $b = <$h>;
	my @l = split /\n/, $b, -1;
	my ($head, $v) = ($l[0] // "") =~ /^(\S+) (\S+) /;
	my $good = defined $head && pop @l eq "" &&
		($head eq "-" || $head == @l);
	for my $i (0 .. $#l) {
		my $k = $head eq "-" ? 1 : $i + 1;
		$good &&= $l[$i] eq sprintf("%-60s", "$head $v $k");
	}
	print "$f\n" unless $good;
}
END

boot_id=/proc/sys/kernel/random/boot_id
tests=0 failures=0
flunk() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $point: $*"
}

guard() {
	"$build/guard" "$@" </dev/null
}

# damaged DIR: the number of damaged files in it
damaged() {
	perl "$T/check" "$1"/[0-9]* "$1"/new*/[0-9]* | tee "$T/damaged" | wc -l
}

shut_down() {
	perl -e 'open my $h, "<", shift or die; my $how = pack "L", 2;
		ioctl $h, 0x8004587d, $how or die "$!"' "$T/m"
}

make_image() {
	truncate -s 400M "$T/work.img"
	case $fs in
	ext4) mkfs.ext4 -q -F -O has_journal -E \
		lazy_itable_init=0,lazy_journal_init=0 "$T/work.img" ;;
	xfs) mkfs.xfs -q -f "$T/work.img" ;;
	esac || exit 99
	mount -o loop "$T/work.img" "$T/m" || exit 99
	mkdir -p "$T/m/home/project"
	cd "$T/m/home/project" || exit 99
	git init -q .
	for i in $(seq 0 300); do
		for how in 0 1 2 3 4; do
			case $how in
			2) printf '%-60s\n' '- - 1' ;;
			*) printf '%-60s\n' '1 0 1' ;;
			esac >"$how.$i"
		done
	done
	git add -A
	git -c user.name=x -c user.email=x@example.org commit -qm x
	# In a run /var/tmp is a private one.
	cp "$T/write" ..
	sync -f .
}

reboot() {
	cd "$T" || exit 99
	until umount "$T/m" 2>/dev/null; do sleep 0.1; done
	mount -o loop "$T/work.img" "$T/m" || exit 99
	cd "$T/m/home/project" || exit 99
	cat /proc/sys/kernel/random/uuid >"$T/boot"
	mount --bind "$T/boot" $boot_id || exit 99
}

# one SECONDS
one() {
	guard run -q "$@" -- perl ../write "$(od -An -N4 -tu4 /dev/urandom)" \
		>"$T/out" 2>&1 &
	runner=$!
	sleep "$seconds"
	shut_down
	kill -9 $runner
	wait $runner 2>/dev/null
	reboot
	run=$(guard status -q | head -n 1)
	upper=$T/m/home/state/runs/$run/upper
	guard diff --json "$run" 2>/dev/null >"$T/diff"
	torn=$(grep -c '"torn": *true' "$T/diff")
	lost=$(damaged "$upper")
	guard apply -y "$run" >"$T/out" 2>&1
	plain=$?
	[ "$(damaged .)" -eq 0 ] || flunk "a plain apply wrote $(cat "$T/damaged")"
	guard apply -y --except critical "$run" >>"$T/out" 2>&1
	[ "$(damaged .)" -eq 0 ] ||
		flunk "an apply without torn files wrote $(cat "$T/damaged")"
	echo "# $point: $lost damaged of $(find "$upper" -type f | wc -l)" \
		"files, $torn torn; plain apply: $plain"
	guard discard -q -y "$run" 2>/dev/null
	# With a mount in /proc no run can mount its own.
	umount $boot_id || exit 99
}

GUARD_HOME=$T/m/home/state HOME=$T/m/home
export GUARD_HOME HOME
unset XDG_DATA_HOME GUARD GUARD_RUN
crash_systems ext4 xfs
for fs in ${only:-$systems}; do
	point=$fs
	make_image
	n=0
	while [ $n -lt "$count" ]; do
		n=$((n + 1))
		seconds=$(($(od -An -N1 -tu1 /dev/urandom) % 24 + 2))
		point="$fs, cut $n after $seconds s"
		one "$@"
	done
	cd "$T" || exit 99
	umount "$T/m" || exit 99
done
tests=$((tests + 1))
[ $failures -ne 0 ] || echo "ok $tests - no cut put a damaged file into a project"
echo "1..$tests"
[ $failures -eq 0 ]
