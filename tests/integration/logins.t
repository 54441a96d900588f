#!/bin/sh
# Logins of real programs, from their documents (tests/data/logins): what a run
# reads of them, at their places and behind links.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
tilde='~'
grep -v '^#' /opt/guard/tests/data/logins >"$T/table"

# plant FILE...: files with a secret, in the syntax of settings
plant() {
	for planted in "$@"; do
		case $planted in */*) mkdir -p "${planted%/*}" ;; esac
		printf '[x]\ntoken = "GEHEIM7"\n' >"$planted"
	done
}

# readable HALF: how many of the table the present program can read
cat >"$T/readable" <<'END2'
cd "$HOME" || exit
sed -n "s/^$2	\([^	]*\).*/\1/p" "$1" | tr '\n' '\0' |
	xargs -0 grep -ls GEHEIM7
:
END2
cut -f 2 "$T/table" >"$T/paths"
while read -r path; do
	plant "$HOME/$path"
done <"$T/paths"
listed=$(grep -c ^listed "$T/table")
other=$(grep -c ^other "$T/table")
ok 'the table has at least 75 logins of each half' \
	test "$listed" -ge 75 -a "$other" -ge 75
is "$(sh "$T/readable" "$T/table" listed | wc -l)" "$listed" \
	'all are readable without guard'
gives 0 'a run starts in a home with all of them' guard run --ro "$T" -- \
	sh "$T/readable" "$T/table" listed
is "$(cat "$out")" '' 'a run reads no login of a listed place'
gives 0 'a run looks for the others' guard run --ro "$T" -- \
	sh "$T/readable" "$T/table" other
ok 'a run reads at most four fifths of the others' \
	test "$(wc -l <"$out")" -le $((other * 4 / 5))

# --- names of any program ---
plant "$HOME/.anyprogram/credentials.json" "$HOME/.config/any/api-key" \
	"$HOME/.cache/any/refresh_token" "$HOME/.local/state/any/.env" \
	"$HOME/.local/share/any/id_ed25519"
gives 0 'names of logins are hidden whatever their program is' guard run -- \
	sh -c 'cat ~/.any*/* ~/.config/any/* ~/.cache/any/* \
		~/.local/*/any/.[e]* ~/.local/share/any/*; :'
silent "$out" GEHEIM7
plant "$HOME/.config/any/settings" "$HOME/.config/any/tokenizer.json" \
	"$HOME/.config/any/author.toml" "$HOME/.config/any/keymap.json" \
	"$HOME/.config/any/keys.lua" "$HOME/.config/any/keys.conf" \
	"$HOME/.config/any/access.log" "$HOME/.config/any/login.nu"
gives 0 'other names of that directory are visible' guard run -- sh -c \
	'cd ~/.config/any; cat settings tokenizer.json author.toml keymap.json \
		keys.lua keys.conf access.log login.nu'
is "$(grep -c GEHEIM7 "$out")" 8 'all of them are read'
gives 0 'explain names the line that hides a file' \
	guard explain "$HOME/.config/any/api-key"
says "$out" "(credentials: $tilde/.config/*/NAME)"
gives 0 '--ro grants such a file' guard run --ro "$HOME/.config/any/api-key" \
	-- cat "$HOME/.config/any/api-key"
says "$out" GEHEIM7

# --- password databases, but not the project's files ---
mkdir -p "$HOME/app/test"
plant "$HOME/a.kdbx" "$HOME/b/b.kdbx" "$HOME/Documents/c/c.kdbx" \
	"$HOME/app/fixture.kdbx"
gives 0 'a password database is hidden' guard -C "$HOME/app" run -- \
	sh -c 'cat ~/a.kdbx ~/b/b.kdbx ~/Documents/c/c.kdbx; :'
silent "$out" GEHEIM7
gives 0 "the project's own database is visible" \
	guard -C "$HOME/app" run -- cat fixture.kdbx
says "$out" GEHEIM7
gives 0 'from another project it is hidden' \
	guard run -- cat "$HOME/app/fixture.kdbx"
silent "$out" GEHEIM7

# --- links ---
mv "$HOME/.config" "$HOME/dotfiles"
ln -s dotfiles "$HOME/.config"
plant /srv/keys/id_rsa /srv/stow/token "$HOME/project/edgerc"
ln -s /srv/keys "$HOME/.ssh"
ln -s /srv/stow "$HOME/.config/stowed"
ln -sf project/edgerc "$HOME/.edgerc"
gives 0 'a run starts in a home of links' guard run --ro "$T" -- \
	sh "$T/readable" "$T/table" listed
is "$(cat "$out")" '' 'a run reads no login behind a link'
gives 0 'targets of links are hidden, too' guard run -- sh -c \
	'cat ~/.ssh/id_rsa /srv/keys/id_rsa ~/.config/stowed/token \
		/srv/stow/token ~/dotfiles/any/api-key edgerc; :'
silent "$out" GEHEIM7

# --- files that start files read ---
: >"$T/sourced"
while read -r name; do
	mkdir -p "$(dirname "$HOME/$name")"
	echo 'export SOME_TOKEN=ghp_GEHEIM7GEHEIM7GEHEIM7' >"$HOME/$name"
	echo "$HOME/$name" >>"$T/sourced"
done <<'END2'
.plain
.in quotes
.bashrc.d/one
.bashrc.d/two
dots/a.sh
dots/b.sh
.braces
.braced
.relative
.escaped
.bash/token.sh
.instead
z/d/a.zsh
.config/z/aliases
loop/a.sh
loop/b.sh
.fished
END2
cat >"$HOME/.bashrc" <<'END2'
# . ~/.comment
. ~/.plain
[ -r "$HOME/.in quotes" ] && source "$HOME/.in quotes"
if [ -d ~/.bashrc.d ]; then
	for rc in ~/.bashrc.d/*; do
		if [ -f "$rc" ]; then . "$rc"; fi
	done
fi
export DOTS=$HOME/dots
other="${DOTS}/b.sh"
source $DOTS/a.sh; source "$other"
for file in ~/.{braces,braced}; do [ -r "$file" ] && source "$file"; done
. .relative
[ -s ~/.escaped ] && \. ~/.escaped; . ~/.bash/token.sh
test -f x || . ${UNSET:-$HOME}/.instead
A=$A/x; . $A; find . -name x; . $(touch /tmp/made); echo "no end
END2
cat >"$HOME/.zshrc" <<'END2'
for f (~/z/d/*.zsh(N)) source $f
source ${XDG_CONFIG_HOME:-$HOME/.config}/z/aliases
for i in 1 2 3; do echo $i; done
for f in ~/loop/a.sh \
	~/loop/b.sh
do
	. "$f"
done
END2
mkdir -p "$HOME/.config/fish"
echo 'test -f ~/.fished; and source ~/.fished' >"$HOME/.config/fish/config.fish"
echo 'export SOME_TOKEN=ghp_GEHEIM7GEHEIM7GEHEIM7' >"$HOME/.comment"
gives 0 'a run reads what start files source' guard run --ro "$T" -- \
	sh -c 'tr "\n" "\0" <"$0" | xargs -0 cat' "$T/sourced"
silent "$out" GEHEIM7
is "$(grep -c 'export SOME_TOKEN=' "$out")" "$(wc -l <"$T/sourced")" \
	'all but the secrets is there'
no 'no command of a start file was executed' test -e /tmp/made
gives 0 'a file that is named in a comment is no such file' \
	guard run -- cat "$HOME/.comment"
says "$out" GEHEIM7

# --- a login that is made after a run ---
gives 0 'the names of directories are kept' guard run -- true
plant "$HOME/.config/later/token"
gives 0 'a new login is hidden from the next run' \
	guard run -- cat "$HOME/.config/later/token"
silent "$out" GEHEIM7

finish
