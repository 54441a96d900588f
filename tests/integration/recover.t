#!/bin/sh
# recover, restore --from, log --from and verify DIR: all that a machine without
# its disk gets back from the directory that guard backup wrote to, and what a
# damage of this directory costs.
# shellcheck disable=SC2317 # functions are called through gives and ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

tools=$(dirname "$(command -v guard)")/tests/lib
[ -x "$tools/pty" ] || tools=/opt/guard/build/tests/lib
make_home
P=$HOME/project
D=$T/copies
echo 'a long passphrase' >"$T/pass"
secret=$T/pass
destination 1 "$D"
cd "$P" || exit 99

# backup [OPTIONS]: to $D
backup() {
	guard backup --passphrase-file "$secret" "$@" "$D"
}

# on NAME COMMAND...: on another machine, with the passphrase in a file
on() {
	other=$T/$1
	shift
	mkdir -p "$other/home"
	(cd "$other/home" && HOME=$other/home GUARD_HOME=$other/state "$@")
}

# recover NAME [OPTIONS]: to that machine, from $D
recover() {
	name=$1
	shift
	on "$name" guard recover --passphrase-file "$secret" "$@"
}

# snapshot_is NAME SNAP: whether the project of a snapshot there is that of its
# manifest
snapshot_is() {
	rm -rf "$T/files"
	on "$1" guard restore -q -y --at "$2" --to "$T/files" "$P" || return 1
	manifest "$T/files/project" >"$T/got"
	same "$T/m$2" "$T/got"
}

# store N: takes snapshot N, and saves the manifest
store() {
	guard snapshot -q >/dev/null || return 1
	manifest "$P" >"$T/m$1"
}

# --- three backups, each with a pack of its own ---
setfattr -n user.colour -v blue src
for n in 1 2 3; do
	head -c 5000000 /dev/urandom >"big$n"
	echo "version $n" >README.md
	ok "snapshot $n is taken" store $n
	gives 0 "backup $n is made" backup
done
rm src/f0.c
ok 'snapshot 4 is taken' store 4
gives 0 'a backup of a deleted file is made' backup
cp -a "$D" "$T/good"
space=$(basename "$D"/*-*/)

# --- the list of machines ---
gives 0 'recover -n lists the machines' \
	recover a --dry-run "$D"
says "$out" "$(uname -n)"
says "$out" 'backup 4'
says "$out" "$space"
no 'recover -n makes no store' test -e "$T/a/state/store"
gives 1 'a wrong passphrase is refused' \
	on a guard recover --passphrase-file /etc/passwd "$D"
gives 1 'a directory without backups is refused' recover a "$P"
says "$err" 'no file guard-copy'
gives 1 'without a terminal and a file, no passphrase is asked for' \
	on a guard recover "$D"
says "$err" '--passphrase-file'
gives 1 'an unknown machine is refused' recover a "$D" nosuch
says "$err" 'no backup of that name'
no 'a refused recover makes no store' test -e "$T/a/state/store"

# --- everything, byte for byte ---
gives 1 'nothing is stored before' on a guard log
gives 1 'recover -n refuses an unknown machine' recover a -n "$D" nosuch
gives 1 'recover -n refuses an unknown number' recover a -n --at 7 "$D"
gives 0 'recover -n accepts a backup that is there' recover a -n --at 2 "$D"
says "$err" 'backup 2 of'
gives 2 'an empty home is refused' recover a --into '' "$D"
exec 9>"$T/a/state/recover.lock"
flock 9
gives 1 'a second recover is refused' recover a "$D"
says "$err" 'another guard recover is running'
exec 9>&-
gives 1 'a home that does not exist is refused' \
	recover a --into nosuch "$D"
gives 1 'a directory that does not exist is named' recover a "$T/nosuch"
silent "$err" 'mkdir'
gives 0 'recover makes the store again' recover a "$D"
says "$err" 'guard restore PATH'
on a guard status >"$out" 2>&1
says "$out" "newest backup: none since the recovery of backup 4 in '$D'"
for n in 1 2 3 4; do
	ok "all files of snapshot $n are recovered" snapshot_is a $n
