#!/bin/sh
# Marks: `guard mark` outside and inside of a run, the FIFO, and the hooks that
# the profiles of agents set.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# in_marked COMMAND [OPTIONS]: a run that goes on until the file "end" is there
in_marked() {
	command=$1
	shift
	rm -f "$T/ready" "$T/end"
	guard run -q --name r --ro "$T" "$@" -- sh -c "$command
		mkdir -p made; touch made/ready
		until [ -e '$T/end' ]; do sleep 0.02; done" \
		>"$T/run" 2>&1 </dev/null &
	until ls "$state"/runs/*/upper/made/ready >"$T/x" 2>&1; do
		kill -0 $! || break
		sleep 0.02
	done
}

ends() {
	touch "$T/end"
	wait
	guard discard -y -q >"$T/x" 2>&1
}

# --- inside: a hook never fails, prints nothing and never waits ---
cat >"$T/inside" <<'END'
a word	guard mark word
words	guard mark 'two words'
a run's name	guard mark r text
an empty text	guard mark ''
nothing to read	guard mark --prompt
no JSON	echo '{' | guard mark --prompt
no prompt	echo '{"prompt": 5}' | guard mark --prompt
a prompt	echo '{"prompt": "fix\nit"}' | guard mark --prompt
an open stdin	sleep 9 | timeout 3 guard mark --prompt
guard's program without a PATH	PATH=/nowhere /run/guard/guard mark text
the FIFO itself	printf 'text\n' >/run/guard/mark
a full FIFO	dd if=/dev/zero bs=4096 count=99 of=/run/guard/mark oflag=nonblock 2>/dev/null || guard mark text
END
gives 0 'a run with marks' guard run -q --ro "$T" -- sh -c '
	while IFS="	" read -r title command; do
		said=$(sh -c "$command" 2>&1 </dev/null)
		echo "$title: $said$?"
	done <"$1"' sh "$T/inside"
is "$(grep -v ': 0$' "$out")" '' 'each command ends with 0 and prints nothing'
is "$(wc -l <"$out")" "$(wc -l <"$T/inside")" 'each was tried'
in_marked 'cat /run/guard/mark; chmod 666 /run/guard/mark
	rm /run/guard/mark; mv /run/guard/mark /run/guard/other
	touch -d 2001-01-01 /run/guard/mark
	echo x >/run/guard/guard'
for text in 'cat: /run/guard/mark: Permission denied' 'Read-only file system' \
	'rm: cannot remove'; do
	says "$T/run" "$text"
done
gives 0 'the FIFO is there' guard exec r -- sh -c \
	'stat -c %A /run/guard/mark; ls /run/guard'
is "$(cat "$out")" "$(printf 'p-w--w--w-\nguard\nmark')" \
	'every user may write, no user read'
gives 0 'a second command may mark' guard exec r -- guard mark text

# --- outside ---
gives 0 'the only running run' guard mark text
says "$err" 'run r is marked'
gives 0 'a named one' guard mark r 'two words'
gives 0 'guard mark -q' guard mark -q text
is "$(cat "$err")" '' 'is silent'
gives 0 'a prompt' sh -c 'echo "{\"prompt\": \"x\"}" | guard mark --prompt'
gives 1 'an empty text is refused' guard mark r ' '
gives 1 'a run of no name' guard mark other text
gives 2 'no text' guard mark
gives 2 'more than a run and a text' guard mark r two words
gives 2 '--prompt has no text' guard mark --prompt text
ends
gives 1 'no run is running' guard mark text
guard run -q --name ended -- touch made
gives 1 'a run that has ended takes no marks' guard mark ended text
says "$err" 'has ended'
gives 0 'in a continued one' guard run -q --continue ended -- guard mark text
gives 0 'and in an exec of an ended one' guard exec -q ended -- guard mark text
guard discard -y -q

in_marked 'ls /run/guard; guard mark text && echo fine' --versions 0
is "$(cat "$T/run")" "$(printf 'guard\nfine')" 'a run without versions has no FIFO'
gives 1 'and takes no marks' guard mark text
says "$err" '--versions 0'
ends
for option in --strict --nested '--agent claude' --acp; do
	# shellcheck disable=SC2086 # no option, or two words
	gives 0 "a run with $option has marks" guard run -q $option -- sh -c \
		'[ -p /run/guard/mark ] && guard mark text && echo text >/run/guard/mark'
done
if [ "$me" = root ]; then
	mkdir /srv/p
	chmod 777 /srv/p
	gives 0 'and one of another user' guard run -q --user nobody -C /srv/p -- \
		sh -c 'id -u; echo text >/run/guard/mark'
	is "$(cat "$out")" 65534 'it is this user'
fi

# --- hooks ---
[ "$me" != root ] || finish
hook='/run/guard/guard mark --prompt || :'
mkdir -p "$HOME/.claude" "$HOME/.codex" "$HOME/.copilot/hooks"
cat >"$HOME/.claude/settings.json" <<'END'
{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
END
cp "$HOME/.claude/settings.json" "$HOME/.codex/hooks.json"
manifest "$HOME" >"$T/before"
has_hook() {
	python3 - "$1" "$2" "$hook" <<-'END'
		import json, sys
		groups = json.load(open(sys.argv[1]))["hooks"][sys.argv[2]]
		got = [h["command"] for g in groups for h in g["hooks"]]
		print(" ".join(got).replace(sys.argv[3], "ours"))
	END
}
for agent in claude codex gemini qwen copilot opencode; do
	[ $agent != claude ] || guard run -q --agent $agent -- true >"$out" 2>&1
	gives 0 "$agent starts" guard run --agent $agent -- true
	says "$err" 'changed nothing'
	silent "$err" warning
	home=$state/agents/$agent/home
	case $agent in
	claude) got=$(has_hook "$home/.claude/settings.json" UserPromptSubmit) ;;
	codex) got=$(has_hook "$home/.codex/hooks.json" UserPromptSubmit) ;;
	gemini) got=$(has_hook "$home/.gemini/settings.json" BeforeAgent) ;;
	qwen) got=$(has_hook "$home/.qwen/settings.json" UserPromptSubmit) ;;
	copilot) got=$(grep -o 'guard mark' "$home/.copilot/hooks/guard-mark.json") ;;
	opencode) got=$(grep -o 'GuardMark' "$home/.config/opencode/plugin/guard-mark.js") ;;
	esac
	case $agent in
	claude | codex) wanted='mine ours' ;;
	gemini | qwen) wanted=ours ;;
	copilot) wanted='guard mark' ;;
	opencode) wanted=GuardMark ;;
	esac
	is "$got" "$wanted" "$agent has the hook once, behind the user's own"
done
says "$state/agents/opencode/home/.config/opencode/.npmrc" \
	'fetch-retry-mintimeout=500'
# codex trusts each place of the list.
says "$state/agents/codex/home/.codex/config.toml" \
	"[hooks.state.\"$HOME/.codex/hooks.json:user_prompt_submit:1:0\"]"
settle
manifest "$HOME" >"$T/after"
ok "the user's own settings are as before" same "$T/before" "$T/after"

# --- several runs ---
cd "$HOME" || exit 99
mkdir two
cd two || exit 99
for name in left right; do
	guard run -q --name $name -- sleep 60 &
done
until [ "$(guard status -q | wc -l)" = 2 ] &&
	[ "$(guard status --porcelain | grep -c running)" = 2 ]; do
	kill -0 $! || break
	sleep 0.05
done
gives 4 'a mark for one of two runs' guard mark 'some words'
says "$err" "guard mark left 'some words'"
says "$err" "guard mark right 'some words'"
gives 0 'one is ended' guard stop -t 0 left
gives 0 'the other one is ended' guard stop -t 0 right
wait
settle

# Without a file of the user's, a later one is taken.
echo '{"ui": {"theme": "dark"}}' >"$T/settings"
mkdir -p "$HOME/.qwen"
cp "$T/settings" "$HOME/.qwen/settings.json"
gives 0 'the settings that the user makes later' guard run --agent qwen -- \
	cat "$HOME/.qwen/settings.json"
says "$out" '"theme": "dark"'
says "$out" "$hook"

# A run that takes the hook away has changed the settings; a discard puts them
# back, and the next start the hook.
gives 0 'a run without the hook' guard run --name without --agent claude -- \
	sh -c 'echo "{\"hooks\": {\"Stop\": [1]}}" >~/.claude/settings.json; echo >made'
says "$err" 'M  ~/.claude/settings.json'
gives 0 'another run' guard run -q --agent claude -- true
gives 0 'its discard' guard discard -y without
gives 0 'the next run' guard run -q --agent claude -- true
is "$(has_hook "$state/agents/claude/home/.claude/settings.json" \
	UserPromptSubmit)" 'mine ours' 'has them again'
finish
