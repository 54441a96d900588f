#!/bin/sh
# --versions: content that a file has for longer than the rest during a run is
# kept, whatever the run does with it later.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/told.sh
. "${0%/*}/../lib/told.sh"

check=/opt/guard/build/tests/timeline/check
destroyer=/opt/guard/build/tests/lib/destroyer

# the directory of the pending run
run_dir() {
	echo "$state"/runs/*-*
}

live_worker() {
	until found=$(grep -ls '^guard-live' /proc/[0-9]*/comm); do
		kill -0 $run || return 1
		sleep 0.02
	done
	found=${found%%/comm*}
	echo "${found#/proc/}"
}

# kept TITLE TEXT: the spool has a file with this line.
kept() {
	echo "$2" >"$T/wanted"
	ok "$1" "$check" has "$(run_dir)" "$T/wanted"
}

agrees() {
	ok "$1" "$check" layer "$(run_dir)"
}

make_home
mkdir "$HOME/clean"
cd "$HOME/clean" || exit 99
seq 1 20 >text
echo gone >gone
mkdir -p folder/deep keep
echo in >folder/deep/file
echo keep >keep/other

begin
tell 'echo over >over; echo trunc >trunc; echo moved >moved; echo rm >rm'
tell 'echo append >append; mkdir -p a/b; echo deep >a/b/deep; echo in >text'
held over trunc moved rm append a/b/deep text
tell 'echo OVER 1<>over; : >trunc; echo x >x; mv x moved; rm rm'
tell 'echo more >>append; mv a c; rm -r c; rm text; rm -r folder; mkdir folder'
tell 'rm gone; chmod 600 keep/other; ln -s nowhere link; mkfifo fifo'
end
settle
kept 'an overwritten content is kept' over
kept 'a truncated content is kept' trunc
kept 'a replaced content is kept' moved
kept 'a deleted content is kept' rm
kept 'the content before an append is kept' append
kept 'a content in a renamed and deleted directory is kept' deep
kept 'a changed content that was deleted is kept' in
agrees 'the timeline ends with the layer'
is "$("$check" dump "$(run_dir)" | grep -c " opaque .* 'folder'")" 1 \
	'a recreated directory is recorded as opaque'
is "$("$check" dump "$(run_dir)" | grep -c " gone .* 'gone'")" 1 \
	'a deleted file is recorded'

# --- run --continue ---
begin --continue
tell 'echo second >second'
held second
tell 'rm second; echo third >third; mv append append2'
end
settle
kept 'a content of the continued run is kept' second
kept 'the contents of the first part are still there' over
agrees 'the timeline of a continued run ends with the layer'
guard discard -q -y

# --- the worker ---
begin
tell 'echo one >one; echo two >two; echo three >three'
held one two three
before=$(live_worker)
kill -KILL "$before"
until after=$(live_worker) && [ "$after" != "$before" ]; do
	kill -0 $run || break
	sleep 0.02
done
held one two three
tell 'echo ONE >one; rm two'
echo two >"$T/wanted"
until "$check" has "$(run_dir)" "$T/wanted" >/dev/null; do
	kill -0 $run || break
	sleep 0.02
done
kill -STOP "$after"
began=$(date +%s%N)
tell 'echo THREE >three'
took=$((($(date +%s%N) - began) / 1000000))
ok "a stopped worker blocks the run for at most a second ($took ms)" \
	test "$took" -lt 2000
is "$(live_worker)" "$after" 'a stopped worker goes on'
tell 'echo four >four'
held four
tell 'rm four'
end
settle
kept 'a killed worker is replaced: overwritten' one
kept 'a killed worker is replaced: deleted' two
kept 'a stopped worker is replaced' four
agrees 'the timeline after three workers ends with the layer'
guard discard -q -y

# --- a guard that is killed ---
begin
tell 'echo good >good'
held good
tell 'echo bad >good; echo last >last'
kill -KILL $run
exec 5>&- 6<&-
wait $run 2>/dev/null
settle
kept 'a content that was overwritten just before guard was killed is kept' good
agrees 'the timeline of a killed guard ends with the layer'
guard discard -q -y

