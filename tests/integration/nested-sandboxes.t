#!/bin/sh
# guard run --nested: sandboxes inside work, what is hidden stays so; and guard
# itself in a user namespace that somebody made.
# shellcheck disable=SC2317 # in_namespace is called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir "$HOME/.ssh"
echo key >"$HOME/.ssh/id"

# --- sandboxes inside ---
gives 1 'without --nested there are none' guard run -q -- unshare -Ur true
gives 0 'uid 0 in a namespace of its own' \
	guard run -q --nested -- unshare -Ur id -u
is "$(cat "$out")" 0 'it is that'
gives 0 'with mounts, processes and a network' \
	guard run -q --nested -- unshare -Urmpinf sh -c \
	'mount -t tmpfs t /mnt && touch /mnt/f'
gives 0 'what is hidden cannot be uncovered there' \
	guard run -q --nested -- unshare -Urm sh -c '
	umount ~/.ssh; umount -l ~/.ssh; umount -l ~; umount -l ~/project
	mount --bind ~ /mnt; mount --rbind / /mnt; mount -o remount,rw,bind /
	! cat ~/.ssh/id /mnt/.ssh/id "/mnt/$HOME/.ssh/id" | grep key &&
	! touch /usr/made'
gives 0 'nor the switches of the kernel' \
	guard run -q --nested -- unshare -Urmpf sh -c '
	mount -t proc p /proc; ! true 2>/dev/null >>/proc/sys/kernel/core_pattern'
if needs 'bubblewrap inside of a run' bwrap; then
	gives 0 'bubblewrap' guard run -q --nested -- bwrap --bind / / \
		--dev /dev --unshare-user --unshare-pid --unshare-net sh -c \
		'touch inside && ! cat ~/.ssh/id'
	gives 0 'it writes in the layer' guard diff --name-status
	says "$out" inside
	no 'alone' test -e inside
	guard discard -y -q
	mkdir -p /srv/shared
	chmod 777 /srv/shared
	if [ "$me" = root ]; then
		set -- -C /srv/shared --user tester
	else
		set --
	fi
	gives 0 'bubblewrap with a /proc of its own, for who is not uid 0' \
		guard run -q "$@" --nested -- bwrap --ro-bind / / --dev /dev \
		--proc /proc --unshare-all sh -c \
		'! true 2>/dev/null >>/proc/sys/kernel/core_pattern'
fi

# --- guard as root of a namespace that knows one id ---
mkdir -m 700 "$HOME/state"
in_namespace() {
	GUARD_HOME=$HOME/state unshare -Ur "$@"
}
gives 0 'guard below unshare -r' in_namespace guard run -- \
	sh -c 'id -u && mv src moved && touch made'
is "$(cat "$out")" 0 'it is still uid 0'
gives 0 'what it did is in the layer' in_namespace guard diff --name-status
says "$out" 'made'
gives 0 'and can be applied' in_namespace guard apply -y
ok 'that is so' test -e made -a -e moved/f0.c -a ! -e src
if [ ! -w /var/lib ]; then
	gives 125 'where /var/lib is not its own' unshare -Ur guard run -- true
	says "$err" 'GUARD_HOME'
fi
finish
