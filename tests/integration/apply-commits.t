#!/bin/sh
# apply --commits: the files of a run, its commits on the branch of HEAD and the
# index change together; undo moves the branch back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
P=$HOME/project
cd "$P" || exit 99

newest() {
	guard status -q | head -n 1
}

# state FILE: what git shows of the repository, and the files
state() {
	{
		git for-each-ref
		git ls-files --stage
		git status --short
		cat .git/HEAD
		manifest .
	} 2>&1 | grep -a -v 'refs/guard\|\.git/' >"$1"
}

# --- a run with commits, changes of its own on top, and hostile settings ---
printf '%s\n' one two three >a
printf '%s\n' one two three >b
echo c >c
echo d >d
git add .
git commit -q -m base
git pack-refs --all
base=$(git rev-parse HEAD)
cat >"$HOME/work.sh" <<'WORK'
set -e
echo a2 >>a
git commit -q -m 'second' a
echo new >new
git rm -q d
git add new
git commit -q -m 'third'
git branch topic
git tag v1
echo c2 >>c
echo untracked >untracked
echo '#!/bin/sh' >.git/hooks/post-checkout
chmod 755 .git/hooks/post-checkout
git config core.hooksPath .git/hooks
git config alias.x y
WORK
echo mine >>b
state "$T/before"
gives 0 'a run commits' guard run -- sh "$HOME/work.sh"
run=$(newest)
says "$err" "guard apply --commits $run"
ok 'the summary lists apply --commits and import before plain apply' perl -0777 -ne \
	'exit !/apply --commits.*guard import.*guard apply \S+  /s' "$err"

gives 2 '--commits with --patch is refused' guard apply --commits --patch
gives 2 '--commits with --commit is refused' guard apply --commits --commit
gives 1 '--commits with a path is refused' guard apply --commits -y "$run" a
says "$err" 'give no paths'
gives 0 'apply -n --commits' guard apply -n --commits "$run"
says "$err" "'main' would move from"
says "$err" '2 commits'
state "$T/after"
ok 'apply -n --commits changes nothing' same "$T/before" "$T/after"
no 'apply -n --commits creates no refs' test -e .git/refs/guard
gives 0 'apply -n --commits --json' guard apply -n --commits --json "$run"
ok 'the JSON names the branch and both commits' perl -MJSON::PP -0777 -ne '
	$b = decode_json($_)->{branch}; exit !($b->{name} eq "main" &&
	$b->{from} =~ /^[0-9a-f]{40}$/ && $b->{to} =~ /^[0-9a-f]{40}$/)' "$out"
gives 1 'apply --commits without a terminal and --yes is refused' \
	guard apply --commits "$run"
state "$T/after"
ok 'the refused apply changes nothing' same "$T/before" "$T/after"

gives 0 'apply --commits' guard apply -y --commits "$run"
says "$err" "'main' moved from"
says "$err" "other refs of the run: git for-each-ref refs/guard/$run"
is "$(git log --format=%s -3 | tr '\n' ' ')" 'third second base ' \
	"the branch has the run's commits"
is "$(git symbolic-ref HEAD)" refs/heads/main 'HEAD is at its branch'
is "$(git status --porcelain | tr '\n' ' ')" ' M b  M c ?? untracked ' \
	"git status shows the user's and the run's uncommitted changes only"
ok 'the repository is whole' git fsck --full --strict
no 'no hook of the run is there' test -e .git/hooks/post-checkout
is "$(git config core.hooksPath)$(git config alias.x)" '' \
	'no setting of the run is there'
no 'no branch but that of HEAD is created' git rev-parse -q --verify refs/heads/topic
ok 'other branches are below refs/guard' \
	git rev-parse -q --verify "refs/guard/$run/heads/topic"
is "$(guard status -q)" '' 'the run is applied'
state "$T/applied"

is "$(git reflog -1 --format='%h %gn %gs')" \
	"$(git rev-parse --short HEAD) tester guard: apply --commits of run $run" \
	'the reflog of HEAD has the move'
is "$(git rev-parse 'main@{1}')" "$base" 'the reflog of the branch has the move'

