#include "guard/cli/backup_age.h"

#include <inttypes.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/cli/jsonout.h"
#include "guard/retention/settings.h"

#define DAY ((int64_t)24 * 3600)

const char *backup_age_text(const struct backup *b)
{
	const char *age =
		b->time	    ? text_age((struct timestamp){.sec = b->time})
		: b->number ? text_printf("none since the recovery of backup "
					  "%" PRIu64,
					  b->number)
			    : "none so far";

	return text_printf(
		"%s in %s%s%s", age, text_quote(b->path),
		b->failure  ? "; the last one failed: "
		: b->unsent ? "; its files wait for backup-command, which "
			      "began "
		: b->time && b->changed ? "; snapshots have changed since"
					: "",
		b->failure  ? b->failure
		: b->unsent ? text_age((struct timestamp){.sec = b->unsent})
			    : "");
}

bool backup_age_is_late(const struct backup *b)
{
	int64_t age = timestamp_now().sec - b->time;

	return b->failure || b->unsent || age > DAY || age < -DAY;
}

int backup_age_load(const struct state *state, struct backups *ret,
		    struct err *err)
{
	AUTO(settings) struct settings settings = {0};
	struct err ignored, why;
	char **name;
	size_t i;

	if (backups_load(state, ret, err) < 0)
		return -err->num;
	/* No backup begins without them. */
	if (settings_load(state, &settings, &why) < 0)
		for (i = 0; i < ret->count; i++)
			if (!ret->items[i].failure)
				ret->items[i].failure = mem_strdup(why.text);
	for (name = settings.backups; name && *name; name++) {
		/* A path that is known is not followed: its network file system
		 * may not answer. */
		auto_free char *path = backups_find(ret, *name)
					       ? NULL
					       : path_resolve(*name, &ignored);

		if (path && !backups_find(ret, path))
			*VEC_ADD(ret) =
				(struct backup){.dir = -1, .path = TAKE(path)};
	}
	return 0;
}

json_t *backup_age_json(const struct backups *known)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < known->count; i++) {
		const struct backup *b = &known->items[i];
		json_t *object = json_object();

		jsonout_text(object, "path", b->path);
		jsonout_time(object, "time",
			     (struct timestamp){.sec = b->time});
		jsonout_number(object, "number", b->number);
		jsonout_text(object, "failure", b->failure);
		jsonout_bool(object, "unsent", b->unsent != 0);
		jsonout_bool(object, "changed", b->changed);
		jsonout_add(list, object);
	}
	return list;
}

json_t *backup_age_paths(const struct backups *known)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < known->count; i++)
		json_array_append_new(list, json_string(known->items[i].path));
	return list;
}
