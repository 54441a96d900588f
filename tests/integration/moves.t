#!/bin/sh
# What a run moved is told as moved wherever a person reads it, it never hides
# that something is gone from where it was, and each half can be taken alone.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# has FILE REGEX / hasnt FILE REGEX: a line of it
has() {
	ok "${1##*/} has $2" grep -q -e "$2" "$1"
}

hasnt() {
	no "${1##*/} has no $2" grep -q -e "$2" "$1"
}

mkdir -p old/sub old/void
for name in a b c d e f; do
	seq 1 40 | sed "s/^/$name /" >old/sub/$name
done
printf '#!/bin/sh\necho hello from here\n' >old/sub/tool
: >old/__init__.py
: >old/sub/__init__.py
seq 1 60 >single
seq 100 160 >victim
seq 200 260 >winner
seq 300 360 >text

cat >"$HOME/work.sh" <<'EOF'
mv old new
echo changed >>new/sub/b
rm new/sub/c
echo fresh >new/sub/fresh
chmod 755 new/sub/tool
mv single renamed
mv winner victim
mkdir -p .husky
mv text .husky/pre-commit
sed -i 's/^330$/other/' .husky/pre-commit
rm notes.txt
EOF
gives 0 'a run that moves much' guard run -- sh "$HOME/work.sh"
run=$(guard status -q)
cp "$err" "$T/summary"
has "$T/summary" 'R  old/ -> new/  (6 files)$'
has "$T/summary" 'R  single -> renamed  '
has "$T/summary" 'R  winner -> victim  244 B  OVER ANOTHER 244 B$'
has "$T/summary" 'D  old/sub/c  '
has "$T/summary" 'D  notes.txt  '
hasnt "$T/summary" 'old/sub/a'
hasnt "$T/summary" 'D  single'
has "$T/summary" '2 deleted, 14 moved, 2 added'

gives 0 'status' guard status
has "$out" '2 deleted, 14 moved, 2 added'
gives 0 'its lines for scripts know of paths alone' guard status --porcelain
is "$(cut -f 4-7 "$out" | tr '\t' ' ')" '16 1 15 0' 'each of them'

gives 0 'diff' guard diff
has "$out" '^Moved (14)$'
has "$out" 'R  old/ -> new/  (6 files)$'
has "$out" 'R  old/sub/b -> new/sub/b  .* 9. % alike$'
has "$out" 'R  old/sub/tool -> new/sub/tool  .*mode 0644 -> 0755'
has "$out" '^rename from old/sub/b$'
has "$out" '^rename to new/sub/b$'
has "$out" '^+changed$'
has "$out" 'A  new/sub/fresh'
hasnt "$out" 'A  new/sub/a'
hasnt "$out" 'new/void'
# A new place is what makes it dangerous.
has "$out" '^Dangerous, or executed later'
has "$out" '^  R  .husky/pre-commit$'

gives 0 'diff --stat' guard diff --stat
has "$out" 'R  old/ -> new/  (6 files)$'
has "$out" 'R  old/sub/b -> new/sub/b .*+1 -0$'
has "$out" 'R  winner -> victim .*OVER ANOTHER'
hasnt "$out" '^[AD]  old/sub/a'
gives 0 'names are those of paths' guard diff --name-status
has "$out" "$(printf '^D\told/sub/a$')"
has "$out" "$(printf '^A\tnew/sub/a$')"
hasnt "$out" '^R'

cat >"$T/moves.pl" <<'EOF'
use JSON::PP;
undef $/;
$d = decode_json(<STDIN>);
for (@{$d->{moves}}) {
	printf "%s>%s %s %s\n", $_->{from}, $_->{to}, $_->{similarity},
		$_->{files} // "-";
}
for (@{$d->{entries}}) {
	print "$_->{op} $_->{path} to $_->{moved_to}\n" if $_->{moved_to};
	print "$_->{op} $_->{path} from $_->{moved_from}\n"
		if $_->{moved_from};
}
print "$d->{counts}{moved} of $d->{counts}{deleted}\n";
EOF
gives 0 'JSON' guard diff --json
perl "$T/moves.pl" <"$out" >"$T/moves"
has "$T/moves" '^old>new 100 6$'
has "$T/moves" '^single>renamed 100 -$'
has "$T/moves" '^delete old/sub/a to new/sub/a$'
has "$T/moves" '^add new/sub/a from old/sub/a$'
has "$T/moves" '^modify victim from winner$'
has "$T/moves" '^14 of 16$'
hasnt "$T/moves" '^old/sub/a>'

gives 0 'one half alone' guard diff -- renamed
has "$out" 'A  renamed  .*  moved from single$'
gives 0 'the other' guard diff -- single
has "$out" 'D  single  .*  moved to renamed$'

# The user changed what was moved: the folder's line does not hide it.
cp -p old/sub/d "$T/d"
echo mine >>old/sub/d
gives 0 'diff after an edit' guard diff
has "$out" 'old/sub/d .*CHANGED HERE'
cp -p "$T/d" old/sub/d

gives 0 'the new half alone is applied' guard apply -y -- renamed
ok 'and the old one stays' test -e single -a -e renamed
gives 0 'then the old half' guard apply -y -- single
no 'which goes' test -e single
gives 0 'a folder that moved' guard apply -y -- old
no 'goes' test -e old
no 'alone' test -e new
gives 0 'the rest' guard apply -y
is "$(tail -n 1 new/sub/b)" changed 'is there'
is "$(head -n 1 victim)" 200 'also over another'
gives 0 'undo' guard undo -y
is "$(head -n 1 victim) $(head -n 1 winner)" '100 200' 'moves them back'
guard discard -y "$run" >"$out" 2>&1

# The same size and time are not the same bytes.
cat >"$HOME/forge.sh" <<'EOF'
mv winner loser
printf 299 | dd of=loser conv=notrunc bs=1 seek=196 2>"$HOME/dd"
touch -d @1 loser
mv victim thief
EOF
touch -d @1 winner
gives 0 'a run that moves and changes' guard run -- sh "$HOME/forge.sh"
has "$err" 'R  winner -> loser  244 B  9. % alike$'
has "$err" 'R  victim -> thief  244 B$'
ok 'it is dropped' guard discard -y

finish
