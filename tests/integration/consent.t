#!/bin/sh
# Critical changes are applied only with a consent of their own.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
cd "$HOME/project" || exit 99
task='{"tasks": [{"command": "evil"}]}'
work() {
	guard run -q --name "$1" -- sh -c '
		mkdir -p .vscode
		echo "{\"tasks\": [{\"command\": \"evil\"}]}" >.vscode/tasks.json
		echo ". evil" >.envrc
		echo changed >>README.md
		echo new >new'
}
back() {
	guard undo -q -y
}
work one

# --- without a terminal ---
manifest "$HOME/project" >"$T/before"
gives 1 'apply -y refuses critical changes' guard apply -y one
says "$err" "needs your consent: '.vscode/tasks.json' runs when the directory is opened in an editor: tasks.command: evil"
says "$err" "needs your consent: '.envrc' runs when you enter the directory"
says "$err" 'guard apply --yes-to .envrc --yes-to .vscode/tasks.json -y one'
says "$err" 'guard apply --except critical -y one'
silent "$err" README.md
manifest "$HOME/project" >"$T/after"
ok 'a refused apply changes no file' same "$T/before" "$T/after"
gives 1 'apply without any argument refuses them, too' guard apply
says "$err" 'guard apply --yes-to .envrc --yes-to .vscode/tasks.json -y'
says "$err" 'guard apply --except critical -y'
gives 1 'apply -n ends as the apply would' guard apply -n one
says "$err" 'needs your consent'
gives 1 'apply --json -y refuses them, too' guard apply --json -y one
says "$out" '"rule": "editor-command"'
says "$out" '"rule": "directory-enter"'
says "$out" '"allowed_by_yes_to": true'
gives 1 'consent to one of two is not enough' \
	guard apply -y --yes-to .envrc one
silent "$err" "'.envrc'"
says "$err" "'.vscode/tasks.json'"
gives 1 'an id of another rule allows neither' \
	guard apply -y --yes-to git-hook one
gives 1 'a directory is no consent to its files' \
	guard apply -y --yes-to .vscode --yes-to .envrc one

# --- the commands that the refusal names ---
gives 0 'apply --yes-to with both paths applies all' \
	guard apply --yes-to .envrc --yes-to .vscode/tasks.json -y one
is "$(cat .vscode/tasks.json)" "$task" 'the allowed change is applied'
ok 'undo reverts it' back
gives 0 'apply --yes-to all applies all' guard apply -q -y --yes-to all one
ok 'undo reverts all' back
gives 0 'apply --yes-to with the ids of both rules applies all' \
	guard apply -q -y --yes-to editor-command --yes-to directory-enter one
ok 'the change with the second rule is applied' test -e .envrc
ok 'undo reverts both' back
gives 0 'apply --except critical applies the rest' \
	guard apply --except critical -y one
is "$(cat new)" new 'a harmless change is applied'
no 'a critical change is left out, and the directory of nothing else' \
	test -e .envrc -o -e .vscode
gives 0 'the run stays pending after --except' guard status -q
says "$out" "$(guard status -q one)"
gives 0 'the rest of the run can be applied' guard apply -q -y --yes-to all
ok 'the rest is applied' test -e .envrc -a -e .vscode/tasks.json
is "$(guard status -q)" '' 'the run is applied then'
back
guard undo -q -y 1
gives 0 'apply --except with paths leaves these out' \
	guard apply -q -y --except .vscode --except .envrc --except new one
no 'a path below an excepted directory is left out' test -e .vscode/tasks.json
no 'an excepted file is left out' test -e new
is "$(tail -n 1 README.md)" changed 'the other file is applied'
back
gives 0 'a critical file that is named itself needs no other consent' \
	guard apply -q -y one .envrc
ok 'the named file is applied' test -e .envrc
back
gives 1 'a named directory is no consent to its files' \
	guard apply -q -y one .vscode
gives 1 '--except of an unknown path is refused' \
	guard apply -y --except no/such one
gives 2 '--except with --commit is a usage error' \
	guard apply -y --commit --except critical one

