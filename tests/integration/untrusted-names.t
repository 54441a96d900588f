#!/bin/sh
# Untrusted names and contents are escaped on a terminal, and no name, link or
# kind of file leads out of the project.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

make_home
cd "$HOME/project" || exit 99

# raw FILE: whether it has a control character besides newline and tab
# shellcheck disable=SC2317 # called through no()
raw() {
	LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$1"
}

ok 'a run creates files with unusual names' guard run -q -- sh -c '
	printf x >"$(printf "new\nline")"
	printf x >"$(printf "esc\033[2J\033]0;title\007")"
	printf x >"$(printf "bidi\342\200\256gpj.sh")"
	printf x >"$(printf "zero\342\200\213width")"
	printf x >"$(printf "isolate\342\201\247gpj.sh")"
	printf x >"$(printf "p\320\260th")"
	printf x >"$(printf "latin\351")"
	printf x >-rf
	printf x >"\$(touch pwned)"
	printf "text\033[31mred\033[0m\r\nif p\320\260th == 1\n" >content
	printf "\321\204\320\260\320\271\320\273 API\n" >>content
	rm "$(printf "odd\nname")"
	printf x >"$(head -c 255 /dev/zero | tr "\0" n)"'
for verb in 'status' 'diff' 'diff --stat' 'diff --name-status' 'diff --json' \
	'diff --word-diff' 'diff --side-by-side' 'diff --json=hunks' \
	'diff --risk' 'diff --name-only' 'status --json' 'apply --dry-run' 'log'; do
	# shellcheck disable=SC2086 # words
	guard $verb >"$out" 2>"$err" </dev/null
	no "guard $verb prints no control character" raw "$out"
	no "guard $verb prints no control character on stderr" raw "$err"
	no "guard $verb prints no bidirectional control" \
		env LC_ALL=C grep -qP '\xe2\x80\xae|\xe2\x81\xa7' "$out"
	no "guard $verb prints no letter that passes for another" \
		grep -q "$(printf 'p\320\260th')" "$out"
done
gives 0 'diff accepts text in another alphabet' guard diff content
says "$out" "$(printf '\321\204\320\260\320\271\320\273 API')"
says "$out" 'if p<U+0430>th'
gives 0 'a patch has the bytes of the run' guard patch content
says "$out" "$(printf 'if p\320\260th')"
gives 0 'diff --name-status accepts unusual names' guard diff --name-status
says "$out" 'U+202E'
says "$out" '\x1b'
says "$out" '\xe9'
# The same on a terminal: script(1) provides one.
TERM=xterm script -q -e -c 'guard diff --no-pager --color=never' /dev/null \
	>"$out" 2>&1 </dev/null
tr -d '\r' <"$out" >"$T/terminal"
no 'diff on a terminal prints no control character' raw "$T/terminal"
says "$T/terminal" '\x1b'
gives 0 'apply accepts unusual names' guard apply --yes-to all -y
ok 'apply creates a name with a newline' test -e "$(printf 'new\nline')"
ok 'apply creates a name with ESC' \
	test -e "$(printf 'esc\033[2J\033]0;title\007')"
ok 'apply creates a name that is not UTF-8' test -e "$(printf 'latin\351')"
ok 'apply creates a name that begins with a dash' test -e ./-rf
no 'no name is executed by a shell' test -e pwned
gives 0 'snapshot accepts unusual names' guard snapshot
gives 0 'ls accepts unusual names' guard ls latest
no 'ls prints no control character' raw "$out"
rm -- -rf "$(printf 'new\nline')"
gives 0 'restore accepts unusual names' \
	guard restore -y -- -rf "$(printf 'new\nline')"
ok 'restore brings back a name that begins with a dash' test -e ./-rf
ok 'restore brings back a name with a newline' test -e "$(printf 'new\nline')"
gives 0 'show accepts content with control characters' guard show latest:content
ok 'show prints the exact bytes into a pipe' cmp "$out" content
script -q -e -c 'guard show latest:content' /dev/null >"$T/terminal" 2>&1 \
	</dev/null
no 'show escapes control characters on a terminal' \
	grep -q "$(printf '\033\\[31m')" "$T/terminal"

# --- kinds of files ---
ok 'a run creates a FIFO, links to the outside and a set-id file' \
	guard run -q -- sh -c '
	mkfifo pipe; ln -s /etc/passwd out; ln -s ../../.. up; ln -s . loop
	cp run.sh setid; chmod 4755 setid'
gives 0 'diff lists the special files' guard diff --name-status
says "$out" 'setid'
gives 1 'apply without --yes-to refuses a set-id file' guard apply -y
says "$err" 'setid'
no 'the refused apply creates nothing' test -e pipe
gives 0 'apply -n --yes-to accepts the set-id file' \
	guard apply -n --yes-to setid
