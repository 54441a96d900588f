#!/bin/sh
# A project that was renamed or moved keeps its runs, actions and versions, and
# another directory at its old path gets none of its files.
# shellcheck disable=SC2317 # functions are called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99
cases=0

# begin [git]: a new directory $work, with a project p in it that has a pending
# run, which changed f
begin() {
	cases=$((cases + 1))
	work=$HOME/work$cases
	mkdir -p "$work/p" && cd "$work/p" || exit 99
	[ "${1:-}" != git ] || git init -q .
	echo user >f
	echo kept >g
	guard run -q --name work -- sh -c 'echo agent >f; echo new >n'
}
# has_all WHERE: the run, its versions and its undo are found in this directory
has_all() {
	gives 0 "status names the run $1" guard status
	says "$out" 'work  ended'
	gives 0 "log has the versions $1" guard log
	says "$out" 'pre-run'
	gives 0 "diff shows the run $1" guard diff --name-status
	says "$out" 'f'
	ok "apply $1" guard apply -y --yes-to all
	is "$(cat f n)" 'agent
new' "the files of the run are $1"
	ok "undo $1" guard undo -y
	is "$(cat f)" user "undo restores the file $1"
	echo lost >f
	ok "restore $1" guard restore -y --at \
		"$(guard log | sed -n 's/ .*pre-run.*//p')" f
	is "$(cat f)" user "restore has the version of before $1"
}

for kind in plain git; do
	begin "$kind"
	mv "$work/p" "$work/q" && cd "$work/q" || exit 99
	has_all "in the renamed project ($kind)"
done

begin
mv "$work" "$HOME/other" && cd "$HOME/other/p" || exit 99
has_all 'below a renamed directory'

begin git
mkdir "$work/q" && mv "$work/p/.git" "$work/p/f" "$work/p/g" "$work/q" &&
	rmdir "$work/p" && cd "$work/q" || exit 99
has_all 'in a directory that got the repository'

begin
mv "$work/p" "$work/q" && ln -s q "$work/p" && cd "$work/p" || exit 99
gives 0 'a link at the old path is no other directory' guard status
says "$out" 'work  ended'

begin
mv "$work/p" "$work/q" && cd "$work/q" || exit 99
mkdir sub && cd sub || exit 99
gives 0 'a command in a subdirectory finds the renamed project' guard status
says "$err" "'$work/q' was '$work/p': taken over: 1 pending run"

begin
cp -a "$work/p" "$work/q" && cd "$work/q" || exit 99
gives 0 'a copy is another project' guard status -q
silent "$out" work
cd "$work/p" || exit 99
gives 0 'the copied project keeps its run' guard status
says "$out" 'work  ended'

begin
mv "$work/p" "$work/q" && mkdir "$work/p" && cd "$work/p" || exit 99
echo other >f
echo other >x
gives 1 'another directory at the old path has no run to apply' guard apply -y
says "$err" 'is pending'
gives 1 'another directory at the old path has no run to discard' guard discard -y
gives 1 'the run is refused by its name' guard apply -y work
says "$err" 'is another directory than the one in which run work began'
gives 1 'it is refused for one path, too' guard apply -y work n
gives 1 'it is refused with --theirs, too' guard apply -y --theirs work
is "$(echo *) $(cat f)" 'f x other' 'the other directory is unchanged'
gives 0 'the other directory is stored' guard snapshot -q
cd "$work/q" || exit 99
has_all 'where the directory went, when another one is at its old path'
cd "$work/p" || exit 99
gives 0 'the other directory keeps its own versions' guard log
says "$out" manual
silent "$out" pre-run

begin
guard apply -q -y
mv "$work/p" "$work/q" && mkdir "$work/p" && cd "$work/p" && echo other >f
guard status -q >"$out" 2>"$err"
says "$err" 'is another directory than before'
gives 1 'another directory has no action to undo' guard undo -y
mv "$work/p" "$work/s" && mv "$work/q" "$work/p" && cd "$work/p" || exit 99
gives 0 'a directory that returns to its path has its actions' guard undo -y
is "$(cat f)" user 'undo takes them back'
gives 0 'and its versions' guard log
says "$out" pre-run

