# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # variables of run.sh and table.sh
# The rows of backups. Sourced by run.sh; store.sh has wiped() and have_state().

copies() {
	copies=$base/copies
	secret=$base/secret
	echo 'bench of backups' >"$secret"
	backup="'$guard' backup -q -y >/dev/null --passphrase-file '$secret'"
}

# new_copies: a command that prepares a first backup, for measure's -p
new_copies() {
	echo "'$guard' backup --forget '$copies' >/dev/null 2>&1
		$(wiped "$copies"); mkdir '$copies'; sync -f $base"
}

have_copies() {
	copies
	have_state
	[ -d "$copies" ] || sh -c "$(new_copies); $backup '$copies'"
}

copied_files() {
	find "$copies" -type f | wc -l
}

copied_bytes() {
	find "$copies" -type f -printf '%s\n' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

row_backup() {
	copies
	seals="tar -cf - . | zstd -q -1 -T2 | $bin/seal $base/z"
	set -- guard -p "$(wiped "$GUARD_HOME"); $(new_copies)" \
		sh -c "'$guard' snapshot -q -m bench >/dev/null && $backup '$copies'" \
		';;' stored -p "$(new_copies)" sh -c "$backup '$copies'"
	[ ! -x "$bin/seal" ] || set -- Z -p "rm -f $base/z; sync -f $base" \
		sh -c "$seals" ';;' "$@"
	! have restic || set -- "$@" ';;' restic \
		-p "$(wiped "$base/restic"); rm -rf '$HOME/.cache';
		restic -q init -r $base/restic; sync -f $base" \
		restic -q -r "$base/restic" backup .
	(cd "$tree" && measure 3 150 "$@")
	line backup "Z: tar | zstd -1 -T2 | the same seal, synced" Z
	line backup "guard snapshot and first backup, synced" guard Z Z 1.2
	line backup "  the backup alone" stored Z Z
	line backup "restic backup" restic
	line backup "  guard / restic" guard restic restic 0.5
	fact backup "size of the copy" "$(($(copied_bytes) >> 20))" MB
	fact backup "files of the copy" "$(copied_files)" files
	rm -f "$base/z"
}

row_backup_again() {
	have_copies
	touch "$base/stamp"
	(cd "$tree" && measure 21 30 -w 2 \
		status sh -c "'$guard' status >/dev/null" ';;' \
		nothing sh -c "'$guard' backup -q -y '$copies' >/dev/null")
	line backup-again "guard status" status
	line backup-again "guard backup, nothing new" nothing status status 3
	fact backup-again "  entries written in the copy" \
		"$(find "$copies" -newer "$base/stamp" | wc -l)" "" 0
	before=$(copied_files)
	name=$(find "$tree" -type f -size +0 | head -n 1)
	echo x >>"$name"
	(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null && sh -c "$backup '$copies'")
	fact backup-again "files of a backup, one file changed" \
		"$(($(copied_files) - before))" files 3
	before=$(copied_files)
	for i in $(seq 100); do
		echo "$i" >>"$name"
		(cd "$tree" && "$guard" snapshot -q -m bench >/dev/null)
	done
	sh -c "$backup '$copies'"
	fact backup-again "files of a backup of 100 snapshots" \
		"$(($(copied_files) - before))" files 10
	made=$(date +%s)
}

# Versions of a month ago, which a prune may remove, and three of now, which
# none may.
row_backup_prune() {
	copies
	copies=$base/copies-pruned
	GUARD_HOME=$base/state-pruned
	mkdir "$copies"
	find "$tree" -type f -size +0 >"$base/names"
	for i in $(seq 10); do
		awk -v i="$i" 'NR % 20 == i' "$base/names" |
			while read -r name; do echo "$i" >>"$name"; done
		days=-30
		[ "$i" -le 7 ] || days=0
		(cd "$tree" && CLOCK_DAYS=$days LD_PRELOAD=$bin/clock.so \
			"$guard" snapshot -q -m bench >/dev/null)
		sh -c "$backup '$copies'"
	done
	sed -i 's/^until=.*/until=0/' "$GUARD_HOME/clock"
	before=$(copied_bytes)
	"$guard" prune -q -y --keep-last 1 >/dev/null
	sh -c "$backup '$copies'"
	fact backup-prune "bytes sent again after a prune" \
		"$(awk -v a="$(copied_bytes)" -v b="$before" \
			'BEGIN { print (a - b) / b * 100 }')" % 5
	wipe "$GUARD_HOME"
	wipe "$copies"
	made=$(date +%s)
}

row_recover() {
	have_copies
	sh -c "$backup '$copies'"
	have restic || { skip recover "no restic"; return; }
	[ -d "$base/restic" ] || {
		restic -q init -r "$base/restic"
		(cd "$tree" && restic -q -r "$base/restic" backup .)
	}
	gone="$(wiped "$base/state-new"); $(wiped "$base/to"); sync -f $base"
	(cd "$tree" && measure 3 150 \
		guard -p "$gone" sh -c "GUARD_HOME=$base/state-new
			export GUARD_HOME
			'$guard' recover -q --passphrase-file '$secret' '$copies' &&
			'$guard' restore -q -y --at latest --to $base/to . &&
			sync -f $base" ';;' \
		restic -p "$gone" sh -c "restic -q -r $base/restic restore latest \
			--target $base/to && sync -f $base")
	line recover "restic restore, synced" restic
	line recover "guard recover and restore, synced" guard restic restic 0.7
	wipe "$base/state-new"
	wipe "$base/to"
	wipe "$copies"
}
