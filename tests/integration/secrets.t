#!/bin/sh
# Files that hold settings and secrets: a run sees the settings only.
# needs: images
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/.m2" "$HOME/.config/pip" "$HOME/.cargo" "$HOME/.gradle"
cat >"$HOME/.npmrc" <<'END'
registry=https://registry.example/
//registry.example/:_authToken=npm_GEHEIM7
END
cat >"$HOME/.gitconfig" <<'END'
[user]
	name = Tester
	email = t@example.org
	signingkey = ABCD
[commit]
	gpgsign = true
[http]
	extraHeader = AUTHORIZATION: basic GEHEIM7
[url "https://me:GEHEIM7@git.example/"]
	insteadOf = x:
END
echo '<settings><server><id>r</id><password>GEHEIM7</password></server></settings>' \
	>"$HOME/.m2/settings.xml"
printf '[global]\nindex-url = https://u:GEHEIM7@pypi.example/simple\n' \
	>"$HOME/.config/pip/pip.conf"
printf '[registries.r]\ntoken = "GEHEIM7"\n[build]\njobs = 2\n' \
	>"$HOME/.cargo/config.toml"
printf 'org.gradle.jvmargs=-Xmx1g\n' >"$HOME/.gradle/gradle.properties"
cp -r "$HOME" "$T/before"

gives 0 'a run searches its files for secrets' guard run -- sh -c \
	'cat ~/.npmrc ~/.gitconfig ~/.m2/settings.xml ~/.config/pip/pip.conf \
		~/.cargo/config.toml ~/.gradle/gradle.properties'
silent "$out" GEHEIM7
says "$out" 'registry=https://registry.example/'
says "$out" '//registry.example/:_authToken='
says "$out" 'name = Tester'
says "$out" '[url "https://git.example/"]'
says "$out" '<id>r</id><password></password>'
says "$out" 'https://pypi.example/simple'
says "$out" 'jobs = 2'
says "$out" 'org.gradle.jvmargs=-Xmx1g'
says "$err" "without their secrets: ~/.npmrc, ~/.gitconfig"
silent "$err" gradle
gives 0 'the next run does not name these files again' guard run -- true
silent "$err" 'without their secrets'
silent "$err" 'changes in your home'
gives 0 'git commit works in a run without a signing key' \
	env -u GIT_AUTHOR_NAME guard run -q -- sh -c \
	'git init -q repo && cd repo && echo x >x && git add x &&
	git commit -q -m x && git log --format=%an'
says "$out" Tester
gives 0 'discard drops the commit' guard discard -y

gives 0 '--ro exposes a file with its secrets' \
	guard run --ro "$HOME/.npmrc" -- \
	cat "$HOME/.npmrc" "$HOME/.gitconfig"
says "$out" npm_GEHEIM7
silent "$out" 'basic GEHEIM7'
gives 0 '--hide masks a file completely' \
	guard run --hide "$HOME/.gitconfig" -- \
	cat "$HOME/.gitconfig"
is "$(cat "$out")" '' 'the file masked by --hide is empty'
gives 0 'the run cannot reach the masked secrets by other paths' \
	guard run -- sh -c \
	'mv ~/.npmrc ~/x; rm -f ~/.npmrc; umount ~/.npmrc
	grep -r GEHEIM7 ~ 2>/dev/null; :'
silent "$out" GEHEIM7
gives 0 'status accepts the run that tried' guard status

# --- guard names masked files once a project ---
silent "$err" 'hidden:'
mkdir -p "$HOME/.ssh" "$HOME/.aws" "$T/other"
gives 0 'the first run names masked files' guard run -- true
says "$err" 'masked: '
tilde='~'
ssh=$tilde/.ssh
says "$err" "$ssh"
says "$err" '--ro PATH exposes one'
gives 0 'the second run does not name them again' guard run -- true
silent "$err" 'hidden:'
gives 0 'another project names them again' \
	guard run -C "$T/other" --ro "$HOME/.ssh" -- true
says "$err" 'masked: '
silent "$err" "$ssh"
mkdir -p "$HOME/.kube"
gives 0 'a further run names only new ones' guard run -- true
says "$err" '.kube'
silent "$err" "$ssh"

# --- a file is masked by its name, not under its other names ---
echo key >"$HOME/.ssh/id"
echo password >"$HOME/.netrc"
gives 0 'a run with one name of each masked file' guard run -- true
silent "$err" 'another hard'
ln "$HOME/.ssh/id" "$HOME/copy-of-id"
ln "$HOME/.netrc" "$HOME/project/copy-of-netrc"
gives 0 'a hard link of a masked file is readable' \
	guard run -- cat copy-of-netrc
