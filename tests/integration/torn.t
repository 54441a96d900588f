#!/bin/sh
# After a power cut no plain apply writes a file that the cut may have damaged
# over the user's file. The layer is synced while the run writes; whatever is
# newer than the last sync is torn: marked in every list, and applied only by
# name. A killed guard without a cut tears nothing.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
rm -rf nested
git init -q .
other=$HOME/other
mkdir "$other" sub

mkfifo "$T/go" "$T/on"

# live FIRST SECOND [OPTIONS]: a live run $run that has done FIRST; go: SECOND
live() {
	first=$1 second=$2
	shift 2
	guard run -q --rw "$T" "$@" -- sh -c "$first
		echo >'$T/go'; read -r _ <'$T/on'
		$second
		echo >'$T/go'; exec sleep 600" >/dev/null 2>&1 &
	runner=$!
	read -r _ <"$T/go"
	run=$(guard status -q | head -n 1)
	at_run=$state/runs/$run
}
go() {
	echo >"$T/on"
	read -r _ <"$T/go"
}

# die: guard and its run are killed
die() {
	kill -9 "$runner"
	wait "$runner" 2>/dev/null
	settle
}

# reboot [TIME]: the machine stopped; TIME: of the last sync
reboot() {
	[ $# -eq 0 ] || printf 'guard-synced 1\nboot=now\ntime=%s\n' "$1" \
		>"$at_run/synced-at"
	sed -i 's/^boot=.*/boot=of-yesterday/' "$at_run/record" "$at_run"/synced-at*
}

# now: a time between what is written before and afterwards, by the clock of
# the kernel's ticks
now() {
	touch "$T/before"
	until touch "$T/after" && find "$T/after" -newer "$T/before" | grep -q .; do
		:
	done
	date -r "$T/after" +%s.%N
}

# commit: the user's files have copies
commit() {
	git add -A
	git commit -qm x
}

# marked: the torn files of the run
marked() {
	guard diff --json "$run" 2>/dev/null | perl -MJSON::PP -0777 -ne '
		sub walk {
			my ($x) = @_;
			push @torn, $x->{path} if ref $x eq "HASH" && $x->{torn};
			walk($_) for ref $x eq "HASH" ? values %$x
				: ref $x eq "ARRAY" ? @$x : ();
		}
		walk(decode_json($_));
		print join(" ", sort @torn), "\n"'
}


# --- the times of syncs ---

for f in early late mode gone; do echo user >$f; done
commit
live 'echo run >>early; echo new >new; chmod 600 mode; rm gone' \
	'echo run >>late; : >sub/empty; ln -s late link'
no 'a young run is not synced yet' test -e "$at_run/synced-at"
# A mark leads to a sync, which counts for what was written two seconds before.
last=$(stat -c %.9Z "$at_run/upper/early")
until time=$(sed -n 's/^time=//p' "$at_run/synced-at" 2>/dev/null) &&
	awk "BEGIN { exit !(${time:-0} > $last) }"; do
	guard mark "$run" here
	sleep 0.5
done
go
die
is "$(marked)" '' 'a killed guard tears nothing'
gives 0 'apply of the run of a killed guard asks nothing' guard apply -n "$run"
reboot
is "$(marked)" 'late sub/empty' 'after a cut the files since the sync are torn'
gives 0 'status names them' guard status
says "$err" "2 files of run $run may be torn"
gives 0 'diff says what it means' guard diff "$run"
says "$out" 'may be torn: the machine stopped'
says "$err" 'guard apply asks about each'
gives 0 'a patch has them, with a warning' guard patch "$run"
says "$err" "2 files of run $run may be torn"
gives 1 'a plain apply refuses them' guard apply -y "$run"
says "$err" "'late' may be torn"
says "$err" '--except critical'
is "$(cat early late)" "$(echo user; echo user)" 'and writes nothing'
gives 0 'an apply without them is accepted' \
	guard apply -y --except critical "$run"
is "$(cat early late)" "$(printf 'user\nrun\nuser')" 'and writes the others'
no 'a torn new file is left out' test -e sub/empty
gives 1 'a directory does not name what is in it' guard apply -y "$run" sub
gives 1 'a branch takes no torn file unasked' guard apply -y --branch br "$run"
says "$err" "'late' may be torn"
gives 0 'it does with a consent' \
	guard apply -y --branch br --yes-to torn "$run"
gives 0 'a file that is named is applied' guard apply -y "$run" late
is "$(cat late)" "$(printf 'user\nrun')" 'with its bytes'
gives 0 'so is one by the rule' guard apply -y --yes-to torn "$run" sub
ok 'it is there' test -e sub/empty
guard discard -y -q "$run" 2>/dev/null

live 'mkdir many; for i in $(seq 40); do echo $i >many/$i; done' :
die
reboot
gives 1 'a plain apply of many torn files is refused' guard apply -y "$run"
says "$err" 'and 35 more that may be torn'
says "$err" 'guard apply --yes-to torn'
guard discard -y -q "$run"

# --- a run that goes on ---

for f in a b c; do echo user >$f; done
commit
live : 'echo run >>a; echo run >>b; echo run >>c'
at=$(now)
go
die
reboot "$at"
gives 0 'a torn run can be continued' guard run -q --continue="$run" -- sh -c '
	echo more >>a; echo whole >B; mv B b; chmod 600 c; echo next >d'
is "$(marked)" 'a c' 'what the run wrote anew is torn no more, the rest is'
gives 1 'a plain apply of the ended run refuses them' guard apply -y "$run"
gives 0 'a path can be discarded' guard discard -y "$run" c
is "$(marked)" a 'the discarded path is no change'
gives 0 'the rest is applied without it' guard apply -y --except critical "$run"
is "$(cat a b)" "$(echo user; echo whole)" 'the torn file stays'
guard discard -y -q "$run" 2>/dev/null
live 'echo run >old' : -q
die
reboot
is "$(marked)" old 'without a sync everything since the start is torn'
rm -f "$at_run/synced-at"
echo 'guard-synced 1' >"$at_run/synced-at"
is "$(marked)" old 'the same with a damaged record of syncs'
ok 'a torn run can be discarded' guard discard -y -q "$run"

# A torn file stays torn wherever it goes.
mkdir dir
for f in dir/1 dir/2 dir/3 b; do echo user >$f; done
rm -f c
echo user >c
commit
live : 'echo run >a; echo run >dir/1; echo run >dir/2; mkdir own; echo x >own/f
	rm c; mkdir c; echo x >c/x; echo run >mode'
at=$(now)
go
die
reboot "$at"
gives 0 'a directory that lacks its torn file' \
	guard apply -y --except critical "$run"
is "$(cat c)" user 'does not replace a file'
gives 0 'a torn run goes on' guard run -q --continue="$run" -- sh -c '
	mv dir moved; ln moved/1 linked; mv moved/2 b; mv own own2; echo x >>mode'
all='a b c/x linked mode moved/1 own2/f'
is "$(marked)" "$all" 'links, and what was moved, is torn'
gives 0 'a rewind of paths' guard rewind -y "$run" --to start a own2
is "$(marked)" 'b c/x linked mode moved/1' 'takes them away'
undone=$(guard undo -y 2>&1) || flunk "$undone"
is "$(marked)" "$all" 'its undo brings them back, torn'
gives 0 'a rewind' guard rewind -y "$run" --to start
is "$(marked)" '' 'takes all away'
gives 0 'the run goes on' guard run -q --continue="$run" -- touch next
guard run -q --continue="$run" -- rm next
undone=$(guard undo -y 2>&1) || flunk "$undone"
is "$(marked)" "$all" 'and the undo brings all back, torn'
echo damaged >"$at_run/torn"
is "$(marked)" "${all% *} moved/3 own2/f" 'without the list all files are torn'
rm "$at_run/torn"
is "$(marked)" "${all% *} moved/3 own2/f" 'the same if it is missing'
guard discard -y -q "$run"

# --- versions ---

live 'echo one >a; sleep 0.6; echo two >a; sleep 0.6; echo three >a; sleep 0.6
	rm a; sleep 0.5' :
die
reboot 0.0
for f in "$at_run"/timeline/spool/*; do
	perl -e '$s = -s $ARGV[0]; truncate($ARGV[0], 0); truncate($ARGV[0], $s)' "$f"
done
for round in cut continued stored; do
	gives 0 "the log has the gaps ($round)" guard log "$run"
	says "$out" 'not held a: torn by a power cut'
	for time in $(guard log --json "$run" | sed -n 's/Z",$//; s/.*time": "//p'); do
		guard restore -y --at "$run@${time#*T}" a >/dev/null 2>&1
		is "$(cat a)" user "no torn version is restored ($round)"
	done
	case $round in
	cut) guard run -q --continue="$run" -- sh -c 'echo x >x; sleep 0.5' ;;
	continued) guard discard -y -q "$run" ;;
	esac
done

# --- layers without syncs of their own ---

# volatile OPTIONS: how many of the layers of a run are mounted so
volatile() {
	guard "$@" -- grep -cE " $HOME(/project)? .*volatile" \
		/proc/self/mountinfo
}
is "$(volatile run -q)" 2 'the layers are volatile'
is "$(volatile run -q --durable)" 0 'with --durable they are not'
guard run -q --durable --name slow -- touch slow
is "$(volatile exec -q slow)" 0 'exec repeats --durable'
guard run -q --continue=slow -- touch fast
is "$(find "$state"/runs/*/*work -mindepth 3 2>/dev/null)" '' \
	'no directory that nobody may read is left'
