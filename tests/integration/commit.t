#!/bin/sh
# apply --commit and --branch: one commit of the accepted changes.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
git config user.name 'The User'
git config user.email user@example.org
unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
# Would tell of itself if anything ran it.
for hook in pre-commit commit-msg post-commit reference-transaction; do
	printf '#!/bin/sh\ntouch "%s/hooked"\nexit 1\n' "$HOME" \
		>".git/hooks/$hook"
	chmod +x ".git/hooks/$hook"
done
git config commit.gpgSign true
git config gpg.program /nowhere/gpg
cp run.sh tool.sh
seq 20 >text
git add text tool.sh
chmod -x .git/hooks/*
git -c commit.gpgSign=false commit -q -m 'before the run' text tool.sh
chmod +x .git/hooks/*

ok 'a run makes all kinds of changes' guard run -q -- sh -c '
	sed -i s/return.5/return\ 500/ src/f5.c
	sed -i "18s/.*/of the run/" text
	rm README.md; mkdir -p dir/sub; echo new >dir/sub/file
	chmod -x tool.sh; ln -s text link
	echo log >debug2.log; mkfifo pipe; echo "build" >build/b.o
	git config user.name "The Run"; rm src/deep/er/file
	mkdir src/deep/er/file; echo x >src/deep/er/file/x'
run=$(guard status -q)
sed -i '2s/.*/mine, not committed/' text
head=$(git rev-parse HEAD)
index=$(sha256sum .git/index)
manifest . >"$T/before"

# --- to a branch of its own ---
gives 2 '-m without --commit is refused' guard apply -m x
gives 2 '--commit with --theirs is refused' guard apply --commit --theirs
gives 1 '--commit with --branch is --branch' \
	guard apply -y --commit --branch 'a..b'
gives 1 'a branch name with .. is refused' guard apply -y --branch 'a..b'
gives 1 'a branch name that begins with - is refused' guard apply -y --branch -x
gives 1 'HEAD is refused as a branch name' guard apply -y --branch HEAD
says "$err" 'not a valid name for a branch'
gives 1 '@ is refused as a branch name' guard apply -y --branch @
gives 1 'a branch below an existing one is refused' \
	guard apply -y --branch main/x
says "$err" "branch 'main' exists, so git cannot create 'main/x'"
mkdir .git/refs/heads/up
cp .git/refs/heads/main .git/refs/heads/up/down
gives 1 'a branch above an existing one is refused' guard apply -y --branch up
says "$err" "branch 'up/down' exists"
rm -r .git/refs/heads/up
gives 1 'the branch that is checked out is refused' guard apply -y --branch main
says "$err" 'is checked out'
gives 1 'apply --branch without --yes is refused' guard apply --branch guarded
no 'the refused apply creates no branch' git rev-parse -q --verify guarded
gives 0 'apply --branch is accepted' \
	guard apply -y --branch guarded -m 'What the run did'
says "$err" 'committed to guarded'
says "$err" "'debug2.log': ignored by git"
says "$err" "'pipe': git cannot store this file type"
is "$(git rev-parse guarded^)" "$head" "the commit's parent is HEAD"
is "$(git log -1 --format='%an %ae: %s' guarded)" \
	'The User user@example.org: What the run did' \
		'the author of the commit is the user'
git diff --name-status --no-renames HEAD guarded >"$T/names"
printf '%s\t%s\n' D README.md A dir/sub/file A link D src/deep/er/file \
	A src/deep/er/file/x M src/f5.c M text M tool.sh >"$T/wanted"
ok 'the commit contains the files that the run changed' \
	cmp "$T/wanted" "$T/names"
git diff HEAD guarded -- text >"$T/text"
ok 'the command: commit contains the line of the run' grep -q '^+of the run' "$T/text"
no "the command: commit does not contain the user's edit" grep -q mine "$T/text"
is "$(git ls-tree guarded tool.sh link | cut -d ' ' -f 1 | tr '\n' ' ')" \
	'120000 100644 ' 'the commit has modes and symbolic links'
ok 'git fsck accepts the repository' git fsck --strict
no 'no hook was executed' test -e "$HOME/hooked"
is "$(git rev-parse HEAD)" "$head" 'apply --branch does not move HEAD'
is "$(sha256sum .git/index)" "$index" 'apply --branch does not change the index'
manifest . | grep -v '\.git' >"$T/after"
grep -v '\.git' "$T/before" >"$T/before2"
ok 'apply --branch does not change the worktree' same "$T/before2" "$T/after"
ok 'the run is still pending' test "$(guard status -q)" = "$run"
gives 0 'apply --branch accepts a path' guard apply -y -q --branch two -- dir
is "$(git diff --name-only HEAD two)" dir/sub/file \
	'apply --branch of a path commits only that'