gives 1 'apply -n --yes-to of another path is refused' \
	guard apply -n --yes-to pipe
says "$err" "refused: 'setid'"
gives 1 'apply -n --yes-to of unchanged paths is refused' \
	guard apply -n --yes-to README.md --yes-to no/such
says "$err" 'no/such'
gives 1 'apply -n --yes-to of a path outside is refused' \
	guard apply -n --yes-to /etc/passwd
says "$err" 'needs a single file of'
gives 2 'apply -p with --yes-to is refused' guard apply -p --yes-to setid
gives 0 'apply of the other files is accepted' guard apply -y pipe out up loop
ok 'apply creates a FIFO' test -p pipe
is "$(readlink out)" /etc/passwd 'apply creates a link to the outside as a link'
gives 0 'apply --yes-to of the set-id file is accepted' \
	guard apply -q -y --yes-to setid setid
is "$(stat -c %a setid)" 4755 'apply sets the set-id bit'
gives 0 'undo reverts the set-id file' guard undo -q -y
no 'undo deletes the set-id file' test -e setid
ok 'discard drops the run' guard discard -y

# --- directories that their owner cannot read ---
# On tmpfs no earlier content is trusted: an unreadable file could not be
# restored.
shut=0
[ "$(stat -f -c %T .)" != tmpfs ] || shut=400
ok 'a run makes directories and a file unreadable' guard run -q -- sh -c '
	mkdir made; chmod "$1" run.sh; chmod 000 made src/deep src' sh $shut
if [ "$me" = root ]; then
	gives 0 'root can apply unreadable directories' guard apply -q -y
	gives 0 'root can undo unreadable directories' guard undo -q -y
else
	layer=$state/runs/$(guard status -q)/upper
	guard diff 2>"$err" | sed 1d >"$T/shut"
	# Killed before each chmod.
	for verb in diff 'apply -n'; do
		at=1 hit=chmod odd=
		while [ "$hit" ]; do
			# shellcheck disable=SC2086 # words
			"$stopat" --count "$T/count" --at $at --only chmod \
				-- guard $verb >"$out" 2>"$err" </dev/null
			read -r _ hit <"$T/count"
			guard diff 2>"$err" | sed 1d >"$out"
			cmp -s "$T/shut" "$out" || odd="$odd $at"
			at=$((at + 1))
		done
		is "$odd" '' \
			"guard killed at any chmod of $verb changes no mode in the layer"
		# diff reads the stored result, and apply the layer's project.
		[ "$verb" = diff ] ||
			ok "$verb makes more than three chmod calls" test $at -gt 3
	done
	is "$(cd "$layer" && stat -c %a src made run.sh)" "0
0
$shut" 'nor its modes'
	is "$(ls "$state/opened")" '' 'no record of a changed mode is left'
	gives 1 'apply of an unreadable directory needs --yes-to' \
		guard apply -q -y
	says "$err" "refused: 'src': would make a directory of yours unreadable"
	says "$err" "refused: 'made': would make a directory of yours unreadable"
	silent "$err" run.sh
	gives 0 'apply of an unreadable file is accepted' \
		guard apply -q -y run.sh
	is "$(stat -c %a run.sh)" $shut 'apply sets the mode of the file'
	gives 0 'undo reverts the file' guard undo -q -y
	is "$(stat -c %a run.sh)" 755 'undo restores the mode of the file'
	gives 0 'apply --yes-to of unreadable directories is accepted' \
		guard apply -q -y --yes-to src --yes-to made \
		--yes-to src/deep
	is "$(stat -c %a src made)" '0
0' 'a folder too'
	gives 0 'undo reverts unreadable directories' guard undo -q -y
	is "$(stat -c %a src src/deep)" '755
755' 'with all that is in it'
	no 'undo deletes a new unreadable directory' test -e made
	gives 0 'redo is accepted' guard redo -q -y
	is "$(stat -c %a src made)" '0
0' 'and shut again'
	gives 0 'undo -n of unreadable directories is accepted' guard undo -n
	is "$(stat -c %a src made)" '0
0' 'leaves it shut'
	# Killed before each chmod.
	for verb in 'undo -n' 'undo -q -y'; do
		at=1 hit=chmod left=
		while [ "$hit" ]; do
			# shellcheck disable=SC2086 # words
			"$stopat" --count "$T/count" --at $at --only chmod \
				-- guard $verb >"$out" 2>"$err" </dev/null
			read -r _ hit <"$T/count"
			guard status >"$out" 2>"$err"
			guard apply --continue >"$out" 2>"$err"
			case $verb.$(stat -c %a src made 2>/dev/null |
				tr '\n' ' ') in
			*.'0 0 ' | 'undo -q -y.755 ') ;;
			*) left="$left $at:$(stat -c %a src made)" ;;
			esac
			[ -e made ] || guard redo -q -y >"$out" 2>"$err"
			at=$((at + 1))
		done
		is "$left" '' \
			"$verb killed at any chmod leaves the directories unreadable"
		ok "$verb makes more than five chmod calls on the project" \
			test $at -gt 5
	done
	is "$(stat -c %a src made)" '0
