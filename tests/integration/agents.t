#!/bin/sh
# Agents: profiles, homes of guard's own, caches, and a stand-in agent that is
# told to destroy everything.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

standin=$(cd "${0%/*}/../lib" && pwd)/standin
make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/.claude/hooks" "$HOME/.cache/tool" "$HOME/bin"
cat >"$HOME/.claude/settings.json" <<'SETTINGS'
{"theme": "dark", "apiKey": "sk-in-settings", "hooks": {},
 "env": {"SOME_TOKEN": "sk-in-env", "COLOUR": "red"},
 "mcpServers": {"a": {"command": "mcp", "args": ["-y", "--token", "sk-in-args",
  "--api-key=sk-in-one", "--verbose", "url=https://me:sk-in-url@mcp.example"]},
  "b": {"url": "https://mcp.example/?api_key=sk-in-query"}}}
SETTINGS
mkdir "$HOME/.codex"
cat >"$HOME/.codex/config.toml" <<'SETTINGS'
model = "one"
[mcp_servers.a]
env = { "API_KEY" = "sk-in-table" }
args = ["--token", "sk-in-list"]
[mcp_servers.b]
http_headers = { Authorization = "Bearer sk-in-header" }
command = "b"
SETTINGS
echo 'echo host' >"$HOME/.claude/hooks/stop.sh"
cat >"$HOME/.claude/CLAUDE.md" <<'SETTINGS'
Say please. The key: `sk-in-prose-12345678` is for all.
SETTINGS
cat >"$HOME/.claude/hooks/post.sh" <<'SETTINGS'
export POST_TOKEN=sk-in-script
curl -H "Authorization: Bearer sk-in-curl-12345678" https://example.org
SETTINGS
echo '{"refresh": 7}' >"$HOME/.claude/.credentials.json"
echo host >"$HOME/.cache/tool/host"
# The copy has the name of the real program, which selects the profile.
cp "$standin" "$HOME/bin/claude"
PATH=$HOME/bin:$PATH

model() {
	rm -f "$T/port"
	"$standin" serve "$T/port" "$1" &
	model=$!
	until [ -s "$T/port" ]; do
		kill -0 "$model" || exit 99
		sleep 0.02
	done
	ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat "$T/port")
	export ANTHROPIC_BASE_URL
}

model_ends() {
	"$standin" quit "$ANTHROPIC_BASE_URL"
	wait "$model"
}

# host FILE: the complete home of the host
host() {
	manifest "$HOME" >"$T/$1"
}

# --- an agent is told to destroy everything ---
cp "${0%/*}/../lib/standin.calls" "$T/calls"
host before
model "$T/calls"
gives 0 'an agent executes what its model demands' guard run -- claude
model_ends
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err" | head -n 1)
says "$err" 'agent: claude)'
# shellcheck disable=SC2088
says "$err" "~/.claude is now a directory of guard's own for claude"
says "$out" 'not logged in'
says "$out" '0: git clean'
host after
ok 'the agent changes no byte of the host' same "$T/before" "$T/after"
says "$err" 'configuration or code for the next session of claude'
gives 0 "diff shows the agent's changes" guard diff "$run"
for path in src/f2.c "src/  all " docs/link README.md documents/photo.raw \
	documents/letters/one.txt .bashrc .profile; do
	says "$out" "$path"
done
says "$out" 'Changed in the home of claude'
says "$out" 'M  ~/.claude/settings.json'
says "$out" 'M  ~/.claude/hooks/stop.sh'
says "$out" 'A  ~/.claude/.claude.json#mcpServers'
silent "$out" '.credentials.json'
silent "$out" '.npm'
silent "$out" '.cache'
gives 0 "review shows the agent's changes" guard review "$run"
says "$out" 'A  ~/.claude/.claude.json#mcpServers'
says "$out" 'D  src/  with its entries'
gives 0 "diff --json shows changes of the agent's home" guard diff --json "$run"
says "$out" '"path": "~/.claude/hooks/stop.sh"'
gives 0 "discard drops the agent's run" guard discard -y "$run"