# --- hard links ---
begin
tell 'echo one >a; ln a b; mkdir d; ln b d/c'
held a
tell 'rm a; echo two >a'
tell 'mv d e; rm b; echo three >e/c'
end
settle
kept 'the content of a hard link is kept' one
agrees 'the timeline with hard links ends with the layer'
guard discard -q -y

# --- hostile layers ---
begin
tell 'mkdir shut; echo s >shut/s; chmod 000 shut; mkfifo fifo; ln -s / link'
tell 'truncate -s 1T sparse; mkdir d; echo last >d/last'
tell 'for i in 1 2 3 4 5; do mv d e; ln -s /etc d; rm d; mv e d; done'
tell "echo \$(seq 1 200) | tr ' ' '/' | xargs mkdir -p; echo ok >ok"
held ok
tell 'rm ok sparse; rm -r 1'
end
settle
kept 'directories swapped with links, FIFOs and deep ones do not stop it' ok
agrees 'the timeline of a hostile layer ends with the layer'
guard discard -q -y

# --- nine ways to destroy, below narrow limits, too ---
# recall TITLE [COMMAND...]: truncate(2) by path is another test's.
recall() {
	what=$1
	shift
	"$@" guard run -q -- "$destroyer" 3 100 60 1 otruashm >"$T/log"
	settle
	ok "$what" "$check" recall "$(run_dir)" "$T/log" 1000
	agrees "$what: the timeline ends with the layer"
	guard discard -q -y
}
recall 'every content that stood for a second is kept'
recall 'the same with 90 descriptors' prlimit --nofile=90:90
recall 'the same with a short queue of signals' prlimit --sigpending=1:1

# --- more files than descriptors ---
under='prlimit --nofile=90:90'
begin
under=
tell 'seq 1 300 | while read -r i; do echo $i >f$i; done'
find "$(run_dir)/upper" -name 'f*' -printf ':%i 0 EOF\n' >"$T/inodes"
for _ in $(seq 1 500); do
	[ "$(grep LEASE /proc/locks | grep -cFf "$T/inodes")" -lt 300 ] || break
	sleep 0.02
done
is "$(ls "$(run_dir)/timeline/spool")" '' \
	'more files than one process may have open are held, not copied'
tell 'rm f1; echo over 1<>f150; truncate -s 0 f299; mv f298 f300; sleep 0.1'
end
settle
for content in 1 150 299 300; do
	kept "and kept: $content" $content
done
guard discard -q -y

prlimit --nofile=64:64 guard run -q -- "$destroyer" 2 2000 60 1 otruashm 200 \
	>"$T/log"
settle
ok 'beyond the descriptors each content that is not kept has a row' \
	"$check" noted "$(run_dir)" "$T/log" 1500
guard discard -q -y

# --- inotify watches ---
# shellcheck disable=SC2016 # the shell of the new user namespace
unshare -Ur sh -c 'echo 2 >/proc/sys/user/max_inotify_watches
	GUARD_HOME=$1 exec guard run -q -- sh -c "mkdir a b c
		echo x >a/x; echo y >b/y; echo z >c/z; sleep 3
		echo X >a/x; rm b/y; mv c/z c/Z"' sh "$T/state"
settle
dir=$(echo "$T"/state/runs/*-*)
ok 'without free watches the timeline ends with the layer' "$check" layer "$dir"
is "$("$check" dump "$dir" | grep -c 'not watched')" 2 \
	'directories without a watch are recorded as such'
for content in x y; do
	echo $content >"$T/wanted"
	ok 'a content in a directory without a watch is kept after a while' \
		env GUARD_HOME="$T/state" "$check" has "$dir" "$T/wanted"
done

# --- options ---
guard run -q --versions 0 -- sh -c 'echo none >text'
no '--versions 0 makes no timeline' test -e "$(run_dir)/timeline/records"
guard discard -q -y
guard run -q --name off -- sh -c 'echo one >text'
guard run -q --continue=off --versions 0 -- sh -c 'echo two >text'
guard log off >"$out"
says "$out" 'not held .: continued with --versions 0'
guard discard -q -y
for bad in x 0.05s -1 ''; do
	gives 125 "--versions '$bad' is refused" \
		guard run --versions "$bad" -- true
	says "$err" '--versions must be a time'
done
finish
