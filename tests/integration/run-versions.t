#!/bin/sh
# Versions that are kept while a run goes: each that a file had for longer than
# the interval can be had back, whatever the run makes of the file later.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# tell WORDS: what the run's shell does next, one line a command. A version may
# be kept at any moment in between: what is waited for comes last, in one step.
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
	[ "$said" = "done" ] || flunk "the run did not do: $1"
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
is "$(kept text 1)" 1 'what a run changes is kept while it goes'
first=$(numbers text)
tell 'rm -r folder a; mkdir folder; echo now >folder/new; sed -i d text'
is "$(kept text 2)" 2 'and again'
tell 'chmod 600 keep/same; mv new renamed; put text two'
is "$(kept text 3)" 3 'and again'
second=$(numbers text | sed -n 2p)
third=$(numbers text | sed -n 3p)
is "$(guard show "$first:text")" one 'the first version'
is "$(guard show "$first:new")" made 'what was new then'
is "$(guard show "$first:a/b/c")" x 'in new folders too'
is "$(guard show "$first:folder/deep/file")" in 'and what is untouched'
gives 1 'what is deleted is not there' guard show "$first:gone"
is "$(guard show "$second:text")" '' 'a file became empty'
is "$(guard ls "$second" | LC_ALL=C sort | tr '\n' ' ')" \
	'folder/ keep/ new text ' 'a folder is gone with all in it'
is "$(guard ls "$second" folder)" new 'one that was made anew has only its own'
is "$(guard ls "$third" | LC_ALL=C sort | tr '\n' ' ')" \
	'folder/ keep/ renamed text ' 'a file has another name'
is "$(guard show "$third:renamed")" made 'and its bytes'
is "$(guard show "$third:keep/other")" keep 'what is beside it stays'
is "$(guard ls -l "$third" keep | grep same | cut -c1-5)" -0600 'rights too'
gives 0 'restored from it while the run goes' \
	guard restore -q -y --at "$first" text
is "$(cat text)" one 'the real file has it'
seq 1 20 >text
ok 'a snapshot beside the run' guard snapshot -q
tell ': >extra'
is "$(kept extra 1)" 1 'then another version'
is "$(guard show latest:text | wc -l)" 20 'latest is never one of them'
end
is "$(kept text 3)" 3 'no more of them afterwards'
gives 0 'the run is as without them' guard diff --name-status
says "$out" renamed
guard apply -q -y
is "$(cat text)$(cat folder/new)$(cat renamed)" twonowmade 'applied'
ok 'the store is whole' guard verify -q --read-data

# --- nothing for nothing ---
count=$(guard log --json | grep -c during-run)
begin --versions 0.2s
tell 'chmod 600 keep/other'
is "$(kept keep/other 1)" 1 'a change'
tell 'cat keep/other >/dev/null; touch -a text'
tell 'chmod 640 keep/other'
is "$(kept keep/other 2)" 2 'the next one'
end
is "$(guard log --json | grep -c during-run)" $((count + 2)) \
	'looking changes nothing'
guard discard -q -y
begin --versions 0
tell 'echo none >text'
end
no 'none are kept where none are wanted' \
	sh -c "guard log text --json | grep -A3 '\"two\"' | grep during-run"
guard discard -q -y
for bad in x 0.05s -1 ''; do
	gives 125 "no time: '$bad'" guard run --versions "$bad" -- true
	says "$err" '--versions is a time'
done

# --- a run that goes on ---
begin --versions 0.2s
tell 'echo early >text; echo e >early'
is "$(kept early 1)" 1 'kept'
end
begin --versions 0.2s --continue
tell ': >late'
is "$(kept late 1)" 1 'a run that goes on is kept too'
is "$(guard show "$(numbers late):early")" e 'with what it had before'
end
guard discard -q -y

# --- what a run cannot do about it ---
begin --versions 0.2s
tell 'mkdir shut; echo s >shut/s; chmod 000 shut; mkfifo fifo'
tell 'ln -s /etc/passwd link; head -c 17000000 /dev/zero >large; : >zz'
is "$(kept zz 1)" 1 'a layer of odd things is kept'
at=$(numbers zz)
is "$(guard ls -l "$at" | grep fifo | cut -c1)" p 'a fifo is not opened'
is "$(guard ls -l "$at" | grep link | cut -c1)" l 'a link not followed'
gives 0 'a large file waits for the end' guard show "$at:large"
says "$err" 'not complete'
end
is "$(guard show "$(guard log --json large |
	sed -n 's/.*"snapshot": *\([0-9]*\).*/\1/p' | head -n 1):large" |
	wc -c)" 17000000 'and is there then'
guard discard -q -y
finish
