#!/bin/sh
# A large project of which a run changed little: apply looks at no more than the
# plan needs. All that holds of an apply holds of this one.
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

# As crash_put_aside, without the many files that stay as they are.
put_aside() {
	must_be_inside
	mkdir "$T/aside"
	cp -a "$HOME/project/w" "$T/aside/w"
	chmod -R u+rwX "$state" 2>/dev/null
	cp -a "$state" "$T/aside/state"
}

put_back() {
	must_be_inside
	cd / || exit 99
	chmod -R u+rwX "$HOME/project/w" "$state"
	find "$HOME/project/w" "$state" -mindepth 1 -delete
	cp -a "$T/aside/state/." "$state/"
	cp -a "$T/aside/w/." "$HOME/project/w/"
	cd "$HOME/project/w" || exit 99
}

# guard log's number of files, of the newest snapshot of that kind
files_of() {
	(cd .. && guard log) | awk -v kind="$1" '$4 == kind {
		for (i = 1; i <= NF; i++) if ($i == "files" || $i == "file") {
			print $(i - 1); exit } }'
}

# --- what the user did meanwhile ---
echo mine >d20/sub/20
sed -i 's/^28$/of the user/' text
echo mine >>d1/sub/1
gives 1 'an apply over an edit' guard apply -q -y
says "$err" 'd1/sub/1'
says "$err" 'changed on both sides'
silent "$err" 'd20'
echo '1 1' >d1/sub/1
rm -r d4
gives 1 'an apply into a folder that is gone' guard apply -q -y
says "$err" 'd4'
mkdir -p d4/sub
for i in 1 2 4; do echo "4 $i" >"d4/sub/$i"; done
echo more >gone/below/more
gives 1 'an apply that deletes a folder with something new' guard apply -q -y
says "$err" 'gone/below/more'
rm gone/below/more
touch -d '2001-02-03 04:05:06' d4/sub d4 gone/below .
crash_look . >"$T/before"
put_aside

gives 0 'an apply' guard apply -q -y
crash_look . >"$T/after"
is "$(cat d1/sub/1 d3/sub/new d4/sub/made/more/file d7/sub/7/file)" 'new
new
in
in' 'what was made and changed is there'
is "$(stat -c %a d5/sub d6/sub/6)" '700
600' 'modes too'
no 'what was deleted is gone' ls -d gone d2/sub/2 d8/sub/8
is "$(sed -n '3p;28p' text)" 'three
of the user' 'a text is merged'
is "$(cat d20/sub/20 ../.git/description)" 'mine
x' 'the rest is as it was'
files=$(files_of pre-apply)
ok 'few files were looked at before' test "$files" -gt 5 -a "$files" -lt 30
files=$(files_of post-apply)
ok 'and after' test "$files" -gt 5 -a "$files" -lt 30

# --- versions ---
number=$( (cd .. && guard log) | awk '$4 == "pre-apply" { print $1; exit }')
gives 0 'what was there before' guard show "$number:d1/sub/1"
is "$(cat "$out")" '1 1' 'can be had'
gives 0 'a look at a folder of which a few files were stored since' \
	guard restore -n d1
says "$err" 'pre-run'
says "$err" "has something newer in '$PWD/d1'"
gives 0 'and at another' guard restore -n d20
silent "$err" 'something newer'
gives 0 'a look at it as it was today' guard restore -n --at today d1
says "$err" "has something newer in '$PWD/d1'"
whole=$( (cd .. && guard log) | awk '$4 == "pre-run" { print $1; exit }')
gives 0 'and in one snapshot that is named' guard restore -n --at "$whole" d1
silent "$err" 'something newer'
gives 0 'a look at files by a pattern' guard restore -n 'd1/sub/*'
says "$err" "has something newer like '$PWD/d1/sub/*'"
gives 0 'at folders by a pattern' guard restore -n 'd[0-2]'
says "$err" "has something newer like"
gives 0 'at such as nothing newer is like' guard restore -n 'd1/sub/[23]'
silent "$err" 'something newer'
rm d21/sub/21
gives 0 'a restore of another file' guard restore -q -y d21/sub/21
is "$(cat d21/sub/21)" '21 21' 'finds it in an older snapshot'
ok 'and looks at no more than that before' test "$(files_of pre-restore)" -lt 5
ok 'and after' test "$(files_of post-restore)" -lt 5
gives 0 'an undo of that' guard undo -q -y
no 'takes it back' test -e d21/sub/21
touch -r . "$T/root-time"
rm -r d23
echo mine >d24/sub/24
gives 0 'a restore of two folders, one to be just as it was' \
	guard restore -q -y --exact d23 d24
