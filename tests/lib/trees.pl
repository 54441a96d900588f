# What tests/lib/model and tests/lib/sequence share: trees of files as hashes,
# random operations on them, and commands of guard. $folder is for scratch
# files, $project is guard's directory; @said is printed when a check fails.
use strict;
use warnings;
use Fcntl ':mode';
use Time::HiRes 'lstat';

our ($folder, $project, $fifos, @names, @said);

sub slurp {
	my ($path) = @_;
	open(my $in, '<:raw', $path) or return '';
	local $/;
	my $bytes = <$in>;
	return defined $bytes ? $bytes : '';
}

sub spill {
	my ($path, $bytes) = @_;
	open(my $out, '>:raw', $path) or return;
	print $out $bytes;
	close($out);
}

# The entries below a directory except its .git: path => kind, mode and bytes;
# with $times also the mtime.
sub look {
	my ($top, $times) = @_;
	my %tree;
	my @left = ('');
	while (defined(my $at = shift @left)) {
		opendir(my $dir, "$top/$at") or die "$top/$at: $!\n";
		for my $name (grep { $_ ne '.' && $_ ne '..' } readdir $dir) {
			my $path = $at eq '' ? $name : "$at/$name";
			next if $path eq '.git';
			my @st = lstat("$top/$path");
			my $mode = sprintf('%o', $st[2] & 07777);
			my $is = S_ISLNK($st[2]) ? 'l::' . readlink("$top/$path")
				: S_ISDIR($st[2]) ? "d:$mode:"
				: S_ISREG($st[2]) ? "f:$mode:" .
					slurp("$top/$path")
				: "p:$mode:";
			$tree{$path} = $times ? "$st[9] $is" : $is;
			push @left, $path if S_ISDIR($st[2]);
		}
	}
	return \%tree;
}

sub some { return $_[int rand @_] }

sub text {
	my $end = some("\n", "\n", "\r\n");
	my $text = join $end, map { "line $_ " . int rand 3 }
		1 .. some(0, 1, 3, 10, 40);
	$text .= $end if rand() < 0.8;
	$text .= "\0" . int rand 1000 if rand() < 0.1;
	return $text;
}

sub edited {
	my @lines = split /(?<=\n)/, $_[0];
	return text() if !@lines;
	for (1 .. some(1, 1, 2)) {
		my $at = int rand @lines;
		my $new = some('new', 'other') . int(rand 5) . "\n";
		splice @lines, $at, int rand 2, rand() < 0.7 ? $new : ();
		return '' if !@lines;
	}
	return join '', @lines;
}

# A random operation that is possible in the present state of a directory.
sub operation {
	my ($top) = @_;
	my $tree = look($top);
	my @paths = sort keys %$tree;
	my @files = grep { $tree->{$_} =~ /^f/ } @paths;
	my $into = some('', map { "$_/" } grep { $tree->{$_} =~ /^d/ } @paths);
	my $new = $into . some(@names);
	my $kind = rand();
	return ['file', $new, text(), some(0644, 0600, 0755)]
		if $kind < 0.2 || !@paths;
	my $path = some(@paths);
	if ($kind < 0.55 && @files) {
		$path = some(@files);
		return [some('edit', 'save'), $path, edited(slurp("$top/$path"))];
	}
	return ['gone', $path] if $kind < 0.63;
	return ['folder', $new, some(0755, 0700, 0775)] if $kind < 0.70;
	return ['link', $new, some('a', '/etc/passwd', '../x')]
		if $kind < 0.75;
	# git has no representation for a FIFO.
	return ['fifo', $new] if $kind < 0.77 && $fifos;
	return ['mode', $path, some(0644, 0600, 0755, 0750)] if $kind < 0.84;
	return ['move', $path, $new] if $kind < 0.94;
	return ['over', $path, some('file', 'folder', 'link'), text()];
}

sub gone {
	my ($path) = @_;
	return unlink $path if -l $path || !-d $path;
	opendir(my $dir, $path) or return;
	gone("$path/$_") for grep { $_ ne '.' && $_ ne '..' } readdir $dir;
	rmdir $path;
}

sub there { return defined lstat($_[0]) && scalar(() = lstat($_[0])) }

sub act {
	my ($top, $op) = @_;
	my ($what, $name, @more) = @$op;
	my $path = "$top/$name";
	my $there = there($path);
	my $file = -f $path && !-l $path;
	if ($what eq 'file') {
		return if $there;
		spill($path, $more[0]);
		chmod $more[1], $path;
	} elsif ($what eq 'edit') {
		spill($path, $more[0]) if $file;
	} elsif ($what eq 'save' && $file) {
		spill("$path~", $more[0]);
		chmod((lstat $path)[2] & 07777, "$path~");
		rename "$path~", $path;
	} elsif ($what eq 'gone') {
		gone($path);
	} elsif ($what eq 'folder') {
		mkdir $path and chmod $more[0], $path;
	} elsif ($what eq 'link') {
		symlink $more[0], $path;
	} elsif ($what eq 'fifo') {
		system('mkfifo', '--', $path) if !$there;
	} elsif ($what eq 'mode') {
		chmod -d $path ? $more[0] | 0700 : $more[0], $path
			if $there && !-l $path;
	} elsif ($what eq 'move') {
		rename $path, "$top/$more[0]" if !there("$top/$more[0]");
	} elsif ($what eq 'over') {
		gone($path);
		act($top, $more[0] eq 'file' ? ['file', $name, $more[1], 0644]
			: $more[0] eq 'folder' ? ['folder', $name, 0755]
			: ['link', $name, 'b']);
	}
}

