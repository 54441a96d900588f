# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables of run.sh and table.sh
# The rows of runs: start, work inside, applying. Sourced by run.sh.

# measure_runs COMMAND: bare, in bwrap and in guard, in both folders.
measure_runs() {
	payload=$1
	set --
	for folder in empty tree; do
		path=$base/empty
		[ $folder = empty ] || path=$tree
		[ $# -eq 0 ] || set -- "$@" ';;'
		set -- "$@" "bare-$folder" -d "$path" "$payload"
		! have bwrap || set -- "$@" ';;' "bwrap-$folder" -d "$path" \
			bwrap --unshare-all --share-net --ro-bind / / \
			--dev /dev --proc /proc --tmpfs /tmp --tmpfs /run \
			--die-with-parent "$payload"
		set -- "$@" ';;' "guard-$folder" -d "$path" \
			"$guard" run -q -- "$payload"
	done
	measure 41 45 -w 1 "$@"
}

row_start() {
	measure_runs ./payload
	FIELD=6
	line start "fork and exec, to the first line" bare-tree
	line start "bwrap, all namespaces but net" bwrap-tree
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
	line wall "guard run -- true, in the tree" guard-tree bwrap-tree bwrap
	FIELD=7
	line wall "  its last process gone after" guard-tree bare-tree exec
	unset FIELD
}

# bare_overlay LOWER: mounts one over it at $base/over, where we may.
bare_overlay() {
	mkdir -p "$base/up" "$base/work" "$base/over"
	mount -t overlay overlay \
		-o "lowerdir=$1,upperdir=$base/up,workdir=$base/work" \
		"$base/over" 2>/dev/null
}

drop_overlay() {
	umount "$base/over" 2>/dev/null || :
	wipe "$base/up"
	wipe "$base/work"
	wipe "$base/over"
}

# inside ROW FOLDER WHAT COMMAND: outside, in a bare overlay, in a run.
inside() {
	row=$1
	folder=$2
	what=$3
	command=$4
	discard="cd '$folder' && '$guard' discard -q -y >/dev/null 2>&1 || :"
	set -- outside -d "$folder" sh -c "$command"
	bare_overlay "$folder" && set -- "$@" ';;' \
		overlay -d "$base/over" sh -c "$command"
	set -- "$@" ';;' guard -p "$discard" -d "$folder" \
		"$guard" run -q -- sh -c "$command"
	measure 5 60 -w 1 "$@"
	line "$row" "$what, outside" outside
	line "$row" "  on a bare overlay" overlay outside out
	line "$row" "  in guard run, with its start and end" guard outside out
	drop_overlay
	sh -c "$discard"
}

row_make() {
	have make || { skip make "no make"; return; }
	mkdir -p "$base/build"
	i=0
	while [ $i -lt 40 ]; do
		printf '#include <stdio.h>\n#include <stdlib.h>\n%s\n' \
			"int f$i(int a) { return printf(\"%d\", a) + $i; }" \
			>"$base/build/f$i.c"
		i=$((i + 1))
	done
	cat >"$base/build/Makefile" <<-END
	all: \$(patsubst %.c,%.o,\$(wildcard *.c))
	END
	inside make "$base/build" "make -j2 of 40 files" \
		"rm -f ./*.o; make -s -j2 CC=${CC:-cc} CFLAGS=-O2"
	wipe "$base/build"
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
	measure 3 150 "$@"
	line apply-new "cp -a of $count new files, synced" cp
	line apply-new "mv of them, synced" mv cp cp
	line apply-new "rsync -a of them, synced" rsync cp cp
	line apply-new "try commit of them, synced" try cp cp
	line apply-new "guard apply of them" guard cp cp 0.3
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
	awk -v n="$(($(wc -l <"$base/all") / 100))" 'NR % n == 0' \
		"$base/all" >"$base/some"
	edit="while read -r f; do echo x >>\"\$f\"; done <$base/some"
	again="cd '$tree'; '$guard' discard -q -y >/dev/null 2>&1
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
	rm -f "$base/patch"
}
