#!/bin/sh
# Hostile repositories: import names each reason to refuse one, imports nothing
# of it and runs nothing. docs/transaction.md has the table.
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

newest() {
	guard status -q | head -n 1
}

# attempt SCRIPT: runs the script; $run is the id
attempt() {
	{
		cat "$T/functions"
		printf '%s\n' "$1"
	} >"$HOME/attempt.sh"
	guard run -q -- sh "$HOME/attempt.sh" >"$T/attempt.log" 2>&1 </dev/null ||
		note "$(cat "$T/attempt.log")"
	run=$(newest)
}

# guard's message about an object that git refuses.
refused="rejected the run's objects"

# hostile NAME TEXT SCRIPT: import fails and prints TEXT
hostile() {
	refs_before=$(git for-each-ref)
	attempt "$3"
	git_state "$T/before"
	gives 1 "import is refused: $1" guard import -y "$run"
	says "$err" "$2"
	is "$(git for-each-ref)" "$refs_before" \
		"the refused import creates no ref: $1"
	git_state "$T/after"
	ok "the refused import changes nothing: $1" cmp "$T/before" "$T/after"
	ok "$1: whole" git fsck --full --strict
	check_mark "$1"
	guard discard -y "$run" >"$T/discarded" 2>&1 </dev/null
}

# ignored NAME TEXT SCRIPT: import succeeds without that entry, and prints TEXT
ignored() {
	attempt "$3"
	git_state "$T/before"
	gives 0 "import leaves it out: $1" guard import -y "$run"
	says "$err" "$2"
	cp "$err" "$T/ignored"
	git_state "$T/after"
	ok "import changes nothing else: $1" cmp "$T/before" "$T/after"
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
# raw TYPE REF: standard input as an object of that type, and a ref to it
raw() {
	git hash-object -w --literally -t "$1" --stdin >".git/refs/$2"
}
# entries MODE NAME...: a branch whose tree has them in this order
entries() {
	blob=$(echo data | git hash-object -w --stdin)
	empty=$(git hash-object -w -t tree --stdin </dev/null)
	tree=$(perl -e '($blob, $tree) = splice @ARGV, 0, 2;
		while (@ARGV) { ($m, $n) = splice @ARGV, 0, 2; print "$m $n\0",
			pack("H*", $m eq "40000" ? $tree : $blob) }' \
		"$blob" "$empty" "$@" |
		git hash-object -w --literally -t tree --stdin)
	raw_commit "$tree" >.git/refs/heads/raw
}
t=$(git rev-parse 'HEAD^{tree}')
who='A U Thor <a@example.org> 1700000000 +0100'
FUNCTIONS
hfs=$(printf '.g\342\200\214it')
bom=$(printf '\357\273\277.git')
for name in .git .GIT .. ../a/b 'git~1' "$hfs" a/b '.git ' . '' / "$bom" \
	'.git.' 'git~1 .' '.git::$INDEX_ALLOCATION' '.git:x' 'a\.git' \
	'.git\hooks'; do
	hostile "tree entry '$name'" "$refused" "raw_tree 100644 '$name'"
done
hostile 'a folder .git' "$refused" "raw_tree 40000 .git"
hostile 'an entry with an odd mode' "$refused" 'raw_tree 100777 a'
for mode in 100640 20000 0 777; do
	hostile "an entry with the mode $mode" "$refused" "raw_tree $mode a"
done
hostile 'entries out of order' "$refused" 'entries 100644 b 100644 a'
hostile 'two entries of one name' "$refused" 'entries 100644 a 100644 a'
hostile 'a file and a folder of one name' "$refused" \
	'entries 100644 a 100644 a.b 40000 a'
hostile 'a tree that is cut off' "$refused" '
	raw_commit "$(printf "100644 a\\0abc" |
		git hash-object -w --literally -t tree --stdin)" \
		>.git/refs/heads/raw'
hostile 'a tree without a name in it' "$refused" '
	raw_commit "$(printf "100644" |
		git hash-object -w --literally -t tree --stdin)" \
		>.git/refs/heads/raw'
hostile 'a link as .gitmodules' "$refused" 'raw_tree 120000 .gitmodules'
hostile 'a blob that is said to be a tree' "$refused" 'raw_tree 40000 a'
hostile 'an object that is missing' "$refused" '
	commit missing
	rm -f "$(file_of "$(git rev-parse HEAD^{tree})")"'
