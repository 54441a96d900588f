#include "guard/cli/run_parse.h"

#include <math.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
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
#include "base/vec.h"
#include "guard/run/publish.h"

/* The kernel's own limit. */
#define PIDS_MOST (1ul << 22)
#define STRICT_MEMORY (512ULL << 20)
#define VERSIONS_MS 60000
#define VERSIONS_MIN_MS 100

/* --- options that the record of the run keeps --- */

/* Not saved: where the run begins, how much guard says, and what holds for a
 * new layer alone. */
static void save_option(char ***saved_options, const struct verb *verb,
			int option, const char *value)
{
	const struct option_spec *spec = options_spec(verb, option);
	auto_free char *text = NULL, *kept = NULL;
	struct err ignored;

	switch (option) {
	case 'C':
	case 'q':
	case OPT_CONTINUE:
	case OPT_FROZEN:
	case OPT_NAME:
	case OPT_WHY:
	case OPT_JSON:
		return;
	}
	/* Values of variables may be secrets: the record keeps none. */
	if (spec->value && value && spec->id == OPT_ENV)
		kept = mem_strndup(value, strcspn(value, "="));
	else if (spec->value && value && strcmp(spec->value, "PATH") == 0)
		kept = path_resolve(value, &ignored);
	if (spec->value && value && !kept)
		kept = mem_strdup(value);
	text = kept ? mem_printf("--%s=%s", spec->name, kept)
		    : mem_printf("--%s", spec->name);
	mem_list_add(saved_options, text);
}

/* --- values --- */

static void strings_add(struct strings *list, const char *item)
{
	*VEC_ADD(list) = item;
}

/* Reader of a slot. */
static bool add_string(const struct verb *verb, int id, const char *value,
		       void *to)
{
	(void)verb;
	(void)id;
	strings_add(to, value);
	return true;
}

static const char *const *strings_end(struct strings *list)
{
	strings_add(list, NULL);
	return list->items;
}

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

static int set_memory(const char *name, const char *value, uint64_t least,
		      uint64_t *ret, struct err *err)
{
	if (parse_bytes(value, ret) && *ret >= least)
		return 0;
	return fail(
		err, EINVAL,
		"--%s must be a size like 512m or 2g, at least %lluk, not %s",
		name, (unsigned long long)(least >> 10), text_quote(value));
}

static int set_cpus(struct parsed *p, const char *value, struct err *err)
{
	char *end;
	double number = strtod(value, &end);

	if (!is_number(value, end) || *end || (number < 0.01 && number > 0) ||
	    number > 1e6)
		return fail(err, EINVAL,
			    "--cpus must be a number of processors like 2 or "
			    "1.5, not %s",
			    text_quote(value));
	p->cpus_given = true;
	p->options.cpus_milli = (unsigned int)(number * 1000);
	return 0;
}

