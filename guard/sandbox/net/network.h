/*
 * --net private: a network namespace of the run's own, joined to the machine's
 * network by pasta (Debian package passt), a program that copies between a tap
 * device and ordinary sockets outside.
 *
 *	network_find()	what the machine has: networks, addresses, name servers
 *	pasta_start()	once the run's user namespace has its maps
 *	pasta_wait()	the device is there
 *	network_set_up() in the run's pid 1, before it gives its rights up
 *	pasta_end()
 *
 * pasta connects wherever it is told to, to 127.0.0.1 of the machine too. So
 * nothing that is to stay closed may come out of the device, and the run has
 * many ways to choose a route (SO_BINDTODEVICE, IP_PKTINFO, scope ids). That
 * is why the device resolves no neighbours: all its traffic goes through one
 * gateway, whose entry is fixed, and what has a route that is not through that
 * gateway goes nowhere. The namespace belongs to the outer user namespace: the
 * run can change none of this.
 *
 * Closed: the machine's loopback, each address that it has itself, link-local
 * ones and those where clouds keep their metadata. Open: everything else, the
 * local network too.
 */
#ifndef GUARD_SANDBOX_NET_NETWORK_H
#define GUARD_SANDBOX_NET_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/sandbox/sandbox.h"
#include "base/vec.h"

/* The device and the addresses on it: for documentation only (RFC 5737, RFC
 * 3849), so that no network has them and none is hidden behind them. */
#define NETDEVICE_NAME "net0"
#define NETDEVICE_OWN4 "198.51.100.2"
#define NETDEVICE_GATEWAY4 "198.51.100.1"
#define NETDEVICE_NAME_SERVER4 "198.51.100.3"
#define NETDEVICE_OWN6 "2001:db8:6775:6172::2"
#define NETDEVICE_GATEWAY6 "2001:db8:6775:6172::1"
#define NETDEVICE_NAME_SERVER6 "2001:db8:6775:6172::3"

struct network_address {
	int family; /* AF_INET, AF_INET6 */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	} at;
	unsigned char prefix; /* bits */
};

struct network {
	bool v4, v6; /* the machine has a way out with it */
	bool name_server4, name_server6; /* and a name server */
	struct buf resolv; /* the run's /etc/resolv.conf */
	/* The machine's own, its loopback and link-local ones left out. */
	VEC(struct network_address) own;
};

/* -ENETUNREACH: the machine has no way out itself. */
int network_find(struct network *n, struct err *err);
void network_free(struct network *n);
/* By CAP_NET_ADMIN over the network namespace that the caller is in. */
int network_set_up(const struct network *n, struct err *err);

struct pasta {
	pid_t pid; /* of the first process of its pid namespace; 0: none */
	int pid_fd; /* readable when pasta has ended; -1: none */
	int ready_fd, log_fd;
};

/* Its path, static; NULL: it is not installed. */
const char *pasta_find(void);
/* run: whose namespaces; its caller is their owner. Returns at once. pasta is
 * ended with this process, whatever ends that. */
int pasta_start(struct pasta *p, const struct network *n,
		const struct sandbox_policy *policy, pid_t run,
		struct err *err);
/* Until the device is there; the error is what pasta says. */
int pasta_wait(struct pasta *p, struct err *err);
void pasta_end(struct pasta *p);

#endif