# --- on a terminal ---
ok 'apply asks about each critical change' answers 'apply one' y n y
says "$out" "'.envrc' runs when you enter the directory"
says "$out" 'apply it anyway?'
ok 'a change with a yes is applied' test -e .envrc
no 'a change with a no is left out' test -e .vscode/tasks.json
is "$(cat new)" new 'the rest is applied with it'
back
ok 'apply -y asks about them alone' answers 'apply -y one' n n
no 'no critical change is applied' test -e .envrc -o -e .vscode/tasks.json
is "$(cat new)" new 'all other changes are applied'
back
no 'no answers at the end of input apply nothing' answers 'apply one'
no 'no harmless change is applied, either' test -e new

# --- review ---
ok 'a yes to a critical change alone is a consent' \
	answers 'review one -- .envrc' y y
ok 'the accepted change is applied' test -e .envrc
back
guard discard -q -y one

# --- a deleted directory with an excepted path ---
mkdir gone
echo a >gone/a
echo b >gone/b
guard snapshot -q
guard run -q --name two -- sh -c 'rm -r gone; echo x >other'
gives 0 'apply --except of a path in a deleted directory' \
	guard apply -q -y --except gone/a two
is "$(cat gone/a)" a 'the excepted file stays'
is "$(cat other)" x 'the other change is applied'
guard discard -q -y two

# --- a move with a half that is left out ---
mkdir -p parts
echo "$task" >parts/tasks.json
seq 1 40 >parts/plain
git add parts
git commit -q -m parts
guard run -q --name half -- sh -c 'mkdir -p .vscode
	mv parts/tasks.json .vscode; mv parts/plain parts/new'
gives 0 'apply --except critical' guard apply -y --except critical half
says "$err" "'parts/tasks.json' is left out too: it is the old name of '.vscode/tasks.json'"
ok 'deletes no old name of a file that is left out' test -e parts/tasks.json
ok 'and makes the other move' test -e parts/new -a ! -e parts/plain
back
gives 0 'apply --except of the old name' \
	guard apply -q -y --except parts/plain --except critical half
no 'leaves out the new one, too' test -e parts/new
back
gives 0 'apply --only --except of the new name' \
	guard apply -q -y --only --except parts/new --except critical half
no 'takes the deletion alone' test -e parts/plain
back
ok 'a no to the new name' answers "apply half" n y
ok 'keeps the old one' test -e parts/tasks.json
back
guard discard -q -y half

# --- ways round a consent ---
mkdir conf
echo "$task" >conf/tasks.json
git add conf
git commit -q -m conf
head=$(git rev-parse HEAD)
# round WHAT RUN TEXT
round() {
	gives 1 "apply -y refuses $1" guard apply -y "$2"
	says "$err" "$3"
	guard discard -q -y "$2"
}
guard run -q --name moved -- mv conf .vscode
gives 1 'apply -y refuses a directory that moved to a known name' \
	guard apply -y moved
says "$err" "'.vscode/tasks.json' runs when the directory is opened"
gives 1 'also where its old name alone is named' guard apply -y moved conf
guard discard -q -y moved
guard run -q --name linked -- ln -s conf .vscode
round 'a link to a directory' linked "'.vscode' runs when"
guard run -q --name link -- ln -s README.md .envrc
round 'a link to a file' link "'.envrc' runs when"
guard run -q --name repository -- sh -c 'mkdir -p k/objects k/refs
	cp .git/HEAD k; printf "[alias]\n\tst = !evil\n" >k/config'
round 'a planted repository' repository "'k/config' runs at every git command"
ln -s conf .vscode
guard snapshot -q
guard run -q --name through -- sh -c 'echo "$1" >conf/launch.json' sh "$task"
gives 0 'review knows the link' guard review through
says "$out" 'runs when the directory is opened in an editor'
gives 0 'diff does, too' guard diff through
says "$out" 'runs when the directory is opened in an editor'
round 'a file that an earlier link gives a critical name' through \
	"'conf/launch.json' runs when the directory is opened"
