#!/bin/sh
# undo N: reverts the last applies, restores and discards one by one, newest
# first, with the checks of a single undo.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
# Number 1 has every file, however slow the machine is.
guard snapshot -q || exit 99

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
gives 1 'undo 4 is refused when only 3 actions are recorded' guard undo -y 4
says "$err" 'only 3 actions'
manifest "$HOME/project" >"$T/after"
ok 'a refused undo N changes no file' same "$T/three" "$T/after"
gives 1 'undo refuses a word that is no run' guard undo two
gives 2 'undo refuses 0' guard undo 0
gives 0 'undo -n 3 lists what it would do' guard undo -n 3
for name in one two three; do
	says "$out" "D  file-$name"
done
manifest "$HOME/project" >"$T/after"
ok 'undo -n 3 changes no file' same "$T/three" "$T/after"
echo mine >>file-one
manifest "$HOME/project" >"$T/edited"
gives 1 'undo -n 3 reports an edit of a file of the oldest action' \
	guard undo -n 3
says "$out" 'D  file-three'
says "$out" 'D  file-two'
says "$err" "'file-one': deleted there, but changed here since then"
says "$err" '2 actions before it would be undone'
gives 0 "undo -n 2 is not stopped by an edit of an older action's file" \
	guard undo -n 2
manifest "$HOME/project" >"$T/after"
ok 'undo -n with an edited file changes no file' same "$T/edited" "$T/after"
cp -p "$HOME/saved-one" file-one
gives 0 'undo 2 reverts two actions' guard undo -y 2
manifest "$HOME/project" >"$T/after"
ok 'after undo 2 all is as after the first apply' restored "$T/one" "$T/after"
is "$(guard status -q | wc -l)" 2 'the two reverted runs are pending again'
gives 0 'undo 1 reverts one more action' guard undo -y 1
manifest "$HOME/project" >"$T/after"
ok 'after all undos the project is as before the first apply' \
	restored "$T/before" "$T/after"
gives 1 'undo is refused when no action is left' guard undo -y 1
says "$err" 'nothing is left to undo'
gives 1 'undo -y without a number is refused directly after an undo' \
	guard undo -y
silent "$err" 'guard undo'
says "$err" 'guard redo'
gives 0 'redo repeats the last undone action' guard redo -y
says "$err" 'is redone'
manifest "$HOME/project" >"$T/after"
ok 'the redone apply restores all of its changes' restored "$T/one" "$T/after"
gives 0 'undo 1 counts a redone apply' guard undo -y 1
manifest "$HOME/project" >"$T/after"
ok 'undo of the redone apply restores the project' restored "$T/before" "$T/after"
for id in $(guard status -q); do
	ok 'guard discard drops the run' guard discard -y "$id"
done
is "$(guard status -q | wc -l)" 0 'no run is pending after the discards'
gives 0 'undo 3 reverts three discards' guard undo -y 3
is "$(guard status -q | wc -l)" 3 'three runs are pending after undo 3'
gives 0 'redo 2 repeats two discards' guard redo -y 2
is "$(guard status -q | wc -l)" 1 'one run is pending after redo 2'
gives 0 'undo 2 reverts them again' guard undo -y 2
for id in $(guard status -q); do
	ok 'guard discard drops the run again' guard discard -y "$id"
done

# --- snapshots after an apply contain no temporary file of the apply ---
for i in $(seq 40); do echo old >"old-$i"; done
touch -d '2001-02-03 04:05:06' .
ok 'a run can replace 40 files' guard run -q -- sh -c '
	for i in $(seq 40); do echo new >"old-$i"; done'
settle
ok 'guard apply accepts the 40 files' guard apply -q -y --yes-to all
is "$(stat -c %y . | cut -d. -f1)" '2001-02-03 04:05:06' \
	'the directory keeps its mtime over apply'
gives 0 'restore --exact of the latest snapshot is possible after apply' \
	guard restore -n --at latest --exact .
says "$err" 'nothing to do'
gives 0 'guard log --json lists the snapshots of the apply' guard log --json
files=$(sed -n 's/.*"files": \([0-9]*\).*/\1/p' "$out" | head -n 2 | uniq)
is "$(echo "$files" | wc -l)" 1 \
	'the snapshots before and after the apply have as many files'
