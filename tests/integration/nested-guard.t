#!/bin/sh
# guard inside of a run: `guard run -- CMD` is CMD, and other verbs name the
# reason why they do nothing.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
in_run() {
	guard run -q --name outer -- "$@"
}

for how in '' --nested --strict; do
	# shellcheck disable=SC2086 # no option, or one
	gives 7 "guard run in a run is its command (run $how)" \
		guard run -q $how -- \
		guard run -- sh -c 'cat - made; exit 7'
	is "$(grep -c '^guard: inside a run' "$err")" 1 'one line says so'
done
echo text >text
gives 0 'output and input are those of the command' in_run sh -c \
	'printf "a\nb\n" | guard run -- sed s/a/x/ | cat - text'
is "$(cat "$out")" "$(printf 'x\nb\ntext')" 'nothing of guard is in the output'
gives 0 'guard run -q says nothing' in_run guard run -q -- true
is "$(cat "$err")" '' 'stderr is empty'
gives 0 'the third guard in a row' in_run \
	guard run -q -- guard run -q -- guard run -q -- sh -c 'echo $PPID'
is "$(cat "$out")" 1 'leaves no process between'
gives 143 'a signal ends the command' in_run sh -c \
	'guard run -q -- sh -c "kill -TERM \$\$"'
gives 127 'a missing command gives 127' in_run guard run -q -- missing
gives 126 'a text gives 126' in_run guard run -q -- ./text
gives 125 'no command gives 125' in_run guard run
printf 'all:\n\t@guard run -q -- sh -c "echo $$MADE >made"\n' >Makefile
gives 0 'a Makefile that uses guard run works in a run' \
	guard run -q --name make -- env MADE=yes make
gives 0 'its changes are those of the run' guard diff --name-only make
says "$out" made
gives 0 'the run is discarded' guard discard -y make
printf '#!/bin/sh\necho another guard "$@"\n' >guard
chmod 755 guard
gives 0 'a program of the same name is a command' in_run \
	sh -c 'PATH=.:$PATH guard run x'
is "$(cat "$out")" 'another guard run x' 'it is executed'
rm guard

gives 0 'options that restrict nothing are accepted' in_run \
	guard run -q --name x --agent none --net host --versions 0 \
	--env A=b -e C=d -C / -- sh -c 'echo $A $C $PWD'
is "$(cat "$out")" 'b d /' 'variables and directory are set'
cat >"$T/options" <<'END'
--net none
--net private
--network none
--ro /etc
--rw /etc
--hide /etc
--cow /tmp
--nested
--strict
--env-clean
--memory 64m
--cpus 1
--timeout 9s
--pids-limit 9
--tmp-size 9m
--layer-size 9m
--layer-files 9
--frozen
--continue
--why /
--share-login
--allow perf
END
in_run sh -c 'while read -r option; do
	guard run $option -- touch made 2>/tmp/said </dev/null; status=$?
	name=$(echo "${option%% *}" | sed s/work$//)
	grep -q "^guard: $name: this is inside a run (.outer.)" /tmp/said ||
		status=unnamed
	[ "$status" = 125 ] || echo "$option $status"
done; ls' <"$T/options" >"$out"
is "$(grep -- -- "$out")" '' 'the others are refused by name'
silent "$out" made

guard help -a | sed -n 's/^  \([a-z-]*\) .*/\1/p' |
	grep -vxE 'run|mark|shell-init|version|help|C' >"$T/verbs"
ok 'help lists the verbs' test "$(wc -l <"$T/verbs")" -gt 20
in_run sh -c 'while read -r verb; do
	guard "$verb" </dev/null >/tmp/said 2>&1; status=$?
	grep -q "^guard: this is inside a run (.outer.)" /tmp/said || status=unnamed
	guard "$verb" --help </dev/null >/dev/null 2>&1 || status=unhelpful
	[ $status = 1 ] || echo "$verb $status"
done' <"$T/verbs" >"$out"
is "$(cat "$out")" '' 'each verb ends with 1, says why, and has its help'
gives 1 'exec with a command, too' in_run guard exec -- true
gives 1 'with a state of its own, too' in_run \
	env GUARD_HOME=/tmp/state guard snapshot
gives 0 'the version is printed' in_run guard --version
gives 2 'guard alone prints the help' in_run guard

# The word of a variable is not enough.
gives 0 'an environment without names does not hide the run' in_run \
	env -i PATH="$PATH" guard run -- env
silent "$out" GUARD
says "$err" 'guard: inside a run already'
GUARD=1 GUARD_RUN=abcd-efghij GUARD_NAME=fake
export GUARD GUARD_RUN GUARD_NAME
gives 0 'variables alone make no run' guard run -q --name real -- \
	sh -c 'echo "$GUARD_NAME"; echo 1 >made'
is "$(cat "$out")" real 'the command is in a run of its own'
no 'its changes are not real' test -e made
gives 0 'other verbs work as well' guard discard -y real
finish