rm .vscode
mkdir scripts
echo true >scripts/pre-push
git config core.hooksPath scripts
guard run -q --name hooks -- sh -c 'echo evil >scripts/pre-push'
gives 0 'review knows the directory of core.hooksPath' guard review hooks
says "$out" 'runs by git at commit, checkout, merge, push or fetch'
round 'a hook where core.hooksPath points to' hooks \
	"'scripts/pre-push' runs by git at commit"
git config --unset core.hooksPath
guard run -q --name setid -- sh -c 'cp /bin/true tool; chmod 4755 tool'
round 'set-id bits' setid "'tool': carries set-id bits"
guard run -q --name both -- sh -c 'cp /bin/true .envrc; chmod 4755 .envrc'
gives 1 'a consent to set-id bits is none to a critical name' \
	guard apply -y --yes-to set-id both
says "$err" "'.envrc' runs when you enter the directory"
gives 0 'both rules allow it' \
	guard apply -q -y --yes-to set-id --yes-to directory-enter both
back
guard discard -q -y both
guard run -q --name part -- sh -c 'mkdir .zed; echo "$1" >.zed/tasks.json' \
	sh "$task"
round 'a file of a new directory' part "'.zed/tasks.json' runs when"

mkdir -p "$HOME/.config/fish"
guard run -q --name root --cow "$HOME/.config" -- sh -c \
	'echo evil >~/.config/fish/config.fish'
round 'a file below a granted directory with a known name' root \
	"fish/config.fish' runs when a shell starts"
cd "$HOME/.config/fish" || exit 99
guard run -q --name inside -- sh -c 'echo evil >config.fish'
round 'a file of a project with such a name' inside \
	"'config.fish' runs when a shell starts"
cd "$HOME/project" || exit 99

guard run -q --name commits -- sh -c 'echo evil >.envrc; echo b >new
	mkdir -p .zed; echo "$1" >.zed/tasks.json
	git add .envrc .zed new; git commit -q -m evil' sh "$task"
gives 1 'apply --commits -y refuses a critical change' \
	guard apply -y --commits commits
says "$err" 'guard apply --yes-to .envrc --yes-to .zed/tasks.json -y --commits commits'
no 'a no to a critical change of a commit applies nothing' \
	answers 'apply --commits commits' n y
says "$out" 'nothing applied: a commit takes all files'
is "$(grep -c 'apply it anyway' "$out")" 1 'no question follows the first no'
is "$(git rev-parse HEAD)" "$head" 'the branch did not move'
no 'apply --commit does the same' \
	answers 'apply --commit -m x commits' n y
is "$(git rev-parse HEAD)" "$head" 'no commit was made'
no 'no file was applied' test -e .envrc -o -e new
guard discard -q -y commits

guard run -q --name timeless -- sh -c 'echo evil >.envrc'
gives 0 'an apply whose only change is left out' \
	guard apply --except critical -y timeless
says "$err" 'nothing left to apply'
is "$(guard undo -n 2>&1 | grep -c timeless)" 0 'is nothing to undo'
guard discard -q -y timeless

# --- only copies ---
mkdir photos
for n in 1 2 3 4 5 6; do echo "photo $n" >photos/$n.jpg; done
echo only >only
: >nil
guard run -q --name loss -- sh -c 'rm -r photos; rm only nil README.md'
manifest "$HOME/project" >"$T/before"
gives 1 'apply -y refuses to delete only copies' guard apply -y loss
says "$err" 'needs your consent: 7 files have no other copy:'
says "$err" 'photos/  all 6 files, 48 B  !! no other copy'
says "$err" 'guard:   only  5 B'
says "$err" 'guard apply --yes-to only-copy -y loss'
says "$err" 'guard apply --except critical -y loss'
says "$err" '--yes-to PATH and --except PATH decide on one file'
silent "$err" nil
silent "$err" README.md
manifest "$HOME/project" >"$T/after"
ok 'and nothing is applied' same "$T/before" "$T/after"
gives 1 'apply without any argument refuses it, too' guard apply
says "$err" '7 files have no other copy'
gives 1 'apply -q -y refuses it, too' guard apply -q -y loss
says "$err" '7 files have no other copy'
gives 1 'apply --json -y lists them' guard apply --json -y loss
is "$(grep -c '"rule": "only-copy"' "$out")" 7 'each file has the rule'
says "$out" '"path": "photos/6.jpg"'
gives 1 'a consent to one file is none to the others' \
	guard apply -y --yes-to only loss
