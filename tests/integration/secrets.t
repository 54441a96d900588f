#!/bin/sh
# Files that hold settings and secrets: a run has the settings.
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

gives 0 'a run looks for secrets' guard run -- sh -c \
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
says "$err" "without the secrets in them: '$HOME/.npmrc', '$HOME/.gitconfig'"
silent "$err" gradle
silent "$err" 'changes in your home'
gives 0 'a commit needs no key' guard run -q -- sh -c \
	'git init -q repo && cd repo && echo x >x && git add x &&
	git commit -q -m x && git log --format=%an'
says "$out" Tester
gives 0 'it is dropped' guard discard -y

gives 0 '--ro lets one in as it is' guard run --ro "$HOME/.npmrc" -- \
	cat "$HOME/.npmrc" "$HOME/.gitconfig"
says "$out" npm_GEHEIM7
silent "$out" 'basic GEHEIM7'
gives 0 '--hide shows nothing of one' guard run --hide "$HOME/.gitconfig" -- \
	cat "$HOME/.gitconfig"
is "$(cat "$out")" '' 'it is empty'
gives 0 'no way around it' guard run -- sh -c \
	'mv ~/.npmrc ~/x; rm -f ~/.npmrc; umount ~/.npmrc
	grep -r GEHEIM7 ~ 2>/dev/null; :'
silent "$out" GEHEIM7
gives 0 'what the run made of it' guard status

# --- what is hidden is named, once a project ---
silent "$err" 'hidden:'
mkdir -p "$HOME/.ssh" "$HOME/.aws" "$T/other"
gives 0 'credentials' guard run -- true
says "$err" 'hidden: '
tilde='~'
ssh=$tilde/.ssh
says "$err" "$ssh"
says "$err" '--ro PATH lets one in'
gives 0 'in the next run' guard run -- true
silent "$err" 'hidden:'
gives 0 'in another project' guard run -C "$T/other" --ro "$HOME/.ssh" -- true
says "$err" 'hidden: '
silent "$err" "$ssh"
mkdir -p "$HOME/.kube"
gives 0 'one more' guard run -- true
says "$err" '.kube'
silent "$err" "$ssh"

# --- a name is hidden, not what has another one ---
echo key >"$HOME/.ssh/id"
echo password >"$HOME/.netrc"
gives 0 'with one name each' guard run -- true
silent "$err" 'another name'
ln "$HOME/.ssh/id" "$HOME/copy-of-id"
ln "$HOME/.netrc" "$HOME/project/copy-of-netrc"
gives 0 'a file with two' guard run -- cat copy-of-netrc
says "$err" 'hidden, but has another name somewhere: '
says "$err" "$ssh/id"
says "$err" "$tilde/.netrc"
gives 0 'it is told once' guard run -- true
silent "$err" 'another name'
gives 0 'and can be hidden by that one, too' guard run \
	--hide "$HOME/copy-of-id" -- cat "$HOME/copy-of-id"
is "$(cat "$out")" '' 'it is empty then'
rm "$HOME/copy-of-id" "$HOME/project/copy-of-netrc" "$HOME/.netrc" \
	"$HOME/.ssh/id"

# --- and so are variables and sockets ---
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
gives 0 'quietly' guard run -q -- true
is "$(cat "$err")" '' 'nothing is told'
gives 7 'a socket out of reach' guard run --ro "$T/ask" -- perl "$T/ask" "$bus"
says "$err" 'not passed on: '
says "$err" GITHUB_TOKEN
says "$err" "out of reach: $bus"
gives 0 'another time' guard run -- true
silent "$err" GITHUB_TOKEN
silent "$err" "$bus:"
silent "$err" 'out of reach'
export DATABASE_URL=x
gives 0 'a new one' guard run -- true
says "$err" 'not passed on: DATABASE_URL (--env'
gives 0 'the flag that is named' guard run --ro "$T/ask" --ro "$bus" -- \
	perl "$T/ask" "$bus"
is "$(cat "$out")" answer 'lets it in'
gives 0 'and the variable' guard run --env GITHUB_TOKEN -- \
	sh -c 'echo "$GITHUB_TOKEN"'
is "$(cat "$out")" hunter2 'too'
gives 0 'a variable that names what is not seen' env SSH_AUTH_SOCK="$bus" \
	guard run --env SSH_AUTH_SOCK -- true
says "$err" "--ro '$bus' lets it in"
gives 0 'with it' env SSH_AUTH_SOCK="$bus" guard run --env SSH_AUTH_SOCK \
	--ro "$bus" -- true
silent "$err" "--ro '$bus' lets it in"
kill "$service"
wait "$service" 2>/dev/null
unset GITHUB_TOKEN DATABASE_URL

# --- what is no text, and what is none of it ---
head -c 100 /dev/zero >"$HOME/.npmrc"
printf '[user]\n\tname = Tester\n' >"$HOME/.gitconfig"
gives 0 'a file that is no text is hidden whole' guard run -- sh -c \
	'wc -c <~/.npmrc; git config --global user.name Other'
says "$out" 0
no 'and no settings of it are said to be seen' \
	grep -q 'without the secrets.*npmrc' "$err"
says "$err" "$tilde/.npmrc"
says "$err" '1 change in your home folder'
ok 'the files themselves are as before' \
	cmp "$HOME/.m2/settings.xml" "$T/before/.m2/settings.xml"

finish
