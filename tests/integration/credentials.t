#!/bin/sh
# Credentials at their default places, and where variables and settings move
# them: readable without guard, not in a run.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
tilde='~'
source=/opt/guard/guard/sandbox/places.list
mkdir -p /srv/moved

# plant FILE: a file with a secret, in the syntax of settings
plant() {
	mkdir -p "${1%/*}"
	printf '[x]\n\ttoken = "GEHEIM7"\n' >"$1"
	echo "$1" >>"$T/planted"
}

# hidden TITLE [VAR=VALUE...]: all that was planted is readable outside, nothing
# in a run with these variables
hidden() {
	label=$1
	shift
	is "$(tr '\n' '\0' <"$T/planted" | xargs -0 grep -l GEHEIM7 | wc -l)" \
		"$(wc -l <"$T/planted")" "$label: all are readable without guard"
	tr '\n' '\0' <"$T/planted" >"$T/planted0"
	gives 0 "$label: the run starts" env "$@" guard run --ro "$T/planted0" \
		-- sh -c 'xargs -0 grep -l GEHEIM7 <"$0" 2>/dev/null; :' \
		"$T/planted0"
	is "$(cat "$out")" '' "$label: a run reads none"
}

# --- the whole table ---
sed -n '/: /d; s/^hide ~\/\(.*\)/\1/p' "$source" >"$T/masked"
sed -n '/: /d; s/^\(copy\|hide-copy\|prose\) ~\/\(.*\)/\2/p' "$source" \
	>"$T/settings"
