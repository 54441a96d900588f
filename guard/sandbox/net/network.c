#include "guard/sandbox/net/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"

#define TABLE_MAX (64 << 20)

/* Reads the table of route(8): destination and mask are zero. */
static bool has_default4(void)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	unsigned int to, gateway, flags, mask;
	char *save = NULL, *line;

	if (fd_slurp_at(AT_FDCWD, "/proc/self/net/route", TABLE_MAX, &b,
			&ignored) < 0)
		return false;
	(void)buf_text(&b);
	for (line = strtok_r((char *)b.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%*s %x %x %x %*d %*d %*d %x", &to, &gateway,
			   &flags, &mask) == 4 &&
		    to == 0 && mask == 0)
			return true;
	return false;
}

static bool has_default6(void)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char *save = NULL, *line, to[33], device[33];
	unsigned int bits;

	if (fd_slurp_at(AT_FDCWD, "/proc/self/net/ipv6_route", TABLE_MAX, &b,
			&ignored) < 0)
		return false;
	(void)buf_text(&b);
	/* The kernel's own default route, which refuses, belongs to the
	 * loopback. */
	for (line = strtok_r((char *)b.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %*s %32s", to,
			   &bits, device) == 3 &&
		    bits == 0 && strcmp(device, "lo") != 0)
			return true;
	return false;
}

/* The run's name server is an address that pasta forwards to the machine's
 * first one, which may listen on the loopback. */
static void find_name_servers(struct network *n)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	struct in6_addr any;
	char *save = NULL, *line, name[64];

	if (fd_slurp_at(AT_FDCWD, "/etc/resolv.conf", 1 << 20, &b, &ignored) <
	    0)
		return;
	(void)buf_text(&b);
	for (line = strtok_r((char *)b.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
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

static int find_own_addresses(struct network *n, struct err *err)
{
	struct ifaddrs *all, *i;

	if (getifaddrs(&all) < 0)
		return fail_errno(err, "list the machine's addresses");
	for (i = all; i; i = i->ifa_next) {
		struct network_address a = {0};
		void *at = i->ifa_addr;

		if (!at)
			continue;
		a.family = i->ifa_addr->sa_family;
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

int network_find(struct network *n, struct err *err)
{
	*n = (struct network){.v4 = has_default4(), .v6 = has_default6()};
	if (!n->v4 && !n->v6)
		return fail(err, ENETUNREACH,
			    "--net private: this machine has no way out itself "
			    "(no default route); use --net none");
	find_name_servers(n);
	return find_own_addresses(n, err);
}

void network_free(struct network *n)
{
	buf_free(&n->resolv);
	VEC_FREE(&n->own);
	*n = (struct network){0};
}
