#include "guard/sandbox/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/sandbox/procfs.h"

/* The device's packets are not forwarded: pasta creates packets of its own. */
#define MTU 65520

/* Arbitrary: pasta accepts any destination. */
static const unsigned char gateway_mac[6] = {2, 0, 0, 0, 0, 1};

/* A request of rtnetlink(7) with space for its attributes. */
struct netlink_request {
	struct nlmsghdr head;
	union {
		struct ifinfomsg link;
		struct ifaddrmsg address;
		struct rtmsg route;
		struct ndmsg neighbor;
		struct ndtmsg table;
	};
	char bytes[256];
};

#define NETLINK_REQUEST(kind, flags, part)                                     \
	{                                                                      \
		.head = {                                                      \
			.nlmsg_len = NLMSG_LENGTH(sizeof(part)),               \
			.nlmsg_type = (kind),                                  \
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (flags),    \
		},                                                             \
	}

static struct rtattr *add_netlink_attribute(struct netlink_request *r,
					    unsigned short type,
					    const void *data, size_t len)
{
	struct rtattr *a = (void *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len =
		NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

static void add_netlink_number(struct netlink_request *r, unsigned short type,
			       uint32_t number)
{
	(void)add_netlink_attribute(r, type, &number, sizeof(number));
}

/* Ends a nested attribute: the attributes added since belong to it. */
static void end_netlink_nest(struct netlink_request *r, struct rtattr *nest)
{
	nest->rta_len =
		(unsigned short)((char *)r + r->head.nlmsg_len - (char *)nest);
}

static void add_netlink_address(struct netlink_request *r, unsigned short type,
				int family, const char *text)
{
	struct in6_addr at;

	(void)inet_pton(family, text, &at);
	(void)add_netlink_attribute(r, type, &at, family == AF_INET ? 4 : 16);
}

/* Returns 0 or the errno of the reply. */
static int exchange_netlink(int fd, struct netlink_request *r)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char bytes[512];
	} answer;

	if (send(fd, r, r->head.nlmsg_len, 0) < 0)
		return errno;
	if (recv(fd, &answer, sizeof(answer), 0) <
		    (ssize_t)NLMSG_LENGTH(sizeof(answer.error)) ||
	    answer.head.nlmsg_type != NLMSG_ERROR)
		return EBADMSG;
	return -answer.error.error;
}

static int netlink_request(int fd, struct netlink_request *r, const char *what,
			   struct err *err)
{
	int num = exchange_netlink(fd, r);

	return num ? fail_num(err, num, "private network: %s", what) : 0;
}

/* Switches off ARP and neighbor discovery: addresses without a fixed entry are
 * unreachable. */
static int disable_neighbor_probes(int fd, int family, int device,
				   struct err *err)
{
	static const unsigned short probes[] = {
		NDTPA_APP_PROBES, NDTPA_UCAST_PROBES, NDTPA_MCAST_PROBES};
	const char *name = family == AF_INET ? "arp_cache" : "ndisc_cache";
	struct netlink_request r = NETLINK_REQUEST(RTM_SETNEIGHTBL, 0, r.table);
	struct rtattr *nest;
	size_t i;

	r.table.ndtm_family = (unsigned char)family;
	(void)add_netlink_attribute(&r, NDTA_NAME, name, strlen(name) + 1);
	nest = add_netlink_attribute(&r, NDTA_PARMS | NLA_F_NESTED, NULL, 0);
	add_netlink_number(&r, NDTPA_IFINDEX, (uint32_t)device);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		add_netlink_number(&r, probes[i], 0);
	end_netlink_nest(&r, nest);
	return netlink_request(fd, &r, "block the neighbors", err);
}

/* device 0: none. */
static struct netlink_request route_request(int family, unsigned char type,
					    int device)
{
	struct netlink_request r = NETLINK_REQUEST(
		RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, r.route);

	r.route.rtm_family = (unsigned char)family;
	r.route.rtm_table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
	r.route.rtm_protocol = RTPROT_STATIC;
	r.route.rtm_type = type;
	if (device)
		add_netlink_number(&r, RTA_OIF, (uint32_t)device);
	return r;
}

