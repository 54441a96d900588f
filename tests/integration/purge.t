#!/bin/sh
# purge: removes a leaked secret from every snapshot, layer and trash.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# is_in_state: whether bytes of the secret are in guard's state. Random bytes
# are stored uncompressed.
# shellcheck disable=SC2317 # called through ok and no
is_in_state() {
	python3 - "$T/secret" "$state" <<-'END'
		import os, sys
		piece = open(sys.argv[1], 'rb').read()[5000:5064]
		for folder, _, names in os.walk(sys.argv[2]):
		    for name in names:
		        path = os.path.join(folder, name)
		        if os.path.isfile(path) and not os.path.islink(path):
		            if piece in open(path, 'rb').read():
		                print(path)
		                sys.exit(0)
		sys.exit(1)
	END
}

head -c 60000 /dev/urandom >"$T/secret"
mkdir keys
cp "$T/secret" keys/id
echo harmless >keys/readme
guard snapshot -q >"$T/number"
number=$(cat "$T/number")
echo more >>keys/id
guard snapshot -q >"$out"
rm keys/id
guard snapshot -q >"$out"
cp "$T/secret" "$T/again"
guard run -q --ro "$T" -- sh -c "cat '$T/again' >keys/new; echo x >keys/other" \
	>"$out" 2>"$err"
guard run -q --ro "$T" -- sh -c "cat '$T/again' >elsewhere" >"$out" 2>"$err"
guard discard -y -q >"$out" 2>"$err"
ok "the secret is stored in guard's state" is_in_state

gives 1 'purge without --confirm is refused' guard purge keys/id
says "$err" 'use --confirm PATH'
gives 1 'purge with another path in --confirm is refused' \
	guard purge --confirm keys keys/id
says "$err" 'nothing changed'
gives 2 'purge -y is refused' guard purge -y keys/id
gives 1 'purge of a path that is not stored is refused' \
	guard purge --confirm nothing nothing
gives 1 "purge of guard's own state is refused" \
	guard purge --confirm "$state" "$state"
gives 0 'purge -n is accepted' guard purge -n keys/id
says "$err" '2 versions in snapshots'
says "$err" 'the same bytes are also stored as'
ok 'purge -n changes nothing' \
	sh -c "guard show $number:keys/id | cmp - '$T/secret'"

gives 0 'purge of a file is accepted' guard purge --confirm keys/id keys/id
gives 1 'show of the purged file is refused' guard show "$number:keys/id"
says "$err" 'was purged on 20'
gives 0 'ls of the purged file is accepted' guard ls "$number" keys/id
says "$err" 'was purged on 20'
gives 0 'show of the file beside it is accepted' \
	guard show "$number:keys/readme"
is "$(cat "$out")" harmless 'the file beside it has its content'
gives 0 'log of the purged file is accepted' guard log keys/id
says "$out" purged
gives 0 'verify --read-data accepts the store after purge' \
	guard verify --read-data
ok 'the secret is still stored under another name in a run' is_in_state
gives 0 'purge of a directory by its absolute path is accepted' \
	guard purge --confirm "$HOME/project/keys" "$HOME/project/keys"
says "$err" 'the layers of 1 run'
says "$err" 'still exists: the next snapshot or run stores it again'
gives 0 'purge of the other name is accepted' \
	guard purge --confirm elsewhere elsewhere
no "the secret is nowhere in guard's state" is_in_state
gives 1 'show of a file in a purged directory is refused' \
	guard show "$number:keys/readme"
says "$err" 'was purged on 20'
gives 0 'verify --read-data accepts the store after all purges' \
	guard verify --read-data
gives 0 'diff of the purged run is accepted' guard diff --name-status
is "$(cat "$out")" '' 'the purged run has no changes left'
gives 0 'log of a file in the purged directory is accepted' \
	guard log keys/readme
says "$out" 'purged  '
says "$out" 'with a parent directory'
gives 1 'restore of a file in the purged directory is refused' \
	guard restore -y keys/readme
says "$err" 'was purged on 20'
gives 0 'show of another file of the snapshot is accepted' \
	guard show "$number:README.md"
ok 'the other file has its content' cmp "$out" README.md
gives 1 'restore of a purged file from a snapshot is refused' \
	guard restore -y --at "$number" keys/readme
says "$err" 'was purged on 20'
gives 1 'restore --to of a purged file is refused' \
	guard restore -y --at "$number" --to "$HOME/to" keys/readme
says "$err" 'was purged on 20'
gives 0 'restore --exact of a snapshot with purged files is accepted' \
	guard restore -y --exact --at "$number" .
ok 'restore --exact keeps the purged directory' test -f keys/readme
gives 0 'a later snapshot is accepted' guard snapshot
gives 0 'the later snapshot has the directory again' \
	guard show latest:keys/readme
gives 0 'verify --read-data accepts the store with the later snapshot' \
	guard verify --read-data
gives 0 'purge --json is accepted' \
	guard purge --json --confirm keys/readme keys/readme
says "$out" '"done": true'
echo beside >keys/beside
both=$(guard snapshot -q)
gives 0 'purge of one of two files is accepted' \
	guard purge --confirm keys/readme keys/readme
rm -f keys/readme keys/beside
gives 0 'restore of the directory is accepted' guard restore -y keys
says "$err" "'keys/readme' is skipped: it was purged on 20"
is "$(cat keys/beside)" beside 'restore brings back the other file'
rm keys/beside
gives 0 'restore of a pattern that matches both is accepted' \
	guard restore -y --at "$both" 'keys/*'
says "$err" "was purged on 20"
is "$(cat keys/beside)" beside \
	'restore of the pattern brings back the other file'
finish
