#!/bin/sh
# import: commits of a run become objects and refs of their own in the user's
# repository; nothing else of the run's repository is imported, and hostile
# repositories are refused.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
P=$HOME/project
cd "$P" || exit 99

# git_state FILE: checksums of all files of the repository except objects and
# imported refs
git_state() {
	(cd "$P/.git" && find . -path ./objects -prune -o \
		-path ./refs/guard -prune -o -type f -print0 |
		LC_ALL=C sort -z | xargs -0 sha256sum) >"$1"
}

# A file that every command executed on the host creates.
mark=$HOME/mark
check_mark() {
	no "nothing was executed on the host ($1)" test -e "$mark"
}

# The settings that the runs below plant are executed by git on the host.
git -c "core.fsmonitor=touch $mark;" status >"$T/x" 2>&1
ok 'a planted setting is executed without guard' test -e "$mark"
rm "$mark"

# import_of RUN REF: prints the subject of the imported commit
import_of() {
	git log -1 --format=%s "refs/guard/$1/$2" --
}

newest() {
	guard status -q | head -n 1
}

# refs_of PATTERN: prints the subjects, sorted
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
gives 0 'a run commits, tags, stashes and plants settings' \
	guard run -- sh "$HOME/work.sh"
run=$(newest)
git_state "$T/after"
ok "the run does not change the user's repository" cmp "$T/before" "$T/after"
check_mark 'the run'

gives 0 'import --dry-run lists the commits' guard import -n "$run"
says "$out" 'on main'
says "$out" 'heads/topic'
says "$out" 'tags/v1'
says "$out" 'stash/0'
says "$out" 'reflog/'
says "$err" 'alternates'
git_state "$T/after"
ok 'import --dry-run changes nothing' cmp "$T/before" "$T/after"
no 'import --dry-run creates no refs' test -e .git/refs/guard
gives 0 'import --dry-run --json is accepted' guard import -n --json "$run"
ok 'import --dry-run --json prints the refs as JSON' perl -MJSON::PP -0777 -ne '
	$j = decode_json($_); exit !(@{$j->{refs}} >= 8 && !$j->{imported})' \
	"$out"
gives 1 'import without a terminal and --yes is refused' guard import "$run"
no 'the refused import creates no ref' test -e .git/refs/guard
gives 0 'apply -n of a run with commits names guard import' \
	guard apply -n "$run" -- work.txt
says "$err" "guard import $run"

# The user commits too, before the import.
echo mine >mine.txt
git add mine.txt
git commit -q -m 'mine, meanwhile' mine.txt
git branch mine
git_state "$T/before"
find .git/objects -type f | LC_ALL=C sort >"$T/objects"
gives 0 'import' guard import -y "$run"
git_state "$T/after"
ok 'import changes no branch, HEAD, index, config or hook' \
	cmp "$T/before" "$T/after"
check_mark 'import'
find .git/objects -type f | LC_ALL=C sort >"$T/objects.after"
is "$(LC_ALL=C comm -23 "$T/objects" "$T/objects.after")" '' \
	'import removes no object of the user'
no 'import creates no alternates file' test -e .git/objects/info/alternates
is "$(import_of "$run" heads/main)" 'on main' \
	'import creates a ref for a branch that moved'
is "$(import_of "$run" heads/topic)" 'on topic' \
	'import creates a ref for a new branch'
is "$(import_of "$run" heads/deep/er/name)" 'amended' \
	'import creates a ref for a branch with slashes'
is "$(import_of "$run" HEAD)" 'detached' \
	'import creates a ref for a detached HEAD'
is "$(import_of "$run" worktrees/wt/HEAD)" 'in a worktree' \
	'import creates a ref for the HEAD of a worktree'
is "$(git cat-file -t "refs/guard/$run/tags/v1")" tag \
	'import creates a ref for an annotated tag'
is "$(import_of "$run" tags/light)" 'on topic' \
	'import creates a ref for a lightweight tag'
