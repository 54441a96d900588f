#!/bin/sh
# diff --json=hunks: an object a line, for programs.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 20 >text
echo gone >gone
git add -A
git commit -q -m files
echo only >copy
ok 'a run changes some files' guard run -q -- sh -c '
	sed -i "2s/.*/two/;19s/.*/nineteen/" text
	rm gone copy
	printf "a\177\033[2J\342\200\256\377" >odd
	mkdir .vscode fresh
	for i in $(seq 20); do echo $i >fresh/$i; done
	echo "{\"tasks\":[{\"command\":\"x\",\"runOptions\":{\"runOn\":\"folderOpen\"}}]}" >.vscode/tasks.json'

# line TYPE TEXT: prints the lines of this type with the text
line() {
	grep "^{\"type\":\"$1\"" "$out" | grep -F -- "$2"
}

# has TITLE TYPE PATH TEXT: the object of this path has the text
has() {
	line "$2" "\"path\":\"$3\"" >"$T/line"
	ok "$1" grep -qF -- "$4" "$T/line"
}

gives 0 'diff --json=hunks prints objects' guard diff --json=hunks
no 'all of it is printable ASCII' grep -q '[^ -~]' "$out"
is "$(head -n 1 "$out" | cut -c 1-42)" '{"type":"run","schema":"guard.hunks/1","ru' \
	'the first line is the run with the schema'
is "$(tail -n 1 "$out")" '{"type":"end","entries":27,"hunks":24}' \
	'the last line has the number of entries and hunks'
has 'an entry has its blob before' entry text \
	"\"old_blob\":\"$(git rev-parse HEAD:text)\""
has 'and after' entry text "\"new_blob\":\"$(
	sed '2s/.*/two/;19s/.*/nineteen/' text | git hash-object --stdin)\""
has 'a deleted file has no blob after' entry gone '"new_blob":null'
has 'a file that git has is no loss' entry gone '"loss":"in-git"'
has 'the only copy is' entry copy '"loss":"no-copy"'
has 'an entry names the directory that diff shows in its place' entry fresh/7 \
	'"fold":"fresh"'
has 'an entry with a line of its own is in no fold' entry text '"fold":null'
has 'a hunk has its lines' hunk text '"text":" 1\n-2\n+two\n 3'
has 'a hunk has its place' hunk text '"old_start":16,"old_lines":5,"new_start":16'
has 'a risk has the id of its rule' risk .vscode/tasks.json '"id":"'
has 'bytes that are no text are in base64' hunk odd '"text":null,"text_b64":"'
line hunk '"path":"odd"' >"$T/odd"
kind=$(line hunk nineteen | sed 's/.*"kind":"\([0-9a-f]*\)".*/\1/')
ok 'the kind of a hunk can be applied' guard apply -n -y --kind "$kind"
no 'without a review there is no decision' grep -q '"decision":"' "$out"

no 'a review decides on two hunks' answers review '/^two' y n '/^gone$' y q n
gives 0 'diff --json=hunks has the decisions' guard diff --json=hunks
is "$(line hunk '"path":"text"' | sed 's/.*"decision":"\([a-z]*\)".*/\1/' |
	tr '\n' ' ')" 'yes no ' 'each hunk has its decision'
has 'a file of different answers is decided in part' entry text \
	'"decision":"part"'
has 'a deletion has its decision' entry gone '"decision":"yes"'
has 'the other changes are open' entry copy '"decision":"open"'
gives 2 'another form is refused' guard diff --json=lines
gives 2 'snapshots have no hunks' guard diff --json=hunks 1
gives 0 '--json alone is one value' guard diff --json
is "$(head -n 1 "$out")" '{' 'as before'
says "$out" '"counts"'
finish
