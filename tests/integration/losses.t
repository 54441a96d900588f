#!/bin/sh
# What a run would destroy is ranked by its cost, and the verdict on a run is
# the same text wherever it stands.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
git config user.name tester
git config user.email t@example.org

# verdict COMMAND: the signed lines at the end of a run of it, into $T/verdict
verdict() {
	guard run -- sh -c "$1" >/dev/null 2>"$T/run"
	grep '^ \{1,2\}[!i]\{1,2\} ' "$T/run" >"$T/verdict"
	run=$(guard status -q)
}

# dropped: discards the run
dropped() {
	guard discard -y "$run" >"$T/dropped" 2>&1 || note "$(cat "$T/dropped")"
}

verdict 'rm notes.txt .env data/rows.db debug.log build/a.o README.md'
is "$(cat "$T/verdict")" \
	' !! 3 deleted files have no other copy: .env, data/rows.db, notes.txt' \
	'untracked and ignored files are the only copies, logs and build output are not'
dropped

verdict 'rm src/f0.c src/f1.c'
is "$(cat "$T/verdict")" '' 'committed and staged files are not lost'
dropped

verdict 'git checkout -q -- src/f2.c'
is "$(cat "$T/verdict")" ' !! 1 file lost uncommitted work: src/f2.c' \
	'a line that was never committed and is reverted is lost work'
dropped

verdict 'rm src/f2.c'
is "$(cat "$T/verdict")" ' !! 1 file lost uncommitted work: src/f2.c' \
	'a deletion of a file with such a line is lost work'
dropped

# later COMMAND: the user edits the files; the verdict of a diff after it
later() {
	eval "$1"
	guard diff --no-pager 2>/dev/null |
		grep '^ \{1,2\}[!i]\{1,2\} ' >"$T/verdict"
}

cp src/f2.c "$T/f2.c"
verdict 'rm -r src/f6.c docs; sed -i 1d src/f4.c src/f5.c'
later 'for i in 4 5 6; do seq 3 >>src/f$i.c; done; echo mine >docs/mine'
is "$(cat "$T/verdict")" '' \
	'edits of the user since the run began are no work that it lost'
guard apply -y "$run" src/f5.c >/dev/null 2>&1
later 'seq 4 6 >>src/f5.c'
is "$(cat "$T/verdict")" '' 'not after an apply of a part, either'
dropped
git checkout -q src/f4.c src/f5.c src/f6.c
rm docs/mine
verdict 'git checkout -q -- src/f2.c'
later 'seq 4 9 >>src/f2.c'
is "$(cat "$T/verdict")" ' !! 1 file lost uncommitted work: src/f2.c' \
	'an edit of the user does not hide the loss of an earlier one'
dropped
cp "$T/f2.c" src/f2.c

verdict 'echo more >>src/f2.c; echo more >>notes.txt; echo more >>src/f5.c'
is "$(cat "$T/verdict")" '' 'additions lose nothing'
dropped

verdict 'echo other >notes.txt; : >.env'
is "$(sed -n 1p "$T/verdict")" \
	' !! 2 lost files have no other copy: .env, notes.txt' \
	'a replaced and an emptied file have no other copy'
dropped

verdict 'mkdir kept; mv notes.txt kept; cp .env kept/env; rm .env'
is "$(cat "$T/verdict")" '' 'a moved and a copied file are not lost'
dropped

