#!/bin/sh
# restore with wildcards, --overwrite and --exact: what it replaces, what it
# deletes, and that all of it comes back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
ok 'a snapshot' guard snapshot

# --- wildcards ---
rm src/f1.c src/f2.c src/deep/er/file
echo broken >src/f3.c
echo broken >README.md
gives 0 'a pattern' guard restore -y 'src/f[12].c'
says "$err" "2 paths like"
ok 'its files are back' test -e src/f1.c -a -e src/f2.c
is "$(cat src/f3.c README.md)" "broken
broken" 'others are as they were'
gives 0 'across folders' guard restore -y --at 1 '**/f*'
is "$(cat src/deep/er/file)" deep 'the deep one is back'
ok 'so is the other' grep -q 'int f3' src/f3.c
is "$(cat README.md)" broken 'and nothing else'
gives 1 'a pattern that matches nothing' guard restore -y '*.nothing'
says "$err" 'nothing that is stored matches'
head=$(git rev-parse HEAD)
git commit -q --allow-empty -m later
gives 0 'everything by wildcards' guard restore -y --at 1 '*' '.*'
is "$(git rev-parse HEAD~1)" "$head" 'leaves the .git alone'
ok 'and brings the rest back' grep -q '# Project' README.md
git reset -q --soft HEAD~1
echo star >'a*'
echo plain >ab
guard snapshot -q >/dev/null
rm 'a*' ab
gives 0 'a name that is a pattern' guard restore -y 'a*'
is "$(cat 'a*')" star 'is meant itself'
no 'and not what it matches' test -e ab
rm 'a*'

# --- flags of chattr(1) ---
echo flagged >flagged
mkdir flags
echo in >flags/in
if chattr +d flagged 2>/dev/null && chattr +A flags 2>/dev/null; then
	guard snapshot -q -m flags >/dev/null
	flagged=$(guard snapshot -q)
	gives 0 'ls -l' guard ls -l "$flagged"
	says "$out" 'flagged  (chattr d)'
	is "$(guard ls --json "$flagged" flags | grep -c '"chattr"')" 0 \
		'a file without any says nothing'
	rm -r flagged flags
	gives 0 'restore of what had flags' guard restore -y flagged flags
	ok 'the file has them' sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	ok 'so has the folder' sh -c 'lsattr -d flags | grep -q "^[^ ]*A"'
	chattr -d flagged
	without=$(guard snapshot -q)
	gives 0 'a flag is a difference' guard diff "$flagged" "$without"
	says "$out" 'flagged  file  chattr d -> -'
	gives 0 'and comes back' guard restore -y --at "$flagged" flagged
	ok 'on the file' sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	gives 0 'a run that writes it' guard run -q -- sh -c 'echo more >>flagged'
	gives 0 'and its apply' guard apply -y
	is "$(cat flagged)" "flagged
more" 'write the bytes'
	ok 'and leave the flag' sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	if chattr +i flagged 2>/dev/null; then
		guard snapshot -q >/dev/null
		gives 1 'an immutable file' guard restore -y --at "$flagged" flagged
		says "$err" 'immutable'
		says "$err" 'chattr -i'
		is "$(find . -name '.guard-staging*')" '' 'nothing is left over'
		chattr -i flagged
		rm flagged
		gives 0 'made anew' guard restore -y flagged
		no 'is immutable again' sh -c 'echo x >>flagged' 2>/dev/null
		chattr -i flagged
		mkdir -p later/on
		echo fixed >later/on/fixed
		chattr +i later/on/fixed
		gives 1 'a folder that would go with an immutable file' \
			guard restore -y --exact --at "$flagged" .
		says "$err" "'later/on/fixed' is immutable: nothing was done"
		is "$(cat later/on/fixed)" fixed 'is all there'
		is "$(find . -name '.guard-staging*')" '' 'nothing is left over'
		gives 0 'and no work waits' guard status
		chattr -i later/on/fixed
		gives 0 'without it' guard restore -y --exact --at "$flagged" .
		no 'it goes' test -e later
	fi
fi
rm -rf flagged flags

# --- --overwrite ---
echo mine >README.md
chmod 700 src/f5.c
rm src/f6.c notes.txt
rm -r docs
gives 0 'never' guard restore -y --at 1 --overwrite never .
says "$err" 'left as it is'
is "$(cat README.md)" mine 'what is there stays'
is "$(stat -c %a src/f5.c)" 700 'with its mode'
is "$(cat notes.txt)" untracked 'what is missing is back'
ok 'folders too' test -L docs/link
ok 'and what is in folders that are there' test -e src/f6.c
gives 0 'if-changed' guard restore -y --at 1 --overwrite if-changed README.md
ok 'is what is done anyway' grep -q '# Project' README.md
gives 0 'always' guard restore -y --at 1 --overwrite always src README.md
is "$(stat -c %a src/f5.c)" 644 'reads and compares all'
gives 2 'another word' guard restore -y --overwrite maybe README.md
says "$err" 'if-changed'
gives 2 'never and exact' guard restore -y --overwrite never --exact README.md
gives 2 'exact and to' guard restore -y --to "$HOME/aside" --exact README.md

