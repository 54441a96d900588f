#compdef guard
# Completion of guard for zsh. The names of verbs and options are held equal
# to what guard says of itself by a test; runs and snapshots are asked for.

_guard_runs() {
	local -a runs
	runs=(${(f)"$(guard status -q 2>/dev/null)"})
	_describe -t runs 'run' runs
}

_guard_snapshots() {
	local -a snapshots
	snapshots=(latest ${(f)"$(guard log --no-pager 2>/dev/null |
		sed -n 's/^\([0-9]*\) .*/\1/p')"})
	_describe -t snapshots 'snapshot' snapshots
}

_guard_trash() {
	local -a snapshots
	snapshots=(${(f)"$(guard undelete -q 2>/dev/null |
		sed -n 's/^\([0-9]*\) .*/\1/p')"})
	_describe -t snapshots 'snapshot' snapshots
}

_guard_runs_and_files() {
	_alternative 'runs:run:_guard_runs' 'files:file:_files'
}

_guard() {
	local context state line
	local -a verbs help yes dry quiet json pager progress at every
	typeset -A opt_args
	verbs=(
		'run:run a command in a layer'
		'exec:run one more command in a run, live or ended'
		'shell:open a shell in a run, live or ended'
		'status:show the pending runs'
		'list:show the pending runs'
		'diff:show a run'\''s changes, or snapshots'
		'review:decide on each change of a run and apply what you accept'
		'apply:apply a run'\''s changes to the real files'
		'commit:apply a run'\''s changes to the real files'
		'discard:discard a run'\''s changes'
		'import:import a run'\''s commits into your repository'
		'undo:undo the last apply, restore, discard or undo'
		'snapshot:store the project as it is now'
		'log:list snapshots, or the versions of a path'
		'find:find a path in the snapshots'
		'grep:search the text of stored files'
		'ls:list a directory of a snapshot'
		'show:print a file of a snapshot'
		'restore:restore stored files'
		'verify:check that the store is intact'
		'prune:remove old snapshots'
		'purge:remove a leaked secret from the store'
		'pin:protect a snapshot from prune'
		'unpin:let prune remove it again'
		'undelete:restore snapshots that prune removed'
		'du:show guard'\''s disk usage'
		'patch:print a run'\''s changes as a patch for git'
		'export:write what a run changed, or a snapshot, as a tar'
		'repair:repair a damaged store'
		'explain:explain how a run would see a path'
		'agents:list the profiles of agents, or show one'
		'doctor:check which layers of protection work here'
	)
	help=('(- *)'{-h,--help}'[show the options]')
	yes=('(-y --yes)'{-y,--yes}'[do not ask]')
	dry=('(-n --dry-run)'{-n,--dry-run}'[change nothing]')
	quiet=('(-q --quiet)'{-q,--quiet}'[print less]')
	json=('--json[print JSON]')
	pager=('--no-pager[do not start a pager]')
	progress=('--progress[how to show it]:how:(auto json)')
	at=('--at[one snapshot]:snapshot:_guard_snapshots')
	every=(
		'--all-versions[every snapshot]'
		'(-a --all)'{-a,--all}'[every project]'
		'(-i --ignore-case)'{-i,--ignore-case}'[either case]'
	)

	_arguments -C \
		'-C[as if started there]:directory:_directories' \
		'(- *)'{-h,--help}'[list the verbs]' \
		'(- *)--version[print the version]' \
		'1:verb:->verb' '*::argument:->rest' && return
	case $state in
	verb)
		_describe -t verbs 'verb' verbs
		;;
	rest)
		case $line[1] in
		run)
			_arguments $help $quiet \
				'-C[the project around]:directory:_directories' \
				'*--ro[let a path be read]:path:_files' \
				'*--rw[let a path be written]:path:_files' \
				'*--cow[a layer over this directory too]:path:_files -/' \
				'*--hide[hide a path]:path:_files' \
				'*--env[pass a variable]:variable:_parameters' \
				'--net[network]:mode:(host private none)' \
				'*--publish[let ports in]:ports:' \
				'--nested[let sandboxes work inside]' \
				'--agent[its profile]:name:(none claude codex gemini opencode aider)' \
				'--share-login[expose your login and settings to the agent]' \
				'--shared-cache[share caches with runs of other projects]' \
				'--timeout[end it after]:time:' \
				'--versions[keep versions that often]:time:' \
				'--pids-limit[processes]:number:' \
				'*--allow[calls]:what:(perf io_uring userfaultfd 32bit)' \
				'*--why[run nothing, explain]:path:_files' \
				'--strict[no network, an empty home, small limits]' \
				'--memory[bytes of memory]:size:' \
				'--cpus[processors]:number:' \
				'--tmp-size[/tmp in memory]:size:' \
				'--user[be somebody else]:uid:_users' \
				'--frozen[in a copy]' \
				'--home[the home directory is the project]' \
				'--layer-size[bytes on disk]:size:' \
				'--layer-files[files on disk]:number:' \
				'--continue=-[work on in a layer]::run:_guard_runs' \
				'*::command:_normal'
			;;
		exec|shell)
			_arguments $help $quiet \
				'-C[start there]:directory:_directories' \
				'*--env[pass a variable]:variable:_parameters' \
				'1:run:_guard_runs' '*::command:_normal'
			;;
		status | list)
			_arguments $help $quiet $json \
				'(-a --all)'{-a,--all}'[every run]' \
				'--porcelain[for programs]'
			;;
		diff)
			_arguments $help $json $pager \
				'--stat[changed lines]' \
				'--name-status[letters and names]' \
				'--name-only[names]' \
				'-z[raw, ended by NUL]' \
				'--exit-code[1 when there are changes]' \
				'--color=-[colours]::when:(auto always never)' \
				'*:run or path:_guard_runs_and_files'
			;;
		review)
			_arguments $help $pager \
				'--color=-[colours]::when:(auto always never)' \
				'*:run or path:_guard_runs_and_files'
			;;
		apply | commit)
			_arguments $help $dry $yes $quiet $json \
				'(-p --patch)'{-p,--patch}'[ask about each hunk]' \
				'--commit[one commit of it]' \
				'--branch[commit it to a branch alone]:branch:' \
				'(-m --message)'{-m,--message}'[of the commit]:text:' \
				'--continue[finish an interrupted one]' \
				'--abort[roll back an interrupted apply]' \
				'(--theirs --merge)--ours[keep yours]' \
				'(--ours --merge)--theirs[take the run'\''s]' \
				'(--ours --theirs)--merge[write markers]' \
				'*--yes-to[agree to one file]:path:_files' \
				'*:run or path:_guard_runs_and_files'
			;;
		discard)
			_arguments $help $yes $quiet \
				'*:run or path:_guard_runs_and_files'
			;;
		import)
			_arguments $help $dry $yes $quiet $json \
				'--ff[then move your branch on]:branch:' \
				'1:run:_guard_runs'
			;;
		undo)
			_arguments $help $dry $yes $quiet \
				'1:number of actions:'
			;;
		snapshot)
			_arguments $help $quiet $json $progress \
				'(-m --message)'{-m,--message}'[note]:text:' \
				'*--tag[a word]:tag:' \
				'*--exclude[leave out]:glob:' \
				'*:directory:_directories'
			;;
		log)
			_arguments $help $json $progress $pager \
				'(-n --number)'{-n,--number}'[lines]:number:' \
				'--actions[what guard did]' \
				'(-a --all)'{-a,--all}'[every project]' \
				'*:path:_files'
			;;
		find)
			_arguments $help $json $progress $at $every '1:name:'
			;;
		grep)
			_arguments $help $json $progress $at $every $pager \
				'(-F --fixed-strings)'{-F,--fixed-strings}'[plain text]' \
				'(-l --files-with-matches)'{-l,--files-with-matches}'[names]' \
				'(-n --line-number)'{-n,--line-number}'[line numbers]' \
				'--color=-[colours]::when:(auto always never)' \
				'1:expression:' '*:path:_files'
			;;
		ls)
			_arguments $help $json \
				'(-l --long)'{-l,--long}'[details]' \
				'-z[raw, ended by NUL]' \
				'1:snapshot:_guard_snapshots' '2:path:_files'
			;;
		show)
			_arguments $help $json $pager \
				'1:snapshot:_guard_snapshots'
			;;
		restore)
			_arguments $help $progress $dry $yes $quiet $json \
				'--at[which version]:when:_guard_snapshots' \
				'--to[into a directory]:directory:_directories' \
				'--overwrite[replace what is there]:how:(always if-changed never)' \
				'--exact[delete files that the snapshot does not have]' \
				'*:path:_files'
			;;
		verify)
			_arguments $help $quiet $json $progress \
				'--read-data[read every byte]' \
				'--sample[read a share]:percent:'
			;;
		prune)
			_arguments $help $dry $yes $quiet $json $progress \
				'--caches[the caches of runs]' \
				'--trash[empty the trash now]' \
				'--keep-last[the newest]:number:' \
				'--keep-within[all younger]:time:' \
				'--keep-hourly[the last of hours]:number:' \
				'--keep-daily[the last of days]:number:' \
				'--keep-weekly[the last of weeks]:number:' \
				'--keep-monthly[the last of months]:number:' \
				'--keep-yearly[the last of years]:number:' \
				'*--keep-tag[all with it]:tag:' \
				'--max-size[the newest that fit]:size:'
			;;
		purge)
			_arguments $help $dry $quiet $json $progress \
				'--confirm[the same path again]:path:_files' \
				'1:path:_files'
			;;
		pin)
			_arguments $help $quiet $json \
				'*:snapshot:_guard_snapshots'
			;;
		unpin)
			_arguments $help $quiet '*:snapshot:_guard_snapshots'
			;;
		undelete)
			_arguments $help $quiet $json \
				'*:snapshot:_guard_trash'
			;;
		patch)
			_arguments $help \
				'*:run or path:_guard_runs_and_files'
			;;
		export)
			_arguments $help '--tar[as a tar archive]' \
				'(-o --output)'{-o,--output}'[into a new file]:file:_files' \
				'*:run or path:_guard_runs_and_files'
			;;
		du)
			_arguments $help $json $progress
			;;
		explain)
			_arguments $help $json '*--ro[as with run]:path:_files' \
				'*--rw[as with run]:path:_files' \
				'*--hide[as with run]:path:_files' \
				'*--cow[as with run]:path:_files -/' \
				'--agent[as with run]:name:' \
				'--strict[as with run]' '*:path:_files'
			;;
		agents)
			_arguments $help $yes $quiet $json \
				'--reset[move its home to the trash]:name:' '1:name:'
			;;
		doctor)
			_arguments $help $json
			;;
		repair)
			_arguments $help $yes $quiet $json $progress
			;;
		esac
		;;
	esac
}

_guard "$@"
