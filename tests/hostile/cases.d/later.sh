# shellcheck shell=sh
# The user's next step, for the part "later" of a case. A program that is
# seldom installed on a test machine is simulated: sim_NAME executes what NAME
# would, read from the same files.

# script FILE...: executable scripts that do nothing
script() {
	for file; do
		mkdir -p "$(dirname "$file")"
		printf '#!/bin/sh\nexit 0\n' >"$file"
		chmod 755 "$file"
	done
}

# members FILE PROGRAM: Python with the parsed JSON as d
members() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[2])' "$1" "$2"
}

# direnv, at cd into a directory whose .envrc was allowed: the functions of its
# library that the cases use
sim_direnv() {
	bash -c 'source_env() { . "$1"; }
		source_env_if_exists() { [ ! -e "$1" ] || . "$1"; }
		dotenv() { set -a; . "./${1:-.env}"; set +a; }
		PATH_add() { PATH=$PWD/$1:$PATH; }
		watch_file() { :; }
		. ./.envrc
		eval "$1"' bash "${1:-:}"
}

# an agent that starts: its MCP servers, its hooks of every kind, the status line
sim_agent() {
	[ ! -e .mcp.json ] || members .mcp.json 'for s in d["mcpServers"].values():
    print(json.dumps([s["command"]] + s.get("args", [])))' |
		python3 -c 'import json, subprocess, sys
for line in sys.stdin: subprocess.call(json.loads(line), stdin=subprocess.DEVNULL)'
	[ ! -e .claude/settings.json ] || members .claude/settings.json '
for kind in d.get("hooks", {}).values():
    for matcher in kind:
        for hook in matcher["hooks"]: print(hook["command"])
if "statusLine" in d: print(d["statusLine"]["command"])' |
		CLAUDE_PROJECT_DIR=$PWD sh
}

# an editor that opens the directory: tasks of folderOpen
sim_editor() {
	members .vscode/tasks.json 'for t in d["tasks"]:
    if t.get("runOptions", {}).get("runOn") == "folderOpen":
        print(t["command"].replace("${workspaceFolder}", "."), *t.get("args", []))' | sh
}

# pre-commit, lefthook, a CI service, a dev container, a desktop, systemd: each
# command of the key, as a shell command
sim_key() {
	sed -n "s/^[- ]*[\"']*$2[\"']*[:=] *[\"']\{0,1\}\(.*[^\"',]\)[\"',]*\$/\1/p" "$1" |
		sed -e "s,%h,$HOME,g" | sh
}

# lost TEXT...: acts when a text is in no file and no object of the project
lost() {
	git cat-file --batch-all-objects --batch 2>/dev/null >"$T/objects"
	for lost; do
		grep -raqF -e "$lost" "$HOME/project" "$T/objects" --exclude-dir=.git ||
			touch "$PROOF"
	done
}
