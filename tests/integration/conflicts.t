#!/bin/sh
# The user goes on working while a run is pending: no edit of his is ever
# overwritten, and with a conflict nothing is applied.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# refused WHAT: apply ends with 1 and changed nothing
refused() {
	manifest "$HOME" >"$T/before"
	gives 1 "refused: $1" guard apply -y
	manifest "$HOME" >"$T/after"
	ok "nothing was applied: $1" same "$T/before" "$T/after"
	ok "discarded: $1" guard discard -y
}

run='echo run >src/f1.c; echo run >new; rm src/f2.c; echo run >other'
ok 'a run' guard run -q -- sh -c "$run"
settle
echo user >src/f1.c
refused 'both changed a file'
says "$err" src/f1.c

ok 'a run' guard run -q -- sh -c "$run"
settle
echo user >new
refused 'both added a file'
says "$err" new
is "$(cat new)" user 'the file is the user'"'"'s'
rm new

ok 'a run' guard run -q -- sh -c "$run"
settle
echo user >>src/f2.c
refused 'the run deleted what the user changed'

ok 'a run' guard run -q -- sh -c "$run"
settle
rm src/f1.c
refused 'the run changed what the user deleted'
git checkout -q HEAD -- src/f1.c

ok 'a run' guard run -q -- sh -c 'rm -r src; echo x >y'
settle
echo user >src/added
refused 'the user added to a folder that the run deleted'
rm src/added

ok 'a run' guard run -q -- sh -c 'chmod 600 src/f7.c; echo x >>src/f8.c'
settle
mv src src-moved
refused 'the user moved the folder'
mv src-moved src

ok 'a run' guard run -q -- sh -c 'echo x >>src/f8.c'
settle
mv src src-real
ln -s src-real src
refused 'a link stands where the folder was'
rm src
mv src-real src

# --- what does not meet is applied ---
ok 'a run' guard run -q -- sh -c "$run"
settle
echo user >src/f9.c
echo user >mine
gives 0 'edits elsewhere are no conflict' guard apply -y
is "$(cat src/f9.c mine)" "user
user" 'the edits are kept'
is "$(cat src/f1.c new)" "run
run" 'the run is applied'
echo user >mine2
gives 0 'undo with edits elsewhere' guard undo -y
is "$(cat src/f9.c mine2)" "user
user" 'the edits are kept, still'
no 'the run is taken back' test -e new

# --- what was refused is no action: undo says what it is about, and when ---
ok 'what was taken back is applied' guard apply -y -q
one=$(guard log --actions --json | sed -n 's/.*"run": "\([^"]*\)".*/\1/p' |
	head -n 1)
ok 'a run' guard run -q -- sh -c 'echo other >src/f1.c'
settle
echo user >src/f1.c
gives 1 'that does not fit' guard apply -y
echo run >src/f1.c
gives 0 'undo' guard undo -y
says "$err" "the last thing done in '$HOME/project': apply of run $one, "
ok 'with its age' grep -q "of run $one, [0-9]* \(s\|min\) ago\$" "$err"
says "$err" "apply of run $one in '$HOME/project' is taken back"
gives 0 'undo of that' guard undo -y
says "$err" "undo of the apply of run $one, "
says "$err" "undo of the apply of run $one in '$HOME/project' is taken back"
gives 0 'undo' guard undo -y -q
ok 'dropped' guard discard -y -q

# --- both made the same ---
ok 'a run' guard run -q -- sh -c 'echo same >equal; echo other >different'
settle
echo same >equal
gives 0 'the same on both sides is no conflict' guard apply -y
is "$(cat different)" other 'the rest is applied'

