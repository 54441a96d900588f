# shellcheck shell=sh
# The corpus of the comparison consists of worlds: a home and guard's state. Each
# function makes one world with the old program. Home and state are empty before,
# and the current directory is $HOME/project.
#
#	. tests/compare/corpus.sh

world_empty() {
	echo text >file
}

# A pending run with changes of every kind, and an edit by the user since then.
world_pending() {
	crash_project
	crash_run guard
	settle
	crash_edit "$T/text"
}

world_applied() {
	world_pending
	guard apply -q -y
}

# A project with deleted and replaced files, for an exact restore.
world_mess() {
	world_applied
	crash_mess
}

world_discarded() {
	world_pending
	guard discard -q -y
}

# A pending run from which three paths were discarded.
world_parts() {
	world_pending
	guard discard -q -y gone/below/file src/edited made
}

# Snapshots with tags, messages, excludes and a pin, for log, find, grep, diff,
# restore and prune.
world_history() {
	mkdir -p src/deep 'odd
name'
	seq 1 30 >text
	echo 'int frobnicate(void);' >src/main.h
	echo one >src/deep/file
	printf 'binary\000frobnicate\n' >binary
	echo in >'odd
name/file'
	git init -q -b main .
	git add -A
	git commit -q -m one
	guard snapshot -q -m 'the first'
	echo 'int frobnicate(void) { return 1; }' >src/main.c
	sed -i 's/^3$/three/' text
	guard snapshot -q --tag release --tag v1
	mv src/deep/file src/deep/moved
	rm binary
	chmod 600 text
	guard snapshot -q -m 'moved' --exclude '*.log'
	echo 'log' >a.log
	mkdir -p "$HOME/other"
	echo other >"$HOME/other/file"
	guard snapshot -q . "$HOME/other"
	guard run -q -- sh -c 'echo run >src/main.c; echo new >src/new'
	guard apply -q -y
	rm -r src
	guard snapshot -q
	guard pin -q 2
}

# The user edited every file that the run changed: merges and conflicts.
world_conflicts() {
	for name in merge both gone edited mode same kept; do
		seq 1 20 >$name
	done
	mkdir dir blocked
	echo in >dir/file
	echo in >blocked/file
	echo text >type
	# shellcheck disable=SC2016 # of the run
	guard run -q -- sh -ec '
		sed -i "s/^2$/of the run/" merge
		sed -i "s/^5$/of the run/" both
		echo run >>edited; rm gone; echo run >added; chmod 600 mode
		echo both >>same; rm -r dir; rm type; mkdir type; echo in >type/in
		echo run >blocked/file; echo run >alone; rm kept'
	settle
	sed -i 's/^18$/of the user/' merge
	sed -i 's/^5$/of the user/' both
	rm edited
	echo user >>gone
	echo user >added
	chmod 640 mode
	echo both >>same
	echo user >dir/added
	echo user >>type
	mv blocked away
	echo user >blocked
}

# A run that renamed directories and files, one over another.
world_moves() {
	mkdir -p old/sub old/void
	for name in a b c d; do
		seq 1 40 | sed "s/^/$name /" >old/sub/$name
	done
	printf '#!/bin/sh\necho hello from here\n' >old/sub/tool
	seq 1 60 >single
	seq 100 160 >victim
	seq 200 260 >winner
	seq 300 360 >text
	guard run -q -- sh -ec '
		mv old new; echo changed >>new/sub/b; rm new/sub/c
		echo fresh >new/sub/fresh; chmod 755 new/sub/tool
		mv single renamed; mv winner victim; mkdir -p .husky
		mv text .husky/pre-commit; sed -i "s/^330$/other/" .husky/pre-commit'
}

# A run that changed two roots and the home, with unusual file names.
world_cow() {
	mkdir -p kept gone/deep "$HOME/beside/sub" "$HOME/.config/app"
	for file in edited kept/edited gone/x gone/deep/y deleted \
		"$HOME/beside/edited" "$HOME/beside/sub/gone" \
		"$HOME/.config/app/edited" "$HOME/.config/app/gone" \
		"$HOME/.config/no"; do
		echo old >"$file"
	done
	# shellcheck disable=SC2016 # of the run
	guard run -q --cow "$HOME/beside" --env COLOR=red --hide "$HOME/.config/no" \
		-- sh -ec '
		echo new >edited; echo new >kept/edited; rm -r gone deleted
		mkdir -p made/below; echo new >made/below/file; chmod 555 made/below
		chmod 700 .; echo new >"$HOME/beside/edited"; echo new >/tmp/left
		echo new >"$HOME/beside/new"; rm -r "$HOME/beside/sub"
		echo new >"$HOME/.config/app/edited"; rm "$HOME/.config/app/gone"
		echo "alias x=y" >>"$HOME/.bashrc"
		for name in "a b" "-n" "esc\033[2J" "\303\274" "\377" "*"; do
			name=$(printf %b "$name"); echo odd >"./$name"; done'
}

