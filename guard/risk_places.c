/* Directories that tools fill. */
#include <fnmatch.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/risk.h"

bool risk_is_generated(const char *name)
{
	static const char *const names[] = {
		"node_modules", "bower_components",
		"__pycache__",	".venv",
		"venv",		".tox",
		".mypy_cache",	".pytest_cache",
		".ruff_cache",	".gradle",
		".next",	".nuxt",
		".svelte-kit",	".parcel-cache",
		".turbo",	".cache",
		".eggs",	".terraform",
		".dart_tool",	".stack-work",
		"DerivedData",	".ccache",
		"CMakeFiles",	".zig-cache",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool risk_in_generated(const char *path)
{
	auto_free char *dir = path_parent(path);
	char *at = dir;

	while (*at) {
		size_t len = strcspn(at, "/");
		auto_free char *name = mem_strndup(at, len);

		if (risk_is_generated(name))
			return true;
		at += len;
		at += *at == '/';
	}
	return false;
}

static bool holds_packages(const char *name, size_t len)
{
	static const char *const names[] = {
		"node_modules", "bower_components", ".venv", "venv", ".tox",
		".eggs",	".terraform",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return true;
	return false;
}

bool risk_is_installed(const char *path)
{
	bool in = false, own = false;

	while (*path) {
		size_t len = strcspn(path, "/");
		auto_free char *name = mem_strndup(path, len);

		if (holds_packages(path, len)) {
			in = path[len] == '/';
			own = false;
		} else if (risk_is_generated(name) ||
			   (*path == '.' && strcmp(name, ".bin") != 0)) {
			own = true;
		}
		path += len;
		path += *path == '/';
	}
	return in && !own;
}

bool risk_always_runs(const char *path)
{
	const char *name = path_name(path);

	return fnmatch("*.pth", name, 0) == 0 ||
	       strcmp(name, "sitecustomize.py") == 0 ||
	       strcmp(name, "usercustomize.py") == 0;
}
