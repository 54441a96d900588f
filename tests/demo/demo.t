#!/bin/sh
# The demo as a test, so that the first command in the README cannot break
# unseen: one line of TAP for each comparison that the demo itself calls ok, and
# one for the sample in the README: the demo must print each of its lines.
#
#	GUARD=build/guard demo.t
set -u

{
	"${0%/*}/run.sh" 2>&1
	echo "status $?"
} | awk -v readme="${0%/*}/../../README.md" '
	# Removes the parts that differ each time: a snapshot may come after one
	# with the versions during a run, the number of directories
	# with git objects depends on their hashes, and those on the time of the
	# commits.
	function plain(line) {
		gsub(/[0-9]+-[0-9]+-[0-9]+ [0-9:]+/, "TIME", line)
		gsub(/[a-z][0-9a-z][0-9a-z][0-9a-z]-[0-9a-z][0-9a-z][0-9a-z][0-9a-z][0-9a-z][0-9a-z]/, "RUN", line)
		sub(/snapshot [0-9]+/, "snapshot N", line)
		gsub(/\/home\/tester|\/root/, "~", line)
		sub(/[0-9]+ in \.git/, "N in .git", line)
		sub(/^[~\/][^ ]* \$ /, "$ ", line)
		sub(/  +# .*/, "", line)
		return line
	}
	BEGIN {
		while ((getline line < readme) > 0)
			if (line ~ /^```/) {
				if (block++)
					break
			} else if (block && line != "" && line != "  ...") {
				wanted[plain(line)] = 1
				samples++
			}
	}
	{ delete wanted[plain($0)] }
	/^   ok: / { print "ok " ++n " - " substr($0, 8); next }
	/^status [0-9]+$/ { status = $2; next }
	{ print "# " $0 }
	END {
		missing = ""
		for (line in wanted)
			missing = missing "\n# not printed: " line
		print (samples && missing == "" ? "ok " : "not ok ") ++n \
			" - the sample in the README is what it prints" missing
		print (status == "0" ? "ok " : "not ok ") ++n \
			" - the demo holds to its end"
		print "1.." n
	}'
