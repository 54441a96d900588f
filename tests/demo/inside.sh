#!/bin/sh
# The demo itself, in a throw-away root: run.sh starts it there. It wipes a home
# directory unguarded, so it refuses to run elsewhere.
#
#	inside.sh GUARD COLORS
#
# Prints each command as a user would type it, with its real output, and checks
# the state after each step; the first failed check ends it.
# shellcheck disable=SC2016,SC2088 # scripts and names are shown as typed
set -eu

die() {
	printf '\nFAILED: %s\n' "$*"
	exit 1
}

# ---- only in a throw-away root ----

# The marker must contain root.c's notes about the outside, and none of them may
# be true here. No file of the machine may be writable.
refuse_elsewhere() {
	[ "${GUARD_TEST_ROOT:-}" = 1 ] || die "not in a throw-away root"
	[ -n "${GUARD_TEST_OUTSIDE:-}" ] || die "the outside is not known"
	[ "$(cat /.guard-test-root)" = "$GUARD_TEST_OUTSIDE" ] ||
		die "the marker of the throw-away root is missing"
	here="$(readlink /proc/self/ns/mnt) $(stat -c %d:%i /)"
	[ "${here%% *}" != "${GUARD_TEST_OUTSIDE%% *}" ] ||
		die "this is the machine's own mount namespace"
	[ "${here#* }" != "${GUARD_TEST_OUTSIDE#* }" ] ||
		die "this is the machine's own root folder"
	case $HOME in
	/root | /home/tester) ;;
	*) die "HOME is $HOME" ;;
	esac
	[ "$(ls /home)" = tester ] || die "there are homes in /home"
	# /small and the control groups are the throw-away root's own.
	own='^/(proc|small|sys/fs/cgroup(/.*)?|dev(/.*)?)?$'
	writable=$(awk -v own="$own" '{ split($6, o, ",") }
		o[1] == "rw" && $5 !~ own { print $5 }' \
		/proc/self/mountinfo)
	[ -z "$writable" ] || die "writable mounts in here: $writable"
}

refuse_elsewhere
guard=$1
colours=$2
PATH=$(dirname "$guard"):$PATH
scratch=$(mktemp -d /var/tmp/demo.XXXXXX)
count=0
# `git status` must not write the index.
GIT_OPTIONAL_LOCKS=0
export GIT_OPTIONAL_LOCKS
bold='' green='' faint='' off=''
if [ -n "$colours" ]; then
	bold=$(printf '\033[1m') green=$(printf '\033[32m')
	faint=$(printf '\033[2m') off=$(printf '\033[m')
fi

# ---- output ----

chapter() {
	printf '\n%s%s%s\n\n' "$bold" "$*" "$off"
}

tell() {
	printf '%s\n' "$*"
}

good() {
	count=$((count + 1))
	printf '%s   ok: %s%s\n' "$green" "$*" "$off"
}

