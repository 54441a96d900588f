# shellcheck shell=sh
# A run that executes one line after the other, with a look at its layer in
# between. Sourced behind tap.sh.
#
#	begin OPTION...		starts it: $run is its process, $told its
#				directory; $under comes before guard
#	tell LINE		it executes the line
#	held PATH...		waits until guard holds these files of the layer:
#				their contents are kept, whatever comes
#	end			it ends
# shellcheck disable=SC2154 # variables of tap.sh

under=

begin() {
	rm -f "$T/go" "$T/done"
	mkfifo "$T/go" "$T/done"
	# shellcheck disable=SC2016 # the run's own
	$under guard run "$@" -- sh -c 'echo "$GUARD_RUN"
	while read -r line; do
		eval "$line"
		echo done
	done' <"$T/go" >"$T/done" 2>"$T/run.err" &
	run=$!
	exec 5>"$T/go" 6<"$T/done"
	read -r told <&6
	told=$state/runs/$told
}

tell() {
	echo "$1" >&5
	read -r said <&6
	[ "$said" = "done" ] || flunk "the run executes: $1"
}

held() {
	for path; do
		until inode=$(stat -c %i "$told/upper/$path" 2>/dev/null) &&
			grep -q "LEASE .*:$inode " /proc/locks; do
			kill -0 $run || return 1
			sleep 0.02
		done
	done
}

end() {
	exec 5>&- 6<&-
	wait $run
}