gives 0 'undo' guard undo -y
state "$T/after"
ok 'undo moves the branch, the index and the files back' \
	restored "$T/before" "$T/after"
is "$(git rev-parse main)" "$base" 'the branch is where it was'
ok 'the repository is whole after undo' git fsck --full --strict
gives 0 'redo' guard redo -y
state "$T/after"
ok 'redo applies files and commits again' restored "$T/applied" "$T/after"
gives 0 'undo of the redo' guard undo -y
gives 0 'apply --commits after an undo' guard apply -y --commits "$run"
state "$T/after"
ok 'with the same result' same "$T/applied" "$T/after"
git commit -q -a -m 'on top'
gives 1 'undo after a commit of the user is refused' guard undo -y
is "$(git log -1 --format=%s)" 'on top' 'the commit of the user stays'
git clean -q -f -d

# --- both sides changed ---
# one NAME SCRIPT: a run, which is the newest one
one() {
	gives 0 "$1" guard run -- sh -ec "$2"
	run=$(newest)
}

one 'a run commits a change of b' \
	'sed -i 1s/.*/run/ b; git commit -q -m "b of the run" b'
sed -i 1s/.*/mine/ b
head=$(git rev-parse HEAD)
gives 1 'a file changed on both sides is a conflict' guard apply -y --commits
says "$err" "conflict: 'b'"
is "$(git rev-parse HEAD)" "$head" 'the branch stays'
no 'nothing is imported' git rev-parse -q --verify "refs/guard/$run/heads/main"
git checkout -q b
sed -i 3s/.*/mine/ b
gives 0 'a text is merged' guard apply -y --commits
is "$(tr '\n' ' ' <b)" 'run two mine mine ' 'with both changes'
is "$(git diff | grep -c '^[-+][^-+]')" 2 \
	"git diff shows the user's change only"
git checkout -q b
one 'a run commits a change of c' \
	'sed -i 1s/.*/run/ c; git commit -q -m "c of the run" c'
sed -i 1s/.*/mine/ c
gives 0 'apply --commits --ours' guard apply -y --commits --ours
is "$(head -n 1 c) $(git status --porcelain)" 'mine  M c' \
	'keeps the file beside the commit'
git checkout -q c

# --- the index ---
one 'a run commits a change of a' 'echo a3 >>a; git commit -q -m a3 a'
echo staged >>c
git add c
gives 0 'apply --commits with another file staged' guard apply -y --commits
is "$(git status --porcelain | tr '\n' ' ')" 'M  c ' 'that file stays staged'
git commit -q -m c
one 'a run commits a change of a' 'echo a4 >>a; git commit -q -m a4 a'
cp a keep
echo other >>a
git add a
cp keep a
rm keep
gives 1 'apply --commits with the same file staged is refused' \
	guard apply -y --commits
says "$err" 'staged changes'
git reset -q
gives 0 'apply --commits after the reset' guard apply -y --commits
is "$(git status --porcelain)" '' 'nothing is left to commit'

# --- an applied run ---
one 'a run commits' 'echo x >>a; git commit -q -m x a; echo u >>b'
gives 0 'plain apply' guard apply -y
says "$err" "guard apply --commits $run moves your branch, too"
gives 0 'apply --commits of the applied run' guard apply -y --commits "$run"
is "$(git status --porcelain)$(git log -1 --format=%s)" ' M bx' \
	'the branch and the index move'
gives 1 'a second apply --commits has nothing to do' \
	guard apply -y --commits "$run"
says "$err" "'main' is at the commit of run $run already"
ok 'undo' guard undo -y
is "$(git status --porcelain | tr '\n' ' ')" ' M a  M b ' \
	'undo moves the branch back, and the files stay'
gives 0 'plain apply has nothing left' guard apply -y "$run"
says "$err" 'nothing left to apply'
git checkout -q a b

# --- git-lfs ---
one 'a run commits a file of git-lfs' 'echo large >l; git add l
	hash=$(sha256sum <l | cut -c 1-64)
	dir=.git/lfs/objects/$(echo "$hash" | sed "s|^\(..\)\(..\).*|\1/\2|")
	mkdir -p "$dir"; cp l "$dir/$hash"; git commit -q -m lfs l'
