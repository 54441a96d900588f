# Completion of guard for fish. The build inserts the table of verbs and options
# (completion.awk).

# Prints what can stand for a value or an operand: words, and kinds of words.
function __guard_complete
	for kind in $argv
		switch $kind
			case RUN
				guard status -q 2>/dev/null
			case SNAP
				echo latest
				guard log --no-pager 2>/dev/null | string match -r '^[0-9]+'
			case TRASH
				guard undelete -q 2>/dev/null | string match -r '^[0-9]+'
			case NAME
				guard agents 2>/dev/null | string match -r '^[\w.-]+(?= )'
			case DIR
				# Without the name in --name=VALUE.
				__fish_complete_directories (commandline -ct |
					string replace -r "^--[^=]*=" "")
			case VARIABLE
				set -nx
			case UID
				__fish_complete_users
			case '*'
				echo $kind
		end
	end
end

complete -c guard -n __fish_use_subcommand -s C -r -a '(__fish_complete_directories)' -d 'as if started there'
complete -c guard -n __fish_use_subcommand -l version -d 'print the version'
complete -c guard -s h -l help -d 'help'
@verbs@
