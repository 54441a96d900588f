#!/bin/sh
# guard explain: its answer for a path agrees with what a run finds there.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/.ssh" "$HOME/granted" "$HOME/.config/gh" /srv/open/in \
	"$HOME/elsewhere" /tmp/there/in
echo key >"$HOME/.ssh/id"
echo token >"$HOME/.config/gh/hosts.yml"
echo pw >"$HOME/.netrc"
echo plain >"$HOME/plain"
echo x >"$HOME/granted/f"
echo x >/srv/open/f
echo x >/srv/open/in/f
echo x >/tmp/there/in/f
ln -s "$HOME/elsewhere" "$HOME/.aws"
echo k >"$HOME/elsewhere/credentials"

# --- all of them ---
GNUPGHOME=$HOME/keys
mkdir "$GNUPGHOME"
export GNUPGHOME
gives 0 'explain --hidden lists every masked path' guard explain --hidden
for path in .ssh .netrc .config/gh .aws keys; do
	says "$out" "$HOME/$path"
done
says "$out" 'credentials: GNUPGHOME'
silent "$out" "$HOME/plain"
gives 0 'explain --hidden --json has the same' guard explain --hidden --json
says "$out" '"rule": "credentials"'
gives 2 'explain --hidden takes no path' guard explain --hidden plain
gives 2 'explain needs a path' guard explain
says "$err" '--hidden lists all masked paths'
rmdir "$GNUPGHOME"
unset GNUPGHOME

# Prints for each path what a run finds: absent, empty or full, and whether it
# is writable.
cat >/srv/look <<-'END'
	#!/bin/sh
	for path; do
		if [ ! -e "$path" ]; then
			seen=absent
		elif [ -d "$path" ]; then
			seen=folder
			[ -n "$(ls -A "$path" 2>/dev/null)" ] || seen=empty
		elif [ -s "$path" ]; then
			seen=file
		else
			seen=empty
		fi
		case $seen in
		folder) touch "$path/guard-touch" 2>/dev/null &&
			rm "$path/guard-touch" 2>/dev/null && seen=$seen,rw ;;
		file) (: >>"$path") 2>/dev/null && seen=$seen,rw ;;
		esac
		echo "$path $seen"
	done
END
chmod 755 /srv/look

# agrees OPTIONS -- PATHS...: checks that explain and a run agree about the
# paths
agrees() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # a list of words
	guard explain --json $options "$@" >"$out" 2>"$err" || {
		flunk "explain$options"
		show_output
		return
	}
	# shellcheck disable=SC2086
	guard run -q $options -- /srv/look "$@" >"$T/seen" 2>"$T/seen.err"
	guard discard -q -y >/dev/null 2>&1
	# shellcheck disable=SC2086
	if perl -MJSON::PP -e '
		local $/; open my $f, "<", $ARGV[0]; my $e = decode_json(<$f>);
		open my $g, "<", $ARGV[1]; my @seen = split /\n/, <$g>;
		my $bad = 0;
		for my $i (0 .. $#$e) {
			my ($path, $seen) = $seen[$i] =~ /^(.*) (\S+)$/;
			my $s = $e->[$i]{sight};
			my $want = !$e->[$i]{exists} ? qr/^absent$/
				: $s eq "hidden" && "@ARGV[2 .. $#ARGV]" =~
					/ \Q$path\E\// ? qr/^folder$/
				: $s eq "hidden" ? qr/^empty$/
				: $s eq "read-only" ? qr/^(file|folder|empty)$/
				: $s eq "private" ? qr/^(?!file,rw)/
				: qr/,rw$|^empty$/;
			next if $seen =~ $want;
			print "$path: explained as $s, exists: ",
				$e->[$i]{exists} ? "yes" : "no", "; seen: $seen\n";
			$bad++;
		}
		exit($bad || @$e != @seen);
	' "$out" "$T/seen" $options >"$T/diff"; then
		pass "explain$options agrees with a run about $# paths"
	else
		flunk "explain$options agrees with a run about $# paths"
		sed 's/^/# /' "$T/diff"
	fi
}

