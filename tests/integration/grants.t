#!/bin/sh
# guard run --ro, --rw, --hide: what is let in, what is not.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p /tmp/outside "$HOME/real" "$HOME/.ssh"
echo tmp >/tmp/outside/f
echo one >"$HOME/real/f"
echo key >"$HOME/.ssh/id"
echo plain >"$HOME/plain"

gives 0 'a path below a private folder is hidden' \
	guard run -- sh -c '! test -e /tmp/outside/f'
gives 0 '--ro lets it in' guard run --ro /tmp/outside -- cat /tmp/outside/f
is "$(cat "$out")" tmp 'its bytes'
gives 0 '--ro is read-only' \
	guard run --ro /tmp/outside -- sh -c '! touch /tmp/outside/new'
no 'and nothing was made there' test -e /tmp/outside/new
gives 0 'a folder of credentials is hidden' \
	guard run -- sh -c '! cat ~/.ssh/id'
gives 0 '--ro lets that in too' guard run --ro "$HOME/.ssh" -- cat ~/.ssh/id
is "$(cat "$out")" key 'its bytes as well'
gives 0 '--hide hides a file' guard run --hide "$HOME/plain" -- \
	sh -c '! grep -q plain ~/plain'
gives 0 '--hide of nothing' guard run --hide "$HOME/palin" -- true
says "$err" "--hide '$HOME/palin': there is nothing of that name"
gives 125 '--ro of nothing' guard run --ro /no/such/path -- true
says "$err" '/no/such/path'

# --- a real folder, written through ---
gives 0 '--rw writes the real folder' guard run --rw "$HOME/real" -- \
	sh -c 'echo two >~/real/f; rm -f ~/real/gone; echo made >~/real/made'
is "$(cat "$HOME/real/f")" two 'the run changed it'
gives 0 'it was kept before' guard restore -y --at latest~1 "$HOME/real/f"
is "$(cat "$HOME/real/f")" one 'and can be had back'
gives 0 'and kept after' guard log "$HOME/real/made"
says "$out" post-rw

gives 125 '--rw of a file' guard run --rw "$HOME/real/f" -- true
says "$err" 'name the folder that it is in'

# --- never guard's own ---
gives 125 'the state cannot be let in' guard run --ro "$state" -- true
says "$err" 'state'
gives 125 'nor a part of it' guard run --rw "$state/store" -- true
gives 0 'what holds it can, without it' \
	guard run --ro "${state%/*}" -- ls -A "$state"
is "$(cat "$out")" '' 'it is empty in there'

if [ "$me" = root ]; then
	mkdir /srv/again
	mount --bind "$state" /srv/again
	gives 125 'nor under another name' guard run --rw /srv/again -- true
	says "$err" 'no run may see'
	gives 125 'nor a part of it' guard run --ro /srv/again/store -- true
	gives 0 'what holds the other name can, without it' \
		guard run --ro /srv -- ls -A /srv/again
	is "$(cat "$out")" '' 'it is empty as well'
	umount /srv/again
fi

# --- never what a layer covers ---
gives 125 'nor the project' guard run --rw . -- touch through
gives 125 'nor what holds it' guard run --rw "$HOME/project/.." -- true
says "$err" 'holds the project'
gives 125 'nor the home' guard run -C /tmp/outside --ro "$HOME" -- true
says "$err" 'home'
gives 125 'nor the root' guard run --ro / -- true
no 'nothing went through' test -e through

finish
