#include "guard/cli/run_parse.h"

#include <math.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/run/publish.h"

/* The kernel's own limit. */
#define PIDS_MOST (1ul << 22)
#define STRICT_MEMORY (512ULL << 20)
#define VERSIONS_MIN_MS 100

/* --- options that the record of the run keeps --- */

/* Values of variables may be secrets: the record keeps none. */
static char *saved_value(const struct option_spec *option, const char *value)
{
	struct err ignored;
	char *path = NULL;

	if (strcmp(option->name, "env") == 0)
		return mem_strndup(value, strcspn(value, "="));
	if (strcmp(option->value, "PATH") == 0)
		path = path_resolve(value, &ignored);
	return path ?: mem_strdup(value);
}

static char **saved_options(const struct options *o)
{
	char **list = NULL;
	size_t i;

	for (i = 0; i < o->given_count; i++) {
		const struct option_given *given = &o->given[i];
		auto_free char *value = NULL, *text = NULL;

		if (!given->option->saved)
			continue;
		if (given->value)
			value = saved_value(given->option, given->value);
		text = mem_printf("--%s%s%s", given->option->name,
				  value ? "=" : "", value ?: "");
		mem_list_add(&list, text);
	}
	return list;
}

/* --- values --- */

/* Digits and a point: not all that strtod(3) takes. */
static bool is_number(const char *text, const char *end)
{
	return end > text &&
	       strspn(text, "0123456789.") == (size_t)(end - text);
}

/* As docker reads it: bytes, or with b, k, m, g, t, p, powers of 1024, also as
 * kb or kib, and with a blank before. False: neither. */
static bool parse_bytes(const char *text, uint64_t *ret)
{
	static const char units[] = "bkmgtp";
	const char *unit = units;
	char *end;
	double value = strtod(text, &end);

	if (!is_number(text, end))
		return false;
	end += *end == ' ' && end[1];
	if (*end) {
		unit = strchr(units, *end | 0x20);
		if (!unit || (end[1] && (unit == units ||
					 (strcasecmp(end + 1, "b") != 0 &&
					  strcasecmp(end + 1, "ib") != 0))))
			return false;
	}
	value = ldexp(value, 10 * (int)(unit - units));
	*ret = value < 1e18 ? (uint64_t)value : 0;
	return value < 1e18;
}

/* zero: 0 is permitted, too. */
static int set_memory(const char *name, const char *value, uint64_t least,
		      bool zero, uint64_t *ret, struct err *err)
{
	if (parse_bytes(value, ret) && (*ret >= least || (zero && !*ret)))
		return 0;
	return fail(
		err, EINVAL,
		"--%s must be a size like 512m or 2g, at least %lluk, not %s",
		name, (unsigned long long)(least >> 10), text_quote(value));
}

static int set_cpus(struct run_options *o, const char *value, struct err *err)
{
	char *end;
	double number = strtod(value, &end);

	if (!is_number(value, end) || *end || (number < 0.01 && number > 0) ||
	    number > 1e6)
		return fail(err, EINVAL,
			    "--cpus must be a number of processors like 2 or "
			    "1.5, not %s",
			    text_quote(value));
	o->cpus_milli = (unsigned int)(number * 1000);
	return 0;
}

/* -1 or 0: none but the kernel's. */
static int set_pids(struct run_options *o, const char *value, struct err *err)
{
	unsigned long number = 0;

	if (strcmp(value, "-1") != 0 &&
	    parse_number(value, PIDS_MOST, &number) < 0)
		return fail(
			err, EINVAL,
			"--pids-limit must be a number, or -1 for none, not %s",
			text_quote(value));
	o->pids_limit = number ?: PIDS_MOST;
	return 0;
}

static bool parse_id(const char *text, unsigned int *ret)
{
	unsigned long number;

	if (parse_number(text, UINT32_MAX - 1, &number) < 0)
		return false;
	*ret = (unsigned int)number;
	return true;
}