set -- "$HOME/project" "$HOME/project/README.md" "$HOME/project/none" \
	"$HOME" "$HOME/plain" "$HOME/documents/letters/one.txt" \
	"$HOME/.ssh" "$HOME/.ssh/id" "$HOME/.netrc" "$HOME/.config" \
	"$HOME/.config/gh" "$HOME/.config/gh/hosts.yml" "$HOME/.aws" \
	"$HOME/.aws/credentials" "$HOME/elsewhere/credentials" \
	"$HOME/granted" "$HOME/granted/f" /srv/open/f /srv/open/in/f /usr \
	/usr/bin/env /etc/shadow /tmp /tmp/there /tmp/there/in/f /var/tmp /run \
	/dev/null /dev/shm /proc/self "$state" "$state/store"
agrees -- "$@"
agrees --ro "$HOME/.ssh" --rw "$HOME/granted" -- "$@"
agrees --ro "$HOME/.ssh/id" --hide "$HOME/plain" --hide /srv/open/in -- "$@"
agrees --rw /srv/open/in --hide /srv/open -- "$HOME/plain" \
	/srv/open/in/f "$HOME/.ssh"
agrees --ro /tmp/there -- /tmp /tmp/there /tmp/there/in/f /var/tmp
agrees --strict -- "$HOME/project/README.md" "$HOME/plain" "$HOME/.ssh/id" \
	/srv/open/f /tmp /usr/bin/env

# --- 100 paths drawn at random ---
seed=${EXPLAIN_SEED:-$(date +%N)}
note "seed $seed: EXPLAIN_SEED=$seed"
for file in .docker/config.json .kube/config .cargo/credentials.toml \
	.cargo/bin/tool .config/rclone/rclone.conf .mozilla/f/logins.json \
	.bash_history wallet.kdbx sub/wallet.kdbx .config/app/settings \
	.local/bin/tool .local/share/keyrings/login .cache/git/credential/s \
	.cache/tool/x a/b/c/d/e/f 'two words/and a blank' .profile.d/x; do
	mkdir -p "$HOME/$(dirname "$file")"
	echo x >"$HOME/$file"
done
printf '//r/:_authToken=t\nregistry=r\n' >"$HOME/.npmrc"
printf '[user]\nname = x\n' >"$HOME/.gitconfig"
ln -s .docker "$HOME/to-docker"
ln -s "$HOME/.kube/config" "$HOME/project/to-kube"
ln -s /etc "$HOME/project/to-etc"
mkdir -p "$HOME/project/deep/er" /var/tmp/there
echo x >"$HOME/project/deep/er/file"
echo x >/var/tmp/there/file
{
	find "$HOME" /srv /tmp /var/tmp /run /dev -path "$T" -prune -o -path "/dev/std*" -prune -o \
		-path "$state/store" -prune -o -name .git -prune -o \
		-xtype l -o -print 2>/dev/null |
		awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' |
		sort | head -n 60
	# Deeper entries follow the same rules.
	find / -maxdepth 4 \( -path /proc -o -path /sys -o -path /opt/guard \
		-o -path /dev -o -path /var/tmp -o -name .git \) -prune -o \
		-print 2>/dev/null |
		awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' |
		sort | head -n 40
} | cut -f2- >"$T/chosen"
set --
while IFS= read -r path; do
	[ ! -e "$path" ] || set -- "$@" "$path"
done <"$T/chosen"
agrees -- "$@"
agrees --ro "$HOME/.docker" --hide "$HOME/a/b" --rw "$HOME/granted" -- "$@"
agrees --strict -- "$@"

# --- messages ---
gives 0 'settings with masked secrets are explained as such' \
	guard explain ~/.npmrc
says "$out" 'a read-only copy without secrets; --ro exposes the original'
gives 0 'settings without secrets are not explained as masked' \
	guard explain ~/.gitconfig
says "$out" 'the layer over the home directory'
gives 0 '--hide is explained as masked' guard explain --hide ~/.npmrc ~/.npmrc
says "$out" '(--hide)'
gives 0 'explain names the rule' guard explain ~/.ssh/id
says "$out" 'no such file; masked with'
says "$out" 'credentials'
gives 0 'run --why prints the same as explain' \
	guard run --hide ~/plain --why ~/plain
says "$out" '(--hide)'
gives 0 "guard's own state is explained as masked without an option" \
	guard explain "$state/store"
says "$out" "guard's own state"
gives 1 'explain refuses an option that a run would refuse' \
	guard explain --rw "$HOME" ~/plain
gives 2 'explain without a path ends with 2' guard explain
gives 2 'an unknown option ends with 2' guard explain --bogus x
finish
