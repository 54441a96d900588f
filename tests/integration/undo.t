#!/bin/sh
# undo N: the last applies, restores and discards one by one, newest first,
# each with the safety of a single undo.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

step() {
	ok "run $1" guard run -q -- sh -c "echo $1 >>steps; echo $1 >file-$1"
	settle
	ok "applied $1" guard apply -y
}

manifest "$HOME/project" >"$T/before"
step one
manifest "$HOME/project" >"$T/one"
step two
step three
manifest "$HOME/project" >"$T/three"
cp -p file-one "$HOME/saved-one"
gives 1 'more than there were' guard undo -y 4
says "$err" 'only 3 actions'
manifest "$HOME/project" >"$T/after"
ok 'nothing is done' same "$T/three" "$T/after"
gives 2 'no number' guard undo two
gives 2 'none' guard undo 0
gives 0 'a dry run of three' guard undo -n 3
for name in one two three; do
	says "$out" "D  file-$name"
done
manifest "$HOME/project" >"$T/after"
ok 'changes nothing' same "$T/three" "$T/after"
echo mine >>file-one
manifest "$HOME/project" >"$T/edited"
gives 1 'a dry run of three, with an edit in the oldest' guard undo -n 3
says "$out" 'D  file-three'
says "$out" 'D  file-two'
says "$err" "'file-one': deleted there, but changed in the project meanwhile"
says "$err" '2 actions before it would be taken back'
gives 0 'of the two before it' guard undo -n 2
manifest "$HOME/project" >"$T/after"
ok 'changes nothing either' same "$T/edited" "$T/after"
cp -p "$HOME/saved-one" file-one
gives 0 'two' guard undo -y 2
manifest "$HOME/project" >"$T/after"
ok 'it is as after the first' same "$T/one" "$T/after"
is "$(guard status -q | wc -l)" 2 'both runs wait again'
gives 0 'one more' guard undo -y 1
manifest "$HOME/project" >"$T/after"
ok 'it is as before all' same "$T/before" "$T/after"
gives 1 'and no more' guard undo -y 1
gives 0 'without a number it is done again' guard undo -y
manifest "$HOME/project" >"$T/after"
ok 'as after the first' same "$T/one" "$T/after"
gives 0 'and that can be counted' guard undo -y 1
manifest "$HOME/project" >"$T/after"
ok 'as before all' same "$T/before" "$T/after"
for id in $(guard status -q); do
	ok 'discarded' guard discard -y "$id"
done
is "$(guard status -q | wc -l)" 0 'no run waits'
gives 0 'discards count too' guard undo -y 3
is "$(guard status -q | wc -l)" 3 'all wait again'
for id in $(guard status -q); do
	ok 'discarded' guard discard -y "$id"
done

# --- what a change has beside while it ends is in no state that is stored ---
for i in $(seq 40); do echo old >"old-$i"; done
touch -d '2001-02-03 04:05:06' .
ok 'a run that replaces many' guard run -q -- sh -c '
	for i in $(seq 40); do echo new >"old-$i"; done'
settle
ok 'applied' guard apply -q -y
is "$(stat -c %y . | cut -d. -f1)" '2001-02-03 04:05:06' \
	'the folder keeps its time'
gives 0 'the state afterwards' guard restore -n --at latest --exact .
says "$err" 'nothing is to be done'
gives 0 'is nothing but the folder' guard log --json
files=$(sed -n 's/.*"files": \([0-9]*\).*/\1/p' "$out" | head -n 2 | uniq)
is "$(echo "$files" | wc -l)" 1 'with as many files as before'
ok 'taken back' guard undo -q -y
ok 'discarded' guard discard -q -y

# --- files that even their owner may not read ---
# In memory, too, where a store through a mapping is never seen.
shut() {
	where=$1
	echo secret >shut
	manifest . >"$T/before"
	ok "a run shuts files $where" guard run -q -- sh -c \
		'chmod 000 shut; echo new >new-shut; chmod 000 new-shut'
	settle
	gives 0 'applied' guard apply -y
	is "$(stat -c %a shut new-shut)" '0
0' 'they are shut'
	gives 0 'taken back' guard undo -y
	manifest . >"$T/after"
	ok 'as before' same "$T/before" "$T/after"
	is "$(cat shut)" secret 'with its bytes'
	ok 'discarded' guard discard -y
	rm -f shut new-shut
}
# A file of a lower layer gets another number there.
if [ "$me" != root ] && [ "$(stat -f -c %T .)" = overlayfs ]; then
	skip 'files may not be known again here'
