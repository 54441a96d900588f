#!/bin/sh
# --versions: content that a file has for longer than the interval during a run
# can be restored, whatever the run does with it later.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# tell SCRIPT: the run executes one line. A version may be stored at any time in
# between: the change that is waited for comes last, in one step.
begin() {
	rm -f "$T/go" "$T/done"
	mkfifo "$T/go" "$T/done"
	# shellcheck disable=SC2016 # the run's own
	guard run -q "$@" -- sh -c 'while read -r line; do
		eval "$line"
		echo done
	done' <"$T/go" >"$T/done" 2>"$T/run.err" &
	run=$!
	exec 5>"$T/go" 6<"$T/done"
}

tell() {
	echo "$1" >&5
	read -r said <&6
	[ "$said" = "done" ] || flunk "the run executes: $1"
}

end() {
	exec 5>&- 6<&-
	wait $run
	settle
}

# kept PATH COUNT: waits until the run has ended or the log of the path lists so
# many versions of runs; prints how many.
kept() {
	alive=yes count=0
	while [ "$alive" ] && [ "$count" -lt "$2" ]; do
		kill -0 $run 2>/dev/null || alive=
		guard log --json "$1" >"$T/log" 2>/dev/null
		count=$(grep -c '"reason": *"during-run"' "$T/log")
	done
	echo "$count"
}

numbers() {
	guard log "$1" | awk '$4 == "during-run" { print $1 }' | sort -n
}

make_home
mkdir "$HOME/clean"
cd "$HOME/clean" || exit 99
seq 1 20 >text
echo gone >gone
mkdir -p folder/deep keep
echo in >folder/deep/file
echo same >keep/same
echo keep >keep/other

begin --versions 0.2s
# shellcheck disable=SC2016 # the run's own
tell 'put() { echo "$2" >.put; mv .put "$1"; }'
tell 'echo made >new; rm gone; mkdir -p a/b; echo x >a/b/c; put text one'
is "$(kept text 1)" 1 'a change is stored during the run'
first=$(numbers text)
tell 'rm -r folder a; mkdir folder; echo now >folder/new; sed -i d text'
is "$(kept text 2)" 2 'a second change is stored'
tell 'chmod 600 keep/same; mv new renamed; put text two'
is "$(kept text 3)" 3 'a third change is stored'
second=$(numbers text | sed -n 2p)
third=$(numbers text | sed -n 3p)
is "$(guard show "$first:text")" one 'show prints the first version'
is "$(guard show "$first:new")" made 'the first version has a new file'
is "$(guard show "$first:a/b/c")" x \
	'the first version has a file in new directories'
is "$(guard show "$first:folder/deep/file")" in \
	'the first version has an unchanged file'
gives 1 'the first version lacks a deleted file' guard show "$first:gone"
is "$(guard show "$second:text")" '' 'the second version has an emptied file'
is "$(guard ls "$second" | LC_ALL=C sort | tr '\n' ' ')" \
	'folder/ keep/ new text ' 'the second version lacks a deleted directory'
is "$(guard ls "$second" folder)" new \
	'a recreated directory has only its new entries'
is "$(guard ls "$third" | LC_ALL=C sort | tr '\n' ' ')" \
	'folder/ keep/ renamed text ' 'the third version has a renamed file'
is "$(guard show "$third:renamed")" made 'the renamed file has its content'
is "$(guard show "$third:keep/other")" keep \
	'the third version has an unchanged file beside it'
is "$(guard ls -l "$third" keep | grep same | cut -c1-5)" -0600 \
	'the third version has a changed mode'
gives 0 'restore accepts a version of a live run' \
	guard restore -q -y --at "$first" text
is "$(cat text)" one 'restore writes that version into the project'
seq 1 20 >text
ok 'guard snapshot works beside the live run' guard snapshot -q
tell ': >extra'
is "$(kept extra 1)" 1 'a version is stored after that snapshot'
is "$(guard show latest:text | wc -l)" 20 'latest is never a version of a run'
end
is "$(kept text 3)" 3 'no version is stored after the end of the run'
gives 0 'diff accepts a run with versions' guard diff --name-status
says "$out" renamed
guard apply -q -y
is "$(cat text)$(cat folder/new)$(cat renamed)" twonowmade \
	'apply writes the last state of the run'
ok 'guard verify accepts the store with versions' guard verify -q --read-data

# --- no version without a change ---
count=$(guard log --json | grep -c during-run)
begin --versions 0.2s
tell 'chmod 600 keep/other'
is "$(kept keep/other 1)" 1 'a changed mode is stored'
tell 'cat keep/other >/dev/null; touch -a text'
tell 'chmod 640 keep/other'
is "$(kept keep/other 2)" 2 'a second changed mode is stored'
end
is "$(guard log --json | grep -c during-run)" $((count + 2)) \
	'reading stores no version'
guard discard -q -y
begin --versions 0
tell 'echo none >text'
end
no '--versions 0 stores no version' \
	sh -c "guard log text --json | grep -A3 '\"two\"' | grep during-run"
guard discard -q -y
for bad in x 0.05s -1 ''; do
	gives 125 "--versions '$bad' is refused" \
		guard run --versions "$bad" -- true
	says "$err" '--versions must be a time'
done

# --- run --continue ---
begin --versions 0.2s
tell 'echo early >text; echo e >early'
is "$(kept early 1)" 1 'a version of the first part is stored'
end
begin --versions 0.2s --continue
tell ': >late'
is "$(kept late 1)" 1 'a version of the continued run is stored'
is "$(guard show "$(numbers late):early")" e \
	'that version has the changes of the first part'
end
guard discard -q -y

# --- unusual entries in the layer ---
begin --versions 0.2s
tell 'mkdir shut; echo s >shut/s; chmod 000 shut; mkfifo fifo'
tell 'ln -s /etc/passwd link; head -c 17000000 /dev/zero >large; : >zz'
is "$(kept zz 1)" 1 'a version with unusual entries is stored'
at=$(numbers zz)
is "$(guard ls -l "$at" | grep fifo | cut -c1)" p \
	'a FIFO is stored without opening it'
is "$(guard ls -l "$at" | grep link | cut -c1)" l \
	'a symbolic link is stored as one'
gives 0 'a large file is not in a version during the run' guard show "$at:large"
says "$err" 'incomplete'
end
is "$(guard show "$(guard log --json large |
	sed -n 's/.*"snapshot": *\([0-9]*\).*/\1/p' | head -n 1):large" |
	wc -c)" 17000000 'the large file is stored after the run'
guard discard -q -y
finish
