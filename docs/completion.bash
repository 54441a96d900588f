# Completion of guard for bash. The build inserts the table of verbs and options
# (completion.awk).
@verbs@

# Adds what compgen finds for the current word.
_guard_add() {
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@" -- "$cur")
}

# Adds what can stand for a value or an operand: words, and kinds of words.
_guard_complete() {
	local kind
	for kind; do
		case $kind in
		RUN)
			_guard_add -W "$(guard status -q 2>/dev/null)"
			;;
		SNAP)
			_guard_add -W "latest $(guard log --no-pager 2>/dev/null |
				sed -n 's/^\([0-9]*\) .*/\1/p')"
			;;
		TRASH)
			_guard_add -W "$(guard undelete -q 2>/dev/null |
				sed -n 's/^\([0-9]*\) .*/\1/p')"
			;;
		NAME)
			_guard_add -W "$(guard agents 2>/dev/null |
				sed -n 's/^\([A-Za-z0-9._-]*\) .*/\1/p')"
			;;
		CMD)
			if [[ $prev == run || $prev == -- ]]; then
				COMPREPLY=()
				_guard_add -c
			else
				_guard_complete FILE
			fi
			;;
		FILE)
			compopt -o filenames
			_guard_add -f
			;;
		DIR)
			compopt -o filenames
			_guard_add -d
			;;
		VARIABLE) _guard_add -e ;;
		UID) _guard_add -u ;;
		*) _guard_add -W "$kind" ;;
		esac
	done
}

_guard() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verb='' option=$prev key i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-C) ((i++)) ;;
		-*) ;;
		*)
			verb=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	if [[ -z $verb && $prev == -C ]]; then
		_guard_complete DIR
		return
	elif [[ -z $verb ]]; then
		_guard_add -W "${!_guard_options[*]} -C --help --version"
		return
	elif [[ -z ${_guard_options[$verb]-} ]]; then
		return
	fi
	# readline makes a word of the = of --name=value.
	if [[ $cur == = ]]; then
		cur=
		option=$prev=
	elif [[ $prev == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}=
	fi
	for key in "$verb $option" "$verb ${option%=}"; do
		if [[ -n ${_guard_values["$key"]+set} ]]; then
			# shellcheck disable=SC2086 # a list
			_guard_complete ${_guard_values["$key"]}
			return
		fi
	done
	if [[ $cur == -* ]]; then
		_guard_add -W "${_guard_options[$verb]}"
	else
		# shellcheck disable=SC2086 # a list
		_guard_complete ${_guard_operands[$verb]}
	fi
}
complete -F _guard guard
