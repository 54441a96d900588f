#!/bin/sh
# restore with wildcards, --overwrite and --exact: the files that it replaces
# and deletes, and the undo of all of it.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
ok 'guard snapshot stores the project' guard snapshot

# --- wildcards ---
rm src/f1.c src/f2.c src/deep/er/file
echo broken >src/f3.c
echo broken >README.md
gives 0 'restore accepts a pattern' guard restore -y 'src/f[12].c'
says "$err" "2 paths like"
ok 'restore of a pattern brings back the matching files' \
	test -e src/f1.c -a -e src/f2.c
is "$(cat src/f3.c README.md)" "broken
broken" 'restore of a pattern changes no other file'
gives 0 'a ** pattern matches across directories' \
	guard restore -y --at 1 '**/f*'
is "$(cat src/deep/er/file)" deep \
	'a ** pattern brings back a file in a subdirectory'
ok 'a ** pattern brings back an edited file' grep -q 'int f3' src/f3.c
is "$(cat README.md)" broken 'a ** pattern changes no other file'
gives 1 'a pattern without a match is refused' guard restore -y '*.nothing'
says "$err" 'no stored path matches'
head=$(git rev-parse HEAD)
git commit -q --allow-empty -m later
gives 0 'restore accepts patterns for all entries' \
	guard restore -y --at 1 '*' '.*'
is "$(git rev-parse HEAD~1)" "$head" \
	'restore of all entries does not change .git'
ok 'restore of all entries brings back the edited file' \
	grep -q '# Project' README.md
git reset -q --soft HEAD~1
echo star >'a*'
echo plain >ab
guard snapshot -q >/dev/null
rm 'a*' ab
gives 0 'restore accepts a file name that is a pattern' guard restore -y 'a*'
is "$(cat 'a*')" star 'a stored name is preferred to its meaning as a pattern'
no 'a stored name does not match as a pattern' test -e ab
rm 'a*'

# --- flags of chattr(1) ---
echo flagged >flagged
mkdir flags
echo in >flags/in
if chattr +d flagged 2>/dev/null && chattr +A flags 2>/dev/null; then
	guard snapshot -q -m flags >/dev/null
	flagged=$(guard snapshot -q)
	gives 0 'ls -l accepts files with flags' guard ls -l "$flagged"
	says "$out" 'flagged  (chattr d)'
	is "$(guard ls --json "$flagged" flags | grep -c '"chattr"')" 0 \
		'ls --json prints no flags of a file without any'
	rm -r flagged flags
	gives 0 'restore accepts entries with flags' \
		guard restore -y flagged flags
	ok 'restore sets the flags of a file' \
		sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	ok 'restore sets the flags of a directory' \
		sh -c 'lsattr -d flags | grep -q "^[^ ]*A"'
	mkdir kinds
	for flag in A S s u d c; do
		echo small >"kinds/small$flag"
		head -c 300000 /dev/zero >"kinds/long$flag"
		chattr "+$flag" "kinds/small$flag" "kinds/long$flag" 2>/dev/null
	done
	lsattr kinds >"$T/flags"
	guard snapshot -q >"$out"
	rm -r kinds
	gives 0 'restore accepts files with each flag' guard restore -y kinds
	lsattr kinds | cmp -s - "$T/flags"
	is $? 0 '... and sets all of them'
	gives 0 'a run writes to them' guard run -q -- \
		sh -c 'for file in kinds/*; do echo more >>$file; done'
	gives 0 '... apply and undo are accepted' \
		sh -c 'guard apply -q -y && lsattr kinds >lsattr && guard undo -q -y'
	is "$(lsattr kinds | cmp - "$T/flags"; cmp lsattr "$T/flags")" '' \
		'... and keep the flags'
	guard discard -q -y
	rm -r kinds lsattr
	chattr -d flagged
	without=$(guard snapshot -q)
	gives 0 'diff accepts snapshots that differ in a flag' \
		guard diff "$flagged" "$without"
	says "$out" 'flagged  file  chattr d -> -'
	gives 0 'restore of a file with another flag is accepted' \
		guard restore -y --at "$flagged" flagged
	ok 'restore sets the flag again' \
		sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	gives 0 'a run can write to a file with a flag' \
		guard run -q -- sh -c 'echo more >>flagged'
	gives 0 'apply accepts a file with a flag' guard apply -y
	is "$(cat flagged)" "flagged