static int set_device_gateway(int fd, int family, int device, const char *text,
			      struct err *err)
{
	struct netlink_request neighbor = NETLINK_REQUEST(
		RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, neighbor.neighbor);
	struct netlink_request r = route_request(family, RTN_UNICAST, device);

	neighbor.neighbor.ndm_family = (unsigned char)family;
	neighbor.neighbor.ndm_ifindex = device;
	neighbor.neighbor.ndm_state = NUD_PERMANENT;
	add_netlink_address(&neighbor, NDA_DST, family, text);
	(void)add_netlink_attribute(&neighbor, NDA_LLADDR, gateway_mac,
				    sizeof(gateway_mac));
	if (netlink_request(fd, &neighbor, "set the gateway", err) < 0)
		return -err->num;
	r.route.rtm_flags = RTNH_F_ONLINK;
	add_netlink_address(&r, RTA_GATEWAY, family, text);
	return netlink_request(fd, &r, "route to the gateway", err);
}

/* metric: the lower one wins; device 0: a route that refuses at once. */
static int add_block_route(int fd, const struct network_address *a,
			   uint32_t metric, int device, struct err *err)
{
	struct netlink_request r = route_request(
		a->family, device ? RTN_UNICAST : RTN_PROHIBIT, device);

	r.route.rtm_dst_len = a->prefix;
	r.route.rtm_scope = device && a->family == AF_INET ? RT_SCOPE_LINK
							   : RT_SCOPE_UNIVERSE;
	(void)add_netlink_attribute(&r, RTA_DST, &a->at,
				    a->family == AF_INET ? 4 : 16);
	add_netlink_number(&r, RTA_PRIORITY, metric);
	return netlink_request(fd, &r, "block an address", err);
}

/* Blocks an address by two routes. The first refuses at once. A program that
 * binds to the device does not see it and would get the gateway's less specific
 * route, so the second leads to a neighbor that is never resolved. */
static int block_address(int fd, int device, const struct network_address *a,
			 struct err *err)
{
	int rc = add_block_route(fd, a, 1, 0, err);

	return rc < 0 ? rc : add_block_route(fd, a, 2, device, err);
}

/* Addresses that a socket outside would connect to the machine itself,
 * link-local addresses, and the metadata services of clouds. */
static const char *const blocked4[] = {"0.0.0.0/8",
				       "127.0.0.0/8",
				       "169.254.0.0/16",
				       "100.100.100.200/32" /* Alibaba */,
				       "168.63.129.16/32" /* Azure */,
				       "192.0.0.192/32" /* Oracle */,
				       NULL};
static const char *const blocked6[] = {
	"::/96",
	"::ffff:0:0/96",
	"fe80::/10",
	"64:ff9b::7f00:0/104" /* loopback behind NAT64 */,
	"64:ff9b::a9fe:0/112",
	"fd00:ec2::/64" /* Amazon */,
	"fd20:ce::254/128" /* Google */,
	"fd00:42::42/128" /* Scaleway */,
	NULL};

/* The kernel adds the route that delivers an IPv6 address's packets in a
 * work queue, later than the address. A connection made before would lose its
 * answer, and pasta does not repeat it. */
static int deliver_address6(int fd, int device, struct err *err)
{
	struct netlink_request r = route_request(AF_INET6, RTN_LOCAL, device);

	r.route.rtm_dst_len = 128;
	add_netlink_address(&r, RTA_DST, AF_INET6, NETDEVICE_OWN6);
	return netlink_request(fd, &r, "deliver the address", err);
}

