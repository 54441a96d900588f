#!/bin/sh
# Directories that are older than the run can be renamed in it; overlayfs alone
# returns EXDEV.
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

# Definitions that runs use as well.
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

# inside_run WHAT SCRIPT: checks the status of the script in a run
inside_run() {
	gives 0 "$1" guard run -q -- sh -c "$lib
$2"
	same_outside "$1"
}

same_outside() {
	manifest "$HOME/project" >"$T/after"
	ok "$1: the project outside is unchanged" same "$T/before" "$T/after"
}

# number WHAT WANTED MODE NAMES...: checks the errno of the call in a run
number() {
	what=$1
	wanted=$2
	shift 2
	is "$(guard run -q -- "$renamer" "$@" 2>"$err")" "$wanted" "$what"
}

inside_run 'a renamed directory has the same content and metadata' '
	cp -a tree copy && $renamer plain tree moved && [ ! -e tree ] &&
	same_as copy moved && [ moved/a/file -ef moved/a/b/same ] &&
	[ -z "$(find . -name ".guard*")" ]'
inside_run 'git mv accepts a directory' 'git mv tree moved && git status --short |
	grep -q "^R.*moved/a/file"'
inside_run 'mv accepts an empty directory as target' 'mv -T tree one && [ -e one/a/file ] &&
	[ ! -e tree ]'
inside_run 'a directory can be moved into another directory and back' '
	mv tree one/x && mv one/x tree && [ -e tree/a/script ]'
inside_run 'a directory can take the name of a deleted one' 'rm -r other && mv tree other &&
	[ "$(ls other)" = "$(printf "a\nclosed\ndangling\npipe\nsparse")" ]'
inside_run 'names with slashes and .. are accepted' 'mv ./tree/// "$PWD/one/../moved/" &&
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

# A worker would be a process; process ids show how many were started.
inside_run 'no process is started for a rename of a new directory' '
	pid() { sh -c "echo \$\$"; }
	mkdir -p fresh/sub other/in/new full/new && echo in >fresh/sub/file
	first=$(pid)
	for to in moved ./moved/ "$PWD/moved" tree/a/moved full/new/moved \
		other/../moved; do
		$renamer many 40 fresh "$to" || exit
	done
	$renamer many 40 "$PWD/fresh/sub" other/in/new/moved &&
	[ $(($(pid) - first)) -lt 40 ] &&
	[ "$(cat fresh/sub/file)" = in ] && [ -e tree/a/script ]'

# --- the kernel's errors stay the same ---
number 'rename returns 0' 0 plain tree moved
number 'renameat returns 0' 0 at . tree moved
number 'RENAME_NOREPLACE without a target returns 0' 0 noreplace tree moved
number 'RENAME_NOREPLACE with a target returns EEXIST' $EEXIST noreplace tree one
number 'a directory that is not empty as target returns ENOTEMPTY' $ENOTEMPTY \
	plain tree full
number 'a file as target returns ENOTDIR' $ENOTDIR plain tree README.md
number 'a target below the directory itself returns EINVAL' $EINVAL \
	plain tree tree/a/tree
number 'a rename to the same name returns 0' 0 plain tree tree
number 'RENAME_EXCHANGE returns EXDEV' $EXDEV exchange tree other
number 'a target on another mount returns EXDEV' $EXDEV plain tree /tmp/tree
number 'the current directory returns EBUSY' $EBUSY plain . moved
number 'a name below /proc returns EXDEV' $EXDEV proc tree moved
number 'a process that is not dumpable gets EXDEV' $EXDEV closed tree moved
mkdir -p "deep/$(yes a | head -n 170 | tr '\n' /)"
echo in >deep/file
gives 0 'a run in which a rename fails ends with 0' guard run -- sh -c "
	[ \$($renamer plain deep moved) = $EXDEV ] &&
	[ \$($renamer plain deep moved) = $EXDEV ] && mv deep moved"
