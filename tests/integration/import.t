#!/bin/sh
# import: what a run committed comes into the user's repository as objects
# and refs of their own; nothing else of it, and nothing hostile.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
P=$HOME/project
cd "$P" || exit 99

# Everything of a repository but its objects and the imported refs, by bytes.
git_state() {
	(cd "$P/.git" && find . -path ./objects -prune -o \
		-path ./refs/guard -prune -o -type f -print0 |
		LC_ALL=C sort -z | xargs -0 sha256sum) >"$1"
}

# A mark that anything executed on the host leaves.
mark=$HOME/mark
check_mark() {
	no "nothing was executed ($1)" test -e "$mark"
}

# What the runs below plant does execute where git meets it.
git -c "core.fsmonitor=touch $mark;" status >"$T/x" 2>&1
ok 'the trap works' test -e "$mark"
rm "$mark"

# import_of RUN REF: the commit's subject below the run's prefix
import_of() {
	git log -1 --format=%s "refs/guard/$1/$2" --
}

newest() {
	guard status -q | head -n 1
}

# refs_of PATTERN: subjects, sorted
refs_of() {
	git for-each-ref --format='%(subject)' "$1" | LC_ALL=C sort
}

cat >"$HOME/work.sh" <<'WORK'
set -e
commit() {
	echo "$1" >>work.txt
	git add work.txt
	git commit -q -m "$1"
}
commit 'on main'
git checkout -q -b topic
commit 'on topic'
git tag -a -m 'a tag' v1
git tag light
git checkout -q -b deep/er/name
commit 'deep'
commit 'amend me'
git commit -q --amend -m 'amended'
git checkout -q -b lost
commit 'lost one'
commit 'lost two'
git reset -q --hard HEAD~2
git checkout -q --detach
commit 'detached'
echo 'for the stash' >>work.txt
git stash -q
git worktree add -q --detach wt HEAD~1
echo 'in the worktree' >wt/inside
git -C wt add inside
git -C wt commit -q -m 'in a worktree'
echo '/etc' >.git/objects/info/alternates
echo "* filter=x" >.git/info/attributes
cat >.git/hooks/reference-transaction <<HOOK
#!/bin/sh
touch "$HOME/mark"
HOOK
chmod 755 .git/hooks/reference-transaction
git config core.fsmonitor "touch $HOME/mark;"
git config core.hooksPath .git/hooks
git config filter.x.smudge "touch $HOME/mark"
git config filter.x.clean "touch $HOME/mark"
git config include.path "$HOME/evil"
WORK
git_state "$T/before"
gives 0 'a run that commits' guard run -- sh "$HOME/work.sh"
run=$(newest)
git_state "$T/after"
ok 'nothing reached the repository' cmp "$T/before" "$T/after"
check_mark 'the run'

gives 0 'import --dry-run' guard import -n "$run"
says "$out" 'on main'
says "$out" 'heads/topic'
says "$out" 'tags/v1'
says "$out" 'stash/0'
says "$out" 'reflog/'
says "$err" 'alternates'
git_state "$T/after"
ok 'changes nothing' cmp "$T/before" "$T/after"
no 'makes no folder' test -e .git/refs/guard
gives 0 'import --dry-run --json' guard import -n --json "$run"
ok 'is JSON' perl -MJSON::PP -0777 -ne '
	$j = decode_json($_); exit !(@{$j->{refs}} >= 8 && !$j->{imported})' \
	"$out"
gives 1 'without a terminal nothing is imported' guard import "$run"
no 'no ref' test -e .git/refs/guard
gives 0 'apply names the commits' guard apply -n "$run" -- work.txt
says "$err" "guard import $run"

# The user's repository moves on meanwhile.
echo mine >mine.txt
git add mine.txt
git commit -q -m 'mine, meanwhile' mine.txt
git branch mine
git_state "$T/before"
find .git/objects -type f | LC_ALL=C sort >"$T/objects"
gives 0 'import' guard import -y "$run"
git_state "$T/after"
ok 'branches, HEAD, index, config, hooks are byte for byte as they were' \
	cmp "$T/before" "$T/after"
