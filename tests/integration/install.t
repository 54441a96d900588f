#!/bin/sh
# make install below the user's ~/.local, beside guard's state: the installed
# files work, and uninstall removes all of them.
# shellcheck disable=SC2317 # make_it and compile are called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
there() { (cd ~/.local && find . ! -type d ! -path ./share/guard/\* | sort); }
there >"$T/before"
make_it() { make -s -C /opt/guard -o all "$@" PREFIX="~/.local"; }

gives 0 "a run creates guard's state" guard run -- true
gives 0 'make install is accepted' make_it install
says "$out" "before compinit in ~/.zshrc: fpath=($HOME/.local/share/zsh/site-functions \$fpath)"
ok 'the installed program prints its version' \
	test "$(~/.local/bin/guard --version)" = "$(guard --version)"
ok 'the man page is installed' \
	cmp /opt/guard/build/docs/guard.1 ~/.local/share/man/man1/guard.1
ok 'README.md is installed' \
	cmp /opt/guard/README.md ~/.local/share/doc/guard/README.md
ok 'the license is installed' \
	cmp /opt/guard/LICENSE ~/.local/share/doc/guard/LICENSE
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
gives 0 'make install-strip is accepted' make_it install-strip
ok 'the stripped program is smaller' test \
	"$(stat -c %s ~/.local/bin/guard)" -lt \
	$(($(stat -c %s /opt/guard/build/guard) / 2))
gives 0 'the stripped program works' ~/.local/bin/guard --version
gives 0 'make uninstall is accepted' make_it uninstall
settle
there >"$T/after"
ok 'make uninstall removes exactly the installed files' \
	same "$T/before" "$T/after"
no 'make uninstall removes the directory of documents' \
	test -e ~/.local/share/doc/guard
says "$out" 'guard purge --everything'
says "$out" 'chmod -R u+rwX ~/.local/share/guard'
gives 0 "guard's state is left" guard log
says "$out" pre-run

# --- removal of the state ---
# A state with directories that rm -r of a plain user cannot enter.
fill_state() {
	guard run -q --name kept --agent claude -- sh -c 'mkdir new; rm -r src'
	guard run -q -- sh -c 'echo two >README.md'
	guard discard -q -y "$(guard status -q | head -n 1)"
	guard pin 1
	settle
}
fill_state >"$out" 2>"$err" </dev/null
mkdir "$HOME/beside"
guard run -q --cow "$HOME/beside" -- touch new "$HOME/beside/new" ~/new
guard exec latest touch more
guard exec latest true
gives 0 'tar of the state is accepted' tar -cf "$T/state.tar" "$state"
gives 0 'rm of the runs and their trash is accepted' rm -r "$state/runs" \
	"$state/trash" "$state/workspaces"
if [ "$me" != root ]; then
	no 'rm of the store fails' rm -rf "$state/store"
	ok 'the documented chmod is accepted' chmod -R u+rwX "$state"
	ok '... after it rm succeeds' rm -r "$state"
fi
[ "$me" != root ] || rm -r "$state"
fill_state >"$out" 2>"$err" </dev/null
gives 1 'purge --everything without a terminal is refused' \
	guard purge --everything
says "$err" "use --confirm '$state'"
says "$err" 'not applied'
says "$err" kept
gives 1 'purge --everything with another path is refused' \
	guard purge --everything --confirm "$HOME"
gives 2 'purge --everything with a path is refused' \
	guard purge --everything --confirm "$state" src
gives 0 'purge --everything -n is accepted' guard purge --everything -n --json
says "$out" '"done": false'
gives 0 'purge --everything -n removes nothing' guard log
gives 1 'purge --everything with another word is refused' \
	answers 'purge --everything' purge
mkfifo "$T/go"
guard run -q -- sh -c 'read line' <>"$T/go" >"$T/live" 2>&1 &
until guard status --porcelain | grep -q running; do kill -0 $! || break; done
gives 1 'purge --everything is refused while a run is live' \
	guard purge --everything --confirm "$state"
says "$err" 'is still running'
echo go >"$T/go"
wait
settle
guard run -q -- sh -c 'for i in 4 5 6; do echo new >src/f$i.c; done' \
	>"$out" 2>"$err"
gives 137 'an apply is killed between its files' \
	/opt/guard/build/tests/lib/stopat --at 2 --only rename \
	--below "$HOME/project" -- \
	guard apply -q -y "$(guard status -q | head -n 1)"
ok '... and leaves its staging directory' ls -d .guard-*
# A copy of settings, as guard keeps it.
mkdir "$state/derived"
touch "$state/derived/0" "$state/mine"
gives 0 'purge --everything leaves entries that are not of guard' \
	answers 'purge --everything' everything
says "$out" "entries that are not guard's"
is "$(ls -A "$state")" mine '... and only these'
no '... and ends the interrupted apply first' ls -d .guard-*
is "$(cat src/f4.c)" "$(cat src/f6.c)" '... as a whole'
rm "$state/mine"
gives 0 'purge --everything is accepted' \
	guard purge --everything --confirm "$state"
no "guard's state is removed" test -e "$state"

# --- packagers' variables ---
gives 0 'APPARMOR=yes and zshdir are accepted' make_it install APPARMOR=yes \
	DESTDIR="$T/package" zshdir=/vendor
ok 'APPARMOR=yes installs the profile into an empty directory' \
	test -s "$T/package/etc/apparmor.d/guard"
ok 'zshdir is the directory of the zsh completion' \
	test -s "$T/package/vendor/_guard"
silent "$out" fpath
gives 0 'make uninstall with these variables is accepted' make_it uninstall \
	DESTDIR="$T/package" zshdir=/vendor
is "$(find "$T/package" ! -type d)" '' '... and removes all of it'
compile() { make -C /opt/guard -W base/err.c build/obj/base/err.o "$@"; }
gives 0 'flags of the environment are accepted' env CFLAGS=-Og \
	CPPFLAGS=-DPACKAGED make -n V=1 -C /opt/guard -W base/err.c \
	build/obj/base/err.o
says "$out" ' -DPACKAGED -Og '
gives 2 'a build without the libraries fails' compile PKG_CONFIG=false
says "$err" 'guard: development libraries are missing: run tests/install-deps as root, then make again'
finish
