#!/bin/sh
# Names and contents of strangers reach a terminal escaped, and no name, link
# or kind of file leads out of the project.
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

ok 'a run makes odd names' guard run -q -- sh -c '
	printf x >"$(printf "new\nline")"
	printf x >"$(printf "esc\033[2J\033]0;title\007")"
	printf x >"$(printf "bidi\342\200\256gpj.sh")"
	printf x >"$(printf "zero\342\200\213width")"
	printf x >"$(printf "latin\351")"
	printf x >-rf
	printf x >"\$(touch pwned)"
	printf "text\033[31mred\033[0m\r\n" >content
	rm "$(printf "odd\nname")"
	printf x >"$(head -c 255 /dev/zero | tr "\0" n)"'
for verb in 'status' 'diff' 'diff --stat' 'diff --name-status' 'diff --json' \
	'diff --name-only' 'status --json' 'apply --dry-run' 'log'; do
	# shellcheck disable=SC2086 # words
	guard $verb >"$out" 2>"$err" </dev/null
	no "nothing raw in: guard $verb" raw "$out"
	no "nothing raw on stderr of: guard $verb" raw "$err"
	no "no bidi control in: guard $verb" \
		grep -q "$(printf '\342\200\256')" "$out"
done
gives 0 'names in a diff' guard diff --name-status
says "$out" 'U+202E'
says "$out" '\x1b'
says "$out" '\xe9'
# On a terminal too: script(1) gives guard one.
TERM=xterm script -q -e -c 'guard diff --no-pager --color=never' /dev/null \
	>"$out" 2>&1 </dev/null
tr -d '\r' <"$out" >"$T/terminal"
no 'nothing raw on a terminal' raw "$T/terminal"
says "$T/terminal" '\x1b'
gives 0 'all of it is applied' guard apply -y
ok 'the name with a newline' test -e "$(printf 'new\nline')"
ok 'the name with ESC' test -e "$(printf 'esc\033[2J\033]0;title\007')"
ok 'the name that is not UTF-8' test -e "$(printf 'latin\351')"
ok 'the name with a dash' test -e ./-rf
no 'nothing was executed' test -e pwned
gives 0 'snapshot' guard snapshot
gives 0 'ls' guard ls latest
no 'nothing raw in ls' raw "$out"
rm -- -rf "$(printf 'new\nline')"
gives 0 'they come back' guard restore -y -- -rf "$(printf 'new\nline')"
ok 'the dash' test -e ./-rf
ok 'the newline' test -e "$(printf 'new\nline')"
gives 0 'show is raw in a pipe' guard show latest:content
ok 'byte for byte' cmp "$out" content
script -q -e -c 'guard show latest:content' /dev/null >"$T/terminal" 2>&1 \
	</dev/null
no 'and escaped on a terminal' grep -q "$(printf '\033\\[31m')" "$T/terminal"

# --- kinds ---
ok 'a run makes a fifo, a link out and set-id' guard run -q -- sh -c '
	mkfifo pipe; ln -s /etc/passwd out; ln -s ../../.. up; ln -s . loop
	cp run.sh setid; chmod 4755 setid'
gives 0 'they are shown' guard diff --name-status
says "$out" 'setid'
gives 1 'set-id is refused' guard apply -y
says "$err" 'setid'
no 'and nothing applied' test -e pipe
gives 0 'a yes to that path' guard apply -n --yes-to setid
gives 1 'to another one' guard apply -n --yes-to pipe
says "$err" "refused: 'setid'"
gives 1 'to none of the run' guard apply -n --yes-to README.md --yes-to no/such
says "$err" 'no/such'
gives 1 'to one elsewhere' guard apply -n --yes-to /etc/passwd
says "$err" 'is for single files of'
gives 2 'where each is asked about' guard apply -p --yes-to setid
gives 0 'the others by path' guard apply -y pipe out up loop
ok 'the fifo' test -p pipe
is "$(readlink out)" /etc/passwd 'the link as a link'
gives 0 'applied' guard apply -q -y --yes-to setid setid
is "$(stat -c %a setid)" 4755 'with its bits'
gives 0 'taken back' guard undo -q -y
no 'gone' test -e setid
ok 'discarded' guard discard -y

# --- folders that shut their owner out ---
# On tmpfs no bytes are believed that were read before: a file that cannot be
# read would have no way back.
shut=0
[ "$(stat -f -c %T .)" != tmpfs ] || shut=400
ok 'a run shuts folders and a file' guard run -q -- sh -c '
	mkdir made; chmod "$1" run.sh; chmod 000 made src/deep src' sh $shut