static int configure_family(int fd, int family, int device,
			    const struct network *n, struct err *err)
{
	bool v4 = family == AF_INET;
	const char *own = v4 ? NETDEVICE_OWN4 : NETDEVICE_OWN6;
	const char *gateway = v4 ? NETDEVICE_GATEWAY4 : NETDEVICE_GATEWAY6;
	const char *const *text = v4 ? blocked4 : blocked6;
	struct netlink_request r = NETLINK_REQUEST(
		RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, r.address);
	size_t i;

	r.address.ifa_family = (unsigned char)family;
	r.address.ifa_index = (unsigned int)device;
	r.address.ifa_flags = IFA_F_NODAD;
	r.address.ifa_prefixlen = v4 ? 32 : 128;
	add_netlink_address(&r, IFA_LOCAL, family, own);
	if (disable_neighbor_probes(fd, family, device, err) < 0 ||
	    netlink_request(fd, &r, "set the address", err) < 0 ||
	    (!v4 && deliver_address6(fd, device, err) < 0))
		return -err->num;
	for (; *text; text++) {
		size_t len = strcspn(*text, "/");
		auto_free char *address = mem_strndup(*text, len);
		struct network_address a = {.family = family};

		a.prefix = (unsigned char)atoi(*text + len + 1);
		(void)inet_pton(family, address, &a.at);
		if (block_address(fd, device, &a, err) < 0)
			return -err->num;
	}
	for (i = 0; i < n->own.count; i++)
		if (n->own.items[i].family == family &&
		    block_address(fd, device, &n->own.items[i], err) < 0)
			return -err->num;
	return set_device_gateway(fd, family, device, gateway, err);
}

int network_set_up(const struct network *n, struct err *err)
{
	auto_close int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int device = (int)if_nametoindex(NETDEVICE_NAME);
	struct netlink_request r = NETLINK_REQUEST(RTM_NEWLINK, 0, r.link);
	struct netlink_request up = NETLINK_REQUEST(RTM_NEWLINK, 0, up.link);
	unsigned char none = IN6_ADDR_GEN_MODE_NONE;
	struct rtattr *all, *v6;

	if (fd < 0)
		return fail_errno(err, "private network: netlink");
	if (!device)
		return fail(err, ENODEV,
			    "private network: pasta created no device");
	/* The MTU, no automatic addresses and no neighbor discovery; then the
	 * device is brought up. */
	r.link.ifi_index = up.link.ifi_index = device;
	add_netlink_number(&r, IFLA_MTU, MTU);
	all = add_netlink_attribute(&r, IFLA_AF_SPEC | NLA_F_NESTED, NULL, 0);
	v6 = add_netlink_attribute(&r, AF_INET6 | NLA_F_NESTED, NULL, 0);
	(void)add_netlink_attribute(&r, IFLA_INET6_ADDR_GEN_MODE, &none, 1);
	end_netlink_nest(&r, v6);
	end_netlink_nest(&r, all);
	/* A kernel without IPv6 refuses the IPv6 part. */
	if (exchange_netlink(fd, &r) != 0) {
		r.head.nlmsg_len = NLMSG_LENGTH(sizeof(r.link));
		add_netlink_number(&r, IFLA_MTU, MTU);
		if (netlink_request(fd, &r, "set the device up", err) < 0)
			return -err->num;
	}
	up.link.ifi_flags = up.link.ifi_change = IFF_UP;
	if (netlink_request(fd, &up, "bring the device up", err) < 0 ||
	    (n->v4 && configure_family(fd, AF_INET, device, n, err) < 0))
		return -err->num;
	return n->v6 ? configure_family(fd, AF_INET6, device, n, err) : 0;
}

/* Reads a table of route(8). A default route has a destination and a mask of
 * zero. For IPv6 the kernel has an unreachable default route on the loopback
 * device, which does not count. */
static bool has_default_route(const char *table, bool v6)
{
	AUTO(names) struct names lines = {0};
	unsigned int to, mask;
	char device[33];
	size_t i;

	procfs_lines(table, &lines);
	for (i = 0; i < lines.count; i++) {
		const char *line = lines.items[i];

		if (v6 ? sscanf(line,
				"%*32s %x %*s %*s %*s %*s %*s %*s %*s %32s",
				&mask, device) == 2 &&
				    mask == 0 && strcmp(device, "lo") != 0
		       : sscanf(line, "%*s %x %*x %*x %*d %*d %*d %x", &to,
				&mask) == 2 &&
				    to == 0 && mask == 0)
			return true;
	}
	return false;
}

