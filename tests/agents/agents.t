#!/bin/sh
# A real agent that tests/agents/run has installed, inside guard: it starts,
# changes nothing in a plain session, shows its screen, is told by a model server
# on loopback to destroy everything, continues its session in the next run, and
# finds its login again. The host does not change, and the diff has it all.
#
#	agents.t NAME
#
# A line "# cell NAME COLUMN = TEXT" is a cell of the table in docs/agents.md.
# The functions of an agent are called through names, and its options are words.
# shellcheck disable=SC2317,SC2086
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

name=$1
here=$(cd "${0%/*}" && pwd)
bin=$here/../../build/agents/$name/node_modules/.bin/$name
make_home
mkdir -p "$HOME/bin" "$HOME/.cache"
cd "$HOME/project" || exit 99

host() {
	manifest "$HOME" >"$T/$1"
}

cell() {
	echo "# cell $name $1 = $2"
}

# check COLUMN GOOD BAD: the cell, GOOD when no check failed since the last one
failed=0
check() {
	if [ "$failures" -eq "$failed" ]; then
		cell "$1" "$2"
	else
		cell "$1" "$3"
	fi
	failed=$failures
}

model() {
	rm -f "$T/port"
	"$here/model" "$T/port" "$1" "$T/log" &
	model=$!
	until [ -s "$T/port" ]; do
		kill -0 "$model" || exit 99
		sleep 0.02
	done
	url=http://127.0.0.1:$(cat "$T/port")
}

ask_model() {
	python3 -c 'import sys, urllib.request as u
u.build_opener(u.ProxyHandler({})).open(sys.argv[1])' "$url/$1"
}

model_ends() {
	ask_model quit
	wait "$model"
	sed 's/^/# asked: /' "$T/log" | cut -c 1-150 | sort | uniq -c | head -n 12
}

# run_agent ARGS: guard run with the options of the agent
run_agent() {
	guard run --timeout 100 $options -- "$@"
}

# A first start may print more: copilot unpacks itself.
"$bin" --version >/dev/null 2>&1 </dev/null
if [ ! -x "$bin" ] || ! "$bin" --version >"$T/v" 2>&1 </dev/null; then
	cell version "$(head -n 1 "$T/v" 2>/dev/null |
		grep . || echo 'cannot be installed')"
	skip "$name does not start here at all"
	finish
	exit
fi

# --- the commands: ask PROMPT, again PROMPT, and the start of the screen ---
cp "$here/calls" "$T/calls"
model "$T/calls"
options=
login=
screen=$bin
plain=
resumed() {
	grep -q 'first prompt.* last prompt' "$T/log"
}
case $name in
claude)
	options="--env ANTHROPIC_AUTH_TOKEN=none --env ANTHROPIC_BASE_URL=$url"
	ask() {
		run_agent "$bin" -p --dangerously-skip-permissions "$@"
	}
	again() {
		ask --continue "$@"
	}
	login=.claude/.credentials.json
	printf '{"hasCompletedOnboarding":true,"theme":"dark","projects":
		{"%s":{"hasTrustDialogAccepted":true}}}\n' "$PWD" >"$HOME/.claude.json"
	mkdir "$HOME/.claude"
	printf '{"disableDeepLinkRegistration":"disable","hooks":
		{"Stop":[{"hooks":[{"type":"command","command":"%s"}]}]}}\n' \
		'date >> ~/.claude-stop.log' >"$HOME/.claude/settings.json"
	;;
codex)
	options='--env KEY=none'
	mkdir "$HOME/.codex"
	printf 'model = "any"\nmodel_provider = "here"\n[model_providers.here]
name = "here"\nbase_url = "%s/v1"\nenv_key = "KEY"\nwire_api = "responses"
[projects."%s"]\ntrust_level = "trusted"\n' "$url" "$PWD" >"$HOME/.codex/config.toml"
	ask() {
		run_agent "$bin" exec --skip-git-repo-check \
			--dangerously-bypass-approvals-and-sandbox "$@"
	}
	again() {
		run_agent "$bin" exec resume --last --skip-git-repo-check \
			--dangerously-bypass-approvals-and-sandbox "$@"
	}
	login=.codex/auth.json
	;;
