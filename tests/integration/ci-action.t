#!/bin/sh
# docs/ci: the steps of the action, executed as a runner of GitHub Actions does
# it: the lines "run:" of action.yml, with the variables of a job.
# users: one
# shellcheck disable=SC2317 # step and without_guard are called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
guard=$(command -v guard)
GITHUB_ACTION_PATH=/opt/guard/docs/ci
RUNNER_TEMP=$T/runner
GITHUB_OUTPUT=$T/output
export GITHUB_ACTION_PATH RUNNER_TEMP GITHUB_OUTPUT
mkdir "$RUNNER_TEMP"
sed -n "s/^ *run: '\(.*\)'$/\1/p" $GITHUB_ACTION_PATH/action.yml >"$T/steps"
is "$(wc -l <"$T/steps")" 2 'the action has two steps with a script'

# step N NAME=VALUE...: the script of that step
step() {
	script=$(sed -n "$1p" "$T/steps")
	shift
	: >"$GITHUB_OUTPUT"
	env "$@" sh -e -c "$script"
}
output() {
	sed -n "s/^$1=//p" "$GITHUB_OUTPUT"
}

manifest "$HOME/project" >"$T/before"
gives 0 'a command that succeeds passes' \
	step 2 OPTIONS= COMMAND='echo "new text" >made; rm -r src
cat made'
is "$(cat "$out")" 'new text' '... with its output'
is "$(output status)" 0 '... and its status as an output'
report=$(output report)
ok '... and a report of its changes' grep -q 'made' "$report"
ok '... with the deletions' grep -q 'src/' "$report"
gives 3 'a command that fails fails with its status' \
	step 2 OPTIONS= COMMAND='touch second; (exit 3); echo not reached'
is "$(output status)" 3 '... which is an output'
silent "$out" 'not reached'
no '... and has a report of its own' test "$(output report)" = "$report"
ok '... with its change' grep -q second "$(output report)"
second=$(output run)
gives 0 'a command without changes passes' step 2 OPTIONS= COMMAND=true
is "$(output report)$(output run)" '' '... without a report and a run'
gives 0 'options are words for guard run' \
	step 2 OPTIONS='--net none --hide .env' COMMAND='[ ! -s .env ]'
gives 0 'a name among the options loses no report' \
	step 2 OPTIONS='--name own --env GLOB=*' COMMAND='echo "$GLOB" >named'
ok '... which is there' grep -q named "$(output report)"
gives 127 'a command may begin with a dash' step 2 OPTIONS= COMMAND='-x'
gives 125 'a failure of guard fails' \
	step 2 OPTIONS='--net nosuch' COMMAND=true
is "$(output status)" 125 '... with its status as an output'
settle
manifest "$HOME/project" >"$T/after"
ok 'the checkout is unchanged' same "$T/before" "$T/after"
gives 0 'a later step applies one of several runs by its name' \
	guard apply -y "$second"
ok '... which is that run' test -e second

# --- reports without texts, full disks ---
mkdir "$T/libraries"
: >"$T/libraries/$(guard doctor | sed -n 's/^ok *libgit2 *//p')"
gives 0 'a command passes where texts are not compared' \
	step 2 OPTIONS= COMMAND='rm -r docs; echo >>src/f5.c' LD_LIBRARY_PATH="$T/libraries"
says "$err" 'texts are not compared'
ok '... with a report of the rest' grep -q docs/ "$(output report)"
gives 7 'a command that fails keeps its status there' step 2 OPTIONS= \
	COMMAND='echo >>src/f6.c; exit 7' LD_LIBRARY_PATH="$T/libraries"
gives 0 'a command passes where no report can be written' \
	step 2 OPTIONS= COMMAND='echo >fifth' RUNNER_TEMP=/proc/self
is "$(output status) $(output report)" '0 ' '... with its status as an output'
ok '... and its run' guard diff "$(output run)"
gives 7 'a command keeps its status where no output can be written' \
	step 2 OPTIONS= COMMAND='exit 7' GITHUB_OUTPUT=/dev/full

# --- the installation ---
mkdir "$T/bin"
for tool in sh env id; do
	ln -s "$(command -v $tool)" "$T/bin/"
done
# shellcheck disable=SC2016 # expanded by the written script
echo '#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >>"$LOG"' >"$T/bin/apt-get"
echo '#!/bin/sh
exec "$@"' >"$T/bin/sudo"
chmod 755 "$T/bin/apt-get" "$T/bin/sudo"
gives 0 'guard is installed where it is missing' \
	step 1 PATH="$T/bin" LOG="$T/apt" PACKAGE=./guard_1_amd64.deb
is "$(cat "$T/apt")" 'noninteractive -q update
noninteractive -q -y install ./guard_1_amd64.deb' '... by apt-get'
rm "$T/apt"
ln -s "$guard" "$T/bin/guard"
gives 0 'an installed guard is used' \
	step 1 PATH="$T/bin" LOG="$T/apt" PACKAGE=./guard_1_amd64.deb
no '... and nothing else is installed' test -e "$T/apt"
gives 2 'another word is refused' $GITHUB_ACTION_PATH/guarded upload
finish