is "$(grep -c 'could not be renamed' "$err")" 1 \
	'guard reports a failed rename once'
says "$err" "the directory 'deep' could not be renamed in the run"
says "$err" 'mv copies it (for git mv: mv'
guard discard -q -y latest
gives 0 'an exchange of two directories fails in the run' \
	guard run -- "$renamer" exchange tree other
says "$err" "the directory 'tree' could not be exchanged"
gives 0 'an exchange of a file and a directory fails in the run' \
	guard run -- "$renamer" exchange README.md tree
says "$err" "the directory 'tree' could not be exchanged"
gives 0 'new directories of the run can be exchanged' \
	guard run -- sh -c "mkdir a b && echo in >b/file &&
	[ \$($renamer exchange a b) = 0 ] && [ -e a/file ] &&
	[ \$($renamer exchange a README.md) = 0 ] && [ -f a ]"
silent "$err" 'could not be'
guard discard -q -y latest
gives 1 'a rename by a process that is not dumpable fails' \
	guard run -- "$renamer" closed tree moved
says "$err" "'renamer', whose memory guard cannot read"
echo >plain
gives 0 'such a process can rename a file' \
	guard run -- "$renamer" closed plain moved
silent "$err" 'whose memory guard cannot read'
guard discard -q -y latest
rm plain
gives 0 'a rename that succeeds is not reported' guard run -- mv tree moved
silent "$err" 'could not be renamed'
guard discard -q -y latest
rm -r deep
number 'two threads can rename at once' 0 threads one moved1 two moved2
number 'two threads can rename a large and a small directory at once' 0 \
	threads tree moved1 two moved2
mkdir wide
(cd wide && seq 3000 | xargs mkdir)
# Before guard has received the call a signal may end it with EINTR; after that
# only a fatal signal ends it. standing WHAT WANTED COMMAND: repeats the run
# until the rename overlaps with guard's process for it, then checks the output.
standing() {
	got=missed
	while [ "$got" = missed ]; do
		got=$(guard run -q -- sh -c "$3" 2>"$err")
	done
	is "$got" "$2" "$1"
}
standing 'a rename succeeds under a storm of signals' renamed "$renamer storm wide moved"
standing 'Ctrl-C during a rename leaves the directory unchanged' undone '
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
none) skip 'the kernel has no Landlock' ;;
*) is "$landlock" $EXDEV \
	'a process with Landlock rules gets EXDEV' ;;
esac
inside_run 'a directory with an open file can be renamed' '
	[ "$($renamer open tree moved a/script)" = 0 ] &&
	[ "$(cat moved/a/script)" = "$(printf "script\nlate")" ]'
if [ "$me" != root ]; then
	inside_run 'a rename of a directory with an unreadable one fails' 'chmod 0 tree/a &&
		[ "$($renamer plain tree moved)" = 18 ] && chmod 755 tree/a &&
		[ -e tree/a/file ] && [ -z "$(find . -name ".guard*")" ]'
fi

