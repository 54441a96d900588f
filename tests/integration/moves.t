#!/bin/sh
# A move is shown as a move wherever a person reads it. It never hides that an
# entry is gone from its old path, and each half can be applied alone.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# has FILE REGEX, hasnt FILE REGEX: whether a line of the file matches
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
gives 0 'a run moves directories and files' guard run -- sh "$HOME/work.sh"
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

gives 0 'status accepts a run with moves' guard status
has "$out" '2 deleted, 14 moved, 2 added'
gives 0 'status --porcelain accepts a run with moves' guard status --porcelain
is "$(cut -f 4-7 "$out" | tr '\t' ' ')" '16 1 15 0' \
	'status --porcelain counts both paths of each move'

gives 0 'diff accepts a run with moves' guard diff
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
# The new path makes this file dangerous.
has "$out" '^Look at these first'
has "$out" '^  R  .husky/pre-commit$'

gives 0 'diff --stat accepts a run with moves' guard diff --stat
has "$out" 'R  old/ -> new/  (6 files)$'
has "$out" 'R  old/sub/b -> new/sub/b .*+1 -0$'
has "$out" 'R  winner -> victim .*OVER ANOTHER'
hasnt "$out" '^[AD]  old/sub/a'
gives 0 'diff --name-status lists moves as git does' guard diff --name-status
has "$out" "$(printf '^R100\told/sub/a\tnew/sub/a$')"
hasnt "$out" "$(printf '^[DA]\t.*/sub/a$')"
gives 0 'diff --no-renames lists both paths' \
	guard diff --name-status --no-renames
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
gives 0 'diff --json accepts a run with moves' guard diff --json
perl "$T/moves.pl" <"$out" >"$T/moves"
has "$T/moves" '^old>new 100 6$'
has "$T/moves" '^single>renamed 100 -$'
has "$T/moves" '^delete old/sub/a to new/sub/a$'
has "$T/moves" '^add new/sub/a from old/sub/a$'
has "$T/moves" '^modify victim from winner$'
has "$T/moves" '^14 of 16$'
hasnt "$T/moves" '^old/sub/a>'

gives 0 'diff accepts the new path of a move alone' guard diff -- renamed
has "$out" 'A  renamed  .*  moved from single$'
gives 0 'diff accepts the old path of a move alone' guard diff -- single
has "$out" 'D  single  .*  moved to renamed$'

# The user changed a moved file: the line of the directory does not hide it.
cp -p old/sub/d "$T/d"
echo mine >>old/sub/d
gives 0 'diff accepts a moved file that the user edited' guard diff
has "$out" 'old/sub/d .*CHANGED HERE'
cp -p "$T/d" old/sub/d

gives 0 'apply --dry-run accepts moves' guard apply --yes-to all --dry-run
has "$out" '^  R  old/ -> new/  (6 files)$'
has "$out" '^  R  old/sub/b -> new/sub/b  .* alike$'
has "$out" '^  D  old/sub/c  '
hasnt "$out" '^  [AD]  ...*/sub/a'
gives 0 'apply --dry-run --json accepts moves' \
	guard apply --yes-to all --dry-run --json
has "$out" '"from": "old"'
has "$out" '"files": 6'
ok 'apply --dry-run --json has every path among its steps' \
	grep -q '"path": "new/sub/a"' "$out"
gives 0 'apply --only accepts the new half of a move' guard apply -y --only -- renamed
ok 'apply of the new half keeps the old file' test -e single -a -e renamed
gives 0 'apply --only accepts the old half of a move' guard apply -y --only -- single
no 'apply of the old half deletes the old file' test -e single
gives 0 'apply --only accepts the old half of a moved directory' \
	guard apply --yes-to all -y --only -- old
no 'apply of the old half deletes the old directory' test -e old
no 'apply of the old half creates no new directory' test -e new
gives 0 'apply accepts the rest of the moves' \
	guard apply -y --yes-to all
is "$(tail -n 1 new/sub/b)" changed 'apply creates the moved and changed file'
is "$(head -n 1 victim)" 200 'apply replaces a file by a moved one'
gives 0 'undo reverts the moves' guard undo -y
is "$(head -n 1 victim) $(head -n 1 winner)" '100 200' \
	'undo restores both files of a replacing move'
guard discard -y "$run" >"$out" 2>&1