says "$err" 'masked, but it has another hard link: '
says "$err" "$ssh/id"
says "$err" "$tilde/.netrc"
gives 0 'guard names the hard link once' guard run -- true
silent "$err" 'another hard'
gives 0 '--hide masks the hard link too' guard run \
	--hide "$HOME/copy-of-id" -- cat "$HOME/copy-of-id"
is "$(cat "$out")" '' 'the hard link masked by --hide is empty'
rm "$HOME/copy-of-id" "$HOME/project/copy-of-netrc" "$HOME/.netrc" \
	"$HOME/.ssh/id"

# --- variables and sockets ---
bus=/run/user/$(id -u)/bus
perl -MIO::Socket::UNIX -e '
	my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die;
	open(my $up, ">", $ARGV[1]); close($up);
	while (my $c = $s->accept) { print $c "answer\n"; close($c); }' \
	"$bus" "$T/up" &
service=$!
until [ -e "$T/up" ]; do kill -0 "$service" || break; done
cat >"$T/ask" <<'END'
use IO::Socket::UNIX;
my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 7;
print <$s>;
END
export GITHUB_TOKEN=hunter2
gives 0 'guard run -q ends with 0' guard run -q -- true
is "$(cat "$err")" '' 'guard run -q names no masked variable'
gives 7 'a masked socket cannot be reached' \
	guard run --ro "$T/ask" -- perl "$T/ask" "$bus"
says "$err" 'not passed on: '
says "$err" GITHUB_TOKEN
says "$err" "not reachable: $bus"
gives 0 'a second run does not name it again' guard run -- true
silent "$err" GITHUB_TOKEN
silent "$err" "$bus:"
silent "$err" 'not reachable'
export DATABASE_URL=x
gives 0 'a new masked variable is named' guard run -- true
says "$err" 'not passed on: DATABASE_URL (--env'
gives 0 'a masked variable is named on a terminal' answers "run -- true"
says "$out" 'not passed on: '
says "$out" DATABASE_URL
gives 0 'at each start' answers "run -- true"
says "$out" DATABASE_URL
gives 0 'guard run -q names none there' answers "run -q -- true"
silent "$out" DATABASE_URL
gives 0 'a variable of no list is passed on' \
	env NODE_ENV=some guard run -q -- sh -c 'echo "$NODE_ENV"'
is "$(cat "$out")" some 'it has its value'
for clean in --env-clean --strict; do
	gives 0 "with $clean it is not" env NODE_ENV=some \
		guard run -q $clean -- sh -c 'echo "$NODE_ENV"'
	is "$(cat "$out")" '' 'it is unset'
done
gives 0 '--env passes it on with --env-clean' env NODE_ENV=some \
	guard run --name clean --env-clean --env NODE_ENV -- \
	sh -c 'echo "$NODE_ENV"; echo 1 >of-clean'
is "$(cat "$out")" some 'it has its value'
gives 0 'a later command of the run is clean as well' env CC=some \
	guard exec -q clean -- sh -c 'echo "$CC"'
is "$(cat "$out")" '' 'it does not get other variables'
gives 0 'a run with a variable that no list has is pending' \
	env CC=never-on-disk guard run -q --name cc -- sh -c 'echo 1 >of-cc'
gives 0 'a later command of the run gets the variables of its caller' \
	env CC=later guard exec -q cc -- sh -c 'echo "$CC"'
is "$(cat "$out")" later 'it has the value of now'
no 'no value is stored' grep -rq never-on-disk "$state"
gives 0 'the one is discarded' guard discard -y clean
gives 0 'the other, too' guard discard -y cc
gives 0 'the option that guard names exposes the socket' \
	guard run --ro "$T/ask" --ro "$bus" -- \
	perl "$T/ask" "$bus"
is "$(cat "$out")" answer 'the exposed socket answers'
gives 0 'the option that guard names exposes the variable' \
	guard run --env GITHUB_TOKEN -- \
	sh -c 'echo "$GITHUB_TOKEN"'
is "$(cat "$out")" hunter2 'the exposed variable has its value'
gives 0 'a variable that names a masked socket is reported' \
	env SSH_AUTH_SOCK="$bus" \
	guard run --env SSH_AUTH_SOCK -- true
says "$err" "--ro '$bus' exposes it"
gives 0 '--env and --ro expose a variable and its socket' \
	env SSH_AUTH_SOCK="$bus" guard run --env SSH_AUTH_SOCK \
	--ro "$bus" -- true