more" 'apply writes a file with a flag'
	ok 'apply keeps the flag' sh -c 'lsattr flagged | grep -q "^[^ ]*d"'
	if chattr +i flagged 2>/dev/null; then
		guard snapshot -q >/dev/null
		gives 1 'restore over an immutable file is refused' \
			guard restore -y --at "$flagged" flagged
		says "$err" 'immutable'
		says "$err" 'chattr -i'
		is "$(find . -name '.guard-staging*')" '' \
			'the refused restore leaves no staging file'
		chattr -i flagged
		rm flagged
		gives 0 'restore of an immutable file is accepted' \
			guard restore -y flagged
		no 'the restored file is immutable' \
			sh -c 'echo x >>flagged' 2>/dev/null
		chattr -i flagged
		mkdir -p later/on
		echo fixed >later/on/fixed
		chattr +i later/on/fixed
		gives 1 'restore --exact refuses a directory with an immutable file' \
			guard restore -y --exact --at "$flagged" .
		says "$err" "'later/on/fixed' is immutable: nothing was changed"
		is "$(cat later/on/fixed)" fixed \
			'the refused restore --exact deletes nothing'
		is "$(find . -name '.guard-staging*')" '' \
			'the refused restore --exact leaves no staging file'
		gives 0 'no interrupted transaction is left' guard status
		chattr -i later/on/fixed
		gives 0 'restore --exact is accepted without the flag' \
			guard restore -y --exact --at "$flagged" .
		no 'restore --exact deletes the directory' test -e later
	fi
fi
rm -rf flagged flags

# --- --overwrite ---
echo mine >README.md
chmod 700 src/f5.c
rm src/f6.c notes.txt
rm -r docs
gives 0 'restore --overwrite never is accepted' \
	guard restore -y --at 1 --overwrite never .
says "$err" 'kept by --overwrite never: 2 paths'
is "$(cat README.md)" mine '--overwrite never keeps an edited file'
is "$(stat -c %a src/f5.c)" 700 '--overwrite never keeps a mode'
is "$(cat notes.txt)" untracked '--overwrite never brings back a missing file'
ok '--overwrite never brings back a missing directory' test -L docs/link
ok '--overwrite never brings back a missing file of an existing directory' \
	test -e src/f6.c
gives 0 'restore --overwrite if-changed is accepted' \
	guard restore -y --at 1 --overwrite if-changed README.md
ok '--overwrite if-changed replaces an edited file' \
	grep -q '# Project' README.md
gives 0 'restore --overwrite always is accepted' \
	guard restore -y --at 1 --overwrite always src README.md
is "$(stat -c %a src/f5.c)" 644 '--overwrite always restores a mode'
gives 2 '--overwrite refuses an unknown word' \
	guard restore -y --overwrite maybe README.md
says "$err" 'if-changed'
gives 2 '--overwrite never with --exact is refused' \
	guard restore -y --overwrite never --exact README.md
gives 2 '--to with --exact is refused' \
	guard restore -y --to "$HOME/aside" --exact README.md

# --- --exact ---
ok 'restore brings back the first snapshot' guard restore -y --at 1 .
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
gives 0 'restore -n --exact of one directory is accepted' \
	guard restore -n --at "$at" --exact src
says "$out" 'D  src/more/and/file'
says "$out" 'D  src/new'
silent "$out" '  more/file'
manifest "$HOME/project" >"$T/after"
ok 'restore -n --exact changes no file' same "$T/mess" "$T/after"
gives 1 'restore --exact without a terminal and --yes is refused' \
	guard restore --at "$at" --exact src
manifest "$HOME/project" >"$T/after"
ok 'the refused restore --exact changes no file' same "$T/mess" "$T/after"
gives 1 'restore without --exact refuses to replace a directory by a file' \
	guard restore -y --at "$at" README.md
says "$err" "'README.md': a directory exists there now, and is not deleted"
says "$err" 'or --exact, which deletes them'
gives 0 'restore --exact of one directory is accepted' \
	guard restore -y --at "$at" --exact src
no '--exact deletes a new file' test -e src/new
no '--exact deletes a new directory' test -e src/more
is "$(cat more/file README.md/file)" "new
in" '--exact of one directory deletes nothing elsewhere'
gives 0 'restore --exact of the project is accepted' \
	guard restore -y --at "$at" --exact .
manifest "$HOME/project" >"$T/after"
ok '--exact restores content and metadata exactly' same "$T/before" "$T/after"
gives 0 'undo reverts restore --exact' guard undo -y
is "$(cat more/file README.md/file)" "new
in" 'undo brings back the files that --exact deleted'
gives 0 'restore --exact is accepted again' \
	guard restore -y --at "$at" --exact .

# --- a repository that is not in the snapshot ---
git init -q -b main cloned
echo x >cloned/file
gives 0 'restore --exact accepts a new repository' \
	guard restore -y --at "$at" --exact .
ok '--exact keeps the .git of a new repository' \
	git -C cloned rev-parse --git-dir
says "$err" '.git'
no '--exact deletes the files of a new repository' test -e cloned/file
# --- several restores at once; forbidden destinations ---
cd "$HOME/project" || exit 99
mkdir many
i=0
while [ $i -lt 200 ]; do
	echo $i >many/f$i
	i=$((i + 1))
