#!/bin/sh
# RUN@WHEN: a moment of a run wherever a snapshot is accepted. The timelines are
# written by tests/timeline/write.c, with exact times.
# shellcheck disable=SC2317 # functions are called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/told.sh
. "${0%/*}/../lib/told.sh"

timeline=/opt/guard/build/tests/timeline/write
TZ=UTC
export TZ

# past NAME SCRIPT: a run that has ended, without a timeline; its directory is
# $rundir, its id $id.
past() {
	guard run -q --name "$1" --versions 0 --cow "$HOME/side" -- sh -c "$2" ||
		flunk "the run $1"
	rundir=
	for dir in "$state"/runs/*/record; do
		grep -q "^name=$1$" "$dir" && rundir=${dir%/record}
	done
	id=${rundir##*/}
}

at() {
	date -d "2026-01-$1" +%s
}

make_home
mkdir "$HOME/p" "$HOME/side" "$HOME/p/d"
cd "$HOME/p" || exit 99
git init -q .
seq 1 3 >a.c
echo x >d/x
echo y >'d/y@2x'
past fix 'echo end >a.c; rm -r d; echo new >new'
begun=$(at '02 14:03:00')
$timeline "$rundir" <<E || flunk 'the timeline is written'
$begun.0 begin boot
+2.1 file 0 a.c 644 older\n
+0.2 file 0 a.c 644 other\n
+0.1 mark begun
+0.1 file 0 a.c 644 one\n
+9.912 file 0 a.c 644 two\nlines\n
+0.5 same 0 b.c 600 6
+0.0 file 0 new 755 hello\n
+1.0 mark first: fix the test
+5 gone 0 d
+5 mark second
+5 lost 0 a.c 644 lost
+1 gap 0 a.c 12 it was being written
+9 file 0 a.c 644 end\n
+1 file 1 s.txt 644 side\n
+0 link 0 l a.c
+5 mark second
+5 end
E

# --- which moment ---
shows() {
	gives 0 "$1 is a moment" guard show "fix@$1:a.c"
	is "$(cat "$out")" "$2" "the content at $1"
}
shows 14:03:01 "$(seq 1 3)"
shows 14:03:12.4 'two
lines'
shows 14:03:12.412 'two
lines'
shows 14:03:12 'two
lines'
shows 2026-01-02T14:03:02.499999999Z other
shows -45s one
shows 'first' 'two
lines'
shows start "$(seq 1 3)"
shows end end
gives 0 'the id of the run' guard show "$id@14:03:11:a.c"
is "$(cat "$out")" one 'has the same moments'

while read -r status when text; do
	gives "$status" "$when is no moment" guard show "fix@$when:a.c"
	says "$err" "$text"
done <<E
1 14:02 '14:02' is not in the time of run fix, from 2026-01-02T14:03:00.000 to 2026-01-02T14:03:49.912
2 nomark its marks are:
E
gives 1 'the beginning of two marks' guard show fix@sec:a.c
is "$(cat "$err")" "guard: 'sec' of run fix is several marks; name one by its \
time, or by more of its text:
  2026-01-02T14:03:44.912  'second'
  2026-01-02T14:03:23.912  'second'" 'lists them'
gives 2 'a run that does not exist' guard show nosuch@14:03:a.c
says "$err" "no such run: 'nosuch'; \`guard status --all\`"
gives 0 'the runs' guard status --all

# --- each verb ---
gives 0 'the names' guard show --list fix@first
is "$(tr '\n' ' ' <"$out")" '.git/ a.c b.c d/ new ' 'of the project'
gives 0 'the names' guard show --list fix@first:d
is "$(tr '\n' ' ' <"$out")" 'x y@2x ' 'of a directory'
gives 0 'a path with an @' guard show 'fix@first:d/y@2x'
is "$(cat "$out")" y 'is found'
gives 1 'a path that was deleted then' guard show 'fix@-15s:d/x'
says "$err" "no such path: 'd/x' in 'fix@2026-01-02T14:03:34.912'"
gives 0 'show' guard show --json fix@first
says "$out" '"moment": "fix@first: fix the test"'
gives 0 'diff' guard diff --name-status fix@start fix@first
is "$(tr '\n\t' ', ' <"$out")" 'M a.c,A b.c,A new,' 'between two moments'
gives 0 'diff' guard diff --name-status fix@first
is "$(tr '\n\t' ', ' <"$out")" 'D d,D d/x,D d/y@2x,M a.c,A l,' \
	'from one to the end'
