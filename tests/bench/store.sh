# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables of run.sh and table.sh
# The rows of the store: snapshots, restores, reading. Sourced by run.sh, which
# has set tree (and tree_key, a short word for it), base, bin, guard, quick.
# Every row can be run alone: it makes the data that it needs of other rows.

# Commands for measure's -p, and their parts.
cold="sync; echo 3 >/proc/sys/vm/drop_caches"

can_drop() {
	[ "$(id -u)" -eq 0 ] && [ -w /proc/sys/vm/drop_caches ]
}

wiped() {
	echo "'$here/run.sh' --wipe '$1'"
}

state_of() {
	GUARD_HOME=$base/state-$tree_key
	export GUARD_HOME
}

with_peers() {
	[ "$tree_key" = linux ] && [ -z "$quick" ]
}

have_state() {
	[ -d "$GUARD_HOME/store" ] ||
		(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null)
}

mb() {
	du -sm "$1" | cut -f 1
}

# ---- snapshots ----

floor_tar() {
	echo "tar -cf - . | zstd -q -1 -T2 >$base/z && sync $base/z"
}

# The other tools take a minute a round: one round is enough for the comparison.
row_first_peers() {
	then="sync -f $base"
	set -- guard -p "$(wiped "$GUARD_HOME"); $then" \
		"$guard" snapshot -q -m bench
	if have git; then
		set -- "$@" ';;' git \
			-p "$(wiped "$base/git"); git init -q --bare $base/git; $then" \
			git --git-dir="$base/git" --work-tree=. add -A -f .
	fi
	if have restic; then
		set -- "$@" ';;' restic \
			-p "$(wiped "$base/restic"); rm -rf '$HOME/.cache';
			restic -q init -r $base/restic; $then" \
			restic -q -r "$base/restic" backup .
	fi
	if have borg; then
		set -- "$@" ';;' borg \
			-p "$(wiped "$base/borg"); rm -rf '$HOME/.cache';
			borg init -e none $base/borg; $then" \
			borg create "$base/borg::a" .
	fi
	(cd "$tree" && measure 1 60 "$@")
	line first "git add -A -f (not synced)" git
	line first "  guard / git" guard git git 0.25
	line first "restic backup" restic
	line first "  guard / restic" guard restic restic 0.25
	line first "borg create" borg
	line first "  guard / borg" guard borg borg 0.25
	for peer in git restic borg; do
		[ ! -d "$base/$peer" ] ||
			fact first "$peer's store" "$(mb "$base/$peer")" MB
	done
}

row_first() {
	then="sync -f $base"
	(cd "$tree" && measure 5 90 \
		Z -p "rm -f $base/z; $then" sh -c "$(floor_tar)" ';;' \
		guard -p "$(wiped "$GUARD_HOME"); $then" \
		"$guard" snapshot -q -m bench)
	line first "Z: tar | zstd -1 -T2, synced" Z
	line first "guard snapshot, synced" guard Z Z 0.70
	z_mb=$(mb "$base/z")
	fact first "Z's file" "$z_mb" MB
	fact first "guard's store" "$(mb "$GUARD_HOME/store")" MB \
		"$(awk -v z="$z_mb" 'BEGIN { print z * 1.1 }')"
	peak first "guard's peak memory" guard "$(find "$tree" | wc -l)"
	rm -f "$base/z"
	! with_peers || row_first_peers
	wipe "$base/git"
}

row_first_cold() {
	can_drop || { skip first-cold "needs root"; return; }
	(cd "$tree" && measure 3 150 \
		Z -p "rm -f $base/z; $cold" sh -c "$(floor_tar)" ';;' \
		guard -p "$(wiped "$GUARD_HOME"); $cold" \
		"$guard" snapshot -q -m bench)
	line first-cold "Z: tar | zstd -1 -T2, synced" Z
	line first-cold "guard snapshot, synced" guard Z Z 0.55
	rm -f "$base/z"
}

row_readers() {
	can_drop || { skip readers "needs root"; return; }
	[ -x "$bin/readers" ] || { skip readers "not built"; return; }
	set --
	for way in plain many ahead ring; do
		set -- "$@" $way -p "$cold" "$bin/readers" $way "$tree" ';;'
	done
	measure 3 120 "$@"
	FIELD=6
	line readers "two threads, plain calls, cold" plain
	line readers "sixteen threads" many
	line readers "two threads, one that asks ahead" ahead
	line readers "two rings of io_uring" ring plain plain 0.74
	best=$(awk -F '\t' '$1 != "ring" && (!best || $6 < best) {
		best = $6; name = $1 } END { print name }' "$results")
	line readers "  beside the best of the others" ring "$best" "$best" 1.0
	unset FIELD
}