else
	shut 'on disk'
fi
mkdir /small/project
cd /small/project || exit 99
shut 'in memory'
if [ "$me" != root ]; then
	echo one >shut
	ok 'a run shuts a file' guard run -q -- chmod 000 shut
	settle
	gives 0 'applied' guard apply -q -y
	chmod 600 shut
	echo two >shut
	chmod 000 shut
	gives 1 'where it was opened since, its bytes may be others' \
		guard undo -q -y
	says "$err" 'could not be read whole'
	chmod 600 shut
	is "$(cat shut)" two 'they are left alone'
	rm shut
	gives 0 'what was applied is stored' guard restore -q -y shut
fi
cd "$HOME/project" || exit 99

# --- a project in whose folder its owner may not write afterwards ---
stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99
mkdir "$HOME/closed"
cd "$HOME/closed" || exit 99
echo old >file
manifest . >"$T/before"
gives 0 'a run closes the project' guard run -q -- \
	sh -c 'echo new >file; echo new >new; chmod 500 .'
settle
gives 0 'applied' guard apply -q -y
is "$(stat -c %a .; ls -A)" '500
file
new' 'nothing is left in it'
manifest . >"$T/closed"
gives 0 'taken back' guard undo -q -y
manifest . >"$T/after"
ok 'as before' same "$T/before" "$T/after"
at=1 wrong=''
while :; do
	"$stopat" --count "$T/count" --at $at --only chmod \
		--below "$HOME/closed" -- guard apply -q -y \
		>"$out" 2>"$err" </dev/null
	[ $? -eq 137 ] || break
	guard snapshot -q >"$out" 2>"$err"
	manifest . >"$T/after"
	if same "$T/closed" "$T/after" >"$out"; then
		guard undo -q -y >"$out" 2>"$err" || wrong="$wrong $at"
	elif ! same "$T/before" "$T/after" >"$out"; then
		wrong="$wrong $at"
		break
	fi
	at=$((at + 1))
done
is "$wrong" '' 'killed at any change of a mode: all of it or nothing'
ok 'there were some' test $at -gt 1
manifest . >"$T/after"
ok 'then it is done' same "$T/closed" "$T/after"
gives 0 'taken back' guard undo -q -y
gives 0 'dropped' guard discard -q -y
cd "$HOME/project" || exit 99

# --- a name more for a file that the run did not change ---
mkdir old
echo linked >old/o
echo plain >old/p
ok 'a run links' guard run -q -- sh -c \
	'mkdir new; ln old/o new/l; ln old/p new/p; echo more >>new/p'
settle
gives 0 'its diff' guard diff --name-status
is "$(cut -f 1 "$out" | sort | tr '\n' ' ')" 'A A A M ' 'has no more than it did'
gives 0 'applied' guard apply -y
ok 'it is one file still' test new/l -ef old/o
ok 'the other too' test new/p -ef old/p
is "$(cat old/o old/p)" 'linked
plain
more' 'with its bytes'
gives 0 'taken back' guard undo -y
is "$(stat -c %h old/o old/p | tr '\n' ' ')" '1 1 ' 'it has one name again'
echo mine >>old/o
gives 0 'applied over an edit of the first name' guard apply -y
is "$(cat old/o new/l)" 'linked
mine
linked' 'the second is what it was in the run'
rm -r old new

# --- an index that git rewrote by itself ---
git config user.name tester
git config user.email t@example.org
git add -u
git commit -q -m all
for version in 2 4; do
	git update-index --index-version $version
	ok 'a run commits' guard run -q -- sh -c \
		"echo $version >>README.md; git commit -q -a -m run-$version"
	settle
	head=$(git rev-parse HEAD)
	gives 0 'applied with its .git' guard apply -q -y . .git
	is "$(git log -1 --format=%s)" run-$version 'the commit is there'
	sum=$(sha256sum .git/index)
	# Time enough that git takes the files for unchanged from now on.
	touch -d '2005-06-07' README.md run.sh
	git status >"$out" 2>&1
	isnt=$(sha256sum .git/index)
	ok 'git has written its index anew' test "$sum" != "$isnt"
	gives 0 'taken back all the same' guard undo -q -y
	is "$(git rev-parse HEAD)" "$head" 'the commit is gone'
	is "$(git status --porcelain -uno)" '' 'the index fits'
	ok 'discarded' guard discard -q -y