# --- --exact ---
ok 'as at first' guard restore -y --at 1 .
rm -f ab
git reset -q
git add src/f1.c
guard snapshot -q >/dev/null
manifest "$HOME/project" >"$T/before"
at=$(guard log --no-pager -n 1 | sed 's/ .*//')
echo new >src/new
mkdir -p src/more/and more
echo new >src/more/and/file
echo new >more/file
echo changed >src/f7.c
rm src/f8.c README.md
mkdir README.md
echo in >README.md/file
manifest "$HOME/project" >"$T/mess"
gives 0 'a dry run' guard restore -n --at "$at" --exact src
says "$out" 'D  src/more/and/file'
says "$out" 'D  src/new'
silent "$out" '  more/file'
manifest "$HOME/project" >"$T/after"
ok 'changes nothing' same "$T/mess" "$T/after"
gives 1 'without a terminal it is not done' \
	guard restore --at "$at" --exact src
manifest "$HOME/project" >"$T/after"
ok 'nor anything else' same "$T/mess" "$T/after"
gives 1 'without exact a folder is in the way of a file' \
	guard restore -y --at "$at" README.md
says "$err" "'README.md': a folder is there now, and nothing is deleted"
says "$err" 'or --exact, which takes it away'
gives 0 'exact, below one folder' guard restore -y --at "$at" --exact src
no 'what was added is gone' test -e src/new
no 'folders too' test -e src/more
is "$(cat more/file README.md/file)" "new
in" 'elsewhere nothing is deleted'
gives 0 'exact, all of it' guard restore -y --at "$at" --exact .
manifest "$HOME/project" >"$T/after"
ok 'all is exactly as stored, times and all' same "$T/before" "$T/after"
gives 0 'undo' guard undo -y
is "$(cat more/file README.md/file)" "new
in" 'what was deleted is back'
gives 0 'exact again' guard restore -y --at "$at" --exact .

# --- a repository that is not in the snapshot ---
git init -q -b main cloned
echo x >cloned/file
gives 0 'exact with a repository in the way' \
	guard restore -y --at "$at" --exact .
ok 'its .git stays' git -C cloned rev-parse --git-dir
says "$err" '.git'
no 'its files go' test -e cloned/file
# --- several at once, and where nothing may be put ---
cd "$HOME/project" || exit 99
mkdir many
i=0
while [ $i -lt 200 ]; do
	echo $i >many/f$i
	i=$((i + 1))
done
ok 'a snapshot' guard snapshot -q
rm -r many
ok 'an apply to come' guard run -q -- sh -c 'echo run >of-the-run'
settle
mkfifo "$T/go"
exec 8<>"$T/go"
for i in 1 2 3 4 5; do
	{
		read -r _ <"$T/go"
		guard restore -y many/f${i}0 many/f${i}1 >"$T/all.$i" 2>&1
		echo $? >"$T/status.$i"
	} &
done
{
	read -r _ <"$T/go"
	guard apply -y >"$T/all.6" 2>&1
	echo $? >"$T/status.6"
} &
# One line each; whoever comes late still finds his.
for i in 1 2 3 4 5 6; do echo go >&8; done
wait
exec 8>&-
is "$(cat "$T"/status.* | tr '\n' ' ')" '0 0 0 0 0 0 ' \
	'five restores and an apply at once: all are done'
is "$(cat many/f10 many/f21 many/f30 many/f51 of-the-run | tr '\n' ' ')" \
	'10 21 30 51 run ' 'and all is there'

# --- as JSON ---
said() {
	perl -MJSON::PP -0777 -ne '$j = decode_json($_);
		printf "%s %s %s %d %d", $j->{restored} ? "done" : "not done",
		$j->{from}[0]{path}, join(",", map { "$_->{op}:$_->{path}" }
		@{$j->{steps} || []}), $j->{after} > $j->{before},
		scalar @{$j->{conflicts} || []}' "$out"
}
echo edited >many/f11
gives 0 'a dry run as JSON' guard restore -n --json many/f11
is "$(said)" "not done $HOME/project/many/f11 replace:many/f11 0 0" 'says what'
gives 1 'without a yes' guard restore --json many/f11
is "$(said)" "not done $HOME/project/many/f11 replace:many/f11 0 0" 'nothing is'
gives 0 'done' guard restore -y --json many/f11
is "$(said)" "done $HOME/project/many/f11 replace:many/f11 1 0" 'is said so'
is "$(cat many/f11)" 11 'and is so'
gives 0 'once more' guard restore -y --json many/f11
is "$(said)" "not done $HOME/project/many/f11  0 0" 'there is nothing to do'
rm many/f11
mkdir many/f11
gives 1 'a folder in the way' guard restore -y --json many/f11
is "$(said)" "not done $HOME/project/many/f11  0 1" 'is a conflict'
rmdir many/f11
gives 0 'into another folder' guard restore -y --json --to "$HOME/json" many/f11
is "$(said)" "done $HOME/project/many/f11  0 0" 'is said so'
is "$(cat "$HOME/json/f11")" 11 'and is so'
gives 1 'what is not stored' guard restore -y --json no/such
is "$(cat "$out")" '' 'has no JSON'

gives 1 'not into what is guard'"'"'s own' guard restore -y --to "$state" many/f10
says "$err" "guard's own"
gives 1 'nor below it' guard restore -y --to "$state/store/x" many/f10
no 'nothing was put there' test -e "$state/f10"
# --- what is there is the newest version: the one before it is named ---
echo one >version
gives 0 'a version' guard snapshot -q
before=$(cat "$out")
echo two >version
gives 0 'and another' guard snapshot -q
gives 0 'restore of what is as it was stored' guard restore -y version
says "$err" "guard restore --at $before PATH brings the version before"
gives 0 'that brings it' guard restore -y --at "$before" version
is "$(cat version)" one 'back'
gives 0 'a path with one version' guard restore -y src/f1.c
silent "$err" 'the version before'
finish