# Equal size and mtime do not mean equal bytes.
cat >"$HOME/forge.sh" <<'EOF'
mv winner loser
printf 299 | dd of=loser conv=notrunc bs=1 seek=196 2>"$HOME/dd"
touch -d @1 loser
mv victim thief
EOF
touch -d @1 winner
gives 0 'a run moves a file and forges its size and mtime' \
	guard run -- sh "$HOME/forge.sh"
has "$err" 'R  winner -> loser  244 B  9. % alike$'
has "$err" 'R  victim -> thief  244 B$'
ok 'discard drops the run' guard discard -y

# --- a review: a move is one question, which can be split into its two halves ---
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
ok 'a run moves a directory and a file' guard run -q -- sh "$HOME/more.sh"
manifest "$HOME/project" >"$T/before"
gives 0 'review prints moves into a pipe' guard review
has "$out" '1 deleted; 3 moved; 1 added'
has "$out" '^  D  trunk/in/q  '
has "$out" '^  R  trunk/ -> branch/  (3 files)$'
has "$out" '^  R  trunk/in/r -> branch/in/r  .* alike$'
has "$out" '^  R  alone -> lonely  '
hasnt "$out" '^  D  trunk/in/p'

# A deletion that was answered with no stays away, whatever the other answers
# are.
ok 'review accepts the moves without the deletion' \
	answers review n 'g /' y y y y y
has "$out" 'Apply this move'
has "$out" '^+eighty$'
is "$(ls trunk trunk/in)" "$(printf 'trunk:\nin\n\ntrunk/in:\nq')" \
	'the old directory keeps the file whose deletion was declined'
is "$(cd branch/in && echo *)" 'new p r s t' \
	'the new directory has all other files'
is "$(tail -n 1 lonely)" eighty 'the moved and edited file has its new content'
no 'the moved file is gone from its old path' test -e alone
ok 'undo reverts the moves' guard undo -y
manifest "$HOME/project" >"$T/after"
ok 'undo restores the project' restored "$T/before" "$T/after"

ok 'review accepts all changes' answers review y y y y y y y
has "$out" '1 deleted, 7 moved, 1 added'
no 'the old directory is gone after all changes' test -e trunk
is "$(head -n 1 branch/in/s)" 's 1' 'the new directory has the files'
gives 0 'undo reverts all changes' guard undo -y
has "$out" '^  R  branch/ -> trunk/  (3 files)$'
manifest "$HOME/project" >"$T/after"
ok 'undo restores the project again' restored "$T/before" "$T/after"

# A directory is split: of one file only the new half is accepted.
ok 'review accepts one half of a part of a moved directory' \
	answers 'review -- trunk branch' \
	n s '/in.t$' s n y q y
is "$(cd trunk/in && echo *)" 'p q r s t' \
	'the old directory keeps all of its files'
is "$(echo branch/in/*)" branch/in/t 'the new directory has the accepted file'
gives 0 'review lists what is still pending' guard review
has "$out" 'D  trunk/  2 files of it'
ok 'apply accepts the rest' guard apply --yes-to all -y
no 'the old directory is gone after the rest' test -e trunk

# One file of a directory moves, the others are deleted.
mkdir -p heap/deep keep
for name in 1 2 3 4 5 6; do
	seq "$name"000 "$name"020 >heap/deep/$name
done
: >keep/.keep
ok 'a run keeps one file of a deleted directory' guard run -q -- \
	sh -c 'mv heap/deep/2 keep/two; rm -r heap'
manifest "$HOME/project" >"$T/before"
gives 0 'review accepts the move out of a deleted directory' guard review
has "$out" '^  D  heap/  5 files of it, '
has "$out" '^  R  heap/deep/2 -> keep/two  '
ok 'review accepts the deletion without the move' answers review y n y
is "$(find heap -type f)" heap/deep/2 'the file that would have moved stays'
no 'the new path of the declined move does not exist' test -e keep/two
ok 'undo reverts the deletion' guard undo -y
ok 'review accepts the move without the deletion' answers review n y y
is "$(cd heap/deep && echo *) $(head -n 1 keep/two)" '1 3 4 5 6 2000' \
	'the files whose deletion was declined stay'
ok 'apply accepts the deletion afterwards' guard apply -y --yes-to all
no 'apply deletes the directory' test -e heap

