#!/bin/sh
# Six runs of usual sizes: how many lines guard diff has before the first text,
# which entries are never folded away, and how many keys a review takes, from
# the list to the end of its apply.
# users: one
# shellcheck disable=SC2016,SC2317 # $HOME of the run; called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/screen.sh
. "${0%/*}/../lib/screen.sh"

# at_most COUNT: the lines of guard diff before the first text, which are then
# in $T/head
at_most() {
	guard diff --no-pager >"$T/diff" 2>/dev/null
	sed '/^--- /,$d' "$T/diff" >"$T/head"
	lines=$(wc -l <"$T/head")
	[ "$lines" -le "$1" ] && return 0
	echo "$lines lines:"
	head -n 80 "$T/head"
	return 1
}

# make_project NAME
make_project() {
	mkdir -p "$HOME/$1/src"
	cd "$HOME/$1" || exit 99
	git init -q -b main .
	for i in 1 2 3 4 5; do
		printf 'int f%d(void)\n{\n\treturn %d;\n}\n' $i $i >src/f$i.c
	done
	echo '# project' >README.md
}

commit_all() {
	git add -A
	git -c gc.auto=0 commit -q -m "${1:-files}"
}

# review TEXT: opens it; the text is on the first screen
review() {
	screen 80 24 'guard review'
	shows 'the review opens' "$1"
	shown 'Enter text'
}

# press KEY TEXT: the text is on the screen behind the key
press() {
	keys "$1"
	shown "$2" || {
		note "no '$2' after the key $1:"
		show_output
	}
}

# applied COUNT TITLE: from the menu; that many keys were typed in all
applied() {
	press a 'the end of it'
	left 0 "$2"
	is "$typed" "$1" "$2: with $1 keys"
}

has_screen=
! needs 'the review of each run' tmux || has_screen=yes

cat >"$HOME/task" <<'END'
{"tasks": [{"command": "x", "runOptions": {"runOn": "folderOpen"}}]}
END

# Writes packages of ten files each: into the directory $1, $2 of them.
cat >"$HOME/packages.pl" <<'END'
my ($to, $count) = @ARGV;
sub put { open my $f, ">", $_[0] or die "$_[0]: $!"; print $f $_[1]; }
mkdir $to;
for my $i (1 .. $count) {
	mkdir "$to/p$i";
	mkdir "$to/p$i/lib";
	put("$to/p$i/package.json", "{\"name\": \"p$i\"}\n");
	put("$to/p$i/lib/$_.js", "exports.a = $i + $_\n") for 1 .. 9;
}
END

# --- an install of packages ---

make_project install
echo '{"name": "x"}' >package.json
echo node_modules >.gitignore
commit_all
perl "$HOME/packages.pl" node_modules 1
cat >"$HOME/plant" <<'END'
perl "$HOME/packages.pl" node_modules 500
echo '{"name": "x", "dependencies": {"p1": "^1"}}' >package.json
echo 'exports.a = evil' >node_modules/p1/lib/4.js
mkdir -p node_modules/p9/.git/hooks node_modules/p9/.git/objects \
	node_modules/p9/.git/refs
echo x >node_modules/p9/.git/HEAD
echo x >node_modules/p9/.git/hooks/post-checkout
echo 'import os' >node_modules/p77/x.pth
ln -s /etc/passwd node_modules/p78/link
echo x >node_modules/p79/setid
chmod 4755 node_modules/p79/setid
END
ok 'a run installs 5,000 files' guard run -q -- sh "$HOME/plant"
ok 'an install has at most 60 lines before the texts' at_most 60
says "$T/head" '  M  node_modules/p1/lib/4.js'
says "$T/head" '  A  node_modules/p9/.git/hooks/post-checkout  hook'
says "$T/head" '  A  node_modules/p77/x.pth'
says "$T/head" '  A  node_modules/p78/link  link'
says "$T/head" '  A  node_modules/p79/setid'
says "$T/head" '  G  node_modules/  +4990, 499 packages'
silent "$T/diff" 'p300/lib/3.js'
[ -z "$has_screen" ] || {
	review '  M !! node_modules/'
	press n '>  M    package.json'
	press A 'apply 1 change to'
	applied 3 'the manifest is taken without the packages'
	is "$(grep -c dependencies package.json)" 1 'it is applied'
	guard discard -y -q
	git checkout -q package.json
	sed -i 2,100d "$HOME/plant"
}
guard run -q -- sh -c 'perl "$HOME/packages.pl" node_modules 500
	echo "{\"name\": \"x\", \"dependencies\": {\"p1\": \"^1\"}}" >package.json'
ok 'an install without surprises is shorter' at_most 15
[ -z "$has_screen" ] || {
	review 'Generated'
	press A 'apply 2 changes to'
	applied 2 'all of an install is taken'
	ok 'the packages are there' test -e node_modules/p500/lib/9.js
}

# --- a disaster ---

make_project disaster
mkdir docs uploads
for i in $(seq 214); do
	echo "page $i" >"docs/$i.md"
done
printf 'uploads\n.env\n' >.gitignore
commit_all
echo second >>README.md
commit_all second
for i in $(seq 17); do
	head -c 2000 /dev/urandom >"uploads/$i.jpg"
done
echo KEY=only-here >.env
for i in 3 4 5; do
	seq 20 >>src/f$i.c
done
ok 'a run destroys work, and does some' guard run -q -- sh -c '
	git reset -q --hard HEAD~1
	git clean -fdxq
	rm -rf docs
	sed -i "s/return/return 1 +/" src/f1.c
	mkdir .vscode
	cp "$HOME/task" .vscode/tasks.json'