done
ok 'guard snapshot stores 200 files' guard snapshot -q
rm -r many
ok 'a run is pending' guard run -q -- sh -c 'echo run >of-the-run'
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
# One line for each process, so that none waits in vain.
for i in 1 2 3 4 5 6; do echo go >&8; done
wait
exec 8>&-
is "$(cat "$T"/status.* | tr '\n' ' ')" '0 0 0 0 0 0 ' \
	'five restores and an apply at once are all accepted'
is "$(cat many/f10 many/f21 many/f30 many/f51 of-the-run | tr '\n' ' ')" \
	'10 21 30 51 run ' \
		'five restores and an apply at once write all of their files'

# --- --json ---
said() {
	perl -MJSON::PP -0777 -ne '$j = decode_json($_);
		printf "%s %s %s %d %d", $j->{restored} ? "done" : "not done",
		$j->{from}[0]{path}, join(",", map { "$_->{op}:$_->{path}" }
		@{$j->{steps} || []}), $j->{after} > $j->{before},
		scalar @{$j->{conflicts} || []}' "$out"
}
echo edited >many/f11
gives 0 'restore -n --json is accepted' guard restore -n --json many/f11
is "$(said)" "not done $HOME/project/many/f11 modify:many/f11 0 0" \
	'restore -n --json prints the planned steps'
gives 1 'restore --json without --yes is refused' guard restore --json many/f11
is "$(said)" "not done $HOME/project/many/f11 modify:many/f11 0 0" \
	'the refused restore --json prints the planned steps'
gives 0 'restore -y --json is accepted' guard restore -y --json many/f11
is "$(said)" "done $HOME/project/many/f11 modify:many/f11 1 0" \
	'restore -y --json prints the executed steps'
is "$(cat many/f11)" 11 'restore -y --json restores the file'
gives 0 'a repeated restore --json is accepted' guard restore -y --json many/f11
is "$(said)" "not done $HOME/project/many/f11  0 0" \
	'a repeated restore --json prints no step'
rm many/f11
mkdir many/f11
gives 1 'restore --json refuses a directory in place of a file' \
	guard restore -y --json many/f11
is "$(said)" "not done $HOME/project/many/f11  0 1" \
	'the refused restore --json prints a conflict'
rmdir many/f11
gives 0 'restore --json --to is accepted' \
	guard restore -y --json --to "$HOME/json" many/f11
is "$(said)" "done $HOME/project/many/f11  0 0" \
	'restore --json --to prints no snapshot after it'
is "$(cat "$HOME/json/f11")" 11 'restore --json --to writes the file'
gives 1 'restore --json of an unknown path is refused' \
	guard restore -y --json no/such
is "$(cat "$out")" '' 'restore --json of an unknown path prints no JSON'

gives 1 "restore --to guard's own state is refused" \
	guard restore -y --to "$state" many/f10
says "$err" "guard's own"
gives 1 "restore --to a directory below guard's state is refused" \
	guard restore -y --to "$state/store/x" many/f10
no "the refused restore writes nothing into guard's state" test -e "$state/f10"
# --- a file equal to its newest version: the message names the previous one ---
echo one >version
gives 0 'guard snapshot stores a version' guard snapshot -q
before=$(cat "$out")
echo two >version
gives 0 'guard snapshot stores a second version' guard snapshot -q
gives 0 'restore of an unchanged file is accepted' guard restore -y version
says "$err" "guard restore --at $before $PWD/version restores the previous version"
gives 0 'restore --at the previous version is accepted' \
	guard restore -y --at "$before" version
is "$(cat version)" one 'restore --at the previous version brings it back'
gives 0 'restore of a file with only one version is accepted' \
	guard restore -y src/f1.c
silent "$err" 'the previous version'
# --- lists of whole directories are as short as in guard diff ---
mkdir -p "$HOME/many/a/b" "$HOME/many/few"
(cd "$HOME/many/a/b" && seq 300 | split -l 1 -a 3)
echo x >"$HOME/many/few/x"
ok 'a directory with many files is stored' guard snapshot -q "$HOME/many"
rm -rf "$HOME/many"
cd / || exit 99
for to in '' '--to /var/tmp/many'; do
	# shellcheck disable=SC2086 # words
	guard restore $to "$HOME/many" >"$out" 2>"$err" </dev/null
	is "$(wc -l <"$out")" 1 "restore $to of a missing directory is one line"
	says "$out" 'many/  301 new files, '
done
guard restore "$HOME/many/few" >"$out" 2>"$err" </dev/null
is "$(wc -l <"$out")" 2 'each entry of a small directory is listed'
gives 0 'restore of a directory from another one works' \
	guard restore -y "$HOME/many"
undo=$(sed -n 's/^guard:   \(.*\) reverts it$/\1/p' "$err")
ok 'the named undo works from there' sh -c "$undo -y"
ok 'it is undone' test ! -e "$HOME/many/few/x"
finish