/* The run's name server is an address that pasta forwards to the machine's
 * first one, which may listen on the loopback. */
static void find_name_servers(struct network *n)
{
	AUTO(names) struct names lines = {0};
	struct in6_addr any;
	char name[64];
	size_t i;

	procfs_lines("/etc/resolv.conf", &lines);
	for (i = 0; i < lines.count; i++) {
		const char *line = lines.items[i];

		if (sscanf(line, "nameserver %63s", name) == 1) {
			if (n->v4 && inet_pton(AF_INET, name, &any) == 1)
				n->name_server4 = true;
			if (n->v6 && inet_pton(AF_INET6, name, &any) == 1)
				n->name_server6 = true;
		} else if (strncmp(line, "search ", 7) == 0 ||
			   strncmp(line, "domain ", 7) == 0 ||
			   strncmp(line, "options ", 8) == 0) {
			buf_printf(&n->resolv, "%s\n", line);
		}
	}
	if (n->name_server4)
		buf_add_text(&n->resolv,
			     "nameserver " NETDEVICE_NAME_SERVER4 "\n");
	if (n->name_server6)
		buf_add_text(&n->resolv,
			     "nameserver " NETDEVICE_NAME_SERVER6 "\n");
}

int network_find(struct network *n, struct err *err)
{
	struct ifaddrs *all, *i;

	*n = (struct network){
		.v4 = has_default_route("/proc/self/net/route", false),
		.v6 = has_default_route("/proc/self/net/ipv6_route", true),
	};
	if (!n->v4 && !n->v6)
		return fail(err, ENETUNREACH,
			    "--net private: this machine has no default route; "
			    "use --net none");
	find_name_servers(n);
	if (getifaddrs(&all) < 0)
		return fail_errno(err, "list the machine's addresses");
	for (i = all; i; i = i->ifa_next) {
		void *at = i->ifa_addr;
		struct network_address a = {
			.family = at ? i->ifa_addr->sa_family : AF_UNSPEC};

		if (a.family == AF_INET) {
			a.at.v4 = ((struct sockaddr_in *)at)->sin_addr;
			a.prefix = 32;
		} else if (a.family == AF_INET6) {
			a.at.v6 = ((struct sockaddr_in6 *)at)->sin6_addr;
			a.prefix = 128;
		} else {
			continue;
		}
		*VEC_ADD(&n->own) = a;
	}
	freeifaddrs(all);
	return 0;
}

void network_free(struct network *n)
{
	buf_free(&n->resolv);
	VEC_FREE(&n->own);
	*n = (struct network){0};
}

/* Not found by PATH, which may contain directories that receive the result of a
 * run. */
static const char *const pasta_paths[] = {"/usr/bin/pasta",
					  "/usr/local/bin/pasta", "/bin/pasta",
					  "/run/current-system/sw/bin/pasta"};

/* Descriptors of the supervisor after all others are closed. */
enum { LOG_FD = 2, READY_FD, NETWORK_FD, FIRST_FREE_FD };

const char *pasta_find(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pasta_paths); i++)
		if (access(pasta_paths[i], X_OK) == 0)
			return pasta_paths[i];
	return NULL;
}

/* ---- pasta's arguments ---- */

static void add_pasta_family(struct names *a, const char *own,
			     const char *gateway, const char *names)
{
	names_add(a, "--address");
	names_add(a, own);
	names_add(a, "--gateway");
	names_add(a, gateway);
	if (!names)
		return;
	names_add(a, "--dns-forward");
	names_add(a, names);
}

