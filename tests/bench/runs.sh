# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables of run.sh and table.sh
# The rows of runs: start, work inside, applying. Sourced by run.sh.

# measure_runs COMMAND: bare, in bwrap and in guard, in both directories. bwrap
# gets the same setup as guard: all namespaces, the second user namespace too,
# private directories, writable paths, and the same seccomp program.
measure_runs() {
	payload=$1
	set --
	for folder in empty tree; do
		path=$base/empty
		[ $folder = empty ] || path=$tree
		[ $# -eq 0 ] || set -- "$@" ';;'
		set -- "$@" "bare-$folder" -d "$path" "$payload" ';;' \
			"guard-$folder" -d "$path" "$guard" run -q -- "$payload"
		have bwrap || continue
		set -- "$@" ';;' "bwrap-$folder" -d "$path"
		[ ! -e "$bin/calls" ] ||
			set -- "$@" -f "$bin/calls"
		set -- "$@" bwrap --unshare-all --share-net --unshare-user \
			--disable-userns --new-session --die-with-parent \
			--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \
			--tmpfs /var/tmp --tmpfs /run --bind "$HOME" "$HOME" \
			--bind "$path" "$path" --chdir "$path"
		[ ! -e "$bin/calls" ] ||
			set -- "$@" --add-seccomp-fd 3
		set -- "$@" "$payload"
	done
	measure 41 45 -w 1 "$@"
}

row_start() {
	measure_runs ./payload
	FIELD=6
	line start "fork and exec, to the first line" bare-tree
	line start "bwrap, as much of a fence" bwrap-tree
	line start "guard run, in an empty folder" guard-empty bwrap-empty bwrap
	line start "guard run, in the tree" guard-tree bwrap-tree bwrap 1.5
	line start "  beside fork and exec" guard-tree bare-tree exec
	unset FIELD
}

row_wall() {
	measure_runs true
	line wall "fork, exec, wait: true" bare-tree
	line wall "bwrap -- true" bwrap-tree
	line wall "guard run -- true, in an empty folder" guard-empty \
		bwrap-empty bwrap
	line wall "guard run -- true, in the tree" guard-tree bwrap-tree bwrap 2
	FIELD=7
	line wall "  its last process gone after" guard-tree bare-tree exec
	unset FIELD
}

# One more command in a live run.
row_exec() {
	rm -f "$base/gate" "$base/ready"
	mkfifo "$base/gate" "$base/ready"
	exec 8<>"$base/gate"
	(cd "$empty" && exec "$guard" run -q -- sh -c 'echo ready; read -r _') \
		<"$base/gate" >"$base/ready" 8>&- &
	read -r _ <"$base/ready"
	measure 41 30 -w 1 bare -d "$empty" ./payload ';;' \
		guard -d "$empty" "$guard" exec -- ./payload
	echo go >&8
	wait $!
	exec 8>&-
	FIELD=6
	line exec "guard exec in a live run, to the first line" guard bare exec
	unset FIELD
	(cd "$empty" && "$guard" discard -q -y >/dev/null 2>&1) || :
}

# over_again LOWER: a command that makes the bare overlay again.
over_again() {
	echo "umount -l '$base/over' 2>/dev/null
		$(wiped "$base/up"); $(wiped "$base/work")
		mkdir -p '$base/up' '$base/work' '$base/over'
		mount -t overlay overlay -o \
			'lowerdir=$1,upperdir=$base/up,workdir=$base/work' \
			'$base/over' 2>/dev/null"
}

# bare_overlay LOWER: mounts an overlay over it at $base/over, if permitted.
bare_overlay() {
	sh -c "$(over_again "$1")"
}

drop_overlay() {
	umount -l "$base/over" 2>/dev/null || :
	wipe "$base/up"
	wipe "$base/work"
	wipe "$base/over"
}

# inside ROW DIR TEXT COMMAND [BEFORE [TARGET]]: outside, in a bare overlay, in
# a run. BEFORE: a command that is not timed.
inside() {
	row=$1
	folder=$2
	what=$3
	command=$4
	before=${5:-:}
	limit=${6:-}
	discard="cd '$folder' && '$guard' discard -q -y >/dev/null 2>&1 || :"
	set -- outside -p "$before" -d "$folder" sh -c "$command" ';;' \
		guard -p "$before; $discard" -d "$folder" \
		"$guard" run -q -- sh -c "$command"
	! bare_overlay "$folder" || set -- "$@" ';;' overlay \
		-p "$before; $(over_again "$folder")" -d "$base/over" \
		sh -c "$command"
	measure 5 60 -w 1 "$@"
	line "$row" "$what, outside" outside
	line "$row" "  on a bare overlay" overlay outside out
	line "$row" "  in guard run, with its start and end" guard outside out \
		"$limit"
	drop_overlay
	sh -c "$discard"
}

# A part of guard itself: ordinary C and a makefile.
row_make() {
	{ have make && have cc; } || { skip make "no make or cc"; return; }
	parts="base snapshot/store snapshot/walk"
	[ -z "$quick" ] || parts=base
	mkdir "$base/build"
	(cd "$here/../.." && cp -R base snapshot restore overlay guard "$base/build")
	cat >"$base/build/Makefile" <<-END
		.RECIPEPREFIX = >
		objects = \$(patsubst %.c,out/%.o,\$(wildcard $(printf '%s/*.c ' $parts)))
		all: \$(objects)
		out/%.o: %.c
		>@mkdir -p \$(@D)
		>@cc -std=gnu11 -D_GNU_SOURCE -O1 -g -pthread -I. -MMD -c -o \$@ \$<
	END
	inside make "$base/build" \
		"make -j2 of $(cd "$base/build" && ls $(printf '%s/*.c ' $parts) |
			wc -l) files of C" "make -s -j2" "rm -rf '$base/build/out'" 1.05
	wipe "$base/build"
}

