#include <inttypes.h>

#include "guard/cli/commands.h"
#include "guard/cli/history_show.h"
#include "guard/retention/pins.h"
#include "guard/history/locate.h"
#include "snapshot/tree/catalog.h"

static int list_pins(struct context *c, bool json, struct err *err)
{
	AUTO(pins) struct pins pins = {0};
	AUTO(table) struct table t = {0};
	json_auto_t *array = json_array();
	size_t i;

	if (pins_user_load(&c->state, &pins, err) < 0)
		return -err->num;
	for (i = 0; i < pins.count; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		struct err ignored;

		jsonout_add(array, json_integer((json_int_t)pins.items[i]));
		if (catalog_load(c->store, pins.items[i], &s, &ignored) == 0)
			history_show_row(&t, &s, "");
	}
	if (json) {
		jsonstream_print_list("guard.pins/1", "snapshots", TAKE(array));
		return STATUS_OK;
	}
	table_print(&t, "", stdout);
	if (!t.cells.count)
		output_print("no snapshot is pinned");
	return STATUS_OK;
}

/* All are found before the first is changed. */
static int change_pins(struct context *c, char **argv, size_t count, bool on,
		       struct err *err)
{
	auto_free uint64_t *seqs = mem_resize(NULL, count + 1, sizeof(*seqs));
	size_t i;

	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		auto_free char *path = NULL;

		if (locate_snapshot(c, argv[i], NULL, &s, &path, err) < 0)
			return -err->num;
		if (!s.seq)
			return fail(err, EINVAL,
				    "%s is a moment of a run, not a snapshot: "
				    "its versions cannot be pinned",
				    text_quote(argv[i]));
		seqs[i] = s.seq;
	}
	if (pins_user_change(&c->state, seqs, count, on, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		auto_free char *number = mem_printf("%" PRIu64, seqs[i]);

		state_log(&c->state, on ? "pin" : "unpin", "snapshot", number,
			  NULL);
		output_print("snapshot %s %s", number,
			     on ? "is kept until it is unpinned"
				: "can be pruned again");
	}
	return STATUS_OK;
}

int cmd_pin(const struct options *o, struct context *c, struct err *err)
{
	if (o->remove && !o->count)
		return options_usage_error(o, "no snapshots given");
	if (context_store(c, STORE_READ, err) < 0)
		return -err->num;
	return o->count ? change_pins(c, o->operands, (size_t)o->count,
				      !o->remove, err)
			: list_pins(c, o->json, err);
}
