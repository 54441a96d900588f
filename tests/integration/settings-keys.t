#!/bin/sh
# Keys in settings of agents: the run of an agent has its own, every other run
# has none. Walks the lines of all profiles, so that a new line is covered.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
tilde='~'

# plant PATH MARK: settings below the home directory with a key, in their format
plant() {
	mkdir -p "$HOME/$(dirname "$1")"
	case $1 in
	*.json*)
		printf '// "apiKey": "%s9"\n{"plain": "seen", "a": [{"apiKey": "%s1",
		"env": {"NAME": "%s2"}, "args": ["--api-key", "%s3", "-H",
		"X-Auth: %s4", "FOO_KEY=%s5"], "url": "https://u:%s6@h/x",
		"headers": {"X-Some": "%s7"}, "FOO_KEY": "%s8",},],}\n' \
			"$2" "$2" "$2" "$2" "$2" "$2" "$2" "$2" "$2"
		;;
	*.y*ml)
		printf 'plain: seen\nkey: %s1\nmodels:\n  - name: x
    apiKey: "%s2"\n    env:\n      NAME: %s3
    requestOptions: {headers: {X-Auth: %s4}}
    args:\n      - --token\n      - %s5\nmy-api-key: [%s6]\n' \
			"$2" "$2" "$2" "$2" "$2" "$2"
		;;
	*.toml)
		printf 'plain = "seen"\nbearer_token = "%s1"\n[m.x]
env = { NAME = "%s2" }\nargs = ["--key", "%s3"]\n[m.y.env]\nNAME = "%s4"
[m.z.http_headers]\n"X-Some" = "%s5"\n[o]\nurl = "https://u:%s6@h/x"\n' \
			"$2" "$2" "$2" "$2" "$2" "$2"
		;;
	*.env) printf '# plain\nFOO=%s1\nexport A_KEY="%s2"\n' "$2" "$2" ;;
	*) printf 'plain\nexport A_TOKEN=%s1\ncurl -H "Authorization: Bearer %s2"\n' \
		"$2" "$2" ;;
	esac >"$HOME/$1"
}

# Each settings file that a line of a profile names; "DIR": three files in it.
guard agents --json | sed -n 's/.*"name": "\(.*\)",/\1/p' >"$T/agents"
while read -r agent; do
	guard agents "$agent" |
		sed -n "s!^\(seed\|keys\|write\|nested\|initial\|login\|code\|ro\) $tilde/\([^ #*]*\)[ #].*!$agent \1 \2!p"
done <"$T/agents" | while read -r agent word path; do
	case $word,${path##*/} in
	initial,* | ro,*) case ${path##*/} in ?*.*) ;; *) continue ;; esac ;;
	seed,?*.* | seed,.env) ;;
	seed,*)
		for name in a.md b/c.json d.sh; do
			echo "$agent $word $path/$name"
		done
		continue
		;;
	esac
	echo "$agent $word $path"
done | awk '!seen[$3]++' >"$T/lines"
count=$(wc -l <"$T/lines")
ok 'the profiles name many settings' test "$count" -gt 100
number=0
while read -r agent word path; do
	number=$((number + 1))
	plant "$path" "GEHEIM${number}x"
done <"$T/lines"

gives 0 'no run without an agent reads a key of an agent' guard run \
	--agent none -- sh -c 'grep -rs GEHEIM ~; cat ~/.pi/agent/models.json'
silent "$out" GEHEIM
says "$out" '"plain": "seen"'
while read -r agent; do
	[ "$agent" != default ] || continue
	gives 0 "$agent starts with the keys of its settings" guard run \
		--agent "$agent" -- sh -c 'grep -rs GEHEIM ~; :'
	sed -n 's/.*\(GEHEIM[0-9]*\)x.*/\1/p' "$out" | sort -u >"$T/got"
	awk -v agent="$agent" '{ n = "GEHEIM" NR; }
		$1 == agent && ($2 == "seed" || $2 == "ro") { print n }' \
		"$T/lines" | sort -u >"$T/own"
	awk -v agent="$agent" '$1 != agent { print "GEHEIM" NR }' \
		"$T/lines" | sort -u >"$T/others"
	is "$(comm -13 "$T/got" "$T/own" | head -n 3)" '' \
		"the run of $agent has all of its keys"
	is "$(comm -12 "$T/got" "$T/others" | head -n 3)" '' \
		"the run of $agent has no key of another agent"
done <"$T/agents"

# --- the user's edits ---
agent_sees() {
	gives 0 "$1" guard run --agent pi -- cat "$HOME/.pi/agent/models.json"
}
models=$HOME/.pi/agent/models.json
echo '{"apiKey": "GEHEIM-new"}' >"$models"
agent_sees 'a new key of the user is there in the next run'
says "$out" 'GEHEIM-new'
says "$err" "$tilde/.pi/agent/models.json (apiKey)"
gives 0 'quiet' guard run -q --agent pi -- true
is "$(cat "$err")" '' '-q names no key'
gives 0 'an agent changes its settings' guard run --agent pi -- \
	sh -c 'echo "{\"apiKey\": \"GEHEIM-old\", \"own\": [1]}" >~/.pi/agent/models.json'