# The file operations of npm install without its registry: most of its time goes
# into them when all packages are in its cache.
row_npm() {
	count=20000
	[ -z "$quick" ] || count=2000
	mkdir "$base/app"
	"$bin/maketree" -p "$base/packages" $count
	tar -C "$base" -cf "$base/packages.tar" packages
	wipe "$base/packages"
	inside npm "$base/app" "unpack $count files, as npm install" \
		"mkdir node_modules && tar -C node_modules -xf '$base/packages.tar'" \
		"'$here/run.sh' --wipe '$base/app/node_modules'"
	wipe "$base/app"
	rm -f "$base/packages.tar"
}

row_grep() {
	inside grep "$tree" "grep -r through the tree" \
		"grep -r no-such-text-anywhere . || :"
}

row_git_status() {
	have git || { skip git-status "no git"; return; }
	(cd "$tree" && git init -q . && git add -A -f . &&
		git -c user.name=b -c user.email=b commit -q -m bench &&
		git status --porcelain >/dev/null)
	made=$(date +%s)
	settle
	(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null)
	inside git-status "$tree" "git status" "git status --porcelain"
	wipe "$tree/.git"
}

# ---- applying ----

row_apply_new() {
	count=50000
	[ -z "$quick" ] || count=5000
	project=$base/project
	mkdir -p "$project"
	"$bin/maketree" -p "$base/source" $count
	again="cd $project; '$guard' discard -q -y >/dev/null 2>&1
		$(wiped "$project/new")
		'$guard' run -q -- cp -a '$base/source' new; sync -f $base"
	gone="$(wiped "$base/copy"); sync -f $base"
	set -- cp -p "$gone" \
		sh -c "cp -a $base/source $base/copy && sync -f $base" ';;' \
		mv -p "mkdir -p $base/moved; mv $base/copy $base/moved/from;
			sync -f $base" \
		sh -c "mv $base/moved/from $base/copy && sync -f $base" ';;' \
		guard -d "$project" -p "$again" "$guard" apply -q -y
	! have rsync || set -- "$@" ';;' rsync -p "$gone" sh -c \
		"rsync -a $base/source/ $base/copy && sync -f $base"
	! have try || set -- "$@" ';;' try -d "$project" \
		-p "$(wiped "$base/overlay"); mkdir $base/overlay
			$(wiped "$project/new"); cd $project
			try -n -D $base/overlay cp -a $base/source new;
			sync -f $base" \
		sh -c "try commit $base/overlay && sync -f $base"
	set -- "$@" ';;' undo -d "$project" \
		-p "$again; '$guard' apply -q -y; sync -f $base" \
		"$guard" undo -q -y
	measure 3 150 "$@"
	line apply-new "cp -a of $count new files, synced" cp
	line apply-new "mv of them, synced" mv cp cp
	line apply-new "rsync -a of them, synced" rsync cp cp
	line apply-new "try commit of them, synced" try cp cp
	line apply-new "guard apply of them" guard cp cp 0.3
	line apply-new "guard undo of that apply" undo guard apply 1.3
	peak apply-new "peak memory of that apply" guard $count
	wipe "$project/new"
	fresh=$(wiped "$base/state-new")
	set -- env GUARD_HOME="$base/state-new" "$guard"
	measure 3 100 run -p "$fresh" -d "$project" "$@" run -q -- \
		sh -c "cp -a $base/source new && $empty/payload" ';;' \
		snapshot -p "$fresh" -d "$base/source" "$@" snapshot -q -m bench
	peak apply-new "peak memory of a run that makes them" run $count
	fact apply-new "the run's end beside a snapshot of them" \
		"$(awk -v all="$(value_of run 3)" -v command="$(value_of run 6)" \
			-v snapshot="$(value_of snapshot 3)" \
			'BEGIN { print (all - command) / snapshot }')" times 1.3
	wipe "$base/state-new"
	wipe "$base/copy"
	wipe "$base/moved"
	wipe "$base/overlay"
	wipe "$base/source"
	wipe "$project"
}