# --- the next session of the agent ---
echo 'cat ~/.claude/settings.json ~/.claude/hooks/* ~/.cache/tool/* ~/.npm/x' \
	>"$T/calls"
model "$T/calls"
gives 0 'the agent runs a second time' guard run -- claude
model_ends
says "$out" 'logged in'
silent "$out" 'not logged in'
silent "$out" '"command":"evil"'
says "$out" 'echo host'
says "$out" 'of the cache'
says "$out" 'of npm'
says "$err" 'changed nothing'
silent "$err" 'configuration or code for the next session'
host after
ok 'the second session changes no byte of the host' same "$T/before" "$T/after"

# --- an agent that another program fetches and starts ---
printf '#!/bin/sh\necho "$CLAUDE_CONFIG_DIR $CODEX_HOME"\n' >"$HOME/bin/npx"
chmod 755 "$HOME/bin/npx"
gives 0 'npx with a known package selects the profile' \
	guard run -- npx -y @anthropic-ai/claude-code@latest
says "$err" 'agent: claude)'
is "$(cat "$out")" "$HOME/.claude " \
	"the profile sets the agent's configuration directory"
gives 0 'npx with an unknown package selects no profile' \
	guard run -- npx -y @evil/claude
silent "$err" 'agent:'

# --- the initial content of a new home ---
gives 0 'guard agents lists the homes' guard agents
says "$out" 'claude'
gives 0 'guard du counts the homes' guard du
says "$out" "homes of guard's own"
says "$out" 'of runs: guard prune --caches'
gives 1 'agents --reset without a terminal and --yes is refused' \
	guard agents --reset claude
gives 1 'agents --reset of an unknown agent is refused' \
	guard agents --reset nobody -y
gives 0 'agents --reset -y removes the home' guard agents --reset claude -y
gives 0 "a new home has the host's settings, with their keys" \
	guard run --agent claude -- sh -c \
	'cat ~/.claude/settings.json ~/.claude/hooks/*; ls -A ~/.claude'
says "$err" "claude uses the keys in ~/.claude/settings.json (apiKey, SOME_TOKEN"
says "$out" '"apiKey": "sk-in-settings"'
says "$out" 'echo host'
silent "$out" '.credentials.json'
gives 0 'instructions, scripts and other files are copied as they are' \
	guard run --agent claude -- \
	cat "$HOME/.claude/CLAUDE.md" "$HOME/.claude/hooks/post.sh"
is "$(cat "$out")" \
	"$(cat "$HOME/.claude/CLAUDE.md" "$HOME/.claude/hooks/post.sh")" \
	'with their keys'
gives 0 'another agent has TOML settings with its keys' \
	guard run --agent codex -- \
	cat "$HOME/.codex/config.toml"
says "$out" 'sk-in-table'
# in_claude WHAT SCRIPT: runs the script in the agent's home
in_claude() {
	gives 0 "$1" guard run --agent claude -- sh -c "cd ~/.claude; $2"
}
evil='{"mcpServers": {"x": {"command": "evil"}}}'
in_claude 'an MCP server in a linked file is reported' \
	"echo '$evil' >state.json; ln -s state.json .claude.json"
says "$err" '/.claude/.claude.json'
in_claude 'an MCP server behind two links is reported' \
	"mkdir -p a/b; echo '$evil' >a/b/s; rm .claude.json
	ln -s ~/.claude/a/b/s .claude.json; echo >>a/b/s; echo >more"
says "$err" '/.claude/.claude.json'
in_claude 'data is not reported' 'mkdir todos; echo x >todos/elsewhere'
silent "$err" 'configuration or code for the next session'
in_claude 'an unknown file is reported' 'echo x >elsewhere'
# shellcheck disable=SC2088
says "$err" '~/.claude/elsewhere: data of claude that guard does not know'
silent "$err" 'configuration or code'
in_claude 'a link to data is reported' \
	"echo '{}' >todos/s; rm .claude.json; ln -s todos/s .claude.json"
says "$err" 'M  ~/.claude/.claude.json'
in_claude 'a change behind the link is reported' "echo '$evil' >todos/s"
says "$err" 'M  ~/.claude/todos/s'
in_claude 'an MCP server in a file of 33 MB is reported' "rm .claude.json; { echo '$evil'
	head -c 34000000 /dev/zero | tr '\\0' ' '; } >.claude.json"
