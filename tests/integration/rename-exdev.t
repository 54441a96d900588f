#!/bin/sh
# Folders that are older than the run are renamed in it: overlayfs alone says
# EXDEV.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

renamer=/opt/guard/build/tests/lib/renamer
EEXIST=17 EXDEV=18 EINVAL=22 EBUSY=16 ENOTEMPTY=39 ENOTDIR=20

make_home
cd "$HOME/project" || exit 99
mkdir -p tree/a/b/empty tree/closed other/in full/in one two old
echo untouched >old/untouched
echo open >old/open
made=$(date +%s)
echo text >tree/a/file
echo script >tree/a/script
chmod 751 tree/a/script
ln tree/a/file tree/a/b/same
ln -s ../file tree/a/b/link
ln -s /nowhere tree/dangling
mkfifo tree/pipe
truncate -s 3M tree/sparse
echo end >>tree/sparse
setfattr -n user.note -v mine tree/a/file
setfattr -n user.note -v folder tree/a
echo kept >tree/closed/file
touch -d '2001-02-03 04:05:06.789' tree/a/file tree/a tree/closed tree
touch -h -d '2002-03-04 05:06:07' tree/dangling
chmod 555 tree/closed
chmod 2750 tree/a/b
git add -A >/dev/null 2>&1
git commit -q -m more
manifest "$HOME/project" >"$T/before"

# What is defined here is used inside of runs as well.
{
	sed -n '/^manifest() {/,/^}/p' "${0%/*}/../lib/tap.sh"
	cat <<-'EOF'
		renamer=/opt/guard/build/tests/lib/renamer
		same_as() {
			manifest "$1" >/tmp/a
			manifest "$2" >/tmp/b
			cmp /tmp/a /tmp/b
		}
	EOF
} >"$T/lib"
lib=$(cat "$T/lib")

# inside WHAT SCRIPT: its status decides
inside_run() {
	gives 0 "$1" guard run -q -- sh -c "$lib
$2"
	same_outside "$1"
}

same_outside() {
	manifest "$HOME/project" >"$T/after"
	ok "$1: nothing happened outside" same "$T/before" "$T/after"
}

# number WHAT WANTED MODE NAMES...
number() {
	what=$1
	wanted=$2
	shift 2
	is "$(guard run -q -- "$renamer" "$@" 2>"$err")" "$wanted" "$what"
}

inside_run 'the folder is the same afterwards' '
	cp -a tree copy && $renamer plain tree moved && [ ! -e tree ] &&
	same_as copy moved && [ moved/a/file -ef moved/a/b/same ] &&
	[ -z "$(find . -name ".guard*")" ]'
inside_run 'git mv of a folder' 'git mv tree moved && git status --short |
	grep -q "^R.*moved/a/file"'
inside_run 'mv over an empty folder' 'mv -T tree one && [ -e one/a/file ] &&
	[ ! -e tree ]'
inside_run 'into another folder, and back' '
	mv tree one/x && mv one/x tree && [ -e tree/a/script ]'
inside_run 'over what was deleted before' 'rm -r other && mv tree other &&
	[ "$(ls other)" = "$(printf "a\nclosed\ndangling\npipe\nsparse")" ]'
inside_run 'as a path, with slashes' 'mv ./tree/// "$PWD/one/../moved/" &&
	[ -e moved/a/file ] && [ ! -e tree ]'
if needs 'os.rename of Python' python3; then
	inside_run 'os.rename of Python' '
		python3 -c "import os; os.rename(\"tree\", \"moved\")" &&
		[ -e moved/a/file ]'
fi
if needs 'fs.renameSync of node' node; then
	inside_run 'fs.renameSync of node' '
		node -e "fs.renameSync(\"tree\", \"moved\")" &&
		[ -e moved/a/file ]'
fi

# --- what the kernel says stays what is said ---
number 'a plain one' 0 plain tree moved
number 'by descriptors' 0 at . tree moved
number 'no target, and none allowed' 0 noreplace tree moved
number 'a target that may not be replaced' $EEXIST noreplace tree one
number 'a folder that is not empty' $ENOTEMPTY plain tree full
number 'a file' $ENOTDIR plain tree README.md
number 'into itself' $EINVAL plain tree tree/a/tree
number 'to itself' 0 plain tree tree
number 'an exchange' $EXDEV exchange tree other
number 'to another mount' $EXDEV plain tree /tmp/tree
number 'the current folder' $EBUSY plain . moved
number 'by way of /proc' $EXDEV proc tree moved
number 'one that cannot be looked into' $EXDEV closed tree moved
mkdir -p "deep/$(yes a | head -n 170 | tr '\n' /)"
echo in >deep/file
gives 0 'a rename that cannot be' guard run -- sh -c "
	[ \$($renamer plain deep moved) = $EXDEV ] &&
	[ \$($renamer plain deep moved) = $EXDEV ] && mv deep moved"
is "$(grep -c 'could not be renamed' "$err")" 1 'is told once'
says "$err" "the folder 'deep' could not be renamed in the run"
says "$err" 'mv copies it'
guard discard -q -y
gives 0 'an exchange that cannot be' guard run -- "$renamer" exchange tree other
says "$err" "the folder 'tree' could not be exchanged"
gives 0 'of a file and a folder' guard run -- "$renamer" exchange README.md tree
says "$err" "the folder 'tree' could not be exchanged"
gives 0 'one that can be' guard run -- sh -c "mkdir a b && echo in >b/file &&
	[ \$($renamer exchange a b) = 0 ] && [ -e a/file ] &&
	[ \$($renamer exchange a README.md) = 0 ] && [ -f a ]"