says "$err" '6 files have no other copy'
gives 1 'a deleted directory as an operand is no consent' \
	guard apply -y loss photos
gives 0 'a file as an operand is one' guard apply -q -y loss only
no 'the file is deleted' test -e only
back
gives 1 'a deleted directory allows its files' \
	guard apply -y --yes-to photos loss
says "$err" "needs your consent: 'only' would be deleted, and has no other copy"
says "$err" 'guard apply --yes-to only -y --yes-to photos loss'
gives 0 'the command that this refusal names' \
	guard apply -q --yes-to only -y --yes-to photos loss
no 'all of it is deleted' test -e only -o -e photos
back
gives 0 'apply --yes-to only-copy' guard apply -q -y --yes-to only-copy loss
no 'deletes them' test -e only -o -e photos
back
gives 0 'apply --yes-to all' guard apply -q -y --yes-to all loss
no 'deletes them, too' test -e only -o -e photos
back
gives 0 'apply --except critical' guard apply -q -y --except critical loss
ok 'keeps them' test -e only -a -e photos/6.jpg
no 'and deletes files that git has, and empty ones' \
	test -e README.md -o -e nil
back
gives 0 'apply --except of one, --yes-to of the other' \
	guard apply -y --except only --yes-to photos loss
is "$(cat only)" only 'keeps the one'
no 'and deletes the other' test -e photos
silent "$out" only
back
ok 'a question for all of them, and no number' answers 'apply loss' n y
says "$out" 'Delete 7 files that have no other copy? Type 7:'
ok 'keeps them all' test -e only -a -e photos/6.jpg
no 'and the rest is deleted' test -e README.md
back
ok 'the number, also with -y' answers 'apply -y loss' 7
no 'deletes them all' test -e only -o -e photos
back
ok 'one file is confirmed by y' answers 'apply --yes-to photos loss' y y
no 'and is deleted' test -e only
back
guard discard -q -y loss
guard run -q --name doubled -- sh -c 'cp only copy; rm only'
gives 0 'a file with a copy in the result needs none' guard apply -q -y doubled
back
gives 1 'unless the copy alone is left out' \
	guard apply -y --only --except copy doubled
says "$err" "'only' would be deleted, and has no other copy"
guard discard -q -y doubled
guard run -q --name over -- sh -c 'echo else >only'
gives 1 'an overwritten only copy needs one' guard apply -y over
says "$err" "'only' would be overwritten, and has no other copy"
guard discard -q -y over
guard run -q --name reviewed -- rm only
ok 'the answer of a review is a consent' answers 'review reviewed' y y
no 'and the file is deleted' test -e only
back
guard discard -q -y reviewed
rm -r photos
rm only nil

# --- instructions and versions need none ---
guard run -q --name three -- sh -c 'echo "Be brief." >CLAUDE.md
	mkdir -p .vscode; echo "{\"editor.tabSize\": 4}" >.vscode/settings.json'
gives 0 'a change that is not critical needs no consent' guard apply -q -y three
ok 'it is applied' test -e CLAUDE.md -a -e .vscode/settings.json

# --- the user's own rules ---
mkdir -p "$HOME/.config/guard"
echo 'critical deploy-key deploy/ "is used by the deployment"' \
	>"$HOME/.config/guard/risk.rules"
guard run -q --name four -- sh -c 'mkdir -p deploy .config/guard
	echo x >deploy/key; echo "off make-recipe" >.config/guard/risk.rules
	printf "all:\n\tcurl e\n" >Makefile'
