#include <inttypes.h>

#include "base/parse.h"
#include "guard/cli/commands.h"
#include "guard/cli/history_show.h"
#include "snapshot/maintain/trash.h"

static int list_trash(struct context *c, bool json, struct err *err)
{
	AUTO(trash_list) struct trash_list trash = {0};
	AUTO(table) struct table t = {0};
	json_auto_t *array = json_array();
	size_t i;

	if (context_store(c, STORE_READ, err) < 0 ||
	    trash_snapshots(c->store, &trash, err) < 0)
		return -err->num;
	for (i = 0; i < trash.count; i++) {
		const struct trash_item *item = &trash.items[i];
		const struct snapshot *s = &item->snapshot;
		json_t *object = json_object();

		jsonout_number(object, "snapshot", s->seq);
		jsonout_time(object, "time", s->time);
		jsonout_time(object, "gone", item->since);
		jsonout_text(object, "reason", s->reason);
		jsonout_text(object, "root", s->root_path);
		jsonout_text(object, "message", s->message);
		jsonout_add(array, object);
		history_show_row(
			&t, s, text_printf("pruned %s", text_age(item->since)));
	}
	if (json) {
		jsonstream_print_list("guard.trash/1", "snapshots",
				      TAKE(array));
	} else {
		table_print(&t, "", stdout);
		if (!trash.count)
			output_print("no snapshot is in the trash");
	}
	return STATUS_OK;
}

static int undelete_and_print(struct context *c, const uint64_t *seqs,
			      size_t count, bool json, struct err *err)
{
	json_auto_t *array = json_array();
	size_t i;

	if (context_store(c, STORE_WRITE, err) < 0 ||
	    trash_undelete(c->store, seqs, count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		auto_free char *number = mem_printf("%" PRIu64, seqs[i]);

		state_log(&c->state, "undelete", "snapshot", number, NULL);
		output_print("snapshot %s is restored", number);
		jsonout_add(array, json_integer((json_int_t)seqs[i]));
	}
	if (json)
		jsonstream_print_list("guard.undelete/1", "snapshots",
				      TAKE(array));
	output_hint("the next guard prune removes them again unless its rules "
		    "keep them");
	return STATUS_OK;
}

int cmd_undelete(const struct options *o, struct context *c, struct err *err)
{
	size_t count = (size_t)o->count, i;
	auto_free uint64_t *seqs = mem_resize(NULL, count + 1, sizeof(*seqs));
	unsigned long number;

	/* "12" or "s12" */
	for (i = 0; i < count; i++) {
		const char *text = o->operands[i];

		if (parse_number(text + (*text == 's'), 1ul << 53, &number) <
			    0 ||
		    !number)
			return options_usage_error(
				o, "%s is not a snapshot's number",
				text_quote(text));
		seqs[i] = number;
	}
	return count ? undelete_and_print(c, seqs, count, o->json, err)
		     : list_trash(c, o->json, err);
}