# A run of --home: the home is the project.
world_home() {
	mkdir -p "$HOME/photos" "$HOME/letters" "$HOME/.ssh"
	echo p >"$HOME/photos/1"
	echo l >"$HOME/letters/1"
	echo key >"$HOME/.ssh/id"
	cd "$HOME" || return 1
	guard run -q --home -- sh -ec 'rm -r photos; echo new >letters/new'
}

world_frozen() {
	mkdir dir
	echo old >file
	echo old >dir/file
	guard run -q --frozen -- sh -ec 'echo new >file; rm -r dir; echo new >new'
	settle
	echo user >other
}

# A run that commits, stashes, tags, and changes hooks and configuration of git.
world_git() {
	git config --global user.name tester
	git config --global user.email t@example.org
	git init -q -b main .
	seq 1 20 >work.txt
	seq 1 20 >other.txt
	echo '*.log' >.gitignore
	git add -A
	git commit -q -m one
	git branch side
	# shellcheck disable=SC2016 # of the run
	guard run -q -- sh -ec '
		commit() { echo "$1" >>work.txt; git add work.txt; git commit -q -m "$1"; }
		commit "on main"; git checkout -q -b topic; commit "on topic"
		git tag -a -m "a tag" v1; git tag light
		git checkout -q --detach; commit detached
		echo stash >>work.txt; git stash -q; git checkout -q main
		echo "* filter=x" >.git/info/attributes
		echo "echo evil" >.git/hooks/post-checkout
		git config core.fsmonitor /nowhere/evil
		sed -i s/^3$/three/ other.txt; echo log >a.log; echo new >new'
	settle
	sed -i 's/^18$/of the user/' other.txt
}