done
ok 'the recovered store is intact' on a guard verify --read-data
gives 1 'a store with snapshots is not replaced' recover a "$D"
says "$err" 'restore --from DIR'

# --- the machine goes on ---
mkdir "$T/a/home/notes"
echo new >"$T/a/home/notes/file"
gives 0 'the recovered machine takes snapshots' \
	on a guard snapshot "$T/a/home/notes"
head -c 3000000 /dev/urandom >"$T/a/home/notes/big"
gives 0 'it stores a large file' on a guard snapshot "$T/a/home/notes"
no 'a backup that fails in the middle reports it' \
	on a sh -c "ulimit -f 2000; guard backup '$D'"
gives 0 'the recovered machine backs up without a passphrase' \
	on a guard backup "$D"
is "$(find "$D" -maxdepth 1 -type d -name '*-*' | wc -l)" 1 \
	'it goes on with the backups that were recovered'
copy_state "$state" "$T/old"
gives 0 'the old machine, which was not lost after all, backs up, too' \
	env GUARD_HOME="$T/old" guard backup "$D"
is "$(find "$D" -maxdepth 1 -type d -name '*-*' | wc -l)" 2 \
	'their backups have directories of their own'
gives 1 'of two stores, one must be named' recover b "$D"
says "$err" 'backups of several stores'
second=$(basename "$(find "$D" -maxdepth 1 -type d -name '*-*' \
	! -name "$space")")
gives 0 'the beginning of a name selects a store' recover b "$D" "$second"
ok 'the old machine is recovered' snapshot_is b 4
gives 1 'it lacks the files of the new machine' \
	on b guard restore -n -y "$T/a/home/notes"
gives 0 'the new machine is recovered' recover c "$D" "$space"
ok 'it has the snapshots of the old one' snapshot_is c 3
gives 0 'it has its own ones' \
	on c guard restore -y --to "$T/c/out" "$T/a/home/notes"
is "$(cat "$T/c/out/notes/file")" new 'they are right'
rm -rf "$D"
cp -a "$T/good" "$D"

# --- the words of the sheet, an older backup, another home ---
secret=/opt/guard/tests/data/destinations/words
gives 0 'the words of the recovery sheet open the backup' recover d --at 2 "$D"
secret=$T/pass
ok 'an older backup is recovered' snapshot_is d 2
gives 1 'an older backup lacks later snapshots' on d guard show 3
gives 0 'recover puts snapshots below the new home' \
	recover e --into "$T/e/home" "$D"
gives 0 'versions have their paths in the new home' \
	on e guard log --json "$T/e/home/project/README.md"
is "$(grep -c '"snapshot": ' "$out")" 3 'the log has all of them'
gives 0 'a missing project is restored in the new home' \
	on e guard restore -y "$T/e/home/project"
manifest "$T/e/home/project" >"$T/got"
ok 'the project is complete in the new home' same "$T/m4" "$T/got"

# --- damage ---
# sent KIND N: the N-th file of p/ or s/ in the order of the backups
sent() {
	find "$D/$space/$1" -type f -printf '%T@ %p\n' | LC_ALL=C sort -n |
		sed -n "$2s/[^ ]* //p"
}

