#!/bin/sh
# What is mistyped, looked for in the wrong folder or not there: the message
# names it as the user has written it, and what to do instead.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- grants of a run ---
for option in --ro --rw --cow; do
	gives 125 "$option of what is not there" \
		guard run $option /no/such -- true
	says "$err" "$option"
	says "$err" "'/no/such'"
done
gives 125 'a project that is not there' guard run -C /no/such -- true
says "$err" '-C'
gives 125 'an option in place of a name' guard run --env -- true
says "$err" "--env is NAME or NAME=VALUE, not '--'"

# --- runs ---
gives 0 'a run' guard run -q -- sh -c 'echo 1 >made'
run=$(guard status -q)
for verb in diff discard patch; do
	"guard" $verb zz >"$out" 2>"$err" </dev/null
	ok "$verb of no run fails" test $? -ne 0
	says "$err" "'zz' is no run's id (\`guard status --all\` shows them)"
done
for verb in 'run --continue=zz' 'exec zz' 'exec zz-zz'; do
	# shellcheck disable=SC2086 # an option of its own
	gives 125 "$verb" guard $verb -- true
	says "$err" "\`guard status --all\` shows those there are"
done
cd "$HOME/documents" || exit 99
gives 0 'nothing waits here' guard status
says "$err" 'of other projects 1: `guard status --all`'
cd "$HOME/project" || exit 99
gives 0 'the run goes' guard discard -y "$run"
cd "$HOME/documents" || exit 99
gives 0 'nothing waits anywhere' guard status
silent "$err" 'other projects'

# --- what comes next ---
cd "$HOME/project" || exit 99
git config --global user.name tester
git config --global user.email t@example.org
gives 0 'a run that makes one file' guard run -- sh -c 'echo 1 >part'
says "$err" 'guard apply'
silent "$err" 'guard import'
gives 0 'its only change goes' guard discard -y part
says "$err" 'guard undo brings it back'
is "$(guard status -q)" '' 'nothing waits any more'
n=$(guard log part | sed -n 's/^\([0-9]*\) .* post-run .*/\1/p')
gives 0 'what is told brings it back' guard restore -y --at "$n" part
is "$(cat part)" 1 'as the run made it'
gives 0 'a run that only commits' guard run -- git commit -q -m x --allow-empty
says "$err" 'guard import'
silent "$err" 'guard apply'
gives 0 'brings a commit' guard import -y

# --- programs that a run refuses what they are for ---
mkdir "$HOME/vain"
for name in sudo systemctl bwrap perf sud; do
	printf '#!/bin/sh\n' >"$HOME/vain/$name"
	chmod 755 "$HOME/vain/$name"
done
gives 0 'who wants other rights' guard run -- "$HOME/vain/sudo"
says "$err" "'sudo': nobody gets other rights in a run"
gives 0 'who asks for services' guard run -- "$HOME/vain/systemctl"
says "$err" "'systemctl': what it would start or ask"
gives 0 'who makes namespaces' guard run -- "$HOME/vain/bwrap"
says "$err" '--nested lets it'
gives 0 'who counts events' guard run -- "$HOME/vain/perf"
says "$err" '--allow perf lets it'
gives 0 'who was let' guard run --allow perf -- "$HOME/vain/perf"
silent "$err" 'perf lets'
gives 0 'any other' guard run -- "$HOME/vain/sud"
silent "$err" 'other rights'

# --- versions ---
cd "$HOME/project" || exit 99
gives 1 'a path that never was' guard restore -y nosuch
says "$err" '`guard find NAME`'
gives 1 'a version that is too old' guard restore -y --at latest~99 README.md
says "$err" 'the oldest is snapshot 1 of '
finish
