#!/bin/sh
# needs: images
# users: one
# Backups that other programs carry: the recipes of docs/backup.md, whose
# commands are executed as they stand there, with real servers on the loopback;
# and carriers that are killed in the middle.
# shellcheck disable=SC2317 # called by ok and gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

page=/opt/guard/docs/backup.md
echo 'a long passphrase' >"$T/passphrase"
RCLONE_CONFIG=$T/rclone.conf
PYTHONDONTWRITEBYTECODE=1
export RCLONE_CONFIG PYTHONDONTWRITEBYTECODE
# The page names the state of a plain user.
mkdir -p ~/.local/share
[ "$me" != root ] || ln -s "$state" ~/.local/share/guard

# recipe TITLE KIND: the commands of a section, with the addresses of here. KIND
# is the word behind ```sh.
recipe() {
	awk -v title="## $1" -v fence="\`\`\`$2" '
		/^## / { here = $0 == title }
		/^```/ { on = here && $0 == fence; next }
		on' "$page" |
		sed -e 's|/media/usb|/images/ext4|' \
			-e 's|https://nas.example.org/dav|http://127.0.0.1:8080|' \
			-e 's|https://s3.example.org|http://127.0.0.1:7480|'
}

# play TITLE KIND: executes them; the passphrase is in a file.
play() {
	recipe "$1" "$2" >"$T/commands"
	[ -s "$T/commands" ] || return 1
	cat - "$T/commands" >"$T/play" <<-END
		set -eu
		guard() {
			case \$1 in
			backup | recover)
				verb=\$1
				shift
				command guard \$verb --passphrase-file \
					"$T/passphrase" "\$@" ;;
			*) command guard "\$@" ;;
			esac
		}
	END
	sh "$T/play"
}

backup() {
	guard backup --passphrase-file "$T/passphrase" "$@"
}

# list_snapshots: their numbers
list_snapshots() {
	guard log -a --json | sed -n 's/^ *"snapshot": \([0-9]*\),$/\1/p'
}

# every_file: the checksum of each of these snapshots with all of its files
every_file() {
	while read -r number; do
		echo "$number" "$(cd "$HOME/project" && {
			guard export --tar "$number" -- . .git nested/.git ||
				guard export --tar "$number"
		} 2>"$err" | sha256sum)"
	done <"$T/numbers"
}

# work: a project with versions: of snapshots, and of a run
work() {
	reset_home
	guard snapshot -q -m first >"$out"
	echo more >>README.md
	guard snapshot -q -m second >"$out"
	guard run -q -- sh -c 'echo new >new; rm -r src; date +%N >stamp'
	settle
}

# lose: the disk of this machine is gone; servers and other machines are not.
lose() {
	must_be_inside
	settle
	cd / || exit 99
	gives 0 'the disk is lost' guard purge --everything --confirm "$state"
	rm -rf "$HOME/project" "$HOME/documents" "$HOME/copies/$1"
}

# carried TITLE DIR [SERVER]: the whole recipe, and the machine that comes
# after. Only the disk gets a new key.
carried() {
	work
	[ "$1" = 'A USB disk' ] || destination 1 "$2"
	[ -z "${3:-}" ] || gives 0 "$1: the other side is set up" \
		play "$1" 'sh server'
	gives 0 "$1: the commands of the page work" play "$1" sh
	settle
	echo third >>README.md
	guard snapshot -q -m third >"$out"
	settle
	gives 0 "$1: ... and a second backup" backup "$2"
	[ -z "${4:-}" ] || gives 0 "$1: the other side fetches" \
		play "$1" 'sh server'
	manifest "$HOME/project" >"$T/project"
	list_snapshots >"$T/numbers"
	every_file >"$T/files"
	no "$1: ... a snapshot has no files" \
		grep "$(sha256sum </dev/null)" "$T/files"
	lose "${2##*/}"
	gives 0 "$1: a new machine recovers by the commands of the page" \
		play "$1" 'sh recover'
	manifest "$HOME/project" >"$T/project.new"
	ok "$1: ... the project is as it was" same "$T/project" "$T/project.new"
	every_file >"$T/files.new"
	ok "$1: ... with all files of all snapshots" \
		cmp "$T/files" "$T/files.new"
	cd "$HOME/project" || exit 99
	echo later >later
	guard snapshot -q -m later >"$out"
	gives 0 "$1: ... and continues" backup "$2"
	gives 0 "$1: ... which verifies" guard verify --read-data "$2"
}

# interrupted TITLE DIR REMOTE: the carrier of the page is killed while it sends
# 20 MB to the directory REMOTE; the second time together with guard.
interrupted() {
	work
	destination 1 "$2"
	# shellcheck disable=SC2016 # for the command's shell
	recipe "$1" sh | sed -n 's/^echo "\(backup-command.*\)" .*/\1/p' |
		sed -e 's/rsync/rsync $SLOW/' -e 's/laptop$/laptop2/' \
			-e "s|\$HOME|$HOME|" \
			-e "s|= |= echo \$\$ >$T/carrier; exec |" \
			>"$state/config"
	gives 0 "$1: a backup without large files" backup "$2"
	for victim in carrier guard; do
		head -c 20000000 /dev/urandom >large
		guard snapshot -q -m $victim >"$out"
		rm -f "$T/carrier"
		SLOW=--bwlimit=4000 RCLONE_BWLIMIT=4M guard backup "$2" \
			>"$T/killed" 2>&1 &
		guard=$!
		until [ -n "$(find "$3" -size +100k -newer large)" ]; do
			kill -0 $guard || break
		done
		status=1
		[ $victim = carrier ] || {
			kill -9 $guard
			status=137
		}
		kill -9 "$(cat "$T/carrier")"
		wait $guard
		is $? $status "$1: the backup ends when its $victim is killed"
		[ $victim = guard ] || ok "$1: ... and says so" \
			grep backup-command "$T/killed"
		gives 0 "$1: ... the next one is accepted" backup "$2"
		gives 0 "$1: ... with all files on the other side" \
			diff -r -x '.*' "$2" "$3"
	done
}

# serve TOOL PORT DIR: a server of rclone
serve() {
	mkdir "$3"
	rclone serve "$1" --addr "127.0.0.1:$2" --user me --pass secret "$3" \
		--config "$T/none" >"$T/$1.log" 2>&1 &
	servers="$servers $!"
	until grep -qE 'started on|listening on' "$T/$1.log"; do
		kill -0 $! || break
	done
}

# serve_ssh: the hosts of the page are this machine.
serve_ssh() {
	mkdir -m 700 ~/.ssh
	ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
	cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
	chmod 600 ~/.ssh/authorized_keys
	cat >~/.ssh/config <<-END
		Host nas laptop other
		HostName 127.0.0.1
		Port 2222
		UserKnownHostsFile $T/known
		StrictHostKeyChecking accept-new
		LogLevel ERROR
	END
	dropbearkey -t ed25519 -f "$T/hostkey" >"$T/dropbear.log" 2>&1
	dropbear -F -E -s -p 127.0.0.1:2222 -r "$T/hostkey" \
		-P "$T/dropbear.pid" 2>>"$T/dropbear.log" &
	servers="$servers $!"
	until ssh nas true; do
		kill -0 $! || break
	done
}

servers=
make_home
serve_ssh
save_home
needs carriers rclone rsync ssh dropbear || finish

# --- a disk ---
if has_image ext4; then
	carried 'A USB disk' /images/ext4/guard
	lose ''
fi

# --- WebDAV, SFTP ---
serve webdav 8080 "$T/dav"
carried 'WebDAV, by rclone' "$HOME/copies/dav"
lose dav
interrupted 'WebDAV, by rclone' "$HOME/copies/dav" \
	"$T/dav/laptop2"
lose dav

serve sftp 8022 "$T/sftp"
work
destination 1 ~/copies/sftp
rclone config create nas sftp host=127.0.0.1 port=8022 user=me pass=secret \
	>"$out"
recipe 'WebDAV, by rclone' sh |
	sed -n 's/^echo "\(backup-command\) .*\( = .*\)dav:.*/\1\2nas:laptop/p' \
	>"$state/config"
gives 0 'the command for WebDAV works with SFTP' backup ~/copies/sftp
gives 0 '... and sends all files' diff -r ~/copies/sftp "$T/sftp/laptop"
lose ''

# --- ssh ---
carried 'Another machine, by rsync over ssh' "$HOME/copies/nas"
lose ''
interrupted 'Another machine, by rsync over ssh' "$HOME/copies/nas" \
	"$HOME/copies/laptop2"
lose ''
carried 'Another machine that fetches the copies' "$HOME/copies/other" '' fetch
ok 'each file has the hash of its name' \
	play 'After a recovery' 'sh check'
lose ''

# rsync 3.2 of Debian 12, without its security updates, has no -no-overwrite.
older=
grep -q -e -no-overwrite "$(command -v rrsync)" || older='s/ -no-overwrite//'
# only_adds: the line of the page before the key
only_adds() {
	recipe 'Another machine, by rsync over ssh' text |
		sed -n -e "$older" -e "s|/srv/laptop|$T/only|p" | tr '\n' ' '
}
work
mkdir -p "$T/only"
destination 1 ~/copies/nas
sed -i "s|^|$(only_adds)|" ~/.ssh/authorized_keys
echo 'backup-command = rsync --ignore-existing --files-from=- . nas:' \
	>"$state/config"
gives 0 'a key that only adds takes a backup' backup ~/copies/nas
gives 0 '... with all files' diff -r ~/copies/nas "$T/only"
mkdir "$T/empty"
echo other >"$T/guard-copy"
no '... deletes none' rsync -r --delete "$T/empty/" nas:
if [ -z "$older" ]; then
	rsync -I "$T/guard-copy" nas: >"$out" 2>&1
	ok '... replaces none' cmp ~/copies/nas/guard-copy "$T/only/guard-copy"
else
	skip '... replaces none: this rrsync has no -no-overwrite'
fi
no '... reads none' rsync nas:guard-copy "$T/got"
# shellcheck disable=SC2029 # the name is of this side
ssh nas touch "$T/touched" >"$out" 2>&1
no '... runs no other command' test -e "$T/touched"
lose ''

# --- S3 with Object Lock ---
versions() {
	aws --endpoint-url http://127.0.0.1:7480 s3api list-object-versions \
		--bucket my-copies --output text \
		--query 'Versions[].[Key,VersionId]'
}
if [ -x /usr/bin/radosgw ] && [ -x /usr/bin/aws ]; then
	AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret
	AWS_DEFAULT_REGION=us-east-1
	export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_DEFAULT_REGION
	mkfifo "$T/ready"
	/opt/guard/tests/lib/s3server "$T/s3" 7480 3>"$T/ready" \
		>"$T/s3.log" 2>&1 &
	servers="$servers $!"
	read -r _ <"$T/ready"
	carried 'S3 with Object Lock, by rclone' "$HOME/copies/cloud" server
	is "$(grep -c '"PUT /my-copies/laptop/guard-copy ' \
		"$T/s3/log/rgw.log")" 1 'S3: a file is sent once'
	mkdir "$T/before" "$T/after"
	rclone copy cloud:my-copies/laptop "$T/before"
	versions >"$T/versions"
	ok 'S3: the bucket has versions' test -s "$T/versions"
	aws --endpoint-url http://127.0.0.1:7480 s3api delete-objects \
		--bucket my-copies --delete "Objects=[$(awk '{
			printf "{Key=%s,VersionId=%s},", $1, $2
		}' "$T/versions")]" >"$out" 2>&1
	says "$out" AccessDenied
	versions >"$T/versions.after"
	ok 'S3: a thief of the key can delete no version' \
		cmp "$T/versions" "$T/versions.after"
	when=$(date '+%F %T')
	until [ "$(date '+%F %T')" != "$when" ]; do :; done
	rclone delete cloud:my-copies
	is "$(rclone lsf -R --files-only cloud:my-copies)" '' \
		'S3: ... can hide the copies'
	gives 0 'S3: ... and the bucket as it was can be read' \
		rclone copy --s3-version-at "$when" \
		cloud:my-copies/laptop "$T/after"
	ok 'S3: ... with all files' diff -r "$T/before" "$T/after"
	lose cloud
else
	skip 'S3: no server is installed: tests/install-deps s3'
fi

# shellcheck disable=SC2086 # a list of numbers
kill $servers
wait
finish