guard discard -y -q slow

# --- runs that had ended ---

run=$(guard run -q --name over -- sh -c 'echo run >>a' && guard status -q)
at_run=$state/runs/$run
settle
reboot
is "$(marked)" '' 'a stored result has no torn file'
sed -i 's/^stored=.*/stored=older/' "$at_run/record"
is "$(marked)" '' 'the layer of an ended run is on disk'
rm "$at_run/synced-at"
is "$(marked)" a 'unless the machine stopped before its last sync'
sed -i '/^syncs=/d' "$at_run/record"
is "$(marked)" '' 'an earlier guard synced the layer in any case'
guard discard -y -q "$run"

# --- other directories ---

echo user >"$other/x"
mkdir -p "$HOME/.config"
echo user >"$HOME/.config/x"
live : "echo run >>'$other/x'; echo run >>'$HOME/.config/x'; echo run >>a" \
	--cow "$other"
at=$(now)
go
die
reboot "$at"
is "$(marked)" '.config/x a x' 'so are those of --cow and of the home directory'
gives 1 'a plain apply refuses those of all directories' guard apply -y "$run"
says "$err" 'x'"'"' may be torn'
is "$(cat "$other/x")" user 'it writes nothing there'
gives 1 'a directory of the home is refused, too' \
	guard apply -y "$run" "$HOME/.config"
