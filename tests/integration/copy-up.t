#!/bin/sh
# users: one
# A large copy-up of the kernel tells what a program of the run waits for.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

mkdir -p "$HOME/p/sub" "$HOME/c"
cd "$HOME/p" || exit 99
# Its copy shows that the thread copies, and takes the space that guard looks
# for.
head -c 20000000 /dev/zero | tr '\0' x >first
truncate -s 200M big "$HOME/c/big" "$HOME/big"
truncate -s 60M small
ln -s big link
guard snapshot -q
(cd "$HOME/c" && guard snapshot -q)

# lease FILE...: until this process ends, a copy-up of one of them waits
lease() {
	exec perl -MFcntl -e '$SIG{IO} = "IGNORE"; my @held;
		for (@ARGV) {
			open my $f, "<", $_ or die "$_: $!";
			fcntl $f, 1024, F_WRLCK or die "$_: lease: $!";
			push @held, $f;
		}
		print "held\n"; close STDOUT; sleep 100' "$@"
}

# during FILE LOOKS COMMAND...: runs the command while a copy-up of FILE or
# small waits, until it says so, or for LOOKS twentieths of a second
during() {
	mkfifo "$T/held"
	lease "$1" small >"$T/held" &
	holder=$!
	read -r held <"$T/held" || held=
	rm "$T/held"
	[ "$held" = held ] || flunk "$1 has a lease"
	looks=$2
	shift 2
	: >"$err"
	"$@" >"$out" 2>"$err" </dev/null &
	run=$!
	until grep -q 'the kernel copies' "$err" "$out" || [ "$looks" -eq 0 ]; do
		looks=$((looks - 1))
		perl -e 'select undef, undef, undef, 0.05'
	done
	kill "$holder"
	wait "$holder" "$run" 2>/dev/null
	guard discard -y >"$T/log" 2>&1
}

line='the kernel copies all of its 210 MB into the layer'
first='open my $a, "+<", "first" or die; '
while read -r file code; do
	during "$file" 400 guard run --cow "$HOME/c" -- perl -e "$first $code"
	says "$err" "guard: '$file': $line"
	is "$(grep -c "the kernel" "$err")" 1 "one line: $code"
done <<-END
	$PWD/big open my \$f, "+<", "big"
	$PWD/big chdir "sub"; open my \$f, ">>", "../big"
	$PWD/big open my \$f, "+<", "link"
	$PWD/big open my \$f, "+<", "$PWD/big"
	$PWD/big truncate "big", 5
	$PWD/big fork; rename "big", "other"
	$PWD/big fork or open my \$s, "+<", "small"; chmod 0600, "big"
	$HOME/c/big open my \$f, "+<", "../c/big"
	$HOME/big open my \$f, "+<", "$HOME/big"
END

# quiet TITLE COMMAND...
quiet() {
	title=$1
	shift
	during big 30 "$@"
	silent "$err" 'the kernel copies'
	silent "$out" 'the kernel copies'
	note "$title"
}
write="$first"'open my $f, "+<", "big"'
quiet 'with -q' guard run -q -- perl -e "$write"
quiet 'a small file' guard run -- perl -e "$first"'open my $f, "+<", "small"'
quiet 'a file that the layer has' guard run -- \
	perl -e "$first"'open my $t, ">", "big"; open my $f, "+<", "big"; sleep 1'
quiet 'a program that reads keys' script -q -e -c \
	"guard run -- sh -c 'stty raw; perl -e \"\$0\"' '$write'" /dev/null
during big 400 script -q -e -c "guard run -- perl -e '$write'" /dev/null
says "$out" "guard: '$PWD/big': $line"
finish
