# shellcheck shell=sh
# Edits of the user between a kill or failure and the next command, for
# tests/integration/crash.t: no text of the user is lost after any of the next
# commands, and everything else is as before or as after.
#
#	. tests/crash/edits.sh		after lib.sh
#	edits_choose WISH VERB		chooses the edits: "yes", or
#					EDIT/NEXT/EARLIER of the kinds below
#	edits_before			starts; for a verb that continues an
#					interrupted one it makes an earlier edit
#	edits_make $edit		makes the edit
#	judge_edits VERB		executes the next command and checks
#					the result
#
# shellcheck disable=SC2154 # of crash.t and tap.sh

EDITS=15
NEXTS=7

file_of() {
	case $1 in
	1 | 6) echo edited ;;
	2 | 8 | 11) echo deep ;;
	3 | 9) echo text ;;
	*) echo "$1" ;;
	esac
}

edits_choose() {
	next $EDITS
	edit=$number
	# The changes of a pending run depend on the present project.
	case $2 in
	discard | bring | empty | drop | regain) edit=15 ;;
	esac
	next $NEXTS
	next_command=$number
	next $EDITS
	earlier=$number
	# The user does not discard an own edit.
	while [ "$(file_of $earlier)" = "$(file_of "$edit")" ]; do
		earlier=$((earlier % EDITS + 1))
	done
	[ "$1" = yes ] || {
		edit=${1%%/*} next_command=${1#*/} earlier=${1##*/}
		next_command=${next_command%/*}
	}
	point="$point, edits $edit/$next_command/$earlier"
}

# The texts and modes that the user set, and parts of the names of the edited
# entries.
edits_before() {
	: >"$T/written"
	: >"$T/mode"
	: >"$T/worked-on"
	case $1 in
	finish | back) edits_make "$earlier" ;;
	esac
}

# wrote PATH: appends to the file, or creates it where that is possible
wrote() {
	words="mine-$points-$(wc -l <"$T/written")"
	echo "$words" 2>/dev/null >>"$1" || return 0
	echo "$words" >>"$T/written"
}

worked_on() {
	for name in "$@"; do
		echo "$name" >>"$T/worked-on"
	done
}

edits_make() {
	case $1 in
	1) worked_on src/edited src/other-name
		wrote src/edited ;;
	2) worked_on src/deep/edited
		[ ! -f src/deep/edited ] || {
			cp src/deep/edited src/deep/edited~
			wrote src/deep/edited~
			mv -f src/deep/edited~ src/deep/edited
		} ;;
	3) worked_on text
		rm -f text ;;
	4) worked_on made
		[ -e made ] || wrote made
		[ ! -d made/below ] || wrote made/below/file ;;
	5) worked_on src other-src
		[ -e other-src ] || mv src other-src 2>/dev/null ;;
	6) worked_on src/edited src/other-name
		rm -f src/edited
		mkdir src/edited 2>/dev/null && wrote src/edited/in ;;
	7) worked_on both elsewhere
		[ -e elsewhere ] || {
			mv both elsewhere && ln -s elsewhere both
		} 2>/dev/null
		wrote elsewhere/x ;;
	8) worked_on src/deep/edited
		chmod 640 src/deep/edited 2>/dev/null &&
			echo 640 >"$T/mode" ;;
	9) worked_on text
		wrote text ;;
	10) worked_on gone
		mkdir -p gone/below 2>/dev/null && {
			wrote gone/below/file
			wrote gone/added
		} ;;
	11) worked_on src/deep/edited
		[ -f src/deep/edited ] && exec 7>>src/deep/edited ;;
	12) worked_on to-link to-folder
		wrote to-link.new
		mv -f to-link.new to-link 2>/dev/null
		[ -d to-folder ] || rm -f to-folder
		mkdir -p to-folder && wrote to-folder/file ;;
	13) worked_on made/below/n
		[ ! -d made ] || {
			rm -f made/below/n1
			wrote made/below/n2
			wrote made/below/new
		} ;;
	14) worked_on odd name
		rm -rf 'odd
name' ;;
	15) worked_on beside
		wrote beside ;;
	esac
}

edits_next() {
	case $1 in
	1) guard status ;;
	2) guard apply --continue ;;
	3) guard apply --abort ;;
	4) guard apply -q -y ;;
	5) guard undo -q -y ;;
	6) guard restore -q -y --at "$first" shut ;;
	7) guard snapshot -q ;;
	esac >"$out" 2>"$err" </dev/null
}

# still_there VERB WHEN: every text of the user is in the project, or was stored
# before the user's own command VERB replaced it.
still_there() {
	while read -r words; do
		grep -rqs "$words" . || {
			[ "$1" = restore ] &&
				guard grep -lF "$words" >/dev/null 2>&1
		} || bad "$2: '$words' is lost"
	done <"$T/written"
	[ ! -s "$T/mode" ] || [ "$1" = restore ] ||
		[ "$(find . -perm "$(cat "$T/mode")")" ] ||
		bad "$2: the rights that he gave are lost"
}

# The entries that were not edited. A change of mtime only is not applied a
# second time after an undo.
untouched_by_him() {
	grep -v -F -e .guard-kept- -f "$T/worked-on" "$1" |
		grep -v -e '^# file' -e '^user\.' -e '^$' |
		sed -e 's/^\(d [0-9]* [0-9:]*\) [0-9.]* /\1 - /' \
			-e 's/ [0-9.]* both\/x / - both\/x /' |
		LC_ALL=C sort
}

# 0: as before, 1: as after, 2: neither
edits_side() {
	look "$T/is"
	untouched_by_him "$T/is" >"$T/is.rest"
	untouched_by_him "$T/$1.before" >"$T/before.rest"
	untouched_by_him "$T/$1.after" >"$T/after.rest"
	cmp -s "$T/is.rest" "$T/before.rest" && return 0
	cmp -s "$T/is.rest" "$T/after.rest" && return 1
	diff "$T/is.rest" "$T/before.rest" | head -n 10 | cat -v |
		sed 's/^/# before: /'
	diff "$T/is.rest" "$T/after.rest" | head -n 10 | cat -v |
		sed 's/^/# after: /'
	return 2
}

# The command succeeded, or was refused with a reason.
said_why() {
	case $1 in
	0) ;;
	1) [ -s "$err" ] || bad "$2: refused without a word" ;;
	*) bad "$2: status $1" ;;
	esac
}

# Executes the next command and then completes the actions that it started.
judge_edits() {
	edits_next "$next_command"
	said_why $? 'the next guard command'
	[ ! -e /proc/self/fd/7 ] || {
		words="mine-$points-open"
		echo "$words" >&7
		echo "$words" >>"$T/written"
		exec 7>&-
	}
	still_there '' 'after the next command'
	if [ $((points % 2)) -eq 0 ]; then
		guard apply --continue >"$out" 2>"$err"
	else
		guard apply --abort >"$out" 2>"$err"
	fi
	said_why $? 'an end to it'
	guard status >"$out" 2>"$err" || bad 'no status afterwards'
	! grep -q interrupted "$err" || bad 'it has no end'
	[ -z "$(ls -d .guard-staging-* 2>/dev/null)" ] ||
		bad 'a staging folder is left'
	still_there '' 'at the end'
	edits_side "$1"
	is_now=$?
	[ $is_now -ne 2 ] || bad 'neither before nor after'
	if [ $is_now -eq 0 ]; then
		befores=$((befores + 1))
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_verb "$1") >"$out" 2>"$err" </dev/null
		said_why $? 'once more'
		still_there "$1" 'done once more'
	else
		afters=$((afters + 1))
		# shellcheck disable=SC2046,SC2091 # words of a command
		$(crash_revert "$1") >"$out" 2>"$err" </dev/null
		said_why $? 'an undo'
		still_there '' 'after an undo'
	fi
	edits_side "$1"
	[ $? -ne 2 ] || bad 'neither before nor after it'
}