is "$(git show "refs/guard/$run/stash/0:work.txt" | tail -n 1)" \
	'for the stash' 'import creates a ref for a stash entry'
is "$(refs_of "refs/guard/$run/stash" | wc -l)" 1 \
	"the user's own stash entry is not imported"
refs_of "refs/guard/$run/reflog" >"$T/reflog"
ok 'import creates a ref for the commits that a reset dropped' \
	grep -qx 'lost two' "$T/reflog"
ok 'import creates a ref for an amended commit' grep -qx 'amend me' "$T/reflog"
no 'a commit reachable from another imported one has no ref' \
	grep -qx 'lost one' "$T/reflog"
git log --format=%s --glob="refs/guard/$run/reflog/*" >"$T/log"
ok 'that commit is reachable through the other ref' grep -qx 'lost one' "$T/log"
ok 'git fsck --strict accepts the repository' git fsck --full --strict
is "$(git fsck --full 2>&1 | grep -cv '^dangling')" 0 \
	'git fsck has no complaint'
is "$(git log -1 --format=%s)" 'mine, meanwhile' \
	"import does not move the user's HEAD"
gives 0 'a second import is accepted' guard import -y "$run"
says "$err" 'no commits'
gives 0 'apply -n works after the import' \
	guard apply -n "$run" -- work.txt
silent "$err" 'guard import'
no "import leaves no copy of the repository in guard's state" \
	test -e "$state/runs/$run/import"

# Deleted refs of an import can be imported again.
git for-each-ref --format='delete %(refname)' "refs/guard/$run" |
	git update-ref --stdin
gives 0 'import is accepted after its refs were deleted' guard import -y "$run"
is "$(import_of "$run" heads/topic)" 'on topic' \
	'the second import creates the branch again'
refs_of "refs/guard/$run/reflog" >"$T/reflog.again"
ok 'the second import creates the same refs of the reflog' \
	cmp "$T/reflog" "$T/reflog.again"

# A continued run: the refs of its first import stay.
gives 0 'run --continue commits once more' \
	guard run "--continue=$run" -- sh -c '
	git config --remove-section filter.x
	git config core.fsmonitor false
	git checkout -q -f topic && echo more >>work.txt &&
	git commit -q -a -m "more on topic"'
gives 0 'import accepts the continued run' guard import -y "$run"
is "$(import_of "$run" heads/topic)" 'on topic' \
	'the ref of the first import is unchanged'
is "$(import_of "$run.2" heads/topic)" 'more on topic' \
	'the second import has a prefix of its own'
ok 'discard' guard discard -y "$run"

# --- objects that the user's repository has lost since the run ---
gives 0 'a run commits on a branch' guard run -- sh -c \
	'git checkout -q -f side && echo s >side.txt && git add side.txt &&
		git commit -q -m "on side"'
run=$(newest)
# Deletes the commits on which the run's commit is based, in this throw-away
# root.
must_be_inside
git checkout -q --orphan other
git rm -rfq --cached .
git commit -q --allow-empty -m 'begin anew'
for ref in $(git for-each-ref --format='%(refname)'); do
	[ "$ref" = refs/heads/other ] || git update-ref -d "$ref"
done
git reflog expire --expire=now --expire-unreachable=now --all
git gc -q --prune=now
is "$(git rev-list --all | wc -l)" 1 \
	"the user's repository has only one commit left"
gives 0 'import is accepted after git gc deleted the base' \
	guard import -y "$run"
ok 'whole' git fsck --full --strict
is "$(import_of "$run" heads/side)" 'on side' \
	'the branch is imported with a lost base'
is "$(git rev-list "refs/guard/$run/heads/side" | wc -l)" 2 \
	'the history below the branch is imported too'
gives 0 'discard of an imported run is accepted' guard discard -y "$run"
silent "$err" 'guard import'

