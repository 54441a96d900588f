#!/bin/sh
# as.sh FILESYSTEM ID COMMAND...: as the owner of the image's files.
fs=$1 id=$2
shift 2
[ "$fs" = ext4 ] || exec "$@"
exec setpriv --reuid="$id" --regid="$id" --clear-groups "$@"