# Only copies of which a part is overwritten in place or cut off, and ordinary
# changes: each on files of its own, all in one run.
mkdir parts
cat >.git/fill.py <<'FILL'
import os, random, sqlite3, tarfile, zipfile
random.seed(1)
for d in ["parts/" + k + n for k in ["lost", "kept"] for n in "0123456789"]:
    os.makedirs(d, exist_ok=True)
    with open(d + "/text", "w") as f:
        f.writelines("%d is a line of these notes\n" % i for i in range(200))
    with open(d + "/photo", "wb") as f:
        f.write(random.randbytes(50000))
    db = sqlite3.connect(d + "/rows.db")
    db.execute("create table t (a, b)")
    db.executemany("insert into t values (?, ?)",
                   [(i, "x" * 99) for i in range(500)])
    db.commit()
    db = sqlite3.connect(d + "/wal.db")
    db.execute("pragma journal_mode = wal")
    db.execute("create table t (a, b)")
    db.executemany("insert into t values (?, ?)",
                   [(i, "x" * 99) for i in range(500)])
    db.commit()
    db.close()
    with zipfile.ZipFile(d + "/a.zip", "w") as z:
        for name in "abc":
            z.writestr(name, random.randbytes(900))
    with tarfile.open(d + "/a.tar", "w") as t:
        t.add(d + "/photo")
    with open(d + "/small", "wb") as f:
        f.write(bytes(9) + random.randbytes(400))
    db = sqlite3.connect(d + "/persist.db")
    db.execute("pragma journal_mode = persist")
    db.execute("create table t (a, b)")
    db.executemany("insert into t values (?, ?)",
                   [(i, "x" * 50) for i in range(200)])
    db.commit()
    db.close()
    with open(d + "/.env", "w") as f:
        f.write("HOST=a\nKEY=0123456789\nDEBUG=0\n")
    os.makedirs(d + "/ign", exist_ok=True)
    for name in ["a.aux", "Cargo.lock", "junit.xml", "report.html", "notes",
                 "table", "x.local"]:
        with open(d + "/ign/" + name, "w") as f:
            f.write("time: 1\nline two\nthird\n")
FILL
cat >.git/parts.sh <<'PARTS'
over() { dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
cd parts || exit
head -c 3000 /dev/zero | over lost0/photo 20000
head -c 16 /dev/zero | over lost1/photo 0
truncate -s 40000 lost2/photo
head -c 100 /dev/zero | over lost3/rows.db 0
head -c 6000 /dev/zero | over lost4/rows.db 8192
head -c 16384 /dev/zero | over lost2/wal.db 8192
yes | head -c 9000 | over lost3/wal.db 8000
head -c 50 /dev/zero | over lost5/text 100
head -c 300 /dev/zero | over lost6/a.zip 1000
head -c 3000 /dev/zero | over lost7/a.tar 1000
head -c 100 /dev/zero | over lost8/small 200
yes '' | head -c 90 | over lost6/text 1000
truncate -s 4000 lost7/text
head -n 150 lost8/text >x
cat x >lost8/text
mv lost9/photo lost9/moved; head -c 3000 /dev/zero | over lost9/moved 99
head -c 9 /dev/urandom >>kept0/photo; echo more >>kept0/text
sed -i 10,40s/notes/words/ kept1/text
sed -i '10,20d; 30iinserted' kept2/text
sort -r kept3/text >x; cat x >kept3/text
sed -i \$d kept4/text
python3 -c 'import sqlite3
for name in ["rows.db", "wal.db"]:
    db = sqlite3.connect("kept5/" + name)
    db.execute("update t set b = ? where a < 50", ("y" * 99,))
    db.commit()
    db.close()
db = sqlite3.connect("kept6/wal.db")
db.executemany("insert into t values (?, ?)", [(i, "z" * 9000) for i in range(9)])
db.execute("delete from t where a < 60")
db.commit()'
python3 -c 'import random, sqlite3, tarfile, zipfile
with zipfile.ZipFile("kept5/a.zip", "a") as z:
    z.writestr("d", random.randbytes(9000))
with tarfile.open("kept5/a.tar", "a") as t:
    t.add("kept5/small")
with open("kept5/small", "ab") as f:
    f.write(random.randbytes(900))
db = sqlite3.connect("kept5/persist.db")
db.execute("pragma journal_mode = persist")
db.executemany("insert into t values (?, ?)", [(i, "y" * 50) for i in range(200)])
db.commit()'
cp kept6/photo kept6/copy; head -c 3000 /dev/zero | over kept6/photo 99
cat kept7/photo >x; cat x >kept7/photo; touch kept7/text
printf 199 | over kept8/text 0
echo MORE=1 >>kept9/.env
sed -i s/0123456789/your-key/ lost9/.env
sed -i s/third/other/ kept9/ign/a.aux kept9/ign/Cargo.lock kept9/ign/junit.xml \
	lost9/ign/table lost9/ign/report.html
sed -i s/1/2/ kept9/ign/table kept9/ign/report.html lost9/ign/notes \
	lost9/ign/x.local
rm x
PARTS
python3 .git/fill.py
echo ign/ >>.git/info/exclude
verdict 'sh .git/parts.sh'
is "$(sed -n 1p "$T/verdict")" \
	' !! 20 files overwritten in part, no other copy: parts/ (20)' \
	'parts of only copies that are overwritten in place are lost'
guard diff --full --no-pager >"$T/diff" 2>/dev/null
is "$(grep '  !! overwritten in part, no other copy' "$T/diff" |
	sed 's,.*parts/\(.....\)/.*,\1,' | sort -u | tr '\n' ' ')" \
	'lost0 lost1 lost2 lost3 lost4 lost5 lost6 lost7 lost8 lost9 ' \
	'each of them is named in lists, and no ordinary change is'
