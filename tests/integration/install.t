#!/bin/sh
# make install below a user's own ~/.local, beside guard's state there; what it
# has brought works, and uninstall takes all of it away.
# shellcheck disable=SC2317 # make_it is called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
there() { (cd ~/.local && find . ! -type d ! -path ./share/guard/\* | sort); }
there >"$T/before"
make_it() { make -s -C /opt/guard -o all "$@" PREFIX="~/.local"; }

gives 0 'a first run' guard run -- true
gives 0 'installed' make_it install
ok 'the program' test "$(~/.local/bin/guard --version)" = "$(guard --version)"
ok 'its man page' cmp /opt/guard/docs/guard.1 ~/.local/share/man/man1/guard.1
gives 0 'completions for bash' bash -c '
	. ~/.local/share/bash-completion/completions/guard && complete -p guard'
says "$out" guard
ok 'for zsh' test -s ~/.local/share/zsh/site-functions/_guard
ok 'for fish' test -s ~/.local/share/fish/vendor_completions.d/guard.fish
ok 'a profile for AppArmor that names the program' \
	grep -q "profile guard $HOME/.local/bin/guard " \
	~/.local/share/doc/guard/apparmor
gives 0 'its own state is as it was' ~/.local/bin/guard run -- true
gives 0 'again' make_it install
gives 0 'removed' make_it uninstall
settle
there >"$T/after"
ok 'all of it' same "$T/before" "$T/after"
no 'its folder too' test -e ~/.local/share/doc/guard
gives 0 'but the state' guard log
says "$out" pre-run
finish
