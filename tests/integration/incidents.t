#!/bin/sh
# Replays of real accidents: first in guard, where project and home must stay
# the same to the last byte, mode and mtime; then without guard in this
# throw-away root, where the command must destroy something (or the replay
# proves nothing); then restore brings the project back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git -C "$HOME/project" worktree add -q "$HOME/tree" side
echo unsaved >"$HOME/tree/unsaved"
save_home
reset_home
manifest "$HOME" >"$T/home"
manifest "$HOME/project" >"$T/project"
ok 'guard snapshot stores the project' guard -C "$HOME/project" snapshot
base=$(guard -C "$HOME/project" log --json | perl -MJSON::PP -0777 -ne '
	my $l = decode_json($_);
	$l = $l->{snapshots} if ref $l eq "HASH";
	print $l->[0]{seq} // $l->[0]{snapshot} // $l->[0]{id} // 1')
note "base snapshot: $base"

# incident NAME COMMAND [REPAIR]: sh executes the command in the project; REPAIR
# comes before the restore where even the user cannot read the result
incident() {
	name=$1
	guard run -q -- sh -c "$2" >"$out" 2>"$err" </dev/null
	settle
	manifest "$HOME" >"$T/after"
	ok "$name: project and home are unchanged in guard" \
		same "$T/home" "$T/after"
	is "$(others)" '' "$name: no process is left"
	[ -z "$(guard status -q)" ] || guard discard -q -y >"$out" 2>"$err" ||
		flunk "$name: discard drops the run"

	must_be_inside
	sh -c "$2" >"$out" 2>"$err" </dev/null
	cd / || exit 99
	manifest "$HOME" >"$T/after" 2>/dev/null
	no "$name: the command destroys files without guard" \
		contained "$T/home" "$T/after"
	manifest "$HOME/project" >"$T/wrecked" 2>/dev/null
	sh -c "${3:-:}"
	gives 0 "$name: restore is accepted" guard restore -q -y --at "$base" \
		"$HOME/project" "$HOME/project/.git" "$HOME/project/nested/.git"
	manifest "$HOME/project" >"$T/after"
	ok "$name: restore brings back the project" \
		contained "$T/project" "$T/after"
	reset_home
}

incident 'rm -rf of the home' 'rm -rf "$HOME"'
incident 'rm -rf "$UNSET/"*' 'rm -rf "$UNSET$HOME/"*'
incident 'rm -rf of the folder one is in' \
	'T=""; T=$(cd "$T" && pwd -P); rm -rf "$T"'
incident 'moved, then removed' \
	'mkdir new; mv src data new/; cp -r docs new; rm -rf new'
incident 'git reset --hard HEAD~1' 'git reset -q --hard HEAD~1'
incident 'git reset and checkout to unstage' \
	'git reset -q HEAD; git checkout -q -- .'
incident 'git checkout .' 'git checkout -q .'
incident 'git restore' 'git restore --staged --worktree .'
incident 'git clean -fdx' 'git clean -q -fdx'
incident 'git clean -fdx twice forced' 'git clean -q -ffdx'
incident 'git clean -fX' 'git clean -q -fX -- data'
incident 'git stash drop' 'git stash drop -q'
incident 'git stash of all, then clear' 'git stash -q -a; git stash clear'
incident 'orphan branch, rm, clean' \
	'git checkout -q --orphan x; git rm -q -rf .; git clean -q -fd'
incident 'rm -rf .git' 'rm -rf .git'
incident 'a nested .git renamed and cleaned' \
	'mv nested/.git nested/.git.bak; rm -rf nested/.git.bak'
incident 'branches deleted' 'git worktree remove -f ../tree
	git branch -q -D side'
incident 'reflog expired and collected' \
	'git stash drop -q; git reflog expire --expire=now --all
	git gc -q --prune=now'
incident 'worktree remove --force' 'git worktree remove --force ../tree'
incident 'mv * into a missing folder' \
	'for f in *; do mv -f "$f" missing; done'
incident 'truncated by a redirection' 'for f in src/*.c; do : >"$f"; done'
incident 'find -exec truncate' 'find . -type f -exec truncate -s 0 {} +'
incident 'sed -i leaves nothing' 'sed -i d src/*.c README.md'
incident 'line ends of everything' \
	'find src -type f -exec sed -i "s/$/\r/" {} +'
incident 'NULs of the same size, time put back' '
	for f in src/*.c notes.txt; do
		touch -r "$f" /tmp/stamp
		size=$(stat -c %s "$f")
		dd if=/dev/zero of="$f" bs="$size" count=1 conv=notrunc \
			status=none
		touch -r /tmp/stamp "$f"
	done'
incident 'dd over a binary' \
	'dd if=/dev/urandom of=data/blob.bin bs=1k count=4 conv=notrunc status=none'
incident 'lossy decoding' 'perl -MEncode -0777 -pi -e \
	"\$_ = encode(q(UTF-8), decode(q(UTF-8), \$_))" data/blob.bin data/rows.db'
incident 'removal through a link that leads out' \
	'ln -s "$HOME/documents" staging; rm -rf staging/*'
incident 'removal that follows links' \
	'ln -s "$HOME" staging; find -L staging/documents -mindepth 1 -delete'
incident 'written through a link that leads out' \
	'ln -s "$HOME/.bashrc" here; echo gone >here'
incident 'appended to a hard link' \
	'ln "$HOME/documents/photo.raw" photo; echo x >>photo; echo x >>src/f3-again.c'
incident 'rsync --delete from an empty folder' \
	'rsync -a --delete --exclude=/empty empty/ ./'
incident 'chmod -R 000' 'chmod -R 000 src data .git' \
	'chmod -R u+rwX "$HOME/project"'
incident 'a folder becomes a link' 'rm -rf data; ln -s /nowhere data'
incident 'the only backup' 'find . -name "*.db" -delete; rm -f .env'
incident 'rmtree of a library' \
	'perl -MFile::Path=remove_tree -e "remove_tree(q(src), qq(\$ENV{HOME}/.config))"'
incident 'a wiper' 'find "$HOME" -type f -exec shred -n 1 -u {} +'
incident 'git config that executes' \
	'git config core.fsmonitor /tmp/x; printf "#!/bin/sh\n" >.git/hooks/pre-commit
	chmod +x .git/hooks/pre-commit; printf "* filter=x\n" >.gitattributes
	git rm -q --cached run.sh'
finish
