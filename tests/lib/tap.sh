# shellcheck shell=sh
# TAP for shell scripts, and fixtures of guard's integration tests.
#
#	. "${0%/*}/../lib/tap.sh"
#	ok TITLE COMMAND [ARGS]		COMMAND must end with 0
#	no TITLE COMMAND [ARGS]		COMMAND must fail
#	gives STATUS TITLE COMMAND [ARGS]	COMMAND must end with STATUS; its
#						output is in the files $out, $err
#	says FILE TEXT / silent FILE TEXT	FILE must contain TEXT or not
#	is GOT WANTED TITLE			two equal texts
#	needs TITLE TOOL...			whether the tools are installed
#	skip REASON				instead of a check
#	finish					checks for leftovers; prints the
#						plan; last
#
# A title is a sentence that says the expected behavior.
#
# A failed check prints the file and line of its call.
#
# Works only in the throw-away root of tests/lib/root.c: every function that
# destroys something checks that again.

set -u

inside() {
	[ "${GUARD_TEST_ROOT:-}" = 1 ] || return 1
	[ -f /.guard-test-root ] || return 1
	[ "$(cat /.guard-test-root)" = "${GUARD_TEST_OUTSIDE:-}" ] || return 1
	[ "$(readlink /proc/self/ns/mnt)" != "${GUARD_TEST_OUTSIDE%% *}" ] ||
		return 1
	[ "$(stat -c %d:%i /)" != "${GUARD_TEST_OUTSIDE#* }" ] || return 1
}

must_be_inside() {
	inside && return
	echo 'Bail out! not in a throw-away root: start me by tests/lib/root'
	exit 99
}

must_be_inside

# mounts: number, device and place of each mount of the root, without the
# options of file systems, which a remount outside changes.
mounts() {
	cut -d ' ' -f 1,3,5 /proc/self/mountinfo
}

# changed_mounts: the mounts that were added or removed since mounts_before. A
# mount in the machine's directories may be removed: the kernel unmounts it when
# its mount point is replaced outside, such as /etc/group.
changed_mounts() {
	mounts >"$T/mounts"
	grep -vxF "$mounts_before" "$T/mounts" | sed 's/^/left: /'
	printf '%s\n' "$mounts_before" | grep -vxFf "$T/mounts" |
		grep -vE ' /(usr|bin|sbin|lib[^/ ]*|etc|sys)(/[^ ]*)?$' |
		sed 's/^/gone: /'
}

tests=0
failures=0
called_at=
todo=
T=$(mktemp -d /var/tmp/tap.XXXXXX) || exit 99
out=$T/out
err=$T/err
: >"$out"
: >"$err"
me=$(id -un)
mounts_before=$(mounts)
# git needs a name, and would read the machine's settings.
GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=t@example.org
GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=t@example.org
export GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
if [ "$me" = root ]; then
	state=/var/lib/guard
else
	state=$HOME/.local/share/guard
fi

note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
	tests=$((tests + 1))
	echo "ok $tests - $*$todo"
	todo=
}

flunk() {
	tests=$((tests + 1))
	[ -n "$todo" ] || failures=$((failures + 1))
	echo "not ok $tests - $*$todo"
	todo=
	show_line
}

