#!/bin/sh
# Worktrees of git that a run adds, changes, moves or removes: one line each, no
# risk by their path, left out of an apply, applied as a whole by their path.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

git config --global user.name tester
git config --global user.email t@example.org
git config --global init.defaultBranch main
P=$HOME/project

# fresh: a project with files that are critical where programs read them
fresh() {
	must_be_inside
	cd "$HOME" || exit 99
	rm -rf "$P" side
	git init -q "$P"
	cd "$P" || exit 99
	mkdir -p src .claude/agents
	echo '{}' >.claude/settings.json
	echo 'be good' >.claude/agents/a.md
	echo 'export A=1' >.envrc
	echo '{"scripts":{"postinstall":"node x.js"}}' >package.json
	printf 'build/\nnode_modules/\n' >.gitignore
	head -c 1100000 /dev/zero >large
	for i in 1 2 3 4 5 6 7 8 9; do
		echo "int f$i;" >src/f$i.c
	done
	git add .
	git commit -q -m one
}

# run_of COMMANDS: a run, whose id is $run
run_of() {
	guard run -q --agent "${agent:-none}" --name r -- sh -c "set -e
$1" >"$T/said" 2>&1 || sed 's/^/# /' "$T/said"
	run=$(guard status -q | head -n 1)
	guard diff --no-pager "$run" >"$T/diff" 2>&1
}

# line PATH TEXT: the worktree has this line in the diff, and no other
line() {
	is "$(grep "^worktree $1: " "$T/diff")" "worktree $1: $2" \
		"the worktree has one line ($1)"
}

# calm: no change is critical, or to look at first
calm() {
	no "no risk by the path ($1)" grep '^ *!' "$T/diff"
}

# critical TITLE PATH: the path is critical
critical() {
	is "$(grep -A1 "^  [AM]  $2\$" "$T/diff" | grep -c '^ *!!')" 1 \
		"$1 is critical"
}

# lists WORKTREE STATUS TITLE: git status in the user's worktree
lists() {
	is "$(git -C "$1" status --short 2>&1)" "$2" "$3"
}

# works WORKTREE FILE: what a person does there
work() {
	cat <<END
cd "$P/$1"
echo new >src/new.c
git add .
git commit -q -m 'in the worktree'
echo more >>src/f1.c
rm src/f2.c
echo untracked >untracked
mkdir -p build node_modules/m
echo o >build/o
echo m >node_modules/m/index.js
cd "$P"
END
}

# --- added by the run, where tools add them ---
fresh
places='.claude/worktrees/a .worktrees/b worktrees/c .cursor/worktrees/deep/d'
commands='echo project >>src/f3.c'
for w in $places; do
	commands="$commands