gives 0 'apply --commits' guard apply -y --commits "$run"
says "$err" '1 file of git-lfs (6 B) imported'
is "$(find .git/lfs/objects -type f -exec cat {} +)" large 'has its bytes'

# --- a live run ---
guard run -q -- sh -c 'git commit -q --allow-empty -m live
	touch ready; sleep 1000' >"$T/x" 2>&1 &
until run=$(newest) && [ "$run" ] &&
	guard exec "$run" -- test -e ready 2>"$T/x"; do
	kill -0 $! || break
done
gives 1 'a live run is refused' guard apply -y --commits "$run"
says "$err" 'still running'
ok 'stop' guard stop -q "$run"
wait
ok 'discard' guard discard -q -y "$run"

# --- git after the apply, and before it ---
one 'a run commits' 'echo x >>a; git commit -q -m x a; echo u >>a'
head=$(git rev-parse HEAD)
for lock in index refs/heads/main HEAD; do
	: >".git/$lock.lock"
	gives 1 "apply --commits is refused while git locks $lock" \
		guard apply -y --commits
	says "$err" "$lock.lock' exists, so git is at work"
	rm ".git/$lock.lock"
done
is "$(git rev-parse HEAD)" "$head" 'the branch stays'
gives 0 'apply --commits without the locks' guard apply -y --commits
git gc -q
no 'git gc packs the branch' test -e .git/refs/heads/main
git checkout -q -b aside
gives 1 'undo with HEAD at another branch is refused' guard undo -y
says "$err" 'HEAD has moved to another branch'
git checkout -q main
gives 0 'undo after git gc' guard undo -y
is "$(git rev-parse HEAD)" "$head" 'undo moves a packed branch back'
is "$(git status --porcelain)" '' 'the index and the files are back'
is "$(git reflog -1 --format=%gs)" 'checkout: moving from aside to main' \
	'newer entries of the reflog stay'
gives 0 'redo' guard redo -y
is "$(git status --porcelain)$(git log -1 --format=%s)" ' M ax' \
	'redo moves the branch again'
git commit -q -a -m 'u'
git gc -q
git checkout -q HEAD~1 -- a
git reset -q
echo u >>a
gives 1 'undo after a commit and git gc is refused' guard undo -y
says "$err" "'refs/heads/main' moved since"
git reset -q --hard
git branch -q -D aside

# --- killed at every third call below the project ---
stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || stopat=/opt/guard/build/tests/lib/stopat
one 'a run commits for the crashes' '
	echo k >>a; echo k >k; git add k; git commit -q -a -m k; echo u >>c'
state "$T/before"
gives 0 'apply --commits without a failure' guard apply -y --commits "$run"
state "$T/applied"
gives 0 'undo' guard undo -y
at=$((1 + $(od -An -N1 -tu1 /dev/urandom) % 3)) bad=
while :; do
	"$stopat" --at $at --below "$P" -- \
		guard apply -q -y --commits "$run" >"$T/x" 2>&1
	status=$?
	[ $status -eq 137 ] || break
	guard apply --continue >"$T/x" 2>&1 ||
		grep -q 'was rolled back' "$T/x" || bad="$bad continue-$at"
	git fsck --full --strict >"$T/x" 2>&1 || bad="$bad fsck-$at"
	state "$T/after"
	if cmp -s "$T/before" "$T/after"; then
		guard apply -q -y --commits "$run" >"$T/x" 2>&1 ||
			bad="$bad again-$at"
		state "$T/after"
	fi
	restored "$T/applied" "$T/after" >"$T/x" || bad="$bad applied-$at"
	guard undo -q -y >"$T/x" 2>&1 || bad="$bad undo-$at"
	state "$T/after"
	restored "$T/before" "$T/after" >"$T/x" || bad="$bad undone-$at"
	git for-each-ref --format='delete %(refname)' "refs/guard/$run" |
		git update-ref --stdin
	at=$((at + 3))
