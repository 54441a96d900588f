/* Attacks on sockets, networks, keys and what else processes share. */
#include <linux/keyctl.h>
#include <arpa/inet.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "tests/hostile/attack.h"

#define MPTCP 262

static int answer(int fd)
{
	char text[64] = "";

	if (recv(fd, text, sizeof(text) - 1, 0) <= 0)
		return verdict(-1, "recv");
	return tell(WORKED, "%s", text);
}

static int to_unix(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path, name, strlen(name));
	if (*name == '@')
		a.sun_path[0] = '\0';
	if (connect(fd, (struct sockaddr *)&a, len) < 0)
		return verdict(-1, name);
	return answer(fd);
}

static int to_bus(void)
{
	char path[100];

	/* The caller's directory, whatever its name is inside. */
	(void)snprintf(path, sizeof(path), "%s/bus", getenv("HOSTILE_RUNTIME"));
	return to_unix(path);
}

static int to_tmux(void)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/tmp/tmux-%u/default", getuid());
	return to_unix(path);
}

static int to_home(void)
{
	char path[108];

	(void)snprintf(path, sizeof(path), "%.80s/.agent/socket",
		       getenv("HOME"));
	return to_unix(path);
}

static int to_project(void)
{
	return to_unix("host.sock");
}

static int to_srv(void)
{
	return to_unix("/srv/service/socket");
}

static int to_abstract(void)
{
	return to_unix("@guard-hostile");
}

static struct sockaddr_in address(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
}

static int to_tcp(int protocol, int flags)
{
	struct sockaddr_in a = address(4711);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return tell(CANNOT, "protocol %d: %s", protocol,
			    strerror(errno));
	if (flags) {
		if (sendto(fd, "x", 1, flags, (struct sockaddr *)&a,
			   sizeof(a)) < 0)
			return verdict(-1, "sendto");
	} else if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		return verdict(-1, "connect");
	}
	return answer(fd);
}

static int plain_tcp(void)
{
	return to_tcp(0, 0);
}

static int fast_open(void)
{
	return to_tcp(0, MSG_FASTOPEN);
}

static int mptcp(void)
{
	return to_tcp(MPTCP, 0);
}

static int udp(void)
{
	struct sockaddr_in a = address(4712);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return verdict(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)),
		       "sendto");
}

/* The run's own device, by which a packet evades the routes; 0 outside. */
static int by_device(void)
{
	struct in_pktinfo info = {.ipi_ifindex = (int)if_nametoindex("net0")};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(info))];
	} control = {.head = {CMSG_LEN(sizeof(info)), IPPROTO_IP, IP_PKTINFO}};
	struct sockaddr_in a = address(4712);
	struct iovec part = {(char[]){"x"}, 1};
	struct msghdr message = {.msg_name = &a,
				 .msg_namelen = sizeof(a),
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(CMSG_DATA(&control.head), &info, sizeof(info));
	return verdict(sendmsg(fd, &message, 0), "sendmsg");
}

static int reach(const char *where, bool device)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(80)};
	bool is_v4 = inet_pton(AF_INET, where, &v4.sin_addr) == 1;
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC,
			0);
	/* Long enough: the other end is on this machine. */
	struct timeval patience = {.tv_sec = 3};

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
			 sizeof(patience));
	if (device && if_nametoindex("net0") &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "net0", 5) < 0)
		return verdict(-1, "SO_BINDTODEVICE");
	if (is_v4)
		return verdict(connect(fd, (struct sockaddr *)&v4, sizeof(v4)),
			       where);
	(void)inet_pton(AF_INET6, where, &v6.sin6_addr);
	return verdict(connect(fd, (struct sockaddr *)&v6, sizeof(v6)), where);
}

static int metadata(void)
{
	return reach("169.254.169.254", false);
}

static int metadata_by_device(void)
{
	return reach("169.254.169.254", true);
}

static int metadata6(void)
{
	return reach("fd00:ec2::254", false);
}

static int metadata6_by_device(void)
{
	return reach("fd00:ec2::254", true);
}

static int somewhere(void)
{
	return reach("203.0.113.7", false);
}

