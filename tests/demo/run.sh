#!/bin/sh
# make demo: guard on a project that gets wrecked, every step checked.
#
#	make all tools && GUARD=build/guard tests/demo/run.sh
#
# As root: once as root, once as a plain user; else as the user who calls. All
# of it happens in throw-away roots (tests/lib/root.c) on the disk of the
# build folder, or of $TMPDIR; inside.sh does the work there.
set -eu

checkout=$(realpath "$(dirname "$0")/../..")
guard=$(realpath "${GUARD:-build/guard}")
root=$(dirname "$guard")/tests/lib/root
case $guard in
"$checkout"/*) inside=/opt/guard/${guard#"$checkout/"} ;;
*)
	echo "demo: $guard does not lie in $checkout" >&2
	exit 1
	;;
esac
for program in "$guard" "$root"; do
	[ -x "$program" ] || {
		echo "demo: there is no $program: run make all tools" >&2
		exit 1
	}
done

colours=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	colours=colours
fi
users=user
[ "$(id -u)" -ne 0 ] || users='root user'
place=${TMPDIR:-$(dirname "$guard")/demo}
mkdir -p "$place"
for user in $users; do
	"$root" --as "$user" --timeout 120 "$checkout" "$place" -- \
		/opt/guard/tests/demo/inside.sh "$inside" "$colours" || {
		status=$?
		echo "demo: FAILED as $user (status $status)" >&2
		exit 1
	}
done
