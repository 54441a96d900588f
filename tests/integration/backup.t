#!/bin/sh
# guard backup: destinations, their keys and failures, the settings, and the
# command that carries files elsewhere.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

tools=$(dirname "$(command -v guard)")/tests/lib
[ -x "$tools/pty" ] || tools=/opt/guard/build/tests/lib
make_home
cd "$HOME/project" || exit 99
usb=$HOME/usb
pass=$T/pass
printf 'a long passphrase\nsecond line\n' >"$pass"
mkdir "$usb"

# files DIR: all files there, with their times
files() {
	find "$1" -type f -printf '%P %T@ %C@\n' | LC_ALL=C sort
}
# sheet FILE: the words of the recovery sheet in it
sheet() {
	sed -n 's/^\twords *//p' "$1"
}
backups_in() {
	find "$1" -path '*/c/*' ! -name '*.tmp-*' | wc -l
}
record() {
	sed -n "s/^$1=//p" "$state"/backups/*/record
}
change() {
	echo "$1" >"src/$1.c"
	guard snapshot -q >/dev/null
}

gives 1 'a backup of nothing fails' guard backup "$usb"
says "$err" 'nothing is stored yet'
change one
gives 1 'a backup without a destination fails' guard backup
says "$err" 'guard backup /mnt/usb'
gives 1 'a missing directory is refused' guard backup "$HOME/nowhere"
says "$err" "$HOME/nowhere"
gives 1 'the state is refused' guard backup "$state"
says "$err" "guard's own state"
gives 1 'the home directory is refused' guard backup "$HOME"
says "$err" 'name a directory of its own'
git init -q "$T/repository"
gives 1 'a directory of git is refused' guard backup "$T/repository/.git"
says "$err" 'belongs to a git repository'
gives 1 'and its work tree' guard backup "$T/repository"
says "$err" 'belongs to a git repository'
echo "backup = $usb" >"$state/config"
guard status >"$out"
says "$out" "newest backup: none so far in '$usb'"
gives 1 'a destination of the settings needs a passphrase, too' guard backup
says "$err" 'use --passphrase-file FILE'
rm "$state/config"
gives 1 'a name that the settings cannot have is refused' \
	guard backup --every "$usb " --passphrase-file "$T/pass"
says "$err" 'rename it'
gives 1 'a directory that takes no file is refused' \
	guard backup /proc/self --passphrase-file "$pass"
is "$(cat "$out")" '' 'without a recovery sheet'
gives 1 'the first backup needs a passphrase' guard backup "$usb"
says "$err" 'use --passphrase-file FILE'
: >"$T/empty"
printf 'nul\0byte and more\n' >"$T/control"
gives 1 'a passphrase with a NUL is refused' \
	guard backup "$usb" --passphrase-file "$T/control"
says "$err" 'base64 makes text of them'
printf '  short  \n' >"$T/short"
gives 1 'and one of five letters' \
	guard backup "$usb" --passphrase-file "$T/short"
says "$err" 'at least 8 characters'
gives 2 'an empty name is no directory' guard backup ''
gives 1 'an empty passphrase is refused' \
	guard backup "$usb" --passphrase-file "$T/empty"
says "$err" 'its first line must be the passphrase'
gives 1 'no destination is made without its recovery sheet' sh -c \
	"exec guard backup '$usb' --passphrase-file '$pass' >/dev/full"
says "$err" 'sheet cannot be printed (No space left on device)'
gives 0 '-n shows that a destination would be made' guard backup -n "$usb"
says "$err" 'would become a destination'
is "$(files "$usb")" '' 'nothing was written so far'

gives 0 'the first backup sends all' \
	guard backup "$usb" --passphrase-file "$pass"
says "$err" "backup 1 in '$usb': 1 snapshot in "
says "$err" 'plain: '
says "$err" "'$usb' is on the same disk as guard's store"
words=$(sheet "$out")
is "$(echo "$words" | wc -w)" 9 'the recovery sheet has nine words'
ok 'and the number of the backup' grep -q '^	backup  *1, ' "$out"
id=$(sed -n 's/^\tdestination *//p' "$out")
is "$(stat -c %a "$state/backups/$id/key")" 400 'only the user reads the key'
# shellcheck disable=SC2086 # words
no 'neither key nor words are in the destination' \
	grep -rqF -e "$(cat "$pass")" -e "${words%% *}" "$usb"
other() {
	GUARD_HOME=$T/state2 guard "$@"
}
other snapshot -q >"$T/seq"
echo "$words" | tr 'a-z ' 'A-Z-' >"$T/words"
gives 0 'the words of the sheet open the destination on another machine' \
	other backup "$usb" --passphrase-file "$T/words"
says "$err" 'backup 1 in'
silent "$out" words
gives 0 'and so does the passphrase' env GUARD_HOME="$T/state3" \
	guard verify "$usb" --passphrase-file "$pass"
mkdir "$T/json"
gives 0 'a new destination with --json' \
	other backup --json "$T/json" --passphrase-file "$pass"
is "$(sheet "$err" | wc -w)" 9 'the sheet is on standard error'
silent "$out" words

# --- a destination with a key that takes no time ---
guard backup --forget "$usb" 2>"$T/said"
rm -rf "$usb"
destination 1 "$usb"
gives 0 'a destination that another machine has made' \
	guard backup "$usb" --passphrase-file "$pass"
silent "$out" words
id=$(ls "$state/backups")
ok 'keeps its id' grep -qx "id=$id" "$usb/guard-copy"
gives 1 'a wrong passphrase for a known destination is an error' \
	guard backup "$usb" --passphrase-file "$T/short"
says "$err" 'wrong passphrase'
files "$usb" >"$T/before"
gives 0 'a backup of nothing new asks nothing' guard backup "$usb"
says "$err" "'$usb' has everything: backup 1"
is "$(files "$usb")" "$(cat "$T/before")" 'it writes no file'
change two
gives 0 '-n shows what would be sent' guard backup -n
says "$err" 'of 1 snapshot would be sent'
is "$(files "$usb")" "$(cat "$T/before")" 'and writes no file'
gives 0 'the second backup sends what is new' guard backup
says "$err" "backup 2 in '$usb': 1 snapshot in "
ok 'in at most three files' test $(($(files "$usb" | wc -l) - \
	$(wc -l <"$T/before"))) -le 3
is "$(files "$usb" | LC_ALL=C comm -13 - "$T/before")" '' \
	'and no older file changed'

space=$(basename "$usb"/*-*/)
gives 1 'a directory in a destination is none' \
	guard backup "$usb/$space" --passphrase-file "$pass"
says "$err" 'name the directory above'

# --- another machine ---
echo wrong >"$T/wrong"
gives 1 'another machine needs the right passphrase' \
	other backup "$usb" --passphrase-file "$T/wrong"
says "$err" "'$usb': "
gives 0 'which opens the destination' \
	other backup "$usb" --passphrase-file "$pass"
is "$(find "$usb" -maxdepth 1 -type d -name '*-*' | wc -l)" 2 \
	'each machine has its own directory'

# --- a pack that is damaged when it is sent, and repaired later ---
for size in 700000 300000; do
	head -c $size /dev/urandom >"random$size"
done
guard snapshot -q >"$out"
pack=$(find "$state/store/packs" -size +900k -newer random300000)
ok 'a pack has both files' chmod u+w "$pack"
printf XXXX | dd of="$pack" bs=1 seek=200000 conv=notrunc status=none
guard backup -q
gives 0 'repair stores the damaged object again' guard repair -y
says "$err" '1 damaged pack replaced'
gives 0 'the backup after a repair' guard backup
gives 0 'has it' \
	guard restore -q -y --from "$usb" --to "$T/healed" random700000 random300000
ok '... with the right bytes' cmp "$T/healed/random700000" random700000
ok '... beside the intact one' cmp "$T/healed/random300000" random300000
rm random*
pack=$(find "$state/store/packs" -size +600k | head -n 1)
chmod u+w "$state/store/packs"
mv "$pack" "$T/lost"
change one
gives 0 'a backup of a store that lost a pack' guard backup
says "$err" 'the store is damaged, and the backup keeps what it had'
chmod u+w "$state/store/packs"
mv "$T/lost" "$pack"
chmod a-w "$state/store/packs"

# --- a snapshot that is damaged after it was sent ---
chmod u+w "$state/store/snaps/0000000001.gsn"
: >"$state/store/snaps/0000000001.gsn"
change damaged
gives 0 'a backup of a store with a damaged snapshot' guard backup
says "$err" 'the store is damaged, and the backup keeps what it had'
gives 1 'repair removes the snapshot' guard repair -y
says "$err" "the newest backup may have what is lost: guard restore --from $usb"
gives 0 'which the backup has' \
	guard restore -q -y --from "$usb" --at 1 --to "$T/intact" src/one.c

# --- two destinations, and destinations that fail ---
destination 2 "$T/other"
gives 0 'a second destination' \
	guard backup "$T/other" --passphrase-file "$pass"
change three
gives 0 'without a directory all destinations get a backup' \
	guard backup --json
is "$(grep -c '"backup"' "$out")" 2 'both are in the JSON'
cp -a "$usb" "$T/twin"
gives 1 'a copy of one is none' guard backup "$T/twin"
says "$err" "'$T/twin' is a copy of the destination '$usb': begin"
ok 'the path stays' grep -qxF "path=$usb" "$state/backups/$id/record"
mv "$usb" "$usb.away"
gives 1 'a failed one is in the JSON' guard backup --json
ok 'with its error' grep -q '"error": "destination ' "$out"
gives 1 'one that is missing fails' guard backup
says "$err" "$usb"
guard doctor >"$out"
says "$out" "'$usb'; the last one failed: destination '$usb'"
mkdir "$usb"
gives 1 'a disk that is not mounted gets no files' guard backup
says "$err" "'$usb' has no file guard-copy: mount its disk"
says "$err" "'$T/other' has everything"
rmdir "$usb"
mv "$usb.away" "$T/moved"
cp "$state/backups/$id/key" "$T/key"
change elsewhere
gives 0 'a dry run on a disk that is mounted elsewhere' \
	guard backup -n "$T/moved"
ok 'does not change its path' grep -qxF "path=$usb" "$state/backups/$id/record"
chmod a-w "$T/moved" "$T/moved"/*-*/c
if [ "$me" != root ]; then
	gives 1 'nor does a backup that fails' guard backup "$T/moved"
	ok 'the path stays' \
		grep -qxF "path=$usb" "$state/backups/$id/record"
fi
chmod u+w "$T/moved" "$T/moved"/*-*/c
gives 0 'a disk that is mounted elsewhere is known' guard backup "$T/moved"
says "$err" "this destination was '$usb': guard backup now writes to '$T/moved'"
record path >"$T/paths"
says "$T/paths" "$T/moved"
ok 'its key is still the same' cmp "$T/key" "$state/backups/$id/key"
gives 0 'which the passphrase gives, too' \
	env GUARD_HOME="$T/state3" \
	guard verify "$T/moved" --passphrase-file "$pass"
mv "$T/moved" "$usb"
gives 0 'and known when it is back' guard backup "$usb"

change four
if [ "$me" = root ]; then
	mount --bind "$usb" "$usb"
	mount -o remount,bind,ro "$usb"
else
	chmod -R a-w "$usb"
fi
gives 1 'a read-only destination fails' guard backup "$usb"
says "$err" "$usb"
[ -n "$(record failure)" ]
is $? 0 'the failure is recorded'
if [ "$me" = root ]; then
	umount "$usb"
else
	chmod -R u+w "$usb"
fi
gives 0 'and works again' guard backup "$usb"
is "$(record failure)" '' 'the failure is no longer recorded'

mkdir /small/usb
head -c 20000000 /dev/urandom >data/large.bin
change five
head -c 170000000 /dev/zero >/small/fill 2>"$T/full"
gives 1 'a full destination fails' \
	guard backup /small/usb --passphrase-file "$pass"
says "$err" 'No space left on device; free space there'
silent "$err" 'prune'
rm /small/fill
destination 3 /small/usb
gives 0 'the next backup continues' \
	guard backup /small/usb --passphrase-file "$pass"
is "$(find /small/usb -name '*.tmp-*')" '' 'no temporary file is left'
change pruned
gives 0 'a second backup to a small disk' guard backup /small/usb
head -c 170000000 /dev/zero >/small/fill 2>"$T/full"
cat >"$T/script" <<END
< passphrase, or words
> a long passphrase\r
< No space left on device; free space there, or delete old backups: guard
< delete them for good?
> y\r
< ) deleted
end 0
END
gives 0 '--prune makes room on a full disk' "$tools/pty" "$T/script" \
	guard backup --prune /small/usb --keep-last 1