# loses NAME DAMAGE FILE: recovers, and checks which files are lost
loses() {
	gives 1 "recover reports $2" recover "$1" "$D"
	says "$err" "${3##*/}"
	says "$err" '1 damaged object'
	on "$1" guard verify --read-data >"$T/lost" 2>&1
	is "$(sed -n 's/^lost *snapshot [0-9]*: \([^:]*\): .*/\1/p' "$T/lost" | sort -u |
		grep -v README.md)" big2 "verify lists the files of $2"
	ok "a snapshot without them is complete ($2)" snapshot_is "$1" 1
	rm -rf "$T/files"
	ok "the files of other objects are restored ($2)" \
		on "$1" guard restore -q -y --at 4 --to "$T/files" "$P/src" \
		"$P/big3" "$P/data" "$P/.git" "$P/notes.txt"
	ok "with the right bytes ($2)" cmp "$P/big3" "$T/files/big3"
	rm -rf "$T/files"
	gives 1 "a dry run names the lost file ($2)" \
		on "$1" guard restore -n --at 4 --to "$T/files" "$P"
	grep lost "$err" >"$T/dry"
	gives 1 "a directory with a lost file is restored ($2)" \
		on "$1" guard restore -y --at 4 --to "$T/files" "$P"
	says "$err" "big2' is skipped: its content is lost"
	is "$(cat "$T/dry")" "$(grep lost "$err")" \
		"as its dry run has said ($2)"
	is "$(diff -rq --no-dereference "$P" "$T/files/project")" "Only in $P: big2" \
		"all but this file ($2)"
	cp -a "$T/files/project" "$T/$1/moved"
	mv "$P" "$P.away"
	cp -a "$T/$1/moved" "$P"
	rm "$P/big3"
	for option in '-n --json' -y; do
		# shellcheck disable=SC2086 # words
		gives 1 "in place with $option, too ($2)" \
			on "$1" guard restore $option --at 4 "$P"
		grep lost "$err" >"$T/lost$option"
		[ "$option" = -y ] ||
			ok "the JSON has the lost path ($2)" grep -qF \
				"\"path\": \"$P/big2\"" "$out"
	done
	says "$T/lost-y" "'big2' is skipped: its content is lost"
	is "$(cat "$T/lost-n --json")" "$(cat "$T/lost-y")" \
		"the dry run has said it ($2)"
	rm -rf "$P"
	mv "$P.away" "$P"
	rm -rf "$T/files"
	gives 1 "a lost file does not keep back another one ($2)" \
		on "$1" guard restore -y --at 4 --to "$T/files" "$P/big[23]"
	says "$err" "big2' is skipped: its content is lost"
	is "$(ls "$T/files")" big3 "which is restored ($2)"
	gives 1 "a lost file alone is not restored ($2)" \
		on "$1" guard restore -y --at 4 --to "$T/files" "$P/big2"
	says "$err" ' repair'
	silent "$err" 'when it was stored'
}

gives 0 'verify DIR accepts an intact destination' guard verify "$D"
says "$err" 'is intact'
says "$err" 'plain:'
gives 0 'verify DIR reads all bytes' guard verify --read-data "$D"
says "$err" 'every byte read'
pack=$(sent p 2)
chmod u+w "$pack"
printf 'XXXX' | dd of="$pack" bs=1 seek=2500000 conv=notrunc status=none
gives 0 'a changed byte is not seen by the sizes' guard verify "$D"
sed -n 's/^guard:  *\(guard .*\) checks every byte$/\1/p' "$err" >"$T/named"
gives 1 'the command that it names sees a changed byte' sh "$T/named"
says "$out" "${pack##*/}"
gives 1 'verify --json sees it, too' guard verify --json --read-data "$D"
ok 'the JSON names the file' grep -q "${pack##*/}" "$out"
loses f 'a changed byte' "$pack"
truncate -s 3000000 "$pack"
gives 1 'verify sees a short file' guard verify "$D"
says "$out" "${pack##*/}"
loses g 'a short file' "$pack"
mv "$pack" "$T/pack"
gives 1 'verify sees a missing file' guard verify "$D"
says "$out" "${pack##*/}"
loses h 'a missing file' "$pack"
gives 0 'restore --from does not need other objects' \
	guard restore -n -y --from "$D" --at 3 "$P/big3"
gives 1 'restore --from names what it cannot restore' \
	guard restore -n -y --from "$D" --at 3 "$P/big2"
