#!/bin/sh
# Metadata and unusual names: snapshot and restore bring all of it back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

cat >"$T/make.py" <<'EOF'
import os, socket, sys
os.mkdir('meta')
os.chdir('meta')
def put(name, data=b'x'):
    with open(name, 'wb') as f:
        f.write(data)
# names
put(b'\xff\xfe not UTF-8')
put('two\nlines')
put('n' * 255)
put(' ')
put('*')
# longer than any path may be
top = os.getcwd()
for i in range(20):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
put('deep', b'deep')
os.chdir(top)
# times
put('before 1970')
os.utime('before 1970', ns=(-5 * 10**9 + 7, -5 * 10**9 + 7))
put('far')
os.utime('far', ns=(4 * 10**18 + 3, 4 * 10**18 + 3))
# hard links: two groups, one across directories
os.mkdir('sub')
put('one')
os.link('one', 'sub/two')
os.link('one', 'three')
put('other', b'other')
os.link('other', 'sub/another')
# holes: at the start, in the middle, at the end
with open('holes', 'wb') as f:
    f.seek(1 << 20)
    f.write(b'a' * 4096)
    f.seek(3 << 20)
    f.write(b'b' * 4096)
    f.truncate(5 << 20)
with open('hole alone', 'wb') as f:
    f.truncate(2 << 20)
# kinds
os.mkfifo('fifo', 0o620)
os.symlink('no where', 'link')
os.symlink(b'\xff', 'odd link')
put('mode')
os.chmod('mode', 0o4711)
os.mkdir('sticky')
os.chmod('sticky', 0o1777)
put('nothing', b'')
os.mkdir('empty')
# attributes
for name in 'mode', 'sub':
    try:
        os.setxattr(name, 'user.guard', b'v\0w')
        os.setxattr(name, 'user.long', b'l' * 2000)
    except OSError:
        pass
if os.geteuid() == 0:
    put('theirs')
    os.chown('theirs', 4711, 4712)
    os.chown('link', 4711, 4712, follow_symlinks=False)
    put('able')
    try:
        os.setxattr('able', 'security.capability',
                    bytes([1, 0, 0, 2, 0, 4] + 14 * [0]))
        os.setxattr('able', 'trusted.guard', b't')
    except OSError:
        pass
EOF
cat >"$T/list.py" <<'EOF'
import hashlib, os, stat, sys
groups = {}
def attrs(path):
    try:
        return sorted((n, os.getxattr(path, n, follow_symlinks=False))
                      for n in os.listxattr(path, follow_symlinks=False)
                      if n != 'security.selinux')
    except OSError:
        return []
def holes(f, size):
    found, at = [], 0
    while at < size:
        try:
            data = os.lseek(f, at, os.SEEK_DATA)
        except OSError:
            data = size
        if data - at >= 65536:
            found.append((at, data))
        if data >= size:
            break
        at = os.lseek(f, data, os.SEEK_HOLE)
    return found
def show(path, name):
    s = os.lstat(name)
    what = [path, oct(s.st_mode), s.st_uid, s.st_gid, attrs(name)]
    if not stat.S_ISLNK(s.st_mode):
        what.append(s.st_mtime_ns)
    if stat.S_ISREG(s.st_mode):
        f = os.open(name, os.O_RDONLY)
        what.append(hashlib.sha256(os.read(f, 1 << 23)).hexdigest())
        what.append(holes(f, s.st_size))
        os.close(f)
        if s.st_nlink > 1:
            what.append(('with', groups.setdefault(s.st_ino, path)))
    if stat.S_ISLNK(s.st_mode):
        what.append(os.readlink(name))
    print(ascii(what))
    if stat.S_ISDIR(s.st_mode):
        here = os.open('.', os.O_RDONLY)
        os.chdir(name)
        for sub in sorted(os.listdir(b'.')):
            show(path + b'/' + sub, sub)
        os.fchdir(here)
        os.close(here)
show(b'meta', b'meta')
EOF
ok 'a tree with all kinds of metadata is created' python3 "$T/make.py"
list() { python3 "$T/list.py" >"$T/$1"; }
list before
ok 'the tree has paths longer than PATH_MAX' grep -q "/deep'" "$T/before"
gives 0 'snapshot accepts the tree' guard snapshot
silent "$err" incomplete
number=$(cat "$out")
rm -rf meta
gives 0 'restore accepts the tree' guard restore -y --at "$number" meta
list after
diff "$T/before" "$T/after" >"$T/differences"
is "$(cat "$T/differences")" '' \
	'restore brings back names, metadata and content'
gives 0 'a second snapshot accepts the tree' guard snapshot
gives 0 'diff of both snapshots is accepted' \
	guard diff --name-status "$number" "$(cat "$out")"
is "$(cat "$out")" '' 'the snapshots before and after restore are equal'
gives 0 'restore --to accepts the tree' \
	guard restore -y --at "$number" --to "$HOME/aside" meta
where=$(dirname "$(find "$HOME/aside" -maxdepth 2 -name meta | head -n 1)")
cd "$where" || exit 99
list aside
diff "$T/before" "$T/aside" >"$T/differences"
is "$(cat "$T/differences")" '' \
	'restore --to brings back names, metadata and content'
cd "$HOME" || exit 99

# --- holes of terabytes cost nothing ---
mkdir "$HOME/sparse"
cd "$HOME/sparse" || exit 99
if truncate -s 2T changed moved mode gone 2>/dev/null; then
	# put BYTE OFFSET FILE
	put='put() { printf %s "$1" | dd of="$3" bs=1 seek="$2" conv=notrunc status=none; }'
	eval "$put"
	put x 1500000000000 changed
	put x 5 moved
	sparse=$(timeout 20 guard snapshot -q)
	ok 'a run changes them' timeout 20 guard run -q -- sh -c "$put"'
		put y 1000000000000 changed; put z 7 new; truncate -s 2T new
		mv moved there; chmod 600 mode; rm gone'
	gives 0 'diff lists them' timeout 20 guard diff --name-status
	is "$(sort "$out" | tr '\n\t' '  ')" \
		'A new D gone M changed P mode R100 moved there ' '... all'
	for verb in 'apply -n' 'apply -y' 'undo -y' 'redo -y' 'undo -y' \
		"restore -y --at $sparse ." 'verify --read-data'; do
		# shellcheck disable=SC2086 # words
		gives 0 "$verb is accepted" timeout 20 guard $verb
	done
	put x 700000000000 changed
	ok 'a snapshot after a write in a hole is taken' timeout 20 guard snapshot
	gives 1 'grep finds nothing in them' timeout 20 guard grep nothing
	ok 'all files are sparse' test "$(du -sk . | cut -f 1)" -lt 200
	guard discard -q -y
fi
cd "$HOME" || exit 99
finish