/* UID[:GID] or names, as docker takes them; the group is the user's own, or
 * for a bare number the same number; his other groups come along where none is
 * named. */
static int set_user(struct parsed *p, const char *value, struct err *err)
{
	struct run_options *o = &p->options;
	auto_free char *name = mem_strdup(value);
	char *group = strchr(name, ':');
	struct passwd *pw;
	struct group *gr;

	if (geteuid() != 0)
		return fail(err, EPERM,
			    "--user is for root only: other runs have the "
			    "user's own id");
	if (group)
		*group++ = '\0';
	if (group && !*group)
		group = NULL;
	pw = getpwnam(name);
	if (pw) {
		o->user = pw->pw_uid;
		o->group = pw->pw_gid;
	} else if (parse_id(name, &o->user)) {
		pw = getpwuid(o->user);
		o->group = pw ? pw->pw_gid : o->user;
	} else {
		return fail(err, EINVAL, "--user: no such user: %s",
			    text_quote(name));
	}
	if (!group && pw) {
		int count = 64;

		p->groups = mem_alloc((size_t)count * sizeof(*p->groups));
		if (getgrouplist(pw->pw_name, pw->pw_gid, p->groups, &count) <
		    0) {
			free(p->groups);
			p->groups =
				mem_alloc((size_t)count * sizeof(*p->groups));
			if (getgrouplist(pw->pw_name, pw->pw_gid, p->groups,
					 &count) < 0)
				count = 0;
		}
		p->options.groups = p->groups;
		p->options.group_count = (size_t)count;
	}
	if (group && !parse_id(group, &o->group)) {
		gr = getgrnam(group);
		if (!gr)
			return fail(err, EINVAL, "--user: no such group: %s",
				    text_quote(group));
		o->group = gr->gr_gid;
	}
	o->has_user = true;
	return 0;
}

/* The limits of `docker run --rm --network none --cap-drop ALL --security-opt
 * no-new-privileges --read-only --tmpfs /tmp --memory 512m --cpus 1
 * --pids-limit 100`; explicit options win. */
static void apply_strict(struct run_options *o, const struct options *given)
{
	if (!o->strict)
		return;
	if (!given->net)
		o->net = SANDBOX_NET_NONE;
	if (!given->memory)
		o->memory = STRICT_MEMORY;
	if (!o->tmp_size)
		o->tmp_size = STRICT_MEMORY;
	if (!given->cpus)
		o->cpus_milli = 1000;
	if (!o->pids_limit)
		o->pids_limit = 100;
}

/* The limits that are not numbers, times or sizes as of other verbs. */
static int set_limits(struct parsed *p, const struct options *o,
		      struct err *err)
{
	struct run_options *r = &p->options;

	if ((o->cpus && set_cpus(r, o->cpus, err) < 0) ||
	    (o->pids_limit && set_pids(r, o->pids_limit, err) < 0) ||
	    (o->memory && set_memory("memory", o->memory, 6 << 20, true,
				     &r->memory, err) < 0) ||
	    (o->tmp_size && set_memory("tmp-size", o->tmp_size, 4 << 10, false,
				       &r->tmp_size, err) < 0) ||
	    (o->user && set_user(p, o->user, err) < 0))
		return -err->num;
	if (o->versions && o->versions < VERSIONS_MIN_MS)
		return fail(err, EINVAL,
			    "--versions must be a time of at least 0.1s, or 0 "
			    "for none");
	r->versions_ms = o->versions;
	r->timeout_ms = o->timeout;
	r->layer_bytes = o->layer_size;
	r->layer_files = options_given(o, "layer-files") ? o->layer_files : 0;
	return 0;
}

int run_parse_env(char *const *env, struct err *err)
{
	for (; env && *env; env++)
		/* A text that begins like an option is not meant as a name. */
		if (!**env || **env == '=' || **env == '-')
			return fail(err, EINVAL,
				    "--env must be NAME or NAME=VALUE, not %s",
				    text_quote(*env));
	return 0;
}