check_mark 'import'
find .git/objects -type f | LC_ALL=C sort >"$T/objects.after"
is "$(LC_ALL=C comm -23 "$T/objects" "$T/objects.after")" '' \
	'no object file of the user is gone'
no 'no alternates' test -e .git/objects/info/alternates
is "$(import_of "$run" heads/main)" 'on main' 'a branch that moved'
is "$(import_of "$run" heads/topic)" 'on topic' 'a new branch'
is "$(import_of "$run" heads/deep/er/name)" 'amended' 'a name with slashes'
is "$(import_of "$run" HEAD)" 'detached' 'a detached HEAD'
is "$(import_of "$run" worktrees/wt/HEAD)" 'in a worktree' \
	"a worktree's HEAD"
is "$(git cat-file -t "refs/guard/$run/tags/v1")" tag 'an annotated tag'
is "$(import_of "$run" tags/light)" 'on topic' 'a light tag'
is "$(git show "refs/guard/$run/stash/0:work.txt" | tail -n 1)" \
	'for the stash' 'a stash entry'
is "$(refs_of "refs/guard/$run/stash" | wc -l)" 1 \
	"the user's own stash entry is not taken for the run's"
refs_of "refs/guard/$run/reflog" >"$T/reflog"
ok 'the tip that a reset left' grep -qx 'lost two' "$T/reflog"
ok 'a commit that was amended' grep -qx 'amend me' "$T/reflog"
no 'but none that another leads to' grep -qx 'lost one' "$T/reflog"
git log --format=%s --glob="refs/guard/$run/reflog/*" >"$T/log"
ok 'which is reached all the same' grep -qx 'lost one' "$T/log"
ok 'the repository is whole' git fsck --full --strict
is "$(git fsck --full 2>&1 | grep -cv '^dangling')" 0 'fsck has no complaint'
is "$(git log -1 --format=%s)" 'mine, meanwhile' "the user's HEAD stayed"
gives 0 'a second import finds nothing new' guard import -y "$run"
says "$err" 'no commits'
gives 0 'a dry apply says nothing of commits now' \
	guard apply -n "$run" -- work.txt
silent "$err" 'guard import'
no 'nothing of the copy is left' test -e "$state/runs/$run/import"

# An import that lost its refs is done again from what is there.
git for-each-ref --format='delete %(refname)' "refs/guard/$run" |
	git update-ref --stdin
gives 0 'import again after its refs were deleted' guard import -y "$run"
is "$(import_of "$run" heads/topic)" 'on topic' 'the branch is there again'
refs_of "refs/guard/$run/reflog" >"$T/reflog.again"
ok 'the same reflog tips' cmp "$T/reflog" "$T/reflog.again"

# A run that goes on: its first import keeps its names.
gives 0 'the run goes on' guard run "--continue=$run" -- sh -c '
	git config --remove-section filter.x
	git config core.fsmonitor false
	git checkout -q -f topic && echo more >>work.txt &&
	git commit -q -a -m "more on topic"'
gives 0 'import of what is new' guard import -y "$run"
is "$(import_of "$run" heads/topic)" 'on topic' 'the first import stays'
is "$(import_of "$run.2" heads/topic)" 'more on topic' 'the second is beside it'
ok 'discard' guard discard -y "$run"

# --- objects that the user's repository lost meanwhile ---
gives 0 'a run on a branch' guard run -- sh -c \
	'git checkout -q -f side && echo s >side.txt && git add side.txt &&
		git commit -q -m "on side"'
run=$(newest)
# Away with everything that the run's commits are built on, in this
# throw-away root.
must_be_inside
git checkout -q --orphan other
git rm -rfq --cached .
git commit -q --allow-empty -m 'begin anew'
for ref in $(git for-each-ref --format='%(refname)'); do
	[ "$ref" = refs/heads/other ] || git update-ref -d "$ref"