gives 0 'diff' guard diff --name-status fix@first 1
is "$(tr '\n\t' ', ' <"$out")" 'D b.c,D new,M a.c,' 'with a snapshot'
gives 0 'diff' guard diff --name-status fix@start fix@end a.c
is "$(tr '\n\t' ', ' <"$out")" 'M a.c,' 'of a path'
gives 0 'diff' guard diff --name-status fix@start fix@end "$HOME/side"
is "$(tr '\n\t' ', ' <"$out")" 'A s.txt,' 'of an additional directory'
gives 0 'diff' guard diff --json fix@start fix@first
says "$out" '"moment": "fix@first: fix the test"'
gives 0 'grep' guard grep --at fix@first two
is "$(tr '\n' ' ' <"$out")" 'fix@first:a.c:two fix@first:b.c:two ' 'in a moment'
gives 0 'find' guard find --at fix@first 'n*'
says "$out" 'fix@first  '
gives 0 'export' guard export --tar fix@first -o "$T/tar"
is "$(tar tf "$T/tar" | tr '\n' ' ')" './ a.c b.c d/ d/x d/y@2x new ' \
	'of a moment'
gives 1 'a moment' guard pin fix@first
says "$err" 'is a moment of a run, not a snapshot'
gives 0 'a dry run of restore' guard restore --at fix@first -n a.c
is "$(head -1 a.c)" 1 'changes nothing'
gives 0 'restore' guard restore --at fix@14:03:12.912 -y a.c b.c
is "$(head -1 a.c) $(head -1 b.c) $(stat -c %a b.c)" 'two two 600' \
	'of two files'
gives 0 'undo' guard undo -y
is "$(head -1 a.c)" 1 'takes it back'
gives 0 'restore' guard restore --at fix@first --json -y '*.c'
says "$out" '"moment": "fix@first: fix the test"'
is "$(head -1 a.c) $(head -1 b.c)" 'two two' 'of a pattern'
gives 0 'restore' guard restore --at fix@end -y "$HOME/side"
is "$(cat "$HOME/side/s.txt")" side 'of an additional directory'
gives 1 'a path elsewhere' guard restore --at fix@end -y "$HOME/q"
says "$err" "is not in the project or a --cow directory of run fix"
echo 1 >'fix@first'
gives 0 'a file with the name of a moment' guard diff --name-status 1 fix@first
is "$(cat "$out")" 'A	fix@first' 'is a path'

# --- contents that are not kept ---
gives 1 'a lost content' guard show fix@14:03:30:a.c
says "$err" "no version of 'a.c' at 2026-01-02T14:03:30.999 (it was being written)"
says "$err" '; nearest: 2026-01-02T14:03:12.412, 2026-01-02T14:03:38.912'
gives 1 'is not restored' guard restore --at fix@14:03:30 -y a.c
gives 0 'its directory' guard restore --at fix@14:03:30 -y . 2>"$err"
says "$err" '1 of 3 files is not held (it was being written); guard log fix'
is "$(head -1 a.c)" two 'keeps the file of now'

# --- the log of a path ---
gives 0 'the log of a path' guard log a.c
is "$(awk '$1 ~ /^fix@/ { print substr($1, 16), $6, $7, $8 }' "$out")" \
	'14:03:38.912 written 4 B
14:03:29.912 not held it
14:03:12.412 written 10 B
14:03:02.500 written 4 B
14:03:02.300 written 6 B
14:03:02.100 written 6 B' 'has the versions during the run'
gives 0 'of a path that was deleted with its directory' guard log d/x
says "$out" 'fix@2026-01-02T14:03:18.912  2026-01-02 14:03:18  during-run'
says "$out" '  deleted  '
gives 0 'of a path that only the run had' guard log new
gives 0 'of an additional directory' guard log "$HOME/side/s.txt"
says "$out" 'fix@2026-01-02T14:03:39.912'
gives 0 'as JSON' guard log --json a.c
says "$out" '"moment": "fix@2026-01-02T14:03:12.412"'
says "$out" '"why": "it was being written"'

# --- the log of a run ---
gives 0 'the log of a run' guard log fix
is "$(cat "$out")" '  14:03:02  written a.c (6 B)

2026-01-02T14:03:02.400  begun
  14:03:02  written a.c (4 B)
  14:03:12  written a.c (10 B), b.c (1 B), new (6 B)

2026-01-02T14:03:13.912  first: fix the test
  14:03:18  deleted d

2026-01-02T14:03:23.912  second
  14:03:28  written a.c (4 B)
  14:03:29  not held a.c: it was being written
  14:03:38  written a.c (4 B)
  14:03:39  written '"$HOME"'/side/s.txt (5 B); made l

