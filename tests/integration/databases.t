#!/bin/sh
# A SQLite database with its -wal, -journal and -shm is applied, restored,
# discarded and undone as one file.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# db DATABASE SQL...: executes the SQL and ends like a killed program, which
# leaves the -wal or the hot -journal. pragmas are SQL, too.
cat >"$HOME/db" <<'END'
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('pragma cache_size=2')
c.execute('pragma wal_autocheckpoint=0')
for sql in sys.argv[2:]:
    c.execute(sql).fetchall()
os._exit(0)
END
wal='pragma journal_mode=wal'
rows='with recursive c(i) as (select 1 union all select i+1 from c where i<999)
	insert into t select hex(randomblob(30)) from c'
db() {
	python3 "$HOME/db" "$@"
}
# tables DATABASE: its tables, or why it is broken. A copy is opened,
# since SQLite changes a database that it opens.
tables() {
	rm -f "$T"/copy*
	for member in '' -wal -journal; do
		[ ! -e "$1$member" ] || cp "$1$member" "$T/copy$member"
	done
	python3 -c 'import sqlite3
c = sqlite3.connect("'"$T/copy"'")
ok = c.execute("pragma integrity_check").fetchone()[0]
print(ok, *sorted(n for (n,) in c.execute(
    "select name from sqlite_master where type=\"table\"")))' 2>&1 | tail -n 1
}
members() {
	# shellcheck disable=SC2012 # plain names
	(cd "$(dirname "$1")" && ls -d "${1##*/}"* | sed "s/^${1##*/}//" |
		tr '\n' ' ')
}
pending() {
	guard status -q | while read -r id _; do guard discard -q -y "$id"; done
}

mkdir -p "$HOME/p/sub" "$HOME/cow" "$HOME/.config/app"
cd "$HOME/p" || exit 99

# Each name and place; the changes of the run; those of the user meanwhile. The
# run's tables are r, the user's u.
while read -r name ran edited; do
	case $name in
	/*) path=$HOME$name ;;
	*) path=$HOME/p/$name ;;
	esac
	rm -f "$path"*
	db "$path" 'create table t(x)' "$rows"
	run_sql=$rows
	case $ran in
	wal) run_sql=$wal ;;
	gone) run_sql= ;;
	esac
	title="$name, run: $ran, user: $edited"
	guard snapshot -q "$(dirname "$path")" >"$out" 2>"$err"
	# shellcheck disable=SC2016 # of that shell
	gives 0 "$title: a run changes it" guard run -q --cow "$HOME/cow" -- \
		sh -c '[ "$4" ] || exec rm "$2"
		exec python3 "$1" "$2" "$4" "$3" "create table r(z)"' \
		sh "$HOME/db" "$path" "$rows" "$run_sql"
	case $edited in
	wal) db "$path" "$wal" 'create table u(z)' ;;
	journal)
		db "$path" begin 'update t set x = hex(randomblob(40))' ;;
	esac
	now=$(tables "$path")
	if [ "$edited" != - ]; then
		gives 1 "$title: a conflict" guard apply -y -q latest "$path"
		says "$err" '-wal and -journal'
		is "$(tables "$path")" "$now" 'and nothing is changed'
		gives 0 "$title: apply --ours" guard apply -y -q --ours latest \
			"$path"
		is "$(tables "$path")" "$now" 'the version of the user stays'
		gives 0 'undo' guard undo -y -q
	fi
	gives 0 "$title: apply --theirs" guard apply -y -q --theirs latest "$path"
	case $ran in
	gone) is "$(members "$path" 2>&1 | grep -c shm)" 0 'it is deleted' ;;
	*) is "$(tables "$path")" 'ok r t' 'it is the version of the run' ;;
	esac
	silent "$out" '-shm is applied'
	is "$(guard diff --name-status | grep -c "${name##*/}")" 0 \
		'nothing of it is pending'
	gives 0 "$title: undo" guard undo -y -q
	is "$(tables "$path")" "$now" 'undo restores the version of the user'
	gives 0 "$title: redo" guard redo -y -q
	[ "$ran" = gone ] ||
		is "$(tables "$path")" 'ok r t' 'redo, that of the run'
	gives 0 "$title: undo again" guard undo -y -q 1
	is "$(tables "$path")" "$now" 'with all of its members'
	case $name in
	/*) ;;
	*)
		gives 0 "$title: restore" guard restore -y -q --at latest~0 \
			"$path"
		is "$(tables "$path" | cut -d ' ' -f 1)" ok \
			'a restored database is complete'
		;;
	esac
	pending
done <<'END'
a.db delete -
a.db delete wal
a.db delete journal
a.db wal -
a.db wal wal
sub/data.sqlite3 delete wal
sub/data.sqlite3 wal journal
Cookies gone wal
/cow/c.db wal wal
/cow/c.db delete -
/.config/app/History wal -
/.config/app/History delete wal
END

# --- operands ---
rm -rf ./* && echo text >notes && echo text >notes-wal
db a.db 'create table t(x)' "$rows"
guard snapshot -q >"$out" 2>"$err"
first=$(guard log | awk '/ manual/ { print $1; exit }')
gives 0 'a run leaves a -wal' guard run -q -- sh -c 'echo run >notes
	exec python3 "$@"' sh "$HOME/db" a.db "$wal" 'create table r(z)'
for name in a.db a.db-wal; do
	gives 0 "apply --except $name" guard apply -n --except $name
	silent "$out" a.db
	gives 0 "apply $name" guard apply -y $name
	says "$out" ' a.db-wal'
	is "$(tables a.db)" 'ok r t' "apply $name takes the database"
	gives 0 'undo' guard undo -y -q
	gives 0 "discard $name" guard discard -y -q latest $name
	is "$(guard diff --name-status | grep -v "^ " | cut -f 2)" notes \
		"discard $name drops the database"
	gives 0 'undo' guard undo -y -q 1
done
echo user >notes-wal
gives 0 'a text with the name of a sidecar is no part of another' \
	guard apply -y -q notes
is "$(cat notes notes-wal)" 'run
user' 'it stays'
gives 0 'the rest is applied' guard apply -y -q
db a.db 'create table u(z)'
for operand in a.db . '--to there a.db'; do
	# shellcheck disable=SC2086 # words
	gives 0 "restore $operand" guard restore -y -q --at "$first" $operand
	[ "$operand" != '--to there a.db' ] || break
	is "$(members a.db)" ' ' 'no sidecar of another version is left'
	is "$(tables a.db)" 'ok t' 'the restored database is complete'
	gives 0 'undo' guard undo -y -q 1
	is "$(tables a.db)" 'ok r t u' 'undo restores all members'
done
is "$(tables there/a.db)" 'ok t' 'restore --to creates all members'
mv there/a.db there/a.db-wal
gives 1 'restore --to refuses a directory with a -wal of the name' \
	guard restore -y -q --at "$first" --to there a.db
says "$err" 'a.db-wal'

# --- an open database ---
rm -rf ./* && db a.db 'create table t(x)' "$wal"
gives 0 'a run changes it' guard run -q -- python3 "$HOME/db" a.db \
	'create table r(z)'
mkfifo "$T/wait"
python3 -c 'import sqlite3, sys
c = sqlite3.connect("a.db")
c.execute("select * from t").fetchone()
print("open", flush=True)
sys.stdin.read()' <"$T/wait" >"$T/open" &
exec 8>"$T/wait"
until [ -s "$T/open" ]; do kill -0 $! || break; done
gives 1 'a database that a program has open is refused' \
	guard apply -y -q --theirs
says "$err" 'open for writing'
says "$err" a.db
exec 8>&-
wait

finish