done
git reflog expire --expire=now --expire-unreachable=now --all
git gc -q --prune=now
is "$(git rev-list --all | wc -l)" 1 'only one commit is left'
gives 0 'import after a clean-up' guard import -y "$run"
ok 'whole' git fsck --full --strict
is "$(import_of "$run" heads/side)" 'on side' 'the branch'
is "$(git rev-list "refs/guard/$run/heads/side" | wc -l)" 2 \
	'and the history below it'
gives 0 'discard of an imported run' guard discard -y "$run"
silent "$err" 'guard import'

# --- a run that packs everything ---
gives 0 'a run that packs' guard run -- sh -c \
	'echo p >p.txt && git add p.txt && git commit -q -m packed &&
		git gc -q && git pack-refs --all'
run=$(newest)
gives 0 'import' guard import -y "$run"
is "$(import_of "$run" heads/other)" packed 'from a pack and packed-refs'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- a branch of the user's, moved on when he asks for it ---
git branch forward
here=$(git symbolic-ref HEAD)
gives 0 'a run with commits on two branches' guard run -- sh -c '
	git checkout -q forward && echo f >f.txt && git add f.txt &&
	git commit -q -m forward && git checkout -q -b fresh &&
	git commit -q --allow-empty -m fresh && git checkout -q - &&
	git checkout -q '"${here#refs/heads/}"' &&
	git commit -q --allow-empty -m here'
run=$(newest)
before=$(git rev-parse HEAD forward)
gives 0 'a dry run' guard import -n --ff forward "$run"
is "$(git rev-parse HEAD forward)" "$before" 'moves nothing'
gives 0 'import --ff' guard import -y --ff forward "$run"
is "$(git log -1 --format=%s forward)" forward 'moves the branch on'
is "$(git symbolic-ref HEAD)" "$here" 'and not HEAD'
is "$(git rev-parse HEAD)" "${before%%
*}" 'nor its branch'
no 'nor a file' test -e f.txt
gives 0 'once more' guard import -y --ff forward "$run"
says "$err" 'is there already'
gives 0 'a branch that is not there' guard import -y --ff fresh "$run"
is "$(git log -1 --format=%s fresh)" fresh 'is made'
gives 1 'the one that is checked out' \
	guard import -y --ff "${here#refs/heads/}" "$run"
says "$err" 'is checked out'
git update-ref refs/heads/forward "$(git commit-tree -m mine \
	-p forward~1 'forward^{tree}')"
gives 1 'one with a commit of its own' guard import -y --ff forward "$run"
says "$err" 'has commits that'
is "$(git log -1 --format=%s forward)" mine 'stays where it is'
gives 1 'one that the run has not' guard import -y --ff nothing "$run"
says "$err" 'has made no commit on a branch'
ok 'discard' guard discard -y "$run"

# --- a run that was applied, and one that was cut off ---
gives 0 'a run with a commit' guard run -- sh -c \
	'echo q >q.txt && git add q.txt && git commit -q -m "of an applied run"'
run=$(newest)
gives 0 'it is applied' guard apply -y "$run"
says "$err" "1 commit of the run is not in your repository"
gives 0 'import of an applied run' guard import -y "$run"
is "$(import_of "$run" heads/other)" 'of an applied run' 'its commit'
gives 0 'log --actions' guard log --actions
says "$out" "refs/guard/$run"
rm q.txt
mkfifo "$T/ready"
guard run -- sh -c 'echo k >k.txt && git add k.txt &&
	git commit -q -m "of a run cut off"; echo ready; sleep 300' \
	>"$T/ready" 2>"$T/x" &
runner=$!
read -r line <"$T/ready"
is "$line" ready 'a run has committed'
run=$(newest)
gives 1 'import of a live run' guard import -y "$run"
says "$err" 'still going'
kill -KILL $runner
wait $runner 2>/dev/null
for dir in /proc/[0-9]*; do
	case $(tr '\0' ' ' 2>/dev/null <"$dir/cmdline") in
	'sleep 300 ') timeout 60 tail -s 0.02 --pid="${dir#/proc/}" \
		-f /dev/null ;;
	esac