# --- a run that packs its objects and refs ---
gives 0 'a run commits, packs objects and refs' guard run -- sh -c \
	'echo p >p.txt && git add p.txt && git commit -q -m packed &&
		git gc -q && git pack-refs --all'
run=$(newest)
gives 0 'import' guard import -y "$run"
is "$(import_of "$run" heads/other)" packed 'import reads packs and packed-refs'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- import --ff fast-forwards a branch of the user ---
git branch forward
here=$(git symbolic-ref HEAD)
gives 0 'a run commits on two branches' guard run -- sh -c '
	git checkout -q forward && echo f >f.txt && git add f.txt &&
	git commit -q -m forward && git checkout -q -b fresh &&
	git commit -q --allow-empty -m fresh && git checkout -q - &&
	git checkout -q '"${here#refs/heads/}"' &&
	git commit -q --allow-empty -m here'
run=$(newest)
before=$(git rev-parse HEAD forward)
gives 0 'import -n --ff is accepted' guard import -n --ff forward "$run"
is "$(git rev-parse HEAD forward)" "$before" 'import -n --ff moves no branch'
gives 0 'import --ff is accepted' guard import -y --ff forward "$run"
is "$(git log -1 --format=%s forward)" forward \
	'import --ff fast-forwards the branch'
is "$(git symbolic-ref HEAD)" "$here" 'import --ff does not switch HEAD'
is "$(git rev-parse HEAD)" "${before%%
*}" "import --ff does not move HEAD's branch"
no 'import --ff writes no file' test -e f.txt
gives 0 'a repeated import --ff is accepted' guard import -y --ff forward "$run"
says "$err" "'forward' is already at the run's commit"
gives 0 'import --ff accepts a new branch' guard import -y --ff fresh "$run"
is "$(git log -1 --format=%s fresh)" fresh 'import --ff creates a new branch'
gives 1 'import --ff refuses the branch that is checked out' \
	guard import -y --ff "${here#refs/heads/}" "$run"
says "$err" 'is checked out'
says "$err" "git merge --ff-only $(git rev-parse "refs/guard/$run/${here#refs/}" | cut -c 1-10) moves it"
git update-ref refs/heads/forward "$(git commit-tree -m mine \
	-p forward~1 'forward^{tree}')"
gives 1 'import --ff refuses a branch with commits of its own' \
	guard import -y --ff forward "$run"
says "$err" 'has commits that'
is "$(git log -1 --format=%s forward)" mine \
	'the refused import --ff does not move the branch'
gives 1 'import --ff refuses a branch that the run does not have' \
	guard import -y --ff nothing "$run"
says "$err" 'created no commit on a branch'
ok 'discard' guard discard -y "$run"

# --- an applied run, and a killed one ---
gives 0 'a run commits before it is applied' guard run -- sh -c \
	'echo q >q.txt && git add q.txt && git commit -q -m "of an applied run"'
run=$(newest)
gives 0 'apply accepts the run with a commit' guard apply -y "$run"
says "$err" "1 commit of the run is not in your repository"
gives 0 'import accepts an applied run' guard import -y "$run"
is "$(import_of "$run" heads/other)" 'of an applied run' \
	'the commit of an applied run is imported'
gives 0 'log --actions works after an import' guard log --actions
says "$out" "refs/guard/$run"
rm q.txt
mkfifo "$T/ready"
guard run -- sh -c 'echo k >k.txt && git add k.txt &&
	git commit -q -m "of a run cut off"; echo ready; sleep 300' \
	>"$T/ready" 2>"$T/x" &
runner=$!
read -r line <"$T/ready"
is "$line" ready 'a live run has committed'
run=$(newest)
gives 1 'import refuses a live run' guard import -y "$run"
says "$err" 'still running'
kill -KILL $runner
wait $runner 2>/dev/null
for dir in /proc/[0-9]*; do
	case $(tr '\0' ' ' 2>/dev/null <"$dir/cmdline") in
	'sleep 300 ') timeout 60 tail -s 0.02 --pid="${dir#/proc/}" \
		-f /dev/null ;;
	esac
