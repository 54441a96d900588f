#!/bin/sh
# The user works in the project while a run is pending: apply never overwrites
# an edit of the user and applies nothing when there is a conflict.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# refused WHAT: checks that apply is refused and changes nothing; discards the
# run
refused() {
	manifest "$HOME" >"$T/before"
	gives 1 "apply is refused: $1" guard apply -y
	manifest "$HOME" >"$T/after"
	ok "the refused apply changes no file: $1" same "$T/before" "$T/after"
	ok "the refused run can be discarded: $1" guard discard -y
}

run='echo run >src/f1.c; echo run >new; rm src/f2.c; echo run >other'
ok 'a run changes, adds and deletes files' guard run -q -- sh -c "$run"
settle
echo user >src/f1.c
refused 'run and user changed the same file'
says "$err" src/f1.c

ok 'a run changes, adds and deletes files' guard run -q -- sh -c "$run"
settle
echo user >new
refused 'run and user added the same file'
says "$err" new
is "$(cat new)" user "the refused apply keeps the user's file"
rm new

ok 'a run changes, adds and deletes files' guard run -q -- sh -c "$run"
settle
echo user >>src/f2.c
refused 'the run deleted a file that the user changed'

ok 'a run changes, adds and deletes files' guard run -q -- sh -c "$run"
settle
rm src/f1.c
refused 'the run changed a file that the user deleted'
git checkout -q HEAD -- src/f1.c

ok 'a run deletes a directory' guard run -q -- sh -c 'rm -r src; echo x >y'
settle
echo user >src/added
refused 'the user added a file to a directory that the run deleted'
rm src/added

ok 'a run changes a mode and a file' \
	guard run -q -- sh -c 'chmod 600 src/f7.c; echo x >>src/f8.c'
settle
mv src src-moved
refused 'the user moved the directory of the changed files'
mv src-moved src

ok 'a run changes a file in a directory' \
	guard run -q -- sh -c 'echo x >>src/f8.c'
settle
mv src src-real
ln -s src-real src
refused 'the user replaced the directory by a symbolic link'
rm src
mv src-real src

# --- edits of other files are no conflict ---
ok 'a run changes, adds and deletes files' guard run -q -- sh -c "$run"
settle
echo user >src/f9.c
echo user >mine
gives 0 'apply accepts edits of other files' guard apply -y
is "$(cat src/f9.c mine)" "user
user" 'apply keeps edits of other files'
is "$(cat src/f1.c new)" "run
run" "apply writes the run's files beside the edits"
echo user >mine2
gives 0 'undo accepts edits of other files' guard undo -y
is "$(cat src/f9.c mine2)" "user
user" 'undo keeps edits of other files'
no "undo removes the run's new file" test -e new

# --- a refused apply is no action: undo reverts the action before it ---
ok 'apply accepts the run again' guard apply -y -q
one=$(guard log --actions --json | sed -n 's/.*"run": "\([^"]*\)".*/\1/p' |
	head -n 1)
ok 'a second run changes the same file' \
	guard run -q -- sh -c 'echo other >src/f1.c'
settle
echo user >src/f1.c
gives 1 'apply of the second run is refused' guard apply -y
echo run >src/f1.c
gives 0 'undo reverts the apply before the refused one' guard undo -y
says "$err" "the last action in '$HOME/project': apply of run $one, "
ok 'undo prints how long ago the action was' \
	grep -q "of run $one, [0-9]* \(s\|min\) ago\$" "$err"
says "$err" "apply of run $one in '$HOME/project' is undone"
gives 0 'redo is accepted' guard redo -y
says "$err" "the last undone action in '$HOME/project': apply of run $one, "
says "$err" "apply of run $one in '$HOME/project' is redone"
gives 0 'undo reverts the apply again' guard undo -y -q
ok 'discard drops the run' guard discard -y -q latest

# --- run and user made the same change ---
ok 'a run adds two files' \
	guard run -q -- sh -c 'echo same >equal; echo other >different'
settle
echo same >equal
gives 0 'apply accepts a file that both sides added with the same content' \
	guard apply -y latest
is "$(cat different)" other 'apply adds the other file'