rm /small/fill
gives 0 'the next backup has room' guard backup /small/usb

# --- guard-copy is lost ---
cp "$usb/guard-copy" "$T/guard-copy"
chmod u+w "$usb"/guard-copy*
rm "$usb/guard-copy"
echo damaged >"$usb/guard-copy.2"
change lost
gives 1 'verify misses it, though this machine has the key' guard verify "$usb"
says "$out" "damaged  'guard-copy': "
gives 0 'a backup without guard-copy' guard backup "$usb"
ok 'writes it again' cmp "$T/guard-copy" "$usb/guard-copy"
ok 'and its second copy' cmp "$T/guard-copy" "$usb/guard-copy.2"
gives 0 'verify has both' guard verify "$usb"
chmod u+w "$state/backups/$id/key"
printf 'damaged' | dd of="$state/backups/$id/key" bs=1 seek=3 conv=notrunc \
	2>"$T/said"
change damaged
gives 1 'a damaged key seals no backup' guard backup "$usb"
says "$err" 'use --passphrase-file FILE'
gives 0 'and is made again' guard backup "$usb" --passphrase-file "$pass"
ok 'by the passphrase' cmp "$T/key" "$state/backups/$id/key"

# --- forget ---
gives 0 '--forget -n changes nothing' guard backup -n --forget /small/usb
gives 0 '--forget forgets a destination' guard backup --forget /small/usb
destination 3 "$T/bare"
ok 'a destination' guard backup "$T/bare" --passphrase-file "$pass"
chmod u+w "$T/bare"/guard-copy*
rm "$T/bare"/guard-copy*
gives 1 '--forget asks where nothing else opens the backups' \
	guard backup --forget "$T/bare"