# called_at is an error message of the shell: "FILE: LINE: cd: ...", in bash
# "FILE: line LINE: cd: ...".
show_line() {
	called_line=${called_at#"$0: "}
	called_line=${called_line#line }
	note "at ${0#/opt/guard/}:${called_line%%:*}"
}

show_output() {
	for file in "$out" "$err"; do
		[ ! -s "$file" ] || {
			note "${file##*/}:"
			head -c 3000 "$file" | cat -v | sed 's/^/#   /'
		}
	done
}

ok() {
	what=$1
	shift
	if "$@" >"$T/ok.log" 2>&1 </dev/null; then
		pass "$what"
	else
		flunk "$what"
		note "failed: $*"
		head -c 3000 "$T/ok.log" | cat -v | sed 's/^/#   /'
	fi
}

no() {
	what=$1
	shift
	if "$@" >"$T/ok.log" 2>&1 </dev/null; then
		flunk "$what"
		note "succeeded: $*"
		head -c 3000 "$T/ok.log" | cat -v | sed 's/^/#   /'
	else
		pass "$what"
	fi
}

gives() {
	wanted=$1
	what=$2
	shift 2
	"$@" >"$out" 2>"$err" </dev/null
	got=$?
	if [ "$got" -eq "$wanted" ]; then
		pass "$what"
	else
		flunk "$what"
		note "status $got instead of $wanted: $*"
		show_output
	fi
}

# answers COMMAND ANSWER...: guard on a terminal of script(1), without colors
answers() {
	command=$1
	shift
	printf '%s\n' "$@" | TERM=dumb timeout 60 \
		script -q -e -c "guard $command" /dev/null >"$T/raw" 2>&1
	got=$?
	tr -d '\r' <"$T/raw" >"$out"
	return "$got"
}

says() {
	if grep -qF -- "$2" "$1"; then
		pass "${1##*/} says: $2"
	else
		flunk "${1##*/} says: $2"
		show_output
	fi
}

silent() {
	if grep -qF -- "$2" "$1"; then
		flunk "${1##*/} does not say: $2"
		show_output
	else
		pass "${1##*/} does not say: $2"
	fi
}

# is GOT WANTED TITLE
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		flunk "$3"
		note "got:    $1"
		note "wanted: $2"
	fi
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests # SKIP $*"
}

# needs TITLE TOOL...: whether these tools are installed. tests/install-deps can
# install them on Debian, so a missing one is a failure there.
needs() {
	what=$1
	shift
	for tool; do
		! command -v "$tool" >/dev/null || continue
		if command -v apt-get >/dev/null; then
			flunk "$what: $tool is missing: tests/install-deps check"
		else
			skip "$what: $tool is not installed"
		fi
		return 1
	done
}

# has_image NAME: whether the file system of tests/lib/with-images is mounted.
has_image() {
	[ ! -d "/images/$1" ] || return 0
	why=$(head -n 1 "/images/$1.why" 2>/dev/null)
	case $why in
	*' is not installed') needs "$1" "${why%% *}" ;;
	*) skip "$1: ${why:-only root can mount it}" ;;
	esac
	return 1
}

# holds_layers DIR: whether its file system can hold the layer of a run (tmpfs:
# since Linux 6.6).
holds_layers() {
	: >"$1/probe"
	setfattr -n user.probe -v 1 "$1/probe" 2>/dev/null
	held_layers=$?
	rm "$1/probe"
	return $held_layers
}

# todo REASON: a known defect; the next check is counted, its failure is not.
todo() {
	todo=" # TODO $*"
}

# others: every process except this script, its pid 1, the network's processes
# and the tools of this function. An ended process that is not reaped yet does
# not count.
others() {
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		case $pid in
		1 | $$) continue ;;
		esac
		case " ${GUARD_TEST_NETWORK:-} " in
		*" $pid "*) continue ;;
		esac
		parent=$(parent_of "$pid")
		# the subshells and tools of this very line
		case $parent in
		'' | $$) continue ;;
		esac
		[ "$(parent_of "$parent")" != $$ ] || continue
		name=$(cat "$dir/comm" 2>/dev/null) || continue
		echo "$pid $(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null)($name)"
	done
}

