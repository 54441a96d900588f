#!/bin/sh
# Mistyped names, a wrong directory, missing entries: the message names the word
# as the user wrote it, and what to do.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- options of run that name paths ---
for option in --ro --rw --cow --hide; do
	gives 125 "$option of a missing path is refused" \
		guard run $option /no/such -- true
	says "$err" "$option"
	says "$err" "'/no/such'"
done
gives 125 'a missing project directory is refused' guard run -C /no/such -- true
says "$err" '-C'
# An option that protects never has no effect: a mistyped value is refused.
echo secret >secret
while read -r words; do
	# shellcheck disable=SC2086 # words
	gives 125 "a mistyped value of an option that protects is refused: $words" \
		guard run $words -- cat secret
	silent "$out" secret
done <<-'END'
	--hide .sceret
	--hide secrets*
	--hide ~/secret
	--hide secret --hide sceret
	--net nnoe
	--net off
	--network non
	--agent nnoe
	--allow pref
	--timeout soon
	--memory 5x
	--pids-limit many
	--layer-size much
	--tmp-size little
	--strict=yes
	--read-only
	--offline
	--no-net
	--hidden secret
	-v /secret:/secret:ro
END
rm secret

gives 125 '--env followed by -- is refused' guard run --env -- true
says "$err" "--env must be NAME or NAME=VALUE, not '--'"

for words in '--from' '--from made --machine'; do
	# shellcheck disable=SC2086 # words
	gives 2 "restore $words with an empty name is refused" \
		guard restore $words '' made
	says "$err" "--${words##*--} must be a name, not ''"
done
gives 2 'verify of the store needs no passphrase' \
	guard verify --passphrase-file made
says "$err" '--passphrase-file needs DIR'

# --- names of runs ---
gives 0 'a run adds a file' guard run -q -- sh -c 'echo 1 >made'
run=$(guard status -q)
for verb in diff discard patch; do
	"guard" $verb zz >"$out" 2>"$err" </dev/null
	ok "$verb of an unknown run is refused" test $? -ne 0
	says "$err" "no such run, file or change: 'zz' (\`guard status --all\` lists the runs)"
done
for verb in discard 'apply -y' review; do
	# shellcheck disable=SC2086 # an option of its own
	gives 1 "$verb of an unknown path of a run is refused" \
		guard $verb "$run" zz
	says "$err" "no such file or change of run $run: 'zz' (\`guard diff $run\` lists its changes)"
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
says "$err" 'guard apply --commits'
silent "$err" 'without the commits'
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
says "$err" 'the oldest is snapshot '

# --- options and operands of git and docker ---
guard discard --all -q -y 2>/dev/null
gives 0 'run takes options of docker' guard run -it --rm -q -e GIVEN=yes \
	--network none -- sh -c 'echo "$GIVEN"; seq 9 >counted; echo x >second'
says "$out" yes
is "$(grep -c 'has no effect' "$err")" 2 '-it and --rm have no effect, each with one note'
for option in '-v /a:/b' '--volume /a:/b' '-w src' '-d' '--detach'; do
	# shellcheck disable=SC2086 # words
	gives 125 "run refuses $option" guard run $option -- true
	says "$err" 'no option --'
	silent "$err" 'did you mean'
done
gives 127 'run of a command line names sh -c' guard run 'echo a && echo b'
says "$err" "try: guard run -- sh -c 'echo a && echo b'"
gives 125 'run does not take a wrong option for another one' guard run --rmm true
silent "$err" 'did you mean'
gives 0 'diff -U shows so many lines around a change' guard diff -U 0 -p
says "$out" '@@ -0,0 +1,9 @@'
gives 2 'diff -U refuses a word' guard diff -U few
gives 2 'diff --cached names git diff' guard diff --cached
says "$err" '`git diff` compares yours'
gives 0 'status -s prints lines for scripts' guard status -s
is "$(cut -f 2 "$out")" ended 'status -s has the fields of --porcelain'
gives 0 'status takes a directory' sh -c 'cd / && guard status -q "$HOME/project"'
is "$(wc -l <"$out")" 1 'status DIR lists the runs of its project'
gives 1 'status refuses a missing directory' guard status nosuch
gives 0 'log --oneline works' guard log --oneline
gives 2 'log -p names guard diff' guard log -p
says "$err" '`guard diff SNAP SNAP`'
gives 1 'snapshot of a message names -m' guard snapshot 'my message'
says "$err" 'a message is given with -m'
gives 1 'restore of a number and a path names --at' guard restore 1 README.md
says "$err" 'did you mean guard restore --at 1'
gives 0 'guard -v prints the version' guard -v
ok 'a run moves a file' guard run -q -- mv README.md READ.me
gives 0 'diff --no-renames shows both ends' \
	guard diff --no-renames --name-status latest
says "$out" 'D	README.md'
says "$out" 'A	READ.me'

echo 'echo script' >words
gives 0 'a -- in the command of --continue names no run' \
	guard run -q --continue -- sh -- words
says "$out" script
rm words

gives 1 'agents --undo refuses an agent that never ran' guard agents gemini --undo
says "$err" 'no home directory yet: guard run --agent gemini creates it'

# --- discard --all, discard -n ---
gives 0 'discard -n names the run' guard discard -n latest
says "$err" 'would be discarded'
gives 0 'discard -n of a path lists its changes' guard discard -n -- READ.me
gives 1 'discard --all asks' guard discard --all
says "$err" 'no terminal'
gives 2 'discard --all takes no run' guard discard --all -y latest
is "$(guard status -q | wc -l)" 2 'both runs are pending still'
gives 0 'discard --all discards every pending run' guard discard --all -y
is "$(guard status -q | wc -l)" 0 'no run is pending after discard --all'
gives 1 'discard --all without a pending run is refused' guard discard --all -y
gives 1 'discard of a pattern without a run is refused' guard discard -y 'x*'
says "$err" "can be discarded and matches 'x*': \`guard status\` lists"
gives 0 'undo 2 brings both back' guard undo -y -q 2
is "$(guard status -q | wc -l)" 2 'both are pending again'
gives 0 'discard --all discards them again' guard discard --all -y -q

# --- a path alone, a snapshot of another project ---
ok 'the project is stored' guard snapshot -q
echo newer >>src/f1.c
gives 0 'show of a path prints its newest version' guard show src/f1.c
silent "$out" newer
gives 0 'show of a path works below the project' \
	sh -c 'cd src && guard show f1.c'
gives 1 'show of an unknown path is refused' guard show nosuch
says "$err" "no such path: 'nosuch'"
mkdir "$HOME/apart"
echo 1 >"$HOME/apart/file"
apart=$(guard snapshot --json "$HOME/apart" | sed -n 's/.*"snapshot": \([0-9]*\).*/\1/p' | head -n 1)
gives 2 'diff with a snapshot of another directory is refused' \
	guard diff "$apart"
says "$err" "guard -C $HOME/apart diff $apart"
gives 0 'diff of two snapshots of different directories works' \
	guard diff "$apart" "$apart"
finish