gives 1 'apply -y asks for them' guard apply -y "$run"
says "$err" 'needs your consent: 20 files have no other copy'
gives 1 'for a single one, too' guard apply -y "$run" parts/lost5
says "$err" 'would be overwritten in part, and has no other copy'
gives 0 'not for the others' guard apply -y "$run" parts/kept1 parts/kept5
gives 0 'a path with consent is applied' \
	guard apply --yes-to parts/lost0/photo -y "$run" parts/lost0
dropped
rm -r parts

# Rules that forbid: a deletion removes all lines of a file.
git init -q "$HOME/forbids"
cd "$HOME/forbids" || exit 99
mkdir -p .claude sub/.claude
echo '{"permissions": {"deny": ["Read(.env)"]}}' |
	tee .claude/settings.json >sub/.claude/settings.json
echo '{"verbose": true}' >.claude/other.json
git add .claude sub
git -c user.name=a -c user.email=a commit -q -m agent
for way in 'rm .claude/settings.json' 'mv .claude/settings.json old.json' \
	'mv .claude old' 'rm -r sub' ': >.claude/settings.json' \
	'rm .claude/settings.json; mkdir .claude/settings.json' \
	'rm .claude/settings.json; ln -s /dev/null .claude/settings.json'; do
	verdict "$way"
	says "$T/verdict" '.claude/settings.json'
	gives 1 "$way: apply -y asks" guard apply -y "$run"
	says "$err" 'needs your consent'
	dropped
done
verdict 'rm -r sub'
gives 0 'its rule allows it' guard apply -y --yes-to agent-settings "$run"
gives 0 'its undo' guard undo -q -y
dropped
verdict 'rm -r .claude/other.json'
says "$T/verdict" '  ! .claude/other.json runs in the next agent session'
gives 0 'and are deleted by -y' guard apply -q -y "$run"
cd "$HOME/project" || exit 99

mkdir -p ~/photos/2019 ~/.cache
for name in a b c d; do echo $name >~/photos/2019/$name; done
echo cache >~/.cache/file
verdict 'rm -r ~/photos ~/.cache/file'
is "$(cat "$T/verdict")" \
	'  ! 4 files deleted in your home directory: ~/photos/ (4)' \
	'deletions in the home directory are named, those of caches are not'
dropped
verdict 'mv ~/photos ~/pictures'
is "$(cat "$T/verdict")" '' 'what was moved there is not lost'
dropped

verdict 'rm -rf nested/.git; git init -q nested'
is "$(cat "$T/verdict")" \
	'  ! nested: main was deleted: no ref reaches its last 1 commit' \
	'another repository in place of a nested one is named'
dropped

verdict 'rm -rf nested/file'
is "$(cat "$T/verdict")" '' 'a file of a nested repository is in git'
dropped

old=$(git rev-parse side)
verdict 'git checkout -q src/f2.c; git reset -q --hard HEAD~1'
says "$T/verdict" '  ! main moved back by 1 commit'
silent "$T/run" commits
says "$T/run" 'apply the files, not the moved branches'
dropped

verdict 'git commit -q -a --amend -m other'
says "$T/verdict" '  ! main was rewritten without 1 commit'
says "$T/run" 'apply its commits and files'
dropped

verdict 'git commit -q -a -m third; git commit -q --allow-empty -m fourth'
silent "$T/verdict" 'main'
later 'git commit -q --allow-empty -m mine'
is "$(cat "$T/verdict")" '' 'a later commit of the user is none that the run lost'
git reset -q --soft HEAD~1
dropped