says "$err" 'without a readable file guard-copy'
gives 0 'and forgets with -y' guard backup -y --forget "$T/bare"
rm -r /small/usb
gives 1 'only once' guard backup --forget /small/usb
says "$err" 'is no destination'
gives 2 '--forget needs a directory' guard backup --forget
mv "$T/other" "$T/away"
mkdir "$T/other"
gives 1 'a disk that is not there any more' guard backup
ok 'the command that the message names forgets it' \
	sh -c "$(grep -o 'guard backup --forget [^ ]*' "$err")"
gives 0 'the others stay' guard backup
is "$(ls "$state/backups")" "$id" 'the other keys are gone'

# --- backup-command ---
cat >"$T/carry" <<END
cat >"$T/carried"
echo "\$GUARD_BACKUP_DIR \$(pwd)" >"$T/where"
[ "\$(cat "$T/status")" -ne 0 ] || cat "$T/carried" >>"$T/taken"
exit \$(cat "$T/status")
END
echo "backup-command = sh $T/carry # it" >"$state/config"
echo 3 >"$T/status"
touch -d '3 days ago' "$state/backups/$id/success"
gives 1 'a command that fails is reported' guard backup
says "$err" 'backup-command failed (status 3)'
guard status >"$out" 2>&1
says "$out" 'newest backup: 3 d ago'
is "$(cat "$T/where")" "$usb $usb" 'it runs in the destination'
cp "$T/carried" "$T/first"
is "$(head -n 1 "$T/first")" guard-copy 'the first list has all files'
is "$(sed '/^guard-copy/d; s,/.*,,' "$T/first" | sort -u | wc -l)" 1 \
	'of this machine'