sub shown {
	my ($text) = @_;
	$text = '(nothing)' if !defined $text;
	$text =~ s/([^ -~])/sprintf '\\x%02x', ord $1/ge;
	return substr $text, 0, 160;
}

sub bad {
	print map { "# $_\n" } @_, @said;
	exit 1;
}

sub same {
	my ($got, $wanted, $what) = @_;
	for my $path (sort keys %{{%$got, %$wanted}}) {
		my ($is, $shall) = ($got->{$path}, $wanted->{$path});
		bad("$what: " . shown($path), 'is:    ' . shown($is),
			'shall: ' . shown($shall))
			if ($is // '') ne ($shall // '');
	}
}

# Returns guard's exit status and keeps its messages for a failure. Its output
# goes to $to, or to the messages.
sub guard_to {
	my ($to, @words) = @_;
	my $pid = fork // die;
	if (!$pid) {
		chdir $project or die;
		open STDIN, '<', '/dev/null';
		open STDERR, '>', "$folder/said";
		open STDOUT, $to ? '>' : '>&', $to // 'STDERR';
		exec 'guard', @words or exit 126;
	}
	waitpid $pid, 0;
	my $status = $? & 127 ? 128 + ($? & 127) : $? >> 8;
	push @said, join(' ', map { shown($_) } 'guard', @words) .
		" => $status", map { '  ' . shown($_) } split /\n/,
		slurp("$folder/said");
	bad("guard ended with $status") if $status > 1;
	return $status;
}

sub guard { return guard_to(undef, @_) }

sub must { bad("'guard @_' has failed") if guard(@_) }

# The merge of both sides' texts; undef on a conflict.
sub together {
	my ($base, $ours, $theirs) = @_;
	return undef if grep { /\0/ } $base, $ours, $theirs;
	spill("$folder/base", $base);
	spill("$folder/ours", $ours);
	spill("$folder/theirs", $theirs);
	my $text = `cd '$folder' && git merge-file -p ours base theirs 2>&1`;
	return $? ? undef : $text;
}

sub one_of {
	my ($base, $ours, $theirs) = @_;
	return $ours if $theirs eq $base || $theirs eq $ours;
	return $ours eq $base ? $theirs : undef;
}

# Merges one path of three trees: (the expected entry, whether the merge is
# clear).
sub merged {
	my @sides = map { $_ // '' } @_;
	my $is = one_of(@sides);
	return ($is, 1) if defined $is;
	my @parts = map { [/^([fd]):(\d+):(.*)$/s] } @sides;
	return ($sides[1], 0) if grep { !@$_ } @parts;
	my @kinds = map { $_->[0] } @parts;
	return ($sides[1], 0) if "@kinds" !~ /^(f f f|d d d)$/;
	my $mode = one_of(map { $_->[1] } @parts);
	my $bytes = one_of(map { $_->[2] } @parts) //
		together(map { $_->[2] } @parts);
	return ($sides[1], 0) if !defined $mode || !defined $bytes;
	return ("$kinds[0]:$mode:$bytes", 1);
}

# The tree that an apply is expected to make, and the paths without a clear
# merge.
sub wanted {
	my ($base, $ours, $theirs, $picked) = @_;
	my (%tree, %unclear);
	for my $path (keys %{{%$base, %$ours, %$theirs}}) {
		my ($is, $clear) = ($ours->{$path} // '', 1);
		($is, $clear) = merged($base->{$path}, $ours->{$path},
			$theirs->{$path}) if $picked->($path);
		$tree{$path} = $is if $is ne '';
		$unclear{$path} = 1 if !$clear;
	}
	for my $path (keys %tree) {
		my $above = $path;
		while ($above =~ s{/[^/]*$}{}) {
			$unclear{$path} = 1 if ($tree{$above} // '') !~ /^d/;
		}
	}
	return (\%tree, \%unclear);
}

# Fails for an entry that no side made: each path must be as on one side, or
# merged, or have conflict markers.
sub nobody_elses {
	my ($is, $sides, $tree, $way) = @_;
	for my $path (sort keys %$is) {
		next if grep { ($_->{$path} // '') eq $is->{$path} } @$sides,
			$tree;
		next if $is->{$path} =~ /^d/;
		next if $way eq '--merge' && $is->{$path} =~ /(?:^|:)<{7} /m;
		# mode and bytes may come from different sides
		my ($mode, $bytes) = $is->{$path} =~ /^f:(\d+):(.*)$/s;
		next if defined $mode &&
			(grep { ($_->{$path} // '') =~ /^f:$mode:/ } @$sides) &&
			(grep { ($_->{$path} // '') =~ /^f:\d+:\Q$bytes\E$/s }
				@$sides, $tree);
		bad("$way: nobody made " . shown($path), shown($is->{$path}));
	}
}

# The output of a program started in a directory; undef if it failed (the reason
# is in "said").
sub printed {
	my ($at, @words) = @_;
	my $pid = open(my $out, '-|') // die;
	if (!$pid) {
		chdir $at or die;
		open STDERR, '>', "$folder/said";
		exec @words or exit 126;
	}
	local $/;
	my $text = <$out> // '';
	push @said, join(' ', map { shown($_) } @words) . " in $at";
	return close($out) ? $text : undef;
}

1;
