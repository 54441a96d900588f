#!/bin/sh
# The tools of a working day, each step natively and in a run: the same exit
# status and the same tree, or a line with the reason in tools.differences.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

differences=${0%/*}/tools.differences
who=$([ "$me" = root ] && echo root || echo user)
GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export GIT_AUTHOR_DATE GIT_COMMITTER_DATE
cat >"$HOME/.gitconfig" <<'END'
[pack]
	threads = 1
[protocol "file"]
	allow = always
[init]
	defaultBranch = main
END
pass="--env GIT_AUTHOR_DATE --env GIT_COMMITTER_DATE --env GIT_AUTHOR_NAME
	--env GIT_COMMITTER_NAME --env GIT_AUTHOR_EMAIL
	--env GIT_COMMITTER_EMAIL --env GIT_CONFIG_NOSYSTEM"

# Runs the step, then prints its status and the tree: kinds, modes, owners,
# names, numbers of hard links, mtimes that were set, bytes. Files that contain
# times or random numbers are listed by name only.
cat >"$T/runner" <<'END'
umask 022
sh "$1" >"$2" 2>&1 </dev/null
echo "status $?"
cd "$HOME/w/project" || exit 1
find . -type f -printf 'f %m %U:%G x%n %P\n' -o \
	-printf '%y %m %U:%G %P -> %l\n' | LC_ALL=C sort
find . ! -newermt '1 day ago' -printf 'old %TY-%Tm-%Td %P\n' | LC_ALL=C sort
find . -type f ! -name index ! -name '*.pyc' ! -name .ninja_log \
	! -name .ninja_deps ! -name '*-wal' ! -name '*-shm' \
	! -path './.git/modules/*/index' ! -name CMakeConfigureLog.yaml \
	! -name CMakeError.log ! -name CMakeOutput.log ! -path '*CMakeScratch*' \
	-print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
END

template() {
	must_be_inside
	rm -rf "$HOME/w"
	mkdir -p "$HOME/w"
	cp -a "$T/template" "$HOME/w/project"
}

git init -q "$T/template"
cd "$T/template" || exit 99
mkdir -p src/deep/er docs
i=0
while [ $i -lt 8 ]; do
	printf 'int f%d(void)\n{\n\treturn %d;\n}\n' $i $i >src/f$i.c
	i=$((i + 1))
done
printf 'int f1(void);\nint main(void)\n{\n\treturn f1() - 1;\n}\n' >src/main.c
printf 'OBJ = $(patsubst %%.c,%%.o,$(wildcard src/*.c))\nprog: $(OBJ)\n\t$(CC) -o $@ $^\nclean:\n\trm -f prog src/*.o\n' >Makefile
printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfile(GLOB s src/*.c)\nadd_executable(prog ${s})\n' >CMakeLists.txt
printf 'deep\n' >src/deep/er/file
printf '*.o\n/prog\n/build/\n' >.gitignore
ln -s ../Makefile docs/link
touch -d '2001-02-03' docs/link Makefile
git add -A
git commit -q -m one
git checkout -q -b side
echo side >>docs/side
git add -A
git commit -q -m side
git checkout -q main
echo '/* main */' >>src/f0.c
git commit -q -a -m two
echo loose >untracked
mkdir twins
echo one >twins/one
ln twins/one twins/two

# step NAME NEEDS: the script on stdin
step() {
	name=$1
	cat >"$T/step"
	# shellcheck disable=SC2086 # a list of words
	needs "$name" $2 || return 0
	template
	cd "$HOME/w/project" || exit 99
	sh "$T/runner" "$T/step" "$T/native.log" >"$T/native"
	template
	cd "$HOME/w/project" || exit 99
	# shellcheck disable=SC2086 # a list of options
	guard run -q $pass --ro "$T/runner" --ro "$T/step" -- \
		sh "$T/runner" "$T/step" /tmp/log >"$T/inside" 2>"$T/err" \
		</dev/null
	reason=$(awk -F '\t' -v name="$name" -v me="$who" \
		'$1 == name && ($2 == "both" || $2 == me) { print $3 }' \
		"$differences")
	if cmp -s "$T/native" "$T/inside"; then
		if [ -z "$reason" ]; then
			pass "$name"
		else
			flunk "$name: is the same now, take it off the list"
		fi
	elif [ -n "$reason" ]; then
		pass "$name: differs, as it must: $reason"
	else
		flunk "$name"
		diff "$T/native" "$T/inside" | head -n 20 | sed 's/^/# /'
		head -n 5 "$T/err" | sed 's/^/# err: /'
		run=$(guard status -q | head -n 1)
		guard show "$run:/tmp/log" 2>/dev/null | tail -n 8 |
			sed 's/^/# inside: /'
		tail -n 4 "$T/native.log" | sed 's/^/# native: /'
	fi
	guard discard -q -y >/dev/null 2>&1
}

# --- git ---
step 'git status' git <<'END'
git status --porcelain
END
step 'git commit' git <<'END'
echo more >>src/f2.c
git add -A && git commit -m three && git log --oneline
END
step 'git checkout and switch' git <<'END'
git checkout -q side && git switch -q -c third && git checkout -q main
END
step 'git merge' git <<'END'
git merge -q -m merged side
END
step 'git rebase' git <<'END'
git checkout -q side && git rebase -q main
END
step 'git cherry-pick and revert' git <<'END'
git cherry-pick side && git revert --no-edit HEAD
END
step 'git stash' git <<'END'
echo x >>src/f3.c && git stash && git stash pop && git stash -u
END
step 'git reset' git <<'END'
git reset -q --hard HEAD~1 && git reset -q --soft HEAD
END
step 'git mv of a folder' git <<'END'
git mv src source && git commit -q -m moved
END
step 'git mv of files' git <<'END'
git mv src/f1.c src/g1.c && git mv docs/link link
END
step 'git rm and clean' git <<'END'
git rm -q -r src && git clean -fdxq && git status --porcelain
END
step 'git gc' git <<'END'
git gc -q --prune=now && git fsck
END
step 'git repack' git <<'END'
git repack -q -a -d && git count-objects -v
END
step 'git worktree' git <<'END'
git worktree add -q tree side && git -C tree status --porcelain &&
	git worktree list && git worktree remove tree
END
step 'git submodule' git <<'END'
git init -q other && git -C other commit -q --allow-empty -m o &&
	git submodule --quiet add ./other sub 2>/dev/null ||
	git submodule --quiet add "$PWD/other" sub
END
step 'git tag and branch' git <<'END'
git tag -a -m t v1 && git branch more && git branch -D side
END
step 'git clone within' git <<'END'
git clone -q . clone && git -C clone log --oneline
END
step 'git am and format-patch' git <<'END'
git format-patch -q -1 side && git am -q 0001-*.patch
END
step 'git apply' git 'git' <<'END'
git diff HEAD~1 | git apply -R
END
step 'git init anew' git <<'END'
rm -rf .git && git init -q && git add -A && git commit -q -m again
END

step 'git commit --amend and a fixup' git <<'END'
git commit -q --amend -m better && echo x >>src/f1.c &&
	git commit -q -a --fixup HEAD &&
	GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2
END
step 'git fetch, pull and push' git <<'END'
git clone -q --bare --no-hardlinks . ../up.git && git remote add up ../up.git &&
	git push -q up main:new side && git fetch -q up && git pull -q up side &&
	git branch -r
END
step 'git hooks' git <<'END'
printf '#!/bin/sh\necho hook >>hooked\ngit add hooked\n' >.git/hooks/pre-commit
chmod 755 .git/hooks/pre-commit && echo x >>src/f1.c && git commit -q -a -m h &&
	git show --stat --format=%s
END
step 'git bisect' git <<'END'
git bisect start HEAD HEAD~1 && git bisect run false; git bisect reset
END
step 'git sparse-checkout' git <<'END'
git sparse-checkout set src/deep && ls && git sparse-checkout disable
END
step 'git worktree, moved' git <<'END'
git worktree add -q tree side && git worktree move tree wood &&
	git worktree lock wood && git worktree list
END
step 'git, a clone without the blobs' git <<'END'
git clone -q --bare --no-hardlinks . ../up.git &&
	git -C ../up.git config uploadpack.allowFilter true &&
	git -C ../up.git config uploadpack.allowAnySHA1InWant true &&
	git clone -q --no-checkout --filter=blob:none "file://$HOME/w/up.git" part &&
	git -C part rev-list --objects --all --missing=print | grep -c '^?'
status=$?
rm -rf part
exit $status
END
step 'git lfs' 'git git-lfs' <<'END'
git lfs install --local && git lfs track '*.bin' && head -c 3000 /dev/zero >a.bin &&
	git add -A && git commit -q -m large && git lfs ls-files && git lfs fsck &&
	git config --remove-section filter.lfs # in any order
END
step 'git maintenance' git <<'END'
git maintenance run --task=gc --task=commit-graph && git fsck && rm -r .git/objects
END
step 'git filter-branch' git <<'END'
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter \
	'git rm -q --cached --ignore-unmatch src/f1.c' HEAD
END

# --- building ---
step 'make' 'make gcc' <<'END'
make -j2 CC=gcc && ./prog
END
step 'make clean' 'make gcc' <<'END'
make CC=gcc && make clean && make -n
END
step 'cmake and make' 'cmake make gcc' <<'END'
CC=gcc cmake -S . -B build && make -C build && build/prog
END
step 'cmake and ninja' 'cmake ninja gcc' <<'END'
CC=gcc cmake -G Ninja -S . -B build && ninja -C build && build/prog
END
# Each with a fixed memory layout: older compilers fail with some of the random
# layouts of current kernels.
step 'gcc with the address sanitizer' gcc <<'END'
gcc -fsanitize=address,undefined -o a src/*.c && setarch -R ./a
END
step 'what the address sanitizer finds' gcc <<'END'
printf '#include <stdlib.h>\nint main(void){char *a=malloc(3);return a[3];}\n' >b.c
gcc -fsanitize=address -o b b.c && setarch -R ./b
END
# One thread after the other, because the sanitizer can miss a race of two
# accesses at the same time. A relaxed atomic orders them, and is no
# synchronization for the sanitizer.
step 'gcc with the thread sanitizer' gcc <<'END'
printf '#include <pthread.h>\nint x,d;void *f(void *a){x++;__atomic_store_n(&d,1,__ATOMIC_RELAXED);return a;}\nint main(void){pthread_t t;pthread_create(&t,0,f,0);while(!__atomic_load_n(&d,__ATOMIC_RELAXED));x++;pthread_join(t,0);return 0;}\n' >t.c
gcc -fsanitize=thread -o t t.c && setarch -R ./t 2>/dev/null
END
# The leak sanitizer takes every value on the stack and in registers that looks
# like a pointer for one, also values left by earlier calls, which differ by
# processor and by the position of the stack: therefore both are excluded, and
# many blocks are leaked. Under a tracer the sanitizer fails with the status of
# a leak.
step 'what the leak sanitizer finds' gcc <<'END'
printf '#include <stdlib.h>\nint main(void){volatile char *a;int i;for(i=0;i<100;i++)a=malloc(3);a=0;return a!=0;}\n' >l.c
gcc -fsanitize=address -o l l.c &&
	LSAN_OPTIONS=use_stacks=0:use_registers=0 setarch -R ./l 2>&1 |
	grep 'byte.* leaked'
END
step 'clang with the memory sanitizer' clang <<'END'
printf '#include <stdlib.h>\nint main(void){int *a=malloc(4);return *a?3:4;}\n' >m.c
clang -fsanitize=memory -o m m.c && setarch -R ./m
END
step 'ccache' 'gcc ccache' <<'END'
export CCACHE_DIR="$PWD/cache" && ccache gcc -c src/f1.c && ccache gcc -c src/f1.c
made=$?
rm -r cache # it lies elsewhere each time
(exit $made)
END
step 'gdb' 'gdb gcc' <<'END'
gcc -g -o p src/*.c && gdb -batch -ex 'break f1' -ex run -ex bt ./p |
	grep -q 'in main'
END
step 'gdb attaches' 'gdb gcc' <<'END'
sleep 1000 & pid=$!
gdb -batch -p $pid -ex bt; status=$?
kill $pid; exit $status
END
step 'strace' strace <<'END'
strace -f -o /tmp/trace sh -c 'echo x | cat' && grep -q execve /tmp/trace
END
step 'cargo' cargo <<'END'
cargo init -q --name p --vcs none box && cd box &&
	cargo build -q --offline && target/debug/p && rm -rf target
END
step 'cargo: a crate by its path, and tests' cargo <<'END'
cargo init -q --name p --vcs none box && cargo init -q --lib --name d --vcs none box/d &&
	echo 'd = { path = "d" }' >>box/Cargo.toml && cd box &&
	cargo test -q --offline --workspace && cargo run -q --offline; status=$?
rm -rf target
exit $status
END
step 'meson' 'meson ninja gcc' <<'END'
printf "project('p', 'c')\ntest('p', executable('p', 'src/f1.c', 'src/main.c'))\n" >meson.build &&
	CC=gcc meson setup out && meson test -C out; status=$?
rm -rf out
exit $status
END
step 'go' go <<'END'
mkdir g && cd g && go mod init p && printf 'package main\nfunc main(){}\n' >m.go && go build -o p . && ./p
END

# --- languages ---
step 'python' python3 <<'END'
python3 -c 'import os, shutil
os.rename("src/deep", "deep")
shutil.move("docs", "moved")
os.replace("untracked", "Makefile")
import tempfile, sqlite3, multiprocessing, socket, ssl
with multiprocessing.Pool(2) as p: print(p.map(abs, [-1, 2]))'
END
step 'python bytecode' python3 <<'END'
echo 'x = 1' >mod.py && python3 -m compileall -q . && python3 -c 'import mod'
END
step 'python venv' python3 <<'END'
python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix)' &&
	rm -rf env
END
pip=python3
python3 -m pip --version >/dev/null 2>&1 || pip=pip3
step 'python pip' "python3 $pip" <<'END'
python3 -m venv --without-pip env || exit 9
mkdir pkg && printf 'x = 1\n' >pkg/mod.py && python3 - <<'PY'
import zipfile
i = "pkg-1.0.dist-info/"
with zipfile.ZipFile("pkg-1.0-py3-none-any.whl", "w") as z:
    z.write("pkg/mod.py", "mod.py")
    z.writestr(i + "METADATA", "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
    z.writestr(i + "WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(i + "RECORD", "mod.py,,\n" + i + "METADATA,,\n" + i + "WHEEL,,\n" + i + "RECORD,,\n")
PY
python3 -m pip --python env/bin/python install -q --no-index --no-compile \
	--disable-pip-version-check ./*.whl &&
	env/bin/python -c 'import mod; print(mod.x)'; status=$?
rm -rf env ./*.whl
exit $status
END
step 'python: locks, maps, sockets, watches' python3 <<'END'
python3 - <<'PY'
import ctypes, fcntl, mmap, os, socket, struct, threading
with open("Makefile", "r+b") as f:
    fcntl.lockf(f, fcntl.LOCK_EX)
    m = mmap.mmap(f.fileno(), 0)
    m[0:1] = b"#"
    m.flush()
    assert open("Makefile", "rb").read(1) == b"#"
s = socket.socket(socket.AF_UNIX)
s.bind("socket")
s.listen()
c = socket.socket(socket.AF_UNIX)
c.connect("socket")
libc = ctypes.CDLL(None, use_errno=True)
w = libc.inotify_init1(0)
assert libc.inotify_add_watch(w, b"src", 0x3c6) > 0
open("src/f1.c", "a").write("x")
os.rename("src/f2.c", "src/g2.c")
open("src/new", "w").close()
os.unlink("src/f3.c")
seen, data = [], os.read(w, 4096)
while data:
    mask, _, n = struct.unpack("iIII", data[:16])[1:]
    seen.append((hex(mask), data[16:16 + n].rstrip(b"\0")))
    data = data[16 + n:]
print(seen)
open("seen", "w").write(repr(seen))
PY
END
step 'node' node <<'END'
node -e 'const fs = require("fs");
fs.renameSync("src", "source");
fs.cpSync("source", "again", {recursive: true});
fs.rmSync("source", {recursive: true});
fs.watch(".", () => {}).close();
new (require("worker_threads").Worker)("process.exit(0)", {eval: true});'
END
step 'npm' 'node npm' <<'END'
mkdir dep && printf '{"name":"dep","version":"1.0.0","bin":{"dep":"cli.js"}}' >dep/package.json &&
	printf '#!/usr/bin/env node\nconsole.log("dep ran")\n' >dep/cli.js &&
	printf '{"name":"p","version":"1.0.0","scripts":{"x":"dep"}}' >package.json &&
	npm install --offline --no-audit --no-fund ./dep &&
	npm ci --offline --no-audit --no-fund && npm run -s x
END
if command -v pnpm >/dev/null; then
	step 'pnpm' 'node pnpm' <<'END'
mkdir dep && printf '{"name":"dep","version":"1.0.0"}' >dep/package.json &&
	printf '{"name":"p","dependencies":{"dep":"file:dep"}}' >package.json &&
	pnpm install --offline --store-dir "$PWD/store" && rm -rf store
END
else
	skip 'pnpm: Debian has no package of it'
fi
step 'perl in place' perl <<'END'
perl -pi.bak -e 's/return/RETURN/' src/*.c
END

# --- data ---
step 'sqlite with a rollback journal' sqlite3 <<'END'
sqlite3 db 'create table t(x); insert into t values (1); begin; insert into t values (2); rollback; vacuum;'
END
step 'sqlite with a WAL' sqlite3 <<'END'
sqlite3 db 'pragma journal_mode=wal; create table t(x); insert into t values (1); pragma wal_checkpoint(truncate);'
END
step 'tar' tar <<'END'
tar -cf /tmp/t.tar --mtime=2003-01-01 src docs && mkdir out && tar -C out -xf /tmp/t.tar && tar -xf /tmp/t.tar --overwrite
END
step 'tar of somebody else' tar <<'END'
tar -cf /tmp/t.tar --owner=1234 --group=1234 src && rm -r src && tar -xf /tmp/t.tar
END
step 'rsync' rsync <<'END'
rsync -a src/ copy/ && rsync -a --delete docs/ copy/ && rsync -aH . /tmp/all/
END
step 'cp' cp <<'END'
cp -a src one && cp -al src two && cp --reflink=auto -r docs three
END
step 'vi saves' vi <<'END'
vi -u NONE -es -c 's/int/long/' -c wq src/f4.c
vi -u NONE -es -c 'set backup backupcopy=yes' -c 's/int/long/' -c wq src/f5.c
vi -u NONE -es -c 'set backup backupcopy=no' -c 's/int/long/' -c wq src/f6.c
END
step 'sed in place' sed <<'END'
sed -i s/int/long/ src/*.c
END
step 'patch' patch <<'END'
git diff HEAD~1 | patch -p1 -R
END

step 'sqlite, two at once' 'sqlite3' <<'END'
sqlite3 db 'create table t(x);'
for i in 1 2; do
	sqlite3 -cmd '.timeout 20000' db \
		'begin immediate; insert into t values (1); commit;' &
done
wait; sqlite3 db 'select count(*) from t'; rm db
END
step 'zip' 'zip unzip' <<'END'
zip -q -r -X all.zip src && mkdir out && unzip -q -d out all.zip && rm all.zip
END
step 'cpio' cpio <<'END'
find src | cpio -o --quiet >/tmp/c && mkdir out && cd out && cpio -idm --quiet </tmp/c
END
step 'sort and ed in place' 'sort ed' <<'END'
sort -o Makefile Makefile && printf '1d\nw\nq\n' | ed -s src/f1.c
END
step 'split, tee, dd' dd <<'END'
split -n 3 Makefile part- && cat part-* | tee again >/dev/null &&
	dd if=again of=Makefile conv=notrunc bs=3 count=2
END

# --- directories and files ---
step 'mv of a folder' mv <<'END'
mv src source && mv source/deep . && mv deep/er er && mv source src
END
step 'mv over an empty folder' mv <<'END'
mkdir target && mv -T src target && mkdir src && mv docs src/
END
step 'rm of everything' rm <<'END'
rm -rf ./* && ls -A
END
step 'find -delete' find <<'END'
find . -mindepth 1 -path ./.git -prune -o -type f -delete
END
step 'chmod and touch' chmod <<'END'
chmod -R g-r src && chmod 2755 docs && chmod 600 Makefile && touch -d 2010-05-05 src/f1.c src
END
step 'links' ln <<'END'
ln -s src there && ln src/f1.c hard && ln -sfn docs there && mkfifo pipe
END
step 'a file with two names is written' sh <<'END'
echo changed >>twins/one
END
step 'sparse files' truncate <<'END'
truncate -s 10M hole && dd if=/dev/zero of=hole bs=1 count=1 seek=5000000 conv=notrunc
END
step 'locks' flock <<'END'
flock lock sh -c 'flock -n lock true && exit 1; exit 0'
END
step 'attributes' setfattr <<'END'
setfattr -n user.a -v b src/f1.c && getfattr -n user.a src/f1.c
END
step 'an access list of the user and his group' setfacl <<'END'
setfacl -m "u:$(id -u):r,g:$(id -g):r,m::rwx" src/f1.c &&
	setfacl -d -m g::rwx docs && : >docs/new && cp -a src copy &&
	getfacl -c -n src/f1.c copy/f1.c docs docs/new >lists
END
# A plain user's own throw-away root has no other ids: there the step fails
# without guard too.
: >"$HOME/list"
if setfacl -m u:1234:rw "$HOME/list" 2>/dev/null; then
	step 'an access list of somebody else' setfacl <<'END'
setfacl -m u:1234:rw src/f1.c
END
else
	skip 'an access list of somebody else: there is nobody else'
fi
rm "$HOME/list"
step 'a map from before the first write' python3 <<'END'
python3 -c 'import mmap
with open("Makefile", "rb") as f:
    seen = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    with open("Makefile", "r+b") as g:
        g.write(b"new")
    open("seen", "wb").write(seen[0:3])'
END
step 'new files that nobody may write' sh <<'END'
(umask 222; echo x >first) && install -m 444 first second &&
	tar -cf - second | (mkdir out && cd out && tar -xf -)
END
step 'a tree that its owner may not write to' chmod <<'END'
chmod -R a-w src && rm -rf src; mv src source; chmod -R u+w src source; rm -rf src source
END
step 'chown' chown <<'END'
chown 1234:1234 src/f1.c
END
step 'a second user namespace' unshare <<'END'
unshare -Ur true
END
finish