is "$(tail -n 1 "$T/first" | cut -d / -f 2)" c 'the manifest is the last'
(cd "$usb" && xargs ls -d <"$T/first") >"$T/listed"
is "$(wc -l <"$T/listed")" "$(wc -l <"$T/first")" 'all of them exist'
change six
gives 1 'the next backup passes the same files and its own' guard backup
is "$(sort "$T/carried" "$T/first" | uniq -d)" "$(sort "$T/first")" 'all of them'
is "$(tail -n 1 "$T/carried" | cut -d / -f 2)" c 'the newest manifest is the last'
cp "$T/carried" "$T/second"
ok 'with the new ones' test "$(wc -l <"$T/second")" -gt "$(wc -l <"$T/first")"
echo 0 >"$T/status"
gives 0 'also when nothing is new' guard backup
ok 'until the command takes them' cmp "$T/carried" "$T/second"
: >"$T/carried"
gives 0 'then it is not run' guard backup
is "$(cat "$T/carried")" '' 'for nothing new'
change seven
gives 0 'later lists' guard backup
ok 'have only new files' test "$(wc -l <"$T/carried")" -le 3
echo "backup-command $usb = sh $T/carry # elsewhere" >"$state/config"
gives 0 'another command' guard backup
is "$(head -n 1 "$T/carried")" guard-copy 'gets all files'
timeout 60 flock "$state/backups/$id/lock" sh -c "echo >'$T/locked'
	until grep -q waiting '$err'; do sleep 0.05; done" &