says "$err" 'the backup has lost all of it'
rm -rf "$T/files"
gives 1 'restore --from restores a directory without a lost file' \
	guard restore -y --from "$D" --at 4 --to "$T/files" "$P"
is "$(diff -rq --no-dereference "$P" "$T/files/project")" "Only in $P: big2" \
	'all but this file comes from the backup'
rm big2 big3
gives 1 'a dry run in place' guard restore -n --from "$D" --at 4 .
grep lost "$err" >"$T/dry"
gives 1 'in place, too' guard restore -y --json --from "$D" --at 4 .
is "$(cat "$T/dry")" "$(grep lost "$err")" 'its dry run has said the same'
is "$(tr -d ' \n' <"$out" | grep -o '"lost":[^]]*]')" \
	"\"lost\":[{\"path\":\"$P/big2\"}]" 'the JSON has the lost path'
no 'the lost file is not there' test -e big2
ok 'the other one is' test -e big3
gives 0 'undo reverts it' guard undo -y
gives 0 'the own store has both' guard restore -y --at 4 big2 big3
rm -rf "$D"
cp -a "$T/good" "$D"

# lacks WHOLE DIR: whether DIR lacks those paths of WHOLE that the last command
# has named, and has all others with the same bytes
lacks() {
	sed -n "s|.*'\(project/\)*\(.*\)' is skipped: its content is lost|\2|p" \
		"$err" | LC_ALL=C sort >"$T/named"
	diff -rq --no-dereference "$1" "$2" |
		sed "s|^Only in $1\(.*\): |\1/|; s|^/||" |
		LC_ALL=C sort >"$T/lacking"
	[ -s "$T/named" ] && same "$T/named" "$T/lacking"
}

# --- lost directories: those of the first backup that never changed later ---
rm "$(sent s 1)"
gives 1 'recover reports lost directories' recover dirs "$D"
mv "$P" "$T/whole"
for from in recovered repaired backup; do
	rm -rf "$T/files"
	case $from in
	recovered) set -- on dirs guard restore ;;
	repaired)
		gives 1 'repair does not find them' on dirs guard repair -y
		;;
	backup) set -- guard restore --from "$D" ;;
	esac
	gives 1 "a dry run ($from)" "$@" -n --at 4 --to "$T/files" "$P"
	grep lost "$err" >"$T/dry"
	gives 1 "the rest of a project is restored ($from)" \
		"$@" -y --at 4 --to "$T/files" "$P"
	is "$(cat "$T/dry")" "$(grep lost "$err")" \
		"its dry run has said the same ($from)"
	says "$err" "'project/.git' is skipped: its content is lost"
	says "$err" "the attributes of 'project/src' are lost"
	says "$err" "the attributes of 'project/notes.txt' are lost"
	ok "it has its content ($from)" \
		cmp "$T/whole/notes.txt" "$T/files/project/notes.txt"
	ok "it lacks what is named ($from)" lacks "$T/whole" "$T/files/project"
	gives 1 "a file that is named has its content, too ($from)" \
		"$@" -y --at 4 --to "$T/files" "$P/notes.txt"
	says "$err" "the attributes of 'notes.txt' are lost"
	ok "it is the same ($from)" cmp "$T/whole/notes.txt" "$T/files/notes.txt"
	gives 1 "a lost directory alone is not restored ($from)" \
		"$@" -y --at 4 --to "$T/files" "$P/.git"
	no "it is not created ($from)" test -e "$T/files/.git"
done
gives 1 'in the place of a missing project, too' \
	on dirs guard restore -y --at 4 "$P"
ok 'it lacks what is named there' lacks "$T/whole" "$P"
rm -rf "$P"
mv "$T/whole" "$P"
rm -rf "$D"
cp -a "$T/good" "$D"

# manifest_path N: the path of manifest N
manifest_path() {
	echo "$D/$space/c/"*"$1-"*
}

# --- hidden manifests ---
last=$(manifest_path 0004)
mv "$last" "$T/last"
gives 1 'verify knows that the newest backup is missing' guard verify "$D"
says "$out" 'number 4 was the last'
gives 0 'without the newest manifest, the one before is recovered' \
	recover i "$D"
