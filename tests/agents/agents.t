#!/bin/sh
# The real agents, where tests/agents/run has installed them: each starts, shows
# its version, and is told by a model server to destroy everything; the host
# does not change, and the diff has it all.
#
#	agents.t [NAME...]	those alone
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

here=$(cd "${0%/*}" && pwd)
bin=$here/../../build/agents/node_modules/.bin
make_home
mkdir -p "$HOME/bin" "$HOME/.cache"
cd "$HOME/project" || exit 99
host() {
	manifest "$HOME" >"$T/$1"
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

model_ends() {
	python3 -c 'import sys, urllib.request as u
u.build_opener(u.ProxyHandler({})).open(sys.argv[1])' "$url/quit"
	wait "$model"
	sed 's/^/# asked: /' "$T/log" | cut -c 1-150 | sort | uniq -c | head -n 12
}

wanted() {
	[ -n "$1" ] || return 0
	case " $1 " in
	*" $2 "*) return 0 ;;
	esac
	return 1
}

# agent NAME COMMAND...: all checks of one agent; $url in COMMAND is the
# server's
agent() {
	name=$1
	shift
	if ! "$bin/$name" --version >"$T/v" 2>&1 </dev/null; then
		skip "$name does not start here at all: $(head -n 1 "$T/v")"
		return
	fi
	gives 0 "$name shows its version" guard run -- "$bin/$name" --version
	is "$(cat "$out")" "$(cat "$T/v")" 'the same as outside'
	says "$err" "agent: $name"
	reset_home
	host before
	gives 0 "$name is told to destroy everything" \
		guard run --timeout 100 "$@"
	run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err" | head -n 1)
	tail -n 8 "$out" "$err" | cut -c 1-300 | sed 's/^/# /'
	host after
	ok 'not a byte of the host has changed' same "$T/before" "$T/after"
	gives 0 'the diff' guard diff --name-status "$run"
	for path in agent-was-here README.md src /documents /.profile \
		/.bashrc; do
		says "$out" "$path"
	done
	gives 0 'discarded' guard discard -y "$run"
}

save_home
names=$*
if wanted "$names" claude; then
	model "$here/calls"
	agent claude --env ANTHROPIC_API_KEY=none --env "ANTHROPIC_BASE_URL=$url" \
		--env CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 -- \
		"$bin/claude" -p --dangerously-skip-permissions 'do it'
	model_ends
fi

# The agent's own sandbox for commands, with bubblewrap and socat. For root it
# makes no user namespace of its own unless it is set to be weaker.
if wanted "$names" claude && command -v bwrap >/dev/null &&
	command -v socat >/dev/null; then
	weaker=
	[ "$me" != root ] || weaker='"enableWeakerNestedSandbox": true,'
	mkdir -m 700 "$HOME/.ssh"
	echo private >"$HOME/.ssh/key"
	cat >"$T/calls" <<-'END'
		readlink /proc/self/ns/net >agent-was-here
		cat ~/.ssh/key; umount ~/.ssh; cat ~/.ssh/key; sh -c "echo x >>~/.bashrc"
	END
	model "$T/calls"
	host before
	gives 0 'the sandbox of claude works inside' guard run --nested --timeout 100 \
		--env ANTHROPIC_API_KEY=none --env "ANTHROPIC_BASE_URL=$url" \
		--env CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 -- \
		"$bin/claude" -p 'do it' --verbose --output-format stream-json \
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
elif wanted "$names" claude; then
	skip 'no bubblewrap and socat for the sandbox of claude'
fi

if wanted "$names" codex; then
	model "$here/calls"
	agent codex --env KEY=none -- "$bin/codex" exec -m any \
		--skip-git-repo-check \
		--dangerously-bypass-approvals-and-sandbox \
		-c model_provider=here -c "model_providers.here.base_url=\"$url/v1\"" \
		-c 'model_providers.here.name="here"' \
		-c 'model_providers.here.env_key="KEY"' \
		-c 'model_providers.here.wire_api="responses"' 'do it'
	model_ends
	# The agent's sandbox for commands of models, and its masks.
	mkdir -m 700 "$HOME/.ssh"
	echo private >"$HOME/.ssh/key"
	# shellcheck disable=SC2016
	gives 0 'the sandbox of codex works inside' guard run --agent codex -- \
		"$bin/codex" sandbox -- sh -c 'echo inner $((40 + 2))
		echo x 2>/dev/null >/etc/passwd && echo writes
		cat ~/.ssh/key; umount ~/.ssh; cat ~/.ssh/key; true'
	says "$out" 'inner 42'
	silent "$out" 'writes'
	silent "$out" 'private'
fi

if wanted "$names" gemini; then
	model "$here/calls"
	mkdir -p "$HOME/.gemini"
	printf '{"security":{"auth":{"selectedType":"gemini-api-key"}}}\n' \
		>"$HOME/.gemini/settings.json"
	save_home
	agent gemini --env GEMINI_API_KEY=none --env "GOOGLE_GEMINI_BASE_URL=$url" \
		--env GEMINI_CLI_TRUST_WORKSPACE=true --env NO_BROWSER=true -- \
		"$bin/gemini" -m gemini-2.5-flash --yolo -p 'do it'
	model_ends
fi

if wanted "$names" opencode; then
	model "$here/calls"
	mkdir -p "$HOME/.config/opencode"
	printf '{"provider":{"anthropic":{"options":{"baseURL":"%s/v1","key":"x"}}}}\n' \
		"$url" >"$HOME/.config/opencode/opencode.json"
	save_home
	agent opencode --env ANTHROPIC_API_KEY=none -- "$bin/opencode" run \
		--auto -m anthropic/claude-sonnet-4-5 'do it'
	model_ends
fi

finish
