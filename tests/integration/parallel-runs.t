#!/bin/sh
# Two pending runs of one project: status names what both changed, and after an
# apply of one the review of the other takes that into account.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 30 >both
ok 'the first run changes files' \
	guard run -q -- sh -c 'echo same >same; sed -i 3s/.*/one/ both
	echo one >clash; echo 1 >one; rm src/f4.c; rm -r docs
	git -c user.name=a -c user.email=a commit -q --allow-empty -m one'
first=$(guard status -q)
gives 0 'status accepts one pending run' guard status
silent "$err" 'both changed'
ok 'the second run changes files too' \
	guard run -q -- sh -c 'echo same >same; sed -i 27s/.*/two/ both
	echo two >clash; echo 2 >two; rm src/f4.c; echo late >docs/late
	git -c user.name=a -c user.email=a commit -q --allow-empty -m two'
second=$(guard status -q | grep -v "$first")
gives 0 'status names paths that both runs changed' guard status
says "$err" "$first and $second both changed 'both', 'clash', 'docs/late' and 1 more"
silent "$err" .git
gives 0 'status --json names paths that both runs changed' guard status --json
says "$out" '"count": 4'
says "$out" '"first": "both"'

gives 0 'apply accepts paths of the first run' \
	guard apply -y -q "$first" both clash same one src
gives 0 'review accepts the second run after that apply' guard review "$second"
no 'review does not list an equal file any more' \
	grep -q '^  [AMD]  \(same\|src/f4\)' "$out"
says "$out" 'both  +1 -1'
says "$out" '! changed here since the run started'
ok 'review marks the path that both runs made different' \
	grep -q 'A  clash .*  conflict$' "$out"
gives 0 "apply merges the second run's text" guard apply -y "$second" both two
is "$(sed -n '3p;27p' both | tr '\n' ' ')" 'one two ' \
	'the merged text has the lines of both runs'
gives 1 'apply refuses a conflict with the first run' \
	guard apply -y "$second" clash
says "$err" 'added on both sides'
is "$(cat clash)" one "the refused apply keeps the first run's text"
gives 0 'status works after both applies' guard status
says "$err" "both changed 'docs/late'"
silent "$err" "'both'"
ok 'discard drops the first run' guard discard -y -q "$first"
gives 0 'status works when no paths overlap' guard status
silent "$err" 'both changed'

# ---- the results of two runs ----
ok 'what is pending is discarded' guard discard --all -y -q
ok 'one run changes files' guard run -q --name try-1 -- \
	sh -c 'echo 1 >only; echo same >equal; echo one >differs; rm src/f5.c'
ok 'another run changes files' guard run -q --name try-2 -- \
	sh -c 'echo same >equal; echo zwei >differs; mkdir new; echo x >new/file'
gives 0 'diff compares two runs' guard diff try-1 try-2
says "$out" 'only try-1         A  only'
says "$out" 'only try-1         D  src/f5.c'
says "$out" 'only try-2         A  new/file'
says "$out" 'both, the same     A  equal'
says "$out" 'both, differently  A  differs'
says "$out" '-one'
says "$out" '+zwei'
silent "$out" '+same'
gives 0 'diff of two runs takes paths' guard diff try-1 try-2 new
says "$out" 'new/file'
silent "$out" "  differs"
gives 0 'diff --json of two runs works' guard diff --json try-1 try-2
says "$out" '"schema": "guard.diff-runs/1"'
is "$(grep -A 2 '"path": "equal"' "$out" | tail -n 2 | tr -d ' \n')" \
	'"side":"both","same":true' 'diff --json names the side'
is "$(guard diff --name-only try-1 try-2 | sort | tr '\n' ' ')" \
	'differs new new/file only src/f5.c ' \
	'diff --name-only names the paths that differ'
gives 1 'diff --exit-code tells that they differ' guard diff --exit-code try-1 try-2
gives 0 'diff of a run with itself is empty' guard diff --exit-code try-1 try-1
mkdir "$HOME/third"
ok 'a run of another project is made' \
	sh -c 'cd "$HOME/third" && guard run -q --name far -- sh -c "echo >x"'
gives 2 'runs of different projects are not compared' \
	guard diff try-1 "$(cd "$HOME/third" && guard status -q)"
says "$err" 'try-1 and far are runs of different projects'
gives 2 'a path outside of the project is refused' guard diff try-1 try-2 /etc
ok 'all are discarded' guard discard --all -y -q
# --- a run that goes on while the project has its changes ---
mkdir "$HOME/same"
cd "$HOME/same" || exit 99
echo old | tee changed >gone
gives 0 'a run changes and deletes a file' \
	guard run -q --name same -- sh -c 'echo new >changed; rm gone'
echo new >changed
rm gone
gives 0 'it goes on, and changes nothing more' \
	guard run -q --continue=same -- true
echo other >changed
echo old >gone
gives 0 'it is still there' guard diff --name-status same
is "$(tr '\t\n' ' ,' <"$out")" 'D gone,M changed,' 'with its changes'
cd / || exit 99
finish
