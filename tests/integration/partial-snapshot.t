#!/bin/sh
# A large project of which a run changed little: apply stores only the paths of
# its plan. Every property of an apply holds for this one.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/crash/lib.sh
. "${0%/*}/../crash/lib.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
mkdir -p "$HOME/project" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
mkdir bulk .git w w/gone w/gone/below
echo x >.git/description
(cd bulk && seq 2100 | split -l 1 -a 4)
cd w || exit 99
for d in $(seq 25); do
	mkdir -p "d$d/sub"
	for i in 1 2 $d; do echo "$d $i" >"d$d/sub/$i"; done
done
seq 30 >text
echo x >gone/below/file
find . -exec touch -h -d '2001-02-03 04:05:06' {} +
cd .. || exit 99
edit='
	cd w
	echo new >d1/sub/1
	rm d2/sub/2
	echo new >d3/sub/new
	mkdir -p d4/sub/made/more
	echo in >d4/sub/made/more/file
	rm -r gone
	chmod 700 d5/sub
	chmod 600 d6/sub/6
	rm d7/sub/7
	mkdir d7/sub/7
	echo in >d7/sub/7/file
	mv d8/sub/8 d9/moved
	sed -i "s/^3$/three/" text
	echo y >../.git/description
'
guard run -q -- sh -ec "$edit" || exit 99
settle
cd w || exit 99

# Like crash_put_aside, but without the many unchanged files.
put_aside() {
	must_be_inside
	mkdir "$T/aside"
	cp -a "$HOME/project/w" "$T/aside/w"
	chmod -R u+rwX "$state" 2>/dev/null
	copy_state "$state" "$T/aside/state"
}

put_back() {
	must_be_inside
	cd / || exit 99
	chmod -R u+rwX "$HOME/project/w" "$state"
	find "$HOME/project/w" "$state" -mindepth 1 -delete
	copy_state "$T/aside/state" "$state"
	cp -a "$T/aside/w/." "$HOME/project/w/"
	cd "$HOME/project/w" || exit 99
}

# files_of REASON: the number of files of the newest such snapshot
files_of() {
	(cd .. && guard log) | awk -v kind="$1" '$4 == kind {
		for (i = 1; i <= NF; i++) if ($i == "files" || $i == "file") {
			print $(i - 1); exit } }'
}

# --- edits of the user ---
echo mine >d20/sub/20
sed -i 's/^28$/of the user/' text
echo mine >>d1/sub/1
gives 1 'apply refuses a file that the user edited' guard apply -q -y
says "$err" 'd1/sub/1'
says "$err" 'changed on both sides'
silent "$err" 'd20'
echo '1 1' >d1/sub/1
rm -r d4
gives 1 'apply refuses a file whose directory is gone' guard apply -q -y
says "$err" 'd4'
mkdir -p d4/sub
for i in 1 2 4; do echo "4 $i" >"d4/sub/$i"; done
echo more >gone/below/more
gives 1 'apply refuses to delete a directory with a new file' guard apply -q -y
says "$err" 'gone/below/more'
rm gone/below/more
touch -d '2001-02-03 04:05:06' d4/sub d4 gone/below .
crash_look . >"$T/before"
put_aside

gives 0 'apply accepts the run' guard apply -q -y
crash_look . >"$T/after"
is "$(cat d1/sub/1 d3/sub/new d4/sub/made/more/file d7/sub/7/file)" 'new
new
in
in' 'apply writes new and changed files'
is "$(stat -c %a d5/sub d6/sub/6)" '700
600' 'apply changes modes'
no 'apply deletes files and directories' ls -d gone d2/sub/2 d8/sub/8
is "$(sed -n '3p;28p' text)" 'three
of the user' 'apply merges a text'
is "$(cat d20/sub/20 ../.git/description)" 'mine
x' 'apply changes no other file'
files=$(files_of pre-apply)
ok 'the snapshot before the apply has few files' \
	test "$files" -gt 5 -a "$files" -lt 30
