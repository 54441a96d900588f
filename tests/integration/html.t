#!/bin/sh
# diff --html: a report that no byte of a run can add an element to.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 20 >text
git add -A
git commit -q -m files
echo only >'<img src=x onerror=alert(1)>'
mkdir src
for i in 1 2 3 4 5; do echo "a$i = old($i)" >src/f$i; done
git add src
git commit -q -m src

# Names and texts that are markup, scripts, entities, controls, no UTF-8, and
# long; also as values of a family of kinds, and as targets of links.
cat >"$HOME/hostile.pl" <<'END2'
use strict;
my @evil = ("<script>alert(1)</script>", "\"><b onclick=x>", "'><i>", "&lt;u&gt;",
	"</pre></details><h6>", "<!--", "]]>", "<svg onload=x>", "\x1b[31m<q>",
	"\xe2\x80\xae<s>", "\xff<em>", "<iframe src=//x>", "{{x}}", "<plaintext>",
	"<style>*{}</style>", "<link href=x>", "<base href=x>", "<meta x>");
sub put { open(my $f, ">", $_[0]) or die "$_[0]: $!"; print $f $_[1]; close($f); }
unlink("<img src=x onerror=alert(1)>");
my $i = 0;
for my $e (@evil) {
	(my $name = $e) =~ s{/}{\xe2\x88\x95}g;
	put("n$i$name", "$e\n" x 3);
	symlink($e, "l$i");
	mkdir("d$i$name");
	put("d$i$name/package.json", "{\"scripts\":{\"postinstall\":\"$e\"}}");
	$i++;
}
put("text", join("", map { "$_ $evil[$_ % @evil]\n" } 1 .. 20));
put("src/f$_", "a$_ = $evil[$_]($_)\n") for 1 .. 5;
put("long", "<a>" x 100000);
mkdir(".vscode");
put(".vscode/tasks.json", "{\"tasks\":[{\"command\":\"<script>x</script>\"," .
	"\"runOptions\":{\"runOn\":\"folderOpen\"}}]}");
END2
ok 'a hostile run' guard run -q -- perl "$HOME/hostile.pl" '<script>2</script>'

gives 0 'diff --html writes a report' guard diff --html "$T/report.html"
says "$err" 'report of run'
is "$(stat -c %a "$T/report.html")" 600 'only the user can read it'
silent "$out" '<'
gives 2 'a report never replaces a file' guard diff --html "$T/report.html"
says "$err" 'exists'
ln -s "$T/other" "$T/link.html"
gives 2 'nor does it follow a link' guard diff --html "$T/link.html"
no 'no file is made through the link' test -e "$T/other"
gives 0 'diff --html - writes to standard output' guard diff --html -
ok 'the same report' cmp "$out" "$T/report.html"
silent "$err" 'report of run'
no 'and no file of that name' test -e ./-
gives 2 'snapshots have no report' guard diff --html "$T/new.html" 1

report=$T/report.html
for text in 'no other copy' 'Look at these first' 'kinds' 'Deleted' 'Added' \
	"default-src 'none'"; do
	says "$report" "$text"
done
no 'no control or invisible character is in it' \
	perl -e 'local $/; $_ = <>; exit !/[\0-\x08\x0b-\x1f\x7f]|\xe2\x80[\x8b-\x8f\xaa-\xae]/' \
	"$report"

# A strict parse: every tag is one of those that guard writes, closed in order,
# with attributes from a short list; no "<" or "&" stands for anything else.
cat >"$T/parse.pl" <<'END2'
use strict;
local $/;
$_ = <>;
/\G<!DOCTYPE html>\n/gc or die "doctype";
my %void = map { $_ => 1 } qw(meta);
my %known = map { $_ => 1 } qw(html head meta title style body h1 h2 p pre span
	details summary ul li);
my @open;
while (pos() < length) {
	next if /\G[^<&]+/gc;
	next if /\G&(amp|lt|gt|quot|#39);/gc;
	if (/\G<(\w+)((?: [a-z-]+(?:=(?:[\w-]+|"[^"<>&]*"))?)*)>/gc) {
		my ($tag, $attributes) = ($1, $2);
		die "element $tag" unless $known{$tag};
		if ($tag eq "meta") {
			die "meta" unless @open && $open[-1] eq "head";
		} elsif ($tag eq "html") {
			die unless $attributes eq " lang=en";
		} else {
			die "attribute $attributes"
				unless $attributes =~ /\A( class=[abcdfhnt]| open)?\z/;
		}
		push @open, $tag unless $void{$tag};
		if ($tag eq "style") {
			/\G([^<]*)/gc or die;
			open(my $f, ">", "$ENV{T}/style") or die;
			print $f $1;
		}
	} elsif (/\G<\/(\w+)>/gc) {
		my $last = pop @open;
		die "</$1> closes $last" unless $last eq $1;
	} else {
		die "at: " . substr($_, pos(), 60);
	}
}
die "open: @open" if @open;
END2
export T
ok 'every element of the report is one of guard' perl "$T/parse.pl" "$report"
hash=$(perl -MDigest::SHA=sha256_base64 -e 'local $/; print sha256_base64(<>)' \
	"$T/style")
ok 'the policy allows this style and no other' \
	grep -qF "style-src 'sha256-$hash='" "$report"

# --- limits ---
ok 'a run with many and large texts' guard run -q -- sh -c '
	mkdir many; i=0
	while [ $i -lt 2100 ]; do i=$((i + 1)); echo $i >many/$i; done
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do seq 99999 >large$i; done'
gives 0 'its report is written' guard diff --html "$T/large.html"
ok 'and has at most 8 MiB' test "$(stat -c %s "$T/large.html")" -le 8388608
says "$T/large.html" 'left out: guard diff shows all'
ok 'its elements are complete' perl "$T/parse.pl" "$T/large.html"

# --- a browser ---
if command -v chromium >/dev/null; then
	chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 \
		--user-data-dir="$T/browser" --dump-dom "file://$report" \
		>"$T/dom" 2>/dev/null
	# The browser's helpers end after it.
	for dir in $(others | sed 's/ .*//'); do
		timeout 60 tail -s 0.02 --pid="$dir" -f /dev/null
	done
	ok 'a browser shows the report' grep -q '<h2>Verdict</h2>' "$T/dom"
	is "$(grep -o '<[a-z][a-z0-9]*' "$T/dom" | sort -u | tr -d '<' |
		tr '\n' ' ')" \
		'body details h1 h2 head html li meta p pre span style summary title ul ' \
		'no element in its document comes from the run'
else
	skip 'no chromium: the strict parse stands for the browser'
fi
finish
