#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/run.h"

/* Lists that grow with each option; always NULL-terminated. */
struct strings {
	const char **items;
	size_t count, room;
};

static void strings_add(struct strings *list, const char *item)
{
	GROW(list->items, list->count, list->room);
	list->items[list->count++] = item;
}

static const char *const *strings_end(struct strings *list)
{
	strings_add(list, NULL);
	return list->items;
}

struct parsed {
	struct run_options options;
	struct strings env, read_only, read_write, hide;
};

/* "90", "90s", "1.5m", "2h", "1d" as timeout(1) reads them; < 0: no time. */
static int64_t parse_milliseconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	switch (*end) {
	case 'm':
		value *= 60;
		break;
	case 'h':
		value *= 3600;
		break;
	case 'd':
		value *= 86400;
		break;
	case 's':
	case '\0':
		break;
	default:
		return -1;
	}
	if (end == text || (*end && end[1]) || !isfinite(value) || value <= 0 ||
	    value > 1e9)
		return -1;
	return value * 1000 < 1 ? 1 : (int64_t)(value * 1000);
}

static int set_net(struct parsed *p, const char *value, struct err *err)
{
	if (strcmp(value, "none") != 0 && strcmp(value, "host") != 0)
		return fail(err, EINVAL, "--net is none or host, not %s",
			    text_quote(value));
	p->options.net = *value == 'n' ? SANDBOX_NET_NONE : SANDBOX_NET_HOST;
	return 0;
}

static int set_option(struct parsed *p, int option, const char *value,
		      struct err *err)
{
	unsigned long number;

	switch (option) {
	case 'C':
		p->options.dir = value;
		return 0;
	case OPT_CONTINUE:
		p->options.resume = true;
		p->options.resume_id = value;
		return 0;
	case OPT_ENV:
		strings_add(&p->env, value);
		return 0;
	case OPT_RO:
		strings_add(&p->read_only, value);
		return 0;
	case OPT_RW:
		strings_add(&p->read_write, value);
		return 0;
	case OPT_HIDE:
		strings_add(&p->hide, value);
		return 0;
	case OPT_NET:
		return set_net(p, value, err);
	case OPT_NESTED:
		p->options.nested = true;
		return 0;
	case OPT_TIMEOUT:
		p->options.timeout_ms = parse_milliseconds(value);
		if (p->options.timeout_ms > 0)
			return 0;
		return fail(err, EINVAL,
			    "--timeout is a time like 90, 90s, 5m or 2h, not "
			    "%s",
			    text_quote(value));
	case OPT_PIDS_LIMIT:
		if (options_number(value, 1ul << 22, &number) < 0 || !number)
			return fail(err, EINVAL,
				    "--pids-limit is a number above 0, not %s",
				    text_quote(value));
		p->options.pids_limit = number;
		return 0;
	case OPT_LAYER_SIZE:
		p->options.layer_bytes = options_size(value);
		if (p->options.layer_bytes)
			return 0;
		return fail(err, EINVAL,
			    "--layer-size is a size like 500M or 20G, not %s",
			    text_quote(value));
	case OPT_LAYER_FILES:
		if (options_number(value, LONG_MAX, &number) < 0 || !number)
			return fail(err, EINVAL,
				    "--layer-files is a number above 0, not "
				    "%s",
				    text_quote(value));
		p->options.layer_files = number;
		return 0;
	case 'q':
		p->options.quiet = true;
		return 0;
	default:
		return fail(err, EINVAL, "an option without a meaning");
	}
}

/*
 * `--continue ID --` takes the word behind it as the run when the command is
 * set off by "--", because people write it so.
 */
static bool takes_next(const struct parsed *p, int argc, char **argv)
{
	return p->options.resume && !p->options.resume_id &&
	       optind + 1 < argc && strcmp(argv[optind + 1], "--") == 0 &&
	       argv[optind][0] != '-';
}

/* 0; 1: help was asked for and printed; negative, with an empty text when it
 * was explained already. */
static int parse(struct parsed *p, int argc, char **argv, struct err *err)
{
	const struct verb *verb = options_verb("run");
	int option;

	while ((option = options_next(verb, argc, argv)) != OPTIONS_END) {
		if (option == OPTIONS_HELP)
			return 1;
		if (option == OPTIONS_BAD) {
			err->text[0] = '\0';
			return -EINVAL;
		}
		if (set_option(p, option, optarg, err) < 0)
			return -err->num;
		if (option == OPT_CONTINUE && takes_next(p, argc, argv))
			p->options.resume_id = argv[optind++];
	}
	p->options.argv = argv + optind;
	p->options.env = strings_end(&p->env);
	p->options.read_only = strings_end(&p->read_only);
	p->options.read_write = strings_end(&p->read_write);
	p->options.hide = strings_end(&p->hide);
	if (!*p->options.argv)
		return fail(err, EINVAL,
			    "what shall be run? guard run [options] -- "
			    "COMMAND [ARGS...]");
	return 0;
}

int cmd_run(int argc, char **argv)
{
	struct parsed p = {0};
	struct err err;
	int status, got;

	got = parse(&p, argc, argv, &err);
	if (got < 0 && err.text[0])
		output_error(&err);
	output_quiet(p.options.quiet);
	if (got)
		status = got < 0 ? RUN_STATUS_GUARD : STATUS_OK;
	else
		status = run_command(&p.options);
	free(p.env.items);
	free(p.read_only.items);
	free(p.read_write.items);
	free(p.hide.items);
	return status;
}
