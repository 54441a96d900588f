#!/usr/bin/perl
# Two ideas had many forms: "a change of one path" (a struct with a path, an old
# and a new side) and "the same" (a function that compares two states of a
# file). tests/lint/concepts lists those that there are:
#
#	concepts.pl LIST
#
#	change NAME	a struct of the first kind
#	same NAME	a function of the second kind
#	other NAME	looks like one of them by its name or members, and is none
#
# A name that no longer exists, and a struct or function that looks like one of
# them and is not listed, fail. The lists only get shorter: delta.h and entry.h
# have the forms to use.
use strict;
use warnings;

my ($list) = @ARGV;
my (%listed, %found, $failed);

open my $in, '<', $list or die "concepts: $list: $!\n";
while (<$in>) {
	$listed{$2} = $1 if /^(change|same|other) (\w+)$/;
}
close $in;

for my $path (glob '{base,snapshot,overlay,restore,guard}{,/*}/*.[ch]') {
	local $/;
	open my $source, '<', $path or die "concepts: $path: $!\n";
	my $text = <$source>;
	$text =~ s{/\*.*?\*/}{}gs;
	while ($text =~ /^struct (\w+) \{(.*?)^\}/gms) {
		my ($name, $body) = ($1, $2);
		$found{$name} = $path if $listed{$name};
		$found{$name} = $path
			if $body =~ /char \*(\w*path|name|from)\b/ &&
			$body =~ /\b(old|was|before|base|from|a)\b[;,]/ &&
			$body =~ /\b(now|is|want|after|to|b)\b[;,]/;
	}
	next if $path =~ /h$/;
	while ($text =~ /^(?:static )?(?:bool|int) (\w+)\((?!void)/gm) {
		my $name = $1;
		$found{$name} = $path
			if $listed{$name} ||
			$name =~ /(^|_)(same|equal|unchanged|alike|differs)(_|$)/ ||
			$name =~ /(^|_)is_as_/;
	}
}

for my $name (sort keys %{{%found, %listed}}) {
	next if $found{$name} && $listed{$name};
	$failed = 1;
	print $found{$name}
		? "$found{$name}: $name looks like a change of one path, or " .
		"like a comparison of two states: use those of delta.h and " .
		"entry.h, or list it in $list\n"
		: "$list: $name is gone: remove the line\n";
}
exit !!$failed;