row_apply_few() {
	have_state
	settle
	(cd "$tree" && find . -type f -size -40) | sort >"$base/all"
	# Other files in each round: files that were changed by the previous
	# round a short time ago would be read again, unlike ordinary files.
	echo 0 >"$base/round"
	others="r=\$((\$(cat $base/round) + 1)); echo \$r >$base/round
		awk -v n=$(($(wc -l <"$base/all") / 100)) -v r=\$r \
			'NR % n == r % n' $base/all >$base/some"
	sh -c "$others"
	edit="while read -r f; do echo x >>\"\$f\"; done <$base/some"
	again="cd '$tree'; '$guard' discard -q -y >/dev/null 2>&1; $others
		'$guard' run -q -- sh -c '$edit'; sync -f $base"
	empty_copy="$(wiped "$base/copy"); mkdir $base/copy; sync -f $base"
	set -- cp -p "$empty_copy" -d "$tree" \
		sh -c "xargs cp -a --parents -t $base/copy <$base/some &&
			sync -f $base" ';;' \
		guard -d "$tree" -p "$again" "$guard" apply -q -y
	! have rsync || set -- "$@" ';;' rsync -p "$empty_copy" -d "$tree" \
		sh -c "rsync -a --files-from=$base/some . $base/copy &&
			sync -f $base"
	! have git || set -- "$@" ';;' git -d "$tree" \
		-p "$again; '$guard' patch >$base/patch" \
		sh -c "git apply $base/patch && sync -f $base"
	measure 5 120 -w 1 "$@"
	line apply-few "cp of 100 files, synced" cp
	line apply-few "rsync -a of them, synced" rsync cp cp
	line apply-few "git apply of them, synced" git cp cp
	line apply-few "guard apply of 100 among all" guard cp cp 2
	wipe "$base/copy"
	rm -f "$base/patch" "$base/round"
}

# live_run DIR COMMAND: a run in the directory, which has executed the command
# and goes on.
live_run() {
	mkdir "$base/gate"
	(cd "$1" && exec "$guard" run -q --rw "$base/gate" -- sh -c \
		"$2; : >$base/gate/done; exec sleep 1000") >/dev/null 2>&1 &
	while [ ! -e "$base/gate/done" ]; do
		sleep 0.5
	done
	wipe "$base/gate"
}

row_rewind() {
	project=$base/project
	mkdir -p "$project"
	"$bin/maketree" -p "$project/tree" 1000
	live_run "$project" \
		'find tree -type f | while read -r f; do echo x >>"$f"; done'
	measure 5 60 -w 1 cp -p "$(wiped "$base/copy")" \
		cp -a "$project/tree" "$base/copy" ';;' \
		rewind -d "$project" \
		-p "'$guard' undo -q -y 1 >/dev/null 2>&1; sleep 1" \
		"$guard" rewind -q -y --to start
	line rewind "cp -a of 1,000 files" cp
	line rewind "guard rewind of them in a live run" rewind cp cp 1.5
	(cd "$project" && "$guard" stop -t 0 && "$guard" discard -q -y) \
		>/dev/null 2>&1
	wipe "$base/copy"
	wipe "$project"
	have_state
	settle
	live_run "$tree" 'f=$(find . -type f | head -n 1); echo x >>"$f"'
	measure 5 60 -w 1 one -d "$tree" \
		-p "'$guard' undo -q -y 1 >/dev/null 2>&1; sleep 1" \
		"$guard" rewind -q -y --to start
	fact rewind "guard rewind of one file among all" \
		"$(value_of one 3)" ms 100
	(cd "$tree" && "$guard" stop -t 0 && "$guard" discard -q -y) \
		>/dev/null 2>&1
}

# kept_lines VERB...
kept_lines() {
	for name in "$@"; do
		line kept "guard $name, in a fresh state" "$name-fresh"
		line kept "  with $count pending runs" "$name-kept" \
			"$name-fresh" fresh 1.1
	done
}