folder_name() {
	case $PWD in
	"$HOME") echo '~' ;;
	"$HOME"/*) echo "~/${PWD#"$HOME/"}" ;;
	*) echo "$PWD" ;;
	esac
}

# The words are shown unchanged and executed by the shell, as if typed; stdout
# and stderr go to $out and, up to a number of lines, to the user.
try() {
	status=0
	printf '%s%s $%s %s\n' "$faint" "$(folder_name)" "$off$bold" "$1$off"
	out=$scratch/out
	eval "$1" >"$out" 2>&1 </dev/null || status=$?
	head -n "${lines:-200}" "$out"
	left=$(($(wc -l <"$out") - ${lines:-200}))
	[ $left -le 0 ] || tell "${faint}[... $left lines more]$off"
}

ends_with() {
	[ "$status" -eq "$1" ] || die "that ended with $status, not with $1"
}

says() {
	grep -qF -- "$1" "$out" || die "that did not say: $1"
}

says_not() {
	! grep -qF -- "$1" "$out" || die "that said: $1"
}

# ---- comparison of states ----

# Every entry below a directory, a record each: type, mode, owner, link target,
# time, of files the link count and size, xattrs; sha256 of contents. guard's
# own state is excluded.
manifest() (
	cd "$1"
	set -- . -path ./.local -prune -o
	find "$@" -type f -printf '%y %m %U:%G %T@ %n %s %p\0'
	find "$@" ! -type f -printf '%y %m %U:%G %T@ [%l] %p\0'
	find "$@" -type f -exec sha256sum -z {} +
	find "$@" -exec getfattr -hd -m - -- {} + 2>/dev/null | tr '\n' '\0'
)

remember() { # NAME FOLDER
	manifest "$2" | LC_ALL=C sort -z >"$scratch/$1"
	files=$(tr '\n\0' '?\n' <"$scratch/$1" | grep -c '^f')
}

differences() { # NAME FOLDER: lines of those that differ
	manifest "$2" | LC_ALL=C sort -z >"$scratch/now"
	tr '\n\0' '?\n' <"$scratch/$1" >"$scratch/a"
	tr '\n\0' '?\n' <"$scratch/now" >"$scratch/b"
	diff "$scratch/a" "$scratch/b" | grep '^[<>]' || :
}

same() { # NAME FOLDER TEXT
	differences "$1" "$2" >"$scratch/differences"
	[ ! -s "$scratch/differences" ] || {
		cat "$scratch/differences"
		die "something differs in $2"
	}
	good "$3"
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
	head -c 20000 /usr/bin/env >docs/logo.png
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
	tail -c 1500000 /usr/bin/git >data/customers.db
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

step_look() {
	chapter "A project with work that git does not hold"
	try 'git log --oneline --all'
	try 'git status --short --ignored'
	ends_with 0
	says '?? notes.md'
	says '!! .env'
	try 'sh tests/run || echo "the tests fail"'
	says 'the tests fail'
	tell
	tell "Somebody is asked to mend it, and has the shell:"
	tell
	try 'cat ~/agent.sh'
}

# The command without guard, on a copy of this home directory.
wreck_twin() {
	cp -a "$HOME" "$scratch/twin"
	HOME=$scratch/twin sh "$scratch/twin/agent.sh" >/dev/null 2>&1
	sh -c 'cd "$1" && sh tests/run' sh "$scratch/twin/projects/greeter" \
		>/dev/null || die "the agent has not mended the copy"
}

step_run() {
	chapter "Its command, with guard in front"
	try 'guard run -- sh ~/agent.sh'
	ends_with 0
	says 'the tests pass'
	says 'All done!'
	tell
	same home "$HOME" "all $files files of the home are as they were, \
to the byte"
	try 'ls; cat README.md'
	says 'Rewritten all morning.'
}

# A letter and a path per line, for each change in the copy.
expected_changes() (
	list() {
		cd "$1"
		find . -path ./.local -prune -o -path '*/.git/*' -prune -o \
			! -type d -print | sort
	}
	list "$HOME" >"$scratch/old"
	list "$scratch/twin" >"$scratch/new"
	cd "$HOME"
	comm -23 "$scratch/old" "$scratch/new" | sed 's/^/D /'
	comm -13 "$scratch/old" "$scratch/new" | sed 's/^/A /'
	comm -12 "$scratch/old" "$scratch/new" | while IFS= read -r path; do
		[ -L "$path" ] || cmp -s "$path" "$scratch/twin/$path" ||
			printf 'M %s\n' "$path"
	done
)

# The same from guard, with ~/projects/greeter before the project's paths.
listed_changes() (
	cd "$HOME"
	guard -C projects/greeter diff -z | tr '\n\0' '?\n' |
		while IFS= read -r letter && IFS= read -r path; do
			case $path in
			'~/'*) path=./${path#'~/'} ;;
			.git | .git/*) continue ;;
			*) path=./projects/greeter/$path ;;
			esac
			path=${path%/}
			if [ "$letter" = D ] && [ -d "$path" ] &&
				[ ! -L "$path" ]; then
				find "$path" ! -type d | sed 's/^/D /'
			elif [ -L "$path" ] || [ ! -d "$path" ]; then
				printf '%s %s\n' "$letter" "$path"
			fi
		done
)

step_review() {
	chapter "What did it do?"
	try 'guard status'
	ends_with 0
	says 'sh '
	try 'guard diff --stat'
	ends_with 0
	for path in notes.md .env docs/guide.md data/customers.db README.md \
		src/greet.sh chapters/1.md '~/photos'; do
		says "$path"
	done
	expected_changes | sort >"$scratch/expected"
	listed_changes | sort -u >"$scratch/listed"
	diff "$scratch/expected" "$scratch/listed" ||
		die "guard diff does not name what the agent does (< it does)"
	good "each of the $(wc -l <"$scratch/expected") changes is named, \
and no other: the same script did the same to a copy"
	try 'guard diff src/greet.sh'
	ends_with 0
	says '-echo "Helo, ${1:-world}!"'
	says '+echo "Hello, ${1:-world}!"'
	says_not 'Rewritten all morning'
}

step_apply() {
	chapter "Take the good part, drop the rest"
	try 'guard apply -y src/greet.sh'
	ends_with 0
	differences home "$HOME" | cut -c 1 | sort | uniq -c |
		tr -s ' \n' ' ' >"$scratch/differences"
	# The file's line of the list and its line of the hashes, before and
	# after.
	[ "$(cat "$scratch/differences")" = ' 2 < 2 > ' ] || {
		differences home "$HOME"
		die "more than src/greet.sh has changed"
	}
	cmp src/greet.sh "$scratch/twin/projects/greeter/src/greet.sh" ||
		die "src/greet.sh is not what the agent made"
	[ "$(stat -c %a src/greet.sh)" = 755 ] || die "the mode is lost"
	good "src/greet.sh is the agent's, all else is as it was"
	try 'sh tests/run'
	ends_with 0
	try 'guard discard -y'
	ends_with 0
	try 'guard status'
	ends_with 0
	says_not 'agent.sh'
	try 'git status --short --ignored'
	says '?? notes.md'
	says '!! .env'
	says ' M src/greet.sh'
	git fsck --no-progress --strict >/dev/null 2>&1 ||
		die "the repository is damaged"
	good "nothing waits any more, the unsaved work is still there"
	remember home "$HOME"
}

step_one_file() {
	chapter "Any file, as it was"
	time=$(stat -c %y .)
	try 'rm notes.md'
	try 'guard log notes.md'
	ends_with 0
	try 'guard restore -y notes.md'
	ends_with 0
	touch -d "$time" . # rm has changed it
	same home "$HOME" "it is back, with its time and attributes"
}

step_snapshot() {
	chapter "A snapshot by hand"
	try 'echo "One thought more." >>notes.md'
	try 'guard snapshot -m "before lunch"'
	ends_with 0
	time=$(stat -c %y .)
	remember project "$HOME/projects/greeter"
	try 'guard log'
	ends_with 0
	says 'before lunch'
}

# The only unguarded wipe. Check once more that this is the throw-away root.
step_wipe() {
	chapter "The worst day: without guard, the whole home"
	cd /
	refuse_elsewhere
	lines=5
	try 'rm -rf ~'
	lines=200
	try 'ls -A ~'
	for path in projects photos .bashrc agent.sh; do
		[ ! -e "$HOME/$path" ] || die "the home is not wiped: no test"
	done
}

step_back() {
	chapter "And back"
	try 'guard log ~/projects/greeter'
	ends_with 0
	says 'before lunch'
	lines=12
	try 'guard restore -y ~/projects/greeter'
	lines=200
	ends_with 0
	touch -d "$time" ~/projects/greeter # made anew: its own time is new
	same project "$HOME/projects/greeter" "all of the project is back, \
to the byte: contents, modes, links, times, attributes"
	try 'cd ~/projects/greeter'
	try 'git log --oneline --all'
	says 'Keep an idea'
	try 'git status --short --ignored'
	says '?? notes.md'
	says 'M  docs/guide.md'
	says '!! data/'
	git fsck --no-progress --strict >/dev/null 2>&1 ||
		die "the repository is damaged"
	try 'sh tests/run'
	ends_with 0
}

chapter "guard, shown as $(id -un) in a throw-away root"
make_home
wreck_twin
remember home "$HOME"
step_look
step_run
step_review
step_apply
step_one_file
step_snapshot
step_wipe
step_back
chapter "The demo holds as $(id -un): $count comparisons, every byte."
