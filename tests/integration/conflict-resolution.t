#!/bin/sh
# Both sides changed a file: what can be put together is, and what cannot goes
# by what the user says: --ours, --theirs, --merge. No edit of his is lost
# without being named and stored.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- texts that go together ---
seq 1 30 >text
seq 1 30 >theirs.txt
printf 'a\0b\n' >binary
ok 'a run' guard run -q -- sh -c 'sed -i "s/^3$/three/" text; chmod 755 text
	sed -i "s/^3$/three/" theirs.txt'
settle
sed -i 's/^28$/of the user/' text
gives 0 'a dry run' guard apply -n
says "$out" 'text  '
says "$out" 'merged'
gives 0 'as JSON' guard apply -n --json
says "$out" '"how": "merged"'
is "$(sed -n 3p text)" 3 'a dry run changes nothing'
gives 0 'applied without a question' guard apply -y
says "$err" '1 merged'
is "$(sed -n 3p text)" three 'the change of the run is there'
is "$(sed -n 28p text)" 'of the user' 'the change of the user is there'
is "$(wc -l <text)" 30 'and nothing else has changed'
is "$(stat -c %a text)" 755 'the mode is the run'"'"'s'
gives 0 'taken back' guard undo -y
is "$(sed -n 3p text)" 3 'the text is as before the apply'
is "$(sed -n 28p text)" 'of the user' 'with the edit of the user'
is "$(stat -c %a text)" 644 'and its mode'
ok 'discarded' guard discard -y

# --- merged, and applied once more ---
seq 1 30 >text
ok 'a run' guard run -q -- sh -c 'sed -i "s/^3$/three/" text; echo x >rest'
settle
sed -i 's/^28$/of the user/' text
gives 0 'one path, merged' guard apply -y text
gives 0 'the rest of it' guard apply -y
is "$(sed -n '3p;28p' text)" 'three
of the user' 'the edit of the user is still there'
ok 'a run' guard run -q -- sh -c 'sed -i "s/^5$/five/" text; echo y >rest'
settle
sed -i 's/^25$/also of the user/' text
gives 0 'one path, merged' guard apply -y text
ok 'the run goes on' guard run -q --continue -- sed -i 's/^9$/nine/' text
settle
gives 0 'applied again' guard apply -y
is "$(sed -n '5p;9p;25p' text)" 'five
nine
also of the user' 'both edits of the run, and that of the user'

# --- what does not go together ---
# The run and the user, before each of the three answers.
clash() {
	rm -rf both gone new
	mkdir -p both gone/deep
	printf '1\n2\n3\n' >both/text
	printf 'a\0b\n' >both/binary
	echo one >both/run-deletes
	echo one >both/user-deletes
	echo one >gone/file
	echo one >gone/deep/file
	ok 'a run' guard run -q -- sh -c 'printf "1\nrun\n3\n" >both/text
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
gives 1 'nothing is applied without an answer' guard apply -y
for path in both/text both/binary both/run-deletes both/user-deletes new \
	gone/file gone/deep/added; do
	says "$err" "$path"
done
says "$err" --ours
says "$err" --theirs
says "$err" --merge
manifest "$HOME" >"$T/after"
ok 'the project is as before' same "$T/before" "$T/after"

gives 2 'two answers are one too many' guard apply -y --ours --theirs
says "$err" 'only one of'
gives 1 'markers only go into texts' guard apply -y --merge
says "$err" both/binary
silent "$err" both/text
is "$(cat both/text)" "1
user
3" 'and nothing is applied'

gives 0 'ours: dry' guard apply -n --ours
says "$err" "yours stays: 'both/text'"
gives 0 'ours' guard apply -y --ours
is "$(cat both/text)" "1
user
3" 'the text is the user'"'"'s'
is "$(tr -d '\0' <both/binary)" userb 'the binary is the user'"'"'s'
is "$(cat both/run-deletes new gone/file gone/deep/added)" "user
user
user
user" 'so is all that he changed or made'
no 'what he deleted stays away' test -e both/user-deletes
no 'what only the run deleted is gone' test -e gone/deep/file
is "$(cat both/free)" run 'what only the run did is applied'
gives 0 'undo after ours' guard undo -y
manifest "$HOME" >"$T/after"
ok 'all is as before' same "$T/before" "$T/after"
ok 'discarded' guard discard -y

clash
manifest both >"$T/before"
gives 0 'theirs' guard apply -y --theirs
for path in both/text both/binary both/run-deletes both/user-deletes new \
	gone/file; do
	says "$err" "your edit gives way: '$path'"
done
says "$err" "yours stays: 'gone/deep/added'"
says "$out" 'replaces your edit'
is "$(cat both/text)" "1
run
3" 'the text is the run'"'"'s'
is "$(tr -d '\0' <both/binary)" runb 'the binary is the run'"'"'s'
is "$(cat both/user-deletes new)" "run
run" 'what the user deleted or made is the run'"'"'s'
no 'deleted with the edit' test -e both/run-deletes
no 'in a deleted folder too' test -e gone/file
is "$(cat gone/deep/added)" user 'what the user added there stays'
no 'nothing else does' test -e gone/deep/file
gives 0 'undo after theirs' guard undo -y
is "$(cat both/run-deletes new gone/file)" "user
user
user" 'the edits are back'
manifest both >"$T/after"
ok 'all of them' same "$T/before" "$T/after"
gives 0 'theirs, with what was added named too' \
	guard apply -y --theirs -- gone gone/deep/added
says "$err" "your edit gives way: 'gone/deep/added'"
no 'the folder is gone' test -e gone
gives 0 'undo' guard undo -y
is "$(cat gone/deep/added)" user 'and the file is back'
ok 'discarded' guard discard -y

clash
gives 1 'markers, in texts alone' guard apply -y --merge -- both/text new
says "$err" "conflict markers are in 'both/text'"
says "$err" '2 files to be put right'
says "$out" 'conflict markers'
is "$(sed -n '2p;4p;6s/ [0-9a-z-]*$//p' both/text)" '<<<<<<< project
=======
>>>>>>> run' 'both versions stand there'
is "$(grep -c -e run -e user both/text)" 3 'each once, and the run'"'"'s name'
gives 0 'the rest waits' guard status
says "$out" ended
gives 0 'undo' guard undo -y
is "$(cat both/text)" "1
user
3" 'the text is the user'"'"'s again'
ok 'discarded' guard discard -y

# --- a link and a folder where there were files ---
echo one >a
echo one >b
ok 'a run' guard run -q -- sh -c 'echo run >a; echo run >b'
settle
rm a b
mkdir a
echo user >a/file
ln -s text b
gives 1 'a folder of the user is no file' guard apply -y --theirs
says "$err" "conflict: 'a'"
is "$(cat a/file)" user 'nothing happened to it'
gives 0 'a link is' guard apply -y --theirs b
is "$(stat -c %F b)" 'regular file' 'replaced by the file of the run'
is "$(sed -n 1p text)" 1 'and not followed'
ok 'discarded' guard discard -y

# --- a .git stays whole ---
ok 'a run commits' guard run -q -- sh -c 'echo x >>run.sh
	git -c user.name=a -c user.email=a commit -q -a -m run'
settle
git commit -q --allow-empty -m user
head=$(git rev-parse HEAD)
gives 1 'not by --theirs' guard apply -y --theirs .git run.sh
is "$(git rev-parse HEAD)" "$head" 'HEAD has not moved'
gives 0 'ours leaves it' guard apply -y --ours .git run.sh
is "$(git rev-parse HEAD)" "$head" 'HEAD has not moved'
ok 'git agrees' git fsck --strict
finish
