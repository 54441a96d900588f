#!/bin/sh
# Versions of an agent's home: a discarded run leaves no settings behind, and a
# home that a run has destroyed comes back with its login.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

cat >"$HOME/.claude.json" <<END
{"hasCompletedOnboarding": true, "theme": "dark", "oauthAccount": "me",
 "mcpServers": {"m": {"command": "m-server", "env": {"A": "sk-in-env"},
 "headers": {"X": "sk-in-header"}, "args": ["--token", "sk-in-args"]}},
 "projects": {"$HOME/project": {"hasTrustDialogAccepted": true, "x": 1},
 "/elsewhere": {"hasTrustDialogAccepted": true}}}
END

cp "$HOME/.claude.json" "$T/claude.json"
echo '{"theme": "dark", "primaryApiKey": "sk-in-key",
 "mcpServers": {"m": {"env": {"M_TOKEN": "sk-in-env"}}}}' >"$HOME/.claude.json"
mkdir -p "$HOME/.claude" "$HOME/.codex"
echo 'api_key = "sk-in-codex"' >"$HOME/.codex/config.toml"
gives 0 'a run of another program reads the settings of agents' \
	guard run -- sh -c 'cat ~/.claude.json ~/.codex/config.toml'
says "$out" '"theme": "dark"'
silent "$out" 'sk-in'
gives 0 '--share-login shares the file beside the home as it is' \
	guard run -q --share-login --agent claude -- \
	sh -c 'cat ~/.codex/config.toml; grep sk-in-env ~/.claude.json'
silent "$out" 'sk-in-codex'
rm -r "$HOME/.claude" "$HOME/.codex"
mv "$T/claude.json" "$HOME/.claude.json"

# in_claude NAME SCRIPT: runs the script in the agent's home
in_claude() {
	gives 0 "run $1" guard run --name "$1" --agent claude -- \
		sh -c "cd ~/.claude; $2"
}

# home_has TITLE SCRIPT: the script succeeds in the agent's home
home_has() {
	gives 0 "$1" guard run --agent claude -- sh -c "cd ~/.claude; $2"
}

home_has 'the home begins with what the real settings know of the user' \
	'cat .claude.json'
says "$out" '"hasCompletedOnboarding": true'
says "$out" '"theme": "dark"'
says "$out" 'm-server'
says "$out" '"hasTrustDialogAccepted": true'
says "$out" 'sk-in-env'
silent "$out" 'oauthAccount'
silent "$out" 'elsewhere'
home_has 'its own values stay' \
	'echo "{\"theme\": \"light\", \"mcpServers\": {}}" >.claude.json'
home_has 'only absent members are added' 'cat .claude.json'
says "$out" '"theme": "light"'
says "$out" '"hasCompletedOnboarding": true'
silent "$out" 'm-server'
home_has 'a damaged file' 'echo "{" >.claude.json'
home_has 'it stays as it is' '[ "$(cat .claude.json)" = "{" ] && rm .claude.json'
gives 0 'gemini does not update itself' guard run --agent gemini -- \
	sh -c 'cat ~/.gemini/settings.json'
says "$out" '"enableAutoUpdate": false'

in_claude first 'echo token >.credentials.json; mkdir -p projects/x
	echo 1 >projects/x/1.jsonl; echo 2 >projects/x/2.jsonl
	echo "{\"theme\": \"dark\"}" >settings.json
	echo "{\"starts\": 1}" >.claude.json; echo x >~/project/new'
silent "$err" 'deleted'
gives 0 'a discard can leave the home' guard discard -y --keep-agent first
silent "$err" 'put back'

# --- discard ---
in_claude evil 'echo "{\"hooks\": {\"Stop\": \"evil\"}}" >settings.json
	echo "{\"starts\": 2, \"mcpServers\": {\"x\": {\"command\": \"evil\"}}}" \
		>.claude.json
	mkdir commands; echo evil >commands/do.md
	echo 3 >projects/x/3.jsonl; echo x >~/project/new'
gives 0 'a discard takes back what the next session executes' \
	guard discard -y evil