2026-01-02T14:03:44.912  second' 'in groups of a second under the marks'
gives 0 'from a mark on' guard log fix@fir
is "$(head -1 "$out")" '  14:03:18  deleted d' 'what came after it'
gives 0 'the last lines' guard log -n 2 fix
is "$(wc -l <"$out")" 3 'are shown'
gives 0 'as JSON' guard log --json "$id"
says "$out" '"schema": "guard.log-run/1"'
is "$(sed -n '/"kind": "gone"/,/}/p' "$out" | grep -c type)" 0 \
	'a deletion has no type'
is "$(grep -c '"number":' "$out")" 18 'has all records'
says "$out" '"time": "2026-01-02T14:03:12.412Z"'
gives 2 'the log of no moment' guard log fix@nomark
gives 1 'a file is meant rather than a run' guard log ./fix

# --- another run of the name; a run without a directory ---
old=$id
guard discard -qy fix || flunk discard
settle

# --- moments of a run in a backup ---
echo 'a long passphrase' >"$T/pass"
destination 1 "$T/copies"
gives 0 'a backup' guard backup --passphrase-file "$T/pass" "$T/copies"
for when in 14:03:12.4 14:03:12 2026-01-02T14:03:02.499999999Z -45s first \
	start end; do
	rm -rf "$T/own" "$T/copied"
	gives 0 "$when is a moment" \
		guard restore -y --at "$old@$when" --to "$T/own" .
	gives 0 "$when of the backup is one" guard restore -y \
		--from "$T/copies" --at "$old@$when" --to "$T/copied" .
	ok 'they are equal' diff -r "$T/own" "$T/copied"
done
# elsewhere COMMAND...: on a machine without this store
elsewhere() {
	mkdir -p "$T/elsewhere"
	(cd "$T/elsewhere" && HOME=$T/elsewhere GUARD_HOME=$T/elsewhere/state \
		"$@" --from "$T/copies" --passphrase-file "$T/pass")
}
gives 0 'another machine' elsewhere \
	guard restore -y --at "$old@first" --to "$T/elsewhere/o" "$HOME/p/new"
is "$(cat "$T/elsewhere/o/new")" hello 'reads them'
gives 1 'a lost content of the backup' \
	guard restore --from "$T/copies" --at "$old@14:03:30" a.c
says "$err" '; nearest: 2026-01-02T14:03:12.412, 2026-01-02T14:03:38.912'
gives 0 'the log of a path in a backup' guard log --from "$T/copies" a.c
is "$(cat "$out")" "$(guard log a.c)" 'has the versions during the run'
gives 0 'the log of a run in a backup' elsewhere guard log "$old"
is "$(cat "$out")" "$(guard log "$old")" 'has its groups'
past fix 'echo again >a.c'
$timeline "$rundir" <<E || flunk 'the timeline is written'
$(at '05 09:00:00').0 begin boot
+3 file 0 a.c 644 again\n
+3 file 0 a.c 644
+0.1 file 0 a.c 644 more\n
+3 file 0 a.c 644
+3 end
E
gives 0 'the newer run' guard show fix@09:00:05:a.c
is "$(cat "$out")" again 'of the name'
gives 0 'a version that was emptied' guard log a.c
command=$(sed -n 's/.*emptied .* \(guard restore .*\) restores it.*/\1/p' "$out")
is "$command" "guard restore --at fix@2026-01-05T09:00:06.100 $HOME/p/a.c" \
	'has the command that restores it'
gives 0 'which works' sh -c "$command -y"
is "$(cat a.c)" more 'as printed'
gives 0 'a run that was discarded' guard show "$old@14:03:11:a.c"
is "$(cat "$out")" one 'has its moments by its id'
gives 0 'and its log' guard log "$old"
says "$out" 'first: fix the test'

# --- marks of one second, with colons, and with the texts of moments ---
past marks 'echo m >a.c'
$timeline "$rundir" <<E || flunk 'the timeline is written'
$(at '06 09:00:00').0 begin boot
+1 file 0 a.c 644 one\n
+0.3 mark prompt: fix it
+0.3 file 0 a.c 644 two\n
+0.1 mark 09:00:01
+0.1 file 0 a.c 644
+0.1 mark prompt: fix it: again
+0.01 file 0 a.c 644 four\n
+0.1 mark 2026-01-06T09:00:01.000
E
while read -r content when; do
	gives 0 "$when is a moment" guard show "marks@$when:a.c"
	is "$(cat "$out")" "$content" 'which ends before the path'