row_unchanged() {
	have_state
	settle
	(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null &&
		measure 9 45 -w 1 \
		F sh -c "find . -printf '%s %T@ %i\n' >/dev/null" ';;' \
		guard "$guard" snapshot -q -m bench)
	line unchanged "F: find -printf size, mtime, inode" F
	line unchanged "guard snapshot" guard F F 0.7
	can_drop || return 0
	(cd "$tree" && measure 5 90 \
		F -p "$cold" sh -c "find . -printf '%s %T@ %i\n' >/dev/null" \
		';;' guard -p "$cold" "$guard" snapshot -q -m bench)
	line unchanged "F, cold" F
	line unchanged "guard snapshot, cold" guard F F 0.7
	with_peers || return 0
	set --
	! have restic || [ ! -d "$base/restic" ] || set -- restic \
		restic -q -r "$base/restic" backup . ';;'
	! have borg || [ ! -d "$base/borg" ] || set -- "$@" borg -p \
		"borg delete $base/borg::b || :" borg create "$base/borg::b" . ';;'
	[ $# -gt 0 ] || return 0
	(cd "$tree" && measure 1 60 \
		guard "$guard" snapshot -q -m bench ';;' "$@")
	line unchanged "restic backup" restic
	line unchanged "  guard / restic" guard restic restic
	line unchanged "borg create" borg
	line unchanged "  guard / borg" guard borg borg
}

row_changed() {
	have_state
	settle
	find "$tree" -type f -size +0 | awk 'NR % 100 == 7' >"$base/some"
	edit="while read -r f; do echo x >>\"\$f\"; done <$base/some; sync -f $base"
	(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null && measure 7 90 -w 1 \
		F sh -c "find . -printf '%s %T@ %i\n' >/dev/null" ';;' \
		guard -p "$edit" "$guard" snapshot -q -m bench)
	line changed "F: find -printf size, mtime, inode" F
	line changed "guard, 1 % of the files appended to" guard F F 1.5
}

# ---- restores ----

# On a file system with a journal only: see docs/performance.md.
row_restore() {
	have_state
	to=$base/to
	gone="$(wiped "$to"); sync -f $base"
	(cd "$tree" && measure 3 150 \
		cp -p "$gone" sh -c "cp -a . $to && sync -f $base" ';;' \
		guard -p "$gone" "$guard" restore -q -y --at latest \
		--to "$to" .)
	line restore "cp -a, synced" cp
	line restore "guard restore of all, --to, synced" guard cp cp 0.85
	wipe "$to"
}

row_restore_place() {
	have_state
	away="$(wiped "$tree.old"); $(wiped "$base/to"); mv '$tree' '$tree.old';
		mkdir '$tree'; sync -f $base"
	measure 3 150 \
		cp -d "$base" -p "$(wiped "$base/to"); sync -f $base" \
		sh -c "cp -a $tree $base/to && sync -f $base" ';;' \
		guard -d "$base" -p "$away" \
		sh -c "cd '$tree' && exec '$guard' restore -q -y --at latest ."
	line restore-place "cp -a, synced" cp
	line restore-place "guard restore of all, in place" guard cp cp
	wipe "$base/to"
	wipe "$tree.old"
	made=$(date +%s)
}

row_one_file() {
	have_state
	settle
	(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null)
	have git || { skip one-file "no git"; return; }
	file=$(cd "$tree" && find . -name '*.c' -o -name '*.js' | sort |
		awk '{ all[NR] = $0 } END { print substr(all[int(NR / 2)], 3) }')
	if [ ! -d "$base/blobs" ]; then
		git init -q --bare "$base/blobs"
		(cd "$tree" && git --git-dir="$base/blobs" --work-tree=. \
			add -f "$(dirname "$file")")
		git --git-dir="$base/blobs" gc -q
	fi
	(cd "$tree" && measure 41 30 -w 2 \
		git git --git-dir="$base/blobs" cat-file blob ":$file" ';;' \
		show "$guard" show "latest:$file" ';;' \
		restore -p "rm -rf $base/one" "$guard" restore -q -y \
		--at latest --to "$base/one" "$file" ';;' \
		cp -p "rm -rf $base/one" sh -c "mkdir $base/one &&
			cp -p '$file' $base/one/f && sync $base/one/f $base/one" \
		';;' \
		place -p "echo x >>'$file'" "$guard" restore -q -y \
		--at latest "$file")
	line one-file "git cat-file blob" git
	line one-file "guard show" show git git 1.5
	line one-file "guard restore --to, synced" restore git git 1.5
	line one-file "  floor: cp -p; sync of file and folder" cp git git
	line one-file "  guard restore beside it" restore cp cp
	line one-file "guard restore, all stored before" place git git
	wipe "$base/blobs"
	rm -rf "$base/one"
}

# ---- one long file ----

row_huge() {
	long=$base/long
	mkdir -p "$long"
	GUARD_HOME=$base/state-long
	size=4096
	[ -z "$quick" ] || size=512
	"$bin/maketree" -b "$long/file" $size
	sync -f "$base"
	drop=$cold
	can_drop || drop=true
	flip="printf '%s' \$\$ | dd of=$long/file bs=1 seek=100000001 \
		conv=notrunc 2>/dev/null; sync -f $base; $drop"
	(cd "$long" && measure 2 120 \
		cat -p "$drop" sh -c "cat file >/dev/null" ';;' \
		first -p "$(wiped "$GUARD_HOME"); $drop" \
		"$guard" snapshot -q -m bench)
	line huge "cat of $size MB, cold" cat
	line huge "guard snapshot, the first" first cat cat
	before=$(du -sk "$GUARD_HOME" | cut -f 1)
	(cd "$long" && measure 3 120 \
		cat -p "$drop" sh -c "cat file >/dev/null" ';;' \
		second -p "$flip" "$guard" snapshot -q -m bench)
	line huge "cat of it, cold" cat
	line huge "guard, a few bytes changed" second cat cat 1.43
	after=$(du -sk "$GUARD_HOME" | cut -f 1)
	rounds=$(value_of second 2)
	fact huge "stored for each change" \
		"$(awk -v a="$after" -v b="$before" -v n="$rounds" \
			'BEGIN { print (a - b) / 1024 / n }')" MB 2
	(cd "$long" && measure 5 60 -w 1 \
		cat sh -c "cat file >/dev/null" ';;' \
		second -p "${flip%; "$drop"}" "$guard" snapshot -q -m bench)
	line huge "cat of it, warm" cat
	line huge "guard, a few bytes changed, warm" second cat cat 1.43
	wipe "$GUARD_HOME"
	wipe "$long"
}

# ---- growth ----

# one_of_all DIR COUNT: the memory that one file needs beside all others
one_of_all() {
	(
		cd "$1"
		one=$(find . -type f | head -n 1)
		measure 3 30 -w 1 apply -p "'$guard' run -q -- \
				sh -c 'date +%N >$one'" "$guard" apply -q -y ';;' \
			restore -p "date +%N >$one" "$guard" restore -q -y "$one"
	)
	for verb in apply restore; do
		fact growth "peak memory of $verb, 1 file of $2" \
			"$(($(value_of $verb 8) / 1024))" MB 40
	done
}

row_growth() {
	sizes="10000 100000 1000000"
	[ -z "$quick" ] || sizes="2000 20000"
	inodes=$(df -Pi "$base" | awk 'NR == 2 { print $4 }')
	trees=
	for count in $sizes; do
		[ "$inodes" -gt $((count * 22 / 20)) ] || {
			skip growth "no room for $count files"
			continue
		}
		"$bin/maketree" -t "$base/growth-$count" "$count"
		inodes=$((inodes - count * 22 / 20))
		trees="$trees $count"
	done
	sync -f "$base"
	made=$(date +%s)
	settle
	for count in $trees; do
		GUARD_HOME=$base/state-growth
		n=3
		[ "$count" -lt 1000000 ] || n=1
		(cd "$base/growth-$count" && measure $n 60 \
			"first$count" -p "$(wiped "$GUARD_HOME"); sync -f $base" \
			"$guard" snapshot -q -m bench)
		cat "$results" >>"$base/growths"
		peak growth "peak memory, $count files" "first$count" "$count"
		(cd "$base/growth-$count" && measure 3 30 -w 1 \
			"unchanged$count" "$guard" snapshot -q -m bench)
		cat "$results" >>"$base/growths"
		one_of_all "$base/growth-$count" "$count"
		wipe "$base/growth-$count"
	done
	for kind in first unchanged; do
		least=
		for count in $sizes; do
			each=$(awk -F '\t' -v key="$kind$count" -v n="$count" '
				$1 == key { print $3 * 1000 / n }' "$base/growths")
			[ -n "$each" ] || continue
			[ -n "$least" ] || least=$each
			limit=
			[ "$each" = "$least" ] || limit=$(awk -v l="$least" \
				'BEGIN { print l * 1.5 }')
			fact growth "$kind, a file of $count" "$each" us "$limit"
		done
	done
	rm -f "$base/growths"
	wipe "$GUARD_HOME"
}
