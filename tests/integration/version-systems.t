#!/bin/sh
# The state of version systems beside git, and what a run moves into them.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# project NAME: an empty directory
project() {
	mkdir -p "$HOME/$1"
	cd "$HOME/$1" || exit 99
}

# --- undo after a command that shows the state ---

if needs 'undo after hg status' hg; then
	printf '[ui]\nusername=U\n' >"$HOME/.hgrc"
	project hg
	hg init .
	echo a >a
	echo b >b
	hg add -q
	hg commit -qm one
	ok 'a run commits with hg' \
		guard run -q -- sh -c 'echo b >>a; hg commit -qm agent; hg status'
	touch b
	hg status
	ok 'hg status during the run is no conflict of apply' guard apply -y
	touch a
	hg status
	hg diff
	hg heads -q >/dev/null
	ok 'undo works after commands that show the state' guard undo -y
	is "$(hg log -T '{desc} ')" 'one ' 'hg has the state before'
	touch a
	hg status
	ok 'and so does redo' guard redo -y
	is "$(hg log -T '{desc} ' && hg status)" 'agent one ' \
		'hg has the state after'
	echo n >n
	hg add -q n
	gives 1 'a file that the user added in hg refuses undo' guard undo -y
	says "$err" "'.hg/dirstate': changed on both sides"
	is "$(hg status)" 'A n' 'it is still added'
	hg forget n
	ok 'without it undo works' guard undo -y
	guard discard -qy

	project new-hg
	echo a >a
	ok 'a run creates a repository' \
		guard run -q -- sh -c 'hg init .; hg add -q; hg commit -qm one'
	ok 'it is applied' guard apply -y --yes-to .hg/requires
	touch a
	hg status
	hg branches -q >/dev/null
	ok 'undo deletes it after hg has added caches' guard undo -y
	no '.hg is gone' test -e .hg
fi

# These programs' formats are unknown to guard: the user's version is replaced
# and named.
for file in .sl/treestate/0a .sl/dirstate .bzr/checkout/dirstate \
	.jj/working_copy/tree_state .hg/wcache/x; do
	project "status${file%%/*}"
	mkdir -p "${file%/*}"
	echo one >"$file"
	guard run -q -- sh -c "echo two >$file; echo x >x"
	ok "a run writes $file" guard apply -y --except critical
	echo status >"$file"
	gives 0 "undo works after a status command wrote $file" guard undo -y
	is "$(cat "$file")" one 'the state before is there'
	case $file in
	*.jj* | *wcache*) silent "$out" 'replaces your edit' ;;
	*) says "$out" "$file  4 B  replaces your edit" ;;
	esac
	guard discard -qy
done
# A file beside them is the user's.
project user
mkdir -p .sl .hg
echo one >.sl/bookmarks
echo one >.hg/branch
for file in .sl/bookmarks .hg/branch; do
	guard run -q -- sh -c "echo two >$file"
	ok "a run writes $file" guard apply -y
	echo mine >"$file"
	gives 1 "an edit of $file refuses undo" guard undo -y
	echo two >"$file"
	ok 'which works without it' guard undo -y
	guard discard -qy
done

# --- content that a run moves into .git, which apply leaves out ---

key=.git/annex/objects/aa/k/k
into="mkdir -p \${d}.git/annex/objects/aa/k
	mv big \${d}$key; chmod 444 \${d}$key"
# The pointers of git-annex, locked and unlocked, and of git-lfs; a deletion.
for dir in git sub plain; do
	for pointer in link unlocked lfs none; do
		project "annex-$dir-$pointer"
		d=
		case $dir in
		git) git init -q . ;;
		sub)
			mkdir sub
			git init -q sub
			git init -q .
			d=sub/
			;;
		esac
		head -c 5000 /dev/urandom >big
		cp -p big "$T/big"
		case $pointer in
		link) code="ln -s $d$key big" ;;
		unlocked) code='echo /annex/objects/k >big' ;;
		lfs) code='echo version https://git-lfs.github.com/spec/v1 >big' ;;
		*) code=: ;;
		esac
		guard run -- sh -c "d=$d; key=$d$key; $into; $code" >"$out" \
			2>"$err" </dev/null
		says "$err" 'no other copy: big'
		gives 1 "$dir, $pointer: the only copy needs a consent" \
			guard apply -y
		says "$err" "'big' would be"
		says "$err" 'no other copy but in .git'
		gives 1 'naming the file is none' guard apply -y big
		gives 1 'JSON refuses, too' guard apply -y --json
		ok 'the file is as before' cmp big "$T/big"
		ok 'with --except critical it stays' \
			guard apply -y --except critical
		ok 'the file is as before' cmp big "$T/big"
	done