ok 'a disaster has at most 40 lines before the texts' at_most 40
says "$T/head" '  D  docs/  all 214 files, 1.8 KB, 214 in git'
says "$T/head" '  D  uploads/  all 17 files, 34 KB  !! no other copy'
says "$T/head" '  D  .env  14 B  !! no other copy'
says "$T/head" '  M  src/f4.c  79 B -> 28 B  !! uncommitted work'
says "$T/head" '  A  .vscode/tasks.json'
[ -z "$has_screen" ] || {
	review '1 Deleted 3  2 Risky 1  3 Modified 5'
	press B 'no 3  open 6'
	press n '>  M    README.md'
	press n '>  M    src/f1.c'
	press y '>  M !! src/f3.c'
	press B 'apply 1 change to'
	applied 6 'the good part of a disaster is taken'
	is "$(git status --short)" ' M src/f1.c
 M src/f3.c
 M src/f4.c
 M src/f5.c' 'the rest is as it was'
	ok 'the only copies are there' test -e .env -a -e uploads/17.jpg
}

# --- a moved directory ---

make_project moved
perl "$HOME/packages.pl" lib 300
commit_all
ok 'a run moves a directory of 3,000 files' guard run -q -- sh -c '
	mkdir packages
	mv lib packages/core
	mkdir packages/core/p3/.vscode
	cp "$HOME/task" packages/core/p3/.vscode/tasks.json
	rm packages/core/p4/lib/4.js
	sed -i "s/return/return 2 +/" src/f1.c'
ok 'a moved directory has at most 30 lines before the texts' at_most 30
says "$T/head" '  R  lib/ -> packages/core/  (2999 files)'
says "$T/head" '  A  packages/core/p3/.vscode/tasks.json'
says "$T/head" '  D  lib/p4/lib/4.js'
[ -z "$has_screen" ] || {
	review '>  D    lib/p4/lib/4.js'
	press y '>  A !! packages/core/p3/.vscode/tasks.json'
	press n '>  R    packages/core/  from lib'
	press A 'apply 3 changes to'
	applied 4 'a moved directory is taken without what was planted'
	ok 'it is moved' test -e packages/core/p300/lib/9.js -a ! -e lib -a \
		! -e packages/core/p3/.vscode
}

# --- a refactoring ---

make_project refactoring
for i in $(seq 39); do
	{
		printf 'int g%d(void)\n{\n\treturn old_name(%d);\n}\n' "$i" "$i"
		seq 20
		printf 'int h%d(void)\n{\n\treturn old_name(-%d);\n}\n' "$i" "$i"
	} >"src/g$i.c"
done
printf 'all:\n\tcc src/*.c\n' >Makefile
commit_all
ok 'a run renames a function in 39 files' guard run -q -- sh -c '
	sed -i "s/old_name/new_name/" src/g*.c
	sed -i "s/^12$/dbg(12);/" src/g20.c
	printf "test:\n\t./test\n" >>Makefile
	echo "int test;" >src/test.c'
ok 'a refactoring has a line for each file, and 15 more' at_most 54
says "$T/head" '  ! Makefile runs at make (line 4): ./test'
[ -z "$has_screen" ] || {
	review '>  M  ! Makefile'
	press y '>  M    src/g1.c'
	keys / d b g
	press Enter '>  M    src/g20.c'
	press Enter '>+ dbg(12);'
	press n '>* M    src/g20.c'
	press A '41 taken (1 in part)'
	applied 10 'a refactoring is taken without one of its hunks'
	is "$(grep -l new_name src/*.c | wc -l)" 39 'all files are changed'
	no 'the hunk is left out' grep -q dbg src/g20.c
}

# --- a codemod ---

make_project codemod
perl -e 'for (1 .. 3000) {
	open my $f, ">", "src/m$_.js" or die "$!";
	print $f "var m = require(\"./m$_\")\n", map("$_\n", 1 .. 20); }'
commit_all
ok 'a codemod changes 3,000 files' guard run -q -- sh -c '
	perl -pi -e "s/^var (.*) = require\((.*)\)/import \$1 from \$2/" \
		src/*.js
	for i in 30 300 2000; do
		sed -i "s/^15$/fetch($i)/" src/m$i.js
	done'
gives 0 'its hunks are four kinds' guard diff --kinds
says "$out" '3003 hunks of 4 kinds'
says "$out" '+fetch(2000)'
[ -z "$has_screen" ] || {
	review 'open 3000'
	press '=' '3000 hunks of one kind in 3000 files'
	press y '3000 hunks taken'
	press C 'apply 3000 changes to'
	applied 4 'a codemod is taken without its odd hunks'
	is "$(cat src/m*.js | grep -c ^import)" 3000 'all files are changed'
	no 'the odd hunks are left out' grep -q fetch src/m30.js
}

# --- an ordinary run ---

make_project ordinary
commit_all
ok 'a run changes a few files' guard run -q -- sh -c '
	sed -i "s/return/return 3 +/" src/f1.c src/f2.c
	echo "int new;" >src/new.c'
ok 'an ordinary run has at most 12 lines before the texts' at_most 12
[ -z "$has_screen" ] || {
	review 'open 3'
	press A 'apply 3 changes to'
	applied 2 'an ordinary run is taken'
	is "$(cat src/new.c)" 'int new;' 'it is applied'
}

finish