# A run that makes a file for each name in a rule of risk_names.c, in the project
# and in the home, and files for the rules about content and modes.
world_risks() {
	seq 1 400 >shrunk
	seq 1 400 >emptied
	echo text >mode
	echo '{"scripts": {"test": "jest"}}' >package.json
	cp "$here/names" names
	# shellcheck disable=SC2016 # of the run
	guard run -q -- sh -ec '
		mkdir in
		for place in in ~; do
			while read -r name; do
				case $place/$name in
				*/*/*) mkdir -p "$place/${name%/*}" 2>/dev/null || :
				esac
				echo "$name" 2>/dev/null >"$place/$name" || :
			done <names
		done
		mkdir -p node_modules/left
		for i in 1 2 3 4 5 6; do echo $i >node_modules/left/$i.js; done
		echo "{\"scripts\": {\"test\": \"jest\", \"postinstall\": \"evil\"},
			\"dependencies\": {\"a\": \"git+https://example.org/a\"}}" \
			>package.json
		printf "a\033[2Jb \342\200\256 c\n" >hidden.c
		printf "int \320\260bc;\n" >alike.c
		printf "binary\000" >text.py; ln -s /etc/passwd link
		ln -s ../.. up; : >emptied; seq 1 10 >shrunk; chmod 666 mode
		echo "#!/bin/sh" >tool; chmod 755 tool; chmod 4755 tool
		printf "\177ELF" >program; mkfifo fifo; echo x >secret.pem
		echo twin >MODE; ln -s in .vscode'
}

# Runs of two agents, one with a shipped profile and one with the user's own.
world_agent() {
	mkdir -p "$HOME/.claude/hooks" "$HOME/.cache/tool" "$HOME/bin" \
		"$HOME/.config/guard/agents"
	printf '#!/bin/sh\neval "$1"\n' >"$HOME/bin/claude"
	cp "$HOME/bin/claude" "$HOME/bin/mine"
	chmod 755 "$HOME/bin/claude" "$HOME/bin/mine"
	echo '{"theme": "dark", "apiKey": "sk-secret", "hooks": {}}' \
		>"$HOME/.claude/settings.json"
	echo 'echo host' >"$HOME/.claude/hooks/stop.sh"
	echo 'Say please.' >"$HOME/.claude/CLAUDE.md"
	printf 'home ~/.mine\ncode ~/.mine/*\nnoise *.tmp\nenv COLOR=red\n' \
		>"$HOME/.config/guard/agents/mine"
	# shellcheck disable=SC2016 # of the run
	guard run -q -- "$HOME/bin/claude" '
		echo "{\"hooks\": {\"Stop\": [{\"command\": \"evil\"}]}}" \
			>~/.claude/settings.json
		echo "{\"mcpServers\": {\"x\": {\"command\": \"evil\"}}}" \
			>~/.claude/.claude.json
		echo evil >>~/.claude/hooks/stop.sh; echo new >new
		echo cached >~/.cache/tool/x; echo "alias x=y" >>~/.bashrc'
	settle
	guard run -q -- "$HOME/bin/mine" 'echo x >~/.mine/a; echo x >b.tmp; echo y >c'
}

# Runs in every state, two of them with changes of the same file.
world_several() {
	seq 1 20 >file
	echo old >other
	guard run -q -- sh -c 'echo one >>file; echo one >other; exit 3'
	guard run -q -- sh -c 'echo two >>file; echo two >new; kill -TERM $$'
	guard run -q -- sh -c 'echo three >applied'
	guard apply -q -y
	guard run -q -- sh -c 'echo four >dropped'
	guard discard -q -y
	mkdir "$HOME/elsewhere"
	guard run -q -C "$HOME/elsewhere" -- sh -c 'echo five >five'
	mkfifo "$T/ready"
	guard run -- sh -c 'echo killed >killed; rm other; echo; sleep 300' \
		>"$T/ready" 2>/dev/null &
	read -r line <"$T/ready"
	rm "$T/ready"
	for dir in /proc/[0-9]*; do
		[ "$(cat "$dir/comm" 2>/dev/null)" != guard ] ||
			kill -KILL "${dir#/proc/}"
	done
	wait
	settle
}

# A secret in snapshots, in layers and in both trashes.
world_secret() {
	mkdir keys
	seq 1000 9000 >keys/id
	echo harmless >keys/readme
	guard snapshot -q
	echo more >>keys/id
	guard snapshot -q
	cp keys/id copy
	guard run -q -- sh -c 'cp copy keys/new; echo x >keys/other'
	guard run -q -- sh -c 'cp copy elsewhere'
	guard discard -q -y
	rm keys/id
	guard snapshot -q
}

# Snapshots in the store's trash.
world_trash() {
	for i in 1 2 3 4 5 6; do
		echo "$i" >file
		guard snapshot -q -m "the $i."
	done
	"$storeact" prune "$state/store" 1
}

# Snapshots of up to 800 days and runs of up to 45 days, for retention and expiry.
world_old() {
	mkdir "$HOME/other"
	for days in 800 500 400 200 100 70 60 41 40 39 20 15 13 5 2 1; do
		seq "$days" 900 >file
		in_days "-$days" snapshot -q -m "$days days ago" \
			--tag "$([ $days -ne 400 ] || echo release)x"
		[ $((days % 20)) -ne 0 ] ||
			in_days "-$days" snapshot -q "$HOME/other" .
	done
	guard pin -q 4
	for days in 45 31 9 8 1; do
		in_days "-$days" run -q -- sh -c "echo $days >run$days"
		settle
		[ $((days % 8)) -ne 1 ] || in_days "-$days" apply -q -y
	done
	at_days 0
}

# A store with a damaged pack and without the file of one snapshot.
world_damaged() {
	for i in 1 2 3 4; do
		seq "$i" 3000 >"file$i"
		guard snapshot -q
	done
	rm file1
	for pack in "$state"/store/packs/*.gpk; do
		[ "$(od -An -tu1 -j10 -N1 "$pack" | tr -d ' ')" = 0 ] || continue
		chmod 600 "$pack"
		printf 'XXXXXXXX' | dd of="$pack" bs=1 seek=200 conv=notrunc
		chmod 400 "$pack"
		break
	done
	chmod 700 "$state/store" "$state/store/snaps"
	rm -f "$state/store/snaps/0000000003.gsn"
	chmod 500 "$state/store/snaps" "$state/store"
}
