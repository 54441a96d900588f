#!/bin/sh
# The pager and the difftool of the user's own git settings, never of a project.
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
echo old >text
echo data >gone
git add -A
git commit -q -m files
git config core.pager 'echo PROJECT; cat'
git config pager.diff 'echo PROJECT; cat'
git config diff.tool project
git config difftool.project.cmd 'echo PROJECT'
git config difftool.mine.cmd 'echo PROJECT'
# shellcheck disable=SC2016 # of the run
ok 'a run changes texts and the settings of git' guard run -q -- sh -c '
	echo new >text
	rm gone
	echo text >"-q; b\$(touch x).c"
	echo settings >.exrc
	git config core.pager "echo RUN; cat"
	git config difftool.mine.cmd "echo RUN"
	printf "[difftool \"mine\"]\n\tcmd = echo RUN\n" >>~/.gitconfig'

# shown COMMAND: prints what it prints on a terminal
shown() {
	env -u GUARD_PAGER -u PAGER -u GIT_PAGER TERM=dumb "$@" \
		script -q -c 'guard diff text' /dev/null </dev/null
}

# --- the pager ---
shown >"$out"
no 'the pager of a project or run is not started' \
	grep -q -e '^PROJECT' -e '^RUN' "$out"
git config --global core.pager "echo CORE; pwd; git config core.pager; cat"
shown >"$out"
says "$out" CORE
no 'and reads no settings of the project' grep -q '^echo PROJECT' "$out"
is "$(sed -n '2s/\r//p' "$out")" / 'the pager starts outside of the project'
says "$out" '+new'
git config --global pager.diff 'echo OWN; cat'
shown >"$out"
says "$out" OWN
silent "$out" CORE
git config --global pager.diff true
shown >"$out"
says "$out" CORE
git config --global pager.diff false
shown >"$out"
silent "$out" CORE
git config --global --unset pager.diff
shown PAGER='echo PAGER; cat' >"$out"
says "$out" CORE
shown GIT_PAGER='echo VARIABLE; cat' >"$out"
says "$out" VARIABLE
shown GIT_PAGER='echo VARIABLE; cat' GUARD_PAGER='echo GUARD; cat' >"$out"
says "$out" GUARD
git config --global --unset core.pager
shown PAGER='echo PAGER; cat' >"$out"
says "$out" PAGER

# --- the difftool ---
git config --global diff.tool mine
# shellcheck disable=SC2016 # of git
git config --global difftool.mine.cmd \
	'echo "tool $LOCAL $REMOTE"; cat "$LOCAL" "$REMOTE"; stat -c %a "$REMOTE"; pwd >>"$DIRS"'
DIRS=$T/dirs
export DIRS
gives 0 'diff --tool opens the texts in the tool of the user' guard diff --tool
is "$(sed -n '/^tool.*text$/,/^[0-9]/p' "$out")" 'tool old-text new-text
old
new
400' 'the tool gets both sides as read-only files'
says "$out" 'tool /dev/null new-.exrc'
says "$out" 'tool /dev/null new--q__b__touch_x_.c'
no 'no tool of the project or run is started' \
	grep -q -e '^PROJECT' -e '^RUN' "$out"
says "$out" 'D  gone'
is "$(sort -u "$DIRS" | grep -c '^/tmp/guard-diff\.......$')" 4 \
	'each text has a directory of its own outside of the project'
is "$(cd /tmp && ls -d guard-diff.* 2>"$T/none")" '' 'the directories are removed'
git config --global difftool.other.cmd 'echo other'
gives 0 'diff --tool=NAME starts another one' guard diff --tool=other text
is "$(tail -n 1 "$out")" other 'the other tool is started'
gives 1 'an unknown tool is an error' guard diff --tool=nosuch
says "$err" 'the difftool failed'
is "$(grep -c '^+++ ' "$out")" 1 'after an error no other text is opened'
gives 0 'snapshots are compared in the tool, too' guard diff --tool=other 1 text
gives 2 '--ext-diff is answered' guard diff --ext-diff
says "$err" 'use --tool'
finish