/* -1 or 0: none but the kernel's. */
static int set_pids(struct parsed *p, const char *value, struct err *err)
{
	unsigned long number = 0;

	if (strcmp(value, "-1") != 0 &&
	    parse_number(value, PIDS_MOST, &number) < 0)
		return fail(
			err, EINVAL,
			"--pids-limit must be a number, or -1 for none, not %s",
			text_quote(value));
	p->options.pids_limit = number ? number : PIDS_MOST;
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
	free(p->groups);
	p->groups = NULL;
	o->group_count = 0;
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

static int add_allowed(struct parsed *p, const char *value, struct err *err)
{
	struct run_options *o = &p->options;
	const struct {
		const char *name;
		bool *set;
	} known[] = {
		{"perf", &o->allow_perf},
		{"io_uring", &o->allow_io_uring},
		{"userfaultfd", &o->allow_userfaultfd},
		{"32bit", &o->allow_32bit},
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(value, known[i].name) == 0) {
			*known[i].set = true;
			return 0;
		}
	return fail(
		err, EINVAL,
		"--allow must be perf, io_uring, userfaultfd or 32bit, not %s",
		text_quote(value));
}

/* The limits of `docker run --rm --network none --cap-drop ALL --security-opt
 * no-new-privileges --read-only --tmpfs /tmp --memory 512m --cpus 1
 * --pids-limit 100`; explicit options win. */
static int apply_strict(struct parsed *p, struct err *err)
{
	struct run_options *o = &p->options;

	if (!o->strict)
		return 0;
	if (o->nested)
		return fail(err, EINVAL,
			    "--strict and --nested exclude each other: "
			    "--strict forbids sandboxes inside");
	if (!p->net_given)
		o->net = SANDBOX_NET_NONE;
	if (!p->memory_given)
		o->memory = STRICT_MEMORY;
	if (!o->tmp_size)
		o->tmp_size = STRICT_MEMORY;
	if (!p->cpus_given)
		o->cpus_milli = 1000;
	if (!o->pids_limit)
		o->pids_limit = 100;
	return 0;
}

static int set_option(struct parsed *p, const struct verb *verb, int option,
		      const char *value, struct err *err)
{
	struct run_options *o = &p->options;
	const struct option_slot slots[] = {
		{'C', .text = &o->dir},
		{OPT_CONTINUE, .flag = &o->resume, .text = &o->resume_id},
		{OPT_AGENT, .text = &o->agent},
		{OPT_SHARE_LOGIN, .flag = &o->share_login},
		{OPT_SHARED_CACHE, .flag = &o->shared_cache},
		{OPT_RO, .read = add_string, .to = &p->read_only},
		{OPT_RW, .read = add_string, .to = &p->read_write},
		{OPT_COW, .read = add_string, .to = &p->cow},
		{OPT_HIDE, .read = add_string, .to = &p->hide},
		{OPT_WHY, .read = add_string, .to = &p->why},
		{OPT_NESTED, .flag = &o->nested},
		{OPT_HOME, .flag = &o->home},
		{OPT_FROZEN, .flag = &o->frozen},
		{OPT_NAME, .text = &o->name},
		{OPT_STRICT, .flag = &o->strict},
		{OPT_JSON, .flag = &p->json},
		{OPT_HIDDEN, .flag = &p->hidden},
		{'q', .flag = &o->quiet},
		{0},
	};
	unsigned long number;

	switch (option) {
	case OPT_ENV:
		/* A text that begins like an option is not meant as a name. */
		if (!*value || *value == '=' || *value == '-')
			return fail(err, EINVAL,
				    "--env must be NAME or NAME=VALUE, not %s",
				    text_quote(value));
		strings_add(&p->env, value);
		return 0;
	case OPT_NET: {
		static const char *const names[] = {[SANDBOX_NET_HOST] = "host",
						    [SANDBOX_NET_NONE] = "none",
						    [SANDBOX_NET_PRIVATE] =
							    "private"};
		size_t i;

		for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (strcmp(value, names[i]) != 0)
				continue;
			p->net_given = true;
			p->options.net = (enum sandbox_net)i;
			return 0;
		}
		return fail(err, EINVAL,
			    "--net must be host, private or none, not %s",
			    text_quote(value));
	}
	case OPT_PUBLISH:
		return publish_parse(value, VEC_ADD(&p->ports), err);
	case OPT_TIMEOUT:
		o->timeout_ms = parse_milliseconds(value);
		if (o->timeout_ms > 0)
			return 0;
		return fail(err, EINVAL,
			    "--timeout must be a time like 90, 90s, 5m or 2h, "
			    "not %s",
			    text_quote(value));
	case OPT_VERSIONS:
		o->versions_ms =
			strcmp(value, "0") == 0 ? 0 : parse_milliseconds(value);
		if (o->versions_ms == 0 || o->versions_ms >= VERSIONS_MIN_MS)
			return 0;
		return fail(err, EINVAL,
			    "--versions must be a time like 30s or 5m, at "
			    "least 0.1s, or 0 for none, not %s",
			    text_quote(value));
	case OPT_PIDS_LIMIT:
		return set_pids(p, value, err);
	case OPT_LAYER_SIZE:
		o->layer_bytes = parse_size(value);
		if (o->layer_bytes)
			return 0;
		return fail(
			err, EINVAL,
			"--layer-size must be a size like 500M or 20G, not %s",
			text_quote(value));
	case OPT_LAYER_FILES:
		if (parse_number(value, LONG_MAX, &number) < 0 || !number)
			return fail(err, EINVAL,
				    "--layer-files must be a number above 0, "
				    "not %s",
				    text_quote(value));
		o->layer_files = number;
		return 0;
	case OPT_ALLOW:
		return add_allowed(p, value, err);
	case OPT_MEMORY:
		p->memory_given = true;
		if (parse_bytes(value, &p->options.memory) &&
		    !p->options.memory)
			return 0;
		return set_memory("memory", value, 6 << 20, &p->options.memory,
				  err);
	case OPT_TMP_SIZE:
		return set_memory("tmp-size", value, 4 << 10, &o->tmp_size,
				  err);
	case OPT_CPUS:
		return set_cpus(p, value, err);
	case OPT_USER:
		return set_user(p, value, err);
	default:
		(void)options_set(verb, slots, option);
		return 0;
	}
}

