#!/bin/sh
# make install below the user's ~/.local, beside guard's state: the installed
# files work, and uninstall removes all of them.
# shellcheck disable=SC2317 # make_it is called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
there() { (cd ~/.local && find . ! -type d ! -path ./share/guard/\* | sort); }
there >"$T/before"
make_it() { make -s -C /opt/guard -o all "$@" PREFIX="~/.local"; }

gives 0 "a run creates guard's state" guard run -- true
gives 0 'make install is accepted' make_it install
ok 'the installed program prints its version' \
	test "$(~/.local/bin/guard --version)" = "$(guard --version)"
ok 'the man page is installed' \
	cmp /opt/guard/build/docs/guard.1 ~/.local/share/man/man1/guard.1
gives 0 'the bash completion works' bash -c '
	. ~/.local/share/bash-completion/completions/guard && complete -p guard'
says "$out" guard
gives 0 'the bash completion knows the values of an option' bash -c '
	. ~/.local/share/bash-completion/completions/guard
	COMP_WORDS=(guard run --net p) COMP_CWORD=3
	_guard && echo "${COMPREPLY[@]}"'
is "$(cat "$out")" private '... those that begin with the word'
ok 'the zsh completion is installed' \
	test -s ~/.local/share/zsh/site-functions/_guard
ok 'the fish completion is installed' \
	test -s ~/.local/share/fish/vendor_completions.d/guard.fish
ok 'the AppArmor profile names the installed program' \
	grep -q "profile guard $HOME/.local/bin/guard " \
	~/.local/share/doc/guard/apparmor
gives 0 'the installed program uses the existing state' \
	~/.local/bin/guard run -- true
gives 0 'a second make install is accepted' make_it install
gives 0 'make uninstall is accepted' make_it uninstall
settle
there >"$T/after"
ok 'make uninstall removes exactly the installed files' \
	same "$T/before" "$T/after"
no 'make uninstall removes the directory of documents' \
	test -e ~/.local/share/doc/guard
gives 0 "guard's state is left" guard log
says "$out" pre-run
finish
