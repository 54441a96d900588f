#!/bin/sh
# The current directory was deleted, moved, or made again, also by guard: each
# command names what helps, and the named command, run from there, does.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
project="$HOME/src/it's a project"
mkdir -p "$project/sub dir/deep" "$project/-d"
cd "$project" || exit 99
git init -q
echo one >file
echo two >'sub dir/deep/two'
echo three >./-d/three
ok 'the project is stored' guard snapshot -q
manifest "$project" >"$T/before"

# helps VERB...: guard VERB fails here; the command that it names brings the
# directory back.
helps() {
	guard "$@" >"$out" 2>"$err" </dev/null
	is "$?" "$wanted" "guard $* is refused in a deleted directory"
	command=$(sed -n 's/.*: \(cd \/ && guard restore .*\) restores it.*/\1/p' \
		"$err")
	ok "guard $* names a command that restores the directory" \
		sh -c "$command -y"
	restored=$(pwd -L)
	ok 'it is there again' test -e "$restored"
}

for dir in "$project" "$project/sub dir" "$project/sub dir/deep" "$project/-d"; do
	cd "$dir" || exit 99
	for verb in status 'restore .' 'run true'; do
		rm -rf "$dir"
		wanted=1
		[ "$verb" != 'run true' ] || wanted=125
		# shellcheck disable=SC2086 # words
		helps $verb
		gives "$wanted" 'the new directory of that name is named then' \
			guard "${verb%% *}" true
		says "$err" "cd '"
		cd / && cd "$dir" || exit 99
	done
done
cd "$project" || exit 99
for verb in diff log undo redo snapshot apply discard review 'exec -- true' \
	'show file' 'find file' 'grep one' 'explain .' patch import stop \
	'status --all' 'snapshot .' 'restore file' 'purge file' 'pin 1'; do
	rm -rf "$project"
	# shellcheck disable=SC2086 # words
	guard $verb >"$out" 2>"$err" </dev/null
	ok "guard $verb is refused" test $? -ne 0
	says "$err" 'cd / && guard restore '
	mkdir "$project"
done
rm -rf "$project"
cd / || exit 99
guard restore -q -y "$project"

# --- deleted by an action of guard itself ---
cd "$project/sub dir/deep" || exit 99
guard run -q -- rm -r "../../sub dir"
gives 0 'an apply deletes the current directory' \
	guard apply -y --yes-to all
command=$(sed -n 's/^guard:   \(guard .* undo\) reverts it.*/\1/p' "$err")
ok 'the named undo works from the deleted directory' sh -c "$command -y"
ok 'it is back' test -e "$project/sub dir/deep/two"
cd "$project/sub dir/deep" || exit 99
gives 0 'redo deletes it again' guard redo -y
command=$(sed -n 's/^guard:   \(guard .* undo\) undoes it.*/\1/p' "$err")
ok 'the undo that redo names works from there' sh -c "$command -y"
cd "$project" || exit 99

# --- moved away: the directory exists ---
cd "$project/sub dir" || exit 99
mv "$project/sub dir" "$project/moved"
gives 0 'a moved directory is in its project still' guard status
mv "$project/moved" "$project/sub dir"
cd "$HOME" || exit 99
mkdir "$HOME/x (deleted)"
cd "$HOME/x (deleted)" || exit 99
gives 0 'a directory with the kernel'"'"'s mark in its name exists' guard status
finish
