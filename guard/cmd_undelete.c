#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/options.h"
#include "guard/output.h"
#include "snapshot/trash.h"
#include "snapshot/undelete.h"

static void print_item(const struct trash_item *item)
{
	const struct snapshot *s = &item->snapshot;
	AUTO(buf) struct buf b = {0};

	buf_printf(&b, "%llu  %s  ", (unsigned long long)s->seq,
		   output_time(s->time));
	output_name(&b, s->reason);
	buf_add_text(&b, "  ");
	output_name(&b, s->root_path);
	buf_printf(&b, "  (gone %s)", output_age(item->since));
	if (*s->message) {
		buf_add_text(&b, "  ");
		output_cut(&b, s->message);
	}
	(void)puts(buf_text(&b));
}

static int list(struct context *c, struct err *err)
{
	AUTO(trash_list) struct trash_list trash = {0};
	size_t i;

	if (context_store(c, STORE_READ, err) < 0 ||
	    trash_snapshots(c->store, &trash, err) < 0)
		return -err->num;
	for (i = 0; i < trash.count; i++)
		print_item(&trash.items[i]);
	if (!trash.count)
		output_say("no snapshot is in the trash");
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}

static int bring_back(struct context *c, const uint64_t *seqs, size_t count,
		      struct err *err)
{
	size_t i;

	if (context_store(c, STORE_WRITE, err) < 0 ||
	    undelete_snapshots(c->store, seqs, count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		char number[24];

		(void)snprintf(number, sizeof(number), "%llu",
			       (unsigned long long)seqs[i]);
		state_log(&c->state, "undelete", "snapshot", number, NULL);
		output_say("snapshot %s is back", number);
	}
	output_hint("the next guard prune takes them again unless its rules "
		    "keep them");
	return STATUS_OK;
}

/* "12" or "s12" */
static int parse_numbers(const struct verb *verb, char **argv, size_t count,
			 uint64_t *ret)
{
	size_t i;

	for (i = 0; i < count; i++) {
		unsigned long number;

		if (options_number(argv[i] + (argv[i][0] == 's'), 1ul << 53,
				   &number) < 0 ||
		    !number) {
			options_complain(verb, "%s is no snapshot's number",
					 text_quote(argv[i]));
			return -1;
		}
		ret[i] = number;
	}
	return 0;
}

int cmd_undelete(int argc, char **argv)
{
	const struct verb *verb = options_verb("undelete");
	AUTO(context) struct context c = CONTEXT_NONE;
	auto_free uint64_t *seqs = NULL;
	size_t count;
	bool quiet = false;
	const struct option_slot slots[] = {
		{'q', .flag = &quiet},
		{0},
	};
	struct err err;
	int got;

	got = options_take(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	output_quiet(quiet);
	count = (size_t)(argc - optind);
	seqs = mem_resize(NULL, count + 1, sizeof(*seqs));
	if (parse_numbers(verb, argv + optind, count, seqs) < 0)
		return STATUS_USAGE;
	got = context_open(&c, false, &err);
	if (got == 0)
		got = count ? bring_back(&c, seqs, count, &err)
			    : list(&c, &err);
	return output_ended(got, &err);
}
