#!/bin/sh
# What a run changed in the home folder: shown, and taken over by path.
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

# What a tool does to a home when it is used.
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
gives 0 'a run in the home' guard run -- sh "$HOME/use"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")

# --- never by default ---
gives 0 'an apply of the project' guard apply -y "$run" file
is "$(cat file)" edited 'takes the project'
says "$err" 'in your home folder left alone'
says "$err" "guard apply $run ~/PATH"
is "$(cat "$HOME/.tool")" mine 'and nothing of the home'
gives 0 'the run waits on' guard status
says "$out" ' in home  sh '
silent "$out" 'no changes'

# --- by path ---
gives 1 'a path of the home that did not change' \
	guard apply -y "$run" "$HOME/nothing"
gives 0 'a dry run' guard apply -n "$run" "$HOME/.config"
says "$out" '/.config/app/settings'
says "$out" '/.config/app/old/x'
silent "$out" '.profile'
is "$(cat "$HOME/.config/app/settings")" 'a = 1' 'does nothing'
gives 0 'one folder of the home' guard apply -y "$run" "$HOME/.config"
is "$(cat "$HOME/.config/app/settings")" 'a = 2' 'a file was replaced'
is "$(stat -c %a "$HOME/.config/app/settings")" 640 'with its mode'
no 'a folder went' test -e "$HOME/.config/app/old"
is "$(cat "$HOME/.config/new/link")" new 'a new folder came'
is "$(stat -c %a "$HOME/.config/other")" 700 'rights were changed'
is "$(cat "$HOME/.config/other/keep")" keep 'beside what stays'
is "$(cat "$HOME/.tool")" mine 'what was not named stays'
no 'nothing of guard is left over' \
	sh -c 'ls -A "$HOME" | grep -q guard-staging'
gives 0 'taken over, it is no change any more' guard diff --name-only "$run"
silent "$out" '.config'
says "$out" '/.tool'

# --- undo takes it back, restore knows it ---
gives 0 'undo' guard undo -y
is "$(cat "$HOME/.config/app/settings")" 'a = 1' 'the file is back'
is "$(stat -c %Y "$HOME/.config/app/settings")" \
	"$(date -d '2020-01-01 00:00:00' +%s)" 'with its time'
is "$(cat "$HOME/.config/app/old/x")" old 'the folder too'
no 'the new one went' test -e "$HOME/.config/new"
is "$(cat file)" edited 'what was applied before it stays'
gives 0 'undo does it again' guard undo -y
is "$(cat "$HOME/.config/new/link")" new 'all of it'
gives 0 'its versions are known' guard log "$HOME/.config/app/settings"
gives 0 'restore brings a folder back' \
	guard restore -y "$HOME/.config/app/old"
gives 0 'and an older version of a file' \
	guard restore -y --at latest~1 "$HOME/.config/app/settings"
is "$(cat "$HOME/.config/app/settings")" 'a = 1' 'from before the apply'
is "$(cat "$HOME/.config/app/old/x")" old 'as it was'
is "$(cat "$HOME/.config/new/link")" new 'and nothing else'
is "$(cat "$HOME/.config/other/keep")" keep 'nothing that was not stored'
gives 0 'nobody takes the rest of the home for deleted' \
	guard restore -y --exact "$HOME/.config"
is "$(cat "$HOME/.config/other/keep")" keep 'it is all there'
gives 0 'an older state of a project in the home is found' \
	guard restore -n --at latest file

# --- what nobody wants to decide on ---
gives 0 'a run that leaves a history' guard run -- sh -c \
	'echo x >~/.python_history; mkdir -p ~/.cache/tool; : >~/.cache/tool/y'
says "$err" 'changed nothing but caches and histories in your home folder'
is "$(guard status -q | head -n 1)" "$run" 'closes itself'
gives 0 'one that leaves more' guard run -- sh -c \
	'echo x >~/.python_history; echo x >~/.other'
says "$err" '1 change in your home folder'
gives 0 'is asked about' guard discard -y

# --- both at once: all or nothing ---
echo 'echo two >file; echo two >~/.tool; echo x >~/.fresh' >"$HOME/both"
gives 0 'a run in both' guard run -- sh "$HOME/both"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
gives 0 'project and home in one' \
	guard apply -y "$run" . "$HOME/.tool" "$HOME/.fresh"
is "$(cat file) $(cat "$HOME/.tool") $(cat "$HOME/.fresh")" 'two two x' \
	'both are applied'
gives 0 'then it does not wait any more' guard status
silent "$out" "$run"
gives 0 'and undo' guard undo -y
is "$(cat file) $(cat "$HOME/.tool")" 'edited mine' 'takes both back'
no 'what was new goes' test -e "$HOME/.fresh"

# --- what the user did meanwhile ---
cat >"$HOME/slow" <<'END'
echo run >~/.profile
echo run >~/.tool
rm -r ~/.config/other
echo run >~/.made
END
gives 0 'a run' guard run -- sh "$HOME/slow"
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
echo user >"$HOME/.profile"
echo user >"$HOME/.config/other/user"
echo user >"$HOME/.made"
gives 1 'an edit of the user is a conflict' \
	guard apply -y "$run" "$HOME/.profile" "$HOME/.tool"
says "$err" "'~/.profile': changed since the run began"
is "$(cat "$HOME/.profile") $(cat "$HOME/.tool")" 'user mine' \
	'and nothing was applied'
gives 1 'also one with a file of the project' \
	guard apply -y "$run" "$HOME/.profile" .
gives 1 'also in a folder that goes' \
	guard apply -y "$run" "$HOME/.config/other"
is "$(cat "$HOME/.config/other/user" "$HOME/.config/other/keep")" \
	'user
keep' 'nothing went'
gives 1 'also a file that both made' guard apply -y "$run" "$HOME/.made"
is "$(cat "$HOME/.made")" user 'the user has his own'
gives 0 'what was not touched is taken' guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" run 'as the run left it'
gives 0 '--theirs takes the others' \
	guard apply -y --theirs "$run" "$HOME/.profile"
is "$(cat "$HOME/.profile")" run 'over the edit'
gives 0 'which undo' guard undo -y
is "$(cat "$HOME/.profile")" user 'brings back'

# --- a run that goes on over what was taken ---
gives 0 'it goes on' guard run --continue "$run" -- sh -c \
	'cat ~/.tool; echo more >>~/.tool'
gives 0 'what guard put there is no edit of the user' \
	guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" 'run
more' 'and is replaced'

# --- the clock was set back since the run began ---
gives 0 'a run' guard run -- sh -c 'echo clock >~/.tool'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
record=$state/runs/$run/record
cp "$record" "$T/record"
ok 'it has noted the clock' grep -q '^clock=[-0-9a-f]* [0-9]*$' "$record"
sed -i "s/^\(clock=.* \)[0-9]*$/\1$(($(date +%s) + 3600))/" "$record"
gives 1 'what may have been changed since is not replaced' \
	guard apply -y "$run" "$HOME/.tool"
says "$err" "'~/.tool': changed since the run began"
cp "$T/record" "$record"
sed -i -e 's/^clock=[^ ]*/clock=another-start/' \
	-e "s/^began=.*/began=$(($(date +%s) + 3600)).0/" "$record"
gives 1 'nor where the clock is before the start' \
	guard apply -y "$run" "$HOME/.tool"
says "$err" "'~/.tool': changed since the run began"
cp "$T/record" "$record"
gives 0 'with a clock that goes on it is' guard apply -y "$run" "$HOME/.tool"
is "$(cat "$HOME/.tool")" clock 'as the run left it'

finish