until [ -e "$T/locked" ]; do kill -0 $! || break; done
gives 0 'a backup waits for another one' guard backup
says "$err" 'in use by another backup: waiting'
guard status >"$out" 2>&1
silent "$out" 'snapshots have changed since'
touch -d '1 minute ago' "$state/backups/$id/success"
guard status >"$out" 2>&1
says "$out" "in '$usb'; snapshots have changed since"
echo >"$state/config"
change eight
guard backup -q
echo "backup-command = sh $T/carry" >"$state/config"
change nine
temp=$usb/$(record space)/p/.tmp-0123456789abcdef
: >"$temp"
gives 0 'after a backup without the command' guard backup
silent "$err" 'no destination'
is "$(head -n 1 "$T/carried")" guard-copy 'the list has all files again'
silent "$T/carried" '.tmp-'
rm "$temp"

{
	echo "backup-command $usb/ = sh $T/carry"
	echo "backup-command $usb.typo = sh $T/carry"
} >"$state/config"
gives 0 'a line for a directory without backups' guard backup
is "$(grep -c 'no destination' "$err")" 1 'is named'
says "$err" "backup-command '$usb.typo': it is no destination"

# A command that does not end.
mkfifo "$T/began" "$T/gate"
echo "backup-command = echo >$T/began; cat $T/gate; cat >>$T/taken" \
	>"$state/config"
change waiting
guard backup -q >"$T/waited" 2>&1 &
read -r _ <"$T/began"
touch -d '3 hours ago' "$state/backups/$id/unsent"
guard status >"$out" 2>&1
says "$out" 'its files wait for backup-command, which began 3 h ago'
guard doctor >"$out" 2>&1
says "$out" 'its files wait for backup-command, which began 3 h ago'
gives 1 'meanwhile no other backup begins' guard backup
says "$err" "another backup to '$usb' is running"
guard status >"$out" 2>&1
says "$out" 'its files wait for backup-command, which began 3 h ago'
echo >"$T/gate"
wait
guard status >"$out" 2>&1
silent "$out" 'its files wait'
echo "backup-command = sh $T/carry" >"$state/config"