says "$err" 'settings of claude for its next session are put back'
# shellcheck disable=SC2088
says "$err" "~/.claude/settings.json"
# shellcheck disable=SC2088
says "$err" "~/.claude/commands/do.md"
home_has 'the settings are as before, the conversation stays' \
	'grep dark settings.json && ! grep evil .claude.json &&
	grep starts .claude.json && ! [ -e commands/do.md ] &&
	[ -e projects/x/3.jsonl ]'

in_claude a 'echo "{\"hooks\": {\"Stop\": \"evil\"}}" >settings.json
	echo x >~/project/new'
run=$(echo "$state"/runs/*)
seq=$(sed -n 's/^agent-after=//p' "$run/record")
gives 0 'the store has the home' guard ls "$seq" .claude
says "$out" 'settings.json'
silent "$out" 'credentials'
in_claude b 'echo "{\"theme\": \"light\"}" >settings.json
	echo x >~/project/new'
gives 0 'a setting that a later run changed stays' guard discard -y a
# shellcheck disable=SC2088
says "$err" "~/.claude/settings.json stays: a later run of claude"
home_has 'it is as the later run left it' 'grep light settings.json'
gives 0 'a discard of every run takes settings back, too' guard discard -y --all
home_has 'they are as before the later run' 'grep Stop settings.json'
in_claude c 'echo "{}" >settings.json; echo x >~/project/new
	echo x >~/project/other'
gives 0 'a discard of paths leaves the home' guard discard -y c new
silent "$err" 'put back'
gives 0 'the discard of the last path takes settings back' \
	guard discard -y c other
home_has 'they are as before' 'grep Stop settings.json'

# The question stands behind the list of the files, whose sizes are texts, too.
in_claude many 'for i in 1 2 3 4 5 6 7 8 9; do echo $i >"settings.$i.json"; done'
in_claude more 'for i in 1 2 3 4 5 6 7 8 9; do echo more >>"settings.$i.json"; done'
no 'the undo of a home asks on a terminal' answers 'agents claude --undo' n
says "$out" 'settings.9.json'
says "$out" ' ago?'
gives 0 'the undo of two runs' guard agents claude --undo 2 -y

# --- a run destroys the home ---
in_claude wipe 'rm -rf ~/.claude || :'
says "$err" 'the run deleted the login and 3 history files of claude'
says "$err" 'guard agents claude --undo restores the home'
gives 1 'the undo of a home asks' guard agents claude --undo
says "$out" '.claude/projects/x/1.jsonl'
says "$err" "the login comes back: ~/.claude/.credentials.json"
gives 0 'the undo of a home brings everything back' guard agents claude --undo -y
says "$err" 'the home of claude is as before run'
home_has 'login, conversations and settings are there' \
	'grep token .credentials.json && grep 2 projects/x/2.jsonl &&
	grep Stop settings.json'
silent "$err" 'deleted'
in_claude gone 'rm .credentials.json; echo x >~/project/new'
gives 0 'a discard of a run that removed the login' guard discard -y gone
says "$err" 'claude has no login any more: guard agents claude --undo'
gives 0 'the undo of the home brings it back' guard agents claude --undo -y
home_has 'it is there' 'grep token .credentials.json'
gives 1 'the undo of more runs than there were is refused' \
	guard agents claude --undo 100 -y
says "$err" 'runs that changed it can be undone'

# --- only runs that changed the home count ---
in_claude mark1 'echo 1 >mark1'
home_has 'a run reads it' 'cat mark1'
in_claude mark2 'echo 2 >mark2'
home_has 'a run changes a modification time alone' 'touch mark1'
home_has 'another run reads both' 'cat mark1 mark2'
gives 0 'the undo of one run skips runs without changes' \
	guard agents claude --undo -y
says "$out" 'mark2'
silent "$out" 'mark1'
home_has 'only the last change is gone' '[ -e mark1 ] && ! [ -e mark2 ]'
gives 0 'a second undo of one run has nothing to do' \
	guard agents claude --undo -y
says "$err" 'nothing to do'
gives 0 'the undo of two runs counts in the same way' \
	guard agents claude --undo 2 -y
home_has 'both changes are gone' \
	'! [ -e mark1 ] && ! [ -e mark2 ] && grep token .credentials.json'
is "$(stat -c %a "$state"/agents/claude/logins/.claude*)" 600 \
	'the copy of the login is readable for its owner only'

# --- a run that goes on, and another one beside it ---
in_claude long 'echo 1 >CLAUDE.md; echo x >~/project/new'
gives 0 'a command in the run changes the home, too' \
	guard exec long -- sh -c 'echo 2 >~/.claude/CLAUDE.md'
gives 0 'its discard takes back both' guard discard -y long
home_has 'the file is as before the run' '! [ -e CLAUDE.md ]'
mkdir "$HOME/gate"
mkfifo "$HOME/gate/go"
guard run --rw "$HOME/gate" --name live --agent claude -- \
	sh -c ': >~/gate/ready; read x <~/gate/go' >"$T/live" 2>&1 &
live=$!
until [ -e "$HOME/gate/ready" ]; do
	kill -0 "$live" || exit 99
	sleep 0.02
done
gives 1 'the home of a live run is not restored' guard agents claude --undo -y
says "$err" 'in use by run'
echo >"$HOME/gate/go"
wait "$live"

# --- a run that is killed with its guard ---
# killed NAME SCRIPT: ends guard itself while the script waits
killed() {
	rm -f "$HOME/gate/ready"
	guard run --rw "$HOME/gate" --name "$1" --agent claude -- \
		sh -c "cd ~/.claude; echo x >~/project/$1; $2
		: >~/gate/ready; read x <~/gate/go" >"$T/killed" 2>&1 &
	killed=$!
	until [ -e "$HOME/gate/ready" ]; do
		kill -0 "$killed" || exit 99
		sleep 0.02
	done
	kill -KILL "$killed"
	wait "$killed" 2>/dev/null
	while guard status | grep -q running; do sleep 0.02; done
}
killed one 'echo evil >CLAUDE.md; mkdir -p todos; echo data >todos/1.json'
gives 0 'a discard takes back the settings of a killed run' guard discard -y one
# shellcheck disable=SC2088
says "$err" "~/.claude/CLAUDE.md"
home_has 'the settings are as before, data stays' \
	'! [ -e CLAUDE.md ] && [ -e todos/1.json ]'
killed two 'echo evil >CLAUDE.md'
in_claude after 'echo mine >keybindings.json; echo x >~/project/after'
gives 0 'a discard of a killed run leaves a later run alone' guard discard -y two
home_has 'the settings of the later run stay' \
	'! [ -e CLAUDE.md ] && [ -e keybindings.json ]'
guard discard -y -q after

# --- a secret in a conversation ---
in_claude secret 'echo secret >projects/x/4.jsonl'
talk=$state/agents/claude/home/.claude/projects/x/4.jsonl
rm "$talk"
gives 0 'a file of the home is purged' guard purge --confirm "$talk" "$talk"
gives 0 'its versions are gone' guard log "$talk"
says "$out" 'purged'
silent "$out" 'added'
gives 1 'no other part of the state is' \
	guard purge --confirm "$state/runs" "$state/runs"
says "$err" "overlaps guard's own state"

# --- an agent without a login ---
OPENAI_API_KEY=k ANTHROPIC_API_KEY=k
export OPENAI_API_KEY ANTHROPIC_API_KEY
for time in first second; do
	gives 0 "$time run of an agent without a login" \
		guard run --agent codex -- true
	says "$err" 'codex is not logged in, and OPENAI_API_KEY is not passed on: use --env OPENAI_API_KEY'
done
gives 0 'with its key' guard run --agent codex --env OPENAI_API_KEY -- true
silent "$err" 'not logged in'
gives 0 'an agent without a network' guard run --agent codex --net none -- true
says "$err" 'no network: codex cannot reach its model'
gives 0 'no agent without a network' guard run --net none -- true
silent "$err" 'no network'
gives 0 'with a login' guard run --agent claude -- true
silent "$err" 'not logged in'
count=0
for agent in $(guard agents --json | sed -n 's/.*"name": "\(.*\)",/\1/p'); do
	[ "$agent" != default ] || continue
	count=$((count + 1))
	gives 0 "the profile of $agent" guard run --agent "$agent" -- true
done
ok 'more than ten agents have a profile' test "$count" -gt 10

gives 0 'members of a JSON file with comments' guard run --agent copilot -- \
	sh -c 'printf "// by itself\n{\"firstLaunchAt\": 2}\n" >~/.copilot/config.json'
silent "$err" 'configuration or code'
gives 0 'a new plugin in such a file' guard run --agent copilot -- sh -c \
	'printf "// by itself\n{\"installedPlugins\": [\"x\"]}\n" >~/.copilot/config.json'
says "$err" '.copilot/config.json#installedPlugins'
gives 0 'an empty login is none' guard run --agent pi -- \
	sh -c 'mkdir -p ~/.pi/agent; echo "{}" >~/.pi/agent/auth.json'
gives 0 'its key is named' guard run --agent pi -- true
says "$err" 'pi is not logged in, and ANTHROPIC_API_KEY is not passed on'

# --- all but data is named ---
# In a home of its own: the runs above changed that of claude.
rm "$HOME/.claude.json"
guard agents -q --reset claude -y
in_claude plain 'mkdir -p projects/-p/1/in todos statsig
	echo talk >projects/-p/1.jsonl; echo talk >projects/-p/1/in/agent-2.jsonl; echo x >todos/1.json; echo x >statsig/x
	echo "{\"numStartups\": 1, \"tipsHistory\": {\"a\": 1}, \"projects\":
	{\"$HOME/project\": {\"allowedTools\": [], \"mcpServers\": {},
	\"hasTrustDialogAccepted\": true, \"lastCost\": 1},
	\"/x\": {\"hasTrustDialogAccepted\": false}}}" >.claude.json'
silent "$err" 'configuration or code'
in_claude tools 'echo "{\"numStartups\": 2, \"tipsHistory\": {\"b\": 1}, \"projects\":
	{\"$HOME/project\": {\"allowedTools\": [\"Bash(*)\"], \"lastCost\": 2},
	\"/x\": {\"hasTrustDialogAccepted\": true}}}" >.claude.json'
says "$err" "A  ~/.claude/.claude.json#projects.$HOME/project.allowedTools"
says "$err" 'M  ~/.claude/.claude.json#projects./x.hasTrustDialogAccepted'
silent "$err" 'lastCost'
silent "$err" 'tipsHistory'
in_claude twice 'echo "{\"numStartups\": 1, \"numStartups\": 2}" >.claude.json'
says "$err" 'M  ~/.claude/.claude.json'
in_claude valid 'echo "{\"numStartups\": 2}" >.claude.json'
in_claude server 'echo "{\"numStartups\": 3, \"mcpServers\": {\"evil\":
	{\"command\": \"evil\"}}}" >.claude.json; echo x >~/project/new'
says "$err" 'A  ~/.claude/.claude.json#mcpServers'
in_claude count 'sed -i s/3/4/ .claude.json'
silent "$err" 'configuration or code'
gives 0 'a discard takes members back in a file that a later run changed' \
	guard discard -y server
home_has 'the member is gone, the later one stays' \
	'! grep evil .claude.json && grep "numStartups\": 4" .claude.json'
in_claude script 'echo one >statusline.sh; chmod 755 statusline.sh
	echo "{\"statusLine\": {\"command\": \"sh ~/.claude/todos/run.sh\"}}" \
		>settings.json; echo x >~/project/new'
says "$err" 'A  ~/.claude/statusline.sh'
says "$err" 'M  ~/.claude/settings.json'
in_claude executable 'chmod 644 statusline.sh'
says "$err" 'M  ~/.claude/statusline.sh'
in_claude touched 'touch statusline.sh; cp settings.json s; mv s settings.json'
silent "$err" 'configuration or code'
in_claude data 'echo evil >todos/run.sh; echo evil >todos/other.sh'
says "$err" 'A  ~/.claude/todos/run.sh'
silent "$err" 'other.sh'

# --- a command in the project and in the home directory ---
# shellcheck disable=SC2016
in_claude commands 'echo "{\"hooks\": {\"Stop\": [{\"command\": \"\\\"\$CLAUDE_PROJECT_DIR\\\"/tools/hook.sh\"}]},
	\"mcpServers\": {\"m\": {\"command\": \"node\", \"args\": [\"$HOME/mcp.js\"]}}}" \
		>settings.json'
says "$err" 'M  ~/.claude/settings.json'
silent "$err" 'name files that the run changed'
in_claude follow 'mkdir ~/project/tools; echo x >~/project/tools/hook.sh
	echo x >~/project/tools/other.sh; echo x >~/mcp.js'
says "$err" 'the settings of claude name files that the run changed'
says "$err" 'A  tools/hook.sh'
# shellcheck disable=SC2088
says "$err" 'A  ~/mcp.js'
silent "$err" 'other.sh'
gives 0 'diff names these files' guard diff follow
says "$out" 'Named by the settings of claude'
gives 0 'diff --json names these files' guard diff --json follow
says "$out" '"commands": ['
gives 0 'discard drops the runs' guard discard -y --all

# --- plain sessions, as tests/agents saw them ---
# plain_session AGENT FILES: two sessions that write these files, with a new
# member in each JSON file that is written as FILE=MEMBER
plain_session() {
	agent=$1
	shift
	guard agents -q --reset "$agent" -y
	for time in first second; do
		gives 0 "the $time plain session of $agent" guard run \
			--agent "$agent" -- sh -c 'time=$1; shift
			cd; for file; do
				mkdir -p "$(dirname "${file%%=*}")"
				case $file in
				*=*) echo "{\"${file#*=}\": \"$time\"}" >"${file%%=*}" ;;
				*) echo "$time" >>"$file" ;;
				esac
			done' - "$time" "$@"
		silent "$err" 'configuration or code'
	done
}
plain_session gemini .gemini/history/project/.project_root .gemini/installation_id \
	.gemini/projects.json .gemini/state.json .gemini/tmp/project/logs.json \
	".gemini/trustedFolders.json=$HOME/project" \
	.gemini/tmp/project/chats/session-2026.jsonl
plain_session opencode .config/opencode/.gitignore \
	'.config/opencode/opencode.json=$schema' \
	.local/share/opencode/log/opencode.log \
	.local/share/opencode/opencode.db-wal .local/share/opencode/snapshot/1/2/index \
	.local/share/opencode/snapshot/1/2/objects/ab/cd \
	.local/state/opencode/locks/1.lock/meta.json .local/state/opencode/model.json
plain_session qwen .qwen/debug/1.txt .qwen/installation_id .qwen/tip_history.json \
	.qwen/projects/-p/chats/1.jsonl .qwen/projects/-p/meta.json .qwen/tmp/1/logs.json
plain_session copilot .copilot/config.json=firstLaunchAt .copilot/logs/1.log \
	.copilot/session-state/1/workspace.yaml .copilot/session-store.db-wal \
	.copilot/command-history-state.json .copilot/open-sessions-state.json \
	.copilot/sidebar-sessions-state/1.json
plain_session cline .cline/data/checkpoint-scratch/1/index .cline/data/db/cron.db \
	.cline/data/locks/hub/production.json .cline/data/logs/cline.log \
	.cline/data/sessions/1/1.json .cline/data/settings/providers.json \
	.cline/data/settings/cli-notices.json .cline/data/cache/feature-flags.json
plain_session pi .pi/agent/auth.json .pi/agent/sessions/-p/1.jsonl \
	.pi/agent/settings.json=lastChangelogVersion
plain_session cn .continue/logs/cn.log .continue/sessions/sessions.json \
	.continue/input_history.json
plain_session auggie .augment/.auggie.json=sessionCount
plain_session aider .aider/analytics.json .aider/caches/versioncheck

# --- content of the first start ---
gives 0 'the first start of codex' guard run --name skills --agent codex -- \
	sh -c 'mkdir -p ~/.codex/skills/.system/a; echo own >~/.codex/skills/.system/a/S.md
	echo x >~/.codex/state_5.sqlite-wal; echo x >new
	printf "[tui]\nscreen_reader_detection_done = true\n" >>~/.codex/config.toml
	printf "[projects.\"%s\"]\ntrust_level = \"trusted\"\n" "$PWD" \
		>>~/.codex/config.toml'
silent "$err" 'configuration or code'
gives 0 'a later change of it' guard run --agent codex -- \
	sh -c 'echo evil >>~/.codex/skills/.system/a/S.md'
says "$err" 'M  ~/.codex/skills/.system/a/S.md'
gives 0 'a new skill beside it' guard run --name beside --agent codex -- \
	sh -c 'echo evil >~/.codex/skills/S.md; echo x >beside'
says "$err" 'A  ~/.codex/skills/S.md'
gives 0 'a server in settings that have data, too' guard run --agent codex -- \
	sh -c 'printf "[mcp_servers.x]\ncommand = \"evil\"\n[tui]\n" \
		>>~/.codex/config.toml'
says "$err" 'M  ~/.codex/config.toml'
gives 0 'trust in another directory' guard run --agent codex -- sh -c \
	'printf "[projects.\"/x\"]\ntrust_level = \"trusted\"\n" \
		>>~/.codex/config.toml'
says "$err" 'M  ~/.codex/config.toml'
gives 0 'a text of several lines is compared as a whole' \
	guard run --agent codex -- sh -c 'printf "%s\n" "x = \"\"\"" \
	"[tui]" "screen_reader_detection_done = true" "\"\"\"" \
		>~/.codex/config.toml'
says "$err" 'M  ~/.codex/config.toml'
guard agents -q --reset codex -y
guard discard -q -y --all
gives 0 'a first start that is discarded' guard run --name skills \
	--agent codex -- sh -c 'mkdir -p ~/.codex/skills/.system/a
	echo evil >~/.codex/skills/.system/a/S.md; echo x >new'
silent "$err" 'configuration or code'
gives 0 'the discard removes what the start has created' guard discard -y skills
gives 0 'it is gone' guard run --agent codex -- \
	sh -c '! [ -e ~/.codex/skills/.system ]'

# --- sandboxes inside ---
gives 0 'claude without a sandbox of its own' guard run --agent claude -- true
says "$err" 'agent: claude)'
mkdir .claude
echo '{"sandbox": {"enabled": true}}' >.claude/settings.local.json
gives 0 'claude with a sandbox of its own' guard run --agent claude -- true
says "$err" 'agent: claude with --nested'
printf '#!/bin/sh\ntrue\n' >claude
chmod 755 claude
gives 0 'a program of the project' guard run --agent claude -- ./claude
says "$err" 'agent: claude)'
rm -r .claude claude

# --- a large file of the user's settings ---
# large_settings THEME
large_settings() {
	printf '{"theme": "%s", "apiKey": "sk-in-key", "x": "%070000d"}' \
		"$1" 1 >"$HOME/.claude.json"
}
gives 0 'a new home' guard agents --reset claude -y
for theme in dark light; do
	large_settings "$theme"
	until [ $(($(date +%s) - $(stat -c %Z "$HOME/.claude.json"))) -ge 2 ]; do
		sleep 0.05
	done
	for time in first second; do
		gives 0 "$theme: the agent gets its part, $time time" \
			guard run -q --agent claude -- sh -c \
			'cat ~/.claude/.claude.json; rm ~/.claude/.claude.json'
		says "$out" "\"theme\": \"$theme\""
		silent "$out" apiKey
	done
done
rm "$HOME/.claude.json"

# --- a file that an agent keeps in .git ---
gives 0 'a file of the agent in .git is no change' \
	guard run --agent opencode -- sh -c 'echo id >.git/opencode'
says "$err" 'changed nothing'
gives 0 'a hook is one' guard run --agent opencode -- \
	sh -c 'echo id >.git/opencode; echo x >.git/hooks/post-commit'
says "$err" '1 in .git'
guard discard -y -q

# --- bad input ---
gives 2 'a number of runs is expected' guard agents claude --undo x
says "$err" "takes a number of runs, not 'x'"
gives 2 'no number of runs is 0' guard agents claude --undo 0
gives 2 '--undo needs the name of an agent' guard agents --undo
gives 2 '--undo and --reset exclude each other' \
	guard agents --undo --reset claude
gives 1 '--undo refuses an unknown agent' guard agents nobody --undo
says "$err" "no such profile: 'nobody'; guard agents lists all"
gives 1 '--reset refuses an unknown agent' guard agents --reset nobody
says "$err" "no such profile: 'nobody'; guard agents lists all"

# --- --share-login: the real directory ---
mkdir -p "$HOME/.claude/commands"
echo '{"theme": "x"}' >"$HOME/.claude/settings.json"
echo '{"token": "before"}' >"$HOME/.claude/.credentials.json"
echo mine >"$HOME/.claude/commands/a.md"
gives 0 'a run with --share-login writes a hook' \
	guard run --share-login --agent claude -- sh -c 'cd ~/.claude &&
	echo "{\"hooks\": {\"Stop\": [{\"command\": \"evil\"}]}}" >settings.json
	echo new >commands/b.md; echo ran >>commands/a.md; : >~/project/shared
	echo "{\"token\": \"refreshed\"}" >.credentials.json'
says "$err" 'configuration or code for the next session of claude was changed'
says "$err" '/.claude/settings.json'
says "$err" '/.claude/commands/b.md'
gives 0 'diff lists it' guard diff
says "$out" '/.claude/settings.json'
gives 0 'discard takes the run' guard discard -y
echo later >>"$HOME/.claude/commands/a.md"
gives 0 'a run that changes nothing there comes behind it' \
	guard run -q --share-login --agent claude -- true
gives 0 'agents --undo takes it back' guard agents claude --undo -y
is "$(cat "$HOME/.claude/settings.json")" '{"theme": "x"}' 'the hook is gone'
no 'the new command is gone' test -e "$HOME/.claude/commands/b.md"
is "$(cat "$HOME/.claude/.credentials.json")" '{"token": "refreshed"}' \
	'the login is the newest'
is "$(tail -n 1 "$HOME/.claude/commands/a.md")" later \
	'a file that the user changed since stays'
says "$err" 'stays: it was changed since'

# Each command of a run is named, and --undo goes back to before its first one.
put() {
	echo "echo '{\"hooks\": {\"Stop\": [{\"command\": \"$1\"}]}}' >~/.claude/settings.json"
}
named() {
	says "$err" 'configuration or code for the next session of claude was'
	says "$err" '/.claude/settings.json'
}
for how in --env=OWN --share-login; do
	settings=$HOME/.claude/settings.json
	[ $how = --share-login ] ||
		settings=$state/agents/claude/home/.claude/settings.json
	gives 0 "$how: a run" \
		guard run "$how" --agent claude -- touch several
	for word in one two; do
		gives 0 "$how: its command $word" guard run --continue "$how" \
			--agent claude -- sh -c "$(put $word)"
		named
	done
	gives 0 "$how: a command of exec" guard exec -- sh -c "$(put three)"
	named
	gives 0 "$how: one that writes nothing there" guard exec -- true
	no 'is not named' grep -q 'configuration or code' "$err"
	gives 0 "$how: diff" guard diff
	case $how in
	--share*)
		says "$out" 'guard agents claude --undo takes them back'
		gives 0 'exec --all' guard exec --all -- sh -c "$(put all)"
		ok 'exec --all has a copy' grep -q three "$settings"
		;;
	*) says "$out" 'guard discard takes them back' ;;
	esac
	gives 0 "$how: undo" guard agents claude --undo -y
	no 'the hook is gone' grep Stop "$settings"
	gives 0 "$how: discard" guard discard -y
done

# A run that was killed: what it wrote is named by discard, and goes back, too.
guard run --share-login --agent claude -- \
	sh -c "$(put killed); sleep 60" >"$T/killed" 2>&1 &
pid=$!
while ! grep -q killed "$settings"; do sleep 0.02; done
kill -9 $pid
wait $pid 2>"$T/null"
while guard status | grep -q running; do sleep 0.02; done
gives 0 'discard the killed run' guard discard -y
says "$err" 'guard agents claude --undo takes the changes of the run there back'
gives 0 'agents --undo after a kill' guard agents claude --undo -y
is "$(cat "$settings")" '{"theme": "x"}' 'the hook of a killed run is gone'

# What the user changed since stays, and no sentence denies it.
gives 0 'a run with nothing but a hook' \
	guard run --share-login --agent claude -- sh -c "$(put last)"
says "$err" 'changed nothing else'
echo '{"mine": 1}' >"$settings"
gives 0 'agents --undo takes nothing back' guard agents claude --undo -y
says "$err" 'the rest of the home of claude is as before run'
is "$(cat "$settings")" '{"mine": 1}' 'the edit stays'

finish
