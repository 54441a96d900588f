#!/bin/sh
# The current program reads the state that guard 0.1.0 left (tests/data/state),
# and shows, applies, undoes and restores the recorded runs and snapshots.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

if [ "$(id -u)" != 1000 ]; then
	skip 'the files of tests/data/state are those of user 1000'
	echo "1..$tests"
	exit 0
fi
tar -C /srv -xz --xattrs --xattrs-include='user.*' -p \
	-f "${0%/*}/../data/state/state.tar.gz" || exit 99
HOME=/srv/home
state=/srv/guard
GUARD_HOME=$state
export HOME GUARD_HOME
# A run knows its directories by their inodes, and its layer by the time of its
# end: both are others after the unpacking. A run of long ago would be retired.
now=$(date +%s.%N)
for record in "$state"/runs/*/record; do
	sed -i -e "s/^project-dev=.*/project-dev=$(stat -c %d /srv)/" \
		-e "s/^project-ino=.*/project-ino=$(stat -c %i "$HOME/project")/" \
		-e "s/^\(began\|started\|ended\)=.*/\1=$now/" \
		-e "s/^extra=[0-9]* [0-9]*/extra=$(stat -c '%d %i' "$HOME/beside")/" \
		"$record"
done
cd "$HOME/project" || exit 99
run=3livkt-st
other=3livku-4g

# --- reports about that state ---
gives 0 'the pending runs are listed' guard status -q
is "$(tr '\n' ' ' <"$out")" "$other $run " 'both of them'
gives 0 'the run of several directories' guard diff --name-status "$run"
is "$(tr '\n\t' ', ' <"$out")" "D gone/y,M edited,M link,M text,A b.tmp,\
A made,A made/file,A made/twin,M ~/beside/edited," 'has what is left of it'
gives 0 'in full' guard diff "$run"
says "$out" 'A  ~/.mine/a'
says "$out" '+of the run'
silent "$out" '-of the user'
gives 0 'what was done' guard log --actions
is "$(awk '{ print $3 $4, $5 }' "$out" | head -n 3 | tr '\n' ',')" \
	'undo1 discard,undo1 discard,undo1 discard,' 'is known'
gives 0 'the snapshots' guard log
says "$out" 'the first'
says "$out" 'release'
says "$out" '(pinned)'
is "$(guard show 1:edited)" old 'and their files'
gives 0 'the home of an agent' guard run -q -- "$HOME/bin/mine" 'cat ~/.mine/a'
is "$(cat "$out")" x 'is there'

# --- actions on that state ---
gives 0 'the discarded paths come back' guard undo -y
gives 0 'into the run' guard diff --name-status "$run"
for path in gone gone/deep/x beside/new .config/app/gone; do
	says "$out" "$path"
done
gives 0 'the run is applied' guard apply -y "$run"
is "$(cat edited "$HOME/beside/edited" "$HOME/beside/new" made/twin)" 'run
run
new
made' 'in each directory'
is "$(getfattr -n user.color --only-values edited)" blue 'with attributes'
no 'and its deletions' test -e gone
ok 'its part of the home' guard apply -y "$run" "$HOME/.config"
no 'is applied as well' test -e "$HOME/.config/app/gone"
gives 0 'the other run' guard apply -y "$other"
is "$(cat second)" second 'is applied'
gives 0 'all of it is taken back, and what was done before' guard undo -y 4
is "$(sed -n '3p;18p' text | tr '\n' ',')" '3,of the user,' \
	'with the file that was merged'
is "$(cat "$HOME/.config/app/edited" gone/deep/x)" 'old
old' 'and the part of the home'
gives 0 'the first snapshot is restored' guard restore -y --at 1 --exact .
is "$(cat edited link-to)" 'old
old' 'as it was'
gives 0 'every byte of the store' guard verify --read-data
finish
