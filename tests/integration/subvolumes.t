#!/bin/sh
# btrfs subvolumes below a project are parts of it as mounts are: each has a
# layer, versions and an undo of its own.
# needs: images
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

if [ ! -d /images/btrfs ] || ! command -v btrfs >"$out"; then
	skip "no btrfs here: $(cat /images/btrfs.why 2>&1)"
	finish
fi
mkdir /images/btrfs/work
cd /images/btrfs/work || exit 99
subvolume() {
	for at; do
		btrfs -q subvolume create "$at" || exit 99
	done
}
contents() {
	find . -name .git -prune -o -type f -printf '%P ' -exec cat {} + |
		LC_ALL=C sort
}

# The project is a subvolume; one is nested two deep, one is the repository's.
subvolume project
cd project || exit 99
mkdir dir
subvolume data dir/vol
subvolume data/inner 'data/a b'
git init -q .
git config user.name tester
git config user.email t@example.org
mv .git git
subvolume .git
cp -a git/. .git && rm -r git
for at in . dir dir/vol data data/inner 'data/a b'; do
	echo one >"$at/file"
	echo gone >"$at/gone"
done
git add . && git commit -q -m first
contents >"$T/before"
cat >"$T/work" <<'END'
set -e
for at in . dir dir/vol data data/inner 'data/a b'; do
	echo more >>"$at/file"
	rm "$at/gone"
	mkdir "$at/new"
	echo new >"$at/new/made"
done
mv dir/file data/inner/moved
! rmdir data/inner 2>/dev/null
git add .
git commit -q -m second
END
gives 0 'a run changes files in subvolumes' \
	guard run --ro "$T/work" -- sh "$T/work"
run=$(guard status -q)
contents >"$T/now"
ok 'the run changes no file outside' diff "$T/before" "$T/now"
gives 0 'diff accepts a run with subvolumes' \
	guard diff --name-status --no-renames "$run"
is "$(grep -c made "$out") $(grep -c gone "$out")" '6 6' \
	'diff lists the changes in all subvolumes'
gives 0 'apply -n accepts a run with subvolumes' guard apply -n "$run"
gives 0 'apply accepts a path in a subvolume' \
	guard apply -y "$run" data/inner/file
is "$(tail -n 1 data/inner/file)" more 'apply writes into the subvolume'
gives 0 'undo reverts the path' guard undo -y
gives 0 'apply accepts a directory with a subvolume' guard apply -y "$run" data
is "$(tail -qn 1 data/file data/inner/file dir/vol/file | tr '\n' ' ')" \
	'more more one ' 'apply writes into the subvolumes of the directory'
gives 0 'undo reverts the directory' guard undo -y
gives 0 'apply accepts a run with subvolumes' \
	guard apply --yes-to all -y "$run"
is "$(tail -qn 1 file dir/vol/file data/file data/inner/file \
	'data/a b/file' data/inner/moved dir/vol/new/made | tr '\n' ' ')" \
	'more more more more more more new ' 'apply writes into all subvolumes'
no 'apply deletes files in subvolumes' test -e data/inner/gone
is "$(find . -name '.guard*')" '' 'apply leaves nothing behind'
gives 0 'undo reverts the apply' guard undo -y
contents >"$T/now"
ok 'undo restores all files' diff "$T/before" "$T/now"
gives 0 'discard accepts a path in a subvolume' \
	guard discard -y "$run" data/file
gives 0 'a run with subvolumes is continued' \
	guard run "--continue=$run" -- cat data/file data/inner/file
is "$(tr '\n' ' ' <"$out")" 'one one more ' \
	'the continued run has its changes in subvolumes'
# --- a subvolume that is newer than the run ---
subvolume data/late
echo late >data/late/file
gives 0 'a run is continued after another subvolume was made' \
	guard run "--continue=$run" -- cat data/late/file
says "$out" late
guard discard -q -y "$run"
gives 0 'the next run has the new subvolume' guard run -- \
	sh -c 'echo more >>data/late/file'
gives 0 'apply accepts the new subvolume' guard apply -y
is "$(tail -n 1 data/late/file)" more 'apply writes into the new subvolume'
echo lost >data/late/file
gives 0 'a version of a file in a subvolume is restored' \
	guard restore -y data/late/file
is "$(tr '\n' ' ' <data/late/file)" 'late more ' \
	'restore writes the version into the subvolume'

# --- a new subvolume, and a missing one, while the run is pending ---
keep=$(cat file data/file dir/vol/file)
guard run -q -- sh -c 'echo 2 >>file; echo 2 >>data/file; mkdir early; echo x >early/x
	echo 2 >>dir/vol/file'
subvolume early
echo mine >early/mine
mv dir/vol ../away
gives 0 'diff shows what a run changed in a subvolume that is gone' \
	guard diff --stat
says "$out" 'dir/vol/file'
gives 0 'one thing never stops an apply' guard apply -y
says "$err" "left out: 'early' is another file system since the run"
says "$err" "left out: '$PWD/dir/vol' no longer exists"
is "$(tail -qn 1 file data/file | tr '\n' ' ')$(ls early)" '2 2 mine' \
	'the rest is applied, and the new subvolume stays as it is'
gives 1 'an apply of nothing else fails' guard apply -y
for at in early/x dir/vol/file; do
	gives 1 "apply $at fails" guard apply -y "$at"
done
mv ../away dir/vol
mv early ../early
gives 0 'with the subvolume back the rest is applied' guard apply -y
is "$(cat early/x; tail -n 1 dir/vol/file)" "$(printf 'x\n2')" 'all of it'
gives 0 'the second apply is undone' guard undo -y
gives 0 'the first one, too' guard undo -y 1
is "$(cat file data/file dir/vol/file)" "$keep" 'all is as it was'
guard discard -q -y

# --- --cow, read-only snapshots ---
btrfs -q subvolume snapshot -r data data/old || exit 99
cd .. || exit 99
mkdir other
cd other || exit 99
gives 0 'a run with a --cow directory with subvolumes ends with 0' \
	guard run --cow ../project -- \
	sh -c 'echo x >own; echo x >../project/data/inner/file
		echo x >../project/data/old/file'
mv ../project/data/inner ../inner
mv ../project ../project2
gives 0 'a --cow directory that is gone is left out' guard apply -n
says "$err" "left out: '${PWD%/*}/project' no longer exists"
mv ../project2 ../project
mv ../inner ../project/data/inner
gives 0 'apply accepts paths in subvolumes of a --cow directory' \
	guard apply -y "$(guard status -q)" own ../project/data/inner/file
is "$(cat own ../project/data/inner/file | tr '\n' ' ')" 'x x ' \
	'apply writes into the subvolume of the --cow directory'
guard discard -q -y
finish