ok 'undo reverts the apply of 40 files' guard undo -q -y
ok 'guard discard drops the run of 40 files' guard discard -q -y

# --- files without read permission for their owner ---
# On tmpfs too, where the stat cache is not used.
shut() {
	where=$1
	echo secret >shut
	manifest . >"$T/before"
	ok "a run can create and chmod files to mode 000 $where" \
		guard run -q -- sh -c \
		'chmod 000 shut; echo new >new-shut; chmod 000 new-shut'
	settle
	gives 0 'guard apply accepts files of mode 000' guard apply -y
	is "$(stat -c %a shut new-shut)" '0
0' 'applied files have mode 000'
	gives 0 'undo accepts files of mode 000' guard undo -y
	manifest . >"$T/after"
	ok 'undo restores files that became unreadable' \
		restored "$T/before" "$T/after"
	is "$(cat shut)" secret \
		'undo restores the content of a file of mode 000'
	ok 'guard discard drops the run of mode 000' guard discard -y
	rm -f shut new-shut
}
# overlayfs reports another inode number for a file of a lower layer.
if [ "$me" != root ] && [ "$(stat -f -c %T .)" = overlayfs ]; then
	skip 'the root of the test is on overlayfs: no stat cache for the plain user'
else
	shut 'on disk'
fi
mkdir /small/project
cd /small/project || exit 99
shut 'in memory'
if [ "$me" != root ]; then
	echo one >shut
	ok 'a run can chmod a file to mode 000' guard run -q -- chmod 000 shut
	settle
	gives 0 'guard apply accepts the chmod' guard apply -q -y
	chmod 600 shut
	echo two >shut
	chmod 000 shut
	gives 1 'undo refuses a mode 000 file that was readable since and may differ' \
		guard undo -q -y
	says "$err" 'could not be read completely'
	chmod 600 shut
	is "$(cat shut)" two 'a refused undo keeps the new content'
	rm shut
	gives 0 'restore brings back the applied file' guard restore -q -y shut
fi
cd "$HOME/project" || exit 99

# --- a project directory that the run makes read-only ---
stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99
mkdir "$HOME/closed"
cd "$HOME/closed" || exit 99
echo old >file
manifest . >"$T/before"
gives 0 'a run can make the project directory read-only' guard run -q -- \
	sh -c 'echo new >file; echo new >new; chmod 500 .'
settle
gives 0 'guard apply accepts a read-only project directory' guard apply -q -y
is "$(stat -c %a .; ls -A)" '500
file
new' 'apply leaves no staging file in a read-only directory'
manifest . >"$T/closed"
gives 0 'undo accepts a read-only project directory' guard undo -q -y
manifest . >"$T/after"
ok 'undo restores the read-only project directory' restored "$T/before" "$T/after"
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
is "$wrong" '' 'apply killed at any chmod is complete or has changed nothing'
ok 'apply made more than one chmod' test $at -gt 1
manifest . >"$T/after"
ok 'the last apply without a kill is complete' same "$T/closed" "$T/after"
gives 0 'undo reverts it' guard undo -q -y
gives 0 'guard discard drops the run of the read-only directory' \
	guard discard -q -y
cd "$HOME/project" || exit 99

# --- a new hard link to a file that the run did not change ---
mkdir old
echo linked >old/o
echo plain >old/p
ok 'a run can create hard links' guard run -q -- sh -c \
	'mkdir new; ln old/o new/l; ln old/p new/p; echo more >>new/p'
settle
gives 0 'guard diff shows the hard links' guard diff --name-status
is "$(cut -f 1 "$out" | sort | tr '\n' ' ')" 'A A A M ' \
	'guard diff lists exactly the changes of the run'
gives 0 'guard apply accepts the hard links' guard apply -y
ok 'a new name of an unchanged file is a hard link after apply' \
	test new/l -ef old/o
ok 'a new name of a changed file is a hard link after apply' \
	test new/p -ef old/p
