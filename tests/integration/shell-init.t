#!/bin/sh
# shell-init: functions of bash, zsh and fish that start an agent in a run.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
mkdir -p ~/bin ~/.config/guard/agents
echo 'nested' >~/.config/guard/agents/mine
echo 'nested' >~/.config/guard/agents/absent
for program in claude mine default; do
	cat >~/bin/$program <<-'END'
		#!/bin/sh
		echo "${GUARD_RUN:+inside} ${0##*/} [$1] [$2]"
		exit 3
	END
	chmod 755 ~/bin/$program
done
echo 'not executable' >~/bin/codex
PATH=$HOME/bin:$PATH
cd "$HOME/project" || exit 99

for shell in bash zsh fish; do
	needs "shell-init $shell" $shell || continue
	case $shell in
	fish) init='guard shell-init fish | source' ;;
	bash) init='shopt -s expand_aliases; alias claude="echo aliased"
		eval "$(guard shell-init bash)"' ;;
	zsh) init='alias claude="echo aliased"
		eval "$(guard shell-init zsh)"' ;;
	esac
	gives 3 "$shell: an agent's name starts a run, with its status" \
		$shell -c "$init
			claude one 'two  three'"
	says "$out" 'inside claude [one] [two  three]'
	gives 3 "$shell: so does the name of one's own profile" \
		$shell -c "$init
			mine"
	says "$out" 'inside mine'
	gives 3 "$shell: command bypasses the function" $shell -c "$init
		command claude one"
	is "$(cat "$out")" ' claude [one] []' '... and starts no run'
	gives 0 "$shell: shell-init is accepted" guard shell-init $shell
	silent "$out" codex
	silent "$out" absent
	silent "$out" default
	gives 0 "$shell: shell-init inside a run is accepted" \
		guard run -q -- guard shell-init $shell
	is "$(cat "$out")" '' '... and prints no function'
	gives 3 "$shell: a function from outside works in a run" \
		guard run -q -- $shell -c "$(guard shell-init $shell)
			claude one"
	is "$(cat "$out")" 'inside claude [one] []' '... and is the command'
	gives 0 "$shell: a variable does not switch the functions off" \
		env GUARD_RUN=x guard shell-init $shell
	says "$out" 'guard run -- claude'
done
gives 2 'shell-init without a shell is refused' guard shell-init
says "$err" 'expected bash, zsh or fish'
gives 2 'shell-init of another shell is refused' guard shell-init tcsh
gives 0 'shell-init without HOME and PATH is accepted' \
	env -u HOME -u PATH "$(command -v guard)" shell-init bash
is "$(cat "$out")" '' '... and prints no function'
finish
