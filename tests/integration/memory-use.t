#!/bin/sh
# A run that creates many files, or a huge one: guard needs little memory, and
# little more for each file.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

peak=/opt/guard/build/tests/lib/peak
few=2000
many=14000
# The bytes for each file that run, status and diff may need. 32 of them are for
# the names that differ by case, while they are sorted; about 100 for the changes
# that one thread found while another was still at an earlier part of the layer,
# which depends on the processor, and 50 for the pages that differ between two
# processes.
most=360
cat >"$T/make" <<'END'
i=0
while [ $i -lt "$1" ]; do
	mkdir -p "folder-$i"
	seq -f "folder-$i/a-file-of-the-run-%06.0f" 1000 | xargs touch
	i=$((i + 1000))
done
END

# measure COUNT: peak memory of each verb, in kilobytes, in $T/COUNT.VERB
measure() {
	mkdir -p "$HOME/with-$1"
	cd "$HOME/with-$1" || exit 99
	gives 0 "a run creates $1 files" "$peak" "$T/$1.run" guard run -q \
		--layer-files 1000000 --ro "$T/make" -- sh "$T/make" "$1"
	gives 0 "status accepts $1 files" \
		"$peak" "$T/$1.status" guard status --porcelain
	is "$(cut -f 6 "$out")" "$(($1 + $1 / 1000))" "status counts $1 files"
	gives 0 "diff --name-only accepts $1 files" \
		"$peak" "$T/$1.diff" guard diff --name-only
	is "$(wc -l <"$out")" "$(($1 + $1 / 1000))" \
		"diff --name-only lists $1 files"
	gives 0 "diff accepts $1 files" \
		"$peak" "$T/$1.text" guard diff --no-pager
	gives 0 "discard accepts $1 files" \
		"$peak" "$T/$1.discard" guard discard -q -y
}

measure $few
measure $many
for verb in run status diff text discard; do
	less=$(cat "$T/$few.$verb")
	more=$(cat "$T/$many.$verb")
	each=$(((more - less) * 1024 / (many - few)))
	note "$verb: $less KB, then $more KB: $each bytes a file"
	# It stores the timeline, which has each file: 150 bytes and a path.
	[ "$verb" != discard ] || most=$((most + 500))
	ok "$verb needs at most $most bytes for each file" \
		test "$each" -le "$most"
done

mkdir -p "$HOME/huge"
cd "$HOME/huge" || exit 99
gives 0 'a run creates a file of 100 GB' "$peak" "$T/huge.run" guard run -q -- \
	sh -c 'truncate -s 100G f && printf x |
	dd of=f bs=1 seek=50000000000 conv=notrunc 2>/dev/null'
gives 0 'diff accepts a file of 100 GB' "$peak" "$T/huge.diff" guard diff
says "$out" '107 GB'
gives 0 'discard accepts a file of 100 GB' \
	"$peak" "$T/huge.discard" guard discard -q -y
for verb in run diff discard; do
	ok "$verb of a file of 100 GB needs less than 64 MB" \
		test "$(cat "$T/huge.$verb")" -lt 65536
done
finish