is "$(cat old/o old/p)" 'linked
plain
more' 'apply keeps the content of hard links'
gives 0 'undo accepts the hard links' guard undo -y
is "$(stat -c %h old/o old/p | tr '\n' ' ')" '1 1 ' 'undo removes the new names'
echo mine >>old/o
gives 0 'apply accepts an edit of the first name' guard apply -y
is "$(cat old/o new/l)" 'linked
mine
linked' "the new name has the run's content, the first name keeps the edit"
rm -r old new

# --- an index that git rewrites without a change ---
git config user.name tester
git config user.email t@example.org
git add -u
git commit -q -m all
for version in 2 4; do
	git update-index --index-version $version
	ok "a run can commit (index version $version)" guard run -q -- sh -c \
		"echo $version >>README.md; git commit -q -a -m run-$version"
	settle
	head=$(git rev-parse HEAD)
	gives 0 'guard apply accepts the .git of the run' \
		guard apply -q -y . .git
	is "$(git log -1 --format=%s)" run-$version \
		'the commit of the run is in the project'
	sum=$(sha256sum .git/index)
	# With old mtimes git takes the files for unchanged and refreshes its
	# index.
	touch -d '2005-06-07' README.md run.sh
	git status >"$out" 2>&1
	isnt=$(sha256sum .git/index)
	ok 'git status has rewritten the index' test "$sum" != "$isnt"
	gives 0 'undo accepts an index that git refreshed' guard undo -q -y
	is "$(git rev-parse HEAD)" "$head" 'undo removes the commit'
	is "$(git status --porcelain -uno)" '' \
		'undo leaves an index that matches the files'
	ok 'guard discard drops the run of the commit' guard discard -q -y
done
ok 'a run can commit once more' guard run -q -- sh -c \
	'echo 5 >>README.md; git commit -q -a -m run-5'
settle
gives 0 'guard apply accepts that commit' guard apply -q -y . .git
echo staged >run.sh
git add run.sh
gives 1 'undo refuses an index with a newly staged file' guard undo -q -y
says "$err" .git
git restore -q --staged --worktree run.sh

# --- changes of mtime only ---
touch -d '2001-02-03' README.md docs
ln README.md names
ok 'a run can set mtimes' guard run -q -- sh -c \
	'touch -d 2005-06-07 run.sh names; touch -h -d 2005-06-07 docs; echo >new'
settle
gives 0 'apply -n works where only mtimes differ' guard apply -n
is "$(cat "$out")" '  A  new  1 B' \
	'apply -n does not list changes of mtime only'
gives 0 'apply accepts changes of mtime only' guard apply -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'apply sets the mtime of a file'
is "$(date -u -r docs +%F)" 2005-06-07 'apply sets the mtime of a directory'
is "$(date -u -r names +%F)" 2001-02-03 \
	'apply does not replace a hard link for its mtime'
ok 'the hard links are the same file after apply' test names -ef README.md
gives 0 'undo accepts changes of mtime only' guard undo -y
no 'undo restores the mtime' test "$(date -u -r run.sh +%F)" = 2005-06-07
gives 0 'a second apply accepts changes of mtime only' guard apply -q -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'the second apply sets the mtime'
gives 0 'undo reverts the second apply' guard undo -q -y
no 'undo restores the mtime again' test "$(date -u -r run.sh +%F)" = 2005-06-07
gives 0 'redo accepts changes of mtime only' guard redo -q -y
is "$(date -u -r run.sh +%F)" 2005-06-07 'redo sets the mtime again'
gives 0 'a last undo reverts it' guard undo -q -y
ok 'guard discard drops the run of mtimes' guard discard -q -y
rm names

# --- an edit stops undo N ---
step four
echo kept >README.md
ok 'guard restore replaces a tracked file' guard restore -y README.md
echo edit >>steps
echo kept >.env
ok 'guard restore replaces an ignored file' guard restore -y --at 1 .env
gives 1 "undo 3 stops at an edit of the third action's file" guard undo -y 3
says "$err" "conflict: 'steps'"
says "$err" '2 actions before it undone'
is "$(cat .env README.md)" "kept
kept" 'the two restores before it are reverted'
is "$(tail -n 1 steps)" edit 'undo keeps the edit'
ok 'undo keeps the apply of the edited file' test -e file-four
gives 0 'log --actions lists the actions' guard log --actions
says "$out" undo
had=$(grep -c '  undo [0-9]' "$out")
ok 'a further run is applied' \
	sh -c 'guard run -q -- sh -c "echo 5 >file-five" &&
	guard apply -y -q'
