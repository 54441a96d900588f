#!/bin/sh
# users: one
# Plain sessions of agents: files that they write into their homes by themselves
# are no change of the run, unknown data is a note, and a file that the next
# session executes or obeys is a warning.
# shellcheck disable=SC2016,SC2088
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/bin" "$HOME/.claude"
PATH=$HOME/bin:$PATH
warning='warning: configuration or code'

# --- files that the newest versions write ---
# plain NAME SCRIPT: two sessions of an agent that only does that
plain() {
	printf '#!/bin/sh\ncd ~ || exit 1\nput() { mkdir -p "${1%%/*}"; printf "%%s %%s" "${2-x}" $$ >"$1"; }\n%s\n' \
		"$2" >"$HOME/bin/$1"
	chmod 755 "$HOME/bin/$1"
	for session in first second; do
		gives 0 "a plain session of $1, the $session one" guard run -- "$1"
		says "$err" "agent: $1"
		silent "$err" 'warning'
		silent "$err" 'that guard does not know'
		grep -q 'run [^ ]* changed nothing$' "$err"
		is $? 0 "the $session session of $1 changed nothing"
	done
}

printf '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "%s"}]}]}}\n' \
	'date >> ~/.claude-stop.log' >"$HOME/.claude/settings.json"
plain claude 'put .claude/plugins/store/cc-plugin-a_builtin-b0.json
put .claude/sessions/1.json; put .claude/telemetry/failed.json; put .claude/projects/-p/t.jsonl
put .claude/plans/p.md; put .claude/todos/t.json
echo "{\"numStartups\": $$, \"closedIssuesLastChecked\": $$,
	\"projects\": {\"$HOME/project\": {\"lastCost\": $$, \"activeWorktreeSession\": {\"a\": \"b c\"}}}}" >.claude/.claude.json
mkdir -p .config/anthropic; put .config/git/ignore
mkdir -p project/.git/worktrees project/.git/remotes project/.git/NOTES_MERGE_WORKTREE \
	project/.git/info/.claude-sandbox-noreplace \
	project/.git/objects/info/alternates \
	project/.git/objects/info/commit-graphs/.claude-sandbox-noreplace
: >project/.git/config.worktree
date >>.claude-stop.log'
says "$err" '~/.claude-stop.log: written by a hook'
no 'the real home has no line of the hook' test -e "$HOME/.claude-stop.log"
plain codex 'put .codex/state_5.sqlite; put .codex/state_5.sqlite-wal
put .codex/sessions/2026/11/28/r.jsonl; put .codex/installation_id
mkdir -p .codex/.tmp; : >.codex/.tmp/x.lock; put .codex/tmp/arg0/lock; put .codex/models_cache.json
mkdir -p .codex/skills/.system; [ -e .codex/skills/.system/S.md ] || put .codex/skills/.system/S.md'
plain qwen 'put .qwen/.openai-logs-cleanup-c1; put .qwen/extension-store/state.json
[ -e .qwen/extensions ] || put .qwen/extensions/extension-enablement.json
put .qwen/usage/token-usage-2026-11.jsonl; put .qwen/usage_record.jsonl
put .qwen/projects/-p/chats/a.jsonl; put .qwen/projects/-p/meta.json; put .qwen/tip_history.json
: >.qwen/memories; [ -e .qwen/output-language.md ] || put .qwen/output-language.md
grep -q "\"enableAutoUpdate\": false" .qwen/settings.json || exit 1
grep -q autoMode .qwen/settings.json ||
	sed -i "1s/{/{\"ui\": {\"autoModeAcknowledged\": true},/" .qwen/settings.json'
plain gemini 'put .gemini/projects.json; put .gemini/installation_id
put .gemini/tmp/p/logs.json; put .gemini/tmp/p/chats/a.json; put .gemini/state.json'
plain copilot 'put .copilot/session-store.db-wal; put .copilot/logs/process-1.log
put .copilot/session-state/a/events.jsonl; put .copilot/open-sessions-state.json
: >.copilot/settings.json.lock; [ "$COPILOT_AUTO_UPDATE" = false ]'
mkdir -p "$HOME/.config/opencode"
echo '{"mcp": {"x": {"command": ["npx", "-y", "server", "."]}}}' \
	>"$HOME/.config/opencode/opencode.json"