says "$err" '/.claude/.claude.json'
in_claude 'a linked directory of commands is reported' \
	'rm .claude.json; mkdir todos/data; ln -s ../.claude/todos/data commands'
says "$err" 'A  ~/.claude/commands'
in_claude 'a new command behind the link is reported' \
	'echo evil >todos/data/do.md'
says "$err" 'A  ~/.claude/todos/data/do.md'
in_claude 'a link on the path of the commands is accepted' \
	'mkdir todos/a; mv todos/data todos/a; ln -s a todos/l
	rm commands; ln -s todos/l/data commands'
in_claude 'commands behind a link on the path are reported' \
	'echo more >todos/l/data/do.md'
says "$err" 'M  ~/.claude/todos/a/data/do.md'
in_claude 'a moved link on the path of the commands is reported' \
	'mkdir todos/b; rm todos/l; ln -s b todos/l'
says "$err" 'M  ~/.claude/todos/l'
in_claude "files of the agent's memory are reported" \
	'mkdir -p projects/-x/memory agent-memory/a; echo evil \
		>projects/-x/memory/MEMORY.md; echo x >projects/-x/talk.jsonl
	echo evil >agent-memory/a/b.md'
says "$err" '/.claude/projects/-x/memory/MEMORY.md'
says "$err" '/.claude/agent-memory/a/b.md'
silent "$err" 'talk.jsonl'
in_claude 'a link on the path of the memory is reported' 'mv projects p; ln -s p projects'
says "$err" '/.claude/projects'
in_claude 'a change behind that link is reported' 'echo more >>p/-x/memory/MEMORY.md'
says "$err" '/.claude/p/-x/memory/MEMORY.md'
in_claude 'the memory is restored' 'rm projects; mv p projects; rm -r agent-memory'
in_claude 'a loop of links is reported' \
	'rm commands; ln -s loop commands; ln -s commands loop'
says "$err" 'M  ~/.claude/commands'
in_claude 'links out of the home are accepted' \
	'rm commands; ln -s /etc commands; ln -s ~/.ssh rules; rm loop'
in_claude 'links out of the home are not reported again' true
silent "$err" 'configuration or code for the next session'
in_claude 'a directory with 3000 skills is reported' \
	'mkdir skills; cd skills; seq 3000 | split -l 1 -a 3 -; : >~/project/made'
says "$err" '/.claude/skills/: 3000 changes'
gives 0 'diff --json lists 3000 skills' guard diff --json
says "$out" '/.claude/skills/xabc'
gives 0 'discard drops the run of 3000 skills' guard discard -y
in_claude 'a file in a very deep directory is reported' \
	'mkdir -p agents/$(seq -s / 40); echo x >agents/$(seq -s / 40)/a.md'
says "$err" '/39/40/a.md'
gives 0 'agents -q --reset removes the home' guard agents -q --reset claude -y
gives 0 "--share-login gives the agent the host's home" \
	guard run --agent claude --share-login -- sh -c \
	'cat ~/.claude/.credentials.json; echo x >~/.claude/new; env'
says "$out" '{"refresh": 7}'
silent "$out" 'CLAUDE_CONFIG_DIR'
says "$err" 'warning: --share-login'
is "$(cat "$HOME/.claude/new")" x "--share-login writes into the host's home"
gives 0 "files of the host's home are stored before" \
	guard log "$HOME/.claude/.credentials.json"
rm "$HOME/.claude/new"

# --- the host's login ---
for how in none codex; do
	gives 0 "the host's login is masked with --agent $how" \
		guard run -q --agent $how -- \
		sh -c 'cat ~/.claude/.credentials.json ~/.claude/hooks/stop.sh'
	silent "$out" 'refresh'
	says "$out" 'echo host'
done
mkdir "$HOME/.claude/project"
gives 0 "the host's login is masked in a project beside it" \
	guard -C "$HOME/.claude/project" run --agent claude -- \
	cat ../.credentials.json