ok 'it is complete' snapshot_is i 3
gives 1 'it lacks the last snapshot' on i guard show 4
mv "$T/last" "$last"
mv "$(manifest_path 0002)" "$T/middle"
gives 1 'verify names a missing manifest' guard verify "$D"
says "$out" "'backup 2': its manifest"
gives 0 'recover needs no manifest before a complete one' recover j "$D"
ok 'the snapshots of all backups are complete' snapshot_is j 3
mkdir "$T/hidden"
mv "$D/$space/c/"* "$T/hidden"
gives 1 'without any manifest there is no backup' recover k "$D"
says "$err" 'has no backup'
gives 1 'verify knows that there were some' guard verify "$D"
says "$err" 'backup 4 was the last'
rm -rf "$D"
cp -a "$T/good" "$D"

# --- restore --from, log --from ---
rm README.md big1
echo local >local
gives 0 'guard snapshot makes the local store differ' guard snapshot
gives 0 'restore --from restores a file' \
	guard restore -y --from "$D" --at 1 README.md big1
is "$(cat README.md)" 'version 1' 'it has the content of the backup'
gives 0 'restore --from is undone' guard undo -y
no 'the file is gone again' test -e README.md
gives 0 'log --from lists the versions of a path' \
	guard log --from "$D" README.md
is "$(grep -c ' modified ' "$out")" 2 'log --from has all versions'
gives 1 'log --from refuses an unknown path' guard log --from "$D" nosuch
is "$(cat "$err")" "guard: in the backup, which ends with snapshot 4: no \
stored version of '$P/nosuch'" 'and says where'
gives 1 'restore --from, too' guard restore --from "$D" nosuch
says "$err" "which ends with snapshot 4: no such path: '$P/nosuch'"
silent "$err" 'guard find'
while read -r status when text; do
	gives "$status" "a version that the backup lacks: $when" \
		guard restore --from "$D" --at "$when" README.md
	is "$(cat "$err")" \
		"guard: in the backup, which ends with snapshot 4: $text" \
		'is named'
done <<E
1 99 no such snapshot: 99
1 2001-02-03 $(guard restore --at 2001-02-03 README.md 2>&1 | sed 's/^guard: //')
2 nosuch@14:03 no such run: 'nosuch'
E
gives 0 'log --from lists the snapshots of a backup' guard log --from "$D"
is "$(wc -l <"$out")" 4 'log --from has all snapshots'
gives 0 'another machine reads the log' \
	on l guard log --from "$D" --passphrase-file "$secret" "$P/README.md"
says "$out" modified
gives 1 'where the home directory has another name' \
	on l guard log --from "$D" --passphrase-file "$secret" project/README.md
says "$err" "and is of the home directory '$HOME': no stored version of"
gives 0 'a dry run there' on l guard restore -n --from "$D" \
	--passphrase-file "$secret" --to "$T/l/out" "$P/src"
is "$(find "$T/l/state/store/packs" -type f)" '' 'stores nothing'
gives 0 'another machine restores a file that it never had' \
	on l guard restore -y --from "$D" --passphrase-file "$secret" \
	--to "$T/l/out" "$P/src"
ok 'the directory is complete' diff -r "$P/src" "$T/l/out/src"
on l guard log >"$out" 2>&1
silent "$out" 'README'
is "$(find "$state/trash" "$T/l/state/trash" -name '*copy*')" '' \
	'restore --from leaves nothing in the state'
python3 - "$P/rows.sqlite" <<'SQL'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute('pragma journal_mode = wal')
db.execute('create table t (x)')
db.execute('insert into t values (42)')
db.commit()
import os
os._exit(0)
SQL
gives 0 'a database is stored' guard snapshot
gives 0 'a database is backed up' backup
rm rows.sqlite*
gives 0 'restore --from restores a database' \
	guard restore -y --from "$D" rows.sqlite
