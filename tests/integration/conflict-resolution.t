#!/bin/sh
# Run and user changed the same file: apply merges where that is possible;
# --ours, --theirs and --merge decide the rest. No edit of the user is lost
# without being named and stored.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- texts that can be merged ---
seq 1 30 >text
seq 1 30 >theirs.txt
printf 'a\0b\n' >binary
ok 'a run changes the beginning of two texts' \
	guard run -q -- sh -c 'sed -i "s/^3$/three/" text; chmod 755 text
	sed -i "s/^3$/three/" theirs.txt'
settle
sed -i 's/^28$/of the user/' text
gives 0 'apply -n accepts texts that can be merged' guard apply -n
says "$out" 'text  '
says "$out" 'merged'
gives 0 'apply -n --json accepts texts that can be merged' guard apply -n --json
says "$out" '"how": "merged"'
is "$(sed -n 3p text)" 3 'apply -n changes no file'
gives 0 'apply -y merges without a question' guard apply -y
says "$err" '1 merged'
is "$(sed -n 3p text)" three "the merged text has the run's change"
is "$(sed -n 28p text)" 'of the user' "the merged text has the user's change"
is "$(wc -l <text)" 30 'the merged text has no further line'
is "$(stat -c %a text)" 755 "the merged file has the run's mode"
gives 0 'undo reverts the merge' guard undo -y
is "$(sed -n 3p text)" 3 "undo removes the run's change"
is "$(sed -n 28p text)" 'of the user' "undo keeps the user's change"
is "$(stat -c %a text)" 644 'undo restores the mode'
ok 'discard drops the run' guard discard -y

# --- a merged file is applied again ---
seq 1 30 >text
ok 'a run changes a text and adds a file' \
	guard run -q -- sh -c 'sed -i "s/^3$/three/" text; echo x >rest'
settle
sed -i 's/^28$/of the user/' text
gives 0 'apply accepts one path to be merged' guard apply -y text
gives 0 'apply accepts the rest of the run' guard apply -y
is "$(sed -n '3p;28p' text)" 'three
of the user' 'applying the rest keeps the merged text'
ok 'a run changes another line' \
	guard run -q -- sh -c 'sed -i "s/^5$/five/" text; echo y >rest'
settle
sed -i 's/^25$/also of the user/' text
gives 0 'apply merges that path' guard apply -y text
ok 'run --continue changes a third line' \
	guard run -q --continue -- sed -i 's/^9$/nine/' text
settle
gives 0 'apply accepts the same path again' \
	guard apply -y --yes-to only-copy
is "$(sed -n '5p;9p;25p' text)" 'five
nine
also of the user' "the text has both changes of the run and the user's"

# --- conflicts that need an answer ---
# clash: a run and edits of the user that conflict in every way
clash() {
	rm -rf both gone new
	mkdir -p both gone/deep
	printf '1\n2\n3\n' >both/text
	printf 'a\0b\n' >both/binary
	echo one >both/run-deletes
	echo one >both/user-deletes
	echo one >gone/file
	echo one >gone/deep/file
	git add both gone
	ok 'a run conflicts with the user in every way' \
		guard run -q -- sh -c 'printf "1\nrun\n3\n" >both/text
		printf "run\0b\n" >both/binary; rm both/run-deletes
		echo run >both/user-deletes; echo run >new; rm -r gone
		echo run >both/free'
	settle
	printf '1\nuser\n3\n' >both/text
	printf 'user\0b\n' >both/binary
	echo user >both/run-deletes
	rm both/user-deletes
	echo user >new
	echo user >gone/file
	echo user >gone/deep/added
}

clash
manifest "$HOME" >"$T/before"
gives 1 'apply without an answer is refused' guard apply -y
for path in both/text both/binary both/run-deletes both/user-deletes new \
	gone/file gone/deep/added; do
	says "$err" "$path"
done
says "$err" --ours
says "$err" --theirs
says "$err" --merge
manifest "$HOME" >"$T/after"
ok 'the refused apply changes no file' same "$T/before" "$T/after"

gives 2 'two answers are refused' guard apply -y --ours --theirs
says "$err" '--ours and --theirs exclude each other'
gives 1 'apply --merge is refused for binary files' guard apply -y --merge
says "$err" both/binary
silent "$err" both/text
is "$(cat both/text)" "1
user
3" 'the refused --merge changes no text'

