#!/bin/sh
# users: one
# needs: images
# Bytes that the verbs read and write for a large file of which a run changed a
# part: counted, by the kernel, for guard and its children.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# costs READ WRITTEN TITLE COMMAND...: at most so many MB go through read(2) and
# to the disk
costs() {
	most_read=$1
	most_written=$2
	title=$3
	shift 3
	# shellcheck disable=SC2016 # for the inner shell
	sh -c '"$@" >"$0" 2>&1 || echo failed
		sed -n "s/^rchar: //p; s/^write_bytes: //p" /proc/$$/io' \
		"$T/log" "$@" >"$T/io"
	# shellcheck disable=SC2046 # two words
	set -- $(cat "$T/io")
	if [ $# -eq 2 ] && [ "$1" -le $((most_read << 20)) ] &&
		[ "$2" -le $((most_written << 20)) ]; then
		pass "$title: $most_read and $most_written MB at most"
	else
		flunk "$title: $most_read and $most_written MB at most"
		note "read and written: $*"
		sed 's/^/#   /' "$T/log"
	fi
}

random() {
	perl -e 'srand 7; print pack "L*", map int rand 2**32, 1..2**18
		for 1..$ARGV[0]' "$1"
}

# large KIND COPIED: in the present directory; COPIED: MB that a new version of
# the file writes
large() {
	kind=$1 copied=$2
	random 18 >big
	echo text >small
	cp --reflink=auto big kept
	guard snapshot -q
	gives 0 "$kind: a part is changed" guard run -- perl -e '
		open my $f, "+<", "big" or die $!;
		seek $f, 16 << 20, 0; print $f "changed" x 150000; close $f;
		open $f, "<", "kept"; open my $g, ">", "new";
		local $/; print {$g} <$f>'
	costs 1 1 "$kind: status" guard status
	costs 1 1 "$kind: diff" guard diff
	costs 1 1 "$kind: log" guard log big
	costs 19 "$copied" "$kind: apply of both" guard apply -y
	cp --reflink=auto kept wanted
	perl -e 'open my $f, "+<", "wanted"; seek $f, 16 << 20, 0;
		print $f "changed" x 150000'
	ok "$kind: the change is there" cmp big wanted
	ok "$kind: the new file is there" cmp new kept
	gives 0 "$kind: undo" guard undo -y
	costs 1 1 "$kind: diff after undo" guard diff
	costs 1 1 "$kind: status after undo" guard status
	ok "$kind: the file is as before" cmp big kept
	no "$kind: no new file" test -e new
	gives 0 "$kind: redo" guard redo -y
	ok "$kind: the change is there again" cmp big wanted
	gives 0 "$kind: undo again" guard undo -y
	# A run that wrote other bytes and set the old time.
	guard discard -y >"$T/log" 2>&1
	gives 0 "$kind: bytes with an old time" guard run -- perl -e '
		my @s = stat "big"; open my $f, "+<", "big" or die $!;
		seek $f, 16 << 20, 0; print $f "changed" x 150000; close $f;
		utime @s[8, 9], "big"'
	gives 0 "$kind: apply of big alone" guard apply -y . big
	ok "$kind: the bytes arrive" cmp big wanted
}

mkdir "$HOME/p"
cd "$HOME/p" || exit 99
large home 38
if [ -d /images/xfs ]; then
	mkdir /images/xfs/p
	cd /images/xfs/p || exit 99
	export GUARD_HOME=/images/xfs/state
	large xfs 3
else
	skip "no xfs: $(cat /images/xfs.why 2>&1)"
fi
unset GUARD_HOME
finish
