#!/bin/sh
# A project shared by a group: files that only another group of the user can
# read, and new files of that group.
# needs: team
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

team=1001
if [ "$me" != root ] && [ "$(id -G)" = "$(id -g)" ]; then
	skip 'only root can put the plain user in a second group'
	finish
fi
if [ "$me" = root ]; then
	chown root:$team /srv/team/notes
fi
mkdir /srv/team/project
cd /srv/team/project || exit 99
mkdir -p shared/deep own
echo shared >shared/file
echo moved >shared/from
echo gone >shared/gone
echo deep >shared/deep/file
echo own >own/file
chgrp -R "$(id -g)" own
chmod g-s own
chmod 640 shared/file
mv ../notes ../theirs .
git init -q .
git add own
git commit -q -m first
groups_of() {
	stat -c '%G %a %n' "$@" 2>&1
}

cat >"$T/work" <<'END'
set -e
cat notes
echo more >>shared/file
mv shared/from shared/to
rm shared/gone
echo new >shared/new
mkdir shared/deep/er
echo new >shared/deep/er/file
echo new >own/new
mv shared/deep renamed
echo more >>theirs/plan
echo new >theirs/new
chmod 444 theirs/new
(umask 222; : >only-read)
git add own
git -c user.name=run -c user.email=run@example.org commit -q -m second
git fsck
END
gives 0 'a run changes a project of the team' guard run --ro "$T/work" -- \
	sh "$T/work"
says "$out" 'of the team'
silent "$err" 'of other groups'
run=$(guard status -q)
gives 0 'diff accepts the project of the team' guard diff --name-status "$run"
says "$out" 'M	shared/file'
silent "$out" notes
is "$(grep -c theirs "$out")" 2 'diff lists written files of other owners'
says "$out" 'M	theirs/plan'
says "$out" 'A	theirs/new'
# A directory keeps its set-group-id bit where the process that renames it is in
# the group; root in a run is in no group and has no capability for that.
bits=2755
[ "$me" != root ] || bits=755
gives 0 'apply accepts the project of the team' \
	guard apply --yes-to all -y "$run"
if [ "$me" = root ]; then
	silent "$err" 'of other owners'
else
	says "$out" "  M  theirs/plan  12 B  owner 0 -> $(id -u)"
	says "$err" '1 file of other owners: replaced by new files, which you own'
fi
is "$(groups_of shared/file shared/to shared/new renamed renamed/er/file \
	own/new notes theirs theirs/plan theirs/new only-read)" \
	"team 640 shared/file
team 644 shared/to
team 644 shared/new
team $bits renamed
team 644 renamed/er/file
$(id -gn) 644 own/new
team 640 notes
team 2770 theirs
team 660 theirs/plan
team 444 theirs/new
team 444 only-read" 'with the group that each has without guard'
is "$(cat shared/file)" 'shared
more' 'apply writes the file of the team'
gives 0 'import accepts a commit in the project of the team' \
	guard import -y "$run"
says "$err" '1 new commit'
gives 0 'undo reverts the apply' guard undo -y
if [ "$me" != root ]; then
	silent "$out" ' -> 0'
	says "$err" '1 file of other owners: you will own them, since only root'
fi
is "$(groups_of shared/file shared/gone shared/deep/file)" \
	'team 640 shared/file
team 644 shared/gone
team 644 shared/deep/file' 'undo restores owners and modes'
gives 0 'show accepts a file that only the group can read' \
	guard show latest:notes
is "$(cat "$out")" 'of the team' \
	'the snapshot has a file that only the group can read'
guard discard -q -y "$run"

# --- most projects have one group: guard remembers that ---
one_group() {
	for run in $(guard status -q); do
		grep "^one-group=" "$state/runs/$run/record"
	done
}
mkdir "$HOME/alone"
cd "$HOME/alone" || exit 99
echo one >one
echo two >two
gives 0 'a first run in a project of one group ends with 0' \
	guard run -- touch made
is "$(one_group)" '' 'the first run looks for other groups'
guard discard -q -y
settle
gives 0 'a second run in that project ends with 0' guard run -- touch made
if [ "$me" = root ]; then
	guard discard -q -y
	pass 'root can use every group'
	finish
fi
is "$(one_group)" "one-group=$HOME/alone" \
	'the second run does not look for other groups'
guard discard -q -y
settle
chgrp team two
gives 2 'a run cannot write a file whose group has changed since' \
	guard run -- sh -c 'touch made; echo more >>two'
says "$err" "'$HOME/alone' now has files of another group or user"
guard discard -q -y
settle
gives 0 'the next run can write that file' guard run -- sh -c 'echo more >>two'
silent "$err" 'another group or user'
gives 0 'apply accepts that run' guard apply -y
is "$(groups_of two)" 'team 644 two' \
	'the applied file has the group of the team'
rm -r "$HOME/alone"
mkdir "$HOME/alone"
cd "$HOME/alone" || exit 99
echo two >two
chgrp team two
gives 0 'another directory of that name is checked again' \
	guard run -- sh -c 'echo more >>two'
guard discard -q -y
finish