# parent_of PID: nothing if the process has ended with all its threads, or is
# about to (PF_EXITING, bit 2 of the flags).
parent_of() {
	line=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	# shellcheck disable=SC2086 # words, behind the name
	set -- ${line##*) }
	[ "${18}" -le 1 ] && { [ "$1" = Z ] || [ $(($7 & 4)) -ne 0 ]; } ||
		echo "$2"
}

# settle: waits for guard's background processes. The snapshot of a short run
# may outlive it and start others.
settle() {
	while dir=$(grep -ls '^guard' /proc/[0-9]*/comm | head -n 1) &&
		[ -n "$dir" ]; do
		dir=${dir%/comm}
		timeout 60 tail -s 0.02 --pid="${dir#/proc/}" -f /dev/null ||
			break
	done
}

# base_stored RUN: waits until the snapshot that the run began with is stored.
base_stored() {
	flock -s "$state/runs/$1/base.lock" true
}

# destination N DIR: a directory for backups with the guard-copy N (1, 2 or 3) of
# tests/data/destinations. Each use of the passphrase of a new one takes 0.6 s and
# 256 MiB (docs/formats.md); the passphrase of these, "a long passphrase", has the
# parameters of a recovery sheet. words there: those of number 1.
destination() {
	mkdir -p "$2"
	for copy in guard-copy guard-copy.2; do
		install -m 444 "/opt/guard/tests/data/destinations/$1" \
			"$2/$copy"
	done
}

# copy_state FROM TO: copies guard's state into the directory TO, which may exist.
# Instead of its bytes, 256 MB that cp would read and write, the reserve gets
# blocks, as guard gives them to it.
copy_state() {
	must_be_inside
	mkdir -p "$2"
	find "$1" -mindepth 1 -maxdepth 1 ! -name reserve \
		-exec cp -a -t "$2" {} +
	[ ! -f "$1/reserve" ] ||
		fallocate -l "$(stat -c %s "$1/reserve")" "$2/reserve"
	chmod --reference="$1" "$2"
	touch -r "$1" "$2"
}

finish() {
	cd /
	settle
	[ ! -d "$state/store" ] || ok 'the store verifies' guard verify
	is "$(others)" '' 'no process is left'
	is "$(changed_mounts)" '' 'no mount of the test is left'
	echo "1..$tests"
	[ "$failures" -eq 0 ]
	exit $?
}

# manifest DIR: kind, mode, owner, mtime, size, links, content and xattrs of
# every entry, in NUL-terminated lines, without guard's own state.
manifest() {
	(
		cd "$1" || exit 1
		entries() {
			find . -path ./.local/share/guard -prune -o "$@"
		}
		entries \( -type d -printf 'd %m %U:%G %T@ %P\0' \) -o \
			\( -type f -printf 'f %m %U:%G %T@ %P size %s x%n\0' \) \
			-o -printf '%y %m %U:%G %T@ %P -> %l\0' |
			LC_ALL=C sort -z
		entries -type f -print0 | LC_ALL=C sort -z |
			xargs -0 -r sha256sum -z
		entries -print0 | LC_ALL=C sort -z |
			xargs -0 -r getfattr -h -d -m - -- | tr '\n' '\0'
	)
}

# same FILE FILE: whether two manifests are equal.
same() {
	cmp -s "$1" "$2" || {
		tr '\0' '\n' <"$1" >"$1.lines"
		tr '\0' '\n' <"$2" >"$2.lines"
		diff "$1.lines" "$2.lines" | head -n 20
		return 1
	}
}

# restored FILE FILE: whether two manifests are equal but for the mtimes of
# files. Undo and restore give the present time to a replaced file.
restored() {
	for file in "$1" "$2"; do
		sed -z 's/^\(f [0-9]* [0-9:]*\) [0-9.]* /\1 /' "$file" |
			LC_ALL=C sort -z >"$file.timeless"
	done
	same "$1.timeless" "$2.timeless"
}

# contained FILE FILE: whether every line of the first manifest is in the
# second. A restore keeps new entries, and gives the present time to a replaced
# file; therefore mtimes of directories and files and numbers of links are not
# compared.
contained() {
	for file in "$1" "$2"; do
		tr '\0' '\n' <"$file" | sed -e 's/ x[0-9]*$//' \
			-e 's/^\([df] [0-9]* [0-9:]*\) [0-9.]* /\1 /' |
			LC_ALL=C sort >"$file.lines"
	done
	lost=$(LC_ALL=C comm -23 "$1.lines" "$2.lines")
	[ -z "$lost" ] || {
		printf '%s\n' "$lost" | head -n 20
		return 1
	}
}

# make_home: a home with ~/documents and ~/project: two commits, a stash,
# staged, unstaged, untracked and ignored files, a hook, empty directories,
# links, modes, old mtimes, xattrs and unusual names.
make_home() {
	must_be_inside
	mkdir -p "$HOME/documents/letters" "$HOME/.config/tool" \
		"$HOME/.local/share"
	[ "$me" = root ] || mkdir -m 700 "$state"
	echo 'dear all' >"$HOME/documents/letters/one.txt"
	head -c 300000 /dev/urandom >"$HOME/documents/photo.raw"
	echo 'key = value' >"$HOME/.config/tool/config"
	echo 'alias ll="ls -l"' >"$HOME/.bashrc"
	git init -q -b main "$HOME/project"
	cd "$HOME/project" || exit 99
	mkdir -p src/deep/er docs data build empty/er
	printf '*.log\n/build/\n/data/*.db\n.env\n' >.gitignore
	i=0
	while [ $i -lt 20 ]; do
		printf 'int f%d(void)\n{\n\treturn %d;\n}\n' $i $i >src/f$i.c
		i=$((i + 1))
	done
	echo 'deep' >src/deep/er/file
	echo '# Project' >README.md
	printf '#!/bin/sh\necho run\n' >run.sh
	chmod 755 run.sh
	head -c 100000 /dev/urandom >data/blob.bin
	ln -s ../README.md docs/link
	ln -s /nowhere docs/dangling
	git add -A
	git commit -q -m one
	echo 'second' >>README.md
	git commit -q -a -m two
	echo 'stashed' >>src/f0.c
	git stash -q
	git branch side HEAD~1
	echo 'staged' >>src/f1.c
	git add src/f1.c
	echo 'not staged' >>src/f2.c
	echo 'untracked' >notes.txt
	echo 'ignored' >debug.log
	echo 'SECRET=1' >.env
	head -c 5000 /dev/urandom >data/rows.db
	echo 'object' >build/a.o
	ln src/f3.c src/f3-again.c
	mkdir nested
	git init -q -b main nested
	echo nested >nested/file
	git -C nested add file
	git -C nested commit -q -m nested
	printf 'odd' >"$(printf 'odd\nname')"
	touch -d '2001-02-03 04:05:06.789' data/blob.bin docs
	touch -h -d '2002-02-03 04:05:06' docs/link
	chmod 600 data/rows.db
	chmod 750 empty
	setfattr -n user.colour -v red notes.txt 2>/dev/null || :
	cd "$HOME" || exit 99
}

# save_home, reset_home: save the home, and restore it after a command without
# guard.
save_home() {
	must_be_inside
	mkdir -p /var/tmp/saved
	rm -rf "/var/tmp/saved/$me"
	cp -a "$HOME" "/var/tmp/saved/$me"
}

reset_home() {
	must_be_inside
	cd / || exit 99
	find "$HOME" -path "$HOME/.local/share/guard" -prune -o \
		-type d ! -perm -700 -exec chmod u+rwx {} \; 2>/dev/null
	# Not by rsync: it keeps the mtime of a directory when only the
	# nanoseconds differ, and all this may happen within one second.
	find "$HOME" -mindepth 1 -depth ! -path "$HOME/.local" \
		! -path "$HOME/.local/share" \
		! -path "$HOME/.local/share/guard" \
		! -path "$HOME/.local/share/guard/*" -delete 2>/dev/null
	cp -a "/var/tmp/saved/$me/." "$HOME/"
	cd "$HOME/project" || exit 99
}

# The line of a check's call: Debian's dash is built without LINENO, but its
# error messages contain the absolute line of the failing command, in functions
# and loops too. An alias is expanded where a check is called. The assignment
# before a command is executed after $? among the arguments was expanded.
for check in ok no gives says silent is flunk needs has_image \
	finish; do
	alias $check="called_at=\$(cd /-/- 2>&1) $check"
done
