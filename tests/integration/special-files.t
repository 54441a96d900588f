#!/bin/sh
# A named pipe or a device in place of a file of the user's own repository.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# within COMMAND ARGS: ends a command that hangs
within() {
	timeout -k 1 20 "$@"
}
# repository: a new one, with a commit
repository() {
	rm -rf .git f .gitattributes
	git init -q -b main
	echo a | tee f >g
	git add f g
	git commit -q -m first
}
# put NAME: a named pipe in place of a file in .git
put() {
	rm -rf "${1:?}"
	case $1 in
	*/*) mkdir -p "${1%/*}" ;;
	esac
	mkfifo "$1"
}
# finishes NAME: a run ends, its changes can be shown and applied
finishes() {
	gives 0 "guard run ends when $1 is a named pipe" \
		within guard run -- sh -c 'echo b >f; rm g'
	cp "$err" "$T/run.err"
	gives 0 "... guard diff shows the run" within guard diff --no-pager
	says "$out" '+b'
	gives 0 "... guard apply applies it" within guard apply -y --yes-to all
	is "$(cat f)" b '... with its content'
	rm -rf .git
}

for name in .git/index .git/config .git/HEAD .git/objects/info/alternates \
	.git/packed-refs .git/refs/heads/main .git/refs/heads/x \
	.git/info/attributes .git/info/exclude .git/commondir .gitattributes; do
	repository
	put "$name"
	finishes "$name"
	case $name in
	.git/index | .git/config | .git/refs/heads/main)
		says "$T/run.err" "not compared with git"
		says "$T/run.err" "/project/$name'"
		says "$T/run.err" 'is a named pipe where git has a regular file'
		;;
	esac
done
repository
git gc -q
put "$(echo .git/objects/pack/*.idx)"
finishes 'a pack index'
repository
object=$(git rev-parse HEAD)
put ".git/objects/$(echo "$object" | sed 's,^..,&/,')"
finishes 'the object of HEAD'
repository
rm -rf .git
mkfifo .git
finishes .git
repository
rm .git/index
ln -s /dev/zero .git/index
finishes 'the index, or a link to a device,'
says "$T/run.err" 'is a device where git has a regular file'

# --- /dev/null stands for an empty file in settings of git ---
repository
for name in include.path core.excludesFile core.attributesFile; do
	git config "$name" /dev/null
done
ln -s /dev/null "$HOME/.gitconfig"
gives 0 'a run is made where /dev/null is a file of git' \
	within guard run -- sh -c 'echo b >f; rm g'
silent "$err" 'not compared with git'
gives 0 'apply --commit is accepted there' \
	within guard apply -y --yes-to all --commit -m text
is "$(git show HEAD:f)" b 'the commit has the change'
rm "$HOME/.gitconfig"

# --- the other users of the repository ---
for name in .git/index .git/config .git/HEAD .git/refs/heads/main; do
	repository
	ok 'a run is made' within guard run -q -- sh -c 'echo b >f'
	put "$name"
	within guard apply -y --yes-to all --commit -m text >"$out" 2>"$err"
	no "apply --commit ends when $name is a named pipe" test $? -ge 124
	rm -rf .git
	within guard discard -y -q latest >/dev/null 2>&1
done
repository
put "$HOME/.gitconfig"
ok 'a run is made' within guard run -q -- sh -c 'echo b >f'
within guard apply -y --yes-to all --commit -m text >"$out" 2>"$err"
no 'apply --commit ends when ~/.gitconfig is a named pipe' test $? -ge 124
says "$err" "/.gitconfig' is a named pipe"
rm "$HOME/.gitconfig"
ok 'the run is discarded' guard discard -y -q latest

finish
