#!/bin/sh
# guard run --nested: sandboxes inside of a run work and masked files stay
# masked; and guard itself in a user namespace of the caller.
# shellcheck disable=SC2317 # in_namespace is called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir "$HOME/.ssh"
echo key >"$HOME/.ssh/id"

# --- sandboxes inside of a run ---
gives 1 'a run without --nested cannot create a user namespace' \
	guard run -q -- unshare -Ur true
gives 0 '--nested: a user namespace with uid 0 can be created' \
	guard run -q --nested -- unshare -Ur id -u
is "$(cat "$out")" 0 '--nested: the process has uid 0 there'
gives 0 '--nested: mount, pid and network namespaces can be created' \
	guard run -q --nested -- unshare -Urmpinf sh -c \
	'mount -t tmpfs t /mnt && touch /mnt/f'
gives 0 '--nested: masked files stay masked in a nested namespace' \
	guard run -q --nested -- unshare -Urm sh -c '
	umount ~/.ssh; umount -l ~/.ssh; umount -l ~; umount -l ~/project
	mount --bind ~ /mnt; mount --rbind / /mnt; mount -o remount,rw,bind /
	! cat ~/.ssh/id /mnt/.ssh/id "/mnt/$HOME/.ssh/id" | grep key &&
	! touch /usr/made'
gives 0 '--nested: switches of the kernel stay read-only' \
	guard run -q --nested -- unshare -Urmpf sh -c '
	mount -t proc p /proc; ! true 2>/dev/null >>/proc/sys/kernel/core_pattern'
if needs 'bubblewrap inside of a run' bwrap; then
	gives 0 '--nested: bubblewrap works' \
		guard run -q --nested -- bwrap --bind / / \
		--dev /dev --unshare-user --unshare-pid --unshare-net sh -c \
		'touch inside && ! cat ~/.ssh/id'
	gives 0 '--nested: bubblewrap writes into the layer of the run' \
		guard diff --name-status
	says "$out" inside
	no '--nested: bubblewrap does not write into the project' test -e inside
	guard discard -y -q
	mkdir -p /srv/shared
	chmod 777 /srv/shared
	if [ "$me" = root ]; then
		set -- -C /srv/shared --user tester
	else
		set --
	fi
	gives 0 '--nested: bubblewrap with its own /proc works for a user other than root' \
		guard run -q "$@" --nested -- bwrap --ro-bind / / --dev /dev \
		--proc /proc --unshare-all sh -c \
		'! true 2>/dev/null >>/proc/sys/kernel/core_pattern'
fi

# --- guard as root of a user namespace with one mapped id ---
mkdir -m 700 "$HOME/state"
in_namespace() {
	GUARD_HOME=$HOME/state unshare -Ur "$@"
}
gives 0 'guard run works in unshare -r' in_namespace guard run -- \
	sh -c 'id -u && mv src moved && touch made'
is "$(cat "$out")" 0 'the command in unshare -r has uid 0'
gives 0 'diff works in unshare -r' in_namespace guard diff --name-status
says "$out" 'made'
gives 0 'apply works in unshare -r' in_namespace guard apply -y
ok 'apply in unshare -r writes the changes' \
	test -e made -a -e moved/f0.c -a ! -e src
if [ ! -w /var/lib ]; then
	gives 125 'guard run without a writable state in a user namespace gives 125' \
		unshare -Ur guard run -- true
	says "$err" 'GUARD_HOME'
fi
finish
