#!/bin/sh
# A file that a critical or high file executes or reads has the level of that
# file, whatever its own name; the same edit of a file beside it has none.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
p=$HOME/project
cd "$p" || exit 99
git init -q . 2>/dev/null

# put FILE: from the standard input, with its directory.
put() {
	mkdir -p "$(dirname "$1")" && cat >"$1"
}
# script FILE...: scripts, each with a harmless twin beside it.
script() {
	for f; do
		printf '#!/bin/sh\ntrue\n' | put "$f"
		printf '#!/bin/sh\ntrue\n' | put "$f.twin"
		chmod +x "$f" "$f.twin"
	done
}
# plain FILE...: the same without the mode to execute it.
plain() {
	for f; do
		echo 'true' | put "$f"
		echo 'true' | put "$f.twin"
	done
}
# The table: expected mark, path, what names it in the sentence.
table=$T/table
want() {
	printf '%s\t%s\t%s\n' "$@" >>"$table"
}
# --- links ---
mkdir -p .git/hooks tools
script link/direct link/two link/absolute link/deep/x
ln -s ../../link/direct .git/hooks/pre-commit
ln -s ../link/two tools/middle
ln -s ../../tools/middle .git/hooks/pre-push
ln -s "$p/link/absolute" .git/hooks/post-merge
want '!!' link/direct .git/hooks/pre-commit
want '!!' link/two .git/hooks/pre-push
want '!!' link/absolute .git/hooks/post-merge
mkdir -p sub/dir
plain conf/envrc agent/settings.json
ln -s ../../conf/envrc sub/dir/.envrc
ln -s ../agent sub/.claude
want '!!' conf/envrc sub/dir/.envrc
want '!!' agent/settings.json sub/.claude
# A cycle of links ends.
ln -s loop-b .git/hooks/loop-a
ln -s loop-a .git/hooks/loop-b

# --- hooks that are files ---
script h/plain h/top h/dir h/second h/exec h/quoted h/after
plain h/interpreted h/sourced
put .git/hooks/commit-msg <<'END'
#!/bin/sh
# h/comment is only mentioned
echo "h/echoed"
./h/plain
"$(git rev-parse --show-toplevel)"/h/top "$1"
$(dirname "$0")/../../h/dir
exec h/exec "$@"
bash -e h/interpreted
if [ -f h/tested ]; then . ./h/sourced; fi
'h/quoted' && true | h/after
cat h/read; git add h/added
END
chmod +x .git/hooks/commit-msg
script h/comment h/echoed h/tested h/read h/added
printf '#!/bin/sh\nh/second\n' >h/plain
for f in plain top dir exec interpreted sourced quoted after second; do
	want '!!' h/$f .git/hooks/commit-msg
done
for f in comment echoed tested read added; do
	want '' h/$f ''
done

# --- git's configuration ---
script g/fsmonitor g/clean g/textconv g/alias g/merge
plain g/included
printf '[alias]\n\tx = status\n' >g/included
script g/from-included
git config --file g/included core.fsmonitor "$p/g/from-included"
git config core.fsmonitor "$p/g/fsmonitor"
git config filter.f.clean './g/clean %f'
git config diff.d.textconv g/textconv
git config alias.y '!g/alias'
git config merge.m.driver 'g/merge %A'
git config include.path ../g/included
for f in fsmonitor clean textconv alias merge; do
	want '!!' g/$f .git/config
done
want '!!' g/from-included g/included

# --- a directory of hooks by its absolute path, a link to it, and a link in it ---
mkdir -p gh/dir
script gh/dir/pre-rebase gh/target
ln -s dir gh/link
ln -s ../target gh/dir/post-rewrite
git config core.hooksPath "$p/gh/link"
want '!!' gh/dir/pre-rebase .git/config
want '!!' gh/target gh/link/post-rewrite

# --- direnv, agents, editors, containers ---
script e/direct
plain e/env e/sourced
script e/path/git e/path/own
put .envrc <<'END'
source_env e/env
. $PWD/e/sourced
e/direct
PATH_add e/path
END
want '!' e/path/git .envrc
want '' e/path/own ''
for f in env sourced direct; do
	want '!!' e/$f .envrc
