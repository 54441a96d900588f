#!/bin/sh
# diff: texts with changed words inside the lines, and in two columns.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
printf 'same\nf(one, two);\ngone and away\nlast' >text
printf '\ttab\n日本語のテキストがここにあります、とても長い行です。さらに続く\n' >wide
git add -A
git commit -q -m files
ok 'a run changes texts' guard run -q -- sh -c '
	printf "same\nf(one, new);\nlast\n" >text
	printf "\ttab x\n日本語のテキストがここにあります、とても長い行です。さらに終り\n" >wide
	printf "a\033[2J\342\200\256\n" >odd'
settle

# text LAYOUT PATH: the text behind the head of its first hunk
text() {
	guard diff "$1" "$2" | sed '1,/^@@/d'
}

is "$(text --unified=3 text)" ' same
-f(one, two);
-gone and away
-last
\ No newline at end of file
+f(one, new);
+last' 'the usual layout has no empty line before the note of a missing line end'
guard diff text >"$out"
sed -n '/^---/,$p' "$out" | (cd "$T" && cp "$HOME/project/text" text && patch -s -p1)
is "$(cat "$T/text")" "$(printf 'same\nf(one, new);\nlast\n')" 'patch(1) takes it'

is "$(text --word-diff text)" ' same
 f(one, [-two-]{+new+});
 [-gone and away-]
 last
 [-\ No newline at end of file-]' '--word-diff marks words'
is "$(text --word-diff=plain text)" "$(text --word-diff text)" 'plain is the default'
is "$(guard diff --word-diff=color text | cat -v | sed '1,/@@/d' | head -n 2)" \
	' same
 f(one, ^[[31mtwo^[[m^[[32mnew^[[m);' '--word-diff=color marks by colors alone'
is "$(guard diff --word-diff=color --color=never text | sed '1,/^@@/d' | head -n 2)" \
	' same
 f(one, [-two-]{+new+});' 'and by signs where there are no colors'
is "$(text --word-diff odd)" ' {+a\x1b[2J<U+202E>+}' 'words are escaped'
gives 2 'another mode is refused' guard diff --word-diff=all
gives 2 '--color-words is answered' guard diff --color-words
says "$err" 'use --word-diff=color'

is "$(text --side-by-side text)" \
	'same                                     same
f(one, two);                           | f(one, new);
gone and away                          <
last                                     last
\ No newline at end of file            <' '--side-by-side has two columns'
is "$(text --side-by-side wide)" \
	'        tab                            |         tab x
日本語のテキストがここにあります、...  | 日本語のテキストがここにあります、...' \
	'wide characters and tabs have their columns, long lines are cut'
is "$(text --side-by-side odd)" \
	'                                       > a\x1b[2J<U+202E>' 'columns are escaped'
is "$(script -q -c 'stty cols 40; guard diff --side-by-side --no-pager --color=never text' \
	/dev/null </dev/null | sed -n '/^f(/s/\r//p')" \
	'f(one, two);       | f(one, new);' 'the columns are as wide as the terminal'
gives 0 'snapshots are compared in columns, too' guard diff --side-by-side 1
finish