is "$(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select x from t").fetchone()[0])' \
	rows.sqlite)" 42 'its write-ahead log comes with it'

# --- two machines in one destination, and a clone ---
mkdir -p "$T/m/home/notes"
echo other >"$T/m/home/notes/file"
gives 0 'another machine takes a snapshot' \
	on m guard snapshot "$T/m/home/notes"
gives 0 'it backs up to the same destination' \
	on m guard backup --passphrase-file "$secret" "$D"
gives 0 'verify checks both' guard verify --read-data "$D"
theirs=$(basename "$(find "$D" -maxdepth 1 -type d -name '*-*' ! -name "$space")")
gives 0 'the other store is recovered' recover n --json "$D" "$theirs"
is "$(grep -cF -e '"name": "'"$theirs"'"' -e '"done": true' -e '"faults": 0' \
	"$out")" 3 'the JSON says so'
gives 0 'its file is restored' \
	on n guard restore -y --to "$T/n/out" "$T/m/home/notes/file"
is "$(cat "$T/n/out/file")" other 'it is right'
gives 0 'restore --from takes the store of this machine' \
	guard restore -n -y --from "$D" --at 1 README.md
gives 0 'restore --from takes the named store' \
	guard restore -y --from "$D" --machine "$theirs" --to "$T/o" \
	"$T/m/home/notes/file"
copy_state "$T/m/state" "$T/clone/state"
echo mine >"$T/m/home/notes/file"
echo clone >"$T/m/home/notes/clone"
on m guard snapshot -q "$T/m/home/notes" >/dev/null
gives 0 'the original of a clone backs up' on m guard backup "$D"
rm "$T/m/home/notes/clone"
mkdir -p "$T/clone/home"
clone() {
	HOME=$T/m/home GUARD_HOME=$T/clone/state guard "$@"
}
echo clone >"$T/m/home/notes/file"
clone snapshot -q "$T/m/home/notes" >/dev/null
gives 0 'a clone backs up' clone backup "$D"
gives 0 'the original goes on' on m guard backup "$D"
gives 0 'a clone goes on' clone backup "$D"
gives 0 'all stores of the destination are intact' \
	guard verify --read-data "$D"
gives 0 'recover -n lists all of them' recover p -n "$D"
recover p -n --json "$D" >"$T/json" 2>"$err"
is "$(sed -n 's/^ *"name": "\(.*\)",$/\1/p' "$T/json")" "$(sed 's/.* //' "$out")" \
	'so does its JSON'
contents=$(recover p -n "$D" 2>/dev/null | sed 's/.* //' | sort -u |
	while read -r chosen; do
		[ "$chosen" != "$space" ] || continue
		recover "r-$chosen" "$D" "$chosen" >/dev/null 2>&1
		on "r-$chosen" guard restore -q -y --to "$T/r-$chosen/out" \
			"$T/m/home/notes/file" >/dev/null 2>&1
		cat "$T/r-$chosen/out/file"
	done | sort | tr '\n' ' ')
is "$contents" 'clone mine ' 'original and clone are both recovered'
cat >"$T/script" <<END
< which one?
> $(uname -n)\r
< which one?
> nosuch\r
< which one?
> ${space%?}\r
< manual
end 0
END
gives 0 'a terminal asks until one is chosen' on q "$tools/pty" "$T/script" \
	guard log --no-pager --from "$D" --passphrase-file "$secret"


# --- pins ---
gives 0 'a snapshot is pinned' guard pin 2
gives 0 'a pin alone is backed up' guard backup "$D" --json
ok 'as a backup of its own' grep -q '"nothing": *false' "$out"
gives 0 'it is recovered' recover pinned "$D" "$space"
is "$(on pinned guard pin | grep -c '^2 ')" 1 'the snapshot is pinned there'
guard pin --remove 2 >/dev/null 2>&1