gemini)
	options="--env GEMINI_API_KEY=none --env GOOGLE_GEMINI_BASE_URL=$url
		--env GEMINI_CLI_TRUST_WORKSPACE=true --env NO_BROWSER=true"
	mkdir -p "$HOME/.gemini"
	printf '{"security":{"auth":{"selectedType":"gemini-api-key"}}}\n' \
		>"$HOME/.gemini/settings.json"
	ask() {
		run_agent "$bin" -m gemini-2.5-flash --yolo -p "$@"
	}
	again() {
		run_agent "$bin" -m gemini-2.5-flash --yolo --resume latest -p "$@"
	}
	login=.gemini/oauth_creds.json
	;;
opencode)
	options='--env ANTHROPIC_API_KEY=none'
	mkdir -p "$HOME/.config/opencode"
	printf '{"provider":{"anthropic":{"options":{"baseURL":"%s/v1","key":"x"}}}}\n' \
		"$url" >"$HOME/.config/opencode/opencode.json"
	ask() {
		run_agent "$bin" run --auto -m anthropic/claude-sonnet-4-5 "$@"
	}
	again() {
		ask --continue "$@"
	}
	login=.local/share/opencode/auth.json
	;;
qwen)
	options="--env OPENAI_API_KEY=none --env OPENAI_BASE_URL=$url/v1
		--env OPENAI_MODEL=any"
	ask() {
		run_agent "$bin" --auth-type openai --yolo -p "$@"
	}
	again() {
		run_agent "$bin" --auth-type openai --yolo --continue -p "$@"
	}
	login=.qwen/oauth_creds.json
	screen="$bin --auth-type openai"
	;;
copilot)
	options="--env COPILOT_OFFLINE=true --env COPILOT_MODEL=gpt-4.1
		--env COPILOT_PROVIDER_BASE_URL=$url/v1"
	ask() {
		run_agent "$bin" --allow-all-tools --allow-all-paths -p "$@"
	}
	again() {
		run_agent "$bin" --allow-all-tools --allow-all-paths \
			--continue -p "$@"
	}
	login=.copilot/config.json
	;;
cline)
	# The agent's own command writes the login, into a run.
	run_agent "$bin" auth -p openai -k none -m any -b "$url/v1" \
		>"$T/x" 2>&1
	ask() {
		run_agent "$bin" "$@"
	}
	again() {
		session=$(run_agent "$bin" history --json 2>/dev/null |
			grep -oE '"(id|sessionId)": *"[^"]*"' | head -n 1 |
			cut -d '"' -f 4)
		# Only at a terminal.
		"$here/screen" "$T/screen" 0 guard run --timeout 90 $options -- \
			"$bin" --id "$session" "$@"
	}
	resumed() {
		grep -aq 'run_commands' "$T/screen"
	}
	login=.cline/data/secrets.json
	screen="$bin --tui"
	plain='commits its checkpoints'
	;;
pi)
	options='--env OPENAI_API_KEY=none'
	mkdir -p "$HOME/.pi/agent"
	printf '{"providers":{"openai":{"baseUrl":"%s/v1"}}}\n' "$url" \
		>"$HOME/.pi/agent/models.json"
	ask() {
		run_agent "$bin" --offline --provider openai --model gpt-4.1 -p "$@"
	}
	again() {
		ask --continue "$@"
	}
	login=.pi/agent/auth.json
	;;
cn)
	options='--env OPENAI_API_KEY=none'
	mkdir -p "$HOME/.continue"
	printf 'name: here\nversion: 1.0.0\nschema: v1\nmodels:
  - name: any\n    provider: openai\n    model: any\n    apiBase: "%s/v1"\n' \
		"$url" >"$HOME/.continue/config.yaml"
	ask() {
		run_agent "$bin" --config "$HOME/.continue/config.yaml" --auto -p "$@"
	}
	again() {
		ask --resume "$@"
	}
	login=.continue/auth.json
	screen="$bin --config $HOME/.continue/config.yaml"
	;;
auggie)
	login=.augment/session.json
	;;
esac

