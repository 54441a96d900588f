#include "guard/retention/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/store.h"
#include "snapshot/tree/time_spec.h"

#define CONFIG "config"
#define BACKUP_COMMAND "backup-command"
#define CONFIG_MAX (1u << 20)
#define COUNT_MAX 1000000ul
/* Some minutes of reading, with which a user does not reckon. */
#define ASK_BYTES ((uint64_t)4 << 30)
#define ASK_FILES 200000
#define FILES_MAX 1000000000ul

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.policy = retain_default,
		.min_free = UINT64_MAX,
		.auto_prune = true,
		.ask_bytes = ASK_BYTES,
		.ask_files = ASK_FILES,
	};
}

void settings_free(struct settings *s)
{
	size_t i;

	mem_list_free(&s->keep_tags);
	mem_list_free(&s->backups);
	for (i = 0; i < s->backup_commands.count; i++) {
		free(s->backup_commands.items[i].dir);
		free(s->backup_commands.items[i].command);
	}
	VEC_FREE(&s->backup_commands);
}

bool settings_keep_any(const struct settings *s)
{
	const struct retain_policy *p = &s->policy;

	return p->last || p->within || p->hourly || p->daily || p->weekly ||
	       p->monthly || p->yearly || s->keep_tags;
}

void settings_limit(const struct settings *s, struct store *store)
{
	store_limit(store, s->min_free, s->max_size);
}

/* --- one setting --- */

static int set_span(const char *value, int64_t *ret, struct err *err)
{
	struct timestamp now = timestamp_now();
	struct time_spec time_spec;
	struct err ignored;

	if (value[0] < '0' || value[0] > '9' || strpbrk(value, ":-") ||
	    time_spec_parse(value, now, &time_spec, &ignored) < 0 ||
	    time_spec.kind != TIME_SPEC_TIME || time_spec.time.sec > now.sec)
		return fail(err, EINVAL,
			    "invalid time %s: write 12h, 14d or 8w",
			    text_quote(value));
	*ret = now.sec - time_spec.time.sec;
	return 1;
}

static int set_size(const char *value, uint64_t *ret, struct err *err)
{
	uint64_t size = parse_size(value);

	if (!size && strcmp(value, "0") != 0)
		return fail(err, EINVAL, "invalid size %s: write 500M or 20G",
			    text_quote(value));
	*ret = size;
	return 1;
}

/* "4G", "200000 files" or "no" */
static int set_ask_above(struct settings *s, const char *value, struct err *err)
{
	size_t len = strcspn(value, " ");
	auto_free char *first = mem_strndup(value, len);
	unsigned long files;

	if (strcmp(value, "no") == 0) {
		s->ask_bytes = s->ask_files = 0;
		return 1;
	}
	if (strcmp(value + len, " files") == 0 &&
	    parse_number(first, FILES_MAX, &files) == 0 && files) {
		s->ask_files = files;
		return 1;
	}
	if (!parse_size(value))
		return fail(err, EINVAL,
			    "invalid limit %s: write 4G, 200000 files or no",
			    text_quote(value));
	return set_size(value, &s->ask_bytes, err);
}

static void begin_retain_rules(struct settings *s)
{
	if (!s->rules)
		s->policy = (struct retain_policy){0};
	s->rules = true;
}

