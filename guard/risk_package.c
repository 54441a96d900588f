/* Commands of a package.json that npm executes. */
#include <string.h>

#include <jansson.h>

#include "base/auto.h"
#include "guard/risk_bytes.h"

static json_t *member(json_t *object, const char *key)
{
	return json_is_object(object) ? json_object_get(object, key) : NULL;
}

/* A change from a version range to an address, a repository or a directory. */
static void judge_sources(json_t *before, json_t *after, struct risks *r)
{
	static const char *const keys[] = {
		"dependencies",	    "devDependencies", "optionalDependencies",
		"peerDependencies", "resolutions",     "overrides",
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		json_t *had = member(before, keys[i]), *from;
		const char *name;

		json_object_foreach(member(after, keys[i]), name, from)
		{
			const char *text = json_string_value(from);
			auto_free char *label = mem_printf("package %s", name);

			if (text && strpbrk(text, ":/") &&
			    strncmp(text, "workspace:", 10) != 0 &&
			    !json_equal(from, member(had, name)))
				risk_add_value(r, RISK_HIGH, label, text);
		}
	}
}

void risk_judge_package(const char *old, const char *now, struct risks *r)
{
	json_t *before = json_loads(old, 0, NULL);
	json_t *after = json_loads(now, 0, NULL);
	json_t *had = member(before, "scripts");
	const char *name;
	json_t *script;

	json_object_foreach(member(after, "scripts"), name, script)
	{
		auto_free char *label = mem_printf("script %s", name);

		if (json_is_string(script) &&
		    !json_equal(script, member(had, name)))
			risk_add_value(r, RISK_HIGH, label,
				       json_string_value(script));
	}
	judge_sources(before, after, r);
	if (!after)
		risk_add(r, RISK_HIGH, false,
			 mem_strdup("is no JSON: its scripts cannot be told"));
	json_decref(before);
	json_decref(after);
}