# The same small commands in a fresh state, and in one with many pending runs in
# another directory, many snapshots, and as many packs as runs leave between two
# prunes.
row_kept() {
	count=1000 more=4000
	[ -z "$quick" ] || count=50 more=50
	for name in fresh kept; do
		project=$base/$name/project
		mkdir -p "$project" "$base/$name/small" "$base/$name/beside"
		"$bin/maketree" -p "$project/tree" 100
		(
			[ $name = kept ] || count=1 more=1
			GUARD_HOME=$base/$name/state
			export GUARD_HOME
			cd "$base/$name/small"
			"$guard" run -q -- sh -c 'echo x >file'
			cd "$project"
			i=0
			while [ $i -lt $more ]; do
				echo $((i % 2)) | tee other >../beside/other
				"$guard" snapshot -q . ../beside
				i=$((i + 1))
			done
			"$guard" prune -q -y --keep-last $((2 * more))
			cd ../beside
			i=0
			while [ $i -lt $count ]; do
				"$guard" run -q -- sh -c "echo $i >file-$i"
				i=$((i + 1))
			done
		) >/dev/null 2>&1
	done
	# Apart: what a run leaves to the background lasts into the next command.
	set --
	for name in fresh kept; do
		set -- "$@" ${1:+';;'} "run-$name" -d "$base/$name/project" \
			env GUARD_HOME="$base/$name/state" "$guard" run -q -- true
	done
	measure 41 30 -w 1 "$@"
	kept_lines run
	set --
	for name in fresh kept; do
		set -- "$@" ${1:+';;'} "status-$name" -d "$base/$name/project" \
			env GUARD_HOME="$base/$name/state" "$guard" status
		set -- "$@" ';;' "diff-$name" -d "$base/$name/small" \
			env GUARD_HOME="$base/$name/state" "$guard" diff
		set -- "$@" ';;' "log-$name" -d "$base/$name/project" \
			env GUARD_HOME="$base/$name/state" "$guard" log tree
	done
	measure 41 60 -w 1 "$@"
	kept_lines status diff log
	wipe "$base/fresh"
	wipe "$base/kept"
}

# pairs TEXT LIMIT SCRIPT [BEFORE]: the median of ratios of the number that a
# command of Python prints, in a run and outside.
pairs() {
	text=$1 limit=$2 script=$3 before=${4:-:}
	n=7
	[ -z "$quick" ] || n=2
	while [ $n -gt 0 ]; do
		n=$((n - 1))
		sh -c "$before" && sync -f .
		outside=$(python3 -c "$script")
		sh -c "$before" && sync -f .
		inside=$("$guard" run -q -- python3 -c "$script" 2>/dev/null)
		"$guard" discard -q -y >/dev/null 2>&1
		echo "$outside $inside"
	done | awk '{ print $2 / $1 }' | sort -n >"$base/ratios"
	fact durable "$text" "$(awk '{ r[NR] = $1 }
		END { print r[int((NR + 1) / 2)] }' "$base/ratios")" times \
		"$limit"
}

# Programs that wait for the disk, in a run and outside, and one beside a run.
row_durable() {
	have python3 || { skip durable "no python3"; return; }
	mkdir "$base/durable" "$base/durable/old"
	cd "$base/durable" || return
	for i in $(seq 300); do seq 200 >"old/$i"; done
	pairs "appending to 300 old files, in a run" 10 'import time
t = time.monotonic()
for i in range(1, 301):
	with open(f"old/{i}", "a") as f: f.write("line\n")
print(time.monotonic() - t)'
	pairs "200 transactions of SQLite, in a run" 0.3 'import sqlite3, time
c = sqlite3.connect("x.db"); c.execute("create table t(a)"); c.commit()
t = time.monotonic()
for i in range(200):
	c.execute("insert into t values(?)", (i,)); c.commit()
print(time.monotonic() - t)' 'rm -f x.db*'
	# The same work beside it, in a run and outside: the difference is the
	# sync every ten seconds.
	work='import os, random, time
end = time.monotonic() + 25
while time.monotonic() < end:
	with open(f"f{random.randrange(200)}", "wb") as f: f.write(os.urandom(20000))
	time.sleep(0.01)'
	for n in 1 2 3 4 5; do
		[ -z "$quick" ] || [ $n -lt 2 ] || break
		for how in "$guard run -q --" ''; do
			sync -f .
			# shellcheck disable=SC2086 # words
			$how python3 -c "$work" &
			python3 -c 'import os, time
f = os.open("../beside", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
end = time.monotonic() + 22; n = 0
while time.monotonic() < end:
	os.write(f, b"x" * 4096); os.fsync(f); n += 1; time.sleep(0.002)
print(n)'
			wait $!
			"$guard" discard -q -y >/dev/null 2>&1 || :
			rm -f ../beside f*
		done | tr '\n' ' '
		echo
	done | awk 'NF > 1 { print $2 / $1 }' | sort -n >"$base/ratios"
	fact durable "writes and fsync beside a run, time" "$(awk '{ r[NR] = $1 }
		END { print r[int((NR + 1) / 2)] }' "$base/ratios")" times 1.1
	cd "$base" || return
	wipe "$base/durable"
}