ok 'a further run is discarded' \
	sh -c 'guard run -q -- sh -c "echo 6 >file-six" &&
	guard discard -y -q'
gives 0 'log --actions lists what undo would revert' \
	guard log --actions
is "$(sed -n '1{s/.*  \(undo [0-9]\)  *\([a-z]*\).*/\1 \2/;p}' "$out")" \
	'undo 1 discard' 'the newest action has number 1'
is "$(grep -c 'undo 2  *apply' "$out")" 1 'the action before it has number 2'
utc=$(TZ=UTC0 guard log --actions | sed -n '1s/  .*//p')
there=$(TZ=XYZ-5:30 guard log --actions | sed -n '1s/  .*//p')
is "$there" "$(TZ=XYZ-5:30 date -d "$utc UTC" '+%Y-%m-%d %H:%M:%S')" \
	'log --actions prints times of the local time zone'
is "$(grep -c '  undo [0-9]' "$out")" $((had + 2)) \
	'older actions keep their place behind the new ones'
gives 0 'log --actions --json prints the actions as JSON' \
	guard log --actions --json
says "$out" '"undo": 2'
# As after a kill between the action and its line.
mv "$state/oplog" "$T/oplog"
gives 0 'log --actions has actions without a line' guard log --actions
is "$(sed -n 's/.*  \(undo [0-9]*\)  *\([a-z]*\).*/\1 \2/p' "$out" |
	head -n 2 | tr '\n' ,)" 'undo 1 discard,undo 2 apply,' \
	'with their numbers'
mv "$T/oplog" "$state/oplog"
ok 'undo 2 reverts the discard and the apply' guard undo -y -q 2
no 'undo 2 removes the applied file' test -e file-five
ok 'undo 2 makes the discarded run pending again' test -n "$(guard status -q)"
gives 0 'log --actions works after undo 2' guard log --actions
is "$(grep -c '  undo [0-9]' "$out")" "$had" \
	'reverted actions are no longer in the list, older ones are'

# --- another guard process acts while undo waits for the lock ---
gives 0 'a run can create a file' \
	guard run -q -- sh -c 'echo beside >beside.txt'
gives 0 'guard apply applies it' guard apply -q -y latest
last=$(find "$state"/workspaces -name actions -exec ls -t {} + | head -n 1)
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
is $? 1 'undo is refused when another action came while it waited'
is "${line%%:*}" guard 'undo reports that it waits'
says "$err" 'another guard command changed'
ok 'that refused undo keeps the applied file' test -e beside.txt
cp "$T/last" "$last"
gives 0 'a later undo is accepted' guard undo -q -y
no 'the later undo removes the file' test -e beside.txt
gives 0 'guard discard drops that run' guard discard -q -y latest

# --- apply and undo keep the user's mode of a directory ---
mkdir -m 755 rights
gives 0 'a run can add a file to a directory' \
	guard run -q -- sh -c 'echo in >rights/in'
chmod 700 rights
gives 0 'apply accepts a directory whose mode the user changed' \
	guard apply -q -y latest
gives 0 'undo accepts a directory whose mode the user changed' guard undo -q -y
gives 0 'a second apply is accepted' guard apply -q -y latest
is "$(stat -c %a rights)" 700 "the directory keeps the user's mode"
ok "the run's file is in the directory" test -f rights/in

# --- read errors before or after an apply ---
mkdir -p "$HOME/once/dir/sub" "$HOME/once/other" "$HOME/once/gone" \
	"$HOME/once/empty"
cd "$HOME/once" || exit 99
for name in dir/a dir/sub/b other/c gone/x; do echo old >$name; done
# An apply writes times that are later than all others here, and waits for them.
find . -depth -exec touch -d yesterday {} +
manifest . >"$T/before"
gives 0 'a run can change several directories' \
	guard run -q -- sh -c 'echo run >dir/a; echo run >dir/new
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
		restored "$T/before" "$T/after" >"$out" || wrong="$wrong $at"
		[ -z "$wrong" ] || break
		[ $at -le "$count" ] || break
		at=$((at + 1 + count / 30))
	done
	is "$wrong" '' "undo reverts an apply in which $call failed"
	ok 'several applies succeeded in spite of failed calls' test $done -gt 5
