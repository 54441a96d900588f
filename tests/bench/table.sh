# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of run.sh
# The table of the bench: measuring, lines, verdicts. Sourced by run.sh.
#
# A line is a median of rounds; with a floor that was measured in the same
# rounds it has a ratio, with a target a verdict. Ratios are of times: below 1
# is faster than the floor.

table_begin() {
	printf '%-14s %-42s %9s %15s %8s %11s %8s %7s\n' ROW WHAT MEDIAN \
		LEAST-MOST 'CPU s' RATIO TARGET VERDICT
}

# measure ROUNDS SECONDS ARGS: measure.c's lines into $results; no new round
# after so many seconds.
measure() {
	rounds=$1
	seconds=$2
	shift 2
	[ -z "$quick" ] || { [ "$rounds" -lt 5 ] && rounds=2; } || rounds=5
	"$bin/measure" -n "$rounds" -b "$seconds" "$@" >"$results"
}

# line ROW TEXT KEY [FLOOR LABEL [TARGET]]: a row of the last measurement.
# FIELD: 3 wall time, 6 until the printed time, 7 until the last process had
# ended.
line() {
	awk -F '\t' -v row="$1" -v text="$2" -v key="$3" -v floor="${4:-}" \
		-v label="${5:-}" -v target="${6:-}" -v field="${FIELD:-3}" '
	function unit(ms) {
		if (ms < 1000)
			return sprintf("%.2f ms", ms)
		return sprintf("%.2f s", ms / 1000)
	}
	{ value[$1] = $field; least[$1] = $4; most[$1] = $5; cpu[$1] = $9 }
	END {
		if (!(key in value) || (floor != "" && !(floor in value)))
			exit 0
		span = ""
		if (field == 3)
			span = sprintf("%.4g-%.4g", least[key] / 1000,
				most[key] / 1000)
		ratio = verdict = limit = ""
		if (value[floor] > 0) {
			times = value[key] / value[floor]
			ratio = sprintf("%.2f %s", times, label)
		}
		if (ratio != "" && target != "") {
			limit = "<= " target
			verdict = times <= target ? "ok" : "MISSED"
		}
		printf "%-14s %-42s %9s %15s %8.2f %11s %8s %7s\n", row, text,
			unit(value[key]), span, cpu[key] / 1000, ratio, limit,
			verdict
		exit verdict == "MISSED" ? 3 : 0
	}' "$results" || missed=$((missed + 1))
}

# value_of KEY FIELD: a value of the last measurement
value_of() {
	awk -F '\t' -v key="$1" -v field="$2" \
		'$1 == key { print $field }' "$results"
}

# fact ROW TEXT VALUE UNIT [LIMIT]: a number other than a time
fact() {
	awk -v row="$1" -v text="$2" -v value="$3" -v unit="$4" \
		-v limit="${5:-}" 'BEGIN {
		verdict = ""
		if (limit != "")
			verdict = value + 0 <= limit + 0 ? "ok" : "MISSED"
		printf "%-14s %-42s %9s %15s %8s %11s %8s %7s\n", row, text,
			sprintf("%.4g", value) " " unit, "", "", "",
			limit == "" ? "" : sprintf("<= %.4g", limit), verdict
		exit verdict == "MISSED" ? 3 : 0
	}' || missed=$((missed + 1))
}

# peak ROW TEXT KEY FILES: memory, with its limit for so many files
peak() {
	fact "$1" "$2" "$(($(value_of "$3" 8) / 1024))" MB \
		"$(awk -v n="$4" 'BEGIN { print 64 + n * 150 / 1e6 }')"
}

skip() {
	printf '%-14s not measured: %s\n' "$1" "$2"
}

table_end() {
	echo
	echo "$missed targets missed."
}
