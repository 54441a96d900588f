#!/bin/sh
# What a run moved is told as moved wherever a person reads it, it never hides
# that something is gone from where it was, and each half can be taken alone.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
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

gives 0 'a dry run of apply' guard apply --dry-run
has "$out" '^  R  old/ -> new/  (6 files)$'
has "$out" '^  R  old/sub/b -> new/sub/b  .* alike$'
has "$out" '^  D  old/sub/c  '
hasnt "$out" '^  [AD]  ...*/sub/a'
gives 0 'its JSON' guard apply --dry-run --json
has "$out" '"from": "old"'
has "$out" '"files": 6'
ok 'has every path among the steps' grep -q '"path": "new/sub/a"' "$out"
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

# --- a review: a move is one question, parted into its two ends ---
mkdir -p trunk/in
for name in p q r s t; do
	seq 1 30 | sed "s/^/$name /" >trunk/in/$name
done
seq 1 80 >alone
cat >"$HOME/more.sh" <<'EOF'
mv trunk branch
rm branch/in/q
echo more >>branch/in/r
echo new >branch/in/new
mv alone lonely
sed -i 's/^80$/eighty/' lonely
EOF
ok 'a run that moves a folder' guard run -q -- sh "$HOME/more.sh"
manifest "$HOME/project" >"$T/before"
gives 0 'review in a pipe' guard review
has "$out" '1 deleted; 3 moved; 1 added'
has "$out" '^  D  trunk/in/q  '
has "$out" '^  R  trunk/ -> branch/  (3 files)$'
has "$out" '^  R  trunk/in/r -> branch/in/r  .* alike$'
has "$out" '^  R  alone -> lonely  '
hasnt "$out" '^  D  trunk/in/p'

# What was lost in it stays with a no, whatever becomes of the rest.
ok 'the moves, and not the loss' answers review n 'g /' y y y y y
has "$out" 'Apply this move'
has "$out" '^+eighty$'
is "$(ls trunk trunk/in)" "$(printf 'trunk:\nin\n\ntrunk/in:\nq')" \
	'the folder keeps what was not to go'
is "$(cd branch/in && echo *)" 'new p r s t' 'the other one has the rest'
is "$(tail -n 1 lonely)" eighty 'a text too'
no 'which has left its place' test -e alone
ok 'undo' guard undo -y
manifest "$HOME/project" >"$T/after"
ok 'all is as it was' same "$T/before" "$T/after"

ok 'all of it' answers review y y y y y y y
has "$out" '1 deleted, 7 moved, 1 created'
no 'then the folder goes' test -e trunk
is "$(head -n 1 branch/in/s)" 's 1' 'and is there'
gives 0 'undo of that' guard undo -y
has "$out" '^  R  branch/ -> trunk/  (3 files)$'
manifest "$HOME/project" >"$T/after"
ok 'all is as it was again' same "$T/before" "$T/after"

# The folder parted: one file of it, of that the new end alone.
ok 'one end of a part of it' answers 'review -- trunk branch' \
	n s '/in.t$' s n y q y
is "$(cd trunk/in && echo *)" 'p q r s t' 'nothing is gone'
is "$(echo branch/in/*)" branch/in/t 'one is there too'
gives 0 'the rest waits' guard review
has "$out" 'D  trunk/  2 files of it'
ok 'the rest is applied' guard apply -y
no 'the folder is gone' test -e trunk

# Half of a folder elsewhere, the rest lost.
mkdir -p heap/deep keep
for name in 1 2 3 4 5 6; do
	seq "$name"000 "$name"020 >heap/deep/$name
done
: >keep/.keep
ok 'a run that keeps one file of a folder' guard run -q -- \
	sh -c 'mv heap/deep/2 keep/two; rm -r heap'
manifest "$HOME/project" >"$T/before"
gives 0 'review of it' guard review
has "$out" '^  D  heap/  5 files of it, '
has "$out" '^  R  heap/deep/2 -> keep/two  '
ok 'the deletion without the move' answers review y n y
is "$(find heap -type f)" heap/deep/2 'spares what was to be moved'
no 'which is not in its new place' test -e keep/two
ok 'undo of it' guard undo -y
ok 'the move without the deletion' answers review n y y
is "$(cd heap/deep && echo *) $(head -n 1 keep/two)" '1 3 4 5 6 2000' \
	'spares the rest'
ok 'and the rest' guard apply -y
no 'is deleted then' test -e heap

# --- between a snapshot and the files ---
ok 'a snapshot' guard snapshot -q
mv branch bough
echo and >>bough/in/s
rm bough/in/p
gives 0 'diff with it' guard diff latest
has "$out" '^  R  branch/ -> bough/  (3 files)$'
has "$out" '^  R  branch/in/s -> bough/in/s  .* alike$'
has "$out" '^rename to bough/in/s$'
has "$out" '^+and$'
has "$out" '^  D  branch/in/p  '
gives 0 'as JSON' guard diff latest --json
perl "$T/moves.pl" <"$out" >"$T/moves"
has "$T/moves" '^branch>bough 100 3$'
has "$T/moves" '^delete branch/in/r to bough/in/r$'

# --- the summary of much is short, and nothing lost is missing in it ---
mkdir heap many
for name in $(seq 30); do
	echo "heap $name" >"heap/$name"
	echo "many $name" >"many/$name"
done
cat >"$HOME/much.sh" <<'EOF'
rm -r heap
for name in $(seq 30); do
	mv many/$name many/new-$name
done
EOF
gives 0 'a run that deletes and moves much' guard run -- sh "$HOME/much.sh"
has "$err" '31 deleted, 30 moved$'
has "$err" '^  D  heap/  with all in it: 30 files, 231 B$'
hasnt "$err" 'heap/17'
is "$(grep -c '^  R  ' "$err")" 20 'twenty of the moves'
has "$err" '^  ... and 10 more$'
gives 1 'discard of a part asks first' guard discard -- many
has "$out" '^  R  many/17 -> many/new-17  '
gives 0 'diff has them all' guard diff
has "$out" '^  D  heap/17  '
is "$(grep -c '^  R  ' "$out")" 30 'all moves'

# --- what is too large to be read is not called a move, and that is said ---
truncate -s 3G huge
gives 0 'a run that moves what is huge' guard run -- mv huge elsewhere
has "$err" '^  D  huge  '
has "$err" '^  too many or too large to find all'
hasnt "$err" '^  R  huge'
gives 0 'diff of it' guard diff
has "$out" '^  A  elsewhere  3.2 GB$'
has "$out" '^  too many or too large to find all'
gives 0 'a review knows it by what is stored' guard review
has "$out" '^  R  huge -> elsewhere  3.2 GB$'

finish
