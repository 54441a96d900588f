#!/bin/sh
# Files that tools make again are no loss, and their state needs no consent;
# files that only look like these keep their marks.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# project NAME [git] [ignored]: a program, its objects, libraries and bytecode
project() {
	name=$1
	rm -rf "$HOME/${name:?}"
	mkdir -p "$HOME/$name/src" "$HOME/$name/bld/CMakeFiles"
	cd "$HOME/$name" || exit 99
	echo 'int main(void) { return 0; }' >src/main.c
	printf 'x: src/main.c\n\tcc -o x $<\n' >Makefile
	[ "${3:-}" != ignored ] || printf '/x\n/l*\n/out\n*.o\n' >.gitignore
	if [ "${2:-}" = git ]; then
		git init -q .
		git add .
		git commit -qm one
	fi
	cp /bin/true x
	cp /bin/true libx.so.1.3
	printf '!<arch>\n1234' >libx.a
	printf '\312\376\272\276\0\0\0\101' >X.class
	printf '\177ELF1234' >src/main.o
	printf '\177ELF1234' >main.lo
	echo 'main.o: main.c' >src/main.d
	: >bld/CMakeCache.txt
	echo 1 >bld/Makefile
	echo 1 >bld/p
	mkdir tgt env env/bin env/lib
	echo 'Signature: 8a477f597d28d172789f06886806bc55' >tgt/CACHEDIR.TAG
	echo 1 >tgt/p
	echo home = /usr/bin >env/pyvenv.cfg
	echo 1 >env/bin/activate
	echo 1 >env/lib/p.py
}

products='x libx.so.1.3 libx.a X.class src/main.o main.lo src/main.d bld tgt env'
for kind in 'git ignored' 'git' ''; do
	# shellcheck disable=SC2086 # words
	project products $kind
	# shellcheck disable=SC2086 # words
	guard run -q -- rm -r $products
	guard diff >"$out"
	silent "$out" 'no other copy'
	silent "$out" 'no git repository'
	ok "deleted products need no consent (${kind:-no git})" guard apply -y
	ok 'undo has them again' guard undo -y
	guard discard -qy
	guard run -q -- sh -c 'cp /bin/false x; cp /bin/false libx.so.1.3
		printf "!<arch>\n5678" >libx.a; echo 2 >tgt/p; echo 2 >bld/p'
	ok 'rebuilt ones neither' guard apply -y
done

# Files of a person, and a program without its source, are lost.
project twins git
mkdir bin
cp /bin/true bin/tool
mv Makefile src/other
git rm -q --cached Makefile
git commit -qm two
rm -r env bld
mkdir env bld
echo text >notes.o.txt
echo text >env/notes
echo text >bld/notes
printf 'PK\003\004' >backup.zip
for file in bin/tool notes.o.txt env/notes bld/notes backup.zip; do
	guard run -q -- rm "$file"
	gives 1 "the only copy of $file needs a consent" guard apply -y
	says "$err" "'$file' would be deleted, and has no other copy"
	guard discard -qy
done
mkdir d
echo Signature >d/CACHEDIR.TAG
echo text >d/text
printf 'x: x.c\n' >src/Makefile
echo 'import std.stdio : writeln;' >src/import.d
guard run -q -- rm src/import.d
gives 1 'a source in D needs a consent' guard apply -y
guard discard -qy
printf 'main.o main.d : main.c \\\n a.h\n' >src/two.d
printf '# made\n/x/main.o: main.c\n' >src/comment.d
guard run -q -- sh -c 'rm src/two.d src/comment.d'
ok 'files with dependencies need none' guard apply -y
for file in src/main.d src/cube.obj src/a.o src/a.a src/a.so src/A.class src/a.lo \
	src/a.la d/text; do
	echo 'void text() { }' >"$file"
	guard run -q -- rm "$file"
	gives 1 "the only copy of $file, a text, needs a consent" guard apply -y
	says "$err" "'$file' would be deleted, and has no other copy"
	guard discard -qy
done
echo /backup.zip >.gitignore
guard run -q -- rm backup.zip
gives 1 'an ignored file of the user, too' guard apply -y
guard discard -qy
guard run -q -- sh -c 'echo x: >Makefile; rm bin/tool'
gives 1 'a Makefile of the run makes no product of a file' guard apply -y
guard discard -qy