begin
rm -r "$work/p" && cd "$work" || exit 99
ok 'restore makes a deleted project again' guard restore -y p
cd p && is "$(cat f)" user 'it has its files'
ok 'the restore can be undone there' guard undo -y
no 'undo removes it' test -e f

begin
mv "$work/p" "$work/q" && cp -a "$work/q" "$work/p" && rm -r "$work/q" &&
	cd "$work/p" || exit 99
gives 1 'a directory that was made again is refused' guard apply -y work
ok 'the printed command takes over its runs' \
	sh -c "$(grep -o 'guard repair [^\`]*' "$err")"
ok 'the run is applied then' guard apply -y
is "$(cat f)" agent 'its files are written'

begin
mkdir "$work/q" && cd "$work/q" && echo of-q >h || exit 99
guard run -q --name other -- sh -c 'echo agent >h'
cd "$work" && mv p t && mv q p && mv t q && cd q || exit 99
ok 'one of two exchanged projects has its run' guard apply -y work
is "$(cat f)" agent 'its file is written'
cd "$work/p" || exit 99
ok 'the other one has its run, too' guard apply -y other
is "$(cat h)" agent 'its file is written, too'
gives 0 'its log has its versions' guard log
silent "$out" 'echo agent >f'
says "$out" 'echo agent >h'
cd "$work/q" || exit 99
gives 0 'the log of the first one has its own' guard log
silent "$out" 'echo agent >h'
says "$out" 'echo agent >f'

begin
mkdir kid && cd kid && echo of-kid >k || exit 99
guard run -q --name other -- sh -c 'echo agent >k'
mv "$work/p/kid" "$work/kid" && mv "$work/p" "$work/q" && cd "$work/q" || exit 99
gives 0 'a renamed project is found without one that was in it' guard log
silent "$out" 'echo agent >k'
mkdir kid && cd kid || exit 99
gives 1 'a new directory at its place has no version of it' \
	guard restore -y --at "$(guard log --all | sed -n '/agent >k/s/ .*//p' |
		head -n 1)" k
cd "$work/kid" || exit 99
gives 0 'the project that was moved out before has its versions' guard log
says "$out" 'echo agent >k'
ok 'its run is applied' guard apply -y other
is "$(cat k)" agent 'its file is written there'

begin
mkdir kid && cd kid && echo of-kid >k || exit 99
guard run -q --name other -- sh -c 'echo agent >k'
mv "$work/p" "$work/q" && cd "$work/q" && guard status -q >"$out" || exit 99
cd kid || exit 99
gives 0 'a project in a renamed one has its versions' guard log
says "$out" 'echo agent >k'
ok 'the run in it is applied' guard apply -y other
is "$(cat k)" agent 'its file is written in it'

# Two directories that were made in one tick of the clock, as by tar or git.
tries=0
until [ "$(stat -c %w "$HOME/twins$tries/p" 2>&1)" = \
	"$(stat -c %w "$HOME/twins$tries/q" 2>&1)" ] &&
	[ -d "$HOME/twins$tries" ]; do
	tries=$((tries + 1))
	mkdir -p "$HOME/twins$tries/p" "$HOME/twins$tries/q"
done
work=$HOME/twins$tries
cd "$work/p" || exit 99
echo user >f
cp f ../q/f
guard run -q --name work -- sh -c 'echo agent >f; echo new >n'
cd "$work" && mv p t && mv q p && mv t q && cd p || exit 99
gives 1 'a directory of the same birth time gets no files of the run' \
	guard apply -y work
says "$err" 'is another directory than the one in which run work began'
is "$(echo *) $(cat f)" 'f user' 'it is unchanged'
cd "$work/q" || exit 99
ok 'the project has its run' guard apply -y
is "$(cat f)" agent 'its file is written'