# --- start ---
gives 0 "$name shows its version" guard run -- "$bin" --version
is "$(grep -ahv '^guard: ' "$out" "$err")" "$(cat "$T/v")" 'the same as outside'
says "$err" "agent: $name"
check start yes no
cell version "$(grep -oE '[0-9]+\.[0-9]+\.[0-9]+(-[.a-z0-9]+)?' "$T/v" |
	head -n 1)"

# --- plain sessions ---
if [ -n "$plain" ]; then
	cell plain "$plain"
elif type ask >/dev/null 2>&1; then
	for session in first second; do
		gives 0 "$name is asked a word, the $session time" ask "say hi"
		tail -n 8 "$err" | cut -c 1-300 | sed 's/^/# /'
		says "$err" 'changed nothing'
		silent "$err" 'guard: warning'
		gives 0 "$name is asked at its screen, the $session time" \
			env TERM=xterm-256color "$here/screen" "$T/screen" 28 \
			guard run --timeout 90 $options -- $screen
		grep -a '^guard:\|  [AMD~] *~' "$T/screen" | cut -c 1-300 | sed 's/^/# /'
		says "$T/screen" 'changed nothing'
		silent "$T/screen" 'guard: warning'
	done
	check plain 'changed nothing' no
else
	cell plain 'needs an account'
fi

# --- tools ---
if type again >/dev/null 2>&1; then
	host before
	gives 0 "$name is told to destroy everything" ask 'do it, zebra'
	run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err" | head -n 1)
	tail -n 8 "$out" "$err" | cut -c 1-300 | sed 's/^/# /'
	sed -n '/configuration or code/p' "$err" >"$T/named"
	host after
	ok 'not a byte of the host has changed' same "$T/before" "$T/after"
	gives 0 'the diff' guard diff --name-status "$run"
	for path in agent-was-here README.md src /documents /.profile /.bashrc; do
		says "$out" "$path"
	done
	gives 0 'discarded' guard discard -y --keep-agent "$run"
	check tools yes no
	gives 0 "$name continues its session" again 'go on'
	tail -n 8 "$out" "$err" | cut -c 1-300 | sed 's/^/# /'
	sed -n '/configuration or code/p' "$err" >>"$T/named"
	ok 'the earlier conversation is there' resumed
	check resume yes no
else
	cell tools 'needs an account'
	cell resume 'needs an account'
fi

# --- the screen ---
gives 0 "$name draws its screen and ends" env TERM=xterm-256color \
	"$here/screen" "$T/screen" 0 guard run --timeout 90 $options -- $screen
tr -s ' \r\n' ' ' <"$T/screen" | cut -c 1-600 | sed 's/^/# /'
says "$T/screen" 'guard: run '
check screen yes no

# --- under an editor ---
# Programs that talk to an editor: the agent itself, or its adapter.
adapter=
editor=
case $name in
claude) adapter=$here/../../build/agents/claude-acp/node_modules/.bin/claude-agent-acp ;;
codex)
	adapter=$here/../../build/agents/codex-acp/node_modules/.bin/codex-acp
	guard run -q --agent codex -- sh -c "cat >~/.codex/config.toml" <<-END
		model = "any"
		model_provider = "here"
		approval_policy = "never"
		sandbox_mode = "danger-full-access"
		[model_providers.here]
		name = "here"
		base_url = "$url/v1"
		env_key = "KEY"
		wire_api = "responses"
	END
	guard discard -y --keep-agent >/dev/null 2>&1
	;;
gemini)
	adapter="$bin --acp -m gemini-2.5-flash"
	editor='--auth gemini-api-key'
	;;
opencode)
	adapter="$bin acp"
	editor='--model anthropic/claude-sonnet-4-5'
	;;
qwen)
	adapter="$bin --acp"
	editor='--auth openai'
	;;
copilot) adapter="$bin --acp" ;;
esac
if [ -z "$adapter" ]; then
	cell editor 'not tried'
elif [ ! -x "${adapter%% *}" ]; then
	cell editor 'cannot be installed'