gives 0 'apply -n --ours is accepted' guard apply -n --ours
says "$err" "your version is kept: 'both/text'"
gives 0 'apply --ours is accepted' guard apply -y --ours
is "$(cat both/text)" "1
user
3" "--ours keeps the user's text"
is "$(tr -d '\0' <both/binary)" userb "--ours keeps the user's binary file"
is "$(cat both/run-deletes new gone/file gone/deep/added)" "user
user
user
user" '--ours keeps every file that the user changed or added'
no '--ours keeps a deletion of the user' test -e both/user-deletes
no '--ours deletes what only the run deleted' test -e gone/deep/file
is "$(cat both/free)" run '--ours applies what only the run changed'
gives 0 'undo reverts apply --ours' guard undo -y
manifest "$HOME" >"$T/after"
ok 'undo restores the state before --ours' restored "$T/before" "$T/after"
ok 'discard drops the run' guard discard -y

clash
manifest both >"$T/before"
gives 0 'apply --theirs is accepted' guard apply -y --theirs
for path in both/text both/binary both/run-deletes both/user-deletes new \
	gone/file; do
	says "$err" "your edit is replaced: '$path'"
done
says "$err" "your version is kept: 'gone/deep/added'"
says "$out" 'replaces your edit'
is "$(cat both/text)" "1
run
3" "--theirs writes the run's text"
is "$(tr -d '\0' <both/binary)" runb "--theirs writes the run's binary file"
is "$(cat both/user-deletes new)" "run
run" '--theirs writes files that the user deleted or added'
no '--theirs deletes a file that the user edited' test -e both/run-deletes
no '--theirs deletes an edited file in a deleted directory' test -e gone/file
is "$(cat gone/deep/added)" user \
	'--theirs keeps a file that only the user added'
no '--theirs deletes the unchanged file beside it' test -e gone/deep/file
gives 0 'undo reverts apply --theirs' guard undo -y
is "$(cat both/run-deletes new gone/file)" "user
user
user" "undo brings back the user's edits"
manifest both >"$T/after"
ok 'undo restores all files that --theirs changed' restored "$T/before" "$T/after"
gives 0 "apply --theirs accepts the path of the user's new file" \
	guard apply -y --theirs -- gone gone/deep/added
says "$err" "your edit is replaced: 'gone/deep/added'"
no '--theirs with that path deletes the whole directory' test -e gone
gives 0 'undo reverts that deletion' guard undo -y
is "$(cat gone/deep/added)" user "undo brings back the user's new file"
ok 'discard drops the run' guard discard -y

clash
gives 1 'apply --merge of texts ends with 1' \
	guard apply -y --merge -- both/text new
says "$err" "conflict markers are in 'both/text'"
says "$err" '2 files to resolve'
says "$out" 'conflict markers'
is "$(sed -n '2p;4p;6s/ [0-9a-z-]*$//p' both/text)" '<<<<<<< project
=======
>>>>>>> run' '--merge writes both versions between conflict markers'
is "$(grep -c -e run -e user both/text)" 3 \
	'each version stands there once, with the id of the run'
gives 0 'status works after --merge' guard status
says "$out" ended
gives 0 'undo reverts --merge' guard undo -y
is "$(cat both/text)" "1
user
3" "undo restores the user's text"
ok 'discard drops the run' guard discard -y

# --- the user replaced files by a directory and a symbolic link ---
echo one >a
echo one >b
ok 'a run changes two files' guard run -q -- sh -c 'echo run >a; echo run >b'
settle
rm a b
mkdir a
echo user >a/file
ln -s text b
gives 1 '--theirs refuses to replace a directory by a file' \
	guard apply -y --theirs
says "$err" "conflict: 'a'"
is "$(cat a/file)" user "the refused apply keeps the user's directory"
gives 0 '--theirs accepts a symbolic link in place of the file' \
	guard apply -y --theirs b
is "$(stat -c %F b)" 'regular file' \
	"--theirs replaces the link by the run's file"
is "$(sed -n 1p text)" 1 '--theirs does not write through the link'
ok 'discard drops the run' guard discard -y

# --- a .git is applied as a whole or not at all ---
ok 'a run commits' guard run -q -- sh -c 'echo x >>run.sh
	git -c user.name=a -c user.email=a commit -q -a -m run'
settle
git commit -q --allow-empty -m user
head=$(git rev-parse HEAD)
gives 1 '--theirs refuses a .git whose HEAD moved' \
	guard apply -y --theirs .git run.sh
is "$(git rev-parse HEAD)" "$head" 'the refused apply does not move HEAD'
gives 0 '--ours accepts the .git' guard apply -y --ours .git run.sh
is "$(git rev-parse HEAD)" "$head" '--ours does not move HEAD'
ok 'git fsck accepts the repository' git fsck --strict
finish
