#!/bin/sh
# The full screen of guard review: screens as text, keys, and what is applied.
# tmux plays the terminal.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/screen.sh
. "${0%/*}/../lib/screen.sh"

needs 'the full screen' tmux || {
	finish
}
mkdir "$HOME/project"
cd "$HOME/project" || exit 99
git init -q -b main .
mkdir src
seq 1 60 >text
for name in one two three; do
	printf 'int %s(int a)\n{\n\treturn a + 1;\n}\n' $name >src/$name.c
done
git add -A
git commit -q -m one
echo KEY=only-here >.env
mkdir uploads
echo 1 >uploads/1.jpg
echo 2 >uploads/2.jpg
cat >"$HOME/work.sh" <<'END'
rm -r .env uploads
sed -i 's/a +/a */' src/one.c
sed -i 's/int a/long value/' src/two.c
sed -i '3s/.*/three/;30s/.*/thirty/;32s/.*/drei/;58s/.*/near the end/' text
mkdir .vscode
echo '{"tasks": [{"command": "x", "runOptions": {"runOn": "folderOpen"}}]}' \
	>.vscode/tasks.json
printf 'a\033[2J\033[24;1Hb \342\200\256 c\n\033[3J\n' \
	>"$(printf 'zz\033[2Jname\nline')"
# The row of 76 columns ends before "root".
printf 'hello\n%068dC:\\home\\root\n' 0 >new
END
guard run -q --name work -- sh "$HOME/work.sh"
manifest "$HOME/project" >"$T/before"

echo '{"tasks": [{"command": "x", "runOptions": {"runOn": "folderOpen"}}]}' \
	>"$HOME/task"