begin
mkdir "$work/cow" && echo user >"$work/cow/c"
guard run -q --name wide --cow ../cow -- sh -c 'echo agent >f; echo agent >../cow/c'
mv "$work" "$work.moved" && cd "$work.moved/p" || exit 99
gives 0 'directories of --cow go along with a directory above' guard apply -y wide
is "$(cat f ../cow/c)" 'agent
agent' 'both have their files'
ok 'undo takes both back' guard undo -y
is "$(cat f ../cow/c)" 'user
user' 'both are as before'
mv ../cow ../kine && cd ../kine || exit 99
ok 'a renamed directory of --cow is found in it' guard status -q
cd ../p || exit 99
gives 0 'and the run is applied to it' guard apply -y wide
is "$(cat f ../kine/c)" 'agent
agent' 'both have their files again'

# The home directory, with guard's state in it, as by usermod -d -m.
mkdir -p "$HOME/old/src/p" && cd "$HOME/old/src/p" || exit 99
echo user >f
at_home() {
	where=$1
	shift
	env -u GUARD_HOME HOME="$HOME/$where" guard "$@"
}
at_home old run -q -- sh -c 'echo agent >f; mkdir -p ~/.a/b; echo x >~/.a/b/c'
at_home old apply -q -y "$HOME/old/.a"
test -f "$HOME/old/.a/b/c" || flunk 'the home of this case was not changed'
mv "$HOME/old" "$HOME/new" && cd "$HOME/new/src/p" || exit 99
{
	at_home new apply -q -y && cat f
	at_home new undo -q -y && cat f
	at_home new undo -q -y 1
} >"$T/o" 2>&1
is "$(grep -x 'agent\|user' "$T/o" | tr '\n' ' ')" 'agent user ' \
	'a project in a renamed home directory has its run'
no 'an apply to the home directory is undone there' \
	test -e "$HOME/new/.a/b/c"

# A user without a home directory, as in many containers.
if [ "$me" = root ]; then
	mkdir -m 700 "$T/state"
	mkdir -p /var/tmp/homeless/p && echo user >/var/tmp/homeless/p/f
	chown -R 54321:54321 "$T/state" /var/tmp/homeless
	chmod 711 "$T"
	homeless() {
		setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME \
			GUARD_HOME="$T/state" guard "$@"
	}
	cd /var/tmp/homeless/p || exit 99
	gives 0 'a user without a home directory has a snapshot' homeless snapshot
	mv /var/tmp/homeless/p /var/tmp/homeless/q
	cd /var/tmp/homeless/q || exit 99
	gives 0 'and finds it in the renamed project' homeless log
	says "$out" manual
	cd / && rm -r /var/tmp/homeless
fi

begin
gives 1 'a project that is still there cannot be taken over' \
	sh -c "mkdir '$work/q'; cd '$work/q'; guard repair --moved-from ../p"
says "$err" 'is still there'
gives 1 'an unknown project cannot be taken over' \
	guard repair --moved-from "$work/none"
says "$err" "no project '$work/none' is known"
gives 2 '--moved-from is of repair' guard verify --moved-from "$work/none"

# A run that is going on keeps the old path until it has ended.
begin
mkfifo "$T/fifo"
guard run -q --name live -- sh -c 'echo started; read -r x; echo late >n' \
	<"$T/fifo" >"$T/log" 2>&1 &
exec 3>"$T/fifo"
until grep -qs started "$T/log"; do kill -0 $! || break; done
mv "$work/p" "$work/q" && cd "$work/q" || exit 99
gives 0 'a run that is going on is not taken over' guard status
says "$err" 'run live is still going on in it'
echo end >&3
exec 3>&-
wait
settle
gives 0 'it is when it has ended' guard status
says "$out" live

# Killed at any step, the next command finishes it.
at=1
while :; do
	begin
	mv "$work/p" "$work/q" && cd "$work/q" || exit 99
	"$stopat" --at "$at" -- guard status >"$T/o" 2>&1 && break
	guard apply -y >"$T/o" 2>&1 || break
	[ "$(cat f)" = agent ] || break
	at=$((at + 3))
done
is "$(cat f)" user 'killed at any step, the next command takes all over'
[ "$at" -gt 3 ] || flunk "only $at steps were killed"

finish
