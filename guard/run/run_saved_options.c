#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/run/run.h"

/* In the record: the version of all this, and each option as it is written. */
#define NOTED "options"
#define OPTION "option"
#define VERSION 1

void run_saved_options_record(struct session *s, char *const *saved_options)
{
	record_set_int(&s->more, NOTED, VERSION);
	record_set(&s->more, OPTION, NULL);
	for (; saved_options && *saved_options; saved_options++)
		record_add(&s->more, OPTION, *saved_options);
}

bool run_saved_options_has(const struct session *s, const char *wanted)
{
	return record_has(&s->more, OPTION, wanted);
}

int run_saved_options_load(const struct session *s, char ***ret,
			   struct err *err)
{
	char **list = NULL;
	const char *option;
	size_t i;

	if (record_get_int(&s->more, NOTED) != VERSION)
		return fail(
			err, ENODATA,
			"run %s was started by another version of guard, "
			"which did not note its options: `guard run "
			"--continue=%s ... -- COMMAND` goes on in its layer",
			s->id, s->id);
	for (i = 0; (option = record_get_nth(&s->more, OPTION, i)); i++)
		mem_list_add(&list, option);
	*ret = list;
	return 0;
}
