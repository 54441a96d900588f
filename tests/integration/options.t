#!/bin/sh
# Every option of each verb (guard/cli/verbs.txt) is accepted, and each example of
# the man page works as printed there. The tests of the verbs check the meaning
# of options; this script makes sure that none is forgotten: a new one needs a
# value below.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
git config --global user.email t@example.org
git config --global diff.tool none
git config --global difftool.none.cmd true
cd "$HOME/project" || exit 99

# --- the examples of the man page, in their order ---
printf 'all:\n\techo made >made-by-make\n' >Makefile
echo 'frobnicate(1);' >src/main.c
echo data >some.sqlite
until [ "$(guard snapshot 2>"$T/run")" -ge 12 ]; do :; done
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\$ guard //p' \
	/opt/guard/docs/guard.1.in >"$T/examples"
echo 'old(1);' >src/main.c
while read -r example <&3; do
	[ "$example" != 'apply src' ] || guard run -q -- \
		sh -c 'echo new >src/new; echo rest >rest' >"$T/run" 2>&1
	ok "the example works: guard $example" answers "$example" y
done 3<"$T/examples"
is "$(wc -l <"$T/examples")" 10 'the man page has ten examples'
ok 'the example of make was applied' test -e made-by-make
ok 'the example with one directory was applied' test -e src/new
no 'the rest of that run was discarded' test -e rest
is "$(cat src/main.c)" 'frobnicate(1);' \
	'the example of restore brought back an older version'

# --- every option ---
# value OPTION: prints its value; nothing for an option without one
value() {
	case $1 in
	log\ -n | *--number | *--keep-last | *--keep-*ly) echo 3 ;;
	*--ro | *--rw | *--cow | *--hide) echo "$HOME/documents" ;;
	*\ -C) echo src ;;
	*--env) echo A=b ;;
	*--net) echo none ;;
	*--publish) echo 8080 ;;
	*--agent | *--reset) echo claude ;;
	*--allow) echo perf ;;
	*--why) echo src ;;
	*--timeout) echo 90 ;;
	review\ --test) echo true ;;
	*--versions) echo 5m ;;
	*--pids-limit) echo 100 ;;
	*--memory) echo 2g ;;
	*--cpus) echo 1 ;;
	*--tmp-size) echo 64m ;;
	*--user) id -u ;;
	*--layer-size | *--max-size) echo 20G ;;
	*--layer-files) echo 1000 ;;
	*\ -m | *--message | *--tag | *--keep-tag) echo text ;;
	*--exclude) echo '*.o' ;;
	recover\ --at) echo 1 ;;
	*--at) echo latest ;;
	*--from) echo "$T/copies" ;;
	*--machine) uname -n ;;
	*--into) echo "$HOME" ;;
	rewind\ --to) echo start ;;
	*--to) echo "$T/restored" ;;
	*--overwrite) echo always ;;
	*--progress) echo json ;;
	*--sample) echo 50% ;;
	*--keep-within) echo 14d ;;
	*--confirm) echo src/f9.c ;;
	*--ff) echo topic ;;
	*--branch) echo "b$count" ;;
	*--yes-to | *--except) echo run.sh ;;
	run\ --name) echo called ;;
	apply\ --rest) echo 2s ;;
	apply\ --kind) echo 000000 ;;
	diff\ --html) echo "$T/report$count.html" ;;
	stop\ -t | stop\ --time) echo 2s ;;
	diff\ -U | diff\ --unified) echo 1 ;;
	*--moved-from) echo . ;;
	*--passphrase-file) echo "$T/pass" ;;
	export\ -o | *--output) echo "$T/tar$count" ;;
	esac
}