done
gives 0 'apply is accepted without read errors' guard apply -q -y
# With the stat cache guard lists only directories that changed lately.
find "$state/workspaces" -name stat-cache -delete
"$stopat" --at 1 --on --every --only getdents --below "$HOME/once/dir" \
	--error EIO -- guard undo -y >"$out" 2>"$err" </dev/null
is $? 1 'a read error stops undo'
says "$err" "'dir' could not be read now: Input/output error"
silent "$err" 'these files have changed since;'
before=$(sed -n 's/.*guard restore --at \([0-9]*\) PATH$/\1/p' "$err")
is "$(guard show "$before:dir/a")" old \
	'the message of the stopped undo names a snapshot with the old content'
gives 0 'undo is accepted when the directory can be read again' guard undo -q -y
gives 0 'guard discard drops the run of read errors' guard discard -q -y

# --- the mtime of the project directory ---
mkdir "$HOME/times"
cd "$HOME/times" || exit 99
echo a >a
echo b >b
ok 'guard snapshot stores the project' guard snapshot -q
rm a
touch -d '2001-02-03 04:05:06' .
ok 'guard restore brings back one file' guard restore -q -y a
restored=$(stat -c %y .)
ok 'undo reverts the restore' guard undo -q -y
is "$(stat -c %Y .)" "$(date -d '2001-02-03 04:05:06' +%s)" \
	'undo restores the mtime of the project directory'
ok 'redo repeats the restore' guard redo -q -y
is "$(stat -c %y .)" "$restored" \
	'the repeated restore sets the mtime that the restore had set'
# --- all sequences of four undos and redos, from three actions ---
mkdir "$HOME/sequences"
cd "$HOME/sequences" || exit 99
echo 0 >file
manifest . >"$T/state0"
ok 'a run changes a file' guard run -q --name one -- sh -c 'echo 1 >file'
ok 'a second run adds one' guard run -q --name two -- sh -c 'echo 2 >added'
two=$(guard status -q | head -n 1)
ok 'apply applies the first run' guard apply -q -y one
manifest . >"$T/state1"
ok 'discard drops the second run' guard discard -q -y two
cp "$T/state1" "$T/state2"
echo edited >file
manifest . >"$T/edited"
ok 'guard restore restores the file' \
	guard restore -q -y --at "$(guard log | awk '/post-apply/ { print $1 }')" file
manifest . >"$T/state3"
cp "$T/edited" "$T/state2"
wrong=
# The edit was made by hand: undo of the apply below it needs the applied file.
for sequence in uuuu uuur uuru uurr uruu urur urru urrr \
	ruuu ruur ruru rurr rruu rrur rrru rrrr; do
	at=3
	for step in $(echo "$sequence" | sed 's/./& /g'); do
		if [ "$step" = u ]; then
			verb='undo 1'
			next=$((at - 1))
		else
			verb=redo
			next=$((at + 1))
		fi
		# shellcheck disable=SC2046,SC2086 # words
		guard ${verb%% *} -q -y $(echo "$verb" | cut -s -d ' ' -f 2) \
			>"$out" 2>"$err"
		got=$?
		case $at$step in
		3r) [ $got -eq 1 ] || wrong="$wrong $sequence:$at$step=$got" ;;
		1u) [ $got -eq 1 ] || wrong="$wrong $sequence:$at$step=$got" ;;
		*)
			[ $got -eq 0 ] || wrong="$wrong $sequence:$at$step=$got"
			at=$next
			;;
		esac
		manifest . >"$T/now"
		expected=$T/state$at
		[ $at -ne 1 ] || expected=$T/edited
		restored "$expected" "$T/now" >"$out" || wrong="$wrong $sequence:$at differs"
		pending=$(guard status -q | wc -l)
		[ "$pending" -eq $((at < 2)) ] ||
			wrong="$wrong $sequence:$at pending=$pending"
	done
	while [ $at -lt 3 ]; do
		guard redo -q -y >"$out" 2>"$err" || break
		at=$((at + 1))
	done