silent "$err" "--ro '$bus' exposes it"

# --- sockets below a granted directory ---
mkdir -p /tmp/served/deep /srv/served "$HOME/served"
served="/tmp/served/one /tmp/served/deep/two /srv/served/three
	$HOME/served/four /srv/served/relative"
untyped=/images/untyped/served
[ ! -d "${untyped%/*}" ] || {
	mkdir "$untyped"
	served="$served $untyped/relative"
}
rm "$T/up"
# "relative" gets its name from its own directory.
# shellcheck disable=SC2086 # a list of words
perl -MIO::Socket::UNIX -MIO::Select -e '
	my $up = shift;
	my @all = map { IO::Socket::UNIX->new(Listen => 5, Local =>
		m{(.*)/(relative)$} && chdir($1) ? $2 : $_) or die } @ARGV;
	open(my $f, ">", $up); close($f);
	my $select = IO::Select->new(@all);
	while (1) { for my $s ($select->can_read) {
		my $c = $s->accept; print $c "answer\n"; close($c); } }' \
	"$T/up" $served &
services=$!
until [ -e "$T/up" ]; do kill -0 "$services" || break; done
for option in --ro --rw; do
	for socket in $served; do
		dir=${socket%/served/*}/served
		is "$(perl "$T/ask" "$socket")" answer "$socket answers outside"
		gives 0 "the socket $socket stays closed with $option" \
			guard run --ro "$T/ask" "$option" "$dir" -- sh -c \
			'test -d "$2" && ! perl "$0" "$1"' "$T/ask" "$socket" \
			"$dir"
		silent "$out" answer
		says "$err" "$option '$dir': "
		says "$err" ' hidden; name '
		gives 0 "the socket $socket itself is granted" \
			guard run --ro "$T/ask" "$option" "$dir" \
			--ro "$socket" -- perl "$T/ask" "$socket"
		is "$(cat "$out")" answer "the granted socket answers"
		gives 0 'explain knows the closed socket' \
			guard explain "$option" "$dir" "$socket"
		says "$out" 'masked: a program listens on'
	done
done
gives 0 'guard counts the sockets' guard run --ro /tmp/served -- true
says "$err" "--ro '/tmp/served': 2 sockets hidden; name them to grant them"
gives 0 'a granted socket is not counted' guard run --ro /tmp/served \
	--ro /tmp/served/one -- true
says "$err" "--ro '/tmp/served': 1 socket hidden; name it to grant it"
ln -s /tmp/served/one linked-socket
gives 125 'a link to a socket is refused' guard run --ro linked-socket -- true
says "$err" "leads to '/tmp/served/one', a socket; name /tmp/served/one"
rm linked-socket
gives 0 'a socket below a granted /run is closed' \
	guard run --ro "$T/ask" --ro "${bus%/*}" -- \
	sh -c '! perl "$0" "$1"' "$T/ask" "$bus"
if [ "$me" = root ]; then
	mkdir /srv/again
	mount --bind /tmp/served /srv/again
	gives 0 'a socket is closed under another name' \
		guard run --ro "$T/ask" --ro /srv/again -- \
		sh -c '! perl "$0" "$1"' "$T/ask" /srv/again/one
	silent "$out" answer
	umount /srv/again
fi
kill "$service" "$services"
wait "$service" "$services" 2>/dev/null
unset GITHUB_TOKEN DATABASE_URL

# --- binary files and other files ---
head -c 100 /dev/zero >"$HOME/.npmrc"
printf '[user]\n\tname = Tester\n' >"$HOME/.gitconfig"
gives 0 'a binary file with a secret is masked completely' guard run -- sh -c \
	'wc -c <~/.npmrc; git config --global user.name Other'
says "$out" 0
no 'guard does not call a completely masked file partly visible' \
	grep -q 'without their secrets.*npmrc' "$err"
says "$err" "$tilde/.npmrc"
says "$err" '1 change in your home directory'
ok 'the files outside are unchanged' \
	cmp "$HOME/.m2/settings.xml" "$T/before/.m2/settings.xml"

# --- large files ---
# settings BYTES NAME: that many bytes of lines, some with secrets as in an ini
# file, in a start file of a shell and in JSON; the first and last line stay
settings() {
	perl -e 'my $i = 0; my $end = "\nlast=\xff1";
		$_ = "first=1\n";
		while (length() < $ARGV[0] - 300) {
			$i++;
			$_ .= "plain$i=$i\n" x 8 . "A${i}_TOKEN=GEHEIM7$i\n";
			$_ .= "  \"apiKey\": \"GEHEIM7$i\",\n";
		}
		$_ .= "#" x ($ARGV[0] - length() - length($end));
		print $_ . $end' "$1" >"$2"
}
# seen TITLE FILE...: in a run each has its first, plain and last lines, and no
# secret
seen() {
	label=$1
	shift
	gives 0 "$label: a run starts" guard run -- sh -c 'for file; do
			grep -c GEHEIM7 "$file"
			grep -c "^plain" "$file"
			grep -ac "^first=1\|^last=" "$file"
		done' sh "$@"
	for file; do
		printf '0\n%s\n2\n' "$(grep -c '^plain' "$file")"
	done >"$T/expected"
	is "$(cat "$out")" "$(cat "$T/expected")" \
		"$label: it sees all but the secrets"
}
rm -f "$HOME/.npmrc" "$HOME/.gitconfig"
set -- 1048575 "$HOME/.npmrc" 1048576 "$HOME/.yarnrc" \
	1048577 "$HOME/.bashrc" 1300000 "$HOME/.cargo/config.toml" \
	1500000 "$HOME/.claude.json" 66000 "$HOME/.zshrc"
while [ $# -gt 0 ]; do
	settings "$1" "$2"
	shift 2
done
set -- "$HOME/.npmrc" "$HOME/.yarnrc" "$HOME/.bashrc" \
	"$HOME/.cargo/config.toml" "$HOME/.claude.json" "$HOME/.zshrc"
seen 'settings that just changed' "$@"
says "$err" "$tilde/.claude.json"
silent "$err" 'empty, because'
derived=$state/derived
# copies: without the names that a start found in directories
copies() {
	find "$derived" -type f -size +40k 2>/dev/null | wc -l
}
is "$(copies)" 0 'settings that just changed are not kept'
wait_for_age() {
	until [ $(($(date +%s) - $(stat -c %Z "$1"))) -ge 2 ]; do
		sleep 0.05
	done
}
wait_for_age "$HOME/.zshrc"
seen 'large settings' "$@"
is "$(copies)" 6 'a copy of each is kept'
is "$(grep -rl GEHEIM7 "$derived")" '' 'no copy has a secret'
is "$(stat -c %a "$derived")" 700 'no other user can read the copies'
seen 'large settings with kept copies' "$@"
gives 0 'a kept copy cannot be changed' guard run -- sh -c '! {
		echo x >>"$0" || chmod 644 "$0" || rm -f "$0" || test ! -s "$0"
	} 2>/dev/null' "$HOME/.bashrc"
seen 'settings after a run that tried to change them' "$@"
# The same size and time.
touch -r "$HOME/.bashrc" "$T/time"
sed -i 's/plain1=1/X_TOKEN=GEHEIM7/; s/^#*#####$/plain9/' "$HOME/.bashrc"
touch -r "$T/time" "$HOME/.bashrc"
seen 'settings that changed behind their time' "$@"
settings 70000 "$T/none"
grep -av GEHEIM7 "$T/none" | tee "$HOME/.bashrc" >"$HOME/.zshrc"
wait_for_age "$HOME/.bashrc"
seen 'large settings without secrets' "$HOME/.bashrc" "$HOME/.zshrc"
seen 'large settings that are known to have none' "$HOME/.bashrc"
echo 'export X_TOKEN=GEHEIM7' >>"$HOME/.bashrc"
gives 0 'a secret is added to them' guard run -- cat "$HOME/.bashrc"
silent "$out" GEHEIM7

# --- settings that stay closed ---
printf '\0' >>"$HOME/.claude.json"
truncate -s 68000000 "$HOME/.yarnrc"
cp "$HOME/.bashrc" "$T/cut"
printf '{"a": 1,\n"token": "GEHEIM7 ab' >"$HOME/.bashrc"
printf 'a=1\n{"b":{"token":"GEHEIM7"' >"$HOME/.cargo/config.toml"
gives 0 'settings that cannot be read are empty' guard run -- sh -c \
	'cat ~/.bashrc ~/.cargo/config.toml; wc -c <~/.claude.json; wc -c <~/.yarnrc'
says "$err" "empty, because guard cannot remove their secrets"
says "$err" "$tilde/.yarnrc, $tilde/.claude.json"
silent "$out" GEHEIM7
is "$(grep -cx 0 "$out")" 2 'both are empty'
rm -f "$HOME/.claude.json" "$HOME/.yarnrc" "$HOME/.bashrc" "$HOME/.zshrc" \
	"$HOME/.cargo/config.toml"

finish