0' 'and shut in the end'
	chmod u+rwx src
	chmod u+rwx src/deep
	echo mine >>src/deep/er/new
	chmod 0 src/deep src
	gives 0 'undo accepts a new file in an unreadable directory' \
		guard undo -q -y
	is "$(cat src/deep/er/new)" mine 'undo keeps that new file'
	rm src/deep/er/new
	gives 0 'redo is accepted with the directory unreadable' guard redo -q -y
	chmod u+rwx src
	echo mine >src/new
	chmod 750 src
	gives 1 'undo refuses an unreadable directory with another mode' \
		guard undo -q -y
	says "$err" "'src': changed on both sides"
	rm src/new
	chmod -R u+rwX src made
	gives 0 'restore brings back an entry of an unreadable directory' \
		guard restore -q -y --at 1 src
	is "$(stat -c %a src/deep)" 755 'restore sets the mode of that entry'
	rmdir made
	chmod 755 run.sh
fi
[ -z "$(guard status -q)" ] || ok 'discard drops the run of unreadable directories' \
	guard discard -q -y

# --- files that git obeys ---
git config user.name tester
git config user.email t@example.org
ok 'a run commits and changes hooks and settings of git' guard run -q -- sh -c '
	git commit -q --allow-empty -m two
	git config core.fsmonitor /no/such
	echo evil >.git/hooks/pre-commit
	echo "*.x filter=evil" >.git/info/attributes
	mkdir -p .git/modules/m/hooks
	echo evil >.git/modules/m/hooks/post-checkout
	echo /etc >.git/objects/info/alternates
	echo http://localhost/ >.git/objects/info/http-alternates
	echo ../evil >.git/commondir
	mkdir -p .git/worktrees/w .git/modules/n evil
	echo ../../../evil >.git/worktrees/w/commondir
	ln -s ../../../evil .git/modules/n/hooks
	ln -s ../../evil .git/refs/evil'
head=$(git rev-parse HEAD)
gives 1 'apply of .git without --yes-to is refused' guard apply -y . .git
for name in config hooks/pre-commit info/attributes objects/info/alternates \
	objects/info/http-alternates commondir worktrees/w/commondir \
	modules/m/hooks/post-checkout modules/n/hooks refs/evil; do
	says "$err" "refused: '.git/$name'"
done
is "$(git rev-parse HEAD)" "$head" 'the refused apply changes nothing'
gives 1 'apply of .git with --yes-to for one of the settings is refused' \
	guard apply -y --yes-to .git/config . .git
silent "$err" "refused: '.git/config'"
says "$err" "refused: '.git/hooks/pre-commit'"
gives 0 'apply with --yes-to for each setting is accepted' guard apply -q -y \
	--yes-to .git/config --yes-to .git/info/attributes . .git \
	.git/hooks/pre-commit .git/objects/info/alternates \
	.git/objects/info/http-alternates .git/commondir \
	.git/worktrees/w/commondir .git/modules/m/hooks/post-checkout \
	.git/modules/n/hooks .git/refs/evil
is "$(git config -f .git/config core.fsmonitor)" /no/such \
	'apply writes the settings'
gives 0 'undo reverts the apply of .git' guard undo -q -y
is "$(git rev-parse HEAD)" "$head" 'undo restores HEAD'
ok 'discard drops the run of git' guard discard -q -y

# --- names that other file systems take for one ---
echo x >Case
printf x >"$(printf 'na\303\257ve')"
guard snapshot -q
guard run -q -- sh -c 'echo y >CASE; mkdir in; echo a >in/a; echo A >in/A
	printf x >"$(printf "nai\314\210ve")"; mv README.md readme.md'
gives 0 'diff names twins by case and form' guard diff
says "$out" "has the name of another file, but for case or Unicode form: Case"
silent "$out" 'form: README.md'
gives 0 'review does, too' guard review
says "$out" 'but for case or Unicode form: Case'
says "$out" 'but for case or Unicode form: a'
is "$(guard diff --json | grep -o '"id": "name-twin"' | wc -l)" 4 \
	'JSON has each of them'
guard discard -q -y

timeout 60 guard snapshot >"$out" 2>"$err"
is $? 0 'a FIFO does not block a snapshot'
finish