# --- killed ---
# A kill at the n-th call that changes a file, before the paths are noted too.
at=1
killed=0
while [ $at -lt 60 ]; do
	change "k$at"
	"$tools/stopat" --at $at -- guard backup -q >"$T/said" 2>&1 ||
		killed=$((killed + 1))
	guard backup -q >"$T/said" 2>&1 || flunk "a backup after a kill at $at"
	at=$((at + 3))
done
ok 'backups were killed' test $killed -gt 3
space=$(record space)
(cd "$usb" && find . -path "./$space/*" -type f) |
	sed 's,^\./,,' | grep -v '\.tmp-' | sort >"$T/there"
sort -u "$T/taken" >"$T/sorted"
is "$(comm -23 "$T/there" "$T/sorted")" '' 'the command got every file'

# --- in the background; the settings are a link, as in a repository of dotfiles ---
mkdir "$HOME/dots"
ln -sf "$HOME/dots/guard" "$state/config"
gives 1 'a link to a missing file is an error' guard backup --every "$usb"
says "$err" "$state/config: the file it leads to is missing"
: >"$HOME/dots/guard"
gives 0 '--every sets the line' guard backup --every "$usb"
is "$(cat "$HOME/dots/guard")" "backup = $usb" 'in the file of the link'
is "$(cat "$state/config")" "backup = $usb" 'in the settings'
gives 0 'only once' guard backup --every "$usb"
is "$(wc -l <"$state/config")" 1 'one line'
odd=$(printf '%s\nmax-size = 1' "$usb")
mv "$usb" "$odd"
gives 1 'a moved disk cannot put a line into the settings' guard backup "$odd"
says "$err" 'rename it'
is "$(cat "$state/config")" "backup = $usb" 'which keep their line'
mv "$odd" "$usb"
gives 0 'the next one is as before' guard backup "$usb"
is "$(cat "$state/config")" "backup = $usb" 'as are the settings'
count=$(backups_in "$usb/$space")
gives 0 'a run' guard run -q -- sh -c 'echo x >in-run'
settle
is "$(backups_in "$usb/$space")" $((count + 1)) 'is followed by a backup'
gives 0 'a run within a quarter of an hour' guard run -q -- sh -c 'echo y >y'
settle
is "$(backups_in "$usb/$space")" $((count + 1)) 'is not'
touch -d '14 minutes ago' "$state/last-backup"
change ten
settle
is "$(backups_in "$usb/$space")" $((count + 1)) 'nor after 14 minutes'
touch -d '16 minutes ago' "$state/last-backup"
change eleven
settle
is "$(backups_in "$usb/$space")" $((count + 2)) 'a snapshot after 16 minutes is'
mv "$usb" "$usb.away"
touch -d '16 minutes ago' "$state/last-backup"
gives 0 'a backup that fails fails no run' guard run -q -- true
settle
is "$(cat "$err")" '' 'which says nothing of it'
record failure >"$T/failure"
says "$T/failure" "$usb"
mv "$usb.away" "$usb"
touch -d '16 minutes ago' "$state/last-backup"
gives 0 'the next one' guard run -q -- true
settle
is "$(record failure)" '' 'works'

cp "$state/config" "$T/config"
echo 'keep-dayly = 3' >>"$state/config"
guard status >"$out"
says "$out" "in '$usb'; the last one failed: $state/config: line"
cat "$T/config" >"$state/config"

# --- a run sees neither destination, nor key, nor command ---
echo "backup-command = sh $T/carry" >>"$state/config"
cat >look.sh <<END
ls -A "$usb"; cat "$usb/guard-copy" "$state/config" "$state"/backups/*/key
cat "$HOME/dots/guard"
env | grep GUARD_BACKUP; grep -l carry /proc/[0-9]*/cmdline; echo end
END
guard run -q -- sh look.sh >"$T/seen" 2>"$T/said"
is "$(cat "$T/seen")" end 'a run finds none of them'
is "$(guard explain "$usb" | cut -d '(' -f 1)" \
	"'$usb': masked: a destination of backups " 'explain says why'