# Files that make clean and git clean delete.
cleaned='zlib.pc foo.gz main.i main.s config.log x.map'
for kind in 'git ignored' 'git' ''; do
	# shellcheck disable=SC2086 # words
	project cleaned $kind
	printf 'x: main.c\n\tcc -o x $<\nclean:\n\trm -f *.i *.s \\\n\t\t%s\n' \
		'*.pc foo.gz *.map config.log' >Makefile
	echo 'int a;' >main.c
	[ "$kind" != 'git ignored' ] ||
		printf '%s\n' '*.[is]' '*.pc' '*.gz' '*.map' '*.log' >>.gitignore
	[ -z "$kind" ] || { git add Makefile main.c && git commit -qam two; }
	for file in $cleaned; do
		echo "made $file" >"$file"
	done
	guard run -q -- make clean
	guard diff >"$out"
	silent "$out" 'no other copy'
	silent "$out" 'no git repository'
	ok "make clean needs no consent (${kind:-no git})" guard apply -y
done
project coverage git
mkdir htmlcov .nyc_output a.egg-info
printf '%s\n' .coverage htmlcov .nyc_output '*.egg-info' .env app.db key.pem \
	dump.gz boot.s >.gitignore
git add .gitignore && git commit -qm two
for file in .coverage htmlcov/x .nyc_output/x a.egg-info/x; do
	echo "made $file" >"$file"
done
guard run -q -- rm -r .coverage htmlcov .nyc_output a.egg-info
ok 'what coverage and setuptools write needs none' guard apply -y
printf 'clean:\n\trm -f *.s * .env app.db key.pem\nbackup:\n\ttar -czf dump.gz .\n' \
	>Makefile
for file in .env app.db key.pem dump.gz boot.s start.s other.c notes.txt; do
	echo "mine: $file" >"$file"
	guard run -q -- rm "$file"
	gives 1 "the only copy of $file needs a consent" guard apply -y
	says "$err" "'$file' would be deleted, and has no other copy"
	guard discard -qy
done
printf 'cleanup-db: dump.gz\n\tload $<\n' >Makefile
for file in dump.gz my-config.log; do
	echo "mine: $file" >"$file"
	guard run -q -- rm "$file"
	gives 1 "$file, which no rule deletes, needs a consent" guard apply -y
	guard discard -qy
done
printf 'clean:\n\trm -f dump.gz\n' >"$T/make"
guard run -q --ro "$T/make" -- sh -c "cp '$T/make' Makefile; rm dump.gz"
gives 1 'a Makefile of the run cleans nothing' guard apply -y
guard discard -qy

project python git
if needs 'an environment of Python' python3; then
	guard run -q -- sh -c 'rm -r env; python3 -m venv --without-pip env2'
	guard diff --stat >"$out"
	silent "$out" '!'
	ok 'a new environment needs no consent' guard apply -y
	guard run -q -- python3 -m venv --without-pip --clear env2
	guard diff --stat >"$out"
	silent "$out" '!'
	ok 'neither does one that is made again' guard apply -y
	guard run -q -- python3 -m venv --without-pip --upgrade env2
	ok 'or is upgraded' guard apply -y
	for line in home executable include-system-site-packages; do
		guard run -q -- sed -i "s,^$line = .*,$line = /tmp/bin," \
			env2/pyvenv.cfg
		gives 1 "another $line does" guard apply -y
		says "$err" 'env2/pyvenv.cfg'
		guard discard -qy
	done
	printf '%s\rhome = /tmp/bin\n' 'command = x' >"$T/line"
	guard run -q --ro "$T/line" -- sh -c "cat '$T/line' >>env2/pyvenv.cfg"
	gives 1 'so does a home behind a carriage return' guard apply -y
	guard discard -qy
fi
# Files beside an environment, but no part of it, keep their marks.
project fake git
make_fake='mkdir -p ve/bin ve/lib ve/share; : >ve/bin/activate; echo home = /usr/bin >ve/pyvenv.cfg'
guard run -q -- sh -c "$make_fake; mkdir ve/lib/.vscode ve/lib/.claude
	echo '{\"tasks\":[{\"command\":\"x\",\"runOptions\":{\"runOn\":\"folderOpen\"}}]}' \
		>ve/lib/.vscode/tasks.json
	echo '{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"command\":\"x\"}]}]}}' \
		>ve/lib/.claude/settings.json
	echo x >ve/lib/.envrc
	printf '[alias]\n\tx = !x\n' >ve/share/.gitconfig"