# rest VERB OPTION: prints further arguments that make it do something
rest() {
	case $1\ $2 in
	run\ --continue) echo '-q -- true' ;;
	run\ --home) echo '-q -C .. -- true' ;;
	run\ *) echo '-q -- true' ;;
	exec\ --json) echo '--all -- true' ;;
	exec\ --shell) echo "-q $run" ;;
	exec\ *) echo "-q $run -- true" ;;
	mark\ --prompt) ;;
	mark\ *) echo 'text' ;;
	stop\ --snapshot) ;;
	stop\ *) echo "$run" ;;
	apply\ --continue | apply\ --abort | apply\ -n | apply\ --dry-run) ;;
	apply\ -p | apply\ --patch) ;;
	apply\ --follow) echo '-y' ;;
	apply\ --rest) echo '-y --follow' ;;
	apply\ -m | apply\ --message) echo '-n -y --branch other' ;;
	apply\ *) echo '-n -y' ;;
	discard\ -n | discard\ --dry-run) echo latest ;;
	discard\ *) echo '-y' ;;
	rewind\ --to) echo '-y' ;;
	rewind\ -n | rewind\ --dry-run) echo '--to start' ;;
	rewind\ *) echo '-y --to start' ;;
	undo\ *) echo '-y 1' ;;
	redo\ *) echo '-y' ;;
	import\ --ff) echo "-n $run" ;;
	import\ *) echo "-n -y $run" ;;
	export\ --tar) echo "$run" ;;
	export\ *) echo "--tar $run" ;;
	snapshot\ *) echo '-q' ;;
	log\ --machine | log\ --passphrase-file) echo "--from $T/copies" ;;
	restore\ --machine | restore\ --passphrase-file)
		echo "-n -y --from $T/copies src"
		;;
	recover\ * | verify\ --passphrase-file) echo "$T/copies" ;;
	log\ --find | log\ --ignore-case | log\ -i | log\ --at | log\ --all-versions) echo '--find f1.c' ;;
	grep\ *) echo f1 ;;
	show\ *) echo 1 ;;
	restore\ *) echo '-n -y src' ;;
	explain\ --hidden) ;;
	explain\ *) echo src ;;
	pin\ *) echo 1 ;;
	prune\ --undo) echo -q ;;
	backup\ --forget) echo "$HOME/usb" ;;
	backup\ --passphrase-file) echo "$HOME/usb" ;;
	backup\ --keep-last) echo "--prune -n $HOME/usb" ;;
	backup\ --sheet) echo "$T/copies" ;;
	backup\ --prune) echo "-n $HOME/usb" ;;
	backup\ *) echo "--passphrase-file $T/pass $HOME/usb" ;;
	verify\ -y | verify\ --yes) echo '-q --repair' ;;
	verify\ --repair) echo '-y -q' ;;
	verify\ --moved-from) echo --repair ;;
	prune\ *) echo '-n -q' ;;
	purge\ --confirm) echo src/f9.c ;;
	purge\ --everything) echo '-q -n' ;;
	purge\ *) echo '-n src/f9.c' ;;
	agents\ --json) ;;
	agents\ --undo) echo '-y claude' ;;
	agents\ --reset) echo '-y -q' ;;
	agents\ *) echo '-y --reset claude' ;;
	esac
}

# wants VERB OPTION: prints the expected status unless it is 0
wants() {
	case $1\ $2 in
	run\ --publish | run\ --share-login) echo 125 ;;
	run\ --user) [ "$me" = root ] && echo 0 || echo 125 ;;
	mark\ *) echo 1 ;; # no run is running
	stop\ --resume | stop\ --snapshot | diff\ --exit-code) echo 1 ;;
	apply\ --abort | apply\ -p | apply\ --patch) echo 1 ;;
	backup\ --prune | backup\ --keep-last) echo 1 ;; # it is forgotten
	backup\ --sheet) echo 1 ;; # no terminal
	recover\ -n | recover\ --dry-run) echo 0 ;;
	recover\ *) echo 1 ;; # this machine has snapshots
	apply\ --kind) echo 1 ;; # there is no such kind
	apply\ --follow | apply\ --rest) echo 1 ;; # the run has ended
	*) echo 0 ;;
	esac
}

# Creates a run with every kind of change, and an agent's home, when the last
# ones are gone.
need_run() {
	[ "$verb" != agents ] || guard run -q --agent claude -- \
		sh -c 'echo x >~/.claude/x' >"$T/run" 2>&1 </dev/null
	run=$(guard status -q | head -n 1)
	[ -z "$run" ] || return 0
	guard run -q -- sh -c 'git checkout -q -b topic
		echo "f1 f9" >made; git add made; git commit -q -m made' \
		>"$T/run" 2>&1 </dev/null
	run=$(guard status -q | head -n 1)
}

guard snapshot -q >"$T/first"
destination 1 "$HOME/usb"
destination 2 "$T/copies"
echo 'a long passphrase' >"$T/pass"
ok 'a backup is made' guard backup --passphrase-file "$T/pass" "$T/copies"
awk -F '\t' '
	$1 == "verb" { print $2 "\t-h"; print $2 "\t--help" }
	$1 == "option" && $3 != "" { print $2 "\t-" $3 }
	$1 == "option" && $4 != "" { print $2 "\t--" $4 }' \
	/opt/guard/build/docs/table >"$T/all"
count=0
tab=$(printf '\t')
while IFS="$tab" read -r verb option <&3; do
	count=$((count + 1))
	case $option in
	-h | --help)
		guard "$verb" "$option" >"$out" 2>"$err" </dev/null ||
			echo "$verb $option fails" >>"$T/bad"
		grep -qe "$option" "$out" ||
			echo "$verb $option tells nothing" >>"$T/bad"
		continue
		;;
	esac
	need_run
	value=$(value "$verb $option")
	wanted=$(wants "$verb" "$option")
	# shellcheck disable=SC2046 # words
	guard "$verb" "$option" ${value:+"$value"} $(rest "$verb" "$option") \
		>"$out" 2>"$err" </dev/null
	got=$?
	[ "$got" -eq "$wanted" ] || {
		echo "$verb $option $value: $got, not $wanted"
		head -n 3 "$err"
	} >>"$T/bad"
	! grep -qF "$verb --help" "$err" || {
		echo "$verb $option $value: not understood"
		head -n 2 "$err"
	} >>"$T/bad"
done 3<"$T/all"
ok 'more than 200 options were tried' test "$count" -gt 200
ok 'every option is accepted' test ! -e "$T/bad"
[ ! -e "$T/bad" ] || sed 's/^/# /' "$T/bad"

finish