done
project annex-taken
git init -q .
head -c 5000 /dev/urandom >big
cp -p big "$T/big"
guard run -q -- sh -c "d=; $into; ln -s $key big"
ok 'with .git the objects come along' guard apply -y . .git
ok 'the link leads to them' cmp big "$T/big"
ok 'undo' guard undo -y
ok 'has the file again' test ! -L big
ok 'with its bytes' cmp big "$T/big"

# --- jj beside git ---

# A commit in git, and the operation that names it.
# shellcheck disable=SC2016 # for the shell of the run
operate='echo x >>README; git add README
	C=$(git commit-tree -m wc -p HEAD "$(git write-tree)")
	git update-ref "refs/jj/keep/$C" "$C"
	echo "$C" >.jj/repo/op_store/operations/b
	mv .jj/repo/op_heads/heads/a .jj/repo/op_heads/heads/b'
# loads DIR: jj finds the commit of each head
# shellcheck disable=SC2317 # called by ok
loads() {
	for head in "$1"/.jj/repo/op_heads/heads/*; do
		commit=$(cat "$1/.jj/repo/op_store/operations/${head##*/}") &&
			git -C "$1" cat-file -e "$commit" || return 1
	done
}
# jj_beside_git DIR
jj_beside_git() {
	project "$1"
	git init -q .
	echo hello >README
	git add README
	git commit -qm one
	mkdir -p .jj/repo/op_store/operations .jj/repo/op_heads/heads .jj/repo/store
	echo ../../../.git >.jj/repo/store/git_target
	git rev-parse HEAD >.jj/repo/op_store/operations/a
	: >.jj/repo/op_heads/heads/a
}
for where in . sub; do
	jj_beside_git "jj/$where"
	cd "$HOME/jj" || exit 99
	guard run -q --env GIT_AUTHOR_NAME --env GIT_AUTHOR_EMAIL \
		--env GIT_COMMITTER_NAME --env GIT_COMMITTER_EMAIL \
		-- sh -c "cd $where; $operate"
	run=$(guard status -q)
	heads=$where/.jj/repo/op_heads/heads
	gives 0 "$where: a plain apply" guard apply -y
	says "$err" '.jj'
	is "$(tail -n 1 "$where/README")" x 'takes the file'
	is "$(ls "$heads")" a 'but not the operation'
	ok 'jj can load the repository' loads "$where"
	gives 0 'a path in .jj takes both' guard apply -y "$run" "$heads/b"
	is "$(ls "$heads")" b 'the operation is there'
	ok 'and its commit' loads "$where"
	ok 'undo' guard undo -y
	is "$(ls "$heads")" a 'has the operation before'
	ok 'and its commit' loads "$where"
	gives 0 'the .git takes both, too' guard apply -y "$run" "$where/.git"
	ok 'the commit is there' loads "$where"
	is "$(ls "$heads")" b 'and the operation'
	rm -rf .git .jj
done
project jj-alone
mkdir -p .jj/repo/op_heads/heads
: >.jj/repo/op_heads/heads/a
guard run -q -- mv .jj/repo/op_heads/heads/a .jj/repo/op_heads/heads/b
ok 'jj with its own store is applied' guard apply -y
is "$(ls .jj/repo/op_heads/heads)" b 'with its operations'
ok 'and undone' guard undo -y
is "$(ls .jj/repo/op_heads/heads)" a 'completely'


# Links of the run itself, also through others and to directories, and pointers.
# Links to content of the user are no loss.
project annex-new
git init -q .
git config user.name tester
git config user.email tester@example.com
mkdir -p .git/annex/objects/user
echo user >.git/annex/objects/user/KEY
oid=$(echo lfs | sha256sum | cut -c 1-64)
lfs_dir=.git/lfs/objects/$(echo "$oid" | sed 's|^\(..\)\(..\).*|\1/\2|')
into="mkdir -p .git/annex/objects/n/KEY-s4--n .git/d $lfs_dir
	echo new >.git/annex/objects/n/KEY-s4--n/KEY-s4--n; echo d >.git/d/f
	echo lfs >$lfs_dir/$oid"