files=$(files_of post-apply)
ok 'the snapshot after the apply has few files' \
	test "$files" -gt 5 -a "$files" -lt 30

# --- versions ---
number=$( (cd .. && guard log) | awk '$4 == "pre-apply" { print $1; exit }')
gives 0 'show of the partial snapshot before the apply is accepted' \
	guard show "$number:d1/sub/1"
is "$(cat "$out")" '1 1' 'show prints the content before the apply'
gives 0 'restore -n of a directory with a few stored files is accepted' \
	guard restore -n d1
says "$err" 'pre-run'
says "$err" "has a newer version in '$PWD/d1'"
gives 0 'restore -n of another directory is accepted' guard restore -n d20
silent "$err" 'a newer version'
gives 0 'restore -n --at today is accepted' guard restore -n --at today d1
says "$err" "has a newer version in '$PWD/d1'"
whole=$( (cd .. && guard log) | awk '$4 == "pre-run" { print $1; exit }')
gives 0 'restore -n --at a complete snapshot is accepted' \
	guard restore -n --at "$whole" d1
silent "$err" 'a newer version'
gives 0 'restore -n of a pattern of files is accepted' \
	guard restore -n 'd1/sub/*'
says "$err" "has a newer version like '$PWD/d1/sub/*'"
gives 0 'restore -n of a pattern of directories is accepted' \
	guard restore -n 'd[0-2]'
says "$err" "has a newer version like"
gives 0 'restore -n of a pattern that no partial snapshot matches is accepted' \
	guard restore -n 'd1/sub/[23]'
silent "$err" 'a newer version'
rm d21/sub/21
gives 0 'restore of a file outside of partial snapshots is accepted' \
	guard restore -q -y d21/sub/21
is "$(cat d21/sub/21)" '21 21' 'restore finds the file in the complete snapshot'
ok 'the snapshot before that restore has few files' \
	test "$(files_of pre-restore)" -lt 5
ok 'the snapshot after that restore has few files' \
	test "$(files_of post-restore)" -lt 5
gives 0 'undo reverts that restore' guard undo -q -y
no 'undo deletes the restored file' test -e d21/sub/21
touch -r . "$T/root-time"
rm -r d23
echo mine >d24/sub/24
gives 0 'restore --exact of two directories is accepted' \
	guard restore -q -y --exact d23 d24
is "$(cat d23/sub/23 d24/sub/24)" '23 23
24 24' 'restore brings back both directories'
ok 'the snapshot after restore has only those directories' \
	test "$(files_of post-restore)" -lt 12
echo again >d23/sub/23
gives 1 'undo refuses to overwrite an edit' guard undo -q -y
says "$err" 'd23/sub/23'
echo '23 23' >d23/sub/23
gives 0 'undo is accepted without the edit' guard undo -q -y
no 'undo deletes the restored directory' test -e d23
is "$(cat d24/sub/24)" mine 'undo restores the previous content'
mkdir -p d23/sub
for i in 1 2 23; do echo "23 $i" >"d23/sub/$i"; done
echo '24 24' >d24/sub/24
find d23 d24 -exec touch -h -d '2001-02-03 04:05:06' {} +
touch -r "$T/root-time" .
echo '21 21' >d21/sub/21
touch -d '2001-02-03 04:05:06' d21/sub/21 d21/sub

# --- undo and undo of the undo ---
echo later >d22/sub/22
gives 0 'undo 1 reverts the apply' guard undo -q -y 1
is "$(cat d22/sub/22)" later 'undo keeps unrelated later changes'
echo '22 22' >d22/sub/22
touch -d '2001-02-03 04:05:06' d22/sub/22
crash_look . >"$T/is"
ok 'undo restores the project' same "$T/before" "$T/is"
gives 0 'redo is accepted' guard redo -q -y
crash_look . >"$T/is"
ok 'redo restores the applied state' same "$T/after" "$T/is"
rm d3/sub/new
touch -d '2001-02-03 04:05:06' d3/sub
gives 0 'restore of one path is accepted' guard restore -q -y --at \
	"$( (cd .. && guard log) | awk '$4 == "post-apply" { print $1; exit }')" d3/sub/new