done
is "$wrong" '' 'every sequence of undo and redo gives the files of its state'

# --- undo RUN ---
gives 1 'undo RUN is refused when another action is newer' guard undo -y one
says "$err" 'guard undo 3 undoes its last action and all newer ones'
gives 0 'undo 1 undoes the restore' guard undo -q -y 1
gives 0 'undo RUN takes the id of a discarded run' \
	guard undo -q -y "$two"
echo 1 >file
gives 0 'undo RUN undoes the apply of the run' guard undo -y one
manifest . >"$T/now"
is "$(cat file)" 0 'the file is as before the run'
gives 0 'undo RUN can be repeated' guard undo -y one
says "$err" 'run one is undone already'
is "$(cat file)" 0 'a repeated undo RUN changes nothing'
gives 0 'a new action ends the list of undone ones' guard discard -q -y two
gives 1 'nothing is left to redo' guard redo -y
says "$err" 'nothing is left to redo'
gives 0 'undo RUN takes the name of a discarded run' guard undo -y two
says "$err" 'the last action here was to discard run two'
is "$(guard status -q | grep -c "$two")" 1 'the run of that name is pending again'
ok 'discard drops the run again' guard discard -q -y two
ok 'another run gets the name' guard run -q --name two -- sh -c 'echo 3 >other'
ok 'discard drops that run, too' guard discard -q -y two
gives 0 'undo RUN undoes only the newer of two runs with one name' \
	guard undo -y two
is "$(guard status -q | grep -c "$two")" 0 \
	'the older run of that name stays discarded'
gives 1 'undo refuses a name that no run had' guard undo -y three
says "$err" "'three' is neither a number up to 50 nor a run: guard log --actions lists"
ok 'a run waits' guard run -q --name waits -- sh -c 'echo 4 >waits'
gives 1 'undo refuses the name of a run without an action' guard undo waits
says "$err" 'no action of run waits in'
says "$err" 'guard log --actions lists the actions'
# --- a refused redo names the command that handles the files ---
mkdir "$HOME/refused"
cd "$HOME/refused" || exit 99
seq 20 >lines
echo mine >other
echo first >again
guard snapshot -q
first=$(guard log | awk '{ print $1; exit }')
ok 'a run changes a line' \
	guard run -q --name line -- sh -c 'sed -i s/^3$/three/ lines; rm other'
ok 'the run is applied' guard apply -q -y --yes-to all line
ok 'and undone' guard undo -q -y
echo user >>lines
gives 1 'redo refuses a file with an edit' guard redo -y
says "$err" 'guard apply line merges the run'
gives 0 'the named command merges the edit' guard apply -q -y --yes-to all line
is "$(sed -n '3p;$p' lines)" 'three
user' 'the file has both changes'
ok 'the apply is undone' guard undo -q -y
ok 'one path is applied' guard apply -q -y line lines
ok 'and undone' guard undo -q -y
echo more >>lines
gives 1 'redo refuses the path' guard redo -y
says "$err" 'guard apply line PATH merges the run'
guard discard -q -y line
echo second >again
ok 'a restore takes an earlier file' guard restore -q -y --at "$first" again
ok 'the restore is undone' guard undo -q -y
echo third >again
gives 1 'redo of a restore refuses an edited file' guard redo -y
version=$(sed -n 's/.*guard restore --at \([0-9]*\) PATH.*/\1/p' "$err")
gives 0 'the named command restores the file' \
	guard restore -q -y --at "$version" again
is "$(cat again)" first 'it has the content of the redo'

# --- a project below a directory that was changed ---
mkdir -p "$HOME/w/kid" "$HOME/w/other"
cd "$HOME/w" || exit 99
echo first >kid/inner
echo first >outer
ok 'a run changes both files' \
	guard run -q --name both -- sh -c 'echo run >kid/inner; echo run >outer'