else
	{
		echo "write $PWD/by-tool.txt written"
		echo "echo x >by-shell.txt"
	} >"$T/calls"
	ask_model calls
	host before
	gives 0 "$name under an editor that executes every callback" \
		"$here/../lib/editor" $editor "$PWD" 'do it, zebra' \
		guard run --timeout 100 $options -- $adapter
	run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err" | head -n 1)
	tail -n 12 "$out" "$err" | cut -c 1-300 | sed 's/^/# /'
	says "$out" 'stop end_turn'
	silent "$out" 'callback'
	host after
	ok 'not a byte of the host has changed' same "$T/before" "$T/after"
	gives 0 'the diff' guard diff --name-status "$run"
	says "$out" by-tool.txt
	says "$out" by-shell.txt
	gives 0 'discarded' guard discard -y --keep-agent "$run"
	check editor yes no
fi
model_ends

# --- the list of what is data in its home ---
: >>"$T/named"
silent "$T/named" 'configuration or code'
silent "$T/screen" 'configuration or code'
first=$(guard agents "$name" | sed -n 's/^.*home  *~\/\([^ ]*\).*/\1/p' | head -n 1)
gives 0 'an unknown script in the home' guard run --agent "$name" -- \
	sh -c "echo x >~/$first/unknown.sh"
says "$err" "A  ~/$first/unknown.sh"
check names yes no

# --- login ---
gives 0 "a login of $name is written in a run" guard run --agent "$name" -- \
	sh -c "mkdir -p ~/${login%/*} && echo '{\"token\": \"kept\"}' >~/$login"
gives 0 'the next run' guard run --agent "$name" -- cat "$HOME/$login"
says "$out" kept
guard discard --all -y >/dev/null 2>&1
gives 0 'the next run after a discard' guard run --agent "$name" -- \
	cat "$HOME/$login"
says "$out" kept
no 'the login is outside of the home' grep -q kept "$HOME/$login"
check login yes no

# --- the agent's own sandbox for commands ---
mkdir -m 700 "$HOME/.ssh"
echo private >"$HOME/.ssh/key"
case $name in
claude)
	# With bubblewrap and socat. For root it makes no user namespace of its
	# own unless it is set to be weaker.
	if command -v bwrap >/dev/null && command -v socat >/dev/null; then
		weaker=
		[ "$me" != root ] || weaker='"enableWeakerNestedSandbox": true,'
		cat >"$T/calls" <<-'END'
			readlink /proc/self/ns/net >agent-was-here
			cat ~/.ssh/key; umount ~/.ssh; cat ~/.ssh/key; sh -c "echo x >>~/.bashrc"
		END
		model "$T/calls"
		host before
		gives 0 'the sandbox of claude works inside' guard run --nested --timeout 100 \
			--env ANTHROPIC_API_KEY=none --env "ANTHROPIC_BASE_URL=$url" \
			--env CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 -- \
			"$bin" -p 'do it, zebra' --verbose --output-format stream-json \
			--settings "{\"sandbox\": {$weaker \"enabled\": true,
				\"failIfUnavailable\": true,
				\"autoAllowBashIfSandboxed\": true,
				\"allowUnsandboxedCommands\": false}}" \
			--allowedTools Bash
		model_ends
		silent "$out" 'private'
		says "$out" 'Read-only file system'
		host after
		ok 'not a byte of the host has changed' same "$T/before" "$T/after"
		gives 0 'what it wrote' guard diff
		says "$out" '+net:['
		silent "$out" "$(readlink /proc/self/ns/net)"
		gives 0 'discarded' guard discard -y
		check sandbox works no
	else
		skip 'no bubblewrap and socat for the sandbox of claude'
		cell sandbox 'not tried'
	fi
	;;
codex)
	# shellcheck disable=SC2016
	gives 0 'the sandbox of codex works inside' guard run --agent codex -- \
		"$bin" sandbox -- sh -c 'echo inner $((40 + 2))
		echo x 2>/dev/null >/etc/passwd && echo writes
		cat ~/.ssh/key; umount ~/.ssh; cat ~/.ssh/key; true'
	says "$out" 'inner 42'
	silent "$out" 'writes'
	silent "$out" 'private'
	check sandbox works no
	;;
gemini | qwen)
	cell sandbox 'needs docker'
	;;
copilot)
	cell sandbox 'not tried'
	;;
*)
	cell sandbox none
	;;
esac
finish