object=.git/annex/objects/n/KEY-s4--n/KEY-s4--n
lfs="printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 4\n'"
while read -r code; do
	guard run -q -- sh -c "$into; $code" 2>"$err" </dev/null
	gives 1 "$code: needs a consent" guard apply -y
	says "$err" "'new' would be applied"
	says "$err" 'no other copy but in .git'
	says "$err" ' .git applies them'
	gives 1 'naming the file is none' guard apply -y new
	ok 'nothing is applied' sh -c '! test -L new && ! test -e new'
	ok 'a consent is one' guard apply -y --yes-to new
	guard undo -qy
	guard discard -qy
done <<END
ln -s $object new
ln -s .git/d new
ln -s \$PWD/.git/d .git/L; ln -s .git/L new
ln -s \$PWD/.git/d/f new
mkdir -p .git/s; ln -s ../../$object .git/s/k; ln -s ./.git//s/k new
echo /annex/objects/KEY-s4--n >new
$lfs $oid >new
END
chain="ln -s $object k1; ln -s k1 k2; ln -s k2 new"
echo a >a
git add a
git commit -qm a
guard run -q -- sh -c "$into; $chain; git add k1; git commit -qm k1" </dev/null
gives 1 'a chain of links' guard apply -y
says "$err" '3 files have no other copy'
gives 1 '--commits' guard apply -y --commits
says "$err" ' .git, then apply the files'
ok '.git alone' guard apply -y .git
ok 'then all leads to it' guard apply -y
is "$(cat new)" new 'and has its bytes'
guard undo -qy
guard undo -qy
guard discard -qy
guard run -q -- sh -c "$into; $lfs $oid >new; git add new
	git commit -qm new" </dev/null
ok '--commits takes the objects of git-lfs along' guard apply -y --commits
guard run -q -- sh -c "$into; ln -s .git/annex/objects/user/KEY user
	ln -s .git/HEAD head; ln -s .git/none none; ln -s loop loop
	ln -s ../out out; echo KEY >text; ln -s user chain" </dev/null
ok 'what the user has, or nobody, is no loss' guard apply -y

# --- deleted repositories ---

project deleted
for name in a b; do
	git init -q "$name"
	echo 1 >"$name/file"
	git -C "$name" add file
	git -C "$name" commit -qm one
done
guard run -- rm -rf a/.git b/.git >"$out" 2>"$err" </dev/null
says "$err" '2 repositories deleted, with their histories: a/.git, b/.git'
silent "$err" 'without being asked'
guard discard -qy
cd a || exit 99
guard run -- rm -rf .git >"$out" 2>"$err" </dev/null
says "$err" '1 repository deleted, with its history: .git'
silent "$err" 'guard import'
guard review >"$out" 2>"$err" </dev/null
silent "$out" 'guard import'
guard discard -qy

# Other systems need a consent: the directory is applied like any other.
for dir in .hg .sl .jj .bzr _darcs .pijul; do
	project "lost$dir"
	mkdir -p "sub/$dir/store" 'new place'
	for i in 1 2 3; do
		echo "$dir $i" >"sub/$dir/store/$i"
	done
	echo x >sub/x
	guard run -q -- mv sub 'new place'
	guard diff >"$out"
	silent "$out" 'repository deleted'
	gives 0 "a moved $dir needs none" guard apply -y --except critical
	silent "$err" 'no other copy'
	guard undo -qy
	guard discard -qy
	guard run -q -- rm -r sub
	gives 1 "a deleted $dir needs a consent" guard apply -y
	says "$out" "1 repository deleted, with its history: sub/$dir"
	ok 'the directory is still there' test -e "sub/$dir/store/3"
	ok 'with it the directory is deleted' guard apply -y --yes-to "sub/$dir"
	no 'it is gone' test -e "sub/$dir"
	guard undo -y >/dev/null
	ok 'undo has it again' test -e "sub/$dir/store/3"
done

finish