ok 'one is applied' guard apply -q -y both kid/inner
ok 'then the other' guard apply -q -y both outer
cd kid || exit 99
gives 1 'undo refuses an action above that changed nothing here' guard undo -y
says "$err" "apply of run both in '$HOME/w', which changed nothing in '$HOME/w/kid'"
says "$err" 'guard undo both undoes that action'
gives 1 'undo 2 is refused, too' guard undo -y 2
is "$(cat inner ../outer)" 'run
run' 'a refused undo changes no file'
gives 0 'undo there takes it' guard -C .. undo -q -y
is "$(cat inner ../outer)" 'run
first' 'the file outside of the project is as before'
gives 1 'redo refuses an action above that changed nothing here' guard redo -y
says "$err" "guard -C $HOME/w redo redoes that action"
is "$(cat ../outer)" first 'a refused redo changes no file'
gives 0 'undo takes an action above that changed a file here' \
	guard undo -q -y 1
is "$(cat inner)" first 'the file of the project is as before'
gives 0 'redo repeats it' guard redo -q -y
is "$(cat inner)" run 'the file is as after the action'
gives 0 'with its run it is undone from here' guard undo -y both
is "$(cat inner)" first 'that undoes all of its actions'
gives 0 'a discard above' guard -C .. discard -q -y both
gives 1 'undo refuses a discard above' guard undo -y
says "$err" 'guard undo both undoes that action'
gives 0 'the named command undoes the discard' guard undo -y both
gives 0 'the run is pending' guard -C .. status --porcelain
says "$out" both
guard -C .. snapshot -q
version=$(guard -C .. log | awk '{ print $1; exit }')
echo second >../outer
ok 'a restore above' guard -C .. restore -q -y --at "$version" outer
gives 1 'undo refuses a restore above' guard undo -y
says "$err" "guard -C $HOME/w undo undoes that action"
cd .. || exit 99
mkdir -p quiet/below
ok 'a run creates and deletes a file beside its change' \
	guard run -q --name timed -- \
	sh -c 'echo >quiet/below/new; rm quiet/below/new; echo quiet >outer'
ok 'it is applied' guard apply -q -y timed
cd quiet || exit 99
gives 1 'undo refuses an action above that changed only the time of a directory' \
	guard undo -y
says "$err" 'guard undo timed undoes that action'
is "$(cat ../outer)" quiet 'that refused undo changes no file'
ok 'the directory above undoes it' guard -C .. undo -q -y
cd ../other || exit 99
gives 1 'a project without any change above says so, too' guard undo -y
says "$err" 'changed nothing in'
cd "$HOME/project" || exit 99
gives 1 'a project beside it knows no action of it' guard undo -y 99
# Refs of the user may need the objects of an applied commit.
mkdir "$HOME/objects" && cd "$HOME/objects" || exit 99
git init -q && git config user.name t && git config user.email t@example.org
echo a >a && git add a && git commit -q -m a || exit 99
guard run -q -- sh -c 'echo b >b; git add b; git commit -q -m b'
guard apply -q -y . .git
git tag keep
ok 'an apply with .git is undone after a tag was made' guard undo -y
no 'its file is removed' test -e b
is "$(git log -1 --format=%s HEAD) $(git log -1 --format=%s keep)" 'a b' \
	'the branch is as before, and the tag has its commit'
ok 'the repository is intact' git fsck --strict
ok 'redo applies it again' guard redo -y
is "$(git log -1 --format=%s) $(cat b)" 'b b' 'the commit is back'

# --- new files of the user in a directory of the action ---
mkdir "$HOME/added"
cd "$HOME/added" || exit 99
guard run -q -- sh -c 'mkdir -p pkg/sub; echo 1 >pkg/a.py; echo 1 >pkg/sub/b.py'
guard apply -y -q
mkdir pkg/__pycache__
echo 2 >pkg/__pycache__/a.pyc
echo mine >pkg/sub/mine
gives 0 'undo is accepted beside new files' guard undo -y
says "$err" "your version is kept: 'pkg/__pycache__': new here"
is "$(find . -type f | sort | tr '\n' ' ')" \
	'./pkg/__pycache__/a.pyc ./pkg/sub/mine ' \
	'... which stay, without the files of the action'
gives 0 'redo is accepted' guard redo -y
is "$(cat pkg/a.py pkg/sub/b.py pkg/sub/mine | tr '\n' ' ')" '1 1 mine ' \
	'... and the files are back'
echo edit >pkg/sub/b.py
gives 1 'undo of an edited file beside them is refused' guard undo -y
says "$err" "'pkg/sub/b.py'"

finish
