#compdef guard
# Completion of guard for zsh. The build inserts the table of verbs and options
# (completion.awk).

@verbs@

# _guard_ask KIND WORD ARGUMENTS...: adds WORD, and the first words of the lines
# that guard prints.
_guard_ask() {
	local -a words
	words=($2 ${(f)"$(guard "${@:3}" 2>/dev/null |
		sed -n 's/^\([A-Za-z0-9._-]\{1,\}\).*/\1/p')"})
	_describe -t $1s $1 words
}

# Adds what can stand for a value or an operand: words, and kinds of words.
_guard_complete() {
	local kind
	local -a specs
	for kind; do
		case $kind in
		RUN) specs+=('runs:run: _guard_ask run "" status -q') ;;
		SNAP) specs+=('snapshots:snapshot: _guard_ask snapshot latest log --no-pager') ;;
		TRASH) specs+=('snapshots:snapshot: _guard_ask snapshot "" undelete -q') ;;
		NAME) specs+=('agents:agent: _guard_ask agent "" agents') ;;
		CMD | FILE) specs+=('files:file:_files') ;;
		DIR) specs+=('directories:directory:_directories') ;;
		VARIABLE) specs+=('parameters:variable:_parameters') ;;
		UID) specs+=('users:user:_users') ;;
		*) specs+=("words:word:($kind)") ;;
		esac
	done
	_alternative $specs
}

_guard() {
	local context state line
	typeset -A opt_args
	_arguments -C \
		'-C[as if started there]:directory:_directories' \
		'(- *)'{-h,--help}'[list the verbs]' \
		'(- *)--version[print the version]' \
		'1:verb:_guard_verbs' '*::argument:->rest' && return
	[[ $state != rest ]] || _guard_arguments $line[1]
}

_guard "$@"