static int own_loopback(void)
{
	struct sockaddr_in a = address(4713);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
		return verdict(-1, "listen");
	return verdict(connect(to, (struct sockaddr *)&a, sizeof(a)),
		       "connect");
}

static int shared_memory(void)
{
	int id = shmget(0x6775, 0, 0);
	char *mem = id < 0 ? (char *)-1 : shmat(id, NULL, SHM_RDONLY);

	if (mem == (char *)-1)
		return verdict(-1, "shmat");
	return tell(WORKED, "%s", mem);
}

static int message_queue(void)
{
	struct {
		long type;
		char text[64];
	} m = {0};

	if (msgrcv(msgget(0x6776, 0), &m, sizeof(m.text), 0,
		   IPC_NOWAIT | 040000 /* MSG_COPY */) < 0)
		return verdict(-1, "msgrcv");
	return tell(WORKED, "%s", m.text);
}

static int posix_queue(void)
{
	mqd_t queue = mq_open("/victim", O_RDONLY);

	return verdict(queue, "mq_open");
}

static int posix_memory(void)
{
	return verdict(shm_open("/victim", O_RDWR, 0), "shm_open");
}

/* The driver has added a key to the session's and the user's keyring. */
static int key(int ring)
{
	char text[64] = "";
	long id = syscall(SYS_keyctl, KEYCTL_SEARCH, ring, "user",
			  "guard-hostile", 0);

	if (id < 0)
		return verdict(-1, "keyctl search");
	if (syscall(SYS_keyctl, KEYCTL_READ, id, text, sizeof(text) - 1) < 0)
		return verdict(-1, "keyctl read");
	return tell(WORKED, "%s", text);
}

static int session_key(void)
{
	return key(KEY_SPEC_SESSION_KEYRING);
}

static int user_key(void)
{
	return key(KEY_SPEC_USER_KEYRING);
}

static int new_key(void)
{
	return verdict(syscall(SYS_add_key, "user", "hostile", "x", 1UL,
			       KEY_SPEC_SESSION_KEYRING),
		       "add_key");
}

static int family(int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	if (fd >= 0)
		return tell(WORKED, "socket");
	/* The kernel's own errors, which are not those of the filter. */
	if (errno == EPERM)
		return tell(CANNOT, "no capability outside either");
	return verdict(-1, "socket");
}

static int vsock(void)
{
	return family(40, SOCK_STREAM, 0);
}

static int algorithms(void)
{
	return family(38, SOCK_SEQPACKET, 0);
}

static int packets(void)
{
	return family(AF_PACKET, SOCK_RAW, 0);
}

static int audit(void)
{
	return family(AF_NETLINK, SOCK_RAW, 9);
}

static int uevents(void)
{
	return family(AF_NETLINK, SOCK_RAW, 15);
}

static int xfrm(void)
{
	return family(AF_NETLINK, SOCK_RAW, 6);
}

static int generic(void)
{
	return family(AF_NETLINK, SOCK_RAW, 16);
}

static int high_family(void)
{
	long fd = syscall(SYS_socket, 1UL << 32 | 16, SOCK_RAW, 9);

	return verdict(fd, "socket with high bits");
}

static int routes(void)
{
	return verdict(socket(AF_NETLINK, SOCK_RAW, 0), "socket");
}

