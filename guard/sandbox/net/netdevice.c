#include "guard/sandbox/net/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"

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

static size_t add_netlink_address(struct netlink_request *r,
				  unsigned short type, int family,
				  const char *text)
{
	struct in6_addr at;
	size_t len = family == AF_INET ? 4 : 16;

	(void)inet_pton(family, text, &at);
	(void)add_netlink_attribute(r, type, &at, len);
	return len;
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

/* Sets the MTU and switches off automatic addresses and neighbor discovery. */
static int configure_link(int fd, int device, struct err *err)
{
	struct netlink_request r = NETLINK_REQUEST(RTM_NEWLINK, 0, r.link);
	unsigned char none = IN6_ADDR_GEN_MODE_NONE;
	struct rtattr *all, *v6;

	r.link.ifi_index = device;
	add_netlink_number(&r, IFLA_MTU, MTU);
	all = add_netlink_attribute(&r, IFLA_AF_SPEC | NLA_F_NESTED, NULL, 0);
	v6 = add_netlink_attribute(&r, AF_INET6 | NLA_F_NESTED, NULL, 0);
	(void)add_netlink_attribute(&r, IFLA_INET6_ADDR_GEN_MODE, &none, 1);
	end_netlink_nest(&r, v6);
	end_netlink_nest(&r, all);
	/* A kernel without IPv6 refuses the IPv6 part. */
	if (exchange_netlink(fd, &r) == 0)
		return 0;
	r.head.nlmsg_len = NLMSG_LENGTH(sizeof(r.link));
	add_netlink_number(&r, IFLA_MTU, MTU);
	return netlink_request(fd, &r, "set the device up", err);
}

static int bring_device_up(int fd, int device, struct err *err)
{
	struct netlink_request r = NETLINK_REQUEST(RTM_NEWLINK, 0, r.link);

	r.link.ifi_index = device;
	r.link.ifi_flags = r.link.ifi_change = IFF_UP;
	return netlink_request(fd, &r, "bring the device up", err);
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
	for (i = 0; i < sizeof(probes) / sizeof(*probes); i++)
		add_netlink_number(&r, probes[i], 0);
	end_netlink_nest(&r, nest);
	return netlink_request(fd, &r, "close the neighbours", err);
}

static int set_device_address(int fd, int family, int device, const char *text,
			      struct err *err)
{
	struct netlink_request r = NETLINK_REQUEST(
		RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, r.address);

	r.address.ifa_family = (unsigned char)family;
	r.address.ifa_index = (unsigned int)device;
	r.address.ifa_flags = IFA_F_NODAD;
	r.address.ifa_prefixlen =
		(unsigned char)(add_netlink_address(&r, IFA_LOCAL, family,
						    text) *
				8);
	return netlink_request(fd, &r, "give the address", err);
}

static int set_device_gateway(int fd, int family, int device, const char *text,
			      struct err *err)
{
	struct netlink_request neighbor = NETLINK_REQUEST(
		RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, neighbor.neighbor);
	struct netlink_request r = NETLINK_REQUEST(
		RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, r.route);
	int rc;

	neighbor.neighbor.ndm_family = (unsigned char)family;
	neighbor.neighbor.ndm_ifindex = device;
	neighbor.neighbor.ndm_state = NUD_PERMANENT;
	(void)add_netlink_address(&neighbor, NDA_DST, family, text);
	(void)add_netlink_attribute(&neighbor, NDA_LLADDR, gateway_mac,
				    sizeof(gateway_mac));
	rc = netlink_request(fd, &neighbor, "fix the gateway", err);
	if (rc < 0)
		return rc;
	r.route.rtm_family = (unsigned char)family;
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = RTPROT_STATIC;
	r.route.rtm_type = RTN_UNICAST;
	r.route.rtm_flags = RTNH_F_ONLINK;
	(void)add_netlink_address(&r, RTA_GATEWAY, family, text);
	add_netlink_number(&r, RTA_OIF, (uint32_t)device);
	return netlink_request(fd, &r, "route to the gateway", err);
}

/* metric: the lower one wins; device 0: a route that refuses at once. */
static int add_block_route(int fd, const struct network_address *a,
			   uint32_t metric, int device, struct err *err)
{
	struct netlink_request r = NETLINK_REQUEST(
		RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, r.route);

	r.route.rtm_family = (unsigned char)a->family;
	r.route.rtm_dst_len = a->prefix;
	r.route.rtm_table = RT_TABLE_MAIN;
	r.route.rtm_protocol = RTPROT_STATIC;
	r.route.rtm_type = device ? RTN_UNICAST : RTN_PROHIBIT;
	r.route.rtm_scope = device && a->family == AF_INET ? RT_SCOPE_LINK
							   : RT_SCOPE_UNIVERSE;
	(void)add_netlink_attribute(&r, RTA_DST, &a->at,
				    a->family == AF_INET ? 4 : 16);
	add_netlink_number(&r, RTA_PRIORITY, metric);
	if (device)
		add_netlink_number(&r, RTA_OIF, (uint32_t)device);
	return netlink_request(fd, &r, "close an address", err);
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

static int block_address_text(int fd, int device, const char *text,
			      struct err *err)
{
	struct network_address a = {.family = strchr(text, ':') ? AF_INET6
								: AF_INET};
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t len = (size_t)(slash - text);

	memcpy(address, text, len);
	address[len] = '\0';
	(void)inet_pton(a.family, address, &a.at);
	for (slash++; *slash; slash++)
		a.prefix = (unsigned char)(a.prefix * 10 + *slash - '0');
	return block_address(fd, device, &a, err);
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

static int block_addresses(int fd, int family, int device,
			   const struct network *n, struct err *err)
{
	const char *const *text = family == AF_INET ? blocked4 : blocked6;
	size_t i;
	int rc = 0;

	for (; rc == 0 && *text; text++)
		rc = block_address_text(fd, device, *text, err);
	for (i = 0; rc == 0 && i < n->own.count; i++)
		if (n->own.items[i].family == family)
			rc = block_address(fd, device, &n->own.items[i], err);
	return rc;
}

static int configure_family(int fd, int family, int device,
			    const struct network *n, struct err *err)
{
	bool v4 = family == AF_INET;
	int rc = disable_neighbor_probes(fd, family, device, err);

	if (rc == 0)
		rc = set_device_address(fd, family, device,
					v4 ? NETDEVICE_OWN4 : NETDEVICE_OWN6,
					err);
	if (rc == 0)
		rc = block_addresses(fd, family, device, n, err);
	if (rc == 0)
		rc = set_device_gateway(
			fd, family, device,
			v4 ? NETDEVICE_GATEWAY4 : NETDEVICE_GATEWAY6, err);
	return rc;
}

int network_set_up(const struct network *n, struct err *err)
{
	auto_close int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int device = (int)if_nametoindex(NETDEVICE_NAME);
	int rc;

	if (fd < 0)
		return fail_errno(err, "private network: netlink");
	if (!device)
		return fail(err, ENODEV,
			    "private network: pasta made no device");
	rc = configure_link(fd, device, err);
	if (rc == 0)
		rc = bring_device_up(fd, device, err);
	if (rc == 0 && n->v4)
		rc = configure_family(fd, AF_INET, device, n, err);
	if (rc == 0 && n->v6)
		rc = configure_family(fd, AF_INET6, device, n, err);
	return rc;
}
