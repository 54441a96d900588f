#!/bin/sh
# guard run --net private, --publish: the reachable addresses, the blocked ones,
# and the end of pasta with the run.
# needs: network
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

peer=/opt/guard/build/tests/lib/netpeer
make_home
cd "$HOME/project" || exit 99

# --- invalid options, on every machine ---
for ports in 0 65536 x 80: :80 80:81:82:83 1-2:3 80/sctp 300.1.1.1:80:80 '' \
	2-1 '[127.0.0.1]:1:1' 80-; do
	gives 125 "--publish '$ports' is refused" \
		guard run --net private --publish "$ports" -- true
done
says "$err" '--publish must be PORT, OUTSIDE:INSIDE'
gives 125 '--publish without --net private is refused' \
	guard run --publish 8080:80 -- true
says "$err" '--publish needs --net private'
gives 125 '--net with an unknown word is refused' guard run --net bridge -- true
says "$err" 'host, private or none'

if ! command -v pasta >/dev/null; then
	gives 125 '--net private without pasta is refused' \
		guard run --net private -- true
	says "$err" 'apt install passt'
	needs 'a private network' pasta
	finish
fi
if [ -z "${GUARD_TEST_NETWORK:-}" ] || ! (: <>/dev/net/tun) 2>/dev/null; then
	skip 'no network can be created here (ip, nsenter, veth, /dev/net/tun)'
	finish
fi

# server ADDRESS PORT: starts a service of this machine, pid $server
server() {
	mkfifo "$T/ready"
	"$peer" listen "$1" "$2" >"$T/ready" &
	server=$!
	read -r _ <"$T/ready"
	rm "$T/ready"
	servers="${servers:-} $server"
}

# reaches WHAT get|ask ADDRESS PORT: checks that a run reaches it
reaches() {
	what=$1
	shift
	gives 0 "--net private reaches $what" \
		guard run -q --net private -- "$peer" "$@"
}

server 0.0.0.0 4711
server ::1 4712

# --- reachable addresses ---
gives 0 'a run with --net private can connect' guard run --net private -- \
	"$peer" get 203.0.113.7 80
is "$(cat "$out")" 'at 203.0.113.7 80' \
	'--net private reaches a server of the outside network'
says "$err" 'network: private'
reaches 'a server by IPv6' get 2001:db8:1::7 80
# The kernel's own route comes late, and an answer before it would be lost.
gives 0 '--net private delivers packets to its IPv6 address from the start' \
	guard run -q --net private -- \
	ip -6 route show table local proto static
says "$out" 'local 2001:db8:6775:6172::2 dev net0'
reaches 'a server of the local network' get 10.9.8.7 80
reaches 'a server by UDP' ask 203.0.113.1 7
gives 0 '--net private resolves names through a name server on the outer loopback' \
	guard run --net private -- getent ahostsv4 some.name
says "$out" 203.0.113.7
gives 0 '--net private keeps the search domains of /etc/resolv.conf' \
	guard run --net private -- cat /etc/resolv.conf
says "$out" 'search example.test'
silent "$out" 127.0.0.53
gives 0 '--net private has a loopback of its own' \
	guard run -q --net private -- sh -c "
	mkfifo f; '$peer' listen 127.0.0.1 4711 >f & read -r _ <f
	'$peer' get 127.0.0.1 4711; kill \$!"

# --- addresses that are not reachable; without guard each of them answers ---
for way in 'get 127.0.0.1 4711' 'get ::1 4712' 'get 203.0.113.10 4711' \
	'get 172.29.0.1 4711' 'get 169.254.169.254 80' \
	'get fd00:ec2::254 80' 'ask 127.0.0.1 4711'; do
	# shellcheck disable=SC2086 # words
	ok "$way answers outside of a run" "$peer" $way
done
gives 1 '--net private does not reach the outer loopback and cloud metadata' \
	guard run -q --net private -- sh -c "
	for way in 'get 127.0.0.1 4711' 'get ::1 4712' 'get 203.0.113.10 4711' \
		'get 172.29.0.1 4711' 'get 169.254.169.254 80' \
		'get fd00:ec2::254 80' 'ask 127.0.0.1 4711'; do
		'$peer' \$way && exit 0
	done
	exit 1"
silent "$out" 'timed out'
# A socket bound to the device asks for no route.
gives 1 'sockets bound to the device do not reach them either' \
	guard run -q --net private -- sh -c "
	for way in 'get 127.0.0.1 4711' 'get ::1 4712' 'get 203.0.113.10 4711' \
		'get 169.254.169.254 80' 'get fd00:ec2::254 80' \
		'ask 127.0.0.1 4711'; do
		'$peer' \$way bind >>f & '$peer' \$way pktinfo >>f &
		'$peer' \$way dontroute >>f &
	done
	wait; cat f; grep -q '^at' f"