done
is "$bad" '' 'killed anywhere, the next command finishes or rolls back'
ok 'at several points' test $at -gt 20
is "$status" 0 'apply --commits at last' || note "$(cat "$T/x")"
git commit -q -a -m u

# --- places of the branch ---
one 'a run commits' 'echo x >>a; git commit -q -m x a'
git commit -q --allow-empty -m moved
gives 1 'a branch that moved is refused' guard apply -y --commits
says "$err" "nothing is applied: 'main' moved since the run began: guard import"
says "$err" "git merge refs/guard/$run/heads/main"
git reset -q --hard HEAD~1
git checkout -q -b elsewhere
gives 1 'another HEAD than at the begin is refused' guard apply -y --commits
says "$err" "HEAD was at 'main'"
git checkout -q --detach
gives 1 'a HEAD that was detached since is refused' guard apply -y --commits
says "$err" "HEAD was at 'main' when the run began and is at no branch: guard import"
git checkout -q main
gives 0 'the branch is back' guard apply -y --commits
one 'a run switches to another branch' \
	'git checkout -q elsewhere; echo y >>a; git commit -q -m y a'
silent "$err" 'apply --commits'
says "$err" 'apply the files without the commits'
gives 1 'a branch that was there before is not moved' guard apply -y --commits
says "$err" "the run switched to 'elsewhere', a branch that you had before"
says "$err" "git merge refs/guard/$run/heads/elsewhere"
guard discard -q -y
one 'a run detaches HEAD' \
	'git checkout -q --detach; echo y >>a; git commit -q -m y a'
gives 1 'a run that detached HEAD is refused' guard apply -y --commits
says "$err" 'the run detached HEAD: guard import'
guard discard -q -y

# --- a branch of the run's own ---
one 'a run creates a branch without commits' 'git checkout -q -b bare; echo y >>a'
gives 1 'a new branch without commits is refused' guard apply -y --commits
says "$err" "no commits on its new branch 'bare'"
guard discard -q -y
echo mine >>b
one 'a run creates a branch' 'git checkout -q -b fix/login
	echo y >>a; git commit -q -m y a; echo more >>c'
says "$err" "guard apply --commits $run"
before=$(git rev-parse HEAD)
git branch fix
gives 1 'a branch in the way is an error' guard apply -y --commits
says "$err" "'refs/heads/fix' exists"
git pack-refs --all
gives 1 'a packed branch in the way is an error' guard apply -y --commits
says "$err" "'refs/heads/fix' exists"
git branch -D -q fix
git branch fix/login
gives 1 'a branch of the same name is an error' guard apply -y --commits
says "$err" "'refs/heads/fix/login' exists"
git branch -D -q fix/login
git branch fix/login/more
gives 1 'a branch below the name is an error' guard apply -y --commits
says "$err" "'refs/heads/fix/login/more' exists"
git branch -D -q fix/login/more
state "$T/before"
gives 0 'apply -n --commits names the new branch' guard apply -n --commits
says "$err" "HEAD would move from 'main' to 'fix/login', a new branch at"
gives 0 'a new branch is applied' guard apply -y --commits
says "$err" "HEAD moved from 'main' to 'fix/login', a new branch at"
is "$(git symbolic-ref HEAD)" refs/heads/fix/login 'HEAD is at the new branch'
is "$(git log -1 --format=%s) $(git rev-parse HEAD~1)" "y $before" \
	"it has the run's commit"
is "$(git rev-parse main)" "$before" 'the earlier branch stays'
is "$(git status --porcelain | tr '\n' ' ')" ' M b  M c ' \
	'only uncommitted changes are left'