static int set_ports(struct parsed *p, char *const *publish, struct err *err)
{
	for (; publish && *publish; publish++)
		if (publish_parse(*publish, VEC_ADD(&p->ports), err) < 0)
			return -err->num;
	p->options.ports = p->ports.items;
	p->options.port_count = p->ports.count;
	if (p->ports.count && p->options.net != SANDBOX_NET_PRIVATE)
		return fail(err, EINVAL,
			    "--publish needs --net private; with --net host "
			    "the run uses the machine's ports");
	return 0;
}

static int check_name(const char *name, struct err *err)
{
	if (session_id_ok(name))
		return fail(err, EINVAL,
			    "--name %s: a name in the form of a run's id could "
			    "be taken for one: choose another",
			    text_quote(name));
	if (!session_name_ok(name))
		return fail(err, EINVAL,
			    "--name %s: a name is a letter and at most 31 "
			    "letters, digits, '.', '_' or '-', and not "
			    "'latest' or of the form of a snapshot, 's12'",
			    text_quote(name));
	return 0;
}

/* `--continue ID --` takes the word behind it as the run when the command is
 * set off by "--", because people write it so. */
static void find_resumed(struct run_options *r, const struct options *o)
{
	const char *before = o->operands[-1];
	size_t len = strlen(before);

	r->resume = options_given(o, "continue");
	r->resume_id = o->resume_run;
	if (r->resume && !r->resume_id && o->count > 1 &&
	    strcmp(o->operands[1], "--") == 0 && len > strlen("--") &&
	    strncmp(before, "--continue", len) == 0) {
		r->resume_id = o->operands[0];
		r->argv += 2;
	}
}

static const char *const *list_of(char **list)
{
	static const char *const none[] = {NULL};

	return list ? (const char *const *)list : none;
}

int run_parse(struct parsed *p, const struct options *o, struct err *err)
{
	static const enum sandbox_net nets[] = {
		[OPTION_NET_PRIVATE] = SANDBOX_NET_PRIVATE,
		[OPTION_NET_NONE] = SANDBOX_NET_NONE,
	};
	const char *const *allow = list_of(o->allow);
	const char *const *env;

	for (env = list_of(o->env); *env; env++)
		mem_list_add(&p->env, *env);
	p->options = (struct run_options){
		.dir = o->dir,
		.read_only = list_of(o->ro),
		.read_write = list_of(o->rw),
		.hide = list_of(o->hide),
		.cow = list_of(o->cow),
		.net = nets[o->net],
		.nested = o->nested,
		.strict = o->strict,
		.env_clean = o->env_clean || o->strict,
		.allow_perf = mem_list_has(allow, "perf"),
		.allow_io_uring = mem_list_has(allow, "io_uring"),
		.allow_userfaultfd = mem_list_has(allow, "userfaultfd"),
		.allow_32bit = mem_list_has(allow, "32bit"),
		.name = o->name,
		.frozen = o->frozen,
		.durable = o->durable,
		.pause_on_alarm = o->pause_on_alarm,
		.home = o->home,
		.quiet = o->quiet,
		.agent = o->agent,
		.share_login = o->share_login,
		.shared_cache = o->shared_cache,
		.acp = o->acp,
		.argv = o->operands,
		.saved_options = saved_options(o),
	};
	if (set_limits(p, o, err) < 0 || run_parse_env(o->env, err) < 0 ||
	    (o->name && check_name(o->name, err) < 0))
		return -err->num;
	find_resumed(&p->options, o);
	apply_strict(&p->options, o);
	if (set_ports(p, o->publish, err) < 0)
		return -err->num;
	if (p->options.has_user) {
		auto_free char *runtime = mem_printf(
			"XDG_RUNTIME_DIR=/run/user/%u", p->options.user);

		mem_list_add(&p->env, runtime);
	}
	p->options.env = list_of(p->env);
	return 0;
}

void parsed_free(struct parsed *p)
{
	mem_list_free(&p->env);
	free(p->groups);
	VEC_FREE(&p->ports);
	mem_list_free(&p->options.saved_options);
}
