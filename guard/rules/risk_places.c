/* Directories that tools fill. */
#include <fnmatch.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/rules/risk.h"
#include "guard/rules/risk_private.h"

static const struct place {
	const char *name;
	bool packages; /* holds installed ones */
} generated[] = {
	{"node_modules", true}, {"bower_components", true},
	{"__pycache__", false}, {".venv", true},
	{"venv", true},		{".tox", true},
	{".mypy_cache", false}, {".pytest_cache", false},
	{".ruff_cache", false}, {".gradle", false},
	{".next", false},	{".nuxt", false},
	{".svelte-kit", false}, {".parcel-cache", false},
	{".turbo", false},	{".cache", false},
	{".eggs", true},	{".terraform", true},
	{".dart_tool", false},	{".stack-work", false},
	{"DerivedData", false}, {".ccache", false},
	{"CMakeFiles", false},	{".zig-cache", false},
};

static const struct place *find_generated(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(generated) / sizeof(*generated); i++)
		if (strlen(generated[i].name) == len &&
		    memcmp(name, generated[i].name, len) == 0)
			return &generated[i];
	return NULL;
}

bool risk_is_generated(const char *name)
{
	return find_generated(name, strlen(name)) != NULL;
}

bool risk_in_generated(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!path[len])
			return false;
		if (find_generated(path, len))
			return true;
		path += len + 1;
	}
}

bool risk_is_venv_part(const char *path)
{
	static const char *const dirs[] = {"bin",     "lib", "lib64", "include",
					   "Scripts", "Lib", "share", NULL};
	auto_free char *first = mem_strndup(path, strcspn(path, "/"));

	return mem_list_has(dirs, first);
}

bool risk_in_new_venv(const struct risk_file *f)
{
	const char *slash = f->path;

	while (f->exists && !f->old_mode && (slash = strchr(slash, '/'))) {
		auto_free char *dir =
			mem_strndup(f->path, (size_t)(slash - f->path));
		auto_free char *config = path_join(dir, "pyvenv.cfg");
		auto_free char *activate = path_join(dir, "bin/activate");

		slash++;
		if ((risk_is_venv_part(slash) ||
		     strcmp(slash, "pyvenv.cfg") == 0) &&
		    f->exists(f->arg, config) && f->exists(f->arg, activate))
			return true;
	}
	return false;
}

char *risk_generated_dir(const char *path, const char *dir)
{
	const char *at = path_rest(path, dir);

	while (*at) {
		size_t len = strcspn(at, "/");

		if (find_generated(at, len))
			return mem_strndup(path, (size_t)(at - path) + len);
		at += len;
		at += *at == '/';
	}
	return NULL;
}

bool risk_is_installed(const char *path)
{
	bool in = false, own = false;

	while (*path) {
		size_t len = strcspn(path, "/");
		const struct place *place = find_generated(path, len);

		if (place && place->packages) {
			in = path[len] == '/';
			own = false;
		} else if (place ||
			   (*path == '.' &&
			    !(len == 4 && memcmp(path, ".bin", 4) == 0))) {
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

static bool is_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

bool risk_is_git_object(const char *path)
{
	static const char dir[] = ".git/objects/";
	const char *at = strstr(path, dir);

	if (!at || (at != path && at[-1] != '/'))
		return false;
	at += strlen(dir);
	return strncmp(at, "pack/", 5) == 0 ||
	       (is_hex(at, 2) && at[2] == '/' && is_hex(at + 3, 38));
}
