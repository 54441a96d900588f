#include "guard/run/publish.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

/* Digits only; 0: it is no port. */
static unsigned int parse_port(const char *text, size_t len)
{
	unsigned int port = 0;
	size_t i;

	for (i = 0; i < len && port < 65536; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	return port < 65536 ? port : 0;
}

static bool parse_range(const char *text, unsigned int *first,
			unsigned int *last)
{
	size_t len = strcspn(text, "-");

	*first = *last = parse_port(text, len);
	if (text[len])
		*last = parse_port(text + len + 1, strlen(text + len + 1));
	return *first && *last && *first <= *last;
}

static bool parse_publish(char *text, struct sandbox_port *ret)
{
	unsigned int outside, outside_last, inside, inside_last;
	char *slash = strchr(text, '/'), *colon, *address = NULL;
	struct in6_addr any;
	int family = AF_INET;
	size_t len;

	if (slash) {
		*slash++ = '\0';
		ret->udp = strcmp(slash, "udp") == 0;
		if (!ret->udp && strcmp(slash, "tcp") != 0)
			return false;
	}
	colon = strrchr(text, ':');
	if (!parse_range(colon ? colon + 1 : text, &inside, &inside_last))
		return false;
	outside = inside;
	outside_last = inside_last;
	if (colon) {
		*colon = '\0';
		address = strrchr(text, ':');
		if (address)
			*address = '\0';
		if (!parse_range(address ? address + 1 : text, &outside,
				 &outside_last))
			return false;
	}
	if (address) {
		len = strlen(text);
		if (*text == '[' && text[len - 1] == ']') {
			text[len - 1] = '\0';
			text++;
			family = AF_INET6;
		}
		if (inet_pton(family, text, &any) != 1)
			return false;
		strcpy(ret->host, text);
	}
	ret->outside = (uint16_t)outside;
	ret->inside = (uint16_t)inside;
	ret->more = (uint16_t)(inside_last - inside);
	return outside_last - outside == inside_last - inside;
}

int publish_parse(const char *text, struct sandbox_port *ret, struct err *err)
{
	auto_free char *copy = mem_strdup(text);

	*ret = (struct sandbox_port){.host = "127.0.0.1"};
	if (parse_publish(copy, ret))
		return 0;
	return fail(
		err, EINVAL,
		"--publish must be PORT, OUTSIDE:INSIDE or "
		"ADDRESS:OUTSIDE:INSIDE, with /udp at the end for UDP, not %s",
		text_quote(text));
}