is "$(cat "$HOME/.config/x")" user 'it writes nothing there either'
guard discard -y -q "$run"

# --- files that make sense together ---

sql() {
	python3 -c 'import sqlite3, sys
c = sqlite3.connect("x.db"); c.execute("pragma journal_mode=wal")
for s in sys.argv[1:]: c.execute(s)
c.commit(); import os; os._exit(0)' "$@"
}
if needs 'databases' python3; then
	sql 'create table t(a)' 'insert into t values(1)'
	rm -f x.db-*
	commit
	live "$(command -v python3) -c 'import sqlite3, os
c = sqlite3.connect(\"x.db\"); c.execute(\"pragma wal_autocheckpoint=0\")
c.execute(\"create table u(a)\"); c.commit()
c.execute(\"pragma wal_checkpoint(full)\"); os._exit(0)'" \
		"$(command -v python3) -c 'import sqlite3, os
c = sqlite3.connect(\"x.db\"); c.execute(\"insert into u values(2)\")
c.commit(); os._exit(0)'"
	at=$(now)
	go
	die
	reboot "$at"
	is "$(marked)" 'x.db-shm x.db-wal' 'the sidecars of a database are torn'
	gives 1 'a plain apply refuses it' guard apply -y "$run"
	cksum x.db >"$T/before"
	gives 0 'without it the database is left out' \
		guard apply -y --except critical "$run"
	is "$(cksum x.db; ls x.db*)" "$(cat "$T/before"; echo x.db)" \
		'no half of the database is written'
	gives 0 'named, both are taken' guard apply -y --yes-to torn "$run" x.db
	ok 'both are there' test -e x.db-wal
	guard discard -y -q "$run" 2>/dev/null
	rm -f x.db*
fi

# --- random cuts ---

# Each file has a first and a last line. The cut leaves each file that was
# written after the sync whole, empty, half, or full of NULs.
whole() {
	perl -0777 -ne 'exit(!/\A(begin\n(x*\n)*end\n|user\n)\z/)' "$1"
}
write='w() { { echo begin; head -c $2 /dev/zero | tr "\0" x
		echo; echo end; } >$1; }'
tear='srand(shift); for (@ARGV) {
	my ($how, $size) = (int(rand(4)), -s $_);
	truncate($_, 0) if $how == 1;
	truncate($_, 1 + int(rand($size - 1))) if $how == 2;
	next unless $how == 3;
	truncate($_, 0);
	truncate($_, $size);
}'
seed=${TORN_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d " ")}
echo "# seed $seed"
for round in 1 2 3 4 5; do
	rm -rf cut
	mkdir -p cut/sub
	for i in 1 2 3 4 5 6; do echo user >cut/$i; done
	commit
	live "$write; w cut/1 900; w cut/2 9000; w cut/sub/1 20; rm cut/3" \
		"$write; w cut/2 70; w cut/t 5000; mv cut/t cut/4
		w cut/sub/2 7000; mkdir cut/new; w cut/new/1 4096; rm cut/5
		mv cut/6 cut/moved; w cut/moved 50"
	at=$(now)
	go
	die
	u=$at_run/upper/cut
	perl -e "$tear" $((seed + round)) "$u/2" "$u/4" "$u/sub/2" "$u/new/1" \
		"$u/moved"
	reboot "$at"
	# The run goes on, and moves the bytes about in a random order.
	acts=$(perl -e 'srand(shift); print map { "a" . int(rand(6)) . "\n" } 1 .. 4
		if $ARGV[0] > 2' $((seed + round)) "$round")
	for act in $acts; do
		at_cut=${act#a}
		case $act in
		a0) act='echo x >>cut/x' ;;
		a1) act='for f in cut/[1-4]; do [ ! -e $f ] || mv $f $f.tmp; done
			for f in cut/[1-4].tmp; do [ ! -e $f ] || mv $f ${f%.tmp}; done' ;;
		a2) act='mv cut/sub cut/sub2; [ ! -e cut/sub2 ] || mv cut/sub2 cut/sub' ;;
		a3) act='ln -f cut/moved cut/1; ln -f cut/4 cut/linked' ;;
		*) act= ;;
		esac
		if [ "$act" ]; then
			guard run -q --continue="$run" -- sh -c "$act; :" 2>/dev/null ||
				flunk "$act"
			continue
		fi
		set --
		[ "$at_cut" = 4 ] || set -- cut/2 cut/4
		# An earlier act may have left nothing to rewind.
		guard rewind -y "$run" --to start "$@" 2>&1 |
			grep -q 'is rewound' || continue
		guard undo -y >"$T/undone" 2>&1 || flunk "$(cat "$T/undone")"
	done
	gives 1 "a plain apply is refused after cut $round" \
		guard apply -y "$run"
	gives 0 "the rest of it is applied ($round)" \
		guard apply -y --except critical "$run"
	rm -f cut/x
	for f in cut/* cut/*/*; do
		[ -d "$f" ] || whole "$f" || flunk "$f is damaged ($round)"
	done
	[ "$round" -gt 2 ] ||
		ok "what the sync had is there ($round)" cmp cut/1 "$u/1"
	guard discard -y -q "$run" 2>/dev/null
done
finish