silent "$err" 'could not be'
guard discard -q -y
gives 1 'one that lets nobody see it' guard run -- "$renamer" closed tree moved
says "$err" "'renamer', which lets nobody look into it"
echo >plain
gives 0 'and succeeds' guard run -- "$renamer" closed plain moved
silent "$err" 'look into it'
guard discard -q -y
rm plain
gives 0 'one that can be' guard run -- mv tree moved
silent "$err" 'could not be renamed'
guard discard -q -y
rm -r deep
number 'two at once' 0 threads one moved1 two moved2
number 'two at once, large and small' 0 threads tree moved1 two moved2
mkdir wide
(cd wide && seq 3000 | xargs mkdir)
# Before the question is taken a signal may end the call with EINTR; from then
# on none does but one that kills.
# standing WHAT WANTED COMMAND: its output, once it met guard's process at work
standing() {
	got=missed
	while [ "$got" = missed ]; do
		got=$(guard run -q -- sh -c "$3" 2>"$err")
	done
	is "$got" "$2" "$1"
}
standing 'in a storm of signals' renamed "$renamer storm wide moved"
standing 'Ctrl-C in the middle, and nothing has happened' undone '
	ls wide | sort >/tmp/names
	'"$renamer"' int wide moved
	[ $? = 130 ] || exit
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" != guard-rename ] ||
			kill -CONT "${p#/proc/}"
	done
	while ls -d .guard-rename-* >/dev/null 2>&1; do :; done
	ls wide | sort | cmp - /tmp/names && [ ! -e moved ] && echo undone'
rmdir wide/* wide
manifest "$HOME/project" >"$T/before"
landlock=$(guard run -q -- "$renamer" landlock tree moved)
case $landlock in
none) skip 'no Landlock' ;;
*) is "$landlock" $EXDEV 'one with lesser rights' ;;
esac
inside_run 'a file that is open' '
	[ "$($renamer open tree moved a/script)" = 0 ] &&
	[ "$(cat moved/a/script)" = "$(printf "script\nlate")" ]'
if [ "$me" != root ]; then
	inside_run 'a folder that may not be read' 'chmod 0 tree/a &&
		[ "$($renamer plain tree moved)" = 18 ] && chmod 755 tree/a &&
		[ -e tree/a/file ] && [ -z "$(find . -name ".guard*")" ]'
fi
gives 0 'a run with sandboxes inside' guard run --nested -- true
says "$err" 'with --nested no folder that is older than the run can be renamed'
gives 0 'a second one' guard run --nested -- true
silent "$err" 'with --nested'
gives 0 'a sandbox inside' guard run -q --nested -- "$renamer" plain tree moved
is "$(cat "$out")" $EXDEV 'a sandbox inside: the kernel alone answers'

# --- broken off ---
mkdir wide
(cd wide && seq 3000 | xargs mkdir)
manifest "$HOME/project" >"$T/before"
# Whoever is too late has another try.
while :; do
	guard run -- sh -c '
		/opt/guard/build/tests/lib/renamer plain wide moved &
		until ls -d .guard-rename-* >/dev/null 2>&1 || [ -e moved ]
		do :; done; [ ! -e moved ]' >"$out" 2>"$err" </dev/null
	got=$?
	guard diff --name-only >"$T/names" 2>&1
	grep -q '^moved' "$T/names" || break
	guard discard -q -y
done
is "$got" 0 'the run ends in the middle'
says "$err" 'changed nothing'
same_outside 'broken off'
# One that cannot undo it in time. It has begun when its copy is there; it may
# have ended when it is looked for.
while :; do
	guard run -- sh -c '
		/opt/guard/build/tests/lib/renamer plain wide moved &
		until ls -d .guard-rename-* >/dev/null 2>&1 || [ -e moved ]
		do :; done
		for p in /proc/[0-9]*; do
			[ "$(cat "$p/comm" 2>/dev/null)" != guard-rename ] ||
				kill -STOP "${p#/proc/}"
		done
		[ ! -e moved ]' >"$out" 2>"$err" </dev/null
	got=$?
	[ $got -ne 0 ] || break
	guard discard -q -y
done
is "$got" 0 'the run ends while the one who renames is stopped'
says "$err" 'changed nothing'
same_outside 'stopped'
rmdir wide/* wide

# --- the review ---
gives 0 'a run that renames' guard run -- mv tree moved
gives 0 'its review' guard diff --stat
says "$out" 'tree/ -> moved/'
gives 0 'applied' guard apply -y
ok 'the new one is there' test -e moved/a/file
no 'the old one is not' test -e tree
is "$(stat -c %h moved/a/file)" 2 'hard links are'

# --- what the layer copied itself has a mark, and cost a sync ---
until [ "$(date +%s)" -gt $((made + 3)) ]; do :; done
gives 0 'one with a file that is open' guard run -- "$renamer" open old new open
cd "$(ls -d "$state"/runs/*/upper/new)" || exit 99
is "$(cat untouched)" untouched 'its other file is whole'
is "$(tail -n 1 open)" late 'what is written to it afterwards is in it'
is "$(getfattr --absolute-names -d -m user.overlay.origin open untouched |
	sed -n 's/^# file: //p')" open 'only that file was copied by the layer'
cd "$HOME/project" || exit 99
finish
