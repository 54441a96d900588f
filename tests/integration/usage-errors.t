#!/bin/sh
# Mistyped names, a wrong directory, missing entries: the message names the word
# as the user wrote it, and what to do.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- options of run that name paths ---
for option in --ro --rw --cow; do
	gives 125 "$option of a missing path is refused" \
		guard run $option /no/such -- true
	says "$err" "$option"
	says "$err" "'/no/such'"
done
gives 125 'a missing project directory is refused' guard run -C /no/such -- true
says "$err" '-C'
gives 125 '--env followed by -- is refused' guard run --env -- true
says "$err" "--env must be NAME or NAME=VALUE, not '--'"

# --- names of runs ---
gives 0 'a run adds a file' guard run -q -- sh -c 'echo 1 >made'
run=$(guard status -q)
for verb in diff discard patch; do
	"guard" $verb zz >"$out" 2>"$err" </dev/null
	ok "$verb of an unknown run is refused" test $? -ne 0
	says "$err" "no such run, file or change: 'zz' (\`guard status --all\` lists the runs)"
done
for verb in 'run --continue=zz' 'exec zz' 'exec zz-zz'; do
	# shellcheck disable=SC2086 # an option of its own
	gives 125 "$verb instead of a command is refused" guard $verb -- true
	says "$err" "\`guard status --all\` lists all runs"
done
cd "$HOME/documents" || exit 99
gives 0 'status in a directory without pending runs works' guard status
says "$err" '`guard status --all` lists 1 run of other projects'
cd "$HOME/project" || exit 99
gives 0 'discard drops the run from there' guard discard -y "$run"
cd "$HOME/documents" || exit 99
gives 0 'status without any pending run works' guard status
silent "$err" 'other projects'

# --- next steps ---
cd "$HOME/project" || exit 99
git config --global user.name tester
git config --global user.email t@example.org
gives 0 'a run adds one file' guard run -- sh -c 'echo 1 >part'
says "$err" 'guard apply'
silent "$err" 'guard import'
gives 0 'discard of its only change is accepted' guard discard -y part
says "$err" 'guard undo restores it'
is "$(guard status -q)" '' 'no run is pending after that'
n=$(guard log part | sed -n 's/^\([0-9]*\) .* post-run .*/\1/p')
gives 0 'the named restore brings the file back' guard restore -y --at "$n" part
is "$(cat part)" 1 "the restored file has the run's content"
gives 0 'a run makes only a commit' \
	guard run -- git commit -q -m x --allow-empty
says "$err" 'guard import'
silent "$err" 'guard apply'
gives 0 'the named import accepts the commit' guard import -y

# --- programs whose purpose a run does not permit ---
mkdir "$HOME/vain"
for name in sudo systemctl bwrap perf sud; do
	printf '#!/bin/sh\n' >"$HOME/vain/$name"
	chmod 755 "$HOME/vain/$name"
done
gives 0 'a run of sudo is explained' guard run -- "$HOME/vain/sudo"
says "$err" "'sudo': no process can change its user in a run"
gives 0 'a run of systemctl is explained' guard run -- "$HOME/vain/systemctl"
says "$err" "'systemctl': it would start a process"
gives 0 'a run of bwrap is explained' guard run -- "$HOME/vain/bwrap"
says "$err" 'use --nested'
gives 0 'a run of perf is explained' guard run -- "$HOME/vain/perf"
says "$err" 'use --allow perf'
gives 0 'a run of perf with --allow perf is not explained' \
	guard run --allow perf -- "$HOME/vain/perf"
silent "$err" 'use --allow perf'
gives 0 'a run of another program is not explained' \
	guard run -- "$HOME/vain/sud"
silent "$err" 'can change its user'

# --- snapshots ---
cd "$HOME/project" || exit 99
gives 1 'restore of an unknown path is refused' guard restore -y nosuch
says "$err" '`guard find NAME`'
gives 1 'restore from a snapshot before the first is refused' \
	guard restore -y --at latest~99 README.md
says "$err" 'the oldest is snapshot 1 of '
finish