# --- nested sandboxes: the caller's root and mounts decide ---
for how in "" "unshare -Urm" "unshare -Urmpf"; do
	# shellcheck disable=SC2086 # a command
	gives 0 "a directory can be renamed with --nested ($how)" \
		guard run -q --nested -- $how sh -c "
		[ \$($renamer plain tree/a/b moved) = 0 ] &&
		[ \$($renamer plain \"$PWD/tree\" \"$PWD/one/tree\") = 0 ] &&
		[ -e one/tree/a/file ] && [ -e moved/same ]"
done
gives 0 "a nested sandbox's read-only mount keeps its directories" \
	guard run -q --nested -- unshare -Urm sh -c "
	mount --bind tree tree && mount -o remount,ro,bind tree &&
	ln -s \"$PWD/tree\" one/link &&
	for name in tree/a one/link/a \"$PWD/tree/a\"; do
		[ \$($renamer plain \$name moved) != 0 ] || exit
		[ \$($renamer plain \$name \$name-moved) != 0 ] || exit
		( cd one && $renamer plain link/a link/b ) | grep -qvx 0 || exit
	done
	[ -e tree/a/file ]"
gives 0 "a nested sandbox's own root is the root of its paths" \
	guard run -q --nested -- unshare -Urm sh -c "
	mount -t tmpfs t /mnt && mkdir -p \"/mnt$PWD\" /mnt/usr /mnt/opt &&
	mount --rbind /usr /mnt/usr && mount --rbind /opt /mnt/opt &&
	cp -d /lib* /mnt && mkdir one/tree &&
	mount --bind \"$PWD/one\" \"/mnt$PWD\" &&
	[ \$(chroot /mnt $renamer plain \"$PWD/tree\" \"$PWD/x\") = 0 ] &&
	[ -e tree/a/file ] && [ -e one/x ]"

# --- the run ends during a rename ---
mkdir wide
(cd wide && seq 3000 | xargs mkdir)
manifest "$HOME/project" >"$T/before"
# A rename that has already ended is no test: the run is repeated.
while :; do
	guard run -- sh -c '
		/opt/guard/build/tests/lib/renamer plain wide moved &
		until ls -d .guard-rename-* >/dev/null 2>&1 || [ -e moved ]
		do :; done; [ ! -e moved ]' >"$out" 2>"$err" </dev/null
	got=$?
	guard diff --name-only >"$T/names" 2>&1
	grep -q '^moved' "$T/names" || break
	guard discard -q -y latest
done
is "$got" 0 'the run ends during a rename'
says "$err" 'changed nothing'
same_outside 'the run ended during a rename'
# guard's process for the rename cannot undo it in time. The rename has begun
# when its copy exists; it may have ended before that process is found.
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
	guard discard -q -y latest
done
is "$got" 0 "the run ends while guard's process for the rename is stopped"
says "$err" 'changed nothing'
same_outside 'the run ended with a stopped rename'
while :; do
	got=$(guard run -q -- sh -c '
		/opt/guard/build/tests/lib/renamer plain wide moved >/tmp/errno &
		until ls -d .guard-rename-* >/dev/null 2>&1 || [ -e moved ]
		do :; done
		for p in /proc/[0-9]*; do
			[ "$(cat "$p/comm" 2>/dev/null)" != guard-rename ] ||
				kill -KILL "${p#/proc/}"
		done
		wait
		ls -A | grep "^\.guard" >>/tmp/errno
		cat /tmp/errno' 2>"$err" </dev/null)
	[ "$got" = 0 ] || break
	guard discard -q -y latest
done
is "$got" $EXDEV "the caller of a killed process of guard's gets EXDEV"
rmdir wide/* wide

# --- review and apply of a rename ---
gives 0 'a run renames a directory' guard run -- mv tree moved
gives 0 'diff --stat accepts a renamed directory' guard diff --stat
says "$out" 'tree/ -> moved/'
gives 0 'apply accepts a renamed directory' guard apply -y latest
ok 'apply creates the new directory' test -e moved/a/file
no 'apply deletes the old directory' test -e tree
is "$(stat -c %h moved/a/file)" 2 \
	'apply keeps hard links of a renamed directory'

# --- a file copied up by overlayfs has an attribute, and its copy-up needs a sync ---
until [ "$(date +%s)" -gt $((made + 3)) ]; do :; done
gives 0 'a directory with a file open for writing can be renamed' \
	guard run -- "$renamer" open old new open
cd "$(ls -d "$state"/runs/*/upper/new)" || exit 99
is "$(cat untouched)" untouched \
	'the other file of the directory has its content'
is "$(tail -n 1 open)" late 'a later write to the open file is in the layer'
is "$(getfattr --absolute-names -d -m user.overlay.origin open untouched |
	sed -n 's/^# file: //p')" open 'overlayfs copied up only the open file'
cd "$HOME/project" || exit 99
finish
