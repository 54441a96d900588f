/*
 * Both ends of the network that tests/lib/root.c --network creates.
 *
 *	netpeer outside		all other machines: in a network namespace of
 *				its own a server on TCP 80, UDP 7 and a name
 *				server that resolves every name to 203.0.113.7
 *	netpeer dial ADDRESS PORT	the same by TCP, from outside
 *	netpeer stub		the machine's own name server, on 127.0.0.53
 *	netpeer listen ADDRESS PORT	a server (both protocols)
 *	netpeer get|ask ADDRESS PORT [bind|pktinfo|dontroute]
 *				a client by TCP or UDP; prints the answer on
 *				stdout, or the error, with status 1. bind and
 *				pktinfo route by the run's device.
 *
 * Servers print "ready" once they listen; an answer is "at ADDRESS PORT".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int patience_ms = 5000;

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static void die(const char *what)
{
	(void)printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static socklen_t parse(const char *text, const char *port, union address *ret)
{
	uint16_t number = htons((uint16_t)atoi(port));
	char plain[64];
	const char *percent = strchr(text, '%');

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = number;
		return sizeof(ret->v4);
	}
	(void)snprintf(plain, sizeof(plain), "%.*s",
		       percent ? (int)(percent - text) : 63, text);
	if (inet_pton(AF_INET6, plain, &ret->v6.sin6_addr) != 1)
		die(text);
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = number;
	if (percent)
		ret->v6.sin6_scope_id = if_nametoindex(percent + 1);
	return sizeof(ret->v6);
}

static int make_server(int type, const char *where, const char *port)
{
	union address a;
	socklen_t len = parse(where, port, &a);
	int fd = socket(a.any.sa_family, type | SOCK_CLOEXEC, 0), on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, &a.any, len) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 16) < 0))
		die(where);
	return fd;
}

static size_t name(int fd, char *text, size_t len)
{
	char host[INET6_ADDRSTRLEN] = "?";
	union address a;
	socklen_t size = sizeof(a);

	(void)getsockname(fd, &a.any, &size);
	if (a.any.sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host));
	else
		(void)inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof(host));
	return (size_t)snprintf(text, len, "at %s %u\n",
				strncmp(host, "::ffff:", 7) ? host : host + 7,
				ntohs(a.v4.sin_port));
}

/* Answers one question: 4 bytes for A, an empty answer for other types. */
static size_t resolve(unsigned char *q, size_t len)
{
	static const unsigned char a[] = {0xc0, 12, 0, 1, 0,   1, 0,   0,
					  0,	60, 0, 4, 203, 0, 113, 7};
	bool is_a = len > 16 && q[len - 3] == 1;
	size_t end = 12;

	if (len < 17)
		return 0;
	while (end < len && q[end])
		end += q[end] + 1U;
	is_a = end + 2 < len && q[end + 1] == 0 && q[end + 2] == 1;
	len = end + 5;
	q[2] |= 0x80;
	q[3] = 0x80;
	q[7] = is_a;
	q[8] = q[9] = q[10] = q[11] = 0;
	if (is_a)
		memcpy(q + len, a, sizeof(a));
	return is_a ? len + sizeof(a) : len;
}

static void answer_packet(int fd, bool names)
{
	unsigned char packet[1024];
	union address from;
	socklen_t size = sizeof(from);
	ssize_t n = recvfrom(fd, packet, 900, 0, &from.any, &size);
	size_t len;

	if (n < 0)
		return;
	len = names ? resolve(packet, (size_t)n)
		    : name(fd, (char *)packet, sizeof(packet));
	(void)sendto(fd, packet, len, 0, &from.any, size);
}

static void answer_call(int fd)
{
	char text[100];
	int call = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (call < 0)
		return;
	/* Reads the question first, as most servers do. */
	(void)!read(call, text, sizeof(text));
	(void)!write(call, text, name(call, text, sizeof(text)));
	(void)close(call);
}

/* Reads "ADDRESS PORT", connects to it, and sends the answer back. */
static void dial(int fd)
{
	char text[200] = "", where[100], port[16], path[300];
	union address from;
	socklen_t size = sizeof(from);
	FILE *answer;
	size_t len;

	if (recvfrom(fd, text, sizeof(text) - 1, 0, &from.any, &size) <= 0 ||
	    sscanf(text, "%99[0-9a-f.:] %15[0-9]", where, port) != 2)
		return;
	(void)snprintf(path, sizeof(path),
		       "/opt/guard/build/tests/lib/netpeer get %s %s", where,
		       port);
	answer = popen(path, "re");
	len = answer ? fread(text, 1, sizeof(text), answer) : 0;
	if (answer)
		(void)pclose(answer);
	(void)sendto(fd, text, len, 0, &from.any, size);
}