gives 0 'apply --branch accepts another path for the same branch' \
	guard apply -y -q --branch two -- link
is "$(git rev-list --count HEAD..two)" 2 'apply --branch adds a second commit'
gives 1 'apply --branch without a new change is refused' \
	guard apply -y --branch two -- link
says "$err" 'two already has all of it'
echo 'ref: refs/heads/nothing' >.git/refs/heads/alias
gives 1 'apply --branch refuses a branch that stands for a missing one' \
	guard apply -y --branch alias -- link
says "$err" "'refs/heads/alias' moved"
rm .git/refs/heads/alias

# --- conflicts with the branch ---
chmod -x .git/hooks/*
git checkout -q -b other
sed -i '18s/.*/of somebody else/' text
git -c commit.gpgSign=false commit -q -m other text
chmod +x .git/hooks/*
gives 1 'apply --branch refuses a branch with another text' \
	guard apply -y --branch three
says "$err" "'text'"
no 'the refused apply creates no branch from that text' \
	git rev-parse -q --verify three
chmod -x .git/hooks/*
git checkout -q main
chmod +x .git/hooks/*

# --- apply --commit ---
head=$(git rev-parse HEAD)
git add src/f2.c
gives 0 'apply --commit is accepted' guard apply -y --commit
says "$err" 'not signed'
is "$(git log -1 --format=%s)" "Apply run $run" \
	'the default message names the run'
is "$(git rev-parse HEAD^)" "$head" 'apply --commit adds one commit'
is "$(sed -n 18p text)" 'of the run' 'apply --commit writes the worktree too'
git status --porcelain -uno >"$T/status"
silent "$T/status" text
silent "$T/status" f5.c
says "$T/status" 'M  src/f2.c'
is "$(git diff --cached --name-only | tr '\n' ' ')" 'src/f1.c src/f2.c ' \
	'apply --commit keeps what the user has staged'
is "$(guard status -q)" '' 'no run is pending after apply --commit'
no 'apply --commit executes no hook' test -e "$HOME/hooked"
ok 'undo reverts the files' guard undo -y -q
is "$(git log -1 --format=%s)" "Apply run $run" 'undo keeps the commit'

# --- unusual heads ---
chmod -x .git/hooks/*
git reset -q --soft HEAD~1
git -c advice.detachedHead=false checkout -q --detach
gives 1 'apply --commit with a detached HEAD is refused' \
	guard apply -y --commit -- link
says "$err" '--branch'
gives 0 'apply --branch with a detached HEAD is accepted' \
	guard apply -y --branch four -- link
git checkout -q main
mkdir "$HOME/fresh"
cd "$HOME/fresh" || exit 99
git init -q -b first .
git config user.name Fresh
git config user.email fresh@example.org
ok 'a run in an empty repository' guard run -q -- sh -c 'echo a >a'
gives 0 'apply --commit in an empty repository is accepted' \
	guard apply -y --commit -m begin
is "$(git log --format=%s first)" begin \
	'apply --commit creates the first commit'
is "$(git status --porcelain)" '' \
	'git status shows no change after the first commit'
# --- a directory becomes a file, or the reverse ---
git init -q -b main "$HOME/kinds"
cd "$HOME/kinds" || exit 99
git config user.name Kinds
git config user.email kinds@example.org
mkdir -p folder/in link-to-be
echo old | tee folder/in/a folder/b link-to-be/a file staged >/dev/null
ln -s file link
git add -A
git commit -q -m begin
ok 'a run changes the kinds of entries' guard run -q -- sh -c '
	rm -r folder link-to-be file link
	echo new >folder; ln -s folder link-to-be; mkdir file link
	echo new | tee file/in link/in >/dev/null'
gives 1 'apply --branch asks as apply does' guard apply -q -y --branch kinds
says "$err" 'was a directory and is a link now'
gives 0 'apply --branch accepts changed kinds' \
	guard apply -q -y --yes-to all --branch kinds
is "$(git ls-tree -r --name-only kinds | tr '\n' ' ')" \
	'file/in folder link-to-be link/in staged ' \
		'the commit has the changed kinds'
ok 'git fsck accepts the commit' git fsck --strict
echo mine >folder/in/mine
git add folder/in/mine
git commit -q -m mine
gives 1 'apply --branch refuses a branch with more entries in such a directory' \
	guard apply -y --yes-to all --branch more
says "$err" "more has another 'folder' than at the start of the run"
no 'the refused apply creates no branch' git rev-parse -q --verify more
git reset -q --hard HEAD~1
gives 0 'apply --commit accepts changed kinds' \
	guard apply -y --yes-to all --commit -m kinds
is "$(git status --porcelain)" '' 'the index has the changed kinds'
silent "$err" 'has other staged changes'
git reset -q --hard HEAD~1
ok 'a run replaces a directory by a file' \
	guard run -q -- sh -c 'rm -r folder; echo new >folder'
echo mine >folder/in/mine
git add folder/in/mine
rm folder/in/mine
gives 0 'apply --commit is accepted with an entry staged in that directory' \
	guard apply -y --commit
says "$err" "'folder': has other staged changes: its staged state is unchanged"
is "$(git ls-files folder)" folder/in/mine 'the staged entry stays staged'
is "$(git ls-tree --name-only HEAD folder)" folder 'the commit has the file'

git init -q -b first --object-format=sha256 "$HOME/sha256"
cd "$HOME/sha256" || exit 99
ok 'a run in a SHA-256 repository' guard run -q -- sh -c 'echo a >a'
gives 1 'apply --commit in a SHA-256 repository is refused' \
	guard apply -y --commit
says "$err" 'nothing applied or committed: the repository uses SHA-256'
no 'the refused apply writes nothing' test -e a

# --- line endings, and locks of other git processes ---
git init -q -b main "$HOME/ends"
cd "$HOME/ends" || exit 99
git config user.name Ends
git config user.email ends@example.org
git config core.autocrlf true
printf 'one\r\ntwo\r\n' >text
git add text 2>"$err"
git commit -q -m begin
ok 'a run writes CR LF' guard run -q -- \
	sh -c 'printf "three\\r\\n" >>text'
gives 0 'apply --commit accepts CR LF where git keeps LF' \
	guard apply -y --commit -m ends
is "$(git cat-file -p HEAD:text | od -An -c | tr -d ' ')" \
	'one\ntwo\nthree\n' 'the commit has LF'
is "$(git status --porcelain)" '' 'git status shows no change'
ok 'a run deletes the file' guard run -q -- rm text
find .git -type f ! -path '.git/refs/*' | sort >"$T/git-before"
head=$(git rev-parse HEAD)
for lock in index refs/heads/main HEAD; do
	: >".git/$lock.lock"
	for way in -y -n; do
		gives 1 "apply $way --commit is refused while git locks $lock" \
			guard apply "$way" --commit
		says "$err" "nothing applied or committed: '$PWD/.git/$lock.lock' exists, so git is at work"
	done
	rm ".git/$lock.lock"
done
: >.git/refs/heads/topic.lock
gives 1 'apply --branch is refused while git locks the branch' \
	guard apply -y --branch topic
says "$err" "nothing committed: '$PWD/.git/refs/heads/topic.lock' exists"
rm .git/refs/heads/topic.lock
if [ "$me" != root ]; then
	for dir in .git .git/refs/heads; do
		chmod 555 "$dir"
		gives 1 "apply --commit is refused while $dir is not writable" \
			guard apply -y --commit
		says "$err" 'nothing applied or committed: git cannot change'
		says "$err" "$PWD/$dir': Permission denied"
		chmod 755 "$dir"
	done
fi
mv .git/index "$T/index"
mkdir .git/index
gives 1 'apply --commit is refused while the index cannot be read' \
	guard apply -y --commit
says "$err" 'index cannot be read'
rmdir .git/index
mv "$T/index" .git/index
for file in MERGE_HEAD CHERRY_PICK_HEAD BISECT_LOG; do
	git rev-parse HEAD >".git/$file"
	gives 1 "apply --commit is refused beside $file" \
		guard apply -y --commit
	says "$err" 'a merge, rebase or similar is in progress'
	rm ".git/$file"
done
ok 'the refused applies changed no file' test -e text
is "$(git rev-parse HEAD) $(git status --porcelain)" "$head " \
	'the refused applies moved no branch'
find .git -type f ! -path '.git/refs/*' | sort | diff - "$T/git-before" \
	>"$T/new-in-git"
is "$(cat "$T/new-in-git")" '' 'the refused applies wrote no object'
: >.git/index.lock
gives 0 'apply --branch does not need the index' guard apply -y --branch topic
rm .git/index.lock
: >.git/config.lock
: >.git/packed-refs.lock
gives 0 'apply --commit is accepted while git locks other files' \
	guard apply -y --commit
is "$(git status --porcelain)" '' 'the commit has all of it'
rm .git/config.lock .git/packed-refs.lock

git worktree add -q -b linked "$HOME/linked"
cd "$HOME/linked" || exit 99
ok 'a run in a linked worktree' guard run -q -- sh -c 'echo run >text'
git_dir=$(git rev-parse --git-dir)
: >"$git_dir/index.lock"
gives 1 'apply --commit is refused while the index of the worktree is locked' \
	guard apply -y --commit
says "$err" "'$git_dir/index.lock' exists"
mv "$git_dir/index.lock" "$HOME/ends/.git/refs/heads/linked.lock"
gives 1 'apply --commit is refused while the branch of the worktree is locked' \
	guard apply -y --commit
says "$err" "'$HOME/ends/.git/refs/heads/linked.lock' exists"
rm "$HOME/ends/.git/refs/heads/linked.lock"
: >"$HOME/ends/.git/index.lock"
gives 0 'the lock of another worktree is no obstacle' guard apply -y --commit
rm "$HOME/ends/.git/index.lock"
is "$(git status --porcelain)" '' 'the worktree has the commit'
cd "$HOME/ends" || exit 99

# --- git's conversions: line endings, filters, the user's settings ---
git init -q -b main "$HOME/settings"
cd "$HOME/settings" || exit 99
cp "$HOME/.gitconfig" "$T/gitconfig" 2>/dev/null || : >"$T/gitconfig"
cat >"$HOME/.gitconfig" <<'END'
[user]
	name = At Home
	email = home@example.org
[core]
	excludesFile = ~/ignored
[includeIf "gitdir:~/settings/"]
	path = ~/.at-work
END
printf '[user]\n\tname = At Work\n\temail = work@example.org\n' \
	>"$HOME/.at-work"
echo '*.swp' >"$HOME/ignored"
printf '*.bat text eol=crlf\n*.key filter=crypt\n*.id ident\n' \
	>.gitattributes
git config filter.crypt.clean 'tr a-z n-za-m'
git config filter.crypt.smudge 'tr a-z n-za-m'
printf 'one\r\n' >old.bat
echo hello >old.key
echo 'text $Id$' >old.id
git add -A
git commit -q -m begin
rm old.id
git checkout -q old.id
ok 'a run changes files with line endings and filters' guard run -q -- sh -c '
	printf "two\\r\\n" | tee -a old.bat >new.bat
	echo secret | tee -a old.key >new.key
	echo more >>old.id; echo x >a.swp'
gives 0 'apply --commit accepts that run' guard apply -y --commit
says "$err" "'a.swp': ignored by git"
says "$err" "'new.key': git stores it through a filter"
says "$err" "'old.key': git stores it through a filter"
is "$(git log -1 --format='%an %ae')" 'At Work work@example.org' \
	'the commit has the author of the matching git configuration'
is "$(git cat-file -p HEAD:new.bat | od -An -c | tr -d ' ')" 'two\n' \
	'a new file has the line endings that git keeps'
is "$(git cat-file -p HEAD:old.id)" "$(printf 'text $Id$\nmore')" \
	'the commit has $Id$ in the form that git keeps'
is "$(git diff --name-only HEAD~ HEAD | tr '\n' ' ')" 'new.bat old.bat old.id ' \
	'the commit has no file behind a filter'
touch ./*.bat ./*.id
is "$(git status --porcelain | tr '\n' ';')" ' M old.key;?? new.key;' \
	'git status shows only the files behind a filter'
git add -A
git commit -q -m keys
ok 'a run changes only a file behind a filter' \
	guard run -q -- sh -c 'echo more >>new.key'
gives 1 'apply --commit of only that file is refused' guard apply -y --commit
says "$err" "nothing applied or committed: 'new.key': git stores"
is "$(cat new.key)" secret 'the refused apply does not change the file'
ok 'discard drops that run' guard discard -y -q
echo base >local
git add local
git commit -q -m local
git update-index --skip-worktree local
git update-index --assume-unchanged old.id
ok 'a run changes files that git does not check' guard run -q -- sh -c '
	echo run >>local; echo run >>old.id'
gives 0 'apply --commit accepts files that git does not check' \
	guard apply -y --commit
is "$(git cat-file -p HEAD:local)" 'base
run' 'the commit has their new content'
is "$(git ls-files -v local old.id | cut -c 1 | tr '\n' ' ')" 'S h ' \
	'git still does not check them'
git update-index --split-index
ok 'a run beside a split index, which libgit2 cannot read' \
	guard run -q -- sh -c 'echo run >>new.key; echo run >split'
gives 1 'patch leaves out a file behind a filter with a split index' guard patch
says "$err" "'new.key': git stores it through a filter"
gives 1 'apply --commit is refused with a split index' guard apply -y --commit
says "$err" 'nothing applied or committed: the repository'
says "$err" 'use --branch'
gives 0 'apply --branch is accepted with a split index' \
	guard apply -y --branch beside
says "$err" "'new.key': git stores it through a filter"
git update-index --no-split-index
gives 0 'apply --commit without the split index' guard apply -y --commit
is "$(git status --porcelain split)" '' 'the index has the new file'
cp "$T/gitconfig" "$HOME/.gitconfig"
mkdir "$HOME/plain"
cd "$HOME/plain" || exit 99
ok 'a run outside of a repository' guard run -q -- sh -c 'echo a >a'
gives 1 'apply --commit outside of a repository is refused' \
	guard apply -y --commit
says "$err" 'is not a git repository'
finish