done <<E
one prompt: fix it
two 09:00:01
one 2026-01-06T09:00:01.000
four -0.05s
two -0.35s
m end
E
gives 0 'the log' guard log marks
is "$(sed 's/  */ /g; s/^2026-01-06T[^ ]*/M/' "$out" | tr '\n' ,)" \
	" 09:00:01 written a.c (4 B),,\
M prompt: fix it, 09:00:01 written a.c (4 B),,\
M 09:00:01, 09:00:01 emptied a.c,,\
M prompt: fix it: again, 09:00:01 written a.c (5 B),,\
M 2026-01-06T09:00:01.000,\
not held: what came later: guard was stopped, or --versions 0," 'has each change under its mark'

# --- a run of today ---
begin --name real
tell 'echo one >a.c'
held a.c
# For less time it would be the first half of a write.
tell ': >a.c; sleep 0.4'
held a.c
tell 'rm -r d; guard mark gone'
# A change right behind a mark may come before it.
until grep -qa gone "$told/timeline/records"; do
	kill -0 $run || break
	sleep 0.02
done
tell 'echo end >a.c'
held a.c
end
gives 0 'a real run' guard diff --name-status real@gone
is "$(cat "$out")" 'M	a.c' 'has moments'
gives 0 'a real run' guard diff --name-status real@start real@gone
is "$(tr '\n\t' ', ' <"$out")" 'D d,D d/x,D d/y@2x,M a.c,' 'has states'
gives 0 'its log' guard log a.c
is "$(awk '$1 ~ /^real@/ { print $6 }' "$out" | tr '\n' ' ')" \
	'written emptied written ' 'has what stood'

gives 0 'du' guard du
says "$out" '  versions   during runs, until they are in the store'

# --- a run that went on without versions ---
begin --name late
tell 'echo one >a.c'
held a.c
end
guard run -q --continue=late --versions 0 -- sh -c 'echo two >a.c'
gives 0 'its end' guard show late@end:a.c
is "$(cat "$out")" two 'is its result'
gives 0 'a rewind to it' guard rewind -y late --to end
says "$err" 'nothing to do'
gives 0 'its log' guard log late
says "$out" 'not held: what came later: guard was stopped, or --versions 0'
guard discard -qy late

# --- an applied run ---
base=$(guard log | awk '$4 == "pre-run" { print $1; exit }')
guard apply -qy --yes-to all real || flunk apply
guard prune -y "$base" >"$out" 2>"$err"
gives 0 'its states' guard diff --name-status real@start real@gone
is "$(tr '\n\t' ', ' <"$out")" 'D d,D d/x,D d/y@2x,M a.c,' 'keep their base'
gives 0 'a file that it did not change' guard show real@gone:b.c
settle
gives 0 'a later backup' guard backup "$T/copies"
gives 0 'a version that was emptied' guard log --from "$T/copies" a.c
command=$(sed -n 's/.*emptied .* \(guard restore .*\) restores it.*/\1/p' "$out")
gives 0 'has the command that restores it' sh -c "$command --to $T/emptied -y"
is "$(cat "$T/emptied/a.c")" one 'from the backup'
ok 'that names it' test "${command%"--from $T/copies"}" != "$command"
chmod u+w "$T"/copies/*/p/*
truncate -s 100 "$T"/copies/*/p/*
gives 1 'a damaged backup' guard restore --from "$T/copies" --at "$old@first" a.c
says "$err" 'guard: in the backup, which ends with snapshot'
silent "$err" 'guard repair'
gives 0 'the log of a path in it' guard log --from "$T/copies" a.c
grep 'versions are missing below: the timeline of run' "$err" >"$T/missing"
is "$(grep -o "run $old: " "$T/missing")" "run $old: " 'names the run'
GUARD_HOME=$T/part guard recover --passphrase-file "$T/pass" "$T/copies" \
	>"$T/said" 2>&1
gives 0 'the log of a path in a damaged store' \
	env GUARD_HOME="$T/part" guard log a.c
is "$(grep -c 'the timeline of run' "$err")" "$(wc -l <"$T/missing")" \
	'says the same'

# --- a live run ---
begin --name live
tell 'echo one >a.c'
held a.c
tell 'echo two >a.c; guard mark two'
held a.c
until guard log live 2>/dev/null | grep -q ' two$'; do kill -0 $run || break; done
gives 0 'a moment of a live run' guard show live@start:a.c
gives 0 'a standing file of a live run' guard show live@now:a.c
is "$(cat "$out")" two 'is read'
gives 0 'the changes' guard diff --name-status live@start live@now
is "$(cat "$out")" 'M	a.c' 'until now'
end
finish