static void add_pasta_ports(struct names *a,
			    const struct sandbox_policy *policy, bool udp)
{
	const char *option = udp ? "--udp-ports" : "--tcp-ports";
	bool any = false;
	size_t i;

	for (i = 0; i < policy->port_count; i++) {
		const struct sandbox_port *p = &policy->ports[i];
		auto_free char *text = NULL;

		if (p->udp != udp)
			continue;
		text = mem_printf("%s/%u-%u:%u-%u", p->host, p->outside,
				  p->outside + p->more, p->inside,
				  p->inside + p->more);
		names_add(a, option);
		names_add(a, text);
		any = true;
	}
	if (any)
		return;
	names_add(a, option);
	names_add(a, "none");
}

/* No way from the run to the machine's loopback: no mapping of the gateway, no
 * ports. pasta announces no addresses; network_set_up() sets them. */
static char **make_pasta_arguments(const struct network *n,
				   const struct sandbox_policy *policy)
{
	static const char *const always[] = {"--quiet",
					     "--runas",
					     "0:0",
					     "--netns-only",
					     "--ns-ifname",
					     NETDEVICE_NAME,
					     "--no-netns-quit",
					     "--no-map-gw",
					     "--tcp-ns",
					     "none",
					     "--udp-ns",
					     "none",
					     "--no-dhcp",
					     "--no-dhcpv6",
					     "--no-ndp",
					     "--no-ra"};
	struct names a = {0};
	size_t i;

	names_add(&a, "pasta");
	for (i = 0; i < ARRAY_SIZE(always); i++)
		names_add(&a, always[i]);
	if (n->v4)
		add_pasta_family(&a, NETDEVICE_OWN4, NETDEVICE_GATEWAY4,
				 n->name_server4 ? NETDEVICE_NAME_SERVER4
						 : NULL);
	else
		names_add(&a, "--ipv6-only");
	if (n->v6)
		add_pasta_family(&a, NETDEVICE_OWN6, NETDEVICE_GATEWAY6,
				 n->name_server6 ? NETDEVICE_NAME_SERVER6
						 : NULL);
	else
		names_add(&a, "--ipv4-only");
	add_pasta_ports(&a, policy, false);
	add_pasta_ports(&a, policy, true);
	names_add(&a, "--netns");
	/* Two entries for the path and the NULL at the end. */
	a.items = mem_resize(a.items, a.count + 2, sizeof(*a.items));
	a.items[a.count] = a.items[a.count + 1] = NULL;
	return a.items;
}

/* The first process of pasta's pid namespace. The kernel kills it with guard,
 * and with it all processes of the namespace. pasta itself cannot be bound to
 * guard, since it changes its credentials. */
static void __attribute__((noreturn)) supervise_pasta(char **pasta_arguments)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	const char *program = pasta_find();
	char number[32] = "", **last = pasta_arguments, byte;
	sigset_t no_signals;
	int gate[2], status = 0;
	pid_t pid;

	(void)setsid();
	(void)sigemptyset(&no_signals);
	(void)sigprocmask(SIG_SETMASK, &no_signals, NULL);
	/* pasta fails if SIGPIPE is ignored. */
	(void)signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || !program ||
	    readlink("/proc/self", number, sizeof(number) - 1) <= 0 ||
	    pipe2(gate, O_CLOEXEC) < 0)
		_exit(1);
	while (*last)
		last++;
	*last = mem_printf("/proc/%s/ns/net", number);
	pid = fork();
	if (pid == 0) {
		(void)close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		(void)execve(program, pasta_arguments, (char *[]){NULL});
		_exit(127);
	}
	/* Without any capability, so that pasta, which has dropped some, may
	 * open this process's namespace. */
	if (setns(NETWORK_FD, CLONE_NEWNET) < 0 ||
	    syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0)
		_exit(1);
	(void)close(gate[0]);
	(void)close(gate[1]);
	/* pasta goes into the background when it is ready. SIGPIPE ends this
	 * process if guard has ended. */
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 ||
	    write(READY_FD, "", 1) != 1)
		_exit(1);
	(void)close(READY_FD);
	(void)close(NETWORK_FD);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	_exit(0);
}