git worktree add -q $w -b x/${w##*/}
$(work "$w")"
done
# A profile may call what git writes noise.
mkdir -p "$HOME/.config/guard/agents"
echo 'noise .git/worktrees' >"$HOME/.config/guard/agents/quiet"
agent=quiet
run_of "$commands"
agent=
for w in $places; do
	line "$w" "branch x/${w##*/}, 1 commit, 3 files"
done
calm 'four worktrees'
is "$(sed 1,3d "$T/diff" | grep -c worktrees)" 4 \
	'a worktree has no other line than that of its branch'
says "$T/diff" '1 modified, 4 worktrees, '
gives 0 'the end of the run says so' guard status
says "$out" '4 worktrees'
gives 0 'JSON has them' guard diff --json "$run"
is "$(grep -A1 '"branch": "x/d"' "$out" | tail -n 1 | tr -d ' ,')" \
	'"commits":1' 'JSON has the numbers of a worktree'
gives 0 'the report in HTML has them' guard diff --html="$T/html" "$run"
is "$(grep -c 'branch x/a, 1 commit, 3 files' "$T/html")" 1 \
	'HTML has a line for a worktree'
gives 0 '--stat has them' guard diff --stat "$run"
is "$(grep -c '^worktree ' "$out") $(grep -c 'src/' "$out")" '4 2' \
	'--stat has a line for a worktree'
gives 0 'a path lists the files' guard diff --no-pager "$run" worktrees/c
says "$out" '+more'
says "$out" 'untracked'
silent "$out" 'export A=1'
gives 0 '--full lists the files' guard diff --full --stat "$run"
says "$out" 'worktrees/c/src/f4.c'

gives 0 'apply takes the files of the project' guard apply -y "$run"
says "$err" "left out: worktree '.claude/worktrees/a'"
says "$err" "guard apply r .claude/worktrees/a applies it"
says "$err" 'guard import r imports'
is "$(git status --short)" ' M src/f3.c' 'apply leaves the worktrees out'
is "$(git worktree list | wc -l)" 1 'apply leaves their directories out, too'
is "$(guard status -q)" "$run" 'the run is pending with them'
gives 0 'a path takes a worktree' guard apply -y "$run" .claude/worktrees/a
is "$(git -C .claude/worktrees/a log --format=%s | head -n 1)" \
	'in the worktree' 'its branch has the commit'
worked=' M src/f1.c
 D src/f2.c
?? untracked'
lists .claude/worktrees/a "$worked" 'git reads the worktree'
ok 'ignored files are there' test -e .claude/worktrees/a/build/o
is "$(git fsck 2>&1 | grep -v dangling)" '' 'the repository is complete'
gives 0 'the worktree is the only one' git worktree list
is "$(grep -c . "$out")" 2 'no other worktree was applied'
gives 0 'undo takes all of it back' guard undo -y
is "$(git worktree list | wc -l) $(git branch --list 'x/*')" '1 ' \
	'undo removes the worktree and its branch'
no 'its files are gone' test -e .claude/worktrees
gives 0 'redo makes it again' guard redo -y
lists .claude/worktrees/a "$worked" 'redo makes the worktree'
gives 0 'the others follow' guard apply -y "$run" .worktrees/b \
	worktrees/c/src .cursor/worktrees/deep/d
lists worktrees/c "$worked" 'a path in a new worktree takes all of it'
is "$(git worktree list | wc -l)" 5 'all worktrees are applied'
is "$(guard status -q)" '' 'the run is applied then'

# --- other ways to take one ---
fresh
run_of 'git worktree add -q .claude/worktrees/a -b a; echo x >>src/f1.c
echo n >.claude/worktrees/a/n'
gives 0 'a commit leaves it out' guard apply -y --branch z "$run"
is "$(git show --format= --name-only z)" src/f1.c \
	'the commit has the files of the project'
gives 0 '. is no name of a worktree' guard apply -y "$run" .
no '. leaves it out' test -e .claude/worktrees
gives 1 'nothing else is left' guard apply -y "$run"
gives 1 'the lines of a file take no part of a new worktree' \
	guard apply -y "$run" .claude/worktrees/a/n:1
gives 1 'a branch takes none' \
	guard apply -y --branch z "$run" .claude/worktrees/a
says "$err" 'a worktree is applied as a whole'
gives 0 'review leaves it out' guard review "$run"
says "$out" 'no changes to decide on'

gives 1 'a review does not have its files' \
	guard review "$run" .claude/worktrees/a
says "$err" "guard diff r with its path shows it"
gives 0 'the whole worktree is said to be discarded' \
	guard discard -y "$run" .claude/worktrees/a/n
says "$err" "the worktree '.claude/worktrees/a' is discarded as a whole"
guard run --agent none -- git worktree add -q w -b w 2>"$T/end"
is "$(sed -n 's/^guard:   guard \([a-z]*\) .*  .*/\1/p' "$T/end" | xargs)" \
	'diff import apply discard' 'the end of a run offers what takes one'

# --- conflicts, branches that were there, other files of git ---
fresh
git branch b
git branch o
run_of "git worktree add -q .worktrees/b b; $(work .worktrees/b)
git worktree add -q .worktrees/o o
git worktree add -q .worktrees/m -b m
cd .worktrees/m
echo a >.envrc
git commit -q -a -m a
git merge -q b~1
git rebase -q -x false b || :
cd ../..
git config extensions.worktreeConfig true
git -C .worktrees/o config --worktree user.name x"
gives 0 'one of a branch that was there is applied' \
	guard apply -y "$run" .worktrees/o
lists .worktrees/o '' 'git reads it'
is "$(cat .git/worktrees/o/config.worktree)" '[user]
	name = x' 'its configuration is applied'
gives 1 'one with a rebase in progress is refused' \
	guard apply -y "$run" .worktrees/m
says "$err" 'rebase or similar is in progress in the run'
silent "$err" '\. \.git'
gives 1 'a branch is not moved' guard apply -y "$run" .worktrees/b
says "$err" 'guard import r imports the commits, --ff BRANCH moves'
gives 0 'an import moves it' guard import -y --ff b "$run"
gives 0 'the worktree is applied then' guard apply -y "$run" .worktrees/b
lists .worktrees/b "$worked" 'git reads it'

fresh
git branch o
run_of 'git worktree add -q .worktrees/o o'
gives 0 'one of a run without new objects is applied' \
	guard apply -y "$run" .worktrees/o
lists .worktrees/o '' 'git reads it'

fresh
git branch b
run_of "git worktree add -q .worktrees/b b; $(work .worktrees/b)"
git branch -f b "$(git commit-tree -m other 'HEAD^{tree}')"
gives 1 'a branch that has moved stays' guard apply -y "$run" .worktrees/b
says "$err" "to them: 'refs/heads/b' exists"
no 'nothing is applied' test -e .worktrees

# --- kinds of worktrees ---
fresh
run_of 'git worktree add -q --detach .worktrees/a
git worktree add -q --lock .claude/worktrees/b -b b
git -C .claude/worktrees/b worktree add -q .claude/worktrees/a -b i
echo x >.claude/worktrees/b/.claude/worktrees/a/x
git worktree add -q ../side -b s
echo y >../side/y'
line .worktrees/a 'detached, 0 commits, 0 files'
line .claude/worktrees/b 'branch b, 0 commits, 1 file'
line .claude/worktrees/b/.claude/worktrees/a 'branch i, 0 commits, 1 file'
# shellcheck disable=SC2088 # as it is printed
line '~/side' 'branch s, 0 commits, 1 file'
calm 'kinds of worktrees'
gives 1 'apply leaves out all of them' guard apply -y "$run"
gives 0 'they are applied' guard apply -y "$run" .worktrees/a \
	.claude/worktrees/b/.claude/worktrees/a
lists .worktrees/a '' 'a detached one is applied'
gives 0 'the outer one does not have the inner one' git worktree list
silent "$out" '\[b\]'
gives 0 'the outer one is applied' guard apply -y "$run" .claude/worktrees/b
lists .claude/worktrees/b/.claude/worktrees/a '?? x' \
	'the inner one is in the outer one'
ok 'a locked one is locked' test -e .git/worktrees/b/locked
is "$(guard status -q)" "$run" 'a worktree in the home directory is pending'
gives 0 'one in the home directory is applied' guard apply -y "$run" ../side
lists ../side '?? y' 'git reads one outside of the project'

# --- worktrees of the user ---
fresh
git worktree add -q .worktrees/a -b a
git worktree add -q .worktrees/b -b b
git worktree add -q .worktrees/c -b c
git worktree add -q .worktrees/d -b d
for w in a c d; do
	echo "mine $w" >.worktrees/$w/mine
done
run_of "$(work .worktrees/b)
rm .worktrees/a/mine
echo x >>.worktrees/a/src/f1.c
git worktree remove -f .worktrees/c
git worktree move .worktrees/d .worktrees/e
git -C .worktrees/a status >/dev/null"
line .worktrees/a 'branch a, 0 commits, 2 files'
line .worktrees/b 'branch b, 1 commit, 4 files'
line .worktrees/c 'removed, 16 files'
line .worktrees/e 'branch d, moved from .worktrees/d, 0 commits, 1 file'
says "$T/diff" '!! 2 deleted files have no other copy'
for w in a c; do
	ok "a loss has a line ($w)" grep "D  .worktrees/$w/mine .*!!" "$T/diff"
done
gives 1 'apply leaves out all of them' guard apply -y "$run"
is "$(git worktree list | wc -l)" 5 'the worktrees are as they were'
gives 0 'a file of a worktree of the user is applied alone' \
	guard apply -y "$run" .worktrees/a/src/f1.c
lists .worktrees/a ' M src/f1.c
?? mine' 'the other file stays'
silent "$err" 'another branch'
git -C .worktrees/b checkout -q -b other
gives 0 'the files of a worktree of the user are applied' \
	guard apply -y "$run" .worktrees/b
says "$err" "'.worktrees/b' is at another branch"
lists .worktrees/b ' M src/f1.c
 D src/f2.c
?? src/new.c
?? untracked' 'its branch stays'
gives 0 'a moved one moves' guard apply -y "$run" .worktrees/e
lists .worktrees/e '?? mine' 'git finds the moved one'
no 'the old directory is gone' test -e .worktrees/d
gives 1 'the loss of a file needs a consent' guard apply -y "$run" .worktrees/c
gives 0 'a removed one goes' guard apply -y --yes-to all "$run" .worktrees/c
is "$(git worktree list | wc -l) $(ls .worktrees)" "4 a
b
e" 'both directories are gone'
gives 0 'undo of a removal' guard undo -y
lists .worktrees/c '?? mine' 'undo brings both directories back'
git worktree add -q .worktrees/f -b f
run_of 'git -C .worktrees/f status >/dev/null; touch .worktrees/f/src/f1.c
git -C .worktrees/f status >/dev/null'
silent "$T/diff" '^worktree'

# --- outside of the project ---
fresh
rm -rf "$HOME/yours" "$HOME/other"
git worktree add -q ../yours -b y
git clone -q . ../other
guard run -q --agent none --name h --cow "$HOME/other" -- sh -c '
echo x >>README
echo y >>../yours/src/f1.c
git -C ../yours commit -q -a -m y
git worktree add -q ../side -b s
cd ../other
git worktree add -q w -b w' || exit 99
gives 0 'one in the home directory is known after the run' guard diff --stat h
says "$out" 'worktree ~/yours: branch y, 1 commit, 1 file'
gives 0 'an apply leaves both out' guard apply -y h
says "$err" "left out: worktree '~/yours'"
silent "$err" 'in your home directory not applied'
ok 'the run is pending with them' guard diff --stat h
gives 0 'one of another directory is applied' guard apply -y h ../other/w
lists ../other/w '' 'git reads it'

fresh
git worktree add -q .worktrees/a -b a
git worktree add -q .worktrees/b -b b
git worktree add -q .worktrees/c -b c
run_of 'git worktree add -q /tmp/x -b x
git worktree add -q gone -b gone
rm -r gone
for w in . .worktrees/a .worktrees/b; do
	echo x >>$w/src/f1.c
	git -C $w commit -q -a -m x
done'
calm 'one whose files are elsewhere'
for w in a c; do
	git -C .worktrees/$w commit -q --allow-empty -m mine
done
gives 0 '--commits takes what did not move' guard apply -y --commits "$run"
says "$err" "'.worktrees/a' does not move: 'a' moved since the run began"
says "$err" "left out: worktree '.worktrees/a'"
silent "$err" '.worktrees/c'
lists .worktrees/a '' 'the one that moved stays as it is'
is "$(git -C .worktrees/b log --format=%s | head -n 1) $(guard status -q)" \
	"x $run" 'the other one has the commit, and the run is pending'

fresh
git worktree add -q ../side -b s
cd ../side || exit 99
run_of 'git worktree add -q w -b w
echo x >>src/f1.c
git commit -q -a -m x
git worktree add -q new -b new
mv new/.git src
echo "$PWD/src/.git" >"$(git rev-parse --git-common-dir)/worktrees/new/gitdir"
rm -r new'
line w 'branch w, 0 commits, 0 files'
says "$T/diff" '  M  src/f1.c'
critical 'a directory of the user that became one' src/.git
gives 1 'a path takes none of another repository' guard apply -y "$run" w
says "$err" 'guard import r imports its commits'
gives 0 '--commits leaves it out' guard apply -y --commits "$run"
says "$err" "left out: worktree 'w'"
is "$(ls -d w; git branch --list w; guard status -q)" "  w
$run" 'its branch is there, and the run is pending'

# --- in the place of what the user has ---
fresh
for w in a b c d e; do
	git worktree add -q .worktrees/$w -b $w
done
mkdir .worktrees/empty
run_of 'for w in a b c e; do echo evil >>.worktrees/$w/src/f1.c; done
echo /tmp/x >.git/worktrees/a/commondir
echo gitdir: /tmp/x >.worktrees/b/.git
echo /tmp/x/.git >.git/worktrees/c/gitdir
rm -r .worktrees/d
mkdir n
mv .worktrees/e/.git n
echo "$PWD/n/.git" >.git/worktrees/e/gitdir
echo evil >>src/f1.c
git worktree add -q new -b new
mv new/.git src
echo "$PWD/src/.git" >.git/worktrees/new/gitdir
rm -r new'
silent "$T/diff" '^worktree'
for f in .worktrees/a/src/f1.c .worktrees/b/src/f1.c .worktrees/c/src/f1.c \
	.worktrees/e/src/f1.c src/f1.c; do
	ok "the change of the user's file is listed ($f)" \
		grep "^  M  $f" "$T/diff"
done
for f in .git/worktrees/a/commondir .worktrees/b/.git \
	.git/worktrees/c/gitdir .git/worktrees/e/gitdir n/.git src/.git; do
	critical "what names a repository ($f)" "$f"
done
gives 0 'a path takes the files' guard apply -y "$run" .worktrees/a \
	.worktrees/b .worktrees/c .worktrees/d .worktrees/e
for w in a b c e; do
	lists .worktrees/$w ' M src/f1.c' "git reads the user's ($w)"
done
is "$(git worktree list | wc -l)" 6 'no worktree of the user is removed'

# --- judged as the project ---
fresh
git config core.hooksPath .githooks
run_of 'git worktree add -q .claude/worktrees/a -b a
cd .claude/worktrees/a
echo evil >>.envrc
echo "all: ; x" >Makefile
mkdir -p .githooks sub
echo x >.githooks/pre-commit
chmod +x .githooks/pre-commit
echo "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"x\"}]}]}}" \
	>.claude/settings.local.json
git init -q sub
printf "[core]\n\tfsmonitor = x\n" >>sub/.git/config'
for f in .envrc .claude/settings.local.json .githooks/pre-commit \
	sub/.git/config; do
	ok "a file in a worktree is critical ($f)" \
		grep -A1 "^  A  .claude/worktrees/a/$f\$" "$T/diff"
done
is "$(grep -A1 '  A  .claude/worktrees/a/Makefile$' "$T/diff" |
	grep -c '^      ! ')" 1 'a makefile is judged as in the project'