done
settle
gives 0 'import accepts a killed run' guard import -y "$run"
is "$(import_of "$run" heads/other)" 'of a run cut off' \
	'the commit of a killed run is imported'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- control characters in messages ---
gives 0 'a run commits with control characters in the message' \
	guard run -- sh -c \
	'echo x >x; git add x
	git commit -q -m "$(printf "a\033]0;t\007b\342\200\256c")"'
run=$(newest)
gives 0 'import -n lists that commit' guard import -n "$run"
no 'import -n prints no ESC' grep -q "$(printf '\033')" "$out"
says "$out" '\x1b]0;t\x07b<U+202E>c'
gives 0 'discard of a run with commits that are not imported is accepted' \
	guard discard -y "$run"
says "$err" 'have not imported'

# --- an index that says something else than its pack ---
gives 0 'a run that packs and changes the index of its pack' guard run -- \
	sh -c 'echo i >i.txt && git add i.txt && git commit -q -m indexed &&
	git gc -q && chmod 644 .git/objects/pack/*.idx &&
	head -c 3000 /dev/urandom >.git/objects/pack/x &&
	for i in .git/objects/pack/*.idx; do cp .git/objects/pack/x $i; done'
run=$(newest)
gives 0 'import' guard import -y "$run"
is "$(import_of "$run" heads/other)" indexed 'makes the index anew'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- a new branch on an old commit ---
git commit -q --allow-empty -m 'old'
git commit -q --allow-empty -m 'newer'
gives 0 'a run that makes a branch' guard run -- git branch old HEAD~1
gives 0 'import' guard import -y
says "$out" 'known  '
says "$out" 'heads/old'
says "$err" 'has no commits'
ok 'discard' guard discard -y

# --- objects of the user's that the run gave other bytes ---
gives 0 'a run that changes an old object' guard run -- sh -c '
	echo n >n.txt && git add n.txt && git commit -q -m new &&
	at=.git/objects/$(git rev-parse HEAD | sed "s|^..|&/|")
	git rev-parse HEAD~1 | sed "s|^..|&/|;s|^|.git/objects/|" | {
		read -r old; test ! -e "$old" || cp -f "$at" "$old"; }'
run=$(newest)
gives 0 'import' guard import -y "$run"
is "$(import_of "$run" heads/other)" new 'does not read it'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- the repository changes while guard asks ---
tools=$(dirname "$(command -v guard)")/tests/lib
[ -x "$tools/pty" ] || tools=/opt/guard/build/tests/lib
git checkout -q -b base
git commit -q --allow-empty -m 'to be lost'
lost=$(git rev-parse base)
gives 0 'a run on a commit of the user' guard run -- \
	git commit -q --allow-empty -m 'on what is lost'
run=$(newest)
git checkout -q other
cat >"$T/lose.sh" <<'LOSE'
git branch -q -D base
git reflog expire --expire=now --expire-unreachable=now --all
git gc -q --prune=now
LOSE
must_be_inside
cat >"$T/script" <<SCRIPT
prompt out>
> guard import $run\r
< import the commits of
> \x1a
< out>
> sh $T/lose.sh; echo is lo''st\r
< is lost
> fg\r
< guard import
> y\n
< import again
< out>
> exit\r
SCRIPT
printf "PS1='out> '\nbind 'set enable-bracketed-paste off'\n" >"$T/rc"
gives 0 'a commit goes while guard asks' \
	"$tools/pty" "$T/script" bash --rcfile "$T/rc" -i
no 'it is gone' git cat-file -e "$lost"
no 'no ref is written' git rev-parse -q --verify "refs/guard/$run/heads/base"
ok 'whole' git fsck --full --strict
gives 0 'import again' guard import -y "$run"
is "$(git log -1 --format=%s "refs/guard/$run/heads/base~1")" 'to be lost' \
	'brings it, too'
ok 'whole' git fsck --full --strict
ok 'discard' guard discard -y "$run"

# --- killed at each call that changes the repository ---
gives 0 'a run on two branches' guard run -- sh -c '
	git checkout -q -b k1 && echo k >k.txt && git add k.txt &&
	git commit -q -m k1 && git checkout -q -b k2 &&
	git commit -q --allow-empty -m k2'
run=$(newest)
at=1 bad=
while :; do
	"$tools/stopat" --at $at --below "$P/.git" -- \
		guard import -q -y "$run" >"$T/x" 2>&1
	status=$?
	[ $status -eq 137 ] || break
	settle
	git fsck --full --strict >"$T/x" 2>&1 || bad="$bad $at"
	guard status >"$T/x" 2>&1 || bad="$bad status-$at"
	# Killed between two refs: the next import completes them.
	if [ "$(git for-each-ref "refs/guard/$run" | wc -l)" -eq 1 ]; then
		guard import -q -y "$run" >"$T/x" 2>&1
		git for-each-ref --format='%(refname)' >"$T/completed"
	fi
	# From the refs on the next import would find nothing new.
	git for-each-ref --format='delete %(refname)' "refs/guard/$run" |
		git update-ref --stdin
	at=$((at + 1))
done
is "$bad" '' "the repository is whole wherever import is killed"
ok 'at several points' test $at -gt 8
is "$(grep -c "^refs/guard/$run/heads/k" "$T/completed")" 2 \
	'the next import writes the missing refs beside those of a killed one'
is "$status" 0 'import' || note "$(cat "$T/x")"
gives 0 'a run with a commit' guard run -- sh -c '
	git commit -q --allow-empty -m merged'
says "$err" 'import its commits, to merge them'
gives 0 'import of a commit names the merge' guard import -y latest
merge=$(sed -n 's/^guard:   *\(git merge .*\)/\1/p' "$err")
ok 'the merge works as it was printed' sh -c "$merge -q"
is "$(git log -1 --format=%s)" merged 'the branch has the commit'
ok 'discard' guard discard -y latest
is "$(import_of "$run" heads/k2)" k2 'its commit'
ok 'discard' guard discard -y "$run"

# --- repositories that hold not all of their objects themselves ---
git checkout -q other
head -c 200000 /dev/urandom >blob
git add blob
git commit -q -m 'a blob'
echo x >blob
git commit -q -a -m 'another'
git config uploadpack.allowFilter true
git clone -q --depth=2 "file://$P" "$HOME/shallow"
git clone -q --shared "$P" "$HOME/shared"
git clone -q --shared "$HOME/shared" "$HOME/shared2"
echo ../../../shared/.git/objects >"$HOME/shared2/.git/objects/info/alternates"
git clone -q --filter=blob:none "file://$P" "$HOME/partial"
for kind in shallow shared shared2 partial; do
	cd "$HOME/$kind" || exit 99
	gives 0 "a run in a $kind clone" guard run -- sh -c '
		echo y >y && git add y && git commit -q -m "in a clone" &&
		git checkout -q -b side HEAD~1 &&
		git commit -q --allow-empty -m side'
	gives 0 'import' guard import -y
	is "$(git log --glob='refs/guard/*' --format=%s -2 | LC_ALL=C sort |
		tr '\n' :)" 'in a clone:side:' 'the commits'
	ok 'whole' git fsck --full --strict
	gives 0 'nothing is left to import' guard import -y
	says "$err" 'no commits'
	ok 'discard' guard discard -y
done
cd "$HOME/shallow" || exit 99
gives 0 'a run that fetches the rest of a shallow clone' guard run -- sh -c \
	"git -c protocol.file.allow=always fetch -q --unshallow && git tag old HEAD~2"
run=$(newest)
gives 0 'import' guard import -y "$run"
ok 'of what is older' git log -1 "refs/guard/$run/tags/old"
ok 'whole' git fsck --full --strict
is "$(git rev-list HEAD | wc -l)" 2 'the clone is as shallow as before'
ok 'discard' guard discard -y "$run"

# --- no git ---
cd "$P" || exit 99
gives 1 'without git' unshare -Urm sh -c \
	'mount --bind /dev/null /usr/bin/git && exec guard import -y'
says "$err" 'guard: import needs git: run apt install git (the run is kept)'

# --- nothing to import ---
mkdir "$HOME/plain"
cd "$HOME/plain" || exit 99
gives 0 'a run in a directory without a repository' \
	guard run -- sh -c 'echo x >x'
gives 1 'import' guard import -y
says "$err" 'not a git repository'
ok 'discard' guard discard -q -y
gives 0 'a run creates a repository' guard run -- git init -q .
gives 1 'import' guard import -y
says "$err" 'not a git repository'
ok 'discard' guard discard -q -y
git -C "$P" worktree add -q "$HOME/tree" -b tree
cd "$HOME/tree" || exit 99
gives 0 'a run works in a linked worktree' guard run -- sh -c 'echo x >x'
gives 0 'import' guard import -y
says "$err" 'has no commits'
ok 'discard' guard discard -q -y
date >tracked
git add tracked
git commit -q -m tracked
settle
ok 'a run commits in a linked worktree' guard run -- sh -c \
	'echo x >>tracked; git commit -q -a -m x'
gives 0 'discard of all paths of that run is accepted' guard discard -y .
says "$err" 'has 1 commit that you have not imported'
git init -q --object-format=sha256 "$HOME/sha256"
cd "$HOME/sha256" || exit 99
gives 0 'a run in a SHA-256 repository' guard run -- sh -c \
	'echo x >x; git add x; git commit -q -m x'
gives 1 'import' guard import -y
says "$err" 'SHA-256'
ok 'discard' guard discard -q -y
cd "$P" || exit 99
gives 0 'a run that commits' guard run -q -- sh -c \
	'echo l >l; git add l; git commit -q -m last'
run=$(newest)
gives 1 'import of paths is refused' guard import -y "$run" README.md
gives 2 'an unknown option' guard import --force

# --- files of git-lfs ---
cat >"$HOME/lfs.sh" <<'WORK'
set -e
# keep FILE [HASH]: as git-lfs keeps a file
keep() {
	hash=${2:-$(sha256sum <"$1" | cut -c 1-64)}
	dir=.git/lfs/objects/$(echo "$hash" | sed 's|^\(..\)\(..\).*|\1/\2|')
	mkdir -p "$dir"
	cp "$1" "$dir/$hash"
}
for size in 1 55 56 63 64 65 1300000; do
	head -c $size /dev/urandom >$size.bin
	keep $size.bin
done
keep 64.bin "$(sha256sum <README.md | cut -c 1-64)"
git commit -q --allow-empty -m lfs
WORK
gives 0 'a run keeps files as git-lfs does' guard run -q -- sh "$HOME/lfs.sh"
run=$(newest)
gives 0 'import -n' guard import -n "$run"
says "$err" 'with 7 files of git-lfs (1.3 MB)'
says "$err" '1 file of git-lfs with other bytes than the name says: skipped'
no 'writes none of them' test -e .git/lfs
gives 0 'import' "$tools/stopat" --at 0 --only sync --below "$P/.git" \
	--count "$T/syncs" -- guard import -y "$run"
read -r syncs _ <"$T/syncs"
# Each file syncs its bytes and its directory, each new directory the one above.
ok 'a power cut after the refs loses no file' test "$syncs" -ge 30
says "$err" 'with 7 files of git-lfs (1.3 MB)'
is "$(find .git/lfs/objects -type f | wc -l)" 7 'copies those with their hash'
find .git/lfs/objects -type f -exec sha256sum {} + |
	while read -r hash file; do
		[ "$hash" = "${file##*/}" ] || echo "$file"
	done >"$T/wrong"
is "$(cat "$T/wrong")" '' 'whose name is the hash of their bytes'
finish