verdict 'git stash drop -q'
is "$(cat "$T/verdict")" '  ! the stash lost 1 entry' \
	'a dropped stash is named'
dropped

verdict 'git branch -q -D side'
is "$(cat "$T/verdict")" '' "a branch whose commits main has (${old%"${old#???????}"}) loses none"
dropped

git checkout -q -b other
git commit -q --allow-empty -m lonely
git checkout -q main
git pack-refs --all
verdict 'git commit -q --allow-empty -m third'
later 'git commit -q --allow-empty -m mine'
is "$(cat "$T/verdict")" '' 'nor is one to a branch that was packed'
git reset -q --soft HEAD~1
dropped
git pack-refs --all
verdict 'git checkout -q src/f2.c; git reset -q --hard HEAD~1'
says "$T/verdict" '  ! main moved back by 1 commit'
dropped
verdict 'git branch -q -D other'
is "$(cat "$T/verdict")" \
	'  ! other was deleted: no ref reaches its last 1 commit' \
	'a deleted branch is named with the commits that only it had'
dropped

# The disaster: the same five lines everywhere.
mkdir uploads
for i in 1 2 3 4 5 6; do
	head -c 2000 /dev/urandom >"uploads/$i.jpg"
done
printf '#!/bin/sh\n' >.git/hooks/kept
verdict 'rm -rf uploads notes.txt .env; git reset -q --hard HEAD~1
	mkdir .vscode; echo "{\"tasks\":[]}" >.vscode/tasks.json'
ok 'a disaster has a verdict of at most five lines' \
	test "$(wc -l <"$T/verdict")" -le 5
is "$(sed -n 1p "$T/verdict")" \
	' !! 8 deleted files have no other copy: uploads/ (6), .env, notes.txt' \
	'a directory of lost files is one name with its number'
says "$T/verdict" '.vscode/tasks.json runs '

# same FILE: whether the verdict stands in the file, line by line
same_verdict() {
	grep '^ \{1,2\}[!i]\{1,2\} ' "$1" | head -n "$(wc -l <"$T/verdict")" |
		cmp -s - "$T/verdict"
}

guard diff --no-pager >"$T/diff" 2>/dev/null
ok 'diff begins with the verdict' same_verdict "$T/diff"
guard diff --stat --no-pager >"$T/stat" 2>/dev/null
ok 'diff --stat begins with it' same_verdict "$T/stat"
guard review --no-pager >"$T/review" 2>/dev/null </dev/null
ok 'review begins with it' same_verdict "$T/review"
guard apply -n >"$T/apply" 2>/dev/null
ok 'apply -n begins with it' same_verdict "$T/apply"
gives 0 'status reads it' guard status
says "$out" '!! 8 only copies'
ok 'JSON has it' sh -c "guard diff --json | python3 -c '
import json, sys
v = json.load(sys.stdin)[\"verdict\"]
assert [l[\"id\"] for l in v][:2] == [\"no-copy\", \"work-lost\"], v
assert v[0][\"count\"] == 8 and v[0][\"level\"] == \"critical\"'"
ok 'JSON of status has it' sh -c "guard status --json | python3 -c '
import json, sys
v = json.load(sys.stdin)[\"runs\"][0][\"verdict\"]
assert v[0][\"id\"] == \"no-copy\", v'"
guard apply -y "$run" notes.txt >/dev/null 2>&1
gives 0 'a part is applied' guard status
says "$out" '!! 7 only copies'
guard undo -q -y
gives 0 'its undo' guard status
says "$out" '!! 8 only copies'
guard discard -q -y "$run" notes.txt
gives 0 'a part is discarded' guard status
says "$out" '!! 7 only copies'
gives 3 'a diff of the rest' guard diff --no-pager --exit-code "$run"
says "$out" ' !! 7 deleted files have no other copy'
dropped
rm notes.txt

# --- the lengths of lists ---
# before_texts COMMAND: the lines of a diff before the first text
before_texts() {
	guard diff --no-pager "$run" 2>/dev/null |
		sed '/^--- /,$d' | wc -l
}

# The disaster: photos, a .env, committed documents, lost work.
mkdir -p manual uploads
i=0
while [ $i -lt 214 ]; do
	echo "page $i" >manual/$i.md
	i=$((i + 1))
done
git add manual
git commit -q -m manual
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
	head -c 2000 /dev/urandom >"uploads/$i.jpg"
done
echo KEY=only-here >.env
for i in 10 11 12; do
	seq 1 20 >>src/f$i.c
done
verdict 'git reset -q --hard; git clean -fdxq; rm -rf manual'
ok "a disaster has at most 40 lines before the texts ($(before_texts))" \
	test "$(before_texts)" -le 40
guard diff --no-pager >"$T/diff" 2>/dev/null
says "$T/diff" '  D  manual/  all 214 files, 1.8 KB, 214 in git'
says "$T/diff" '  D  uploads/  all 17 files, 34 KB  !! no other copy'
says "$T/diff" '  D  .env  14 B  !! no other copy'
says "$T/run" '  D  uploads/  all 17 files, 34 KB  !! no other copy'
guard apply -n >"$T/apply" 2>/dev/null
says "$T/apply" '  D  uploads/  all 17 files, 34 KB  !! no other copy'
ok '--full lists each file' sh -c \
	'test "$(guard diff --full --no-pager | grep -c "^  D  manual/")" -eq 215'
ok '--name-only folds nothing' sh -c \
	'test "$(guard diff --name-only | grep -c "^manual/")" -eq 214'
dropped

# An install of packages, with a file that is changed in one of them.
mkdir -p node_modules/old
echo 'old' >node_modules/old/index.js
cat >.git/install.sh <<'INSTALL'
i=0
while [ $i -lt 300 ]; do
	mkdir -p node_modules/p$i/lib
	echo "{}" >node_modules/p$i/package.json
	for j in 1 2 3 4 5 6 7 8 9; do
		echo "exports.a = $j" >node_modules/p$i/lib/$j.js
	done
	i=$((i + 1))
done
echo changed >>node_modules/old/index.js
echo '{"name": "x"}' >package.json
INSTALL
verdict 'sh .git/install.sh'
ok "an install of packages has at most 60 lines before the texts ($(before_texts))" \
	test "$(before_texts)" -le 60
guard diff --no-pager >"$T/diff" 2>/dev/null
says "$T/diff" '  G  node_modules/  +3000, 300 packages'
says "$T/diff" '  M  node_modules/old/index.js'
silent "$T/diff" 'p17/lib/3.js'
says "$T/diff" '3000 texts of folded directories are not shown'
guard apply -n >"$T/apply" 2>/dev/null
ok 'apply -n is short, too' test "$(wc -l <"$T/apply")" -le 20
dropped

# A deleted install: the changed source is not at the end of a long list.
verdict 'rm -rf node_modules; echo "// x" >>src/f3.c'
ok 'a deleted install is one line' test "$(before_texts)" -le 20
dropped

# A diff does not wait until all files are read, and misses none.
cat >.git/many.sh <<'MANY'
mkdir many
i=1000
while [ $i -lt 2500 ]; do
	echo "file $i" >many/$i
	i=$((i + 1))
done
printf 'a = 1 \342\200\256 2\n' >many/zz.c
MANY
verdict 'sh .git/many.sh'
gives 0 'a diff of 1,501 files' guard diff --no-pager
ok 'the verdict is repeated when the last file changes it' sh -c \
	'sed "1,/^+++ /d" "$1" | grep -q "^  ! many/zz.c has "' sh "$out"
says "$out" 'Look at these, too'
ok 'JSON has the complete verdict' sh -c \
	'guard diff --json | grep -q "many/zz.c has"'
gives 0 'status has it, too' guard status
says "$out" '1 to look at'
dropped

# Without git no file is called the only copy.
mkdir "$HOME/plain"
cd "$HOME/plain" || exit 99
echo one >one
echo two >two
verdict 'rm one; echo changed >two'
is "$(cat "$T/verdict")" '  ! no git repository: 1 file deleted' \
	'without a repository the number of deleted files is the verdict'
dropped

if [ "$me" = root ]; then
	git init -q
	chown 4321 .
	chmod 777 .
	verdict 'rm one'
	is "$(cat "$T/verdict")" "  i 1 file was not compared with git: open the \
repository: it or its directory belongs to another user (git status says how \
to allow it)" \
		'a repository with an owner that git does not trust is one'
	dropped
fi

finish
