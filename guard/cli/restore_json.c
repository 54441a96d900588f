#include "guard/cli/restore_json.h"

#include <jansson.h>

#include "guard/cli/jsonstream.h"
#include "guard/jsonout.h"
#include "guard/change/plan_summary.h"

static json_t *json_sources(const struct sources *s)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < s->count; i++) {
		const struct restore_target *t = &s->items[i];
		json_t *object = json_object();

		jsonout_text(object, "path", t->arg);
		jsonout_number(object, "snapshot", t->snapshot.seq);
		jsonout_time(object, "time", t->snapshot.time);
		(void)json_array_append_new(array, object);
	}
	return array;
}

void restore_json(const struct restore_report *t)
{
	json_t *object = json_object();

	jsonout_text(object, "schema", "guard.restore/1");
	(void)json_object_set_new(object, "restored", json_boolean(t->done));
	jsonout_text(object, "to", t->to);
	(void)json_object_set_new(object, "from", json_sources(t->found));
	jsonout_number(object, "before", t->before);
	jsonout_number(object, "after", t->after);
	if (t->plan)
		plan_summary_json(t->store, t->plan, object);
	jsonstream_print(object);
}