static const struct attack table[] = {
	{"P44", "the session bus", "private /run", PROOF_HOST, .play = to_bus},
	{"P45", "sockets of services below /run", "private /run", PROOF_CLAIM,
	 .shell = "find /run/ /var/run/ -type s | grep -q ."},
	{"P46", "an agent's socket by the environment", "environment",
	 PROOF_SECRET, .shell = "env | grep -e SOCK -e TOKEN -e SECRET"},
	{"P47", "a terminal multiplexer in /tmp", "private /tmp", PROOF_HOST,
	 .play = to_tmux},
	{"P48", "an abstract socket", "Landlock scope", PROOF_HOST,
	 .play = to_abstract},
	{"P48n", "an abstract socket, without network", "network namespace",
	 PROOF_HOST, .options = "--net none", .play = to_abstract},
	{"P48d", "an abstract socket, nested", "Landlock scope", PROOF_HOST,
	 .options = "--nested", .play = to_abstract},
	{"P49", "a socket in the project", "layer", PROOF_HOST,
	 .play = to_project},
	{"D01", "a socket below the home folder", "home layer", PROOF_HOST,
	 .play = to_home},
	{"D02", "a socket of a service elsewhere", "masks over sockets",
	 PROOF_HOST, .play = to_srv},
	{"P50", "System V shared memory", "IPC namespace", PROOF_SECRET,
	 .play = shared_memory},
	{"P50m", "System V messages", "IPC namespace", PROOF_SECRET,
	 .play = message_queue},
	{"P50q", "POSIX message queue", "IPC namespace", PROOF_CLAIM,
	 .play = posix_queue},
	{"P50s", "POSIX shared memory", "private /dev/shm", PROOF_CLAIM,
	 .play = posix_memory},
	{"P51", "the session's keys", "filter, own keyring", PROOF_SECRET,
	 .play = session_key},
	{"P51u", "the user's keys", "filter, user namespace", PROOF_SECRET,
	 .play = user_key},
	{"P51a", "add a key", "filter", PROOF_CLAIM, .play = new_key},
	{"P52", "a server on this machine, without network",
	 "network namespace", PROOF_HOST, .options = "--net none",
	 .play = plain_tcp},
	{"P52u", "the same by UDP", "network namespace", PROOF_HOST,
	 .options = "--net none", .play = udp},
	{"P53", "TCP fast open, without network", "network namespace",
	 PROOF_HOST, .options = "--net none", .play = fast_open},
	{"P53m", "multipath TCP, without network", "network namespace",
	 PROOF_HOST, .options = "--net none", .play = mptcp},
	{"P48p", "an abstract socket, private network", "network namespace",
	 PROOF_HOST, .options = "NETWORK --net private", .play = to_abstract},
	{"P52p", "a server on this machine, private network",
	 "network namespace", PROOF_HOST, .options = "NETWORK --net private",
	 .play = plain_tcp},
	{"P52d", "the same past the routes, by naming the device",
	 "no neighbours on it", PROOF_HOST, .options = "NETWORK --net private",
	 .play = by_device},
	{"P52m", "a cloud's metadata", "closed routes", PROOF_CLAIM,
	 .options = "NETWORK --net private", .play = metadata},
	{"P52n", "the same by IPv6", "closed routes", PROOF_CLAIM,
	 .options = "NETWORK --net private", .play = metadata6},
	{"P52r", "metadata past the routes, by naming the device",
	 "no neighbours on it", PROOF_CLAIM, .options = "NETWORK --net private",
	 .play = metadata_by_device},
	{"P52s", "the same by IPv6", "no neighbours on it", PROOF_CLAIM,
	 .options = "NETWORK --net private", .play = metadata6_by_device},
	{"P54p", "a server elsewhere is reached, private network", "-",
	 PROOF_WORKS, .options = "NETWORK --net private", .play = somewhere},
	{"P54", "a loopback of its own works", "-", PROOF_WORKS,
	 .options = "--net none", .play = own_loopback},
	{"P55v", "AF_VSOCK", "filter", PROOF_CLAIM, .play = vsock},
	{"P55a", "AF_ALG", "filter", PROOF_CLAIM, .play = algorithms},
	{"P55p", "AF_PACKET", "filter, capabilities", PROOF_CLAIM, "root",
	 .play = packets},
	{"P55n", "netlink: audit", "filter", PROOF_CLAIM, .play = audit},
	{"D03", "netlink: uevents", "filter", PROOF_CLAIM, .play = uevents},
	{"D04", "netlink: xfrm", "filter", PROOF_CLAIM, .play = xfrm},
	{"D05", "netlink: generic", "filter", PROOF_CLAIM, .play = generic},
	{"D06", "netlink, high bits in the family", "filter on the low bits",
	 PROOF_CLAIM, .play = high_family},
	{"D07", "netlink: routes work", "-", PROOF_WORKS, .play = routes},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