done
plain m/server.js m/args.py m/dir/index.js
put .mcp.json <<'END'
{"mcpServers": {
  "a": {"command": "node", "args": ["m/server.js"]},
  "b": {"args": ["-u", "./m/args.py"], "command": "python3"},
  "c": {"command": "node", "args": ["m/dir"]}}}
END
want '!!' m/server.js .mcp.json
want '!!' m/args.py .mcp.json
want '!!' m/dir/index.js .mcp.json
script a/stop a/status a/allowed
put .claude/settings.json <<'END'
{"hooks": {"Stop": [{"hooks": [{"type": "command",
  "command": "\"$CLAUDE_PROJECT_DIR\"/a/stop"}]}]},
 "statusLine": {"type": "command", "command": "bash a/status"},
 "permissions": {"allow": ["Bash(./a/allowed:*)"]}}
END
want '!!' a/stop .claude/settings.json
want '!!' a/status .claude/settings.json
want '' a/allowed ''
script v/open
put .vscode/tasks.json <<'END'
{"tasks": [{"label": "x", "command": "${workspaceFolder}/v/open",
  "runOptions": {"runOn": "folderOpen"}}]}
END
want '!!' v/open .vscode/tasks.json
script d/create
plain d/second.sh
put .devcontainer/devcontainer.json <<'END'
{"postCreateCommand": "bash d/second.sh", "initializeCommand": ["d/create"]}
END
want '!!' d/create .devcontainer/devcontainer.json
want '!!' d/second.sh .devcontainer/devcontainer.json

# --- hook managers, npm, CI, make ---
script k/husky k/local k/left
plain k/lint.js
put .husky/pre-commit <<'END'
k/husky
node k/lint.js n/read.json
npm run lint
npm run loop
VAR="n/value"
END
put .pre-commit-config.yaml <<'END'
repos:
- repo: local
  hooks:
  - id: x
    entry: ./k/local
    language: script
END
put lefthook.yml <<'END'
pre-commit:
  commands:
    x:
      run: k/left {staged_files}
END
want '!' k/husky .husky/pre-commit
want '!' k/lint.js .husky/pre-commit
want '!' k/local .pre-commit-config.yaml
want '!' k/left lefthook.yml
plain n/install.js pkg/n/prepare.js n/lint.js n/read.json pkg/own.js own.js
put package.json <<'END'
{"scripts": {"postinstall": "node n/install.js", "lint": "node n/lint",
  "loop": "npm run loop", "other": "node own.js"}}
END
put pkg/package.json <<'END'
{"scripts": {"prepare": "node ./n/prepare && node own.js"}}
END
want '!' n/install.js package.json
want '!' n/lint.js .husky/pre-commit
want '!' pkg/own.js pkg/package.json
want '' own.js ''
want '' n/read.json ''
want '!' pkg/n/prepare.js pkg/package.json
script c/step c/long c/moved
plain c/action/action.yml
put .github/workflows/x.yml <<'END'
jobs:
  a:
    steps:
    - run: ./c/step
    - uses: ./c/action
    - name: c/named
      run: |
        # c/remark
        FOO=1 c/long
    - working-directory: c
      run: ./moved
END
script c/named c/remark
want '!' c/step .github/workflows/x.yml
want '!' c/long .github/workflows/x.yml
want '!' c/moved .github/workflows/x.yml
want '' c/named ''
want '' c/remark ''
plain k/rules
put Makefile <<'END'
include k/rules
END

# --- what only reads its operands; and what executes those of a glob ---
plain o/a.ts o/b.ts o/sub/c.ts o/m.go o/p.py o/d.md uv/run.py uv/bun.ts \
	uv/task.py parts/one loop/two dots/three.sh