# --- moves between a snapshot and the files ---
ok 'guard snapshot stores the project' guard snapshot -q
mv branch bough
echo and >>bough/in/s
rm bough/in/p
gives 0 'diff of a snapshot shows moves since then' guard diff latest
has "$out" '^  R  branch/ -> bough/  (3 files)$'
has "$out" '^  R  branch/in/s -> bough/in/s  .* alike$'
has "$out" '^rename to bough/in/s$'
has "$out" '^+and$'
has "$out" '^  D  branch/in/p  '
gives 0 'diff --json of a snapshot accepts moves' guard diff latest --json
perl "$T/moves.pl" <"$out" >"$T/moves"
has "$T/moves" '^branch>bough 100 3$'
has "$T/moves" '^delete branch/in/r to bough/in/r$'

# --- a long summary is shortened, and no deletion is missing in it ---
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
gives 0 'a run deletes a directory and moves 30 files' \
	guard run -- sh "$HOME/much.sh"
has "$err" '31 deleted, 30 moved$'
has "$err" '^  D  heap/  all 30 files, 231 B'
hasnt "$err" 'heap/17'
is "$(grep -c '^  R  ' "$err")" 20 'the summary lists twenty moves'
has "$err" '^  ... and 10 more$'
gives 1 'discard of a path without --yes is refused' guard discard -- many
has "$out" '^  R  many/17 -> many/new-17  '
gives 0 'diff accepts the 30 moves' guard diff
has "$out" '^  D  heap/  all 30 files'
is "$(grep -c '^  R  ' "$out")" 30 'diff lists all moves'

# --- a file too large to be compared is not shown as moved, and the summary says so ---
truncate -s 3G huge
gives 0 'a run moves a huge file' guard run -- mv huge elsewhere
has "$err" '^  D  huge  '
has "$err" '^  too many or too large entries to find all'
hasnt "$err" '^  R  huge'
gives 0 'diff shows the move of a huge file by its stored chunks' guard diff
has "$out" '^  R  huge -> elsewhere  3.2 GB$'
gives 0 'review shows the move of a huge file by its stored chunks' guard review
has "$out" '^  R  huge -> elsewhere  3.2 GB$'

# ---- half of a move ----
mkdir "$HOME/halves"
cd "$HOME/halves" || exit 99
make_files() {
	rm -rf TODO TODO.old src lib
	echo 'what is to be done' >TODO
	mkdir src
	seq 20 >src/a
	seq 30 49 >src/b
}
make_files
ok 'a run moves a file and a directory' guard run -q --name halves -- \
	sh -c 'mv TODO TODO.old; mv src lib'
gives 0 'apply of the old name takes the new one, too' \
	guard apply -y halves TODO
says "$err" "'TODO.old' is applied too: it is the new name of 'TODO'"
says "$out" 'R  TODO -> TODO.old'
is "$(cat TODO.old)" 'what is to be done' 'the moved file has its content'
gives 0 'undo reverts the move' guard undo -q -y 1
gives 0 'apply of the new name takes the old one, too' \
	guard apply -y halves TODO.old
says "$err" "'TODO' is applied too: it is the old name of 'TODO.old'"
no 'the old name is gone' test -e TODO
gives 0 'undo reverts that, too' guard undo -q -y 1
gives 0 'apply of a moved directory takes both' guard apply -y halves src
is "$(ls lib) $(ls -d src 2>/dev/null)" 'a
b ' 'the directory is moved'
gives 0 'undo moves the directory back' guard undo -q -y 1
gives 0 'apply of a file in it takes its old name' guard apply -y halves lib/a
is "$(ls lib src)" 'lib:
a

src:
b' 'one file is moved'
gives 0 'undo reverts the move of the file' guard undo -q -y 1
gives 0 'apply --only takes the deletion alone' guard apply -y --only halves TODO
says "$err" "'TODO': its new name 'TODO.old' is still pending"
no 'the file is deleted' test -e TODO
no 'the new name is not written' test -e TODO.old
gives 0 'undo brings the file back' guard undo -q -y 1
gives 0 'discard of the new name takes the old one, too' \
	guard discard -y halves TODO.old
says "$err" "'TODO' is discarded too: it is the old name of 'TODO.old'"
no 'no half of the move is pending' \
	sh -c 'guard diff --name-only halves | grep TODO'
gives 0 'undo brings both halves back' guard undo -q -y 1
gives 0 'discard --only takes the addition alone' \
	guard discard -y --only halves TODO.old
is "$(guard diff --name-status halves | grep TODO)" 'D	TODO' \
	'the deletion is still pending'
ok 'the run is discarded' guard discard -q -y halves

mkdir hollow
seq 20 >hollow/text
gives 0 'a run moves a directory and changes its only file' \
	guard run -- sh -c 'mv hollow shell; echo more >>shell/text'
has "$err" 'R  hollow/ -> shell/$'
finish