hostile 'objects of elsewhere' 'missing from both repositories' '
	git init -q /tmp/other
	(cd /tmp/other && commit elsewhere)
	echo /tmp/other/.git/objects >.git/objects/info/alternates
	git -C /tmp/other rev-parse HEAD >.git/refs/heads/borrowed'
hostile 'a loose object with other bytes' "$refused" '
	commit loose
	evil=$(echo evil | git hash-object -w --stdin)
	cp -f "$(file_of "$evil")" "$(file_of "$(git rev-parse HEAD:loose)")"'
hostile 'a damaged pack' 'nothing imported' '
	commit damaged
	git gc -q
	pack=$(ls .git/objects/pack/*.pack)
	chmod 644 $pack
	dd if=/dev/urandom of=$pack bs=1 seek=12 conv=notrunc \
		count=$(($(stat -c %s $pack) - 40)) 2>/dev/null'
says "$T/discarded" "run $run may have commits"
hostile 'a commit without an author' "$refused" '
	printf "tree %s\n\nx\n" "$(git rev-parse HEAD^{tree})" |
		git hash-object -w --literally -t commit --stdin \
			>.git/refs/heads/bare'
# Commits and tags that git does not write.
commit_text() {
	hostile "$1" "$refused" "printf \"$2\" | raw commit heads/raw"
}
commit_text 'a commit of nothing' ''
commit_text 'a commit of a tree alone' 'tree $t\n'
commit_text 'a commit without a committer' 'tree $t\nauthor $who\n\nx'
commit_text 'a commit without a tree' \
	'parent $(git rev-parse HEAD)\nauthor $who\ncommitter $who\n\nx'
commit_text 'a tree with a long id' \
	'tree ${t}x\nauthor $who\ncommitter $who\n\nx'
commit_text 'a tree with a short id' 'tree 0123\nauthor $who\ncommitter $who\n\nx'
commit_text 'a committer without an address' \
	'tree $t\nauthor $who\ncommitter nobody\n\nx'
commit_text 'a time with a leading zero' \
	'tree $t\nauthor a <b> 01 +0000\ncommitter $who\n\nx'
commit_text 'a time zone without a sign' \
	'tree $t\nauthor a <b> 1 0000\ncommitter $who\n\nx'
commit_text 'an author without a name' \
	'tree $t\nauthor <b> 1 +0000\ncommitter $who\n\nx'
commit_text 'an address in an address' \
	'tree $t\nauthor a <b<c> 1 +0000\ncommitter $who\n\nx'
commit_text 'a NUL in the header' \
	'tree $t\nauthor $who\ncommitter $who\nx \\0y\n\nx'
commit_text 'a header without an end' \
	'tree $t\nauthor $who\ncommitter $who'
tag_text() {
	hostile "$1" "$refused" "printf \"$2\" | raw tag tags/raw"
}
tag_text 'a tag of an unknown type' 'object $t\ntype hook\ntag v1\ntagger $who\n\nx\n'
tag_text 'a tag without a tagger' 'object $t\ntype tree\ntag v1\n\nx\n'
tag_text 'a tag without an object' 'type tree\ntag v1\ntagger $who\n\nx\n'
tag_text 'a tag without a name' 'object $t\ntype tree\ntagger $who\n\nx\n'
tag_text 'a tag of another type than it says' \
	'object $t\ntype commit\ntag v1\ntagger $who\n\nx\n'
hostile 'a file of more than 512 MiB' 'too large to import' '
	truncate -s 513M /tmp/large
	entries 100644 x
	git read-tree raw
	git update-index --add --cacheinfo \
		"100644,$(git hash-object -w /tmp/large),large"
	raw_commit "$(git write-tree)" >.git/refs/heads/raw'
hostile 'a tree of more than 64 MiB' 'too large to import' '
	blob=$(echo data | git hash-object -w --stdin)
	raw_commit "$(perl -e "\$id = pack(\"H*\", \$ARGV[0]);
		printf \"100644 %0200d\\0%s\", \$_, \$id for 1 .. 320000" \
		$blob | git hash-object -w --literally -t tree --stdin)" \
		>.git/refs/heads/raw'
hostile 'too many refs' 'more than' '
	id=$(git rev-parse HEAD)
	awk -v id=$id "BEGIN { for (i = 0; i < 1000000; i++)
		print id, \"refs/heads/many\" i }" >>.git/packed-refs'
hostile 'too many loose refs' 'more than' '
	mkdir .git/refs/heads/many
	awk -v id=$(git rev-parse HEAD) "BEGIN { for (i = 0; i < 10100; i++) {
		f = \".git/refs/heads/many/\" i; print id >f; close(f) } }"'
# log NAME COUNT FORMAT: creates a reflog with that many entries
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
says "$T/ignored" 'skipped'
no 'import prints no ESC of a ref name' grep -q "$(printf '\033')" "$T/ignored"
no 'import creates no file outside of refs/guard' test -e .git/x
ignored 'a ref that holds no id' 'refs/heads/text' '
	commit l4
	echo "rm -rf /" >.git/refs/heads/text'
ignored 'a repository of a submodule' "submodule 'x'" '
	commit l5
	mkdir -p .git/modules/x
	echo x >.git/modules/x/HEAD'

# Repositories of another layout, in which git finds other refs than guard does.
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
hostile 'a link as the folder of objects' 'missing from both repositories' '
	commit l9; mv .git/objects g; ln -s ../g .git/objects'
# clone FILTER...: fetches some commits of another repository without all of
# their objects
clone='clone() {
	git init -q /tmp/far
	(cd /tmp/far && commit f1 && commit f2 && commit f3 &&
		git config uploadpack.allowFilter true)
	git -c protocol.version=2 fetch -q "$@" file:///tmp/far HEAD:far
}'
hostile 'a shallow clone' 'shallow clone' "$clone
	clone --depth=1"
hostile 'a partial clone' "$refused" "
	git init -q /tmp/far
	(cd /tmp/far && commit f1 && git config uploadpack.allowFilter true)
	git remote add far file:///tmp/far
	git config remote.far.promisor true
	git config remote.far.partialclonefilter tree:0
	git config core.repositoryformatversion 1
	git config extensions.partialClone far
	git fetch -q --filter=tree:0 far HEAD:far"
# One ref more than the limit, and a file that must not be read any more.
hostile 'loose refs without end' 'refs: too many to import' '
	mkdir .git/refs/heads/many
	awk -v id=$(git rev-parse HEAD) "BEGIN { for (i = 0; i < 21000; i++) {
		f = \".git/refs/heads/many/\" i; print id >f; close(f) } }"
	mkdir .git/refs/zzz
	printf "%064d\n" 1 >.git/refs/zzz/long'
# The same accented letter as one code point and as two.
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
	refs/heads/00000000 "'HEAD' is not a file"; do
	says "$T/ignored" "$text"
done
names=$(git for-each-ref --format='%(refname)' "refs/guard/$run")
for name in "heads/Twin" "heads/twin" "heads/$nfc" "heads/$nfd" \
	worktrees/w/HEAD; do
	ok "import creates the ref $name" test -n "$(echo "$names" |
		grep -x "refs/guard/$run/$name")"
done
is "$(echo "$names" | grep -c stash)" 0 \
	'a ref named like a stash entry is not imported as one'

# --- objects of any size ---
used=$(du -sm "$state" | cut -f1)
attempt 'commit large
	for i in 0 1; do
		truncate -s 3G .git/objects/pack/pack-${i}00000000000000000000000000000000000000a.pack
	done'
for cmd in import 'apply --commits'; do
	# shellcheck disable=SC2086 # words
	gives 1 "$cmd asks before it copies more than 4 GB" guard $cmd "$run"
	says "$err" "the run's git objects have 6.4 GB, which have to be copied"
	# shellcheck disable=SC2086 # words
	gives 1 "$cmd -y copies them" guard $cmd -y "$run"
	says "$err" "$refused"
done
ok 'no holes are filled' test "$(du -sm "$state" | cut -f1)" -lt $((used + 50))
guard discard -y "$run" >/dev/null 2>&1 </dev/null

# --- no Landlock ---
attempt 'commit n1'
gives 1 'import without Landlock is refused' \
	/opt/guard/build/tests/lib/refuse landlock_restrict_self 38 \
	guard import -y "$run"
says "$err" 'needs Landlock'
is "$(git for-each-ref "refs/guard/$run")" '' 'it creates no ref'
gives 0 'import with Landlock' guard import -y "$run"

finish