gives 1 'a fake environment hides nothing' guard apply -y
for file in ve/lib/.vscode/tasks.json ve/lib/.claude/settings.json ve/lib/.envrc \
	ve/share/.gitconfig; do
	says "$err" "'$file' runs"
done
guard discard -qy
site=ve/lib/python3.11/site-packages
for line in 'echo "import os" >'$site/sitecustomize.py \
	'echo "import os;os.system(1)" >'$site/x.pth \
	'echo home = /tmp/x >ve/pyvenv.cfg' \
	'printf "home = /usr/bin\rHOME=/tmp/x\n" >ve/pyvenv.cfg'; do
	guard run -q -- sh -c "$make_fake; mkdir -p $site; $line"
	gives 1 "a new environment needs a consent after $line" guard apply -y
	guard discard -qy
done
cd "$HOME/python" || exit 99
guard run -q -- sh -c 'mkdir -p src/lib; echo home=x >src/pyvenv.cfg
	echo x >src/lib/sitecustomize.py'
gives 1 'a pyvenv.cfg beside sources needs one' guard apply -y
says "$err" 'src/pyvenv.cfg'
guard discard -qy

mkdir "$HOME/state"
cd "$HOME/state" || exit 99
mkdir -p .idea .svn lisp
echo '<project/>' >.idea/workspace.xml
echo 1 >.svn/wc.db
echo nodejs 20.1.0 >.tool-versions
guard run -q -- sh -c 'echo 2 >.svn/wc.db; echo "\" x" >plugin.vim
	echo ";" >lisp/x.el; echo nodejs 22.0.0 >.tool-versions
	echo "<option name=\"LAST_COMMIT_MESSAGE\" value=\"x\" />" >>.idea/workspace.xml
	echo "<a/>" >a.sln.DotSettings'
ok 'state of tools needs no consent' guard apply -y
guard run -q -- sh -c 'mkdir .vim; echo x >.vim/x.vim; echo x >.dir-locals.el
	echo "<option name=\"SCRIPT_TEXT\" value=\"x\" />" >>.idea/workspace.xml
	echo x >.svn/hooks; echo x >.exrc'
gives 1 'what an editor executes does' guard apply -y
for file in .vim/x.vim .dir-locals.el .idea/workspace.xml .svn/hooks .exrc; do
	says "$err" "'$file'"
done

# --- products that the run and the user built ---
mkdir "$HOME/both"
cd "$HOME/both" || exit 99
git init -q .
printf '*.o\n__pycache__/\nbuild/\n' >.gitignore
printf 'a.o: a.c b.h\n\t(printf "\\177ELF\\0"; cat a.c b.h) >a.o\n' >Makefile
echo old | tee a.c >b.h
echo old >notes.d
git add .
git commit -qm old
make -s
elf='printf "\177ELF"'
guard run -q -- sh -c "echo new >a.c; make -s; mkdir __pycache__ build
	$elf >b.o; echo run | tee build/x __pycache__/a.cpython-311.pyc"
sh -c "echo edit >b.h; make -s; mkdir __pycache__ build
	$elf | cat - a.c >b.o; echo user | tee build/x __pycache__/a.cpython-311.pyc" \
	>/dev/null
gives 0 'apply is no conflict over products of both sides' guard apply -y
for file in a.o __pycache__/a.cpython-311.pyc build/x; do
	says "$err" "your version is kept: '$file':"
done
is "$(cat a.c build/x | tr '\n' ' ')" 'new user ' \
	'... it takes the source, and keeps the products'
no '... and make builds them again' make -q
make -s
is "$(tr -d '\0' <a.o | tr '\n' ' ')" "$(printf '\177ELFnew edit ')" \
	'... from the sources of both sides'
gives 0 'undo is accepted' guard undo -y
is "$(cat a.c build/x | tr '\n' ' ')" 'old user ' '... and takes it back'
guard discard -qy
guard run -q -- sh -c 'rm a.o; echo run >notes.d; echo run >a.c'
make -sB
echo user >notes.d
gives 1 'a file of a person is a conflict' guard apply -y
says "$err" "conflict: 'notes.d'"
silent "$err" "conflict: 'a.o'"

finish
