#!/bin/sh
# Agents that an editor starts: guard run --acp. tests/lib/acp is an editor that
# writes real files, and the agent that asks it to.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

acp=$(cd "${0%/*}/../lib" && pwd)/acp
make_home
mkdir "$HOME/bin"
PATH=$HOME/bin:$PATH
cd "$HOME/project" || exit 99

# unchanged: no byte of the home is another one
unchanged() {
	manifest "$HOME" >"$T/after"
	ok 'the editor has written no file' same "$T/before" "$T/after"
}

# --- without the filter ---
gives 0 'without the filter the editor writes a real file' \
	"$acp" plain guard run -q -- "$acp" agent
ok 'the file is there' rm plain.txt
head -c 1048576 /dev/zero | tr '\0' x >big.txt
manifest "$HOME" >"$T/before"

# --- messages ---
gives 0 'each callback goes to the layer, all else passes unchanged' \
	"$acp" exchange guard run --acp -- "$acp" agent
says "$err" 'guard: --acp: a message of the agent is not passed on'
says "$err" 'network: host, --acp)'
unchanged
gives 0 'all changes are in the diff' guard diff --name-status
is "$(cat "$out")" "$(printf '%s\t%s\n' M README.md A cut.txt A end.txt A new \
	A new/dir A new/dir/one.txt A two.txt)" 'and no others'
guard discard -y >/dev/null 2>&1
gives 0 'messages of 10 MB pass both ways at once' \
	"$acp" big guard run -q --acp -- "$acp" agent
guard discard -y >/dev/null 2>&1

gives 0 'answers to an agent that does not read are bounded' \
	"$acp" unread guard run -q --acp -- "$acp" agent

# --- ends ---
gives 0 'an agent is killed' "$acp" killed guard run -q --acp -- "$acp" agent
gives 0 'an agent leaves a process that writes' \
	"$acp" flooded guard run -q --acp -- "$acp" agent
gives 0 'a signal reaches the agent' \
	"$acp" signalled guard run -q --acp -- "$acp" agent
gives 0 'an agent that stays after its editor is ended' \
	"$acp" left guard run --acp -- "$acp" agent
says "$err" 'guard: run '
unchanged
gives 0 'its file is in the diff' guard diff --name-status
says "$out" left.txt
guard discard -y >/dev/null 2>&1
gives 0 'stderr on the pipe of stdout is filtered, too' \
	"$acp" merged guard run -q --acp -- "$acp" agent
gives 3 'a caller without descriptors that ignores SIGCHLD' timeout -k 1 20 perl -e '
	$SIG{CHLD} = "IGNORE"; close STDIN; close STDOUT; exec @ARGV' \
	guard run -q --acp -- sh -c 'cat; exit 3'
gives 127 'a missing agent' guard run -q --acp -- no-such-agent
says "$err" "guard: --acp: run 'no-such-agent': No such file or directory"
gives 126 'a directory' guard run -q --acp -- /tmp

# --- the way around the filter ---
# shellcheck disable=SC2016 # expanded in the run
gives 0 'the agent has no way to the descriptors of the editor' \
	guard run -q --acp -- sh -c 'cat /proc/$PPID/comm
		for fd in /proc/$PPID/fd/0 /proc/$PPID/fd/1 /proc/1/fd/1; do
			readlink $fd; (: <$fd) && echo "opened $fd"
		done
		readlink /proc/$PPID/exe; cat /proc/$PPID/environ
		ls -m /proc/$$/fd; true'
is "$(cat "$out")" "guard-acp
0, 1, 2" 'and three of its own'

# --- the filter without the option ---
printf '#!/bin/sh\nexec "%s" agent\n' "$acp" >"$HOME/bin/claude-agent-acp"
sed 's/^exec/shift; exec/' "$HOME/bin/claude-agent-acp" >"$HOME/bin/npx"
chmod 755 "$HOME/bin/claude-agent-acp" "$HOME/bin/npx"
manifest "$HOME" >"$T/before"
gives 0 'an adapter that a profile knows' \
	"$acp" killed guard run -- claude-agent-acp
says "$err" 'agent: claude, --acp)'
gives 0 'a package of an adapter' "$acp" killed \
	guard run -- npx -y @agentclientprotocol/codex-acp@2.6.0
says "$err" 'agent: codex with --nested, --acp)'
unchanged
guard discard --all -y >/dev/null 2>&1
gives 0 'inside of a run the option filters as well' "$acp" killed \
	guard run -q -- guard run -q --acp -- "$acp" agent
gives 0 'so it is for an adapter that a profile knows' "$acp" killed \
	guard run -q -- guard run -q -- claude-agent-acp
unchanged
guard discard --all -y >/dev/null 2>&1
gives 0 'other processes of the run survive it' guard run -q -- sh -c '
	sleep 60 &
	guard run -q --acp -- sh -c "exit 4"
	[ $? = 4 ] && kill $!'

# --- guard exec, and other ways to start an adapter ---
gives 0 'a run' guard run -q --name ended -- touch made.txt
gives 0 'an adapter in a run that has ended' \
	"$acp" callback guard exec ended -- claude-agent-acp
gives 0 'a run with the option' guard run -q --acp --name opted -- touch made2.txt
gives 0 'any command in it' "$acp" callback guard exec opted -- "$acp" agent
gives 0 'a command without pipes' \
	guard exec opted -- sh -c "echo 'import \"fs/promises\"'" </dev/null
is "$(cat "$out")" 'import "fs/promises"' 'writes what it likes'
ready=$T/ready
# The end of the editor's output would end the agent.
mkfifo "$ready" "$T/editor"
exec 8<>"$T/editor"
for option in --acp --quiet; do
	guard run -q $option --name live -- sh -c 'echo >made3.txt; echo; sleep 60' \
		<&8 >"$ready" 2>/dev/null &
	pid=$!
	read -r _ <"$ready"
	gives 0 "an adapter in a live run with $option" \
		"$acp" callback guard exec live -- claude-agent-acp
	[ $option = --quiet ] ||
		gives 0 'any command in it' \
			"$acp" callback guard exec live -- "$acp" agent
	[ $option = --acp ] || for part in killed flooded left; do
		gives 0 "an end of an adapter in a live run: $part" \
			"$acp" $part guard exec live -- claude-agent-acp
	done
	ok 'the run goes on' guard exec live -- true
	kill $pid
	wait $pid
	gives 0 'the file is in its layer' guard diff --name-only live
	says "$out" called.txt
	guard discard -y live >/dev/null 2>&1
done
gives 0 'an adapter with --agent none' \
	"$acp" callback guard run -q --agent none -- claude-agent-acp
gives 0 'one behind other programs' \
	"$acp" callback guard run -q -- env X=1 nice sh -c 'exec claude-agent-acp'
unchanged
guard discard --all -y >/dev/null 2>&1

answers 'run -- claude-agent-acp' ''
silent "$out" '--acp'
finish
