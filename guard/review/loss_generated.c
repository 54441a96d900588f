/* Files that tools make again: products of a build, and directories that tools
 * fill. */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/review/loss_private.h"

static bool ends_in(const char *path, const char *const *suffixes)
{
	for (; *suffixes; suffixes++)
		if (path_ends(path, *suffixes))
			return true;
	return false;
}

/* Directories that a build fills, if git ignores them; and files that tools
 * write anywhere. */
static bool is_ignored_output(const char *path)
{
	static const char *const dirs[] = {
		"build",   "dist",     "target",      "out",   "bin",
		"obj",	   "coverage", "_build",      "bazel", "Debug",
		"Release", "htmlcov",  ".nyc_output",
	};
	static const char *const suffixes[] = {
		".log", ".tmp", ".swp",	     ".map", ".eslintcache",
		"~",	".pc",	".coverage", NULL,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		if (path_has_part(path, dirs[i]))
			return true;
	return ends_in(path, suffixes) || strstr(path, ".egg-info/");
}

/* The first rule of a file with dependencies, "main.o main.d: main.c", behind
 * comments. */
static bool is_dependencies(const char *text)
{
	size_t first, len;

	while (*text == '#' && text[1] != '!' && strchr(text, '\n'))
		text = strchr(text, '\n') + 1;
	first = strcspn(text, " \t\r\n:");
	len = strcspn(text, ":;{}()\"");
	return text[len] == ':' && strchr(" \t\\\r\n", text[len + 1]) &&
	       strcspn(text, "./$") < first;
}

/* A program, an object, a static library or bytecode. by_name: its name is
 * enough. */
static bool is_product(const struct changes_root *root, const char *path,
		       bool by_name)
{
	static const char *const suffixes[] = {".pyc",	       ".pyo",	".elc",
					       ".gch",	       ".gcno", ".gcda",
					       ".tsbuildinfo", NULL};
	/* A person has such files, too: sources in D, models. */
	static const char *const doubtful[] = {
		".o", ".a", ".so", ".d", ".obj", ".class", ".lo", ".la", NULL};
	static const struct {
		const char *text;
		size_t len;
	} magics[] = {
		{"\177ELF", 4},		 {"!<arch>\n", 8},
		{"!<thin>\n", 8},	 {"\xca\xfe\xba\xbe", 4},
		{"BC\xc0\xde", 4},	 {"\xcf\xfa\xed\xfe", 4},
		{"\xce\xfa\xed\xfe", 4}, {"\0asm", 4},
		{"\x4c\x01", 2},	 {"\x64\x86", 2},
	};
	struct err ignored;
	char head[256] = "";
	auto_close int fd = -1;
	ssize_t len;
	size_t i;

	if (ends_in(path, suffixes) ||
	    strcmp(path_name(path), "config.log") == 0 ||
	    (by_name && ends_in(path, doubtful)))
		return true;
	fd = changes_open(root, path, false, &ignored);
	len = fd < 0 ? -1 : fd_read(fd, head, sizeof(head) - 1);
	if (len < 4)
		return false;
	for (i = 0; i < ARRAY_SIZE(magics); i++)
		if (magics[i].len <= (size_t)len &&
		    memcmp(head, magics[i].text, magics[i].len) == 0 &&
		    (magics[i].len > 2 || path_ends(path, ".obj")))
			return true;
	if (path_ends(path, ".d"))
		return is_dependencies(head);
	return (path_ends(path, ".lo") || path_ends(path, ".la")) &&
	       *head == '#' && strstr(head, "libtool");
}

/* Asks about the user's own directory: a run could make any file. */
static bool exists_in(const struct changes_root *root, const char *dir,
		      const char *name)
{
	auto_free char *path = *dir ? path_join(dir, name) : mem_strdup(name);
	struct err ignored;
	auto_close int fd =
		beneath_open(root->lower_fd, path, O_PATH, 0, &ignored);

	return fd >= 0;
}

static bool has_any(const struct changes_root *root, const char *dir,
		    const char *const *names)
{
	for (; *names; names++)
		if (exists_in(root, dir, *names))
			return true;
	return false;
}

/* The files of an environment of Python, not what else is beside them. */
static bool is_part_of_venv(const char *rest)
{
	return risk_is_venv_part(rest) || strcmp(rest, "pyvenv.cfg") == 0;
}

/* Whether the tag has its signature: the name alone may be a person's. */
static bool is_cache(const struct changes_root *root, const char *dir)
{
	static const char signature[] =
		"Signature: 8a477f597d28d172789f06886806bc55";
	auto_free char *path = path_join(dir, "CACHEDIR.TAG");
	char head[sizeof(signature)] = "";
	struct err ignored;
	auto_close int fd = beneath_open(root->lower_fd, path,
					 O_RDONLY | O_NONBLOCK, 0, &ignored);

	return fd >= 0 &&
	       fd_read(fd, head, sizeof(head) - 1) == sizeof(head) - 1 &&
	       strcmp(head, signature) == 0;
}

static bool is_filled_dir(const struct changes_root *root, const char *dir,
			  const char *rest)
{
	if (is_cache(root, dir) || (exists_in(root, dir, "build.ninja") &&
				    exists_in(root, dir, "meson-info")))
		return true;
	if (exists_in(root, dir, "CMakeCache.txt"))
		return !exists_in(root, dir, "CMakeLists.txt");
	return is_part_of_venv(rest) && exists_in(root, dir, "pyvenv.cfg");
}

static bool is_in_filled_dir(const struct changes_root *root, const char *path)
{
	const char *slash = path;

	while ((slash = strchr(slash, '/'))) {
		auto_free char *dir = mem_strndup(path, (size_t)(slash - path));

		if (is_filled_dir(root, dir, ++slash))
			return true;
	}
	return false;
}

static bool has_source(const struct changes_root *root, const char *path)
{
	static const char *const sources[] = {".c",  ".cc",  ".cpp", ".cxx",
					      ".rs", ".go",  ".zig", ".s",
					      ".S",  ".f90", NULL};
	auto_free char *stem = mem_strdup(path);
	char *dot = strrchr(path_name(stem), '.');
	size_t i;

	if (dot)
		*dot = '\0';
	for (i = 0; sources[i]; i++) {
		auto_free char *source = mem_printf("%s%s", stem, sources[i]);

		if (strcmp(source, path) != 0 && exists_in(root, "", source))
			return true;
	}
	return false;
}

/* Whether a build is described in the file's directory or above it, or the
 * source of the file is beside it. */
static bool has_build(const struct changes_root *root, const char *path)
{
	static const char *const builds[] = {
		"Makefile",	  "makefile",	 "GNUmakefile",
		"CMakeLists.txt", "meson.build", "configure.ac",
		"Cargo.toml",	  "go.mod",	 "build.zig",
		"SConstruct",	  "BUILD.bazel", "build.gradle",
		"pom.xml",	  "setup.py",	 "pyproject.toml",
		"dune-project",	  NULL,
	};
	auto_free char *dir = path_parent(path);

	if (has_source(root, path))
		return true;
	while (!has_any(root, dir, builds)) {
		char *up = *dir ? path_parent(dir) : NULL;

		if (!up)
			return false;
		free(dir);
		dir = up;
	}
	return true;
}

/* Whether a rule *clean: in the user's Makefile beside the file names it, or
 * all files with its suffix. */
static bool is_cleaned(const struct changes_root *root, const char *path)
{
	const char *name = path_name(path);
	auto_free char *makefile =
		mem_printf("%.*sMakefile", (int)(name - path), path);
	auto_free char *words =
		mem_printf("*[ \t]@(%s|\\*%s)*", name, strrchr(name, '.'));
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	char *line, *next;
	bool in = false;

	if (changes_read(root, makefile, S_IFREG, false, &text, &ignored) < 0)
		return false;
	(void)buf_text(&text);
	for (line = strtok_r((char *)text.data, "\n", &next); line;
	     line = strtok_r(NULL, "\n", &next)) {
		/* The rule's own line names its prerequisites. */
		if (!strchr("\t ", *line))
			in = strstr(line, "clean:");
		else if (in && fnmatch(words, line, FNM_EXTMATCH) == 0)
			return true;
	}
	return false;
}

bool loss_generated(const struct changes_root *root,
		    const struct gitcopies *git, const char *path)
{
	static const char *const outputs[] = {".i", ".s", NULL};
	/* A person makes such files, too. */
	static const char *const packed[] = {".pc",  ".map", ".gz",  ".tgz",
					     ".bz2", ".xz",  ".zst", ".tar",
					     ".zip", NULL};
	bool ignored = git && gitcopies_is_ignored(git, path);
	bool compiled = ends_in(path, outputs) && has_source(root, path);

	if (git && gitcopies_is_tracked(git, path))
		return false;
	return (ignored && (compiled || is_ignored_output(path))) ||
	       is_in_filled_dir(root, path) ||
	       (is_product(root, path, ignored) &&
		(ignored || has_build(root, path))) ||
	       ((compiled || ends_in(path, packed)) && is_cleaned(root, path));
}
