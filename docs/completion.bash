# Completion of guard for bash. The names of verbs and options are held equal
# to `guard --options` by a test; runs and snapshots are asked for.
_guard() {
	local cur prev verb i words
	local -r verbs='run exec shell status list diff review apply commit discard import undo
		snapshot log find grep ls show restore verify prune purge pin unpin undelete du patch
		export repair doctor explain agents'

	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	verb=
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
	COMPREPLY=()
	if [[ -z $verb ]]; then
		if [[ $prev == -C ]]; then
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		else
			words="$verbs -C --help --version"
			mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		fi
		return
	fi
	case $prev in
	--allow)
		mapfile -t COMPREPLY < <(compgen -W 'perf io_uring userfaultfd 32bit' -- "$cur")
		return
		;;
	--agent)
		words="none $(guard agents 2>/dev/null |
			sed -n 's/^\([A-Za-z0-9._-]*\) .*/\1/p')"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	--net)
		mapfile -t COMPREPLY < <(compgen -W 'host private none' -- "$cur")
		return
		;;
	--to | -C)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--progress)
		mapfile -t COMPREPLY < <(compgen -W 'auto json' -- "$cur")
		return
		;;
	--overwrite)
		words='always if-changed never'
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	--at)
		words="latest $(guard log --no-pager 2>/dev/null |
			sed -n 's/^\([0-9]*\) .*/\1/p')"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	-m | --message | --tag | --exclude | -n | --number | --timeout | --versions | \
		--pids-limit | --env | --layer-size | --layer-files | \
		--memory | --cpus | --tmp-size | --user | --publish)
		[[ $prev == -n && $verb != log ]] || return
		;;
	esac
	case $verb in
	run)
		words='-C --ro --rw --cow --hide --env --net --publish --nested --timeout --versions
			--agent --share-login --shared-cache
			--pids-limit --allow --why --strict --memory --cpus
			--tmp-size --user --layer-size --layer-files --frozen --home
			--continue -q --quiet -h --help'
		;;
	exec | shell)
		words='-C --env -q --quiet -h --help'
		;;
	status | list)
		words='-a --all --json --porcelain -q --quiet -h --help'
		;;
	diff)
		words='--stat --name-status --name-only -z --json --exit-code
			--no-pager --color -h --help'
		;;
	review)
		words='--no-pager --color -h --help'
		;;
	apply | commit)
		words='-p --patch --commit --branch -m --message --continue --abort --ours --theirs --merge --yes-to -n --dry-run -y --yes -q --quiet
			--json -h --help'
		;;
	discard)
		words='-y --yes -q --quiet -h --help'
		;;
	import)
		words='--ff -n --dry-run -y --yes -q --quiet --json -h --help'
		;;
	undo)
		words='-n --dry-run -y --yes -q --quiet -h --help'
		;;
	snapshot)
		words='-m --message --tag --exclude -q --quiet --json --progress
			-h --help'
		;;
	log)
		words='-n --number --actions -a --all --json --progress
			--no-pager -h --help'
		;;
	find)
		words='--at --all-versions -a --all -i --ignore-case --json
			--progress -h --help'
		;;
	grep)
		words='--at --all-versions -a --all -i --ignore-case -F
			--fixed-strings -l --files-with-matches -n --line-number
			--json --progress --no-pager --color -h --help'
		;;
	ls)
		words='-l --long -z --json -h --help'
		;;
	show)
		words='--json --no-pager -h --help'
		;;
	restore)
		words='--at --to --overwrite --exact -n --dry-run -y --yes -q --quiet --json --progress
			-h --help'
		;;
	verify)
		words='--read-data --sample --json -q --quiet --progress
			-h --help'
		;;
	prune)
		words='-n --dry-run --caches --trash --keep-last --keep-within
			--keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly
			--keep-tag --max-size -y --yes -q --quiet --json
			--progress -h --help'
		;;
	purge)
		words='--confirm -n --dry-run -q --quiet --json --progress -h --help'
		;;
	pin)
		words='-q --quiet --json -h --help'
		;;
	unpin)
		words='-q --quiet -h --help'
		;;
	undelete)
		words='-q --quiet --json -h --help'
		;;
	patch)
		words='-h --help'
		;;
	export)
		words='--tar -o --output -h --help'
		;;
	du)
		words='--json --progress -h --help'
		;;
	explain)
		words='--ro --rw --hide --cow -C --agent --strict --json -h --help'
		;;
	agents)
		words='--reset -y --yes -q --quiet --json -h --help'
		;;
	doctor)
		words='--json -h --help'
		;;
	repair)
		words='-y --yes -q --quiet --json --progress -h --help'
		;;
	*)
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	case $verb in
	run)
		if [[ $prev == run || $prev == -- ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
		fi
		;;
	exec)
		if [[ $prev == -- ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
		fi
		words=$(guard status -q 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		;;
	diff | review | apply | commit | discard | patch | export)
		words=$(guard status -q 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		;;
	undelete)
		words=$(guard undelete -q 2>/dev/null |
			sed -n 's/^\([0-9]*\) .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	import | shell)
		words=$(guard status -q 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	ls | show | pin | unpin)
		words="latest $(guard log --no-pager 2>/dev/null |
			sed -n 's/^\([0-9]*\) .*/\1/p')"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	esac
	compopt -o filenames
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
}
complete -F _guard guard