agent_sees 'they stay, but for the key of the user'
says "$out" own
says "$out" GEHEIM-new
silent "$out" GEHEIM-old
echo '{"apiKey": "GEHEIM-newer", "headers": {"X": "y"}, "theme": "x"}' >"$models"
agent_sees 'a change of both keeps those of the agent'
says "$out" own
silent "$out" theme
says "$out" GEHEIM-newer
says "$out" '"X": "y"'
says "$err" "$tilde/.pi/agent/models.json was changed outside, and guard's copy by pi"
agent_sees 'which is said once'
silent "$err" 'changed outside'
says "$out" GEHEIM-newer
gives 0 'an undo' guard agents pi --undo -y
agent_sees 'the key is not undone'
says "$out" GEHEIM-newer

# rotates AGENT PATH: of a copy that a run has changed the key follows, in the
# file's own format, and the change stays
rotates() {
	plant "$2" GEHEIMold
	guard agents -q --reset "$1" -y
	gives 0 "$2: a run adds a line" guard run --agent "$1" -- \
		sh -c '{ echo "$1"; cat "$0"; } >~/x && cat ~/x >"$0"' \
		"$HOME/$2" "$3"
	plant "$2" GEHEIMrotated
	gives 0 "$2: the next run" guard run --agent "$1" -- cat "$HOME/$2"
	silent "$out" GEHEIMold
	says "$out" GEHEIMrotated
	says "$out" own
	silent "$err" 'other keys than yours'
}
gives 0 'a run removes its settings' guard run --agent gemini -- \
	rm -f "$HOME/.gemini/.env"
gives 0 'they stay removed' guard run --agent gemini -- \
	test ! -e "$HOME/.gemini/.env"
plant .gemini/.env GEHEIMagain
gives 0 'and come back when the user changes them' guard run --agent gemini -- \
	cat "$HOME/.gemini/.env"
says "$out" GEHEIMagain
rotates codex .codex/config.toml 'own = 1'
rotates cn .continue/config.yaml 'own: 1'
rotates gemini .gemini/.env 'own=on'
gives 0 'a run adds a key' guard run --agent codex -- \
	sh -c 'echo "token = \"mine\"" >>~/.codex/config.toml'
for start in first second; do
	gives 0 "that the user does not have: $start start" \
		guard run --agent codex -- true
	says "$err" "$tilde/.codex/config.toml: the copy of codex may have other keys than yours"
done
guard agents -q --reset codex -y
echo new >"$HOME/.claude/skills/new.md"
echo "changed" >"$HOME/.claude/skills/a.md"
rm "$HOME/.claude/skills/d.sh"
gives 0 'a directory of settings follows the edits, too' \
	guard run --agent claude -- sh -c 'cd ~/.claude/skills; cat new.md a.md
	cat d.sh b/c.json >/dev/null; echo own >a.md; rm new.md'
is "$(cat "$out")" "new
changed" 'a new file and a changed one'
gives 0 'changes of a run in it stay' \
	guard run --agent claude -- sh -c 'cd ~/.claude/skills; cat a.md; ls'
says "$out" own
silent "$out" new.md
rm "$HOME/.codex/hooks.json"
guard agents -q --reset codex -y
gives 0 'a run without the file' guard run --agent codex -- true
echo '{"hooks": {}}' >"$HOME/.codex/hooks.json"
gives 0 'settings that are new come along' guard run --agent codex -- \
	cat "$HOME/.codex/hooks.json"
says "$out" hooks

mkdir "$HOME/target"
gives 0 'a run puts a link into its home' guard run --agent cline -- sh -c '
	rm -r ~/.cline/data; ln -s ~/target ~/.cline/data'
guard discard -q -y
echo >>"$HOME/.cline/data/settings/global-settings.json"
gives 0 'the next start does not follow it' guard run --agent cline -- true
is "$(ls "$HOME/target")" '' 'and creates nothing there'

# --- a home of an earlier version ---
home=$state/agents/cn
rm -f "$home/seeds"
grep -v GEHEIM "$HOME/.continue/config.yaml" >"$home/home/.continue/config.yaml"
touch -r "$home/home" "$home/home/.continue/config.yaml"
gives 0 'a copy without keys that no run has changed is renewed' \
	guard run --agent cn -- cat "$HOME/.continue/config.yaml"
says "$out" GEHEIM
rm -f "$home/seeds"
echo 'own: 1' >"$home/home/.continue/config.yaml"
touch -d '+1 hour' "$home/home/.continue/config.yaml"
gives 0 'one that a run has changed stays' \
	guard run --agent cn -- cat "$HOME/.continue/config.yaml"
is "$(cat "$out")" 'own: 1' 'it has the change'

