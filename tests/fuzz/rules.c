/*
 * The rules for the content of a file: the first byte selects its name, then
 * the old text, a NUL, the new text. Of the last name: paths of a directory,
 * line by line, of which the first half is new.
 */
#include "guard/rules/twins.c"

#include <sys/stat.h>

#include "base/text.h"
#include "guard/parse/parse_worker.h"
#include "guard/rules/risk_private.h"
#include "tests/fuzz/fuzz.h"

#define RISKS_MAX 200 /* rules, three lines each */
#define PATH_LONGEST 400

static const char *const names[] = {"a.py",
				    ".github/workflows/a.yml",
				    "package.json",
				    "Makefile",
				    "Cargo.toml",
				    ".vscode/tasks.json",
				    "CLAUDE.md",
				    "package-lock.json",
				    "setup.cfg",
				    ".git/config",
				    ".claude/settings.json",
				    "pyproject.toml",
				    "yarn.lock",
				    "Dockerfile",
				    "b/settings.json",
				    ".gitattributes",
				    "CMakeLists.txt",
				    "configure.ac",
				    "__pycache__/a.pyc",
				    ".pre-commit-config.yaml"};

#define NAMES (sizeof(names) / sizeof(*names))

static bool read_side(void *arg, bool now, struct buf *to)
{
	const struct buf *sides = arg;

	buf_add(to, sides[now].data, sides[now].len);
	return true;
}

static void check_risks(const struct risks *r)
{
	size_t i, k;

	must(r->count <= RISKS_MAX);
	for (i = 0; i < r->count; i++) {
		const struct risk *risk = &r->items[i];
		auto_free char *text = risk_sentence(risk);

		must(!i || risk->level <= r->items[i - 1].level);
		for (k = 0; text[k]; k++)
			must((unsigned char)text[k] >= ' ' && text[k] != 0x7f);
		must(text_is_utf8(text, k));
	}
}

static void check_lines(const struct buf *text)
{
	enum settings_format format;
	struct err err;
	size_t i;

	for (format = SETTINGS_PLAIN; format <= SETTINGS_YAML; format++) {
		AUTO(risk_lines) struct risk_lines l = {0};

		must(risk_lines_parse(format, text, &l, &err) >= 0);
		for (i = 0; i < l.count; i++)
			must(strlen(l.items[i].path) <= PATH_LONGEST);
		risk_lines_compare(&l, &l, "#");
		for (i = 0; i < l.count; i++)
			must(!l.items[i].added);
	}
}

struct listed {
	char **paths;
	size_t count;
};

static void list_old(void *arg, const char *dir, struct names *to)
{
	const struct listed *l = arg;
	size_t i;

	for (i = l->count / 2; i < l->count && !*dir; i++)
		names_add(to, l->paths[i]);
}

static void check_twins(char *text)
{
	AUTO(names) struct names lines = {0};
	AUTO(twins) struct twins t = {0};
	struct listed l;
	char *line, *more = text;
	size_t i;

	while ((line = strsep(&more, "\n/")))
		names_add(&lines, line);
	l = (struct listed){lines.items, lines.count};
	for (i = 0; i < lines.count / 2; i++)
		twins_add(&t, lines.items[i]);
	twins_find(&t, list_old, &l);
	for (i = 0; i < lines.count; i++) {
		const char *other = twins_other(&t, lines.items[i]);
		AUTO(buf) struct buf a = {0}, b = {0};

		if (!other)
			continue;
		twins_fold(lines.items[i], &a);
		twins_fold(other, &b);
		must(buf_same(&a, &b));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf sides[2] = {{0}, {0}};
	AUTO(risks) struct risks all = {0}, critical = {0};
	struct risk_file f = {.read = read_side, .arg = sides};
	const uint8_t *nul;

	if (!len)
		return 0;
	parse_worker_install();
	nul = memchr(data + 1, '\0', len - 1);
	buf_add(&sides[0], data + 1, nul ? (size_t)(nul - data) - 1 : len - 1);
	if (nul)
		buf_add(&sides[1], nul + 1, (size_t)(data + len - nul) - 1);
	if (data[0] % (NAMES + 1) == NAMES) {
		(void)buf_text(&sides[0]);
		check_twins((char *)sides[0].data);
	} else {
		f.path = names[data[0] % (NAMES + 1)];
		f.old_mode = data[0] & 0x80 ? S_IFREG | 0644 : 0;
		f.now_mode = S_IFREG | 0755;
		f.old_size = sides[0].len;
		f.now_size = sides[1].len;
		risk_judge(&f, &all);
		check_risks(&all);
		check_lines(&sides[1]);
		/* An apply asks about all that is displayed as critical. */
		risk_judge_critical(&f, &critical);
		must((risks_worst(&all) == RISK_CRITICAL) ==
		     (risks_worst(&critical) == RISK_CRITICAL));
	}
	buf_free(&sides[0]);
	buf_free(&sides[1]);
	return 0;
}
