# Replaces text that differs between two executions of the same command by fixed
# words:
#
#	perl -p mask.pl BEGAN IDS <TEXT
#
# Replaced are times since BEGAN (seconds since 1970), ages, process and inode
# numbers, names of packs, and ids of runs, commits and stores' origins. Times before BEGAN and
# the ids in the file IDS belong to the corpus, so they are equal on both sides.
use strict;
use warnings;
use POSIX qw(strftime);

our ($began, $since, %known);

BEGIN {
	($began, my $ids) = splice(@ARGV, 0, 2);
	$since = strftime('%Y-%m-%d %H:%M:%S', gmtime($began));
	open(my $file, '<', $ids) or die("$ids: $!");
	chomp, $known{$_} = 1 while <$file>;
}

# said only when the snapshot takes long
$_ = '' if /^err: guard: finishing the snapshot of the project/;
s/\b(?:3[0-9a-z]{5}-[0-9a-z]{2}|[a-z][0-9a-z]{3}-[0-9a-z]{6})\b/$known{$&} ? $& : 'RUN'/ge;
s/\b(2\d{3}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?Z?/
	"$1 $2" . ($3 || ':59') ge $since ? 'TIME' : $&/gex;
s/\b1\d{9}(?:\.\d+)?\b/$& >= $began ? 'NOW' : $&/ge;
s/\b\d+ (?:s|min|h) ago\b *( ?)/AGO$1/g;
s/\b[0-9a-f]{28}\.gpk/PACK.gpk/g;
s/"pid":\d+/"pid":PID/g;
s/"pid": \d+/"pid": PID/g;
s/\b[0-9a-f]{40}\b/$known{$&} ? $& : 'COMMIT'/ge;
s/^(err: guard: committed to \S+:) [0-9a-f]+/$1 COMMIT/;
s/\b(NOW-(?:agent|prune|repair|purge))-\d+\b/$1/g;
s/(-discard-part-[0-9a-zRUN-]+)-\d+-(\d+)/$1-N-$2/g;
s/\.\d+\.tmp$/.N.tmp/;
s/, \d+ packs, \d+ objects/, N packs, N objects/;
s/("(?:seconds|rate|eta)": )[\d.]+/$1N/g;
s/^(ended|init|supervisor|clock|project-ino|ino)=.*/$1=/;
s/^((?:out: )? *"origin": ")[0-9a-f]{32}"/$1ORIGIN"/;
s/^(extra=\d+) \d+ /$1 INO /;
s/^((?:user|trusted)\.overlay\.(?:origin|uuid))=.*/$1=/;
s/\/work\/#[0-9a-f]+$/\/work\/#/;
