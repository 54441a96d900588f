# shellcheck shell=sh
# A terminal of tmux for guard's full screen. Sourced behind tap.sh by scripts
# that have checked `needs 'the full screen' tmux`.
#
#	screen COLUMNS ROWS COMMAND	starts it in a window of that size
#	keys KEY...			types keys, named as tmux(1) has them, and
#					counts them in $typed
#	shown TEXT			waits for the text; the screen is in $out
#	shows TITLE TEXT		the same as a check
#	drawn FILE			the screen, once it does not change
#	looks TITLE			waits for a screen as the text on stdin
#	cursor_at TITLE X Y		waits for the cursor in that cell
#	left STATUS TITLE		the command has ended
#	close_screen			ends the terminal
# A screen is drawn from the top in several pieces: when one text is there,
# another one, or the cursor, may still be on its way. So each is waited for.
# shellcheck disable=SC2154 # variables of tap.sh

# \flunk is no alias: a failed check prints the line of its caller.
screens=0
typed=0

tm() {
	tmux -S "$T/tmux$screens" -f /dev/null "$@"
}

screen() {
	screens=$((screens + 1))
	typed=0
	tm new-session -d -x "$1" -y "$2" "$3; echo \"status \$?\" >'$T/status'; \
		echo the end of it; cat"
}

# becomes COMMAND... - waits until the command succeeds with the screen in $out
becomes() {
	until=$(($(date +%s) + 20))
	while tm capture-pane -p >"$out" 2>"$err"; do
		! "$@" || return 0
		[ "$(date +%s)" -lt $until ] || break
	done
	return 1
}

shown() {
	becomes grep -qF -- "$1" "$out"
}

drawn() {
	: >"$1"
	until tm capture-pane -p >"$1.now" && cmp -s "$1.now" "$1" &&
		[ -s "$1" ]; do
		mv "$1.now" "$1"
		sleep 0.2
	done
}

shows() {
	if shown "$2"; then
		pass "$1"
	else
		\flunk "$1"
		note "wanted: $2"
		show_output
	fi
}

keys() {
	typed=$((typed + $#))
	tm send-keys "$@"
}

# The server and the processes on its terminal have ended afterwards.
close_screen() {
	ending=$(tm display-message -p '#{pid} #{pane_pid}')
	tm kill-server
	for ending in $ending; do
		timeout 60 tail -s 0.02 --pid="$ending" -f /dev/null
	done
}

left() {
	shown 'the end of it'
	\is "$(cat "$T/status")" "status $1" "$2"
	close_screen
}

is_wanted() {
	sed 's/ *$//' "$out" >"$T/got"
	cmp -s "$T/wanted" "$T/got"
}

looks() {
	cat >"$T/wanted"
	if becomes is_wanted; then
		pass "$1"
	else
		\flunk "$1"
		diff "$T/wanted" "$T/got" | sed 's/^/#   /'
	fi
}

has_cursor() {
	[ "$(tm display-message -p '#{cursor_x} #{cursor_y}')" = "$1" ]
}

cursor_at() {
	if becomes has_cursor "$2 $3"; then
		pass "$1"
	else
		\flunk "$1"
		note "wanted: $2 $3"
		note "got: $(tm display-message -p '#{cursor_x} #{cursor_y}')"
	fi
}

# shellcheck disable=SC2139 # as in tap.sh
for check in shows looks left cursor_at; do
	alias $check="called_at=\$(cd /-/- 2>&1) $check"
done