static bool keep_pasta_descriptors(int log, int ready, int network)
{
	int kept[] = {log, ready, network}, i;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (i = 0; i < 3; i++)
		kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 10);
	for (i = 0; i < 3; i++)
		if (dup3(kept[i], LOG_FD + i, i ? O_CLOEXEC : 0) < 0)
			return false;
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return false;
	return close_range(FIRST_FREE_FD, ~0U, 0) == 0;
}

/* Starts the supervisor by a helper process: a process that has joined a user
 * namespace cannot leave it. In the user namespace the supervisor may create a
 * pid namespace; its network is the machine's. */
static int start_supervisor(struct pasta *p, int user, int network, int ready,
			    char **pasta_arguments, struct err *err)
{
	pid_t helper, pid = -1;
	int answer[2];

	if (pipe2(answer, O_CLOEXEC) < 0)
		return fail_errno(err, "start pasta");
	helper = child_fork("guard-network");
	if (helper == 0) {
		if (setns(user, CLONE_NEWUSER) == 0)
			pid = (pid_t)syscall(SYS_clone,
					     CLONE_NEWPID | CLONE_PARENT |
						     SIGCHLD,
					     NULL, NULL, NULL, 0UL);
		if (pid == 0 &&
		    keep_pasta_descriptors(p->log_fd, ready, network))
			supervise_pasta(pasta_arguments);
		if (pid < 0)
			pid = -errno;
		(void)!write(answer[1], &pid, sizeof(pid));
		_exit(0);
	}
	(void)close(answer[1]);
	if (helper < 0 ||
	    read(answer[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		pid = -EAGAIN;
	(void)close(answer[0]);
	(void)child_wait(helper);
	if (pid < 0)
		return fail_num(err, -pid, "start pasta");
	p->pid = pid;
	p->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return p->pid_fd < 0 ? fail_errno(err, "watch pasta") : 0;
}

int pasta_start(struct pasta *p, const struct network *n,
		const struct sandbox_policy *policy, pid_t run, struct err *err)
{
	auto_close int user = procfs_namespace(run, "user");
	auto_close int network = procfs_namespace(run, "net");
	char **pasta_arguments;
	int ready[2], rc;

	if (user < 0 || network < 0)
		return fail_errno(err, "open the run's namespaces");
	if (pipe2(ready, O_CLOEXEC) < 0)
		return fail_errno(err, "start pasta");
	p->ready_fd = ready[0];
	p->log_fd = memfd_create("pasta", MFD_CLOEXEC);
	pasta_arguments = make_pasta_arguments(n, policy);
	rc = p->log_fd < 0 ? fail_errno(err, "start pasta")
			   : start_supervisor(p, user, network, ready[1],
					      pasta_arguments, err);
	(void)close(ready[1]);
	mem_list_free(&pasta_arguments);
	return rc;
}

/* ---- in guard ---- */

int pasta_wait(struct pasta *p, struct err *err)
{
	AUTO(buf) struct buf log = {0};
	struct err ignored;
	const char *why = NULL;
	char byte, *line, *save = NULL;
	ssize_t n;

	do
		n = read(p->ready_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	fd_close(&p->ready_fd);
	if (n == 1)
		return 0;
	/* The reason is pasta's last line, except for a complaint about a
	 * missing system logger. */
	if (lseek(p->log_fd, 0, SEEK_SET) < 0 ||
	    fd_slurp(p->log_fd, 1 << 16, &log, &ignored) < 0)
		buf_clear(&log);
	(void)buf_text(&log);
	for (line = strtok_r((char *)log.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strstr(line, "to syslog"))
			why = line;
	if (!why && access("/dev/net/tun", R_OK | W_OK) < 0)
		why = "/dev/net/tun cannot be opened";
	return fail(err, ENETDOWN,
		    "--net private: pasta does not start: %s (see guard "
		    "doctor; --net none works without pasta)",
		    why ? text_quote(why) : "no error message");
}

void pasta_end(struct pasta *p)
{
	child_end(&p->pid);
	fd_close(&p->pid_fd);
	fd_close(&p->ready_fd);
	fd_close(&p->log_fd);
}
