#!/bin/sh
# guard patch: git apply of the patch has the same result as the run.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
mkdir "$HOME/clean"
cd "$HOME/clean" || exit 99
git init -q -b main
seq 1 40 >text
printf 'no end' >no-end
: >empty
echo 'to run' >script
echo one >becomes-link
ln -s text becomes-file
ln -s text link
mkdir -p folder/deep becomes-folder-not
echo in >folder/deep/file
echo in >becomes-folder-not/file
echo file >becomes-folder
head -c 20000 /dev/urandom >binary
head -c 3000 /dev/urandom >binary-gone
mkdir -p moves/sub 'moves/sub/a b'
for name in 1 2 3 4 5 6; do
	seq "$name"00 "$name"50 >moves/sub/$name
done
head -c 5000 /dev/urandom >moves/binary
: >moves/sub/__init__.py
ln -s ../text moves/link
seq 10 60 >'moves/sub/a b/c d'
seq 20 70 >place
seq 30 80 >into-place
echo 'a b' >'with blank '
mkdir -p 'ends with /blank '
echo 'to run' >'ends with /script'
: >'ends with /goes'
odd=$(printf 'odd\nna"me\\\t\303\266\377')
echo odd >"$odd"
git add -A
git commit -q -m one
cp -a "$HOME/clean" "$HOME/copy"
git -C "$HOME/copy" update-index -q --refresh

cat >"$HOME/change" <<'END'
sed -i '3d;20s/.*/changed/;$a more' text
printf 'no end either' >no-end
echo filled >empty
chmod 755 script
rm becomes-link; ln -s no-end becomes-link
rm becomes-file; echo file >becomes-file
ln -sfn empty link
rm -r folder
rm -r becomes-folder-not; echo file >becomes-folder-not
rm becomes-folder; mkdir becomes-folder; echo in >becomes-folder/file
printf 'new\0bytes' | dd of=binary bs=1 seek=5000 conv=notrunc 2>/dev/null
rm binary-gone
echo changed >'with blank '
chmod 755 'ends with /script'
rm 'ends with /goes'
: >'ends with /empty'
: >'ends with /blank /empty'
for f in odd*; do echo changed >"$f"; done
: >new-empty
printf '\0\1\2' >new-binary
printf 'new' >'new "name"'
mkdir -p a/b/c
echo deep >a/b/c/d
printf '#!/bin/sh\n' >new-script
chmod 755 new-script
mv moves moved
sed -i '5s/.*/changed/;9d' moved/sub/3 'moved/sub/a b/c d'
chmod 755 moved/sub/4
rm moved/sub/5
echo new >moved/sub/7
mv into-place place
mkdir text.d
mv moved/sub/6 "text.d/$(printf 'o\ndd')"
END
ok 'a run makes all kinds of changes' guard run -q --ro "$HOME/change" -- \
	sh "$HOME/change"
settle
guard patch >"$T/patch" 2>"$err" </dev/null
is $? 0 'patch ends with 0'
is "$(cat "$err")" '' 'patch leaves nothing out'
says "$T/patch" 'rename from moves/sub/1'
says "$T/patch" 'rename to moved/sub/1'
says "$T/patch" 'rename to moved/link'
says "$T/patch" 'rename to "text.d/o'
ok 'git apply accepts the patch' \
	git -C "$HOME/copy" apply --index --binary "$T/patch"
ok 'guard apply accepts the run' guard apply -y

# names, kinds, executable bits, content
tree() {
	(
		cd "$1" || exit 1
		find . -name .git -prune -o -type d -print0 -o \
			-type l -printf '%p -> %l\0' -o \
			-perm -100 -printf '%p x\0' -o -print0 | LC_ALL=C sort -z
		find . -name .git -prune -o -type f -print0 |
			LC_ALL=C sort -z | xargs -0 sha256sum -z
	)
}
tree "$HOME/clean" >"$T/guard"
tree "$HOME/copy" >"$T/git"
ok 'git apply and guard apply write the same files' cmp "$T/guard" "$T/git"
ok 'the patch contains new files' grep -qz 'new-script x' "$T/git"
git -C "$HOME/clean" add -A
is "$(git -C "$HOME/clean" write-tree)" "$(git -C "$HOME/copy" write-tree)" \
	'git has the same tree of both'

# --- changes that a patch cannot contain ---
ok 'a run makes changes that a patch cannot contain' \
	guard run -q -- sh -c 'mkdir nothing; echo x >secret
	chmod 600 secret; mkfifo pipe; echo x >text; chmod 700 script'
settle
guard patch >"$T/patch" 2>"$err" </dev/null
is $? 1 'patch ends with 1 when it leaves something out'
for path in nothing secret pipe; do
	says "$err" "not in the patch: '$path'"
done
silent "$err" "'text'"
ok 'git apply accepts the incomplete patch' \
	git -C "$HOME/copy" apply --index --binary "$T/patch"
is "$(cat "$HOME/copy/text")" x \
	'the incomplete patch contains the other changes'
guard patch text >"$T/patch" 2>"$err" </dev/null
is $? 0 'patch accepts a path'
is "$(grep -c '^diff' "$T/patch")" 1 'patch of a path contains only that file'
is "$(cat "$err")" '' 'patch of a path leaves nothing out'
gives 1 'patch of an unchanged path is refused' guard patch -- no/such
ok 'discard drops that run' guard discard -y

# --- content that git stores in another form ---
mkdir "$HOME/attributes"
cd "$HOME/attributes" || exit 99
git init -q -b main
printf '*.bat text eol=crlf\n*.lf text\n*.key filter=crypt\n' >.gitattributes
printf 'one\r\ntwo\r\n' >a.bat
printf 'one\n' | tee b.key >b.lf
printf 'move\r\n' >c.bat
git add -A 2>/dev/null
git commit -q -m one
cp -a . "$HOME/attributes-copy"
git -C "$HOME/attributes-copy" update-index -q --refresh
ok 'a run changes files with filters and line endings' guard run -q -- sh -c '
	printf "three\\r\\n" | tee -a a.bat >new.bat
	printf "one\\r\\n" >b.lf; echo x | tee -a b.key >new.key
	mkdir d; mv c.bat d'
settle
guard patch >"$T/patch" 2>"$err" </dev/null
is $? 1 'patch ends with 1 for content behind a filter'
says "$err" "'b.key': git stores it through a filter"
says "$err" "'new.key': git stores it through a filter"
says "$err" "'b.lf': only its line endings differ"
silent "$T/patch" 'key'
ok 'git apply accepts the rest of that patch' git -C "$HOME/attributes-copy" \
	apply --index --binary "$T/patch"
ok 'guard apply accepts that run' guard apply -y -q
ok 'git apply keeps the line endings of the files' \
	cmp a.bat "$HOME/attributes-copy/a.bat"
is "$(git -C "$HOME/attributes-copy" status --porcelain | tr '\n' ';')" \
	'M  a.bat;R  c.bat -> d/c.bat;A  new.bat;' \
		'git status shows the same changes as the run made'
finish