# --- the first screen, in two sizes ---
screen 80 24 'guard review'
shows 'review opens a full screen' 'open 8'
looks 'the first screen at 80x24' <<'END'
 work  1 Deleted 2  2 Risky 2  3 Modified 3  4 Added 1      yes 0  no 0  open 8
 !! 3 deleted files have no other copy: .env, uploads/1.jpg, uploads/2.jpg
 !! .vscode/tasks.json runs when the directory is opened in an editor: tasks...
  ! zz\x1b[2Jname\nline its name has invisible characters
>  D !! .env  no other copy  14 B
   D !! uploads/  2 without another copy  with its entries: 2 files, 4 B
   A !! .vscode/tasks.json  69 B
   A  ! zz\x1b[2Jname\nline  25 B
   M    src/one.c  +1 -1
   M    src/two.c  +1 -1
   M    text  +4 -4
   A    new  87 B
-- Deleted: .env --------------------------------------------------- not seen --
   @@ -1,1 +0,0 @@
 - KEY=only-here







 y take  n leave  u open  Y N directory  b B bucket  A rest  U undo  = alike
 Enter text  1-8 bucket  / find  t test  c conflict  C finish  ? help  q keep
END
keys j
shown '>  D !! uploads'
cursor_at 'the cursor of the terminal is on the selected row' \
	0 $(($(grep -n '^>' "$out" | cut -d : -f 1) - 1))
keys /
shown 'Find (regular expression): _'
cursor_at 'it is in a question' 27 21
keys Escape 2 j
shows 'a hostile name and text leave the screen as it is' \
	' + a\x1b[2J\x1b[24;1Hb <U+202E> c'
shows 'its lines are named' '      line 1: a\x1b[2J\x1b[24;1Hb <U+202E> c'
shows 'each of them' '      line 2: \x1b[3J'
ok 'the sentence of two risks stands once' test \
	"$(grep -c 'has escape sequences' "$out")" = 1
is "$(sed -n '24p' "$out")" \
	' Enter text  1-8 bucket  / find  t test  c conflict  C finish  ? help  q keep' \
	'the key bar stays in the last line'
keys G
shows 'the rest of a long line has a mark in front of its sign' ':+ root'
keys 2
shown 'critical: runs when the directory is opened'
silent "$out" 'set-id bits'
keys j
shown 'Risky: zz'
# While it is open: another size.
tm resize-window -x 120 -y 30
shows 'a resize draws the screen anew' '| -- Risky: zz'
looks 'the same screen at 120x30' <<'END'
 work  1 Deleted 2  2 Risky 2  3 Modified 3  4 Added 1                                              yes 0  no 0  open 8
 !! 3 deleted files have no other copy: .env, uploads/1.jpg, uploads/2.jpg
 !! .vscode/tasks.json runs when the directory is opened in an editor: tasks...
  ! zz\x1b[2Jname\nline its name has invisible characters
   D !! .env  no other copy  14 B               | -- Risky: zz\x1b[2Jname\nline ---------------------------- not seen --
   D !! uploads/  2 without another copy  with i|  ! its name has invisible characters
   A !! .vscode/tasks.json  69 B                |  ! has escape sequences or control characters:
>  A  ! zz\x1b[2Jname\nline  25 B               |       line 1: a\x1b[2J\x1b[24;1Hb <U+202E> c
   M    src/one.c  +1 -1                        |       line 2: \x1b[3J
   M    src/two.c  +1 -1                        |  ! has invisible characters (U+202E, line 1): a\x1b[2J\x1b[24;1Hb <U+
   M    text  +4 -4                             | :! 202E> c
   A    new  87 B                               |    @@ -0,0 +1,2 @@
                                                |  + a\x1b[2J\x1b[24;1Hb <U+202E> c
                                                |  + \x1b[3J
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |
                                                |

 y take  n leave  u open  Y N directory  b B bucket  A rest  U undo  = alike  s split  e edit  m seen
 Enter text  1-8 bucket  / find  t test  c conflict  f filter  i versions  w words  v verdict  C finish  ? help  q keep
END
keys '?'
shows 'a page says how many lines are below it' 'more: space'
keys G
tm resize-window -x 50 -y 10
shows 'a window that is too small says so' 'The window is too small: 60x15.'
tm resize-window -x 20 -y 10
shows 'in words that are not cut' 'small: 60x15. q'
tm resize-window -x 80 -y 24
shows 'in a larger one the review goes on' 'Enter text'
keys q
left 1 'q applies nothing'

screen 80 24 'TERM=screen-256color guard review'
shows 'a terminal with 256 colors has the full screen' 'Enter text'
keys 3
shown 'Modified: src/one.c'
drawn "$out"
tm capture-pane -ep >"$out"
ok 'with 256 colors changed words have a shade' grep -q '48;5;22' "$out"
keys q
left 1 'the screen with 256 colors ends'

# What a terminal sends for a click on a row of the list, the wheel, and a
# click on a line of the text: button, column and row, each + 32.
screen 80 24 'guard review --mouse'
shown 'open 8'
keys -l "$(printf '\033[M %c%c' '#' "$(printf '\052')")"
shows 'a click selects a row' '>  M    src/two.c'
keys 3 j j
shown '>  M    text'
keys -l "$(printf '\033[Ma##')"
shows 'the wheel scrolls the text' '@@ -27,9 +27,9 @@'
keys q
left 1 'the review with a mouse ends'

# --- answers ---
screen 80 24 'guard review'
shown 'open 8'
keys n
shows 'n leaves a change and goes to the next one' 'no 1  open 7'
shows 'the answered row has the letter n' ' n D !! .env'
shows 'the next row is marked' '>  D !! uploads/'
keys U
shows 'U takes the answer back' 'no 0  open 8'
keys b
shows 'many deletions ask for their number' '3 files without another copy would be deleted. Type 3:'
keys 2 Enter
shows 'another number changes nothing' 'the number was not typed'
keys B
shows 'B leaves the whole bucket' 'no 2  open 6'
keys 3
shown 'Modified: src/one.c'
keys Y
shows 'Y takes the open changes in the same directory' 'yes 2  no 2  open 4'
keys A
shows 'A is refused before the risky changes are decided' 'not yet: decide first on 2 deleted'
keys 3 j j Enter
shows 'Enter goes into the text, at its first hunk' '>  @@ -1,6 +1,6 @@'
keys y
shows 'y takes a hunk and goes to the next' '>  @@ -27,9 +27,9 @@'
keys s
shows 's splits a hunk' 'split into 2'
keys n
shows 'n leaves the first half' '>  @@ -32,4 +32,4 @@'
keys y n
shows 'a file with different answers is taken in part' '>  @@ -0,0 +1,2 @@'
keys Escape
shown '>  A    new'
shows 'its row has the letter *' ' * M    text'
pid=$(tm list-panes -F '#{pane_pid}')
kill -9 "$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children")"
shown 'the end of it'
close_screen

# --- after a crash; the end ---
screen 80 24 'guard review'
shows 'a killed review continues with its answers' \
	'continuing an earlier review: 5 of 8 changes are decided'
shown 'yes 3  no 2  open 3'
keys /
shown 'Find (regular expression)'
keys hel+o Enter
shows '/ finds a changed line' '> next match'
shows 'the row of the match is selected' '>  A    new'
keys n
shown 'no 3  open 2'
keys F
shows 'F shows only open changes' '2 of 8 changes shown'
keys F C
shows 'C shows the menu' 'apply 3 changes to'
shows 'it counts the changes' \
	'3 taken (1 in part), 3 left, 2 open (open changes are not applied)'
keys Escape
shows 'Escape goes back to the review' 'Enter text'
manifest "$HOME/project" >"$T/after"
ok 'no answer changes the project' same "$T/before" "$T/after"
keys C
shown 'apply 3 changes to'
keys a
left 0 'a applies what was taken'
is "$(cat src/one.c)" "$(printf 'int one(int a)\n{\n\treturn a * 1;\n}')" \
	'a taken file is applied'
is "$(sed -n '3p;30p;32p;58p' text | tr '\n' ' ')" 'three 30 drei 58 ' \
	'of a text the taken hunks are applied'
ok 'a change that was left or is open is not applied' \
	test -e .env -a ! -e .vscode -a ! -e new
gives 0 'the rest of the run is pending' guard status
says "$out" work

# --- a test, kinds, versions ---
screen 80 24 "guard review --forget --test 'head -n 3 text; date >made; exit 3'"
shown 'yes 0  no 0  open 6'
keys t
shows 't offers the command of --test' 'copy of the run: head -n 3 text; date'
keys Enter
shows 't runs a command in a copy of the run' 'exit status 3'
ok 'the command sees the files of the run' becomes grep -qx three "$out"
tm resize-window -x 100 -y 24
keys typed
shows 'a resize leaves the result there' typed
shows 'and the way back' 'Enter goes back to the review'
tm resize-window -x 80 -y 24
keys Enter
shows 'Enter goes back to the review' 'Enter text'
keys 3 =
shows '= shows the hunks of a kind' '1 hunk of one kind in 1 file'
keys y
shows 'y takes all of them' '1 hunk taken'
keys '='
shows 'in the list = means the first open hunk of the file' '+ near the end'
keys Escape U i
shows 'i lists the stored versions of the path' 'Stored versions of text'
keys 1
shows 'a number shows a version' 'Version of '
keys x x q
left 1 'q quits after a test'
guard diff --name-only >"$out" 2>"$err"
silent "$out" made

# --- the other ends ---
screen 80 24 'guard review'
shown 'yes 0  no 0  open'
keys C
shows 'the bar has only the keys that are possible' \
	' h HTML  k keep  d discard  Esc back'
keys a c b p h
shows 'h asks for the name of a report' 'Write the HTML report to: work.html_'
keys Enter
shows 'h writes a report' "the report is in 'work.html'"
ok 'it is the report of the run' grep -qF .vscode/tasks.json work.html
keys Escape 3
shown 'Modified: text'
keys y C
shown 'apply 1 change to'
keys p
left 0 'p writes a patch'
ok 'git can apply the patch' git apply --check work.patch
no 'the patch has no other change' grep -q hello work.patch
screen 80 24 'guard review'
shown 'continuing an earlier review'
keys C
shown 'apply 1 change to'
keys p
shows 'an existing patch is not replaced' "create 'work.patch': File exists"
keys C
shown 'apply 1 change to'
keys b
left 0 'b commits on a branch'
is "$(git diff --stat HEAD guard/work | tail -n 1)" \
	' 1 file changed, 2 insertions(+), 2 deletions(-)' \
	'the branch has the taken changes'
is "$(git log --format=%s -1 main)" one 'the branch of HEAD stays'
screen 80 24 'guard review'
shown 'continuing an earlier review'
keys C
shown 'type the word'
keys d i s k
shows 'another word than discard is none' 'not discarded'
keys d i s c a r d
left 0 'discard, typed in full, discards the run'
is "$(guard status -q)" '' 'no run is pending'
guard undo -y -q

# --- commits of the run ---
guard run -q --name commits -- sh -c \
	'echo c >committed; git add committed
	git -c user.name=me -c user.email=me@example.org commit -q -m two'
screen 80 24 'guard review'
shown 'open 1'
keys C
shown '-  apply all with the commits (branch main): take every change first'
keys Escape
shown 'Enter text'
keys A
shown ' a apply  c commits  b branch'
keys c
left 0 'c applies the files with the commits'
is "$(git log --format=%s -1)" two 'the branch has the commit of the run'
ok 'the files are applied' test -e committed

# --- conflicts ---
seq 1 40 >both
printf 'a\0b' >binary
git add -A
git commit -q -m conflicts
# The run's files: two places of a text, and a file that is none.
guard run -q --name clash -- sh -c "sed -i '10s/.*/by the run/;30s/.*/run/' both
	printf 'a\0r' >binary; echo clean >clean"
sed -i '10s/.*/by\tme/;30s/.*/me/;1s/.*/first/' both
printf 'a\0u' >binary
screen 80 24 'guard review'
shown 'open 3'
shows 'the row of a file says that it conflicts' \
	'>  M    binary  conflict  3 B'
shows 'the row of a text does' '   M    both  conflict  +2 -2'
shows 'a key is named' 'the two conflict: c shows'
keys c
shows 'c shows the conflicts from the list' 'Conflict 1 of 3, 3 open: binary'
shows 'a file that is no text has a size' 'a file of 3 B'
shows 'and no key for markers' " o yours  t the run's  u later  q back"
keys m
shows 'markers are only for texts' 'that is not possible here'
keys t
shown 'Conflict 2 of 3, 2 open: both, from line 10'
keys Enter
shows 'Enter goes back to the list' 'Enter text'
keys A
shown 'apply 3 changes to'
keys a
shows 'an apply shows the conflicts, with the choices from the list' \
	'Conflict 2 of 3, 2 open: both, from line 10'
looks 'the three sides of a conflict at 80x24' <<'END'
 Conflict 2 of 3, 2 open: both, from line 10 of yours on
   7
   8
   9
   -- BEFORE the run ----------------------------------------------------------
   10
   -- YOURS now ---------------------------------------------------------------
   by      me
   -- THE RUN'S ---------------------------------------------------------------
   by the run
   ----------------------------------------------------------------------------
   11
   12
   13









 o yours  t the run's  m both with markers  e edit the result  u later  q back
END
keys o
shown 'Conflict 3 of 3, 1 open'
tm resize-window -x 120 -y 30
shows 'they stand side by side in a wide window' '|   -- YOURS now'
looks 'the three sides of a conflict at 120x30' <<'END'
 Conflict 3 of 3, 1 open: both, from line 30 of yours on
   27
   28
   29
     -- BEFORE the run ---------------- |   -- YOURS now --------------------- |   -- THE RUN'S ---------------------
     30                                 |   me                                 |   run
   --------------------------------------------------------------------------------------------------------------------
   31
   32
   33



















 o yours  t the run's  m both with markers  e edit the result  u later  q back
END
pid=$(tm list-panes -F '#{pane_pid}')
kill -9 "$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children")"
shown 'the end of it'
close_screen
cat >"$HOME/editor.sh" <<'END'
sed -i 's/^run$/run and me/;/^[<=>]\{7\}/d;/^me$/d' "$1"
END
screen 80 24 "EDITOR='sh $HOME/editor.sh' guard review"
shown 'continuing an earlier review'
keys C
shown 'apply 3 changes to'
keys a
shows 'the choices are kept after a crash' 'Conflict 3 of 3, 1 open'
keys Enter
shows 'an open conflict is named' '1 file is open: Enter again leaves it out'
keys e
shows 'the result can be edited' 'all are decided: Enter applies'
keys Enter
left 0 'the apply uses the choices'
is "$(sed -n '1p;10p;30p' both | tr '\n' ' ')" \
	"$(printf 'first by\tme run and me ')" 'each place of the text as chosen'
ok 'a file as a whole' test "$(tail -c 1 binary)" = r
guard status >"$out"
silent "$out" clash
guard undo -y -q
is "$(sed -n '30p' both)" me 'undo restores the version of the user'
screen 80 24 'guard review'
shown 'open 3'
keys n
shown 'no 1'
keys c
shows 'c begins with the row, and leaves changes out that are left' \
	'Conflict 1 of 2, 2 open: both'
keys q
shown 'Enter text'
keys U A
shown 'apply 3 changes to'
keys a
shown 'Conflict 1 of 3, 3 open'
keys q
shows 'q goes back to the review' 'Enter text'
shows 'which says why' 'nothing applied: a conflict is open'
keys C
shown 'apply 3 changes to'
keys a
shown 'Conflict 1 of 3, 3 open'
keys O
shows 'O keeps all versions of the user' 'all are decided'
keys ']' u
shown '1 open'
keys Enter
shown 'Enter again leaves it out'
keys Enter
left 0 'a file with an open conflict is left out'
is "$(sed -n '10p' both)" "$(printf 'by\tme')" 'it is unchanged'
ok 'the other changes are applied' test -e clean
guard diff --name-only clash >"$out"
says "$out" both
silent "$out" clean
guard undo -y -q
guard discard -y -q clash

# --- uncommitted work ---
git add -A
git commit -q -m work
for i in 1 2 3; do
	seq 5 >>src/one.c
	seq 5 >>src/two.c
done
guard run -q --name lossy -- sh -c 'git checkout -q src/one.c src/two.c
	echo better >>src/three.c'
screen 80 24 'guard review'
shown 'open 3'
keys A
shows 'A leaves changes open that lose uncommitted work' \
	'1 change taken, 2 need an answer of their own; U takes that back'
shown 'yes 1  no 0  open 2'
keys Y
shows 'Y asks for their number' '2 files would lose uncommitted work. Type 2:'
keys Escape y
shows 'y takes one of them' 'yes 2  no 0  open 1'
keys U U b
shows 'b asks for their number, too' \
	'2 files would lose uncommitted work. Type 2:'
keys 2 Enter
shows 'the number takes them' 'apply 3 changes to'
keys k
left 1 'k keeps the run'
screen 80 24 'guard review --forget --plain'
shown 'Apply this hunk'
keys A Enter
shows 'A of the line prompts leaves them open, too' \
	'1 change taken, 2 need an answer of their own; U takes that back'
keys n Enter n Enter
shown 'Accepted: 1 of 3 changes; 2 skipped'
keys y Enter
left 0 'the rest is applied'
is "$(git status --short)" ' M src/one.c
 M src/three.c
 M src/two.c' 'the uncommitted work is there'
guard undo -y -q

# --- a part is applied, and the rest discarded ---
manifest src >"$T/before"
screen 80 24 'guard review --forget lossy'
shown 'open 3'
keys n
shown 'no 1  open 2'
keys A C
shown 'apply 1 change to'
looks 'the menu at the end' <<END
 Finish
   1 taken, 1 left, 1 open (open changes are not applied)

     a  apply 1 change to $HOME/project
     r  apply, and discard the rest (guard undo 2 reverts both)
     b  only commit them, on the branch guard/lossy
     p  write them as a patch to lossy.patch
     h  write an HTML report of the whole run to a file
     k  keep the run for later, and quit
     discard  type the word: the run's changes go, your files stay

     Esc  back to the review











 a apply  r rest  b branch  p patch  h HTML  k keep  d discard  Esc back
END
keys r
shows 'r asks for a second r' \
	'r again applies, and discards 2 changes (some are open)'
keys Escape
shown 'Enter text'
keys C r
shown 'r again applies'
keys r
left 0 'r applies what is taken'
gives 0 'no run is left' guard status
silent "$out" lossy
is "$(git status --short)" ' M src/one.c
 M src/three.c
 M src/two.c' 'the rest is not applied'
gives 0 'guard undo 2 reverts both' guard undo -y 2
manifest src >"$T/after"
ok 'the project is as before' restored "$T/before" "$T/after"
gives 0 'the run is pending again' guard status
says "$out" lossy
guard discard -y -q lossy
git checkout -q src

# --- consents ---
guard run -q --name hooks -- sh -c 'mkdir .vscode hooks
	cp '"$HOME/task"' .vscode/tasks.json; echo x >hooks/pre-commit
	chmod 755 hooks/pre-commit; echo x >plain'
screen 80 24 'guard review'
shown 'open 3'
git config core.hooksPath hooks
keys y
shown 'yes 1'
keys A
shows 'the menu names the critical changes that are taken' \
	'!! 1 of them is critical, with your consent: .vscode/tasks.json'
keys a
shows 'an apply asks for the consent to what became critical since' \
	"'hooks/pre-commit' runs"
keys n Enter
left 0 'the rest is applied'
ok 'without the change that got no consent' \
	test -e .vscode/tasks.json -a -e plain -a ! -e hooks/pre-commit
screen 80 24 'guard review'
shown ' A !! hooks/pre-commit'
keys A
shows 'A gives no consent' 'not yet: decide first on 1 deleted or dangerous file'
keys C
shows 'the menu says that nothing is taken' 'Nothing is taken yet'
keys Escape
shown 'Enter text'
keys y
shown '!! 1 of them is critical, with your consent: hooks/pre-commit'
keys a
left 0 'y is a consent'
ok 'it is applied' test -x hooks/pre-commit
git config --unset core.hooksPath
rm -r hooks .vscode plain

# --- terminals ---
screen 80 24 'NO_COLOR=1 guard review --forget'
shown 'Enter text'
tm capture-pane -ep >"$out"
no 'NO_COLOR takes all colors away' grep -q "$(printf '\033\\[[0-9;]*3[1-6]')" \
	"$out"
keys q
left 1 'the screen without colors ends'
infocmp -x screen | sed 's/^screen|/screen-16color|/;s/colors#[^,]*/colors#16/
	s/pairs#[^,]*/pairs#256/' >"$T/16.ti"
ok 'a terminal with 16 colors is described' tic -x -o "$T/terminfo" "$T/16.ti"
screen 80 24 "TERMINFO='$T/terminfo' TERM=screen-16color guard review --forget"
shows 'a terminal with 16 colors has the full screen' 'Enter text'
drawn "$T/16"
tm capture-pane -ep >"$out"
ok 'deletions are red with 16 colors' grep -q "$(printf '\033\\[31mD')" "$out"
keys q
left 1 'the screen with 16 colors ends'
screen 80 24 'TERM=vt100 guard review --forget'
shows 'a vt100 has the full screen' 'Enter text'
drawn "$T/none"
ok 'without colors the screen has the same text' same "$T/16" "$T/none"
tm capture-pane -ep >"$out"
no 'TERM=vt100 has no colors' grep -q "$(printf '\033\\[[0-9;]*3[1-6]')" "$out"
keys q
left 1 'the screen of a vt100 ends'
screen 80 24 'TERM=dumb guard review'
shows 'a dumb terminal asks line by line' 'Apply this deletion'
tm capture-pane -p -S - >"$out"
ok 'the reason is said once' test \
	"$(grep -c "(TERM is 'dumb'), using --plain" "$out")" = 1
keys q Enter
left 1 'the prompts of a dumb terminal end'
mkdir "$T/lib"
: >"$T/lib/libncursesw.so.6"
screen 80 24 "LD_LIBRARY_PATH='$T/lib' guard review"
shows 'without ncursesw the review asks line by line' 'Apply this deletion'
tm capture-pane -Jp -S - >"$out"
says "$out" 'install it: apt-get install libncursesw6'
keys q Enter
left 1 'the review without ncursesw ends'
screen 59 24 'guard review'
shows 'a small terminal asks line by line' 'Apply this deletion'
tm capture-pane -p -S - >"$out"
ok 'the reason is said' grep -q 'smaller than 60x15, using --plain' "$out"
keys q Enter
left 1 'the line prompts end'
screen 80 24 'guard review --plain'
shows '--plain asks line by line' 'Apply this deletion'
keys q Enter
left 1 'the review with --plain ends'
screen 80 24 'bash --norc -i'
keys 'guard review' Enter
shown 'Enter text'
keys C-z
shows 'Ctrl-Z stops the review' 'Stopped'
keys fg Enter
shows 'it continues with the same screen' 'Enter text'
keys q
shown 'nothing applied'
keys exit Enter
shown 'the end of it'
close_screen
finish
