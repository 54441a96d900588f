#!/bin/sh
# The demo as a test, so that what the README names first cannot break unseen:
# one line of TAP for each comparison that the demo itself calls ok.
#
#	GUARD=build/guard demo.t
set -u

{
	"${0%/*}/run.sh" 2>&1
	echo "status $?"
} | awk '
	/^   ok: / { print "ok " ++n " - " substr($0, 8); next }
	/^status [0-9]+$/ { status = $2; next }
	{ print "# " $0 }
	END {
		print (status == "0" ? "ok " : "not ok ") ++n \
			" - the demo holds to its end"
		print "1.." n
	}'