# The unpacked plugin package has names that are no names of the project's files.
plain opencode 'cd .config/opencode; [ -e node_modules ] || {
mkdir -p node_modules/.bin; put node_modules/which/bin.js
put node_modules/which/package.json "{\"exports\": {\"./package.json\": \"./package.json\"}}"
ln -s ../which/bin.js node_modules/.bin/which; put ./package.json; put ./bun.lock; }
put ../../.local/share/opencode/opencode.db; put ../../.local/share/opentui/tree-sitter/x.wasm; put ./.gitignore'
gives 0 'a new package.json of the project is none of the settings' \
	guard run -- sh -c 'echo "{}" >package.json; exec opencode'
silent "$err" 'the settings of opencode name files'
gives 0 'discarded' guard discard -y

# --- switches of the profiles, in every form of the user's settings ---
gives 0 'codex gets its switches in a new file' guard run --agent codex -- \
	cat "$HOME/.codex/config.toml"
is "$(grep . "$out" | grep -v "hook\\|trusted")" 'check_for_update_on_startup = false
[features]
daemon_auto_start = false' 'TOML switches'
guard agents -q --reset codex -y
mkdir "$HOME/.codex"
printf 'model = "m"\ncheck_for_update_on_startup = true\n[features]\nx = true\n' \
	>"$HOME/.codex/config.toml"
gives 0 "and beside the user's own members" guard run --agent codex -- \
	cat "$HOME/.codex/config.toml"
is "$(grep . "$out" | grep -v "hook\\|trusted")" 'model = "m"
check_for_update_on_startup = true
[features]
daemon_auto_start = false
x = true' 'TOML switches beside others'

# --- files of an unknown purpose ---
# all KEY LIST: each path of the list is in the run's JSON below the key
all() {
	gives 0 "guard diff --json has the $1" guard diff --json
	python3 - "$out" "$1" "$2" >"$T/x" 2>&1 <<-'END'
		import json, sys
		run = json.load(open(sys.argv[1]))
		got = {i["path"] for i in run["agent"][sys.argv[2]]}
		want = {"~/.claude/" + line.split("\t")[0] for line in open(sys.argv[3])}
		print("missing:", sorted(want - got), "more:", sorted(got - want))
		sys.exit(want != got)
	END
	is $? 0 "all $1: $(cat "$T/x")"
	guard discard -q -y --keep-agent
}

# write LIST: a run in which claude's home gets these files: PATH, content
cat >"$HOME/bin/write" <<'END'
#!/bin/sh
cd ~/.claude || exit 1
while IFS='	' read -r path text; do
	mkdir -p "$(dirname "$path")"
	printf "$text" >"$path"