is "$(cat d3/sub/new)" new 'restore of one path writes the file'
gives 0 'undo 2 is accepted' guard undo -q -y 2
crash_look . >"$T/is"
ok 'undo 2 restores the project' same "$T/before" "$T/is"

# --- killed at every point ---
put_back
"$stopat" --count "$T/count" --at 0 -- guard apply -q -y >"$out" 2>"$err"
crash_look . >"$T/after"
read -r count _ <"$T/count"
wrong=0
at=$((count / 8))
while [ $at -le "$count" ]; do
	put_back
	"$stopat" --count "$T/count" --at $at -- guard apply -q -y >"$out" 2>"$err"
	guard apply --continue >"$out" 2>"$err" ||
		grep -q 'rolled back' "$err" || wrong=$((wrong + 1))
	crash_look . >"$T/is"
	if cmp -s "$T/is" "$T/after"; then
		guard undo -q -y >"$out" 2>"$err" || wrong=$((wrong + 1))
		crash_look . >"$T/is"
	fi
	cmp -s "$T/is" "$T/before" || {
		note "at call $at of $count: neither before nor after"
		diff "$T/is" "$T/before" | head -n 5 | sed 's/^/# /'
		diff "$T/is" "$T/after" | head -n 5 | sed 's/^/# after: /'
		wrong=$((wrong + 1))
	}
	at=$((at + count / 4))
done
is $wrong 0 \
	'apply and undo killed at any point are complete or have changed nothing'

# --- a directory that cannot be opened ---
put_back
guard discard -q -y
guard run -q -- sh -c '
	touch d10/sub/10; echo new >d11/sub/11; rm d12/sub/12' || exit 99
settle
run=$(guard status -q)
cd / || exit 99
wrong=0
at=0
while :; do
	at=$((at + 1))
	"$stopat" --count "$T/count" --reads --below "$HOME/project" \
		--at $at --error EIO -- \
		guard apply -n --json "$run" >"$out" 2>"$err"
	got=$?
	read -r count hit <"$T/count"
	[ "$at" -le "$count" ] || break
	[ $got -ne 0 ] || {
		grep -q d10 "$out" && grep -q d11 "$out" && grep -q d12 "$out"
	} || {
		note "call $at of $count, $hit: silent"
		wrong=$((wrong + 1))
	}
done
ok 'apply opened more than five directories' test $at -gt 5
is $wrong 0 'the message names the directory that cannot be opened'
cd "$HOME/project/w" || exit 99

# --- a hard link whose other names may be anywhere ---
put_back
guard discard -q -y
ln d10/sub/10 d11/other-name
guard run -q -- sh -c 'echo more >>d10/sub/10; ln d10/sub/10 d12/third' ||
	exit 99
settle
gives 0 'apply of a new hard link is accepted' guard apply -q -y
is "$(stat -c %i d12/third)" "$(stat -c %i d10/sub/10)" \
	'apply creates a hard link of the file'
files=$(files_of post-apply)
ok 'the snapshot of an apply with hard links is complete' test "$files" -gt 2000
rm d12/third
gives 0 'restore of a hard link is accepted' guard restore -q -y d12/third
is "$(stat -c %i d12/third)" "$(stat -c %i d10/sub/10)" \
	'restore creates a hard link of the file'
ok 'the snapshot of a restore with hard links is complete' \
	test "$(files_of post-restore)" -gt 2000
gives 0 'restore --exact of the project is accepted' \
	guard restore -q -y --exact .
ok 'the snapshot before restore --exact is complete' \
	test "$(files_of pre-restore)" -gt 2000
finish