script o/s.sh o/t.sh o/each
plain run.py run.js run.sh
put .git/hooks/pre-merge-commit <<'END'
#!/bin/sh
prettier --check o/*.ts
npx eslint "o/**/*.ts"
npx prettier --check o/a.ts
npx --no-install tsc --noEmit o/b.ts
yarn eslint o/a.ts
shellcheck -s bash o/*.sh
shellcheck o/s.sh
gofmt -l o/*.go
go vet o/m.go
poetry run black o/p.py
uv run ruff check o/p.py
python -m black o/p.py
markdownlint o/*.md
bash -n o/s.sh
node --check o/a.ts
sed -i s/x/y/ o/s.sh
perl -pi -e 's/x/y/' o/t.sh
sh -c 'cat o/a.ts'
for f in o/*.ts; do grep -q x "$f" || exit 1; done
case "$1" in o/*.ts) true ;; esac
uv run uv/task.py
bun run uv/bun.ts
timeout 60s o/each
for f in loop/*; do
	. "$f"
done
. dots/*.sh
run-parts parts
END
chmod +x .git/hooks/pre-merge-commit
for f in a.ts b.ts sub/c.ts m.go p.py d.md s.sh t.sh; do
	want '' o/$f ''
done
want '' run.py ''
want '' run.js ''
want '' run.sh ''
for f in uv/task.py uv/bun.ts o/each; do
	want '!!' $f .git/hooks/pre-merge-commit
done
for f in parts/one loop/two dots/three.sh; do
	want '!!' $f .git/hooks/pre-merge-commit
done

# --- a target of make, a package of Go, a nested repository, syntax checks ---
script t/recipe t/below/mine t/other t/nested/gh/pre-push t/login t/plain.pl
plain t/go/main.go t/check.rb t/check.pl t/inline.sh
put t/Makefile <<'END'
checks: a.c
	@t/recipe

others:
	t/other
END
mv t/Makefile GNUmakefile
printf 'all:\n\t./mine\n' >t/below/Makefile
git init -q t/nested 2>/dev/null
git -C t/nested config core.hooksPath gh
put .git/hooks/post-applypatch <<'END'
#!/bin/sh
make -s V=1 checks
make -C t/below all
go run ./t/go
ruby -c t/check.rb
perl -wc t/check.pl
sh -c '. t/inline.sh'
bash -l t/login
perl -l t/plain.pl
END
chmod +x .git/hooks/post-applypatch
for f in recipe below/mine go/main.go inline.sh login plain.pl; do
	want '!!' t/$f .git/hooks/post-applypatch
done
want '!!' t/nested/gh/pre-push t/nested/.git/config
want '' t/other ''
want '' t/check.rb ''
want '' t/check.pl ''

# --- start files of the home ---
home_wants() {
	# shellcheck disable=SC2088 # as it is shown
	want '!!' "$1" "~/$2"
}
plain dot/rc dot/aliases
ln -sf "$p/dot/rc" "$HOME/.bashrc"
echo ". ~/project/dot/aliases" >"$HOME/.zshrc"
home_wants dot/rc .bashrc
home_wants dot/aliases .zshrc
mkdir -p "$HOME/.local/bin" "$HOME/.config/systemd/user"
script dot/unit
printf '[Service]\nExecStart=%%h/project/dot/unit\n' \
	>"$HOME/.config/systemd/user/x.service"
home_wants dot/unit .config/systemd/user/x.service
script dot/tool
ln -s ../../project/dot/tool "$HOME/.local/bin/tool"
home_wants dot/tool .local/bin/tool
# Files in directories of such names, agents' settings, scripts by name, PATH.
script dot/agent dot/bin/git dot/bin/own
plain dot/fish dot/confd dot/el dot/direnv dot/kitty dot/script
put "$HOME/.config/fish/config.fish" <<'END'
source ~/project/dot/fish
END
put "$HOME/.config/fish/conf.d/x.fish" <<'END'
test -f x; and source $HOME/project/dot/confd
END
put "$HOME/.local/share/fish/fish_history" <<'END'
- cmd: ~/project/dot/bin/own
END
put "$HOME/.emacs.d/init.el" <<'END'
(load "~/project/dot/el")
END
put "$HOME/.config/direnv/direnvrc" <<'END'
source ~/project/dot/direnv
END
put "$HOME/.config/kitty/kitty.conf" <<'END'
include ~/project/dot/kitty
END
put "$HOME/.claude/settings.json" <<'END'
{"hooks": {"Stop": [{"hooks": [{"command": "~/project/dot/agent"}]}]}}
END
put "$HOME/.local/bin/lb" <<'END'
#!/bin/sh
exec python3 ~/project/dot/script
END
put "$HOME/.bash_profile" <<'END'
export PATH="$HOME/bin:$HOME/project/dot/bin:$PATH"
END
home_wants dot/fish .config/fish/config.fish
home_wants dot/confd .config/fish/conf.d/x.fish
home_wants dot/el .emacs.d/init.el
home_wants dot/direnv .config/direnv/direnvrc
home_wants dot/kitty .config/kitty/kitty.conf
home_wants dot/agent .claude/settings.json
home_wants dot/script .local/bin/lb
# shellcheck disable=SC2088
want '!' dot/bin/git '~/.bash_profile'
want '' dot/bin/own ''

cut -f 2 "$table" >"$T/paths"
guard run -q --name refs -- sh -c '
	while read -r f; do
		echo "touch /tmp/x" >>"$f"
		echo "touch /tmp/x" >>"$f.twin"
	done' <"$T/paths"
guard diff --name-status refs >"$T/list"
tr -d ' ' <"$T/list" | sed 's/^M//' >"$T/marks"
tab=$(printf '\t')
while IFS= read -r line; do
	mark=${line%%"$tab"*}
	path=${line#*"$tab"}
	by=${path#*"$tab"}
	path=${path%%"$tab"*}
	is "$(grep -x "[!]*$tab$path" "$T/marks")" "$mark$tab$path" \
		"$path is marked '$mark' for ${by:-nothing}"
	case $path in
	agent/* | */gh/* | gh/dir/* | parts/* | loop/* | dots/*) ;;
	*) is "$(grep -x "[!]*$tab$path.twin" "$T/marks")" "$tab$path.twin" \
		"$path.twin is not marked" ;;
	esac
done <"$table"

# --- the verdict names each change once ---
guard discard -qy refs
guard run -q --name once -- sh -c 'echo evil >>h/plain
	for f in aliases fish el rc; do echo evil >>dot/$f; done'
guard diff once >"$T/once"
says "$T/once" '5 changes act without being asked: '
is "$(grep -c 'without being asked.*dot/ (' "$T/once")" 0 "no directory of them"
guard discard -qy once
# husky's directory of hooks executes the files beside it.
git config core.hooksPath .husky/_
guard run -q --name husky -- sh -c 'echo evil >>.husky/pre-commit'
guard diff --name-status husky | tr -d ' ' >"$T/husky"
says "$T/husky" "M!!$(printf '\t').husky/pre-commit"
guard discard -qy husky

# --- limits: what a run adds to one file blinds the search for no other ---
rm -rf "$HOME/.local" .github package.json pkg Makefile
put .gitlab-ci.yml <<'END'
a:
  script:
  - true
END
# blind WHAT COMMAND: the command, and changes of what start files execute.
blind() {
	guard run -q --name blind -- sh -c "$2
		echo evil >>dot/rc; echo evil >>dot/aliases"
	guard diff --name-status blind | tr -d ' ' >"$T/blind.$1"
	says "$T/blind.$1" "M!!$(printf '\t')dot/rc"
	says "$T/blind.$1" "M!!$(printf '\t')dot/aliases"
	no "$1: -y does not apply it" guard apply -y blind
	guard diff blind >"$T/verdict.$1"
	guard discard -qy blind
}
blind lines 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); echo "  - ./s/f$i"; done >>.gitlab-ci.yml'
says "$T/verdict.lines" 'names in .gitlab-ci.yml not followed'
blind line '{ printf "  - true"; seq -f " ./s/f%g" 30000 | tr -d "\n"; } >>.gitlab-ci.yml'
blind files 'mkdir s; for i in $(seq 2100); do : >s/f$i; done; chmod +x s/*
	seq -f "  - ./s/f%g" 2100 >>.gitlab-ci.yml'
blind critical 'for i in $(seq 1100); do mkdir -p n/$i; echo ". ./x" >n/$i/.envrc; done'
finish
