#!/bin/sh
# apply --commit and --branch: one commit of what was accepted.
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

ok 'a run' guard run -q -- sh -c '
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
gives 2 'a message without a commit' guard apply -m x
gives 2 'a commit and --theirs' guard apply --commit --theirs
gives 1 'no branch can be called so' guard apply -y --branch 'a..b'
gives 1 'nor so' guard apply -y --branch -x
gives 1 'HEAD is none either' guard apply -y --branch HEAD
says "$err" 'no name for a branch'
gives 1 'nor @' guard apply -y --branch @
gives 1 'nor one below another' guard apply -y --branch main/x
says "$err" "a branch 'main', beside which git keeps no 'main/x'"
mkdir .git/refs/heads/up
cp .git/refs/heads/main .git/refs/heads/up/down
gives 1 'nor one above' guard apply -y --branch up
says "$err" "a branch 'up/down'"
rm -r .git/refs/heads/up
gives 1 'nor is the checked out one taken' guard apply -y --branch main
says "$err" 'is checked out'
gives 1 'without a yes nothing is done' guard apply --branch guarded
no 'no branch' git rev-parse -q --verify guarded
gives 0 'with one' guard apply -y --branch guarded -m 'What the run did'
says "$err" 'committed to guarded'
says "$err" "'debug2.log': ignored by git"
says "$err" "'pipe': git keeps no such thing"
is "$(git rev-parse guarded^)" "$head" 'the commit is on top of HEAD'
is "$(git log -1 --format='%an %ae: %s' guarded)" \
	'The User user@example.org: What the run did' 'its author is the user'
git diff --name-status --no-renames HEAD guarded >"$T/names"
printf '%s\t%s\n' D README.md A dir/sub/file A link D src/deep/er/file \
	A src/deep/er/file/x M src/f5.c M text M tool.sh >"$T/wanted"
ok 'its files are those that the run changed' cmp "$T/wanted" "$T/names"
git diff HEAD guarded -- text >"$T/text"
ok 'with the line of the run' grep -q '^+of the run' "$T/text"
no 'and without the edit of the user' grep -q mine "$T/text"
is "$(git ls-tree guarded tool.sh link | cut -d ' ' -f 1 | tr '\n' ' ')" \
	'120000 100644 ' 'modes and links'
ok 'it is a whole repository' git fsck --strict
no 'no hook was run' test -e "$HOME/hooked"
is "$(git rev-parse HEAD)" "$head" 'HEAD is where it was'
is "$(sha256sum .git/index)" "$index" 'the index is as it was'
manifest . | grep -v '\.git' >"$T/after"
grep -v '\.git' "$T/before" >"$T/before2"
ok 'and the worktree' same "$T/before2" "$T/after"
ok 'the run waits on' test "$(guard status -q)" = "$run"
gives 0 'a path of it to another branch' guard apply -y -q --branch two -- dir
is "$(git diff --name-only HEAD two)" dir/sub/file 'that path alone'
gives 0 'another path on top of that' guard apply -y -q --branch two -- link
is "$(git rev-list --count HEAD..two)" 2 'a second commit'
gives 1 'nothing new is no commit' guard apply -y --branch two -- link
says "$err" 'two has it all already'

