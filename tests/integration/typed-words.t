#!/bin/sh
# Words of git, docker, restic, lazygit and of daily speech in place of a verb,
# programs without `run`, and mistyped verbs: guard names the command that is
# meant, one that works as printed. A question never gets a command that acts.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
guard snapshot -q
mkdir "$T/bin"
for file in "$T/bin/claude" "$T/bin/npm" "$T/bin/npx" "$T/bin/make" \
	"$T/bin/it's" build.sh; do
	printf '#!/bin/sh\n' >"$file"
	chmod +x "$file"
done
PATH=$PATH:$T/bin
guard run -q -- sh -c 'echo 1 >made; git commit -q --allow-empty -m run'

# means WORDS COMMAND...: what guard names for them
means() {
	typed=$1
	shift
	# shellcheck disable=SC2086 # words
	guard $typed >"$out" 2>"$err" </dev/null
	got=$?
	wanted=$(printf 'guard %s\n' "$@")
	found=$(sed -n 's/^guard: \(did you mean\|or\) `\(.*\)`?$/\2/p' "$err")
	is "$got $found" "2 $wanted" "guard $typed means guard $1"
	printf '%s\n' "$found" >>"$T/commands"
}

while IFS='|' read -r words command second; do
	means "$words" "$command" ${second:+"$second"}
done <<'END'
info|status
inspect made|status made
stat|status
top|status
ps -a|status
runs|status
sessions|status
jobs|status
pending|status
running|status
containers|status
watch|status
tail -f|status
wait|status
branch -a|status
worktree list|status
port|status
pause|status
what happened|log --actions
why|log --actions
who did this|log --actions
events|log --actions
reflog|log --actions
stats|status --disk
df|status --disk
size|status --disk
usage|status --disk
trash|status --disk
system prune|status --disk
volume ls|status --disk
changes|diff
changed made|diff made
preview|diff
details|diff
whatsnew|diff
files|diff
add -p|review
stage|review
ui|review
checkout|restore .
checkout -- src/f1.c|restore src/f1.c
switch|restore .
reset --hard|discard|restore .
revert HEAD|undo
rollback|undo
back|undo
unapply|undo
stash|snapshot
stash pop|snapshot
checkpoint|mark|snapshot
save|snapshot
merge|apply
accept|apply
approve|apply
pull|apply
push origin main|apply
cherry-pick abc|apply
cp made /tmp|apply
rm|discard
reject|discard
drop|discard
delete|discard
fetch|import
applied|log --actions
discarded|log --actions
imported run|log --actions
undone|log --actions
restored|log --actions
purged|log --actions
pruned|log --actions
stopped|log --actions
report|status
ping|status
commits|log
pins|log
restart|run --continue --help
diffs|diff
fnd|log --find --help
fnd made|log --find made
snapshots --latest 1|log
cat snapshot 1|show --help
cat -n README.md|show --help
checkout -b x|restore .
switch -c x|restore .
checkout README.md src/f1.c|restore README.md src/f1.c
format-patch|patch
archive|export --tar
history|log
blame README.md|log README.md
logs -f made|log
images|log
snapshots|log
versions README.md|log README.md
tags|log
search needle|log --find --help
cat|show --help
cat README.md|show README.md
dump README.md|show README.md
mount /mnt|show --list latest
check|verify
fsck|verify
rebuild-index|verify --repair
unlock|verify --repair
forget --keep-last 3|prune
gc|prune
clean -fdx|prune
rmi|prune
tag v1|pin
rewrite|purge --help
login|agents
init|doctor
config|doctor
tutorial|demo
attach|exec --shell
enter|exec --shell
sh|exec --shell
cancel|stop
terminate|stop
start|run --help
start true|run true
claude|run -- claude
npm test|run -- npm test
npx -y create-app x|run -- npx -y create-app x
make -j2|run -- make -j2
true|run -- true
./build.sh --all|run -- ./build.sh --all
stauts|status
stauts -q|status -q
dfif|diff
udno|undo
aplpy|apply
kil|stop
sheel|exec --shell
restor src/f1.c|restore src/f1.c
--net none true|run --net none true
-q status|status -q
-y discard made|discard -y made
END
gives 2 'a word with quotes is quoted' guard "it's" 'a b'
says "$err" "run -- 'it'\\''s' 'a b'"
# Endings of verbs that act, and words that are no program.
for word in discards discarding imports undos undoes redos restores applys \
	purges purging prunes stops committed ink clone remote bisect \
	describe ls-files rev-parse difftool amend squash rename update load \
	network compose build key self-update unstage conflicts \
	continue exit ./none.sh; do
	gives 2 "guard $word is no verb" guard "$word" x
	silent "$err" 'did you mean'
	says "$err" 'guard --help'
done
gives 2 'help of a foreign word names the verb' guard help checkout
says "$err" 'guard restore .'
gives 2 'with -C the named command has it' guard -C "$HOME" stauts
says "$err" "\`guard -C $HOME status\`"
while IFS='|' read -r words text; do
	# shellcheck disable=SC2086 # words
	gives 2 "guard $words explains" guard $words
	says "$err" "$text"
done <<'END'
-p 8080:80 npm start|use --net private --publish PORTS
--read-only npm test|--ro PATH exposes
restore --staged a|git restore --staged
apply -R|guard undo
apply --stat|guard diff --stat
stop -s KILL|--time
END
while IFS='|' read -r words text; do
	# shellcheck disable=SC2086 # words
	gives 125 "guard run $words explains" guard run $words -- true
	says "$err" "$text"
	silent "$err" 'did you mean'
done <<'END'
-p 8080:80|use --net private --publish PORTS
--volume /a:/b|use --ro PATH, --rw PATH or --cow PATH
--mount type=bind|use --ro PATH, --rw PATH or --cow PATH
--read-only|--ro PATH exposes
--no-network|use --net none
--unshare-net|use --net none
--privileged|--nested lets
--cap-add ALL|--nested lets
--workdir src|use -C DIR
--entrypoint sh|behind --
--env-file .env|--env NAME=VALUE
--gpus all|guard explain
--dry-run|--why PATH
END
gives 0 'letters of docker are options of run' \
	guard run -q -m 200m -e A=b -it --rm --init --network none -- true

# Each named command works as printed. Questions, and commands that would
# remove something, change nothing without an answer.
guard status -q >"$T/before"
sort -u "$T/commands" | grep -vE ' (run|exec) |guard mark$|guard (status|log) made$' \
	>"$T/once"
while read -r command; do
	(sh -c "$command" | cat) >"$out" 2>"$err" </dev/null
	if grep -qE 'guard: see `|no such|usage' "$err"; then
		flunk "works as printed: $command"
		show_output
	fi
done <"$T/once"
pass 'each named command works as printed'
is "$(guard status -q)" "$(cat "$T/before")" 'the runs are pending still'
finish