/* The number that a rule of that name counts, or NULL. */
static uint32_t *find_rule_counter(struct settings *s, const char *key)
{
	static const struct {
		const char *name;
		size_t offset;
	} counters[] = {
		{"keep-last", offsetof(struct retain_policy, last)},
		{"keep-hourly", offsetof(struct retain_policy, hourly)},
		{"keep-daily", offsetof(struct retain_policy, daily)},
		{"keep-weekly", offsetof(struct retain_policy, weekly)},
		{"keep-monthly", offsetof(struct retain_policy, monthly)},
		{"keep-yearly", offsetof(struct retain_policy, yearly)},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (strcmp(key, counters[i].name) == 0)
			return (uint32_t *)(void *)((char *)&s->policy +
						    counters[i].offset);
	return NULL;
}

/* rest: "", or blanks and a directory */
static int add_backup_command(struct settings *s, const char *rest,
			      const char *value, struct err *err)
{
	const char *dir = rest + strspn(rest, " \t");
	struct settings_command *command;
	size_t i;

	if (*rest && (dir == rest || *dir != '/'))
		return 0;
	for (i = 0; i < s->backup_commands.count; i++)
		if (strcmp(s->backup_commands.items[i].dir, dir) == 0)
			return fail(err, EEXIST,
				    "the second line: name the destination of "
				    "each, as in backup-command /mnt/usb = "
				    "...");
	command = VEC_ADD(&s->backup_commands);
	command->dir = mem_strdup(dir);
	command->command = mem_strdup(value);
	return 1;
}

const char *settings_backup_command(const struct settings *s, const char *path)
{
	const char *found = "";
	size_t i;

	for (i = 0; i < s->backup_commands.count; i++) {
		const struct settings_command *c = &s->backup_commands.items[i];
		struct err ignored;
		auto_free char *dir =
			*c->dir ? path_resolve(c->dir, &ignored) : NULL;

		if (dir && strcmp(dir, path) == 0)
			return *c->command ? c->command : NULL;
		if (!*c->dir)
			found = c->command;
	}
	return *found ? found : NULL;
}

int settings_set(struct settings *s, const char *key, const char *value,
		 struct err *err)
{
	uint32_t *counter = find_rule_counter(s, key);
	unsigned long number;
	bool yes;

	if (strcmp(key, "max-size") == 0)
		return set_size(value, &s->max_size, err);
	if (strcmp(key, "min-free") == 0)
		return set_size(value, &s->min_free, err);
	if (strcmp(key, "ask-above") == 0)
		return set_ask_above(s, value, err);
	if (strcmp(key, "auto-prune") == 0) {
		yes = strcmp(value, "yes") == 0;
		if (!yes && strcmp(value, "no") != 0)
			return fail(err, EINVAL, "%s is neither yes nor no",
				    text_quote(value));
		s->auto_prune = yes;
		return 1;
	}
	if (strcmp(key, "backup") == 0) {
		if (value[0] != '/')
			return fail(err, EINVAL, "%s is no absolute path",
				    text_quote(value));
		mem_list_add(&s->backups, value);
		return 1;
	}
	if (strncmp(key, BACKUP_COMMAND, strlen(BACKUP_COMMAND)) == 0)
		return add_backup_command(s, key + strlen(BACKUP_COMMAND),
					  value, err);
	if (strcmp(key, "keep-tag") == 0) {
		if (!parse_is_word(value))
			return fail(err, EINVAL,
				    "invalid tag %s: write one word without a "
				    "comma",
				    text_quote(value));
		begin_retain_rules(s);
		mem_list_add(&s->keep_tags, value);
		return 1;
	}
	if (strcmp(key, "keep-within") == 0) {
		begin_retain_rules(s);
		return set_span(value, &s->policy.within, err);
	}
	if (!counter)
		return 0;
	if (parse_number(value, COUNT_MAX, &number) < 0)
		return fail(err, EINVAL, "invalid number %s",
			    text_quote(value));
	begin_retain_rules(s);
	*counter = (uint32_t)number;
	return 1;
}

/* "key = value # comment"; a path or a command may have a '#'. */
static int set_line(struct settings *s, char *line, struct err *err)
{
	auto_free char *key = NULL, *value = NULL;
	char *equals;
	int got;

	if (strncmp(line + strspn(line, " \t"), "backup", 6) != 0)
		line[strcspn(line, "#")] = '\0';
	equals = strchr(line, '=');
	key = text_trim(line, strcspn(line, "="));
	if (!equals && !*key)
		return 0;
	if (!equals)
		return fail(err, EINVAL, "%s: expected 'key = value'",
			    text_quote(key));
	value = text_trim(equals + 1, strlen(equals + 1));
	got = settings_set(s, key, value, err);
	if (got < 0)
		return err_context(err, "%s", key);
	return got ? 0
		   : fail(err, EINVAL,
			  "no such setting: %s; use keep-last, -within, "
			  "-hourly, -daily, -weekly, -monthly, -yearly, -tag, "
			  "max-size, min-free, auto-prune, ask-above, "
			  "backup or backup-command",
			  text_quote(key));
}

/* -ENOENT: there is no file. A link that leads nowhere is another error: an
 * automatic prune without the user's rules would remove snapshots. */
static int read_settings(const struct state *state, const char *path,
			 struct buf *to, struct err *err)
{
	auto_close int fd = RETRY_ENOENT(
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));

	if (fd < 0 && errno == ENOENT && fd_exists(state->fd, CONFIG))
		return fail(err, ENODEV, "the file it leads to is missing");
	return fd < 0 ? fail_errno(err, "open %s", text_quote(path))
		      : fd_slurp_own(fd, CONFIG_MAX, to, err);
}

int settings_change(const struct state *state, const char *key,
		    const char *value, bool on, struct err *err)
{
	AUTO(buf) struct buf bytes = {0}, to = {0};
	auto_free char *wanted = mem_printf("%s=%s", key, value);
	auto_free char *path = state_settings_path(state, err);
	auto_free char *dir = path ? path_parent(path) : NULL;
	auto_close int dir_fd = dir ? fd_open_dir_path(AT_FDCWD, dir) : -1;
	int got = path ? read_settings(state, path, &bytes, err) : -err->num;
	const char *at = buf_text(&bytes);

	if (got < 0 && got != -ENOENT)
		return got;
	while (*at) {
		size_t len = strcspn(at, "\n"), key_len = strcspn(at, "=\n");
		auto_free char *name = text_trim(at, key_len);
		auto_free char *rest =
			text_trim(at + key_len + (key_len < len),
				  len - key_len - (key_len < len));
		auto_free char *line = mem_printf("%s=%s", name, rest);

		if (strcmp(line, wanted) != 0)
			buf_add(&to, at, len), buf_add_char(&to, '\n');
		at += len + (at[len] == '\n');
	}
	if (on)
		buf_printf(&to, "%s = %s\n", key, value);
	return buf_same(&bytes, &to)
		       ? 0
		       : atomic_write(dir_fd, path_name(path), to.data, to.len,
				      0600, ATOMIC_DURABLE, err);
}

int settings_load(const struct state *state, struct settings *ret,
		  struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	struct settings s;
	size_t number = 1;
	const char *at;
	auto_free char *path = state_settings_path(state, err);
	int got = path ? read_settings(state, path, &bytes, err) : -err->num;

	settings_init(&s);
	for (at = buf_text(&bytes); got == 0 && *at; number++) {
		size_t len = strcspn(at, "\n");
		auto_free char *line = mem_strndup(at, len);

		got = set_line(&s, line, err);
		if (got < 0)
			(void)err_context(err, "line %zu", number);
		at += len + (at[len] == '\n');
	}
	if (got == 0 && s.rules && !settings_keep_any(&s))
		got = fail(err, EINVAL,
			   "these rules keep no snapshot: add a keep- rule");
	if (got < 0 && got != -ENOENT) {
		settings_free(&s);
		return err_context(err, "%s/" CONFIG, state->path);
	}
	*ret = s;
	return 0;
}