gives 1 'each of them needs a consent' guard apply -y "$run" .claude/worktrees/a
says "$err" "consent: '.claude/worktrees/a/.envrc'"
says "$err" "consent: '.claude/worktrees/a/.claude/settings.local.json'"
silent "$err" "consent: '.git"
silent "$err" 'gitdir'

# One run with a directory for each way to look like a worktree.
fresh
worktrees=.claude/worktrees
run_of 'for w in a b c d e f g; do
	git worktree add -q .claude/worktrees/$w -b $w
done
cd .git/worktrees
printf "[core]\n\thooksPath = x\n" >a/config.worktree
echo /tmp/x >b/commondir
echo "$PWD/other/.git" >c/gitdir
echo "gitdir: /tmp/x" >../../.claude/worktrees/d/.git
echo x >>e/gitdir
echo "ref: refs/heads/../../config" >f/HEAD
cd ../..
mv .claude/worktrees/g/.git .claude/.git
echo "$PWD/.claude/.git" >.git/worktrees/g/gitdir
echo "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"x\"}]}]}}" \
	>.claude/settings.local.json'
critical 'a hook in config.worktree' .git/worktrees/a/config.worktree
critical 'a foreign common directory' .git/worktrees/b/commondir
critical 'a file below a foreign common directory' $worktrees/b/src/f1.c
critical 'a file that the repository does not name' $worktrees/c/src/f1.c
critical 'a file that names another repository' $worktrees/d/src/f1.c
critical 'a file of a gitdir with two lines' $worktrees/e/src/f1.c
critical 'a file of a HEAD that is no branch' $worktrees/f/src/f1.c
critical 'a setting in an agent directory that is a worktree' \
	.claude/settings.local.json
silent "$T/diff" ' A  .claude/worktrees/a/'
fresh
run_of 'git rm -q -r .
echo "{\"tasks\":[{\"command\":\"x\"}]}" >tasks.json
git add .
git commit -q -m two
git worktree add -q .vscode -b v
git reset -q --hard HEAD~1'
critical 'a checkout where a program reads it' .vscode/tasks.json
finish