if [ "$me" = root ]; then
	gives 0 'root looks into them all the same' guard apply -q -y
	gives 0 'and takes them back' guard undo -q -y
else
	layer=$state/runs/$(guard status -q)/upper
	guard diff 2>"$err" | sed 1d >"$T/shut"
	# Ended before each change of a mode there is.
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
		is "$odd" '' "a look ended anywhere in $verb changes no layer"
		# three folders, each opened and shut
		ok 'there were such places' test $at -gt 6
	done
	is "$(cd "$layer" && stat -c %a src made run.sh)" "0
0
$shut" 'nor its modes'
	is "$(ls "$state/opened")" '' 'and no note of it is left'
	gives 1 'needs a yes of its own' guard apply -q -y
	says "$err" "refused: 'src': would shut you out"
	says "$err" "refused: 'made': would shut you out"
	silent "$err" run.sh
	gives 0 'a file does not' guard apply -q -y run.sh
	is "$(stat -c %a run.sh)" $shut 'it is applied'
	gives 0 'and taken back' guard undo -q -y
	is "$(stat -c %a run.sh)" 755 'with its rights'
	gives 0 'with a yes' guard apply -q -y --yes-to src --yes-to made \
		--yes-to src/deep
	is "$(stat -c %a src made)" '0
0' 'a folder too'
	gives 0 'that is taken back' guard undo -q -y
	is "$(stat -c %a src src/deep)" '755
755' 'with all that is in it'
	no 'and what was new is gone' test -e made
	gives 0 'and done again' guard undo -q -y
	is "$(stat -c %a src made)" '0
0' 'and shut again'
	gives 0 'a look at it' guard undo -n
	is "$(stat -c %a src made)" '0
0' 'leaves it shut'
	# Ended before each change of a mode there is.
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
			[ -e made ] || guard undo -q -y >"$out" 2>"$err"
			at=$((at + 1))
		done
		is "$left" '' "ended anywhere in $verb it is shut again"
		ok 'there were such places' test $at -gt 5
	done
	is "$(stat -c %a src made)" '0
0' 'and shut in the end'
	chmod u+rwx src
	chmod u+rwx src/deep
	echo mine >>src/deep/er/new
	chmod 0 src/deep src
	gives 0 'with something new in there since' guard undo -q -y
	is "$(cat src/deep/er/new)" mine 'it stays'
	rm src/deep/er/new
	gives 0 'once more' guard undo -q -y
	chmod u+rwx src
	echo mine >src/new
	chmod 750 src
	gives 1 'other rights since' guard undo -q -y
	says "$err" "'src': changed on both sides"
	rm src/new
	chmod -R u+rwX src made
	gives 0 'what was stored of it comes back' \
		guard restore -q -y --at 1 src
	is "$(stat -c %a src/deep)" 755 'with its rights'
	rmdir made
	chmod 755 run.sh
fi
[ -z "$(guard status -q)" ] || ok 'discarded' guard discard -q -y

# --- what git obeys ---
git config user.name tester
git config user.email t@example.org
ok 'a run commits, and tells git what to do' guard run -q -- sh -c '
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
gives 1 'a .git that is named as a whole' guard apply -y . .git
for name in config hooks/pre-commit info/attributes objects/info/alternates \
	objects/info/http-alternates commondir worktrees/w/commondir \
	modules/m/hooks/post-checkout modules/n/hooks refs/evil; do
	says "$err" "refused: '.git/$name'"
done
is "$(git rev-parse HEAD)" "$head" 'nothing is applied'
gives 1 'yes to one of them' guard apply -y --yes-to .git/config . .git
silent "$err" "refused: '.git/config'"
says "$err" "refused: '.git/hooks/pre-commit'"
gives 0 'yes to each, by option or by name' guard apply -q -y \
	--yes-to .git/config --yes-to .git/info/attributes . .git \
	.git/hooks/pre-commit .git/objects/info/alternates \
	.git/objects/info/http-alternates .git/commondir \
	.git/worktrees/w/commondir .git/modules/m/hooks/post-checkout \
	.git/modules/n/hooks .git/refs/evil
is "$(git config -f .git/config core.fsmonitor)" /no/such 'applied'
gives 0 'taken back' guard undo -q -y
is "$(git rev-parse HEAD)" "$head" 'all of it'
ok 'discarded' guard discard -q -y
timeout 60 guard snapshot >"$out" 2>"$err"
is $? 0 'a fifo does not stop a snapshot'
finish
