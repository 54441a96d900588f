#!/bin/sh
# Files of guard's state that a power cut or a failing disk left empty, cut in
# half, full of zeros or with other bytes: no verb is refused for good.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- a state with as many kinds of files as possible ---
echo one >file
echo first >first-file
guard snapshot -q || exit 99
seq=$(guard log --json | sed -n 's/.*"number": *\([0-9]*\).*/\1/p' | head -n 1)
guard pin "${seq:-1}" >/dev/null || exit 99
rm first-file
guard run -q --name first -- sh -c 'echo two >file' || exit 99
guard apply -q -y --yes-to all first || exit 99
guard run -q --name second -- sh -c 'echo three >file' || exit 99
guard apply -q -y --yes-to all second || exit 99
guard undo -q -y || exit 99
guard run -q --name third -- sh -c 'echo a >a; echo b >b' || exit 99
guard apply -q -y --yes-to all third a || exit 99
guard run -q --name gone -- sh -c 'echo g >g' || exit 99
guard discard -q -y gone || exit 99
guard run --name work -- sh -c 'echo w >w; echo v >v' >/dev/null 2>&1 ||
	exit 99
guard discard -q -y work v || exit 99
guard status >/dev/null || exit 99
guard list >/dev/null || exit 99
guard prune -q -y >/dev/null || exit 99
settle
copy_state "$state" "$T/state" || exit 99
cp -a "$HOME/project" "$T/project" || exit 99

fresh() {
	settle
	chmod -R u+rwX "$state" 2>/dev/null
	rm -rf "$state"
	copy_state "$T/state" "$state" || exit 99
	find . -mindepth 1 -delete
	cp -a "$T/project/." . || exit 99
}

# damage HOW FILE
damage() {
	chmod u+w "$2" || exit 99
	size=$(stat -c %s "$2")
	case $1 in
	empty) : >"$2" ;;
	half) truncate -s $((size / 2)) "$2" ;;
	zeros) head -c "$size" /dev/zero >"$2" ;;
	garbage) head -c 100 /dev/urandom >"$2" ;;
	esac
}

# try COMMAND: adds a refusal to $failed
try() {
	timeout 60 "$@" >"$out" 2>"$err" </dev/null && return
	failed="$failed
$* [$?]: $(tail -n 3 "$err")"
}

# verbs: those that every project needs
verbs() {
	failed=
	try guard status
	try guard snapshot -q
	try guard run -q --name after -- sh -c 'echo x >after.txt'
	try guard apply -y after
	try guard undo -y
	try guard log
	try guard log --actions
	try guard restore -y first-file
	try guard prune -y
	try guard du
}

# The files of the state, without layers, homes of agents, locks and what
# `guard verify` finds. All files of one kind are damaged at once.
(
	cd "$T/state" && find . \( -name upper -o -name home-upper -o \
		-name tmp -o -name var-tmp -o -name work -o \
		-name home-work -o -path ./store/packs -o \
		-path ./store/snaps -o -path ./store/trash -o \
		-path ./agents -o -name lock -o -name '*.lock' -o \
		-name 'reserve*' -o -name '*-discard-part-*' \) -prune \
		-o -type f -size +0 -printf '%P\n'
) >"$T/names"
# kind and name of each file
sed -e 's|.*|& &|' -e 's|^runs/closed/[^/]*/|runs/*/|' \
	-e 's|^runs/[^/]*/|runs/*/|' -e 's|^trash/[^/]*/|trash/*/|' \
	-e 's|^workspaces/[^/]*/|workspaces/*/|' -e 's|-[0-9]* | |' \
	"$T/names" | sort >"$T/files"

cut -d ' ' -f 1 "$T/files" | uniq >"$T/kinds"
while read -r kind; do
	fresh
	while read -r other name; do
		[ "$other" != "$kind" ] || damage empty "$state/$name"
	done <"$T/files"
	if [ "$kind" = store/FORMAT ]; then
		gives 1 'log is refused without FORMAT' guard log
		says "$err" 'guard repair'
		gives 0 'repair makes FORMAT again' guard repair -q -y
	fi
	verbs
	is "$failed" '' "no verb is refused with an empty file $kind"
done <"$T/kinds"

grep -v '^store/\|^pins' "$T/files" >"$T/most"
for how in half zeros garbage; do
	fresh
	while read -r _ name; do
		damage "$how" "$state/$name"
	done <"$T/most"
	verbs
	is "$failed" '' "no verb is refused with files of the state: $how"
done

# --- messages ---
fresh
for how in half garbage; do
	printf '1\n2\n' >"$state/pins"
	damage "$how" "$state/pins"
	printf x >>"$state/pins"
	gives 1 'prune is refused when the pins are unknown' guard prune -y
	says "$err" 'or the file, and pin again with guard pin'
	gives 0 'log works when the pins are unknown' guard log
done
rm "$state/pins"
damage empty "$state/workspaces"/*/actions
gives 1 'undo without the log of actions is refused' guard undo -y
says "$err" "'actions' was damaged, by a power cut or a failing disk"
says "$err" 'guard log lists the stored versions'
gives 1 'redo without the log is refused' guard redo -y
says "$err" 'nothing to redo'
gives 0 'restore works without that record' guard restore -y first-file
work=$(grep -l '^name=work$' "$state"/runs/*/record)
work=${work%/record}
damage empty "$work/record"
damage empty "$state/workspaces"/*/record
gives 0 'status works with a damaged record of a run' guard status
says "$err" "run ${work##*/}: its record is damaged"
says "$err" "its changes are in the directory upper of '$work'"
damage empty "$state/workspaces"/*/record
gives 0 'repair elsewhere works with damaged records' \
	sh -c 'cd / && exec guard repair -y'
says "$err" 'the next command of guard in the project'
says "$err" "run ${work##*/} is in guard's trash for 7 days"
is "$(cat "$state"/trash/*-damaged-"${work##*/}"/upper/w)" w \
	"the trash has the run's changes"
gives 0 'status works after the repair' guard status
silent "$err" damaged

finish