gives 125 '--ro does not expose it' guard run --ro "$usb" -- true
says "$err" 'is a destination of backups: no run may see it'
is "$(guard explain "$HOME/dots/guard" | cut -d '(' -f 1)" \
	"'$HOME/dots/guard': masked: guard's own state " 'and the settings'
gives 125 'nor the settings' guard run --ro "$HOME/dots/guard" -- true
says "$err" "is guard's own state: no run may see it"
cd "$usb/$space/c" || exit 99
gives 125 'a run does not begin there' guard run -- true
says "$err" 'is a destination of backups: no run may see it'
cd - >/dev/null || exit 99
gives 125 '--rw neither' guard run --rw "$usb/$space" -- true
if [ "$me" = root ]; then
	chown 12345 "$HOME/dots/guard"
	gives 1 "another user's settings are refused" guard backup
	says "$err" "$state/config: it belongs to uid 12345, not to you"
fi
rm "$state/config"

# Of a destination in a project guard's own files are in no snapshot; one around
# a project, or with files of the user, masks only guard's own files.
destination 2 "$HOME/project/copies"
destination 3 "$T/around"
mkdir "$T/around/notes"
ok 'a destination in the project' \
	guard backup "$HOME/project/copies" --passphrase-file "$pass"
guard snapshot -q >"$T/seq"
guard ls "$(cat "$T/seq")" >"$T/tree" 2>&1
says "$T/tree" notes.txt
says "$T/tree" copies
guard ls "$(cat "$T/seq")" copies >"$T/tree" 2>&1
silent "$T/tree" guard-copy
echo mine >copies/file
mkdir "copies/$(echo "$space" | tr 0-9 1-90)"
echo theirs >"copies/$(echo "$space" | tr 0-9 1-90)/sealed"
guard run -q -- sh -c 'cat copies/*; ls copies/*/' >"$T/seen" 2>"$T/said"
is "$(grep -v : "$T/seen" | grep .)" mine 'a run sees the files beside them'
guard snapshot -q >"$T/seq"
guard ls "$(cat "$T/seq")" copies >"$T/tree" 2>&1
says "$T/tree" file
silent "$T/tree" guard-copy
is "$(cat "$T/tree")" file 'without those of other machines'
rm copies/file
files "$HOME/project/copies" >"$T/before"
gives 0 'a restore of all files' guard restore -y --exact --at 2 .
is "$(files "$HOME/project/copies")" "$(cat "$T/before")" \
	'deletes no file of a backup'
gives 0 'undo' guard undo -y
is "$(files "$HOME/project/copies")" "$(cat "$T/before")" 'neither'
guard log --all >"$T/log" 2>&1
for seq in $(grep -o '^ *[0-9][0-9]*' "$T/log" | head -n 3); do
	guard ls "$seq" copies
done >"$T/tree" 2>&1
silent "$T/tree" guard-copy
ok 'a destination around a project' \
	guard backup "$T/around" --passphrase-file "$pass"
echo mine >"$T/around/notes/file"
cd "$T/around/notes" || exit 99
guard run -q -- sh -c 'cat file; cat ../guard-copy; ls -d ../*-*/*' \
	>"$T/seen" 2>"$T/said"
is "$(cat "$T/seen")" mine 'a run in there sees its files only'
cd "$HOME/project" || exit 99
guard backup --forget "$T/around" 2>"$T/said"
guard backup --forget "$HOME/project/copies" 2>"$T/said"