done
echo >~/project/made
END
chmod 755 "$HOME/bin/write"
cat >"$T/unknown" <<'END'
elsewhere	x
new-cache/a.db	SQLite\0
new-cache/index.bin	\001\000\002
new-log/2026.log	started\n
notes	a few words\n
lines	count = 5\nseen: yes\n
prompt.log	curl x | sh\n
usage/2026.jsonl	{"prompt": "curl x | sh"}\n
counts.json	{"starts": 5, "seen": true, "at": "2026-11-28T10:00:00Z", "id": "b0-17"}
titles.json	{"t": {"title": "Fix the login, please"}}
list.json	["a", "b", 3]
names.json	{"title": "R\303\251parer la page"}
counts	{"starts": 5}
empty.json	{}
run.json	{"count": 3, "lastRun": "2026-11-28"}
use.json	{"tokens": {"input": 3, "output": 5}, "usage": [1, 2]}
models.json	{"models": [{"id": "a", "name": "A"}]}
mine.json	{"cwd": "/home/tester/project"}
lock.pid	17
END
[ "$me" != root ] || sed -i 's,/home/tester,/root,' "$T/unknown"
cat >"$T/code" <<'END'
start	#!/bin/sh\n
program	\177ELF\002
archive	PK\003\004x
tool.py	x
a.sh	x
a.mjs	x
a.TS	x
NOTES.md	x
deep/rules.mdc	x
settings2.toml	a = 1
new.yaml	a: 1
x.env	A=b
hooks2/x	x
plugins/cache/x/y	x
new-plugins/data.json	{"a": 1}
agents2/a	x
skills/a/b	x
commands.txt	x
memories/m.txt	x
mcp-list.json	{}x
a/package.json	{"a": 1}
a.awk	x
a.txt	x
a.hbs	x
cmd.json	{"cmd": "x"}
bin.json	{"bin": "x"}
helper.json	{"helper": "x"}
x58	{"command": "x"}
x59	mcpServers:\n  a:\n    command: x\n
x60.cache	{"command": "x"}
x73.json.bak	{"command": "x"}
x57.sqlite	{"command": "x"}
x61	hooks = x\n
x62	curl https://e.org\n
x63	x; y\n
x64	a: 1\n- run: x\n
repo/.git/config	x
AGENTS	x
CLAUDE.local.md	x
.envrc	x
broken.json	{
twice.json	{"a": 1, "a": 2}
h.json	{"hooks": {"Stop": "x"}}
c.json	{"a": {"command": "x"}}
u.json	{"a": "https://e.org"}
p.json	{"a": "/tmp/x"}
r.json	{"a": "../x"}
s.json	{"a": "curl e | sh"}
v.json	{"a": "x; y"}
w.json	{"permissions": {"allow": true}}
b.json	{"bypassChecks": true}
y.json	{"autoApprove": true}
l.json	[{"args": "x"}, "-y $HOME"]
k.json	{"rm -rf ~": true}
e.json	{"onStart": "x"}
i.json	{"instructions": "do it"}
t.json	[{"cron": "0 9 * * *", "say": "x"}]
q.json	{"text": "delete all of it"}
state	{"a": {"command": "x"}}
settings.json.bak	{"a": 1}
new-settings.json	{"a": 1}
END
gives 0 'unknown data of an agent is a note' guard run --agent claude -- \
	sh -c 'echo y >~/.claude/elsewhere; date >~/.claude/notes'
silent "$err" 'warning'
says "$err" '~/.claude/elsewhere, and 1 more: data of claude that guard does not know'
says "$err" 'changed nothing'
guard agents -q --reset claude -y
guard run --agent claude -- write <"$T/unknown" 2>"$err"
silent "$err" "$warning"
all unknown "$T/unknown"
gives 0 'words of data are no names of commands' guard run --agent claude -- \
	sh -c 'echo "{\"edited\": [\"README.md\"]}" >~/.claude/edits.json; echo >>README.md'
silent "$err" 'may execute'
says "$err" '~/.claude/edits.json: data of claude'
guard discard -q -y
guard run --agent claude -- write <"$T/code" 2>"$err"
says "$err" "$warning"
all code "$T/code"
gives 0 'many files' guard run --agent claude -- sh -c 'cd ~/.claude; mkdir -p skills/a
	for i in $(seq 100 140); do echo x >$i.sh; echo x >skills/a/$i; done'
says "$err" '  ~/.claude/100.sh'
says "$err" 'and 70 other changes (guard diff)'
gives 0 'other kinds' guard run --agent claude -- sh -c '
	cd ~/.claude; echo >bit; chmod 755 bit; ln -s /etc/passwd link; mkfifo pipe
	echo x >elsewhere2; rm start; echo >~/project/made'
printf '%s\t\n' bit link pipe start >"$T/kinds"
all code "$T/kinds"
gives 0 'a file that settings name is code, whatever it is' \
	guard run --agent claude -- sh -c 'cd ~/.claude; echo x >elsewhere3
	echo "{\"hooks\": {\"Stop\": \"sh ~/.claude/elsewhere3\"}}" >settings.json
	echo >~/project/made'
printf '%s\t\n' elsewhere3 settings.json >"$T/kinds"
all code "$T/kinds"

mkdir "$HOME/.claude/rules"
echo 'See @~/.claude/todos/x.md and README.md.' >"$HOME/.claude/CLAUDE.md"
guard agents -q --reset claude -y
gives 0 'a file that instructions import is code' guard run --agent claude -- \
	sh -c 'mkdir -p ~/.claude/todos; echo x >~/.claude/todos/x.md; echo x >~/.claude/todos/y.md; echo >>README.md'
says "$err" 'A  ~/.claude/todos/x.md'
silent "$err" 'y.md'
silent "$err" 'may execute'
guard discard -q -y
rm "$HOME/.claude/CLAUDE.md"
guard agents -q --reset claude -y

# --- members of settings ---
cat >"$HOME/bin/members" <<'END'
echo '{"newCounter": 5, "wasShown": true, "build": "b-17", "packages": ["npm:evil"], "share": "auto", "fileName": ["E.md"], "hook": 1, "mcpServers": {"x": {"command": "x"}},
"address": "https://e.org", "script": "x", "say": "do it", "where": "/tmp/x", "autoRun": true,
"allowAll": true, "env": {"A": "b"}}' >~/.claude/.claude.json; echo >~/project/made
END
for list in 'unknown newCounter wasShown build' \
	'code hook mcpServers packages share fileName address script say where autoRun allowAll env'; do
	gives 0 "members that are ${list%% *}" guard run --agent claude -- \
		sh -c "echo '{}' >~/.claude/.claude.json"
	gives 0 'written' guard run --agent claude -- sh "$HOME/bin/members"
	key=${list%% *}
	# shellcheck disable=SC2086
	printf '.claude.json#%s\t\n' ${list#* } >"$T/kinds"
	all "$key" "$T/kinds"
done

# --- targets of redirections in the user's own hooks ---
# hooks: a new home with the lines of $T/hooks as hooks, @ for a log
hooks() {
	guard agents -q --reset claude -y
	python3 - "$HOME/.claude/settings.json" >"$T/logs" <<-'END'
		import json, os, sys
		hooks = [c.rstrip("\n") for c in open(os.environ["T"] + "/hooks")]
		for n, c in enumerate(hooks):
		    hooks[n] = c.replace("@", f"hook{n}.log")
		    print(f"hook{n}.log")
		json.dump({"hooks": {"Stop": hooks}}, open(sys.argv[1], "w"))
	END
}
# logs TITLE SCRIPT: a run of the script for each of the logs
logs() {
	printf '#!/bin/sh\ncd || exit\nfor log in %s; do\n%s\ndone\n' \
		"$(tr '\n' ' ' <"$T/logs")" "$2" >"$HOME/bin/logs"
	chmod 755 "$HOME/bin/logs"
	gives 0 "$1" guard run --agent claude -- logs
}
export T
cat >"$T/hooks" <<'END'
date >> ~/@
date >>~/@ 2>&1
date > "$HOME/@"
date >| ~/@; true
x 2>> ${HOME}/@
x &> ~/@
x | tee -a ~/@
x | tee "$HOME"/@ | y
jq . >>"$HOME"/@
x | dd of=$HOME/@ 2>&1
END
hooks
logs 'files that hooks only write to' 'echo x >>$log'
silent "$err" 'may execute'
says "$err" 'changed nothing'
says "$err" '~/hook0.log, and 9 more: written by a hook'
logs 'with settings that the agent has changed' \
	'echo x >>$log; s=.claude/settings.json; grep -q "\"a\"" $s || sed -i "1s/{/{\"a\": 1,/" $s'
says "$err" 'changed nothing'
says "$err" '~/hook0.log, and 9 more: written by a hook'
logs 'with a change of the project' 'echo x >>$log; echo >project/made'
says "$err" '1 added'
silent "$err" 'in your home directory'
gives 0 'applied' guard apply -y
no 'no apply takes the lines of a hook' test -e "$HOME/hook0.log"
for script in 'rm $log' ': >$log' 'chmod 755 $log' 'ln -sf /etc/passwd $log'; do
	echo old | tee "$HOME/hook0.log" "$HOME/hook1.log" >"$HOME/hook2.log"
	printf 'hook%s.log\n' 0 1 2 >"$T/logs"
	logs "not by a hook: $script" "$script"
	says "$err" '3 changes in your home directory'
	silent "$err" 'written by a hook'
	guard discard -q -y --keep-agent
done
cat >"$T/hooks" <<'END'
date >> ~/@; sh ~/@
~/@ >> ~/@
sh < ~/@
x | tee ~/other | ~/@
x >(~/@)
date >&2; . ~/@
END
hooks
logs 'files that hooks execute' 'echo x >>$log'
says "$err" 'may execute'
for log in 0 1 2 3 4 5; do
	says "$err" "  ~/hook$log.log"
done
guard discard -q -y --keep-agent
echo 'date >> ~/.bashrc' >"$T/hooks"
hooks
logs 'settings of the run itself, and a start file' '
	echo "{\"hooks\": {\"Stop\": \"date >> ~/mine.log\"}}" >.claude/settings.json
	echo x >>mine.log'
says "$err" "$warning"
says "$err" '1 change in your home directory'
guard discard -q -y
logs 'a start file of the shell' 'echo x >>.bashrc'
says "$err" '~/.bashrc runs when a shell starts'

finish
