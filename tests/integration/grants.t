#!/bin/sh
# guard run --ro, --rw, --hide: the paths that they expose and mask.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p /tmp/outside "$HOME/real" "$HOME/.ssh"
echo tmp >/tmp/outside/f
echo one >"$HOME/real/f"
echo key >"$HOME/.ssh/id"
echo plain >"$HOME/plain"

gives 0 'a path below a private directory is masked' \
	guard run -- sh -c '! test -e /tmp/outside/f'
gives 0 '--ro exposes a path below a private directory' \
	guard run --ro /tmp/outside -- cat /tmp/outside/f
is "$(cat "$out")" tmp 'a file exposed by --ro has its content'
gives 0 'a directory exposed by --ro is read-only' \
	guard run --ro /tmp/outside -- sh -c '! touch /tmp/outside/new'
no 'nothing was created in the directory of --ro' test -e /tmp/outside/new
gives 0 'a directory with credentials is masked' \
	guard run -- sh -c '! cat ~/.ssh/id'
gives 0 '--ro exposes a directory with credentials' \
	guard run --ro "$HOME/.ssh" -- cat ~/.ssh/id
is "$(cat "$out")" key 'the exposed credentials have their content'
gives 0 '--hide masks a file' guard run --hide "$HOME/plain" -- \
	sh -c '! grep -q plain ~/plain'
ln -s palin "$HOME/dangling"
ln -s loop "$HOME/loop"
for path in "$HOME/palin" "$HOME/pla*" "$HOME/plain/file" "$HOME/dangling" \
	"$HOME/loop" /no/such/file ''; do
	gives 125 "--hide of a path without a file is refused: '$path'" \
		guard run --hide "$path" -- cat "$HOME/plain"
	silent "$out" plain
	says "$err" "--hide '$path': "
done
says "$err" 'the path is empty'
if [ "$me" != root ]; then
	mkdir -p "$HOME/shut"
	echo secret >"$HOME/shut/file"
	chmod 000 "$HOME/shut"
	gives 125 '--hide of a path that cannot be looked up is refused' \
		guard run --hide "$HOME/shut/file" -- true
	says "$err" "'$HOME/shut': Permission denied"
	chmod 700 "$HOME/shut"
fi
gives 125 '--hide of a path that --ro exposes is refused' \
	guard run --hide "$HOME/plain" --ro "$HOME/plain" -- cat "$HOME/plain"
says "$err" "--ro '$HOME/plain' exposes the same path"
gives 0 '--ro exposes a file in a directory of --hide' guard run \
	--hide "$HOME/real" --ro "$HOME/real/f" -- cat "$HOME/real/f"
gives 125 '--ro of a missing path is refused' \
	guard run --ro /no/such/path -- true
says "$err" '/no/such/path'

# --- --rw: a directory that the run writes directly ---
gives 0 '--rw exposes a directory for writing' guard run --rw "$HOME/real" -- \
	sh -c 'echo two >~/real/f; rm -f ~/real/gone; echo made >~/real/made'
is "$(cat "$HOME/real/f")" two 'the run changed the file directly'
gives 0 'the content before the run can be restored' \
	guard restore -y --at latest~1 "$HOME/real/f"
is "$(cat "$HOME/real/f")" one \
	'the restored file has the content before the run'
gives 0 'the content after the run is stored' guard log "$HOME/real/made"
says "$out" post-rw

gives 125 '--rw of a file is refused' guard run --rw "$HOME/real/f" -- true
says "$err" 'name its directory'

# --- guard's own state is never exposed ---
gives 125 "--ro of guard's state is refused" guard run --ro "$state" -- true
says "$err" 'state'
if [ "$me" != root ]; then
	mkdir -m 555 "$HOME/sealed"
	gives 125 '--rw of a directory without write permission is refused' \
		guard run --rw "$HOME/sealed" -- true
	says "$err" "'$HOME/sealed' is not writable for you"
fi
gives 125 "--rw of a part of guard's state is refused" \
	guard run --rw "$state/store" -- true
gives 0 "--ro of a directory that contains guard's state is accepted" \
	guard run --ro "${state%/*}" -- ls -A "$state"
is "$(cat "$out")" '' "guard's state is empty in that directory"

if [ "$me" = root ]; then
	mkdir /srv/again
	mount --bind "$state" /srv/again
	gives 125 "--rw of guard's state under another name is refused" \
		guard run --rw /srv/again -- true
	says "$err" 'a path that every run must mask'
	gives 125 '--ro of a part of it under another name is refused' \
		guard run --ro /srv/again/store -- true
	gives 0 '--ro of a directory that contains the other name is accepted' \
		guard run --ro /srv -- ls -A /srv/again
	is "$(cat "$out")" '' "guard's state is empty under the other name"
	umount /srv/again
fi