sed -n 's/^move \$\([^ ]*\) *\(~\/\)*\(.*\)/\1 \3/p' "$source" >"$T/bases"
ok 'the table is found' test "$(cat "$T/masked" "$T/settings" | wc -l)" -gt 150
sed -n 's/^login ~\/\(.*\)/\1/p' /opt/guard/guard/agent/profiles/* >"$T/logins"
while read -r login; do
	ok "the login of an agent, $login, is in the table" \
		grep -qxF "$login" "$T/masked"
done <"$T/logins"
ok 'agents have logins' test -s "$T/logins"
{
	sed 's|$|/secret|' "$T/masked"
	cat "$T/settings"
} | sed 's|/NAME|/token|; s/[*]/x/g' >"$T/table"
: >"$T/planted"
while read -r name; do
	plant "$HOME/$name"
done <"$T/table"
hidden 'default places'
says "$err" "$tilde/.ssh"

: >"$T/planted"
set --
while read -r variable at; do
	set -- "$@" "$variable=/srv/moved/$variable"
	[ -n "$at" ] || plant "/srv/moved/$variable/secret"
	while read -r name; do
		case $name in
		"$at"/*) plant "/srv/moved/$variable/${name#"$at"/}" ;;
		esac
	done <"$T/table"
done <"$T/bases"
hidden 'moved places' GUARD_HOME="$state" "$@"
says "$err" '/srv/moved/XDG_CONFIG_HOME/gh (XDG_CONFIG_HOME)'

# --- files ---
: >"$T/planted"
for name in a b c d e f g h i j k l m n; do
	plant "/srv/moved/$name.conf"
done
ln -s a.conf /srv/moved/link
set -- KUBECONFIG=/srv/moved/a.conf:/srv/moved/b.conf \
	AWS_SHARED_CREDENTIALS_FILE=/srv/moved/c.conf \
	AWS_CONFIG_FILE=/srv/moved/d.conf \
	GOOGLE_APPLICATION_CREDENTIALS=/srv/moved/e.conf \
	NPM_CONFIG_USERCONFIG=/srv/moved/f.conf \
	PIP_CONFIG_FILE=/srv/moved/g.conf PGPASSFILE=/srv/moved/h.conf \
	RCLONE_CONFIG=../../../srv/moved/i.conf \
	SOPS_AGE_KEY_FILE=/srv/moved/j.conf XAUTHORITY=/srv/moved/k.conf \
	KRB5CCNAME=FILE:/srv/moved/l.conf HISTFILE=/srv/moved/m.conf \
	MY_COOKIES=/srv/moved/n.conf
[ "$me" != root ] || set -- "$@" RCLONE_CONFIG=../../srv/moved/i.conf
hidden 'files that variables name' "$@"
says "$err" '/srv/moved/a.conf (KUBECONFIG)'
gives 0 'a file behind a link is hidden' \
	env KUBECONFIG=/srv/moved/link guard run -- \
	sh -c 'cat /srv/moved/link /srv/moved/a.conf'
silent "$out" GEHEIM7
gives 0 '--ro grants a file that a variable names' \
	env "$@" guard run --ro /srv/moved/a.conf -- cat /srv/moved/a.conf
says "$out" GEHEIM7

# --- in the project ---
echo GEHEIM7 >key.json
gives 0 'a file in the project is hidden' \
	env GOOGLE_APPLICATION_CREDENTIALS=key.json guard run -- cat key.json
is "$(cat "$out")" '' 'the file in the project is empty'
says "$err" "'key.json' is hidden (GOOGLE_APPLICATION_CREDENTIALS); --ro key.json grants it"
gives 0 'the option in that message grants the file' \
	env GOOGLE_APPLICATION_CREDENTIALS=key.json \
	guard run --ro key.json -- cat key.json
says "$out" GEHEIM7
gives 0 'a home that a variable names is not hidden' \
	env GNUPGHOME="$HOME" guard run -- cat README.md
says "$out" '# Project'
says "$err" "GNUPGHOME names '$tilde': not hidden, it contains the project"
gives 0 'the root directory is not hidden' \
	env GNUPGHOME=/ KUBECONFIG=/ guard run -- cat README.md
says "$err" "GNUPGHOME names '/': not hidden, it contains the project"

# --- explain ---
gives 0 'explain accepts a hidden path' guard explain "$HOME/.ssh/id"
says "$out" "(credentials: $tilde/.ssh)"
gives 0 'explain names the variable' \
	env GNUPGHOME=/srv/moved/GNUPGHOME guard explain /srv/moved/GNUPGHOME/x
says "$out" '(credentials: GNUPGHOME)'

# --- shell start files and included settings ---
rm -f "$HOME/.bashrc" "$HOME/.profile"
cat >"$HOME/.bashrc" <<'END'
alias ll='ls -l'
export GITHUB_TOKEN=ghp_GEHEIM7GEHEIM7GEHEIM7
END
echo 'alias x=y' >"$HOME/.profile"
printf '[include]\n\tpath = ~/work.inc\n' >"$HOME/.gitconfig"
plant "$HOME/work.inc"
mkdir -p "$HOME/.config/fish" "$HOME/dots"
echo 'set -gx DB_PASSWORD GEHEIM7' >"$HOME/.config/fish/config.fish"
printf '%s\n' 'SETUVAR --export A_TOKEN:GEHEIM7\x2d' >"$HOME/.config/fish/fish_variables"
echo typed GEHEIM7 >"$HOME/dots/.zsh_history"
gives 0 'a run reads start files without their secrets' \
	env ZDOTDIR="$HOME/dots" guard run -- sh -c \
	'cat ~/.bashrc ~/work.inc ~/.config/fish/*; cat ~/dots/.zsh_history; :'
says "$out" 'set -gx DB_PASSWORD'
says "$out" "alias ll='ls -l'"
says "$out" 'export GITHUB_TOKEN='
silent "$out" GEHEIM7
says "$err" "without their secrets: "
gives 0 'a start file without secrets can be changed' \
	guard run -- sh -c 'echo "alias z=y" >>~/.profile'
gives 0 'a start file with secrets cannot be changed' \
	guard run -- sh -c '! (echo x >>~/.bashrc) 2>/dev/null'

finish
