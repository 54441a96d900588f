#!/bin/sh
# The steps of `guard demo`: a project is wrecked, and its files come back. The
# text is compiled in; guard/cli/cmd_demo.c starts it with few variables:
#
#	sh -c TEXT 'guard demo' GUARD [-y]
#
# tests/demo/inside.sh includes it and plays the same steps in a throw-away root,
# where execute(), checked() and may_wipe() are other functions.
# shellcheck disable=SC2016,SC2088 # scripts and names are shown as typed
set -eu
bold='' faint='' off=''

use_colors() {
	bold=$(printf '\033[1m') faint=$(printf '\033[2m') off=$(printf '\033[m')
}

# ---- output ----
# Without the message of the shell about a closed pipe.

chapter() {
	printf '\n%s%s%s\n\n' "$bold" "$*" "$off" 2>/dev/null
}

tell() {
	printf '%s\n' "$*" 2>/dev/null
}

directory_name() {
	case $PWD in
	"$HOME") echo '~' ;;
	"$HOME"/*) echo "~/${PWD#"$HOME/"}" ;;
	*) echo "$PWD" ;;
	esac
}

# try COMMAND [NAME]: shows the command as typed, and executes it in this shell
# when the user presses Enter. A test checks the result under this name.
try() {
	printf '%s%s $%s %s' "$faint" "$(directory_name)" "$off$bold" "$1$off" \
		2>/dev/null
	[ -z "$waits" ] || read -r _ || exit 0
	tell
	execute "$1"
	[ $# -eq 1 ] || checked "$2"
}

# ---- the project and the home directory around it ----

write() { # FILE LINES...
	file=$1
	shift
	mkdir -p "$(dirname "$file")"
	printf '%s\n' "$@" >"$file"
}

commit() { # DATE TEXT
	git add -A
	GIT_AUTHOR_DATE=$1 GIT_COMMITTER_DATE=$1 git commit -q -m "$2"
}

make_history() {
	git init -q -b main .
	write .gitignore '.env' 'data/' '*.log'
	write src/greet.sh '#!/bin/sh' 'echo "Helo, ${1:-world}!"'
	write README.md '# greeter' '' 'Greets people.'
	chmod 755 src/greet.sh
	commit 2024-02-01T10:00:00Z 'Begin'
	write tests/run '#!/bin/sh' \
		'[ "$(sh src/greet.sh you)" = "Hello, you!" ] || exit 1' \
		'echo "the tests pass"'
	write docs/guide.md '# Guide' '' 'Run src/greet.sh NAME.'
	write 'docs/questions & answers.md' 'Why? Because.'
	head -c 20000 "$(command -v env)" >docs/logo.png
	ln -s guide.md docs/index.md
	commit 2024-02-02T11:00:00Z 'Test it, explain it'
	for n in 1 2 3 4; do
		write chapters/$n.md "# Chapter $n" "It was night number $n."
	done
	write 'src/größe.txt' 'name with ö and ß'
	commit 2024-02-03T12:00:00Z 'Write four chapters'
	git checkout -q -b idea
	write idea.md 'What if it sang?'
	commit 2024-02-04T13:00:00Z 'Keep an idea'
	git checkout -q main
}

# Files that git does not track: these are the lost ones.
make_unsaved_work() {
	write README.md '# greeter' '' 'Greets people. Rewritten all morning.'
	write docs/guide.md '# Guide' '' 'A much better text, staged only.'
	git add docs/guide.md
	write notes.md 'Two weeks of thoughts, never added.'
	write drafts/chapter-5.md 'It was the last night.'
	mkdir -p drafts/empty
	write .env 'API_KEY=only-copy'
	chmod 600 .env
	mkdir data
	tail -c 1500000 "$(command -v git)" >data/customers.db
	ln -s customers.db data/current
	ln data/customers.db data/backup.db
	write build.log 'built'
	chmod 444 build.log
	touch -d '2024-02-29 12:34:56.789012345 UTC' notes.md src/*
	setfattr -n user.origin -v handmade notes.md 2>/dev/null || :
}

make_home() {
	cd "$HOME"
	git config --global user.name 'Demo'
	git config --global user.email 'demo@example.org'
	# `git status` must not write the index.
	GIT_OPTIONAL_LOCKS=0
	export GIT_OPTIONAL_LOCKS
	mkdir -p .local/share # as in every home; guard's state lies there
	write .bashrc 'alias ll="ls -l"'
	write photos/2019/beach.jpg 'the only copy of a summer'
	write photos/2020/forest.jpg 'and of an autumn'
	mkdir -p projects/greeter
	cd projects/greeter
	make_history
	make_unsaved_work
	write ~/agent.sh '#!/bin/sh' \
		'# An agent at work. Each of its commands was run by a real one.' \
		'set -x' \
		'cd ~/projects/greeter' \
		"sed -i 's/Helo/Hello/' src/greet.sh   # the fix, a good one" \
		'sh tests/run' \
		'git commit -q -m "Fix the greeting" src/greet.sh' \
		'git reset -q --hard        # "unstage the rest"' \
		'git clean -q -fdx          # "tidy up"' \
		'rm -rf docs                # "will be generated again"' \
		'cd chapters' \
		'for f in *; do mv "$f" ../book; done   # there is no ../book' \
		'cd ..' \
		': >README.md               # an edit that went wrong' \
		'rm -rf ~/photos            # "free some space"' \
		'echo "All done!"'
}

# ---- the steps ----

play() {
	chapter "A project with work that git does not hold"
	try 'git log --oneline --all'
	try 'git status --short --ignored' unsaved
	try 'sh tests/run || echo "the tests fail"' failing
	tell
	tell "An agent is asked to fix it, and has the shell:"
	tell
	try 'cat ~/agent.sh'

	chapter "Its command, with guard in front"
	try 'guard run -- sh ~/agent.sh' run
	try 'ls; cat README.md' unchanged

	chapter "What did it do?"
	try 'guard status' listed
	try 'guard diff --stat' reviewed
	try 'guard diff src/greet.sh' shown

	chapter "Take the good part, drop the rest"
	try 'guard apply -y src/greet.sh' applied
	try 'sh tests/run' passing
	try 'guard discard -y'
	try 'guard status' nothing_pending
	try 'git status --short --ignored' still_unsaved

	chapter "Any file, as it was"
	try 'rm notes.md'
	try 'guard log notes.md'
	try 'guard restore -y notes.md' restored

	chapter "A snapshot by hand"
	try 'echo "One thought more." >>notes.md'
	try 'guard snapshot -m "before lunch"' stored
	try 'guard log' named

	chapter "The worst day: without guard, the whole home"
	cd /
	may_wipe
	tell "(~ is $HOME)"
	try 'rm -rf ~'
	try 'ls -A ~' wiped

	chapter "And back"
	try 'guard log ~/projects/greeter' named
	try 'guard restore -y ~/projects/greeter' back
	try 'cd ~/projects/greeter'
	try 'git log --oneline --all' commits_back
	try 'git status --short --ignored' work_back
	try 'sh tests/run' passing
}

# ---- guard demo itself ----

stop() {
	printf 'guard demo: %s\n' "$*" >&2
	exit 1
}

execute() {
	status=0
	eval "$1" </dev/null || status=$?
	case $1 in
	guard\ *) [ $status -eq 0 ] || stop "the command ended with $status" ;;
	esac
}

checked() {
	:
}

# The only command without guard that removes: it must mean the directory made
# below.
may_wipe() {
	[ -n "$scratch" ] || stop 'there is no directory'
	[ "$HOME" = "$scratch/home" ] || stop "HOME is $HOME"
}

# As uninstalling does it, which waits for guard's background processes.
clean_up() {
	trap '' INT TERM HUP PIPE
	[ -z "$waits" ] || stty echo 2>/dev/null || :
	cd /
	guard purge --everything --confirm "$GUARD_HOME" >/dev/null 2>&1 || :
	chmod -R u+rwX "$scratch"
	rm -rf --one-file-system "$scratch"
}

# Whether runs work here. Of doctor's rows only the missing ones matter now.
check_machine() {
	command -v git >/dev/null || stop 'git is not installed'
	guard doctor >"$scratch/doctor" 2>&1 || {
		awk '/^[a-z]/ { missing = /^(missing|guard)/ } missing' \
			"$scratch/doctor" >&2
		stop 'guard run does not work here'
	}
}

main() {
	waits=''
	[ ! -t 0 ] || [ ! -t 1 ] || [ "${2:-}" = -y ] || waits=1
	[ ! -t 1 ] || [ -n "${NO_COLOR:-}" ] || [ "${TERM:-dumb}" = dumb ] ||
		use_colors
	place=${TMPDIR:-/var/tmp}
	scratch=$(mktemp -d "$place/guard-demo.XXXXXX" 2>/dev/null) ||
		stop "cannot make a directory in '$place': set TMPDIR to another"
	scratch=$(realpath "$scratch")
	unset TMPDIR # guard run would say that it is not passed on
	HOME=$scratch/home GUARD_HOME=$scratch/state
	PATH=$scratch/bin:$PATH PAGER=cat
	export HOME GUARD_HOME PATH PAGER
	trap clean_up EXIT
	trap 'echo; exit 130' INT TERM HUP
	trap 'exit 141' PIPE # a message would meet the closed pipe again
	# Enter during a command leaves no empty line on the screen.
	[ -z "$waits" ] || stty -echo
	mkdir "$HOME" "$scratch/bin"
	ln -s "$1" "$scratch/bin/guard"
	check_machine
	make_home
	tell "All of this happens in $scratch,"
	tell "which is removed at the end.${waits:+ Enter executes each command.}"
	play
	chapter "In a project of your own: guard run -- COMMAND"
}

case $0 in 'guard demo') main "$@" ;; esac
