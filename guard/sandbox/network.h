/*
 * --net private: a network namespace of the run's own. pasta (Debian package
 * passt), a program that copies between a tap device and ordinary sockets
 * outside, connects it to the machine's network.
 *
 *	network_find()	 the machine's networks, addresses and name servers
 *	pasta_start()	 once the run's user namespace has its maps
 *	pasta_wait()	 until the device exists
 *	network_set_up() in the run's pid 1, before it drops its privileges
 *	pasta_end()
 *
 * pasta connects to any address, 127.0.0.1 of the machine included. So no
 * packet to a blocked address may leave the device, and a run has many ways to
 * choose a route (SO_BINDTODEVICE, IP_PKTINFO, scope ids). Therefore the device
 * resolves no neighbors: all traffic goes through one gateway with a fixed
 * entry, and routes that bypass the gateway lead nowhere. The namespace belongs
 * to the outer user namespace, so that the run cannot change it.
 *
 * Blocked: the machine's loopback and all its addresses, link-local addresses,
 * and the metadata services of clouds. Open: all others, the local network
 * too.
 */
#ifndef GUARD_SANDBOX_NETWORK_H
#define GUARD_SANDBOX_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/sandbox/sandbox.h"
#include "base/vec.h"

/* The device and its addresses, from ranges for documentation (RFC 5737, RFC
 * 3849): no real network uses them, so none is hidden by them. */
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
	bool v4, v6; /* the machine has a default route */
	bool name_server4, name_server6; /* and a name server */
	struct buf resolv; /* the run's /etc/resolv.conf */
	/* All addresses of the machine. */
	VEC(struct network_address) own;
};

/* Fills n. Error: -ENETUNREACH if the machine has no default route. */
int network_find(struct network *n, struct err *err);
void network_free(struct network *n);
/* Configures the device, by CAP_NET_ADMIN over the current network
 * namespace. */
int network_set_up(const struct network *n, struct err *err);

struct pasta {
	pid_t pid; /* the supervisor, pid 1 of pasta's pid namespace; 0: none */
	int pid_fd; /* readable when pasta has ended; -1: none */
	int ready_fd, log_fd;
};

/* The path of the installed program, static; NULL: not installed. */
const char *pasta_find(void);
/* Starts pasta for the namespaces of the process run, which belong to the
 * caller, and returns at once. The kernel ends pasta with the calling
 * process. */
int pasta_start(struct pasta *p, const struct network *n,
		const struct sandbox_policy *policy, pid_t run,
		struct err *err);
/* Waits for the device. The error has pasta's own message. */
int pasta_wait(struct pasta *p, struct err *err);
/* Ends pasta and closes its descriptors. May be called again. */
void pasta_end(struct pasta *p);

#endif