# --- prune ---
gives 1 '--prune needs a terminal' guard backup --prune "$usb"
says "$err" 'needs a terminal'
before=$(backups_in "$usb/$space")
gives 0 '--prune -n shows' guard backup --prune "$usb" --keep-last 2 -n
says "$err" 'would be deleted'
is "$(backups_in "$usb/$space")" "$before" 'and deletes nothing'
cat >"$T/script" <<END
< passphrase, or words
> wrong\r
< passphrase, or words
! wrong
> a long passphrase\r
< would be deleted
< delete them for good?
> y\r
< ) deleted
end 0
END
gives 0 '--prune deletes with the passphrase' "$tools/pty" "$T/script" \
	guard backup --prune "$usb" --keep-last 2
ok 'old backups are deleted' test "$(backups_in "$usb/$space")" -lt "$before"
gives 0 'later backups work' guard backup

# --- the terminal: the same for each user ---
[ "$me" != root ] || finish
mkdir "$T/typed"
mkfifo "$T/typing" "$T/printed"
{
	cat <<END
< new passphrase
> hidden words\r
< the same again
! hidden
> hidden words\r
< type the words of the recovery sheet
! hidden
> nine bad words\r
< type the words of the recovery sheet
END
	printf '> hidden words\\r\n'
	echo '< no words of a recovery sheet'
	echo '< type the words of the recovery sheet'
	while read -r name rest; do
		[ "$name" != words ] || words=$rest
		[ "$name" != backup ] || break
	done <&5
	printf '> %s\\r\n' "$words"
	printf '< the recovery sheet opens the backups\nend 0\n'
} 5<>"$T/printed" >"$T/typing" &
gives 0 'passphrase and words are typed' "$tools/pty" "$T/typing" \
	sh -c "guard backup '$T/typed' >'$T/printed'"
kill $! 2>"$T/said"
wait
mkdir "$T/later"
cat >"$T/script" <<END
< new passphrase
> hidden words\r
< the same again
> hidden words\r
< type the words of the recovery sheet
> \r
< the recovery sheet was not tried: guard backup --sheet $T/later tries it
end 0
END
gives 0 'the sheet can be tried later' "$tools/pty" "$T/script" \
	sh -c "guard backup '$T/later' >'$T/sheet'"
cat >"$T/script" <<END
< the recovery sheet of '$T/later' was never tried: guard backup --sheet
end 0
END
gives 0 'the next backup says so' "$tools/pty" "$T/script" \
	guard backup "$T/later"
cat >"$T/script" <<END
< type the words of the recovery sheet
> $(sheet "$T/sheet")\r
< the recovery sheet opens the backups
end 0
END
gives 0 '--sheet tries it' "$tools/pty" "$T/script" \
	guard backup --sheet "$T/later"
cat >"$T/script" <<END
! never tried
end 0
END
gives 0 'then no backup says so' "$tools/pty" "$T/script" \
	guard backup "$T/later"
gives 1 '--sheet needs a terminal' guard backup --sheet "$T/later"
mkdir "$T/differ"
cat >"$T/script" <<END
< new passphrase
> passphrase one\r
< the same again
> passphrase two\r
< passphrases differ
end 1
END
gives 0 'two passphrases that differ are refused' "$tools/pty" "$T/script" \
	guard backup "$T/differ"
is "$(ls "$T/differ")" '' 'nothing was written'
printf "PS1='out> '\nbind 'set enable-bracketed-paste off'\n" >"$HOME/outrc"
cat >"$T/script" <<END
prompt out>
> guard backup $T/differ\r
< new passphrase
> \x03
< out>
sane
> guard backup $T/differ\r
< new passphrase
> \x1a
< Stopped
< out>
sane
> fg\r
< new passphrase
> typed later\r
< the same again
! typed
> \x04
< no passphrase was typed
< out>
sane
> guard backup --sheet $T/later\r
< type the words
> \x1a
< Stopped
< out>
> fg\r
< type the words
> \r
< was not tried
< out>
> exit\r
end 1
END
gives 0 'signals find the terminal as it was' env TERM=xterm \
	"$tools/pty" "$T/script" bash --rcfile "$HOME/outrc" -i
finish