# --- two clones that back up at once ---
# fork NAME: a snapshot of the machine, and its backup
fork() {
	echo "$1" >"$T/$1/home/notes/file"
	on "$1" guard snapshot -q "$T/$1/home/notes" >/dev/null &&
		on "$1" guard backup "$T/fork"
}
mkdir -p "$T/one/home/notes"
destination 2 "$T/fork"
echo one >"$T/one/home/notes/file"
on one guard snapshot -q "$T/one/home/notes" >/dev/null
gives 0 'a machine with a clone backs up' \
	on one guard backup --passphrase-file "$T/pass" "$T/fork"
mkdir "$T/two"
cp -a "$T/one/home" "$T/two"
copy_state "$T/one/state" "$T/two/state"
gives 0 'the original of the clone backs up' fork one
chains=$(echo "$T/fork/"*-*/c)
mkdir "$T/hidden2"
mv "$chains"/*02-* "$T/hidden2"
gives 0 'its clone backs up at the same time' fork two
mv "$T/hidden2"/* "$chains"
gives 0 'recover -n lists both' recover s -n "$T/fork"
is "$(sed 's/.* //' "$out" | sort -u | wc -l)" 2 'they have different names'
sed 's/.* //' "$out" | sort >"$T/chains"
gives 1 'without a name, neither is recovered' recover s "$T/fork"
says "$err" "'$T/fork' has backups of several stores"
for n in 1 2; do
	chosen=$(sed -n "${n}p" "$T/chains")
	gives 0 "chain $n is recovered by its name" \
		recover "s$n" "$T/fork" "$chosen"
	on "s$n" guard log --all >"$T/log$n" 2>&1
done
ok 'each chain has a snapshot of its own machine' sh -c \
	"cat '$T/log1' '$T/log2' | grep -q '$T/one/home/notes' &&
	cat '$T/log1' '$T/log2' | grep -q '$T/two/home/notes'"
gives 0 'the backup before both needs no name' recover s --at 1 "$T/fork"
for name in one two; do
	gives 0 "restore --from of machine $name reads its own chain" \
		on "$name" guard restore -y --from "$T/fork" --to "$T/$name/out" \
		"$T/$name/home/notes/file"
	is "$(cat "$T/$name/out/file")" "$name" "the file of $name is right"
done
gives 0 'verify calls both chains intact' on one guard verify "$T/fork"

# --- guard-copy and its second copy ---
cp -a "$T/good" "$T/torn"
chmod u+w "$T/torn/guard-copy" "$T/torn/guard-copy.2"
echo >>"$T/torn/guard-copy"
gives 0 'with a damaged guard-copy the second one is used' recover q "$T/torn"
ok 'all of it is recovered' snapshot_is q 3
rm "$T/torn/guard-copy"
gives 0 'with a missing one, too' recover q2 "$T/torn"
echo >>"$T/torn/guard-copy.2"
gives 1 'with both damaged there is no key' recover q3 "$T/torn"
says "$err" 'is damaged'

# --- status, doctor, purge ---
guard status >"$out" 2>"$err"
says "$out" 'newest backup: '
says "$out" "in '$D'"
ok 'status has the backups in JSON' sh -c 'guard status --json |
	grep -q "\"backups\""'
guard doctor >"$out" 2>"$err"
says "$out" 'newest backup: '
touch -d '3 days ago' "$state"/backups/*/success
guard doctor >"$out" 2>"$err"
ok 'doctor calls an old backup weaker' grep -q '^weaker .*backup' "$out"
echo "backup = $T/never" >"$state/config"
guard doctor >"$out" 2>"$err"
says "$out" "newest backup: none so far in '$T/never'"
rm "$state/config"
gives 0 'purge --json -n has the destinations' guard purge --json -n big3
ok 'the JSON names them' sh -c "tr -d '\n ' <'$out' |
	grep -qF '\"backups\":[\"$D\"]'"
gives 0 'purge removes a path' guard purge --confirm big3 big3
says "$err" "backups made before now in '$D' may have it"

finish
