#!/bin/sh
# A socket of a run is left out by name: it never stops an apply.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

mkdir -p "$HOME/p/dir" "$HOME/p/other/sub" "$HOME/cow"
mkdir -p "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cat >"$HOME/bind" <<'END'
use IO::Socket::UNIX;
for (@ARGV) {
	unlink;
	IO::Socket::UNIX->new(Local => $_, Listen => 1) or die;
}
END
cd "$HOME/p" || exit 99
echo f | tee file dir/f other/sub/f >"$HOME/cow/f"
perl "$HOME/bind" old dir/in
guard snapshot -q

# tree: kinds, modes and names of all entries, and the bytes of the files
tree() {
	find "$HOME/p" "$HOME/cow" "$HOME/.tool" -printf '%y %m %P %TY%Tj%TT\n' \
		2>/dev/null | sort
	find "$HOME/p" "$HOME/cow" -type f -exec cat {} +
}
# left_out NAMES COMMANDS PATHS: a run of the commands writes the file "new",
# too; an apply writes it and names the sockets, and undo and redo work
left_out() {
	names=$1 commands=$2
	shift 2
	tree >"$T/before"
	gives 0 "a run makes $names" guard run -q --cow "$HOME/cow" -- sh -c \
		"bind='perl $HOME/bind'; echo n >new; $commands"
	for name in $names; do
		ok "diff lists $name" sh -c \
			"guard diff --no-pager --name-status | grep -q '$name\$'"
	done
	gives 0 '... and -n is content' guard apply -n "$@"
	gives 0 '... apply, too' guard apply -y "$@"
	for name in $names; do
		says "$err" "left out: '$name'"
	done
	is "$(cat new)" n '... and writes the other changes'
	is "$(find . -type s | sort | tr '\n' ' ')" './dir/in ./old ' \
		'... and only the sockets of the user'
	gives 1 '... a second apply finds nothing to do' guard apply -y
	gives 0 '... undo is accepted' guard undo -y
	tree >"$T/after"
	ok '... and everything is as before' same "$T/before" "$T/after"
	gives 0 '... redo is accepted' guard redo -y
	gives 0 '... and undo again' guard undo -y
	guard discard -y -q
}
left_out 'new.s old d/e/s dir/in file other big/s ~/cow/s ~/.tool/s' "
	mkdir -p d/e ~/.tool; chmod 700 dir/in; rm -r other; echo 1 >~/.tool/1
	\$bind new.s old d/e/s file other ~/cow/s ~/.tool/s
	mkdir big; (cd big; seq 99 | xargs touch); \$bind big/s" . ~/cow ~/.tool
left_out new.s "\$bind new.s"

# --- the user's own sockets ---
ok 'a run deletes and replaces sockets' guard run -q -- \
	sh -c 'rm -r dir old; echo file >old'
gives 0 'apply follows it' guard apply -y --yes-to all
is "$(find . -type s) $(cat old)" ' file' '... and they are gone'
gives 0 'undo is accepted' guard undo -y
is "$(find . -type s | sort | tr '\n' ' ')" './dir/in ./old ' \
	'... and they are sockets again'
guard discard -y -q
ok 'a run and the user bind one name, and the run replaces an edited file' \
	guard run -q -- sh -c "perl $HOME/bind both file; echo n >new"
perl "$HOME/bind" both
echo edit >>file
gives 0 'apply is no conflict' guard apply -y
is "$(stat -c %F both) $(tail -1 file) $(cat new)" 'socket edit n' \
	"... and keeps the user's"

guard discard -y -q
mkdir -p gone/deep
echo old >gone/deep/old
ok 'a run deletes a directory in which the user binds sockets' \
	guard run -q -- rm -r gone
perl "$HOME/bind" gone/s gone/deep/s
gives 0 'apply deletes the rest' guard apply -y --yes-to all
says "$err" "your version is kept: 'gone/deep/s': new here"
is "$(find gone -type f) $(find gone -type s | sort | tr '\n' ' ')" \
	' gone/deep/s gone/s ' '... and keeps the sockets'
gives 0 'undo is accepted' guard undo -y
is "$(cat gone/deep/old)" old '... and the file is back'
finish