done
ok 'a run commits' guard run -q -- sh -c \
	'echo 5 >>README.md; git commit -q -a -m run-5'
settle
gives 0 'applied with its .git' guard apply -q -y . .git
echo staged >run.sh
git add run.sh
gives 1 'something staged since is an edit' guard undo -q -y
says "$err" .git
git restore -q --staged --worktree run.sh

# --- a time alone ---
touch -d '2001-02-03' README.md docs
ln README.md names
ok 'a run touches' guard run -q -- sh -c \
	'touch -d 2005-06-07 run.sh names; touch -h -d 2005-06-07 docs; echo >new'
settle
gives 0 'it is no change to read about' guard apply -n
is "$(cat "$out")" '  A  new  1 B' 'the new file alone is'
gives 0 'applied' guard apply -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'a time that the run set is set'
is "$(date -u -r docs +%F)" 2005-06-07 'a folder has it too'
is "$(date -u -r names +%F)" 2001-02-03 'names of one file are not parted for it'
ok 'of one file still' test names -ef README.md
gives 0 'taken back' guard undo -y
no 'the time too' test "$(date -u -r run.sh +%F)" = 2005-06-07
gives 0 'applied again' guard apply -q -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'it is set again'
gives 0 'taken back again' guard undo -q -y
no 'and gone' test "$(date -u -r run.sh +%F)" = 2005-06-07
gives 0 'and once more' guard undo -q -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'what undo takes back has it too'
gives 0 'taken back for good' guard undo -q -y
ok 'discarded' guard discard -q -y
rm names

# --- an edit stops it ---
step four
echo kept >README.md
ok 'a restore' guard restore -y README.md
echo edit >>steps
echo kept >.env
ok 'a restore' guard restore -y --at 1 .env
gives 1 'three, with an edit in the way of the third' guard undo -y 3
says "$err" "conflict: 'steps'"
says "$err" '2 actions before it taken back'
is "$(cat .env README.md)" "kept
kept" 'the two restores are taken back'
is "$(tail -n 1 steps)" edit 'the edit is there'
ok 'and what was applied' test -e file-four
gives 0 'the list of what was done' guard log --actions
says "$out" undo
had=$(grep -c '  undo [0-9]' "$out")
ok 'one more apply' sh -c 'guard run -q -- sh -c "echo 5 >file-five" &&
	guard apply -y -q'
ok 'and a run that is dropped' sh -c 'guard run -q -- sh -c "echo 6 >file-six" &&
	guard discard -y -q'
gives 0 'the list says what undo takes back, and at which number' \
	guard log --actions
is "$(sed -n '1{s/.*  \(undo [0-9]\)  *\([a-z]*\).*/\1 \2/;p}' "$out")" \
	'undo 1 discard' 'the last thing first'
is "$(grep -c 'undo 2  *apply' "$out")" 1 'then the apply'
utc=$(TZ=UTC0 guard log --actions | sed -n '1s/  .*//p')
there=$(TZ=XYZ-5:30 guard log --actions | sed -n '1s/  .*//p')
is "$there" "$(TZ=XYZ-5:30 date -d "$utc UTC" '+%Y-%m-%d %H:%M:%S')" \
	'at the time of this place'
is "$(grep -c '  undo [0-9]' "$out")" $((had + 2)) 'what was before them, too'
gives 0 'as JSON' guard log --actions --json
says "$out" '"undo": 2'
ok 'two of them are taken back' guard undo -y -q 2
no 'the file' test -e file-five
ok 'and the run' test -n "$(guard status -q)"
gives 0 'they are not in the list any more' guard log --actions
is "$(grep -c '  undo [0-9]' "$out")" "$had" 'but what was before them is'