# --- edits while the snapshot has not begun ---
# The keeper of the pre-run snapshot waits for a lock that we hold: whatever
# happens outside before it reads is no state that the run began with.
ok 'a snapshot' guard snapshot
lock=$(echo "$state"/workspaces/*/snapshot.lock)
workspace=${lock%/snapshot.lock}
mkfifo "$T/hold" "$T/ready" "$T/go"
flock "$workspace/snapshot.lock" sh -c \
	'echo held; read -r line' <"$T/hold" >"$T/ready" &
holder=$!
exec 8>"$T/hold"
read -r line <"$T/ready"
is "$line" held 'the snapshot is kept from beginning'
guard run -q -- sh -c 'echo started; read -r line
	echo run >src/f10.c; echo run >>README.md; rm src/f11.c; echo run >made
	echo run >src/f12.c; rm src/f13.c' <"$T/go" >"$T/ready" 2>"$T/run.err" 8>&- &
runner=$!
exec 9>"$T/go"
read -r line <"$T/ready"
is "$line" started 'the command runs beside it'
echo user >src/f10.c
rm README.md
echo user >>src/f11.c
echo user >made
echo go >&9
exec 9>&-
# guard may wait for the snapshot, the snapshot waits for us
echo enough >&8
exec 8>&-
wait $holder
wait $runner
is $? 0 'the run ends'
settle
manifest "$HOME" >"$T/before"
gives 1 'all edits of that time are conflicts' guard apply -y
for path in src/f10.c README.md src/f11.c made; do
	says "$err" "$path"
done
manifest "$HOME" >"$T/after"
ok 'nothing was applied' same "$T/before" "$T/after"
gives 0 'what was not edited can be applied' guard apply -y src/f12.c src/f13.c
is "$(cat src/f12.c)" run 'changed'
no 'deleted' test -e src/f13.c
is "$(cat src/f10.c made)" "user
user" 'the edits are there'
ok 'discarded' guard discard -y

# --- .git of the run ---
ok 'a run commits' guard run -q -- sh -c \
	'echo x >>src/f14.c; git -c user.name=a -c user.email=a commit -q -a -m run'
settle
head=$(git rev-parse HEAD)
gives 0 'apply' guard apply -y
is "$(git rev-parse HEAD)" "$head" 'the .git is not taken by default'
ok 'the file is' grep -q '^x' src/f14.c
ok 'a run commits' guard run -q -- sh -c \
	'git -c user.name=a -c user.email=a commit -q --allow-empty -m run2'
settle
git commit -q --allow-empty -m 'of the user'
head=$(git rev-parse HEAD)
gives 1 'the .git by path when HEAD moved outside' guard apply -y .git
is "$(git rev-parse HEAD)" "$head" 'the commit of the user is there'
ok 'git agrees' git fsck --strict
ok 'discarded' guard discard -y
# --- going on after a part was applied ---
mkdir "$HOME/parts"
cd "$HOME/parts" || exit 99
echo base >a
echo base >b
gives 0 'a run' guard run -q -- \
	sh -c 'echo one >a; echo one >b; echo new >c; echo rest >rest'
gives 0 'a part of it is applied' guard apply -q -y a b c
gives 0 'it goes on' guard run -q --continue -- \
	sh -c 'echo two >a; echo two >b; rm c'
echo user >b
gives 1 'an edit since is a conflict' guard apply -q -y
says "$err" "'b'"
is "$(cat a b c)" 'one
user
new' 'nothing is applied'
gives 0 'what guard applied is none' guard apply -q -y a c
is "$(cat a)" two 'replaced'
no 'deleted' test -e c
is "$(cat b)" user 'the edit is there'
ok 'the rest is discarded' guard discard -q -y


# --- what a run only opened or touched, and the user edits ---
mkdir "$HOME/opened"
cd "$HOME/opened" || exit 99
mkdir -m 755 in
echo as-it-was >touched
echo as-it-was >copied
guard run -q -- sh -c 'touch touched; cp -p copied c; mv c copied
	echo new >in/new'
echo mine >>touched
echo mine >copied
chmod 700 in
gives 0 'diff' guard diff --name-status
is "$(cat "$out")" 'A	in/new' 'is no change of the run'
gives 0 'status' guard status --porcelain
is "$(cut -f 4-7 "$out")" '0	0	1	0' 'counts no more'
gives 0 'review, dry' guard apply -n
is "$(grep -c . "$out")" 1 'nor does an apply'
gives 0 'apply' guard apply -q -y in/new
is "$(guard status -q)" '' 'then nothing of the run waits'
gives 0 'taken back' guard undo -q -y
gives 0 'apply of all' guard apply -q -y
is "$(cat touched copied; stat -c %a in)" 'as-it-was
mine
mine
700' 'and the edits stay'

# --- attributes, each by its name ---
# attrs FILE: all that a user may set, in one line
attrs() {
	getfattr -d -m '^user\.' --absolute-names "$1" | sed '/^#/d; /^$/d' |
		sort | tr '\n' ' '
}
mkdir tagged
echo text >tagged/file
for name in keep both drop; do
	setfattr -n user.$name -v base tagged tagged/file || exit 99
done
settle
tag='for f in tagged tagged/file; do
	setfattr -n user.both -v run $f; setfattr -n user.new -v run $f
	setfattr -x user.drop $f; done'
ok 'a run' guard run -q -- sh -c "$tag"
for f in tagged tagged/file; do
	setfattr -n user.keep -v mine $f
	setfattr -n user.own -v mine $f
done
manifest "$HOME/project" >"$T/before"
gives 0 'other attributes on both sides' guard apply -y
for f in tagged tagged/file; do
	is "$(attrs $f)" 'user.both="run" user.keep="mine" user.new="run" user.own="mine" ' \
		"each is of the side that changed it: $f"
done
gives 0 'taken back' guard undo -y
manifest "$HOME/project" >"$T/after"
ok 'as it was before' same "$T/before" "$T/after"
gives 0 'and again' guard undo -y
is "$(attrs tagged/file)" 'user.both="run" user.keep="mine" user.new="run" user.own="mine" ' \
	'as merged'

ok 'a run' guard run -q -- sh -c 'setfattr -n user.both -v again tagged/file
	setfattr -n user.new -v again tagged/file'
setfattr -n user.both -v mine tagged/file
refused 'one attribute that both changed'
is "$(attrs tagged/file)" 'user.both="mine" user.keep="mine" user.new="run" user.own="mine" ' \
	'none of the others came'

# An ACL and the mode are one thing. A plain user's run maps no id but his own.
uid=12 gid=13
[ "$me" = root ] || { uid=$(id -u); gid=$(id -g); }
touch tagged/listed
settle
ok 'a run' guard run -q -- setfacl -m u:$uid:r tagged/listed
chmod 600 tagged/listed
refused 'an ACL of the run, a mode of the user'
chmod 644 tagged/listed
settle
ok 'a run' guard run -q -- chmod 600 tagged/listed
setfacl -m u:$uid:r tagged/listed
refused 'a mode of the run, an ACL of the user'
ok 'a run' guard run -q -- setfacl -m g:$gid:r tagged/listed
setfattr -n user.own -v mine tagged/listed
gives 0 'an ACL and an attribute' guard apply -y
is "$(getfacl -cEn tagged/listed | tr '\n' ' ')$(attrs tagged/listed)" \
	"user::rw- user:$uid:r-- group::r-- group:$gid:r-- mask::r-- other::r--  user.own=\"mine\" " \
	'go together'

# --- nothing but what stays ---
echo base >alone
ok 'a run' guard run -q -- sh -c 'echo run >alone'
run=$(guard status -q | head -n 1)
echo mine >alone
gives 0 'where all of it is a conflict, ours' guard apply -y --ours "$run"
says "$err" "guard apply --theirs $run PATH takes one"
is "$(cat alone)" mine 'changes nothing'
gives 0 'and theirs by its path' guard apply -y --theirs "$run" alone
is "$(cat alone)" run 'is to be had still'
ok 'a run' guard run -q -- sh -c 'echo more >>alone'
echo more >>alone
gives 0 'where the user did the same' guard apply -y
says "$err" 'nothing is left to do: all of it is in the project already'
finish