silent "$out" 'refresh'
rmdir "$HOME/.claude/project"

# --- sandboxes of the agent ---
# shellcheck disable=SC2016
echo 'echo in $(id -u); cat ~/.ssh/key; umount ~/.ssh; cat ~/.ssh/key' \
	>"$T/calls"
mkdir -m 700 "$HOME/.ssh"
echo private >"$HOME/.ssh/key"
model "$T/calls"
mkdir .claude
echo '{"sandbox": {"enabled": true}}' >.claude/settings.local.json
gives 0 "the agent's own sandbox works" guard run -- claude --sandbox
model_ends
rm -r .claude
silent "$out" 'private'
says "$out" 'in 0'
gives 0 '--agent none starts without a profile' \
	guard run --agent none -- sh -c 'unshare -Ur true; echo $?; env'
silent "$out" 'CLAUDE_CONFIG_DIR'
silent "$err" 'agent:'
no 'user namespaces are refused without a profile' grep -qx 0 "$out"

# --- caches ---
mkdir "$HOME/other"
gives 0 'a cache of one project is not visible in another' \
	guard -C "$HOME/other" run -- \
	sh -c 'cat ~/.cache/tool/*; echo 1 >~/.cache/tool/one'
silent "$out" 'of the cache'
says "$out" 'host'
mkfifo "$T/go"
guard run -q --ro "$T/go" -- sh -c \
	'echo 1 >~/.cache/tool/first; echo >go; read x <"$1"' - "$T/go" \
	>"$T/first" 2>&1 &