gives 0 'diff names what a rule of the user matches' guard diff four
says "$out" 'is used by the deployment'
says "$out" 'runs at make (line 2): curl e'
gives 1 'a critical rule of the user asks for a consent' \
	guard apply -y --yes-to guard-settings four
says "$err" "'deploy/key' is used by the deployment"
gives 0 'its id gives the consent' \
	guard apply -q -y --yes-to guard-settings --yes-to deploy-key four
echo 'critical two-words "my deploy/keys/" "is used twice"' \
	>"$HOME/.config/guard/risk.rules"
guard run -q --name five -- sh -c 'mkdir -p "my deploy/keys" my keys
	echo x >"my deploy/keys/k"; echo x >my/k; echo x >keys/k'
gives 1 'a pattern with a blank is one pattern' guard apply -y five
says "$err" "'my deploy/keys/k' is used twice"
no 'its parts match no file' grep -q "'my/k'\|'keys/k'" "$err"
guard discard -q -y five
guard run -q --name five -- true
echo 'high x' >>"$HOME/.config/guard/risk.rules"
gives 2 'a line that is no rule is an error' guard diff four
says "$err" ".config/guard/risk.rules':2"
gives 0 'a verb that judges nothing goes on' guard log
rm "$HOME/.config/guard/risk.rules"

# --- a .git ---
git init -q "$HOME/own"
cd "$HOME/own" || exit 99
git config gc.auto 0
git commit -q --allow-empty -m one
git branch a/b
git commit -q --allow-empty -m two
git init -q --bare other.git
git init -q --bare bare.git
git push -q bare.git HEAD:refs/heads/a/b HEAD
refs() {
	git for-each-ref
	git --git-dir bare.git for-each-ref
}
refs >"$T/refs"
# packed DIR COMMANDS ARGUMENTS...: a run packs the refs, and packed-refs stays
packed() {
	guard run -q -- sh -ec "git --git-dir $1 pack-refs --all; $2"
	dir=$1
	shift 2
	gives 0 "$dir: refs that are packed stay with $*" guard apply -q -y "$@"
	refs >"$T/now"
	ok 'no ref is lost' same "$T/refs" "$T/now"
	ok 'the file is left out' test ! -e "$dir/packed-refs"
	guard discard -q -y 2>"$T/x"
}
packed .git : .git . --except .git/packed-refs
packed .git 'git replace HEAD HEAD~1; git pack-refs --all' \
	.git . --except critical
packed bare.git : . --except bare.git/packed-refs
packed bare.git 'cd bare.git; git replace HEAD HEAD~1; git pack-refs --all' \
	. --except critical
guard run -q -- git pack-refs --all
gives 0 'packed refs are applied with their deletions' \
	guard apply -q -y .git
ok 'no loose ref is left' test ! -e .git/refs/heads/a/b
refs >"$T/now"
ok 'nor is one lost' same "$T/refs" "$T/now"

git worktree add -q "$HOME/linked" -b linked
git init -q sub
# replaced FILE COMMANDS ARGUMENTS...: the .git FILE becomes another one
replaced() {
	file=$1
	guard run -q -- sh -ec "$2"
	shift 2
	ls -ld "$file" >"$T/before"
	gives 1 "another repository in place of $file is asked for: $*" \
		guard apply -y "$@"
	says "$err" "guard apply --yes-to $file"
	ls -ld "$file" >"$T/after"
	ok 'it stays' same "$T/before" "$T/after"
	gives 0 'its own consent applies it' \
		guard apply -q -y --yes-to "$file" "$@"
	back
	guard discard -q -y
}
replaced .git 'mv .git /tmp/g; ln -s other.git .git' .git
replaced .git 'mv .git /tmp/g; echo gitdir: other.git >.git' .git
replaced .git 'mv .git /tmp/g; echo gitdir: other.git >.git' .git .
replaced sub/.git 'mv sub/.git /tmp/g; ln -s ../other.git sub/.git' sub/.git
cd "$HOME/linked" || exit 99
replaced .git "echo gitdir: $HOME/own/other.git >.git" .git

finish