bad=$(printf 'n\033[2J\nm')
echo one >"$HOME/.claude/skills/$bad"
gives 0 'a name with control characters' guard run --agent claude -- \
	sh -c 'echo own >"$0"' "$HOME/.claude/skills/$bad"
echo two >"$HOME/.claude/skills/$bad"
gives 0 'it is escaped' guard run --agent claude -- true
says "$err" 'm was changed outside'
no 'the message has no control character' grep -q "$(printf '\033')" "$err"

# --- entries without a copy ---
mkdir "$HOME/.claude/plugins/cache"
gives 0 'a directory of plugins without any is not named' \
	guard run --agent claude -- true
silent "$err" 'not taken along'
echo '{}' >"$HOME/.claude/plugins/installed_plugins.json"
mkdir -p "$HOME/.claude/workflows" "$HOME/.claude/todos/hooks" "$HOME/.pi/agent/tools"
echo x >"$HOME/.claude/statusline"
chmod 755 "$HOME/.claude/statusline"
gives 0 'what an agent could execute or obey, and is not copied' \
	guard run --agent claude -- true
says "$err" "not taken along: $tilde/.claude/statusline, $tilde/.claude/workflows, $tilde/.claude/plugins/installed_plugins.json (a seed line in $tilde/.config/guard/agents/claude copies it)"
gives 0 'beside settings deep in a home' guard run --agent pi -- true
says "$err" "not taken along: $tilde/.pi/agent/tools ("
gives 0 'quiet' guard run -q --agent claude -- true
is "$(cat "$err")" '' '-q names nothing'
mkdir -p "$HOME/.config/guard/agents"
printf 'seed ~/.claude/%s\n' statusline workflows plugins \
	>"$HOME/.config/guard/agents/claude"
gives 0 'a line of the user takes it along' guard run --agent claude -- \
	cat "$HOME/.claude/statusline"
silent "$err" 'not taken along'

# --- a profile of the user's own, links, and settings that cannot be read ---
printf 'home ~/.mine\nseed ~/.mine/settings.json\nseed ~/.mine/many\n' \
	>"$HOME/.config/guard/agents/mine"
mkdir -p "$HOME/.mine/many" "$HOME/dotfiles"
plant dotfiles/mine.json GEHEIM
ln -s ../dotfiles/mine.json "$HOME/.mine/settings.json"
ln -s ../../dotfiles/mine.json "$HOME/.mine/many/link.json"
ln "$HOME/.claude/settings.json" "$HOME/hard-link"
perl -e 'print "{\"x\": \"", "y" x 1500000, "\", \"apiKey\": \"GEHEIM\"}"' \
	>"$HOME/.gemini/settings.json"
printf '\0 GEHEIM' >"$HOME/.qwen/settings.json"
echo '{"a": "b, "apiKey": "GEHEIM12x", "c": [1}' >"$HOME/.copilot/mcp-config.json"
chmod 0 "$HOME/.copilot/settings.json"
gives 0 'no other run sees them' guard run -- sh -c \
	'chmod 600 ~/.copilot/settings.json; rm ~/hard-link
	grep -rsl GEHEIM ~; cat ~/.mine/settings.json'
is "$(grep GEHEIM "$out")" '' 'there is no key'
says "$out" '"plain": "seen"'
says "$err" "masked, but it has another hard link: $tilde/.claude/settings.json"
gives 0 'its own run has them' guard run --agent mine -- \
	cat "$HOME/.mine/settings.json"
says "$out" GEHEIM
i=0
while [ $((i += 1)) -lt 501 ]; do
	echo 'A_TOKEN=GEHEIM' >"$HOME/.mine/many/$i"
done
gives 0 'a directory with too many files is closed' guard run -- sh -c \
	'ls ~/.mine/many | wc -l'
says "$out" 0

# --- a run cannot take a key away ---
manifest "$HOME" >"$T/before"
# shellcheck disable=SC2016
gives 0 'a run tries to replace settings' guard run --name evil -- sh -c '
	for file in ~/.config/opencode/opencode.json ~/.pi/agent/models.json \
		~/.claude/hooks/d.sh; do
		echo x >"$file"; sed -i s/a/b/ "$file"; rm -f "$file"
		cp ~/.profile "${file%/*}/new"; mv "${file%/*}/new" "$file"
		mv "$file" "$file.old"; rm -rf "${file%/*}"; mv "${file%/*}" ~/moved
	done; rm -rf ~/moved
	echo y >~/project/y; :'
guard apply -q -y evil >/dev/null 2>&1
for path in .config/opencode/opencode.json .pi/agent/models.json \
	.claude/hooks/d.sh; do
	guard apply -q -y --yes-to "$tilde/$path" evil "$tilde/$path" \
		>/dev/null 2>&1
	ok "the apply leaves the key in $path" grep -q GEHEIM "$HOME/$path"
done
ok 'the apply takes the rest' test -e y
finish