is "$(cat d23/sub/23 d24/sub/24)" '23 23
24 24' 'brings them back'
ok 'and looks at them alone' test "$(files_of post-restore)" -lt 12
echo again >d23/sub/23
gives 1 'an undo over an edit' guard undo -q -y
says "$err" 'd23/sub/23'
echo '23 23' >d23/sub/23
gives 0 'an undo without it' guard undo -q -y
no 'takes it back' test -e d23
is "$(cat d24/sub/24)" mine 'with what was there'
mkdir -p d23/sub
for i in 1 2 23; do echo "23 $i" >"d23/sub/$i"; done
echo '24 24' >d24/sub/24
find d23 d24 -exec touch -h -d '2001-02-03 04:05:06' {} +
touch -r "$T/root-time" .
echo '21 21' >d21/sub/21
touch -d '2001-02-03 04:05:06' d21/sub/21 d21/sub

# --- back and forth ---
echo later >d22/sub/22
gives 0 'an undo' guard undo -q -y 1
is "$(cat d22/sub/22)" later 'what it has nothing to do with stays'
echo '22 22' >d22/sub/22
touch -d '2001-02-03 04:05:06' d22/sub/22
crash_look . >"$T/is"
ok 'all is as before' same "$T/before" "$T/is"
gives 0 'once more' guard undo -q -y
crash_look . >"$T/is"
ok 'all is as after' same "$T/after" "$T/is"
rm d3/sub/new
touch -d '2001-02-03 04:05:06' d3/sub
gives 0 'one path again' guard apply -q -y \
	"$( (cd .. && guard log) | awk '$4 == "post-apply" { print $5; exit }')" d3/sub/new
is "$(cat d3/sub/new)" new 'is there again'
gives 0 'back' guard undo -q -y 2
crash_look . >"$T/is"
ok 'all is as before, twice' same "$T/before" "$T/is"

# --- ended in the middle ---
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
		grep -q 'was taken back' "$err" || wrong=$((wrong + 1))
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
is $wrong 0 'before or after, and back, wherever it was ended'

# --- a folder that cannot be opened ---
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
ok 'folders were opened' test $at -gt 5
is $wrong 0 'what lies in a folder that cannot be opened is named'
cd "$HOME/project/w" || exit 99

# --- a file with another name, that may be anywhere ---
put_back
guard discard -q -y
ln d10/sub/10 d11/other-name
guard run -q -- sh -c 'echo more >>d10/sub/10; ln d10/sub/10 d12/third' ||
	exit 99
settle
gives 0 'an apply of another name of a file' guard apply -q -y
is "$(stat -c %i d12/third)" "$(stat -c %i d10/sub/10)" 'it is one file'
files=$(files_of post-apply)
ok 'all was looked at for that' test "$files" -gt 2000
rm d12/third
gives 0 'a restore of such a name' guard restore -q -y d12/third
is "$(stat -c %i d12/third)" "$(stat -c %i d10/sub/10)" 'links it again'
ok 'all was looked at for that' test "$(files_of post-restore)" -gt 2000
gives 0 'a restore of all' guard restore -q -y --exact .
ok 'looks at all of it' test "$(files_of pre-restore)" -gt 2000
finish