static void __attribute__((noreturn))
serve(int calls, int packets, int names, int dials)
{
	struct pollfd fds[] = {{calls, POLLIN, 0},
			       {packets, POLLIN, 0},
			       {names, POLLIN, 0},
			       {dials, POLLIN, 0}};

	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		(void)poll(fds, 4, -1);
		if (fds[0].revents)
			answer_call(calls);
		if (fds[1].revents)
			answer_packet(packets, false);
		if (fds[2].revents)
			answer_packet(names, true);
		if (fds[3].revents)
			dial(dials);
	}
}

static void be_outside(void)
{
	struct ifreq lo = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		die("network namespace");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(lo.ifr_name, "lo");
	(void)ioctl(fd, SIOCSIFFLAGS, &lo);
	(void)close(fd);
	serve(make_server(SOCK_STREAM, "::", "80"),
	      make_server(SOCK_DGRAM, "::", "7"),
	      make_server(SOCK_DGRAM, "::", "53"),
	      make_server(SOCK_DGRAM, "::", "9"));
}

static void bind_to_device(int fd)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "net0", 5) < 0)
		die("SO_BINDTODEVICE");
}

static ssize_t send_by_device(int fd, union address *a, socklen_t len)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {0};
	struct iovec part = {(char[]){"x"}, 1};
	struct msghdr message = {.msg_name = a,
				 .msg_namelen = len,
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control};
	int device = (int)if_nametoindex("net0");
	struct in_pktinfo v4 = {.ipi_ifindex = device};
	struct in6_pktinfo v6 = {.ipi6_ifindex = (unsigned int)device};
	bool is_v4 = a->any.sa_family == AF_INET;
	size_t size = is_v4 ? sizeof(v4) : sizeof(v6);

	control.head.cmsg_level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
	control.head.cmsg_type = is_v4 ? IP_PKTINFO : IPV6_PKTINFO;
	control.head.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.head), is_v4 ? (void *)&v4 : (void *)&v6,
	       size);
	message.msg_controllen = CMSG_SPACE(size);
	return sendmsg(fd, &message, 0);
}

static void wait_for(int fd, short events)
{
	struct pollfd p = {fd, events, 0};

	errno = ETIMEDOUT;
	if (poll(&p, 1, patience_ms) <= 0)
		die("wait");
}

static int call(int type, const char *where, const char *port, const char *way,
		const char *say)
{
	union address a;
	socklen_t len = parse(where, port, &a);
	socklen_t size = sizeof(int);
	int fd =
		socket(a.any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int num = 0, on = 1;
	char text[200];
	ssize_t n;

	/* An address without a host gives no answer. */
	if (*way)
		patience_ms = 1000;
	if (strcmp(way, "bind") == 0)
		bind_to_device(fd);
	if (strcmp(way, "dontroute") == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &on, size);
	if (strcmp(way, "pktinfo") == 0) {
		if (send_by_device(fd, &a, len) < 0)
			die("sendmsg");
	} else if (connect(fd, &a.any, len) < 0 && errno != EINPROGRESS) {
		die("connect");
	}
	if (type == SOCK_STREAM) {
		wait_for(fd, POLLOUT);
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &num, &size);
		errno = num;
		if (num)
			die("connect");
	}
	if (strcmp(way, "pktinfo") != 0 && send(fd, say, strlen(say), 0) < 0) {
		die("send");
	}
	wait_for(fd, POLLIN);
	n = recv(fd, text, sizeof(text), 0);
	if (n <= 0)
		die("recv");
	(void)fwrite(text, 1, (size_t)n, stdout);
	return strncmp(text, "at ", 3) != 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "outside") == 0)
		be_outside();
	if (strcmp(verb, "stub") == 0)
		serve(-1, -1, make_server(SOCK_DGRAM, "127.0.0.53", "53"), -1);
	if (argc < 4)
		return 2;
	if (strcmp(verb, "listen") == 0)
		serve(make_server(SOCK_STREAM, argv[2], argv[3]),
		      make_server(SOCK_DGRAM, argv[2], argv[3]), -1, -1);
	if (strcmp(verb, "dial") == 0) {
		char say[200];

		patience_ms *= 2;
		(void)snprintf(say, sizeof(say), "%s %s", argv[2], argv[3]);
		return call(SOCK_DGRAM, "203.0.113.1", "9", "", say);
	}
	return call(strcmp(verb, "get") == 0 ? SOCK_STREAM : SOCK_DGRAM,
		    argv[2], argv[3], argc > 4 ? argv[4] : "", "x");
}