# --- directories covered by a layer are never exposed ---
gives 125 '--rw of the project is refused' guard run --rw . -- touch through
gives 125 '--rw of a directory that contains the project is refused' \
	guard run --rw "$HOME/project/.." -- true
says "$err" 'contains the project'
gives 125 '--ro of the home is refused' \
	guard run -C /tmp/outside --ro "$HOME" -- true
says "$err" 'home'
gives 125 '--ro of / is refused' guard run --ro / -- true
no 'the refused runs changed nothing' test -e through

# --- links that an earlier run may have made ---
cd "$HOME/project" || exit 99
tilde='~'
mkdir -p /srv/data "$HOME/.aws"
echo data >/srv/data/f
echo key >"$HOME/.aws/credentials"
gives 0 'a run makes links' guard run -q -- sh -c \
	'ln -s ~/.ssh dist; ln -s dist chain; ln -s ../.ssh/id file
	ln -s /srv/data shared; ln -s src inside'
gives 0 'apply writes the links' guard apply -y
for option in --ro --rw; do
	for link in dist chain dist/../.ssh; do
		gives 125 "$option of the link $link to a masked path is refused" \
			guard run "$option" "$link" -- cat "$HOME/.ssh/id"
		says "$err" "$option '$link' leads to '$tilde/.ssh', which is hidden; name $tilde/.ssh to grant it"
	done
	gives 0 "$option of a link to a visible directory is named" \
		guard run "$option" shared -- cat shared/f
	is "$(cat "$out")" data "$option exposes the target of the link"
	says "$err" "$option 'shared' is '/srv/data'"
	gives 0 "$option of a link in the project is not named" \
		guard run "$option" inside -- true
	silent "$err" "$option 'inside' is"
done
gives 125 '--ro of a link to a masked file is refused' \
	guard run --ro file -- true
says "$err" "leads to '$tilde/.ssh/id'"
gives 125 '--cow of a link to a masked path is refused' \
	guard run --cow dist -- true
says "$err" 'is masked in runs'
gives 0 '--cow of a link to a visible directory is named' \
	guard run --cow shared -- cat shared/f
says "$err" "--cow 'shared' is '/srv/data'"
gives 0 'the option that guard names grants the masked path' \
	guard run --ro "$HOME/.ssh" -- cat "$HOME/.ssh/id"
is "$(cat "$out")" key 'the path that was named is exposed'
printf '[x]\ntoken = ghp_GEHEIM7GEHEIM7\n' >"$HOME/.gitconfig"
ln -s "$HOME/.gitconfig" settings
gives 125 '--ro of a link to a file with secrets is refused' \
	guard run --ro settings -- true
mv "$HOME/.aws" "$HOME/real-aws"
ln -s real-aws "$HOME/.aws"
gives 0 'a masked path that is a link is granted by its own name' \
	guard run --ro "$HOME/.aws" -- cat "$HOME/.aws/credentials"
is "$(cat "$out")" key 'the target of the masked link is exposed'
ln -s "$HOME/real-aws" keys
gives 125 'another link to the same directory is refused' \
	guard run --ro keys -- true

# --- lines of profiles ---
mkdir -p "$HOME/.config/guard/agents" .guard
printf 'ro %s/dist\n' "$HOME/project" >"$HOME/.config/guard/agents/mine"
gives 125 "a link in the user's own profile is refused, too" \
	guard run --agent mine -- true
says "$err" 'agents/mine:1: ro'
says "$err" 'which is hidden'
printf 'ro inside\n' >.guard/profile
gives 0 "a link within the project may be in its profile" guard run -- true
printf 'ro shared\n' >.guard/profile
gives 125 "a link out of the project may not" guard run -- true
says "$err" 'profile:1: ro '
echo key >project-key
printf 'ro project-key\n' >.guard/profile
gives 125 "a masked file may not be in a project's profile" \
	env MY_KEY_FILE=./project-key guard run -- true
says "$err" 'would expose a masked path'
printf 'hide later\nro never/here\n' >.guard/profile
gives 0 'a line that restricts a run to no effect is named' \
	guard run --agent none -- true
says "$err" ".guard/profile:1: hide '$HOME/project/later': no such file"
says "$err" ".guard/profile:2: ro '$HOME/project/never/here': no such file"
echo secret >later
gives 0 'the line holds for a run that starts when the file exists' \
	guard run --agent none -- cat later
silent "$out" secret
silent "$err" 'profile:1:'
rm .guard/profile later

if [ "$me" = root ]; then
	mkdir /srv/alias
	mount --bind "$HOME/.ssh" /srv/alias
	ln -s /srv/alias bound
	gives 125 'a link to a bind mount of a masked path is refused' \
		guard run --ro bound -- true
	says "$err" 'which is hidden'
	umount /srv/alias
fi

finish