ok 'the repository is whole' git fsck --full --strict
gives 1 'a second time there is nothing to do' guard apply -y --commits "$run"
says "$err" "'fix/login' is at the commit of run $run already"
gives 0 'undo' guard undo -y
state "$T/after"
ok 'undo takes the branch away and HEAD back' restored "$T/before" "$T/after"
gives 0 'redo' guard redo -y
is "$(git symbolic-ref HEAD)" refs/heads/fix/login 'redo moves HEAD again'
git checkout -q -- b c
git checkout -q main
git branch -D -q fix/login
one 'a run without commits' 'echo y >>a; git branch only'
gives 1 'a run without commits is refused' guard apply -y --commits
says "$err" "no commits on 'main'"
guard discard -q -y
one 'a run amends' 'echo amended >>a; git commit -q -a --amend -m amended'
gives 0 'an amended commit is applied' guard apply -y --commits
says "$err" "1 commit of 'main' is not in the run's branch"
is "$(git log -1 --format=%s)" amended 'the branch has it'
is "$(git status --porcelain)" '' 'nothing is left to commit'
one 'a run commits' 'git commit -q --allow-empty -m empty'
gives 0 'a commit without files is applied' guard apply -y --commits
is "$(git log -1 --format=%s)" empty 'the branch has it'
one 'a run moves its branch to a tag' 'git tag -a -m t t
	git rev-parse t >.git/refs/heads/main'
gives 1 'a branch that is no commit is refused' guard apply -y --commits
says "$err" 'names no commit'
guard discard -q -y
one 'a run makes its branch symbolic' '
	echo ref: refs/heads/x >.git/refs/heads/main; echo z >>a'
gives 1 'a symbolic branch is refused' guard apply -y --commits
says "$err" 'not a plain branch'
guard discard -q -y
one 'a run ends in a merge' '
	git checkout -q -b m1; echo m1 >a; git commit -q -m m1 a
	git checkout -q main; echo m2 >a; git commit -q -m m2 a
	git merge -q m1 || :'
silent "$err" '--commits'
gives 1 'a run that ended in a merge is refused' guard apply -y --commits
says "$err" 'is in progress in the run'
says "$err" "guard apply $run . .git applies the run's whole repository"
gives 0 'which applies the merge' guard apply -q -y "$run" . .git
ok 'it is in progress' test -e .git/MERGE_HEAD
one 'a run ends the merge' 'git commit -q -a -m merged; git branch -D -q m1'
silent "$err" '--commits'
gives 1 'commits are refused while a merge is in progress' \
	guard apply -y --commits
says "$err" 'is in progress in your repository'
says "$err" "guard apply $run . .git"
gives 0 'apply of the files' guard apply -y "$run"
silent "$err" '--commits'
guard undo -q -y
git config own.setting 1
gives 1 'also after a change of the repository' guard apply -y --commits "$run"
silent "$err" '. .git'
guard discard -q -y
git config --unset own.setting
git merge --abort
git branch -D -q m1
git checkout -q -b deep/er/name
git pack-refs --all
one 'a run commits on a packed branch with slashes' \
	'echo deep >deep; git add deep; git commit -q -m deep'
gives 0 'apply --commits there' guard apply -y --commits
is "$(git log -1 --format=%s deep/er/name)" deep 'the branch has the commit'
is "$(git status --porcelain)" '' 'nothing is left to commit'
ok 'undo' guard undo -y
is "$(git log -1 --format=%s deep/er/name)" empty 'undo moves that branch back'
guard discard -q -y
git checkout -q main

# --- other repositories ---
mkdir "$HOME/unborn" && cd "$HOME/unborn" || exit 99
git init -q -b main
one 'a run makes the first commit' 'echo a >a; git add a; git commit -q -m first'
gives 0 'apply --commits of the first commit' guard apply -y --commits
is "$(git log --format=%s)" first 'the branch begins'
is "$(git status --porcelain)" '' 'nothing is left to commit'
ok 'undo' guard undo -y
no 'undo: the branch has no commit' git rev-parse -q --verify HEAD
is "$(git status --porcelain)" '' 'undo: the index is empty'
git config core.splitIndex true
echo a >a
git add a
git commit -q -m split
git update-index --split-index
one 'a run commits beside a split index' 'echo b >b; git add b; git commit -q -m b'
no 'the shared part of the index is a file' test ! -e "$(echo .git/sharedindex.*)"
gives 0 'apply --commits with a split index' guard apply -y --commits "$run"
is "$(git status --porcelain)$(git log -1 --format=%s)" b 'the index is complete'
one 'a run commits on a HEAD with another white space' '
	printf "ref:\trefs/heads/main\n" >.git/HEAD
	echo t >t; git add t; git commit -q -m t'
