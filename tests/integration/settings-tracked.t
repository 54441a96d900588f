#!/bin/sh
# Settings that git tracks in the project, as in a repository of dotfiles: a
# commit of the run keeps their secrets.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
tilde='~'
dots=$HOME/dots

# make_dots: settings of several kinds, which the home directory links to
make_dots() {
	cd "$HOME" || exit 99
	rm -rf "$dots" "$HOME/.codex" "$HOME/.claude" "$HOME/.bashrc" \
		"$HOME/.netrc"
	mkdir -p "$dots/codex" "$dots/.qwen" "$HOME/.claude"
	echo 'experimental_bearer_token = "GEHEIM1"' >"$dots/codex/config.toml"
	echo '{"env": {"A_TOKEN": "GEHEIM2"}}' >"$dots/claude [x].json"
	echo 'export A_TOKEN=GEHEIM3' >"$dots/bashrc"
	echo 'machine h password GEHEIM4' >"$dots/netrc"
	ln -s dots/codex "$HOME/.codex"
	ln -s "../dots/claude [x].json" "$HOME/.claude/settings.json"
	ln -s dots/bashrc "$HOME/.bashrc"
	ln -s dots/netrc "$HOME/.netrc"
	git -C "$dots" init -q -b master
	git -C "$dots" add .
	git -C "$dots" commit -qm one
}

# keeps WHERE: the files and HEAD have all secrets
keeps() {
	is "$(cat codex/config.toml claude*.json bashrc netrc | grep -c GEHEIM)" \
		4 "$1: the files have their secrets"
	is "$(for file in codex/config.toml 'claude [x].json' bashrc netrc; do
		git show "HEAD:$file"
	done | grep -c GEHEIM)" 4 "$1: HEAD has them"
}

make_dots
cd "$dots" || exit 99
gives 0 'a run commits all changes' guard run --agent none -- sh -c \
	'git status --porcelain; echo a >a; git add a; git commit -qam two'
is "$(cat "$out")" '' 'it sees none before'
says "$err" "git tracks them here, so the run can read their secrets: "
for name in .codex/config.toml .claude/settings.json .bashrc .netrc; do
	says "$err" "$tilde/$name"
done
gives 0 'apply --commits takes the commit' guard apply --commits -y
is "$(git log -1 --format=%s)" two 'HEAD has it'
keeps apply
is "$(git status --porcelain)" '' 'nothing differs'
gives 0 'the second run does not name them' guard run --agent none -- \
	sh -c 'git mv codex c2; GIT_COMMITTER_DATE=2040-01-01T00:00:00Z \
	git commit -qam three'
silent "$err" 'git tracks'
gives 0 'import' guard import -y
gives 0 'merge' git merge -q "$(git for-each-ref --format='%(refname)' \
	--sort=-committerdate 'refs/guard/*/heads/master' | head -n 1)"
is "$(cat c2/config.toml)" 'experimental_bearer_token = "GEHEIM1"' \
	'a moved file has its secret'
guard discard -q -y

# --- other repositories ---
make_dots
git -C "$dots" worktree add -q "$HOME/linked"
cd "$HOME/linked" || exit 99
ln -sfn linked/codex "$HOME/.codex"
gives 0 'a linked worktree' guard run --agent none -- \
	sh -c 'cat codex/config.toml; git commit -qam x --allow-empty'
says "$out" GEHEIM1
guard discard -q -y
cd "$HOME/project" || exit 99
git init -q
gives 0 'a directory of --cow' guard run --agent none --cow "$dots" -- \
	cat "$dots/claude [x].json"
says "$out" GEHEIM2
git -c protocol.file.allow=always submodule --quiet add "$dots" sub
git commit -qm sub
ln -sfn project/sub/codex "$HOME/.codex"
gives 0 'a submodule' guard run --agent none -- cat sub/codex/config.toml
says "$out" GEHEIM1

# --- all other files stay without secrets ---
gives 0 'a repository outside of the run' guard run --agent none -- \
	cat "$dots/claude [x].json"
silent "$out" GEHEIM
cd "$dots" || exit 99
ln -sfn dots/codex "$HOME/.codex"
git rm -q --cached codex/config.toml bashrc
git update-index --skip-worktree netrc
git update-index --assume-unchanged 'claude [x].json'
gives 0 'files that git commit -a leaves out' guard run --agent none -- \
	sh -c 'cat codex/config.toml bashrc netrc claude*'
silent "$out" GEHEIM
git update-index --no-skip-worktree netrc
git add bashrc
gives 0 '--hide masks a tracked file' guard run --agent none --hide bashrc \
	--hide "$HOME/.netrc" -- sh -c 'cat bashrc netrc'
silent "$out" GEHEIM
git config core.fsmonitor "$T/bad"
printf '#!/bin/sh\necho >"%s/ran"\n' "$T" >"$T/bad"
chmod 755 "$T/bad"
gives 0 'with a monitor of files in the configuration' \
	guard run --agent none -- cat netrc
says "$out" GEHEIM4
no 'guard executes no program of the repository' test -e "$T/ran"
git config --unset core.fsmonitor

# --- a commit with a mask or a copy in place of the file ---
# commits NAME PATH OPTIONS...: git commit -a in a run that sees PATH masked
commits() {
	name=$1 path=$2
	shift 2
	bytes=$(cat "$path"/* "$path" 2>/dev/null)
	head=$(git rev-parse HEAD)
	gives 0 "$name: a run commits all" guard run "$@" -- \
		sh -c 'echo b >b; git add -A; git commit -qam b'
	gives 1 "$name: apply --commits refuses" guard apply --commits -y
	says "$err" "the run's commits change '$PWD/$path'"
	is "$(git rev-parse HEAD)" "$head" "$name: HEAD is where it was"
	gives 0 "$name: import warns" guard import -y
	says "$err" "the commits change '$PWD/$path'"
	silent "$out" 'git merge'
	is "$(cat "$path"/* "$path" 2>/dev/null)" "$bytes" "$name: the file has its bytes"
	guard discard -q -y
}
make_dots
cd "$dots" || exit 99
mkdir dir
echo one >s.txt
echo two >dir/s.txt
git add .
git commit -qm s
commits 'a hidden file' s.txt --hide s.txt
commits 'a file in a hidden directory' dir --hide dir
commits 'a file in the home of the agent' codex --agent codex
git rm -q --cached codex/config.toml
git commit -qm untracked
commits 'an untracked file' codex/config.toml
cd "$HOME/project" || exit 99
cp -r "$dots" inner
inner_head() { git -C inner rev-parse HEAD; }
head=$(inner_head)
gives 0 'a hidden file in a nested repository' guard run --agent none \
	--hide inner/s.txt -- git -C inner commit -qam x
gives 0 'import warns' guard import -y
says "$err" "the commits change '$PWD/inner/s.txt'"
is "$(inner_head)" "$head" 'HEAD is where it was'
guard discard -q -y
cd "$dots" || exit 99
git add codex
git commit -qm tracked
gives 0 'a directory with a hidden file is moved' guard run --agent none \
	--hide dir/s.txt -- sh -c 'mv dir d2; git add -A; git commit -qm d2'
gives 1 'apply --commits refuses' guard apply --commits -y
says "$err" "the run's commits change '$dots/dir/s.txt'"
guard discard -q -y
gives 0 'a commit of other files' guard run --agent none --hide s.txt -- \
	sh -c 'echo c >c; git add c; git commit -qm c'
gives 0 'is applied' guard apply --commits -y
is "$(git log -1 --format=%s)" c 'HEAD has it'
is "$(cat s.txt)" one 'the hidden file has its bytes'
finish