# --- edits before the snapshot of the run has begun ---
# The process of the pre-run snapshot waits for a lock that this test holds. An
# edit before that snapshot has read the file has no base version.
ok 'guard snapshot stores the project' guard snapshot
lock=$(echo "$state"/workspaces/*/snapshot.lock)
workspace=${lock%/snapshot.lock}
mkfifo "$T/hold" "$T/ready" "$T/go"
flock "$workspace/snapshot.lock" sh -c \
	'echo held; read -r line' <"$T/hold" >"$T/ready" &
holder=$!
exec 8>"$T/hold"
read -r line <"$T/ready"
is "$line" held 'the test holds the lock of the snapshot'
guard run -q -- sh -c 'echo started; read -r line
	echo run >src/f10.c; echo run >>README.md; rm src/f11.c; echo run >made
	echo run >src/f12.c; rm src/f13.c' <"$T/go" >"$T/ready" 2>"$T/run.err" 8>&- &
runner=$!
exec 9>"$T/go"
read -r line <"$T/ready"
is "$line" started 'the command of the run starts before the snapshot'
echo user >src/f10.c
rm README.md
echo user >>src/f11.c
echo user >made
echo go >&9
exec 9>&-
# guard may wait for the snapshot, which waits for this test.
echo enough >&8
exec 8>&-
wait $holder
wait $runner
is $? 0 'the run ends with 0'
settle
manifest "$HOME" >"$T/before"
gives 1 'apply refuses files that were edited before their base was stored' \
	guard apply -y latest
for path in src/f10.c README.md src/f11.c made; do
	says "$err" "$path"
done
manifest "$HOME" >"$T/after"
ok 'the refused apply changes no file' same "$T/before" "$T/after"
gives 0 'apply accepts files that were not edited' \
	guard apply -y latest src/f12.c src/f13.c
is "$(cat src/f12.c)" run 'apply writes a file that was not edited'
no 'apply deletes a file that was not edited' test -e src/f13.c
is "$(cat src/f10.c made)" "user
user" 'the edits before the snapshot are kept'
ok 'discard drops the run' guard discard -y latest

# --- the .git of the run ---
ok 'a run commits' guard run -q -- sh -c \
	'echo x >>src/f14.c; git -c user.name=a -c user.email=a commit -q -a -m run'
settle
head=$(git rev-parse HEAD)
gives 0 'apply accepts a run with a commit' guard apply -y latest
is "$(git rev-parse HEAD)" "$head" 'apply does not apply .git by default'
ok 'apply applies the committed file' grep -q '^x' src/f14.c
ok 'a run makes an empty commit' guard run -q -- sh -c \
	'git -c user.name=a -c user.email=a commit -q --allow-empty -m run2'
settle
git commit -q --allow-empty -m 'of the user'
head=$(git rev-parse HEAD)
gives 1 "apply of .git by path is refused when the user's HEAD moved" \
	guard apply -y latest .git
is "$(git rev-parse HEAD)" "$head" "the refused apply keeps the user's commit"
ok 'git fsck accepts the repository' git fsck --strict
ok 'discard drops the run' guard discard -y latest
# --- run --continue after some paths were applied ---
mkdir "$HOME/parts"
cd "$HOME/parts" || exit 99
echo base >a
echo base >b
gives 0 'a run changes four files' guard run -q -- \
	sh -c 'echo one >a; echo one >b; echo new >c; echo rest >rest'
gives 0 'apply accepts three of the four paths' guard apply -q -y a b c
gives 0 'run --continue changes the applied files again' \
	guard run -q --continue -- \
	sh -c 'echo two >a; echo two >b; rm c'
echo user >b
gives 1 'apply refuses a file edited since the first apply' guard apply -q -y
says "$err" "'b'"
is "$(cat a b c)" 'one
user
new' 'the refused apply changes no file'
gives 0 'apply accepts files that only apply has changed since' \
	guard apply -q -y a c
is "$(cat a)" two 'apply writes the new content'
no 'apply deletes the file that the run deleted later' test -e c
is "$(cat b)" user 'the edit of the other file is kept'
ok 'discard drops the rest' guard discard -q -y


# --- files that the run only opened or touched and the user edits ---
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
gives 0 'diff accepts opened and touched files' guard diff --name-status
is "$(cat "$out")" 'A	in/new' \
	'an opened or touched file is no change of the run'
gives 0 'status accepts opened and touched files' guard status --porcelain
is "$(cut -f 4-7 "$out")" '0	0	1	0' \
	'status counts only the new file'
gives 0 'apply -n accepts opened and touched files' guard apply -n
is "$(grep -c . "$out")" 1 'apply -n lists only the new file'
gives 0 'apply accepts the new file' guard apply -q -y in/new
is "$(guard status -q)" '' 'no run is pending when only touched files are left'
gives 0 'undo reverts that apply' guard undo -q -y
gives 0 'apply of the whole run is accepted' guard apply -q -y
is "$(cat touched copied; stat -c %a in)" 'as-it-was
mine
mine
700' 'apply keeps edits of files that the run only opened or touched'

# --- extended attributes, each by its name ---
# attrs FILE: prints all user attributes in one line
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
ok 'a run changes attributes' guard run -q -- sh -c "$tag"
for f in tagged tagged/file; do
	setfattr -n user.keep -v mine $f
	setfattr -n user.own -v mine $f
done
manifest "$HOME/project" >"$T/before"
gives 0 'apply accepts different attributes changed on both sides' \
	guard apply -y
for f in tagged tagged/file; do
	is "$(attrs $f)" 'user.both="run" user.keep="mine" user.new="run" user.own="mine" ' \
		"each attribute has the value of the side that changed it: $f"
done
gives 0 'undo reverts the merge of attributes' guard undo -y
manifest "$HOME/project" >"$T/after"
ok "undo restores the user's attributes" restored "$T/before" "$T/after"
gives 0 'redo is accepted' guard redo -y
is "$(attrs tagged/file)" 'user.both="run" user.keep="mine" user.new="run" user.own="mine" ' \
	'redo restores the merged attributes'

ok 'a run changes two attributes' \
	guard run -q -- sh -c 'setfattr -n user.both -v again tagged/file
	setfattr -n user.new -v again tagged/file'
setfattr -n user.both -v mine tagged/file
refused 'run and user changed the same attribute'
is "$(attrs tagged/file)" 'user.both="mine" user.keep="mine" user.new="run" user.own="mine" ' \
	'the refused apply changes no other attribute'

# An ACL and the mode are one value. A plain user's run maps only that user's
# ids.
uid=12 gid=13
[ "$me" = root ] || { uid=$(id -u); gid=$(id -g); }
touch tagged/listed
settle
ok 'a run sets an ACL' guard run -q -- setfacl -m "u:$uid:r" tagged/listed
chmod 600 tagged/listed
refused 'the run set an ACL, the user a mode'
chmod 644 tagged/listed
settle
ok 'a run sets a mode' guard run -q -- chmod 600 tagged/listed
setfacl -m "u:$uid:r" tagged/listed
refused 'the run set a mode, the user an ACL'
ok 'a run adds an entry to an ACL' \
	guard run -q -- setfacl -m "g:$gid:r" tagged/listed
setfattr -n user.own -v mine tagged/listed
gives 0 'apply accepts an ACL of the run and an attribute of the user' \
	guard apply -y
is "$(getfacl -cEn tagged/listed | tr '\n' ' ')$(attrs tagged/listed)" \
	"user::rw- user:$uid:r-- group::r-- group:$gid:r-- mask::r-- other::r--  user.own=\"mine\" " \
	"the file has the run's ACL and the user's attribute"

# --- every change of the run is a conflict ---
echo base >alone
echo timed >timed
ok 'a run changes one file' guard run -q -- sh -c 'echo run >alone'
run=$(guard status -q | head -n 1)
echo mine >alone
gives 0 'apply --ours is accepted when every path conflicts' \
	guard apply -y --ours "$run"
says "$err" 'guard undo makes it pending again'
is "$(cat alone)" mine "apply --ours keeps the user's file"
is "$(guard diff --name-only "$run")" '' 'the change is settled'
gives 0 'undo makes it pending again' guard undo -y
gives 0 'apply --theirs of the path is accepted after that' \
	guard apply -y --theirs "$run" alone
is "$(cat alone)" run "apply --theirs writes the run's file"
ok 'a run changes one file, and the time of another' guard run -q -- \
	sh -c 'echo other >alone; touch -d 2001-01-01 timed'
echo mine >alone
gives 0 'apply --ours applies the time' guard apply -y --ours
says "$err" 'times only'
gives 0 'undo of it is accepted' guard undo -y
says "$err" 'that changes only times'
guard discard -q -y
ok 'a run appends to a file' guard run -q -- sh -c 'echo more >>alone'
echo more >>alone
gives 0 'apply is accepted when the user made the same change' guard apply -y
says "$err" 'nothing left to apply: the project already has all of it'

if [ "$me" != root ]; then
	ok 'a run changes two files' guard run -q -- \
		sh -c 'echo closed >>alone; echo more >open'
	chmod 0 alone
	gives 1 'an apply of a file that cannot be read is refused' guard apply -y
	says "$err" 'nothing applied: --except PATH leaves out a file'
	silent "$err" '--theirs'
	gives 0 'apply --except applies the other file' \
		guard apply -y --except alone
	is "$(cat open)" more 'the other file is applied'
fi
finish
