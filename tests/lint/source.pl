#!/usr/bin/perl
# Checks of the sources' text: layers, circles, owners of foreign headers,
# words, the length of functions, exported names.
#
#	tests/lint/source.pl LAYERS OBJECT-DIR
use strict;
use warnings;

my $max_function = 120;
my ($rules, $objects) = @ARGV;
my (%layer, @headers, @words, %exports, %family, %circle);
my $bad = 0;

sub complain {
	print "@_\n";
	$bad++;
}

open my $in, '<', $rules or die "$rules: $!\n";
while (<$in>) {
	s/#.*//;
	next unless /\S/;
	/^(\w+)\s+([^:]+?)\s*:\s*(.*?)\s*$/ or die "$rules:$.: not a rule\n";
	my ($kind, $what, @list) = ($1, $2, split ' ', $3);
	if ($kind eq 'layer') { $layer{$what} = [@list] }
	elsif ($kind eq 'header') { push @headers, [$what, @list] }
	elsif ($kind eq 'words') { push @words, [[split ' ', $what], @list] }
	elsif ($kind eq 'family') { $family{$_} = $what for @list }
	elsif ($kind eq 'exports') { $exports{$what} = [@list] }
	elsif ($kind eq 'circle') { $circle{$_} = $what for @list }
	else { die "$rules:$.: unknown rule '$kind'\n" }
}
close $in;