done
settle
gives 0 'import of a run that was cut off' guard import -y "$run"
is "$(import_of "$run" heads/other)" 'of a run cut off' 'its commit'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- texts that would change a terminal ---
gives 0 'a run with a message of control characters' guard run -- sh -c \
	'echo x >x; git add x
	git commit -q -m "$(printf "a\033]0;t\007b\342\200\256c")"'
run=$(newest)
gives 0 'import lists it' guard import -n "$run"
no 'no ESC comes out' grep -q "$(printf '\033')" "$out"
says "$out" '\x1b]0;t\x07b<U+202E>c'
gives 0 'discard tells of commits that were never imported' \
	guard discard -y "$run"
says "$err" 'never imported'

# --- hostile repositories: refused by name, nothing imported ---
# attempt SCRIPT: in a run; $run is its id then
attempt() {
	{
		cat "$T/functions"
		printf '%s\n' "$1"
	} >"$HOME/attempt.sh"
	guard run -q -- sh "$HOME/attempt.sh" >"$T/attempt.log" 2>&1 </dev/null ||
		note "$(cat "$T/attempt.log")"
	run=$(newest)
}

# hostile NAME TEXT SCRIPT: import fails and says TEXT
hostile() {
	refs_before=$(git for-each-ref)
	attempt "$3"
	git_state "$T/before"
	gives 1 "$1: refused" guard import -y "$run"
	says "$err" "$2"
	is "$(git for-each-ref)" "$refs_before" "$1: no ref"
	git_state "$T/after"
	ok "$1: nothing changed" cmp "$T/before" "$T/after"
	ok "$1: whole" git fsck --full --strict
	check_mark "$1"
	guard discard -q -y "$run" >"$T/x" 2>&1 </dev/null
}

# ignored NAME TEXT SCRIPT: import succeeds without that, and says TEXT
ignored() {
	attempt "$3"
	git_state "$T/before"
	gives 0 "$1: imported without it" guard import -y "$run"
	says "$err" "$2"
	cp "$err" "$T/ignored"
	git_state "$T/after"
	ok "$1: nothing else changed" cmp "$T/before" "$T/after"
	ok "$1: whole" git fsck --full --strict
	check_mark "$1"
	guard discard -q -y "$run" >"$T/x" 2>&1 </dev/null
}

cat >"$T/functions" <<'FUNCTIONS'
# commit TEXT: a file and a commit of that name
commit() {
	echo "$1" >"$1"
	git add "$1"
	git commit -q -m "$1"
}
# file_of ID: its loose object
file_of() {
	echo ".git/objects/$(echo "$1" | sed 's|^..|&/|')"
}
# raw_commit TREE: written down as it is
raw_commit() {
	printf 'tree %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nraw\n' \
		"$1" | git hash-object -w --literally -t commit --stdin
}
# raw_tree MODE NAME: a branch whose tree has that one entry
raw_tree() {
	blob=$(echo data | git hash-object -w --stdin)
	tree=$(perl -e 'print "$ARGV[0] $ARGV[1]\0", pack("H*", $ARGV[2])' \
		"$1" "$2" "$blob" |
		git hash-object -w --literally -t tree --stdin)
	raw_commit "$tree" >.git/refs/heads/raw
}
FUNCTIONS
hfs=$(printf '.g\342\200\214it')
for name in .git .GIT .. ../a/b 'git~1' "$hfs" a/b '.git ' . ''; do
	hostile "tree entry '$name'" 'tree ' "raw_tree 100644 '$name'"
done
hostile 'a folder .git' 'tree ' "raw_tree 40000 .git"
hostile 'an entry with an odd mode' 'mode' 'raw_tree 100777 a'
hostile 'a link as .gitmodules' 'is a link' 'raw_tree 120000 .gitmodules'
hostile 'a blob that is said to be a tree' 'is a blob' 'raw_tree 40000 a'
hostile 'an object that is missing' 'in neither repository' '
	commit missing
	rm -f "$(file_of "$(git rev-parse HEAD^{tree})")"'
hostile 'objects of elsewhere' 'in neither repository' '
	git init -q /tmp/other
	(cd /tmp/other && commit elsewhere)
	echo /tmp/other/.git/objects >.git/objects/info/alternates
	git -C /tmp/other rev-parse HEAD >.git/refs/heads/borrowed'