# --- another guard does something while this one waits for it ---
gives 0 'a run' guard run -q -- sh -c 'echo beside >beside.txt'
gives 0 'applied' guard apply -q -y
last=$(grep -l 'kind=apply' "$state"/workspaces/*/last-action)
mkfifo "$T/locked" "$T/go" "$T/undo.err"
flock "${last%/*}/lock" sh -c "echo >'$T/locked'; read -r _ <'$T/go'" &
holder=$!
read -r _ <"$T/locked"
guard undo -y >"$out" 2>"$T/undo.err" </dev/null &
undo=$!
{
	read -r line
	cp "$last" "$T/last"
	sed -i 's/^before=.*/before=1/' "$last"
	echo >"$T/go"
	cat
} <"$T/undo.err" >"$err"
wait $holder
wait $undo
is $? 1 'an undo that waited'
is "${line%%:*}" guard 'and said so'
says "$err" 'something else was done'
ok 'nothing is taken back' test -e beside.txt
cp "$T/last" "$last"
gives 0 'later it is' guard undo -q -y
no 'and gone' test -e beside.txt
gives 0 'dropped' guard discard -q -y

# --- applied, taken back, applied again: a folder's rights are the user's ---
mkdir -m 755 rights
gives 0 'a run adds to a folder' guard run -q -- sh -c 'echo in >rights/in'
chmod 700 rights
gives 0 'whose rights the user changes' guard apply -q -y
gives 0 'it is taken back' guard undo -q -y
gives 0 'and applied again' guard apply -q -y
is "$(stat -c %a rights)" 700 'the rights are still his'
ok 'the file is there' test -f rights/in

# --- what could not be read for once, before or after an apply ---
mkdir -p "$HOME/once/dir/sub" "$HOME/once/other" "$HOME/once/gone" \
	"$HOME/once/empty"
cd "$HOME/once" || exit 99
for name in dir/a dir/sub/b other/c gone/x; do echo old >$name; done
manifest . >"$T/before"
gives 0 'a run' guard run -q -- sh -c 'echo run >dir/a; echo run >dir/new
	echo run >other/c; rm -r gone; mkdir -p made/deep; echo >made/deep/n'
settle
for call in getdents openat2 statx; do
	at=1 wrong='' done=0
	while :; do
		"$stopat" --count "$T/count" --at $at --only $call --every \
			--below "$HOME/once" --error EIO -- \
			guard apply -q -y >"$out" 2>"$err" </dev/null
		got=$?
		read -r count _ <"$T/count"
		if [ $got -eq 0 ]; then
			done=$((done + 1))
			guard undo -q -y >"$out" 2>"$err" </dev/null ||
				wrong="$wrong $at"
		fi
		manifest . >"$T/after"
		same "$T/before" "$T/after" >"$out" || wrong="$wrong $at"
		[ -z "$wrong" ] || break
		[ $at -le "$count" ] || break
		at=$((at + 1 + count / 30))
	done
	is "$wrong" '' "an apply is taken back though $call has failed in it"
	ok 'there were some' test $done -gt 5
done
gives 0 'applied' guard apply -q -y
"$stopat" --at 1 --on --every --only getdents --below "$HOME/once/dir" \
	--error EIO -- guard undo -y >"$out" 2>"$err" </dev/null
is $? 1 'what cannot be read now stops an undo'
says "$err" "'dir' could not be read now: Input/output error"
silent "$err" 'these files have changed since;'
before=$(sed -n 's/.*guard restore --at \([0-9]*\) PATH$/\1/p' "$err")
is "$(guard show "$before:dir/a")" old 'it names where the old bytes are'
gives 0 'once it can be read it is taken back' guard undo -q -y
gives 0 'dropped' guard discard -q -y

# --- the time of the folder itself ---
mkdir "$HOME/times"
cd "$HOME/times" || exit 99
echo a >a
echo b >b
ok 'stored' guard snapshot -q
rm a
touch -d '2001-02-03 04:05:06' .
ok 'a restore into it' guard restore -q -y a
restored=$(stat -c %y .)
ok 'taken back' guard undo -q -y
is "$(stat -c %Y .)" "$(date -d '2001-02-03 04:05:06' +%s)" 'has its time again'
ok 'and done again' guard undo -q -y
is "$(stat -c %y .)" "$restored" 'the one that the restore left'
finish
