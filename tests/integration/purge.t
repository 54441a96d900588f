#!/bin/sh
# purge: a leaked secret leaves every snapshot, layer and trash.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# Whether a piece of the secret's bytes is anywhere in guard's state. They do
# not shrink, so they lie there as they are.
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
ok 'the secret is in the state' is_in_state

gives 1 'purge without being sure' guard purge keys/id
says "$err" 'say it with --confirm PATH'
gives 1 'purge of one thing, sure of another' guard purge --confirm keys keys/id
says "$err" 'nothing is done'
gives 2 'purge with -y' guard purge -y keys/id
gives 1 'purge of what is not stored' guard purge --confirm nothing nothing
gives 1 'purge of the state' guard purge --confirm "$state" "$state"
gives 0 'a look before' guard purge -n keys/id
says "$err" '2 versions in snapshots'
says "$err" 'the same bytes are also stored as'
ok 'changes nothing' sh -c "guard show $number:keys/id | cmp - '$T/secret'"

gives 0 'purge of the file' guard purge --confirm keys/id keys/id
gives 1 'an old version' guard show "$number:keys/id"
says "$err" 'was purged on 20'
gives 0 'and its list' guard ls "$number" keys/id
says "$err" 'was purged on 20'
gives 0 'its neighbour' guard show "$number:keys/readme"
is "$(cat "$out")" harmless 'is still there'
gives 0 'its log' guard log keys/id
says "$out" purged
gives 0 'the store is whole' guard verify --read-data
ok 'the run still has it under another name' is_in_state
gives 0 'purge of the whole folder, by its absolute path' \
	guard purge --confirm "$HOME/project/keys" "$HOME/project/keys"
says "$err" 'the layers of 1 run'
says "$err" 'is still there: the next snapshot or run stores it again'
gives 0 'purge of the rest' guard purge --confirm elsewhere elsewhere
no 'the secret is nowhere' is_in_state
gives 1 'what was in the folder' guard show "$number:keys/readme"
says "$err" 'was purged on 20'
gives 0 'the store is whole' guard verify --read-data
gives 0 'the run is without it' guard diff --name-status
is "$(cat "$out")" '' 'and has nothing left'
gives 0 'the log of what was in it' guard log keys/readme
says "$out" 'purged  '
says "$out" 'with a folder above it'
gives 1 'restore of what was in it, whenever' guard restore -y keys/readme
says "$err" 'was purged on 20'
gives 0 'the rest of the snapshot' guard show "$number:README.md"
ok 'is there' cmp "$out" README.md
gives 1 'restore of it' guard restore -y --at "$number" keys/readme
says "$err" 'was purged on 20'
gives 1 'restore into another folder' \
	guard restore -y --at "$number" --to "$HOME/to" keys/readme
says "$err" 'was purged on 20'
gives 0 'restore of all of it' guard restore -y --exact --at "$number" .
ok 'leaves the real folder as it is' test -f keys/readme
gives 0 'a later snapshot' guard snapshot
gives 0 'has it again' guard show latest:keys/readme
gives 0 'the store is whole' guard verify --read-data
gives 0 'purge as JSON' guard purge --json --confirm keys/readme keys/readme
says "$out" '"done": true'
echo beside >keys/beside
both=$(guard snapshot -q)
gives 0 'purge of one of two' guard purge --confirm keys/readme keys/readme
rm -f keys/readme keys/beside
gives 0 'the folder comes back without it' guard restore -y keys
says "$err" "'keys/readme' is left out: it was purged on 20"
is "$(cat keys/beside)" beside 'with the other'
rm keys/beside
gives 0 'and all that is like both' \
	guard restore -y --at "$both" 'keys/*'
says "$err" "was purged on 20"
is "$(cat keys/beside)" beside 'the other alone'
finish