int run_parse(struct parsed *p, const struct verb *verb, int argc, char **argv,
	      struct err *err)
{
	int option;

	p->options.versions_ms = VERSIONS_MS;
	while ((option = options_next(verb, argc, argv)) != OPTIONS_END) {
		if (option == OPTIONS_HELP)
			return 1;
		if (option == OPTIONS_BAD) {
			err->text[0] = '\0';
			return -EINVAL;
		}
		if (set_option(p, verb, option, optarg, err) < 0)
			return -err->num;
		save_option(&p->options.saved_options, verb, option, optarg);
		/* `--continue ID --` takes the word behind it as the run when
		 * the command is set off by "--", because people write it
		 * so. */
		if (option == OPT_CONTINUE && p->options.resume &&
		    !p->options.resume_id && optind + 1 < argc &&
		    strcmp(argv[optind + 1], "--") == 0 &&
		    argv[optind][0] != '-')
			p->options.resume_id = argv[optind++];
	}
	if (apply_strict(p, err) < 0)
		return -err->num;
	if (p->options.name && session_id_ok(p->options.name))
		return fail(err, EINVAL,
			    "--name %s: a name in the form of a run's id could "
			    "be taken for one: choose another",
			    text_quote(p->options.name));
	if (p->options.name && !session_name_ok(p->options.name))
		return fail(err, EINVAL,
			    "--name %s: a name is a letter and at most 31 "
			    "letters, digits, '.', '_' or '-', and not "
			    "'latest'",
			    text_quote(p->options.name));
	p->options.ports = p->ports.items;
	p->options.port_count = p->ports.count;
	if (p->ports.count && p->options.net != SANDBOX_NET_PRIVATE)
		return fail(err, EINVAL,
			    "--publish needs --net private; with --net host "
			    "the run uses the machine's ports");
	p->options.argv = argv + optind;
	if (p->options.has_user) {
		p->runtime = mem_printf("XDG_RUNTIME_DIR=/run/user/%u",
					p->options.user);
		strings_add(&p->env, p->runtime);
	}
	p->options.env = strings_end(&p->env);
	p->options.read_only = strings_end(&p->read_only);
	p->options.read_write = strings_end(&p->read_write);
	p->options.hide = strings_end(&p->hide);
	p->options.cow = strings_end(&p->cow);
	if (p->why.count) {
		(void)strings_end(&p->why);
		p->why.count--;
	}
	return 0;
}

void parsed_free(struct parsed *p)
{
	free(p->env.items);
	free(p->groups);
	free(p->runtime);
	VEC_FREE(&p->ports);
	free(p->read_only.items);
	free(p->read_write.items);
	free(p->hide.items);
	free(p->cow.items);
	free(p->why.items);
	mem_list_free(&p->options.saved_options);
}
