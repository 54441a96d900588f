/* A user's or a project's profile: profile_parse(). */
#include "guard/agent/profile.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(profile) struct profile p = {0};
	struct err err = {0};
	bool project;
	size_t i;
	int got;

	if (!len)
		return 0;
	/* The first byte selects a user's or a project's file. */
	project = data[0] & 1;
	got = profile_parse(&p, "file", project, data + 1, len - 1, &err);
	must(got == 0 || (got == -EINVAL && err.text[0]));
	for (i = 0; i < p.count; i++) {
		const struct profile_item *item = &p.items[i];
		auto_free char *path = profile_path(item, "/home", "/project");

		must(item->word < PROFILE_WORDS && item->where);
		must(!project || item->word == PROFILE_RO ||
		     item->word == PROFILE_HIDE);
		must(item->word == PROFILE_ENV || path);
		must(item->word == PROFILE_ENV || !strstr(item->value, "/../"));
	}
	return 0;
}
