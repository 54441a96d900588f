#!/bin/sh
# make demo: guard on a project that gets wrecked, every step checked.
#
#	make all tools && GUARD=build/guard tests/demo/run.sh
#
# As root: once as root, once as a plain user; else as the calling user.
# Everything happens in throw-away roots (tests/lib/root.c) on the disk of the
# build directory, or of $TMPDIR; inside.sh does the work there.
set -eu

guard=$(realpath "${GUARD:-build/guard}")
root=$(dirname "$guard")/tests/lib/root
for program in "$guard" "$root"; do
	[ -x "$program" ] || {
		echo "demo: there is no $program: run make all tools" >&2
		exit 1
	}
done

colors=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	colors=colors
fi
users=user
[ "$(id -u)" -ne 0 ] || users='root user'
place=${TMPDIR:-$(dirname "$guard")/demo}
mkdir -p "$place"

# The content of /opt/guard in the throw-away root: only the needed files, and
# readable by its plain user whatever the modes of this checkout are.
stage=$(mktemp -d "$place/stage.XXXXXX")
clean_up() {
	rm -f "$stage/guard" "$stage/inside.sh" "$stage/demo.sh"
	rmdir "$stage"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
install -m 755 "$guard" "$stage/guard"
install -m 755 "$(dirname "$0")/inside.sh" \
	"$(dirname "$0")/../../guard/cli/demo.sh" "$stage"
chmod 755 "$stage"

for user in $users; do
	status=0
	"$root" --as "$user" --timeout 120 "$stage" "$place" -- \
		/opt/guard/inside.sh /opt/guard/guard "$colors" || status=$?
	[ $status -eq 0 ] || {
		echo "demo: FAILED as $user (status $status)" >&2
		exit 1
	}
done