gives 0 'apply --commits reads that HEAD as git does' \
	guard apply -y --commits "$run"
is "$(git log -1 --format=%s)" t 'the branch has that commit'
git init -q -b main "$HOME/sub"
git -C "$HOME/sub" commit -q --allow-empty -m sub
git init -q -b main "$HOME/super" && cd "$HOME/super" || exit 99
git -c protocol.file.allow=always submodule --quiet add "$HOME/sub" sub
git commit -q -m super
one 'a run commits in a submodule' '
	cd sub; git commit -q --allow-empty -m inner; cd ..
	git commit -q -a -m outer'
gives 0 'a submodule moves with the project' guard apply -y --commits
says "$err" "'.git/modules/sub': 'main' moved from"
gives 0 'undo moves it back, too' guard undo -y
is "$(git -C sub log -1 --format=%s)" sub 'to its earlier commit'
guard discard -q -y
one 'a run commits beside a submodule' 'echo x >x; git add x; git commit -q -m x'
gives 0 'a submodule that the run left alone is accepted' guard apply -y --commits
(cd sub && echo s >s && git add s && git commit -q -m s)
git commit -q -m sub sub
git -C sub branch index
one 'a run looks at a submodule and commits' 'touch -d 2001-01-01 sub/s
	before=$(sha256sum <.git/modules/sub/index)
	git -C sub update-index --refresh
	[ "$before" != "$(sha256sum <.git/modules/sub/index)" ]
	touch .git/modules/sub/refs/heads/index
	echo xx >x; git commit -q -m xx x'
gives 0 'an index that git status wrote is no change' guard apply -y --commits
is "$(git status --porcelain)" '' 'nothing is left to commit'
git init -q -b main --object-format=sha256 "$HOME/sha256"
cd "$HOME/sha256" || exit 99
one 'a run commits in a SHA-256 repository' 'git commit -q --allow-empty -m x'
gives 1 'a SHA-256 repository is refused' guard apply -y --commits
says "$err" 'uses SHA-256'
cd "$P" || exit 99
git worktree add -q "$HOME/linked"
cd "$HOME/linked" || exit 99
one 'a run commits in a linked worktree' 'git commit -q --allow-empty -m linked'
gives 0 'in a linked worktree, too' guard apply -y --commits
is "$(git log -1 --format=%s)" linked 'the branch of the worktree moves'
mkdir "$HOME/plain" && cd "$HOME/plain" || exit 99
one 'a run without a repository' 'echo x >x'
gives 1 'a project without a repository is refused' guard apply -y --commits
says "$err" 'is not a git repository'

# --- a repository that the run creates ---
mkdir "$HOME/new"
cd "$HOME/new" || exit 99
echo x >x
one 'a run creates a repository' \
	'git init -q .; git add .; git commit -q -m first; echo y >y'
says "$err" "guard apply $run . .git  apply its files and its new repository"
silent "$err" "guard import"
silent "$err" "--commits"
gives 0 'the sample hooks of git are not listed' guard diff "$run"
silent "$out" .sample
gives 1 'apply --commits is refused' guard apply -y --commits "$run"
says "$err" "guard apply $run . .git applies its files and its repository"
gives 1 'an apply of the repository needs a consent' \
	guard apply -y "$run" . .git
set -- --yes-to .git/config --yes-to .git/info/exclude -y "$run" . .git
says "$err" "with these changes: guard apply $*"
silent "$err" .sample
gives 0 'with it' guard apply "$@"
is "$(git log --format=%s) $(git status --porcelain)" 'first ?? y' \
	'the repository is there'
touch x
is "$(git status --porcelain)" '?? y' 'git has written the index again'
gives 0 'undo removes the repository' guard undo -y
no 'it is gone' test -e .git

# --- a repository in a directory ---
git init -q .
one 'a run clones a repository into a directory' \
	"git clone -q '$P' 'third party'; git clone -q '$P' other"
gives 0 'apply' guard apply -y "$run"
says "$err" "guard apply $run other/.git 'third party/.git' applies them"
finish
