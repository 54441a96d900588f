#!/bin/sh
# A move from one directory of a run to another, for example to the home: one
# end takes the other one with it, in apply and in discard.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
other=$HOME/other
mkdir notes "$other"
seq 1 30 >notes/a
seq 40 90 >notes/b
seq 100 150 >single
seq 200 250 >'loose end'
seq 300 350 >plain
seq 400 450 >"$HOME/from-home"
git add notes single plain
git commit -q -m notes

cat >"$HOME/work" <<END
mv notes ~/notes
echo more >>~/notes/a
mv single $other/single
mv 'loose end' ~/loose
echo new >plain
END
gives 0 'a run moves files to the home and to another directory' \
	guard run --name one --cow "$other" -- sh "$HOME/work"
silent "$err" 'no other copy'
manifest "$HOME" >"$T/before"

# back: the files are as before the run again
back() {
	guard undo -q -y
	manifest "$HOME" >"$T/after"
	ok 'undo restores both directories' restored "$T/before" "$T/after"
}

# --- one end is named ---
gives 0 'apply accepts a directory that moved to the home' \
	guard apply -y one notes
says "$err" "'~/notes' is applied too: it is the new name of 'notes'"
silent "$err" "'~/loose'"
no 'the old name is gone' test -e notes
is "$(tail -n 1 "$HOME/notes/a")" more 'the new name has the changed file'
is "$(wc -l <"$HOME/notes/b")" 51 'and the unchanged one'
back
gives 0 'apply accepts the new name in the home' \
	guard apply -y one "$HOME/notes"
says "$err" "'notes' is applied too: it is the old name of '~/notes'"
no 'the old name is gone with it' test -e notes
back
gives 0 'apply accepts a file that moved to another directory' \
	guard apply -y one single
says "$err" "'~/other/single' is applied too: it is the new name of 'single'"
is "$(ls single "$other" 2>/dev/null)" "$other:
single" 'the file has moved'
back
gives 0 'apply accepts its new name' guard apply -y one "$other/single"
says "$err" "'single' is applied too: it is the old name of '~/other/single'"
no 'the old file is gone' test -e single
back
gives 0 'apply accepts a path that did not move' guard apply -y one plain
silent "$err" ' too: '
back
gives 0 'apply --only accepts the deletion alone' \
	guard apply -y --only one single
says "$err" "'single': its new name '~/other/single' is still pending"
no 'the file is deleted' test -e single
no 'its new name is not written' test -e "$other/single"
back
gives 0 'apply --branch accepts one end' \
	guard apply -y --branch half one notes
silent "$err" 'applied too'
no 'a branch takes nothing in the home' test -e "$HOME/notes"
manifest "$HOME" >"$T/before"

# --- no path is named ---
gives 1 'apply without paths refuses half of a move' guard apply -y one
says "$err" "would be applied without its new name '~/"
says "$err" "guard apply one '$HOME/project/loose end' takes both"
says "$err" "all changes with both names: guard apply -y one . $other"
says "$err" 'without the other names: guard apply --only -y one'
manifest "$HOME" >"$T/after"
ok 'it changes nothing' same "$T/before" "$T/after"
gives 1 'apply -n ends as the real apply' guard apply -n one
gives 1 'apply --json ends so, too' guard apply -y --json one
says "$out" '"applied": false'
gives 0 'apply accepts the printed command' guard apply -y one . "$other"
silent "$out" 'no other copy'
is "$(ls -d notes single 'loose end' 2>/dev/null)" '' 'all old names are gone'
is "$(cd "$HOME" && ls -d notes loose other/single)" 'loose
notes
other/single' 'all new names are there'
is "$(guard status -q)" '' 'the run is applied'
back
gives 1 'apply --only asks for a consent to a loss' guard apply -y --only one
says "$err" "'loose end' would be deleted, and has no other copy"
gives 0 'apply --only accepts half of a move with it' \
	guard apply -y --yes-to only-copy --only one
is "$(ls -d notes single 'loose end' "$HOME/notes" 2>/dev/null)" '' \
	'the old names are gone, and the home is unchanged'
back

# --- one end is left out ---
gives 0 'apply --except of the old name' \
	guard apply -y --except notes --except "$HOME/loose" one
says "$err" "'~/notes' is left out too: it is the new name of 'notes'"
says "$err" "'loose end' is left out too: it is the old name of '~/loose'"
is "$(cat plain) $(ls -d notes 'loose end')" 'new loose end
notes' 'the rest is applied'
back

# --- a review covers no home ---
no 'a review applies no deletion alone' answers 'review --plain one -- notes' y y
says "$out" "'notes' would be applied without its new name '~/notes'"
says "$out" "guard apply one '$HOME/project/notes' takes both"
ok 'the files stay' test -e notes/a -a -e notes/b
no 'nor half of a move to another directory' \
	answers 'review --plain one -- single' y y
says "$out" "guard apply one '$HOME/project/single' takes both"
ok 'that file stays, too' test -e single
ok 'a review accepts other changes' answers 'review --plain one -- plain' y y
is "$(cat plain)" new 'they are applied'
back

# --- discard ---
gives 0 'discard accepts one end' guard discard -y one notes
says "$err" "'~/notes' is discarded too: it is the new name of 'notes'"
no 'no end is pending' sh -c 'guard diff --name-only one | grep notes'
gives 0 'undo restores both ends' guard undo -q -y
is "$(guard diff --name-only one | grep -c notes)" 6 'both ends are pending'
gives 0 'discard --only accepts one end alone' \
	guard discard -y --only one "$HOME/notes"
is "$(guard diff --name-status one | grep notes | cut -c 1 | sort -u)" D \
	'the deletion is still pending'
guard discard -q -y one

# --- from the home, and a library without paths ---
gives 0 'a run moves a file from the home to the project' \
	guard run -q --name two -- mv "$HOME/from-home" here
gives 1 'apply refuses the new name alone' guard apply -y two
says "$err" "'here' would be applied without its old name '~/from-home'"
gives 1 'a program with the library refuses it' \
	sh -c "echo y | /opt/guard/build/docs/examples/apply $(guard status -q)"
says "$err" "'here' would be applied without its old name '~/from-home'"
gives 0 'apply accepts all changes by name' guard apply -y two .
is "$(ls here "$HOME/from-home" 2>/dev/null)" here 'the file has moved'
guard undo -q -y
guard discard -q -y two

# --- a large project, of which an apply reads only the changed paths ---
mkdir many
seq -f many/%g 2100 | xargs touch
seq 500 550 >many/moves
gives 0 'a run moves a file of a large project to the home' \
	guard run -q --name large -- mv many/moves "$HOME/moved"
manifest "$HOME" >"$T/before"
gives 0 'apply accepts its old name' guard apply -y large many/moves
is "$(ls many/moves "$HOME/moved" 2>/dev/null)" "$HOME/moved" \
	'the file has moved out of the large project'
back
guard discard -q -y large

# --- similar files that are no move ---
gives 0 'a run deletes an empty file and creates one in the home' \
	guard run -q --name three -- \
	sh -c ': >~/empty; rm plain; echo other >~/new'
gives 0 'apply without paths accepts that' guard apply -y three
no 'the file is deleted' test -e plain
seq 100 >long
gives 0 'a run deletes a text and writes a similar one to the home' \
	guard run -q --name four -- sh -c 'seq 101 >~/similar; rm long'
gives 0 'apply without paths accepts that, too' guard apply -y four \
	--yes-to all
no 'the text is deleted' test -e long
finish