# --- what cannot be put together ---
chmod -x .git/hooks/*
git checkout -q -b other
sed -i '18s/.*/of somebody else/' text
git -c commit.gpgSign=false commit -q -m other text
chmod +x .git/hooks/*
gives 1 'a branch that has another line there is a conflict' \
	guard apply -y --branch three
says "$err" "'text'"
no 'and no branch' git rev-parse -q --verify three
chmod -x .git/hooks/*
git checkout -q main
chmod +x .git/hooks/*

# --- applied and committed ---
head=$(git rev-parse HEAD)
git add src/f2.c
gives 0 'apply --commit' guard apply -y --commit
says "$err" 'not signed'
is "$(git log -1 --format=%s)" "Apply run $run" 'the message names the run'
is "$(git rev-parse HEAD^)" "$head" 'one commit'
is "$(sed -n 18p text)" 'of the run' 'it is applied too'
git status --porcelain -uno >"$T/status"
silent "$T/status" text
silent "$T/status" f5.c
says "$T/status" 'M  src/f2.c'
is "$(git diff --cached --name-only | tr '\n' ' ')" 'src/f1.c src/f2.c ' \
	'what the user had staged is staged still'
is "$(guard status -q)" '' 'the run is applied'
no 'still no hook was run' test -e "$HOME/hooked"
ok 'undo takes the files back' guard undo -y -q
is "$(git log -1 --format=%s)" "Apply run $run" 'and not the commit'

# --- heads of all kinds ---
chmod -x .git/hooks/*
git reset -q --soft HEAD~1
git -c advice.detachedHead=false checkout -q --detach
gives 1 'a detached HEAD is no branch' guard apply -y --commit -- link
says "$err" '--branch'
gives 0 'one that is named is' guard apply -y --branch four -- link
git checkout -q main
mkdir "$HOME/fresh"
cd "$HOME/fresh" || exit 99
git init -q -b first .
git config user.name Fresh
git config user.email fresh@example.org
ok 'a run in an empty repository' guard run -q -- sh -c 'echo a >a'
gives 0 'the first commit of all' guard apply -y --commit -m begin
is "$(git log --format=%s first)" begin 'is there'
is "$(git status --porcelain)" '' 'and nothing else to be told'
# --- what was a folder is a file now, or the other way round ---
git init -q -b main "$HOME/kinds"
cd "$HOME/kinds" || exit 99
git config user.name Kinds
git config user.email kinds@example.org
mkdir -p folder/in link-to-be
echo old | tee folder/in/a folder/b link-to-be/a file staged >/dev/null
ln -s file link
git add -A
git commit -q -m begin
ok 'a run makes other kinds of them' guard run -q -- sh -c '
	rm -r folder link-to-be file link
	echo new >folder; ln -s folder link-to-be; mkdir file link
	echo new | tee file/in link/in >/dev/null'
gives 0 'they are committed to a branch' guard apply -q -y --branch kinds
is "$(git ls-tree -r --name-only kinds | tr '\n' ' ')" \
	'file/in folder link-to-be link/in staged ' 'as they are'
ok 'a whole repository' git fsck --strict
echo mine >folder/in/mine
git add folder/in/mine
git commit -q -m mine
gives 1 'a branch that has more in such a folder' \
	guard apply -y --branch more
says "$err" "more has another 'folder' than the run began with"
no 'is no branch' git rev-parse -q --verify more
git reset -q --hard HEAD~1
gives 0 'they are applied and committed' guard apply -y --commit -m kinds
is "$(git status --porcelain)" '' 'and the index has them'
silent "$err" 'staged otherwise'
git reset -q --hard HEAD~1
ok 'one more' guard run -q -- sh -c 'rm -r folder; echo new >folder'
echo mine >folder/in/mine
git add folder/in/mine
rm folder/in/mine
gives 0 'beside what is staged in such a folder' guard apply -y --commit
says "$err" "'folder': staged otherwise, and left so"
is "$(git ls-files folder)" folder/in/mine 'it stays staged'
is "$(git ls-tree --name-only HEAD folder)" folder 'the commit has the file'

git init -q -b first --object-format=sha256 "$HOME/sha256"
cd "$HOME/sha256" || exit 99
ok 'a run in a SHA-256 repository' guard run -q -- sh -c 'echo a >a'
gives 1 'which libgit2 cannot do' guard apply -y --commit
says "$err" 'nothing is applied, and nothing committed: it uses SHA-256'
no 'and so nothing is applied' test -e a

# --- other line ends, and somebody else's locks ---
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
gives 0 'where the branch has LF' guard apply -y --commit -m ends
is "$(git cat-file -p HEAD:text | od -An -c | tr -d ' ')" \
	'one\ntwo\nthree\n' 'it keeps them'
is "$(git status --porcelain)" '' 'and git sees no change'
ok 'a run deletes it' guard run -q -- rm text
: >.git/refs/heads/main.lock
gives 1 'while the branch is locked' guard apply -y --commit
says "$err" 'it is applied, but not committed: another git is at work'
rm .git/refs/heads/main.lock
gives 0 'it is taken back' guard undo -q -y
: >.git/index.lock
gives 0 'while the index is' guard apply -y --commit
says "$err" 'remove index.lock'
rm .git/index.lock
git reset -q
is "$(git status --porcelain)" '' 'a reset puts it right'

# --- what git would make of it: line ends, filters, the user's own settings ---
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
ok 'a run with line ends and secrets' guard run -q -- sh -c '
	printf "two\\r\\n" | tee -a old.bat >new.bat
	echo secret | tee -a old.key >new.key
	echo more >>old.id; echo x >a.swp'
gives 0 'a commit of it' guard apply -y --commit
says "$err" "'a.swp': ignored by git"
says "$err" "'new.key': git keeps it through a filter"
says "$err" "'old.key': git keeps it through a filter"
is "$(git log -1 --format='%an %ae')" 'At Work work@example.org' \
	'by whom the user is there'
is "$(git cat-file -p HEAD:new.bat | od -An -c | tr -d ' ')" 'two\n' \
	'a new file has the line ends that git keeps'
is "$(git cat-file -p HEAD:old.id)" "$(printf 'text $Id$\nmore')" 'and $Id$'
is "$(git diff --name-only HEAD~ HEAD | tr '\n' ' ')" 'new.bat old.bat old.id ' \
	'nothing that a filter hides is in it'
touch ./*.bat ./*.id
is "$(git status --porcelain | tr '\n' ';')" ' M old.key;?? new.key;' \
	'to git the rest is as it is kept'
git add -A
git commit -q -m keys
ok 'a run of secrets alone' guard run -q -- sh -c 'echo more >>new.key'
gives 1 'is no commit' guard apply -y --commit
says "$err" "nothing is applied, and nothing committed: 'new.key': git keeps"
is "$(cat new.key)" secret 'nor is it applied'
ok 'dropped' guard discard -y -q
echo base >local
git add local
git commit -q -m local
git update-index --skip-worktree local
git update-index --assume-unchanged old.id
ok 'a run with what git is not to look at' guard run -q -- sh -c '
	echo run >>local; echo run >>old.id'
gives 0 'is committed' guard apply -y --commit
is "$(git cat-file -p HEAD:local)" 'base
run' 'as any other'
is "$(git ls-files -v local old.id | cut -c 1 | tr '\n' ' ')" 'S h ' \
	'and git is still not to look at it'
git update-index --split-index
ok 'a run beside an index that libgit2 cannot read' \
	guard run -q -- sh -c 'echo run >>new.key; echo run >split'
gives 1 'a patch leaves out what a filter hides there too' guard patch
says "$err" "'new.key': git keeps it through a filter"
gives 0 'a commit too' guard apply -y --commit
says "$err" "'new.key': git keeps it through a filter"
says "$err" "'index': could not be read"
git update-index --no-split-index
cp "$T/gitconfig" "$HOME/.gitconfig"
mkdir "$HOME/plain"
cd "$HOME/plain" || exit 99
ok 'a run without git' guard run -q -- sh -c 'echo a >a'
gives 1 'has nothing to commit to' guard apply -y --commit
says "$err" 'is no git repository'
finish