# Whether a list names a directory or a module: as itself, or by "x/*".
sub named {
	my ($what, @list) = @_;
	return scalar grep {
		my ($all) = m|^(.*)/\*$|;
		$what eq ($all // $_) || $all && index($what, "$all/") == 0
	} @list;
}

sub folder { my ($path) = @_; $path =~ s|/[^/]*$||; return $path }
sub module { my ($path) = @_; $path =~ s/\.[ch]$//; return $path }

# Removes comments and the content of strings, and keeps the lines.
sub strip {
	my ($text) = @_;
	$text =~ s{(/\*.*?\*/)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')}{
		my ($comment, $text) = ($1, $2);
		defined $comment ? "\n" x ($comment =~ tr/\n//)
			: $text =~ /^'/ ? "' '" : '""'
	}gse;
	return $text;
}

my (%owner_of, %header_edges, %module_edges);
my @files = sort map { glob "$_/*.[ch]" } keys %layer;
# A directory without a rule would be missing in the checks below.
my %tops = map { m|^([^/]+)| => 1 } keys %layer;
my %unruled = map { folder($_) => 1 } map { glob "$_/*.[ch]" }
	map { ($_, "$_/*", "$_/*/*", "$_/*/*/*") } keys %tops;
complain "$_: no layer rule for this directory"
	for grep { !$layer{$_} } sort keys %unruled;
for my $file (@files) {
	open my $fh, '<', $file or die "$file: $!\n";
	my $raw = do { local $/; <$fh> };
	close $fh;
	my $dir = folder($file);
	my $line = 0;
	# The compiler then shows that the header is complete by itself.
	my $own = $file =~ s/\.c$/.h/r;
	complain "$file: its first #include is not \"$own\""
		if $own ne $file && -e $own &&
			($raw =~ /^#\s*include\s+(\S+)/m)[0] ne "\"$own\"";
	for (split /\n/, $raw) {
		$line++;
		next unless /^\s*#\s*include\s*([<"])([^>"]+)[>"]/;
		my ($quote, $name) = ($1, $2);
		if ($quote eq '"') {
			my $to = folder($name);
			complain "$file:$line: \"$name\" is not a path from the top"
				unless -e $name;
			complain "$file:$line: $dir must not include $to"
				if $layer{$to} && !named($to, $dir, @{$layer{$dir}});
			complain "$file:$line: $name belongs to no layer"
				unless $layer{$to};
			$header_edges{$file}{$name} = 1 if $file =~ /\.h$/;
			my ($from, $onto) = map { $family{$_} // $_ }
				module($file), module($name);
			$module_edges{$from}{$onto} = 1 if $from ne $onto;
			next;
		}
		for my $rule (@headers) {
			my ($pattern, @owners) = @$rule;
			my $re = quotemeta $pattern;
			$re =~ s/\\\*/.*/g;
			next unless $name =~ /^$re$/;
			my $one = $owners[0] eq 'one' && shift @owners;
			complain "$file:$line: <$name> belongs to @owners"
				unless named($dir, @owners) ||
					named(module($file), @owners);
			next unless $one;
			my $first = $owner_of{$pattern} //= $file;
			complain "$file:$line: <$name> belongs to $first alone"
				if $first ne $file;
		}
	}
	my $code = strip($raw);
	for my $rule (@words) {
		my ($except, @list) = @$rule;
		next if named($dir, @$except) || named(module($file), @$except);
		my $words = join '|', @list;
		my $n = 0;
		for (split /\n/, $code) {
			$n++;
			complain "$file:$n: $1 is for @$except only"
				if /(?<![\w.>])($words)\s*[(),;]/ && !/format\(/;
		}
	}
	my ($start, $n) = (0, 0);
	for (split /\n/, $code) {
		$n++;
		$start = $n if /^\{/;
		next unless /^\}/ && $start;
		complain "$file:$start: function of " . ($n - $start) .
			" lines, the most is $max_function"
			if $n - $start > $max_function;
		$start = 0;
	}
}

# Circles, by depth-first search.
sub circles {
	my ($what, $edges) = @_;
	my (%colour, $visit);
	$visit = sub {
		my ($node, @way) = @_;
		$colour{$node} = 1;
		for my $next (sort keys %{$edges->{$node} // {}}) {
			my $c = $colour{$next} // 0;
			if ($c == 1) {
				complain "circle of $what: " .
					join(' -> ', @way, $node, $next);
			} elsif (!$c) {
				$visit->($next, @way, $node);
			}
		}
		$colour{$node} = 2;
	};
	for (sort keys %$edges) { $visit->($_) unless $colour{$_} }
}
circles('headers', \%header_edges);
circles('modules', \%module_edges);

# One nm for all: a process for each object took most of the time.
my (%symbols, %needs, %home);
my @objects = grep { -e } map { "$objects/" . module($_) . '.o' }
	grep { /\.c$/ } @files;
open my $nm, '-|', 'nm', '-A', '-g', @objects or die "nm: $!\n";
while (<$nm>) {
	next unless m|^\Q$objects\E/(.*)\.o:.*\s([A-Z])\s+(\S+)$|;
	if ($2 eq 'U') { push @{$needs{$1}}, $3 }
	else { push @{$symbols{$1}}, $3; $home{$3} = $1 }
}
close $nm or die "nm failed\n";

# Files that call each other, whatever header declares the functions: the
# strongly connected components of the calls, by Tarjan's algorithm.
sub file_circles {
	my (%number, %lowest, %waits, @stack, @found, $visit);
	$visit = sub {
		my ($file) = @_;
		$number{$file} = $lowest{$file} = scalar keys %number;
		push @stack, $file;
		$waits{$file} = 1;
		for my $other (map { $home{$_} // () } @{$needs{$file} // []}) {
			my $low = $number{$other};
			if (!defined $low) {
				$visit->($other);
				$low = $lowest{$other};
			} elsif (!$waits{$other}) {
				next;
			}
			$lowest{$file} = $low if $low < $lowest{$file};
		}
		return if $lowest{$file} != $number{$file};
		my @members;
		do {
			push @members, pop @stack;
			delete $waits{$members[-1]};
		} until $members[-1] eq $file;
		push @found, [sort @members] if @members > 1;
	};
	for (sort keys %needs) { $visit->($_) unless defined $number{$_} }
	return @found;
}
my %in_circle;
for my $members (file_circles()) {
	$in_circle{$_} = 1 for @$members;
	complain "files that call each other: @$members"
		if grep { !$circle{$_} } @$members;
}
complain "$_ is in no circle any more: remove it from $rules"
	for grep { !$in_circle{$_} } sort keys %circle;

for my $file (grep { /\.c$/ } @files) {
	my $module = module($file);
	(my $name = $module) =~ s|.*/||;
	my $prefixes = $exports{$module} //
		($name =~ /^cmd_/ ? ['cmd_'] : [$name . '_', $name]);
	for my $symbol (@{$symbols{$module} // []}) {
		complain "$file: exports $symbol (its own: @$prefixes)"
			unless grep { /_$/ ? index($symbol, $_) == 0
				: $symbol eq $_ } @$prefixes;
	}
}
exit($bad ? 1 : 0);