run=$!
until ls "$state"/runs/*/upper/go >/dev/null 2>&1; do
	kill -0 "$run" || break
	sleep 0.02
done
gives 0 'a second run of a project has no persistent cache' \
	guard run -- sh -c 'ls ~/.cache/tool'
says "$err" 'another run of this project uses the kept caches'
says "$out" 'host'
silent "$out" 'first'
echo >"$T/go"
wait "$run"
gives 0 'the next run of the project has the cache again' \
	guard run -- sh -c 'ls ~/.cache/tool'
says "$out" 'first'
gives 0 '--shared-cache selects one cache of all projects' \
	guard run --shared-cache -- sh -c \
	'ls ~/.cache/tool; echo 1 >~/.cache/tool/all'
silent "$out" 'first'
says "$err" 'warning: --shared-cache'
gives 0 '--shared-cache is visible in another project' \
	guard -C "$HOME/other" run --shared-cache -- \
	ls "$HOME/.cache/tool"
says "$out" 'all'
gives 0 'prune --caches removes the caches' guard prune --caches
gives 0 'a run after prune --caches has a new cache' \
	guard run -- sh -c 'ls ~/.cache/tool'
silent "$out" 'first'
is "$(ls "$HOME/.cache/tool")" host "no run writes into the host's cache"

# --- a profile of the user ---
own=$HOME/.config/guard/agents
mkdir -p "$own"
printf '%s\n' 'home ~/.mine' 'env MINE=~/.mine' 'noise *.tmp' 'noise *.sh' \
	'hide ~/documents' >"$own/mine"
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/sh' 'echo "$MINE"; touch ~/.mine/x a.tmp b.sh c' \
	'chmod 755 b.sh; ls ~/documents ~/.config/guard' >"$HOME/bin/mine"
chmod 755 "$HOME/bin/mine"
gives 0 "a profile of the user is selected by the program's name" \
	guard run -- mine
says "$out" "$HOME/.mine"
silent "$out" 'photo'
silent "$out" 'agents'
gives 0 'diff folds noise of the profile' guard diff
silent "$out" 'a.tmp'
says "$out" '1 change in paths that the profile marks as noise'
says "$out" 'A  c'
says "$out" 'b.sh'
gives 0 'diff --name-only lists noise too' guard diff --name-only
says "$out" 'a.tmp'
gives 0 'guard exec has the profile of the run' guard exec -- sh -c \
	'ls ~/.mine; touch ~/.mine/late'
says "$out" 'x'
gives 0 'discard drops the run' guard discard -y latest
echo 'env ANTHROPIC_MODEL=mine' >"$own/claude"
gives 0 "a profile of the user extends guard's profile" \
	guard run --agent claude -- env
says "$out" 'ANTHROPIC_MODEL=mine'
says "$out" "CLAUDE_CONFIG_DIR=$HOME/.claude"
gives 0 'guard agents NAME prints the profile' guard agents claude
says "$out" "$own/claude:1"
printf 'write ~/.claude/deep/note all of it\n' >"$own/claude"
guard agents -q --reset claude -y
gives 0 'a profile can write a file of a new home' guard run --agent claude -- \
	sh -c 'cat ~/.claude/deep/note; echo mine >~/.claude/deep/note'
says "$out" 'all of it'
gives 0 'the file is written only once' guard run --agent claude -- \
	cat "$HOME/.claude/deep/note"
says "$out" 'mine'
printf 'nested\n\nfrob x\n' >"$own/claude"
gives 125 'an unknown word of a profile stops the run' \
	guard run --agent claude -- true
says "$err" "claude':3: no such word in a profile: 'frob'"
printf 'seed ~/.other/x\n' >"$own/claude"
gives 125 'a seed outside of the homes stops the run' \
	guard run --agent claude -- true
says "$err" "claude:1: seed ~/.other/x"
printf 'nested\n' >"$own/claude"
chmod 666 "$own/claude"
gives 125 'a profile that other users can write stops the run' \
	guard run --agent claude -- true
says "$err" 'other users may write to it'
rm "$own/claude"
gives 125 'an unknown agent stops the run' guard run --agent nobody -- true
says "$err" "no such profile: 'nobody'"
printf 'home ~/.bashrc\n' >"$own/file"
gives 125 'a home that is a file stops the run' guard run --agent file -- true
says "$err" 'is not a directory'
printf 'home ~/.file\nhome ~/.file/x/y\n' >"$own/file"
gives 125 'a home in another home stops the run' guard run --agent file -- true
says "$err" 'file:2: home ~/.file/x/y is in the home of'
printf 'home ~/documents\nhide ~/documents\n' >"$own/file"
gives 0 'a profile can mask its home' guard run --agent file -- \
	sh -c 'ls ~/documents; ! touch ~/documents/x'
silent "$out" 'photo'

# --- the profile of a project ---
mkdir .guard lib
echo one >lib/a
echo key >secret.txt
printf '# closed\nhide secret.txt\nro lib\n' >.guard/profile
gives 0 'a project can mask files and make them read-only' \
	guard run --agent none -- sh -c \
	'cat secret.txt; echo two >lib/a; cat lib/a; echo x >c'
silent "$out" 'key'
says "$out" 'one'
silent "$out" 'two'
gives 0 "explain names the line of the project's profile" \
	guard explain secret.txt lib/a
says "$out" "as $HOME/project/.guard/profile:2 says"
says "$out" "as $HOME/project/.guard/profile:3 says"
gives 0 "explain --agent knows the agent's home" \
	guard explain --agent claude "$HOME/.claude"
says "$out" "a directory of guard's own for claude"
# shellcheck disable=SC2088
for line in nested 'env A=b' 'home ~/.x' 'cache ~/.x' 'noise *' 'ro /etc' \
	'ro ~/.ssh' 'ro ../other' 'hide ..' 'frob'; do
	printf 'hide x\n%s\n' "$line" >.guard/profile
	gives 125 "a project's profile is refused: $line" guard run -- true
	says "$err" '.guard/profile'
	says "$err" ':2: '
done
ln -s /etc out
printf 'ro out\n' >.guard/profile
gives 125 "a project's profile cannot expose the target of a link" \
	guard run -- true
bell=$(printf 'out\033]0;title\007')
mv out "$bell"
printf 'ro %s\n' "$bell" >.guard/profile
gives 125 "a path in a project's profile is refused with its control characters" \
	guard run -- true
says "$err" "ro 'out\x1b]0;title\x07' is not a file"
rm "$bell" .guard/profile
ln -s /etc/passwd .guard/profile
gives 125 "a project's profile cannot be a symbolic link" guard run -- true
rm .guard/profile

finish