hostile 'a loose object with other bytes' 'cannot be read' '
	commit loose
	evil=$(echo evil | git hash-object -w --stdin)
	cp -f "$(file_of "$evil")" "$(file_of "$(git rev-parse HEAD:loose)")"'
hostile 'a damaged pack' 'is imported' '
	commit damaged
	git gc -q
	pack=$(ls .git/objects/pack/*.pack)
	chmod 644 $pack
	dd if=/dev/urandom of=$pack bs=1 seek=12 conv=notrunc \
		count=$(($(stat -c %s $pack) - 40)) 2>/dev/null'
hostile 'a commit without an author' 'author' '
	printf "tree %s\n\nx\n" "$(git rev-parse HEAD^{tree})" |
		git hash-object -w --literally -t commit --stdin \
			>.git/refs/heads/bare'
hostile 'too many refs' 'more than' '
	id=$(git rev-parse HEAD)
	awk -v id=$id "BEGIN { for (i = 0; i < 1000000; i++)
		print id, \"refs/heads/many\" i }" >>.git/packed-refs'
hostile 'too many loose refs' 'more than' '
	mkdir .git/refs/heads/many
	awk -v id=$(git rev-parse HEAD) "BEGIN { for (i = 0; i < 10100; i++) {
		f = \".git/refs/heads/many/\" i; print id >f; close(f) } }"'
# log NAME COUNT FORMAT: a reflog of so many entries of nobody
log='log() {
	mkdir -p ".git/logs/${1%/*}"
	awk -v n="$2" "BEGIN { for (i = 0; i < n; i++)
		printf \"%040x %040x a <a@b> 1700000000 +0000\\tx\\n\", i, i + 1
		}" >".git/logs/$1"
}'
hostile 'too many entries of the stash' 'more than' "$log
	git rev-parse HEAD >.git/refs/stash
	log refs/stash 10100"
hostile 'a reflog with too many entries' 'more than' "$log
	log refs/heads/main 111000"
hostile 'ids of SHA-256' 'SHA-256' 'printf "%064d\n" 1 >.git/refs/heads/long'

ignored 'a link as a ref' 'refs/heads/link' '
	commit l2
	ln -s /etc/passwd .git/refs/heads/link'
ignored 'odd names in packed-refs' 'refs/../../x' '
	commit l3
	id=$(git rev-parse HEAD)
	printf "%s refs/../../x\n%s refs/heads/a\033[31mb\n%s ../../evil\n" \
		$id $id $id >>.git/packed-refs
	printf "%s refs/heads/x.lock\n" $id >>.git/packed-refs'
says "$T/ignored" 'left out'
no 'no ESC comes out' grep -q "$(printf '\033')" "$T/ignored"
no 'nothing outside' test -e .git/x
ignored 'a ref that holds no id' 'refs/heads/text' '
	commit l4
	echo "rm -rf /" >.git/refs/heads/text'
ignored 'a repository of a submodule' 'modules' '
	commit l5
	mkdir -p .git/modules/x
	echo x >.git/modules/x/HEAD'

# A repository of another form: git finds other refs in it than guard would.
hostile 'refs and objects of elsewhere' '.git/commondir' '
	cp -a .git evil
	echo ../evil >.git/commondir
	git commit -q --allow-empty -m elsewhere'
hostile 'a table of refs' '.git/reftable' '
	commit table
	mkdir .git/reftable
	echo x >.git/reftable/tables.list'
hostile 'a link as .git' 'is a link' 'commit l0; mv .git g; ln -s g .git'
hostile 'a .git that names itself' 'is a file' '
	mv .git g; echo "gitdir: .git" >.git'
hostile 'a link as the folder of objects' 'in neither repository' '
	commit l9; mv .git/objects g; ln -s ../g .git/objects'
# clone FILTER...: some commits of elsewhere, and not all that they need
clone='clone() {
	git init -q /tmp/far
	(cd /tmp/far && commit f1 && commit f2 && commit f3 &&
		git config uploadpack.allowFilter true)
	git -c protocol.version=2 fetch -q "$@" file:///tmp/far HEAD:far
}'
hostile 'a shallow clone' 'shallow clone' "$clone
	clone --depth=1"
hostile 'a partial clone' 'in neither repository' "
	git init -q /tmp/far
	(cd /tmp/far && commit f1 && git config uploadpack.allowFilter true)
	git remote add far file:///tmp/far
	git config remote.far.promisor true
	git config remote.far.partialclonefilter tree:0
	git config core.repositoryformatversion 1
	git config extensions.partialClone far
	git fetch -q --filter=tree:0 far HEAD:far"
# One ref more than there may be, and a file that must not be read any more.
hostile 'loose refs without end' 'refs: that is not imported' '
	mkdir .git/refs/heads/many
	awk -v id=$(git rev-parse HEAD) "BEGIN { for (i = 0; i < 21000; i++) {
		f = \".git/refs/heads/many/\" i; print id >f; close(f) } }"
	mkdir .git/refs/zzz
	printf "%064d\n" 1 >.git/refs/zzz/long'
# accents: one letter, or a letter and an accent
nfc=$(printf 'caf\303\251') nfd=$(printf 'cafe\314\201')
ignored 'a repository of odd things' 'info/grafts' "
	commit o1
	id=\$(git rev-parse HEAD)
	git replace \$id HEAD~1
	echo \$id >.git/info/grafts
	echo http://localhost/ >.git/objects/info/http-alternates
	for name in Twin twin $nfc $nfd; do git branch \$name; done
	printf '%s stash@evil\n%s worktrees/evil/HEAD\n' \$id \$id \
		>>.git/packed-refs
	printf '%s refs/heads/%0300d\n' \$id 7 >>.git/packed-refs
	git update-index --index-version 4
	git update-index --split-index
	git config core.fsmonitor 'touch $mark;'
	git config include.path '$HOME/evil'
	git config extensions.nothing true
	mkdir -p .git/worktrees/w
	echo /etc/.git >.git/worktrees/w/gitdir
	echo \$id >.git/worktrees/w/HEAD
	rm .git/HEAD
	ln -s /etc/passwd .git/HEAD"
for text in http-alternates refs/replace stash@evil worktrees/evil/HEAD \
	refs/heads/00000000 "'HEAD' is no file"; do
	says "$T/ignored" "$text"
done
names=$(git for-each-ref --format='%(refname)' "refs/guard/$run")
for name in "heads/Twin" "heads/twin" "heads/$nfc" "heads/$nfd" \
	worktrees/w/HEAD; do
	ok "$name is there" test -n "$(echo "$names" |
		grep -x "refs/guard/$run/$name")"
done
is "$(echo "$names" | grep -c stash)" 0 'nothing is taken for the stash'

# --- what cannot be imported says so ---
mkdir "$HOME/plain"
cd "$HOME/plain" || exit 99
gives 0 'a run without a repository' guard run -- sh -c 'echo x >x'
gives 1 'import' guard import -y
says "$err" 'no git repository'
ok 'discard' guard discard -q -y
gives 0 'a run that makes a repository' guard run -- git init -q .
gives 1 'import' guard import -y
says "$err" 'no git repository'
ok 'discard' guard discard -q -y
git -C "$P" worktree add -q "$HOME/tree" -b tree
cd "$HOME/tree" || exit 99
gives 0 'a run in a linked worktree' guard run -- sh -c 'echo x >x'
gives 0 'import' guard import -y
says "$err" 'has no commits'
ok 'discard' guard discard -q -y
git init -q --object-format=sha256 "$HOME/sha256"
cd "$HOME/sha256" || exit 99
gives 0 'a run in a SHA-256 repository' guard run -- sh -c \
	'echo x >x; git add x; git commit -q -m x'
gives 1 'import' guard import -y
says "$err" 'SHA-256'
ok 'discard' guard discard -q -y
cd "$P" || exit 99
attempt 'commit last'
gives 1 'import of paths is refused' guard import -y "$run" README.md
gives 2 'an unknown option' guard import --force
finish
