#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/options.h"
#include "guard/run/run.h"

/* In the record: the version of all this, and each option as it is written. */
#define NOTED "options"
#define OPTION "option"
#define VERSION 1

/* Where it begins, how much it says, and what holds for a new layer alone. */
static bool is_saved_option(int option)
{
	static const int not_saved[] = {'C',	    'q',     OPT_CONTINUE,
					OPT_FROZEN, OPT_WHY, OPT_JSON};
	size_t i;

	for (i = 0; i < sizeof(not_saved) / sizeof(*not_saved); i++)
		if (option == not_saved[i])
			return false;
	return true;
}

static const struct option_spec *find_option_spec(const struct verb *verb,
						  int option)
{
	const struct option_spec *spec = verb->options;

	while (spec->id && spec->id != option)
		spec++;
	return spec->id && spec->name ? spec : NULL;
}

/* Values of variables may be secrets: the record keeps none. */
static char *value_to_save(const struct option_spec *spec, const char *value)
{
	struct err ignored;
	char *path = NULL;

	if (spec->id == OPT_ENV)
		return mem_strndup(value, strcspn(value, "="));
	if (strcmp(spec->value, "PATH") == 0)
		path = path_resolve(value, &ignored);
	return path ? path : mem_strdup(value);
}

void run_saved_options_add(char ***saved_options, const struct verb *verb,
			   int option, const char *value)
{
	const struct option_spec *spec = find_option_spec(verb, option);
	auto_free char *text = NULL, *kept = NULL;

	if (!spec || !is_saved_option(option))
		return;
	kept = spec->value && value ? value_to_save(spec, value) : NULL;
	text = kept ? mem_printf("--%s=%s", spec->name, kept)
		    : mem_printf("--%s", spec->name);
	mem_list_add(saved_options, text);
}

void run_saved_options_record(struct session *s, char *const *saved_options)
{
	record_set_int(&s->more, NOTED, VERSION);
	record_set(&s->more, OPTION, NULL);
	for (; saved_options && *saved_options; saved_options++)
		record_add(&s->more, OPTION, *saved_options);
}

bool run_saved_options_has(const struct session *s, const char *wanted)
{
	const char *option;
	size_t i;

	for (i = 0; (option = record_get_nth(&s->more, OPTION, i)); i++)
		if (strcmp(option, wanted) == 0)
			return true;
	return false;
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