gives 0 'a run cannot change routes and neighbors' \
	guard run -q --net private -- sh -c '
	! ip route add 169.254.169.254 via 198.51.100.1 dev net0 &&
	! ip neigh add 169.254.169.254 lladdr 02:00:00:00:00:01 dev net0'
gives 0 'a nested user namespace cannot change routes' \
	guard run -q --net private --nested -- \
	unshare -U sh -c '! ip route del 169.254.0.0/16 metric 1'

# --- --publish ---
# published PORTS INSIDE: starts a run with a server on port INSIDE, until
# unpublish
published() {
	mkfifo "$T/up" "$T/end"
	{
		guard run -q --rw "$T" --net private --publish "$1" -- sh -c "
			'$peer' listen :: $2 >'$T/up' & read -r _ <'$T/end'
			kill \$!" || echo failed >"$T/up"
	} &
	run=$!
	read -r started <"$T/up"
	is "$started" ready "a run with --publish $1 starts"
}
unpublish() {
	[ "$started" != ready ] || echo >"$T/end"
	wait "$run"
	rm "$T/up" "$T/end"
}
published 5080:80 80
ok 'a published port is reachable' "$peer" get 127.0.0.1 5080
no 'a published port is reachable from the loopback only' \
	"$peer" get 203.0.113.10 5080
no 'a published TCP port does not answer UDP' "$peer" ask 127.0.0.1 5080
unpublish
no 'a published port is closed after the run' "$peer" get 127.0.0.1 5080
published 203.0.113.10:5080-5082:78-80 80
ok 'a published range of ports is reachable at the named address' \
	"$peer" dial 203.0.113.10 5082
no 'a port published at one address is not reachable at others' \
	"$peer" get 127.0.0.1 5082
unpublish
published '[::1]:5080:5080/udp' 5080
ok 'a port can be published for UDP and IPv6' "$peer" ask ::1 5080
no 'a port published for UDP does not answer TCP' "$peer" get ::1 5080
unpublish
gives 125 '--publish of a port in use is refused' \
	guard run --net private --publish 4711:80 -- true
says "$err" 'pasta'
says "$err" 4711

# --- the end of pasta ---
pastas() {
	grep -lxE 'pas(ta|st)(.avx2)?' /proc/[0-9]*/comm 2>/dev/null
}
is "$(pastas)" '' 'no pasta is left after the runs'
mkfifo "$T/up"
guard run -q --rw "$T" --net private -- sh -c "echo >'$T/up'; exec sleep 600" &
run=$!
read -r _ <"$T/up"
ok 'pasta runs during a run' pastas
at=$(pastas | head -n 1)
at=${at%/comm}
kill -9 "$run"
ok 'pasta ends when guard is killed' timeout 60 tail -s 0.02 \
	--pid="${at##*/}" -f /dev/null
gives 0 'status works after guard was killed' guard status
guard discard -q -y 2>/dev/null

mkfifo "$T/on"
guard run --rw "$T" --net private -- sh -c "echo >'$T/up'; read -r _ <'$T/on'
	'$peer' get 203.0.113.7 80 bind || exit 7" >/dev/null 2>"$T/lost" &
run=$!
read -r _ <"$T/up"
for at in $(pastas); do
	pid=${at%/comm}
	above=$(sed -n 's/^PPid:\t//p' "$pid/status")
	kill -9 "${pid##*/}"
	# until guard has reaped the process that waits for pasta
	timeout 60 tail -s 0.02 --pid="$above" -f /dev/null
done
echo >"$T/on"
wait "$run"
is $? 7 'a run continues without network when pasta is killed'
says "$T/lost" 'lost its private network'

# --- other options ---
gives 0 '--strict with --net private has a network' \
	guard run -q --strict --net private -- \
	"$peer" get 203.0.113.7 80
if [ "$me" = root ]; then
	mkdir -m 777 /srv/project
	gives 0 '--user with --net private has a network' \
		guard run -q -C /srv/project --user tester \
		--net private -- \
		"$peer" get 203.0.113.7 80
	ip route del default
	ip -6 route del default
	gives 125 '--net private without a default route is refused' \
		guard run --net private -- true
	says "$err" 'no default route'
fi

# shellcheck disable=SC2086 # a list
kill $servers
wait
finish
