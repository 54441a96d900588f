#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/derived.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "guard/agent/agent.h"
#include "guard/agent/redact.h"
#include "guard/agent/settings.h"

#define FILE_MAX (1u << 20)
/* ~/.claude.json grows with each project. */
#define SETTINGS_MAX (32u << 20)
/* A smaller one is parsed at once. */
#define LARGE_FILE (64 << 10)
#define ENTRIES_MAX 5000
#define DEPTH_MAX 16

int agent_open_state(const struct state *state, const char *name, bool make,
		     struct err *err)
{
	auto_close int agents = -1;

	if (make && mkdirat(state->fd, "agents", 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create guard's directory of agents");
	agents = beneath_open(state->fd, "agents", O_RDONLY | O_DIRECTORY, 0,
			      err);
	if (agents < 0 || !name)
		return agents < 0 ? agents : TAKE_FD(agents);
	if (make && mkdirat(agents, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create the home of %s",
				  text_quote(name));
	return beneath_open(agents, name, O_RDONLY | O_DIRECTORY, 0, err);
}

/* ---- settings without secrets ---- */

/* Members of that name are left out, whatever is in them. */
static bool is_secret_key(const char *key)
{
	static const char *const more[] = {"authorization", "oauth",
					   "credential", "cookie", "bearer"};
	size_t i;

	for (i = 0; i < sizeof(more) / sizeof(*more); i++)
		if (strcasestr(key, more[i]))
			return true;
	return redact_is_secret(key);
}

static void redact_json(json_t *value)
{
	const char *text = json_string_value(value), *key;
	AUTO(buf) struct buf cut = {0};
	json_t *member, *before = NULL;
	void *next;
	size_t i;

	/* A text with a secret within becomes an empty one. */
	if (text && redact_has_secret(text, json_string_length(value)))
		(void)json_string_set(value, "");
	else if (text && redact_text(text, json_string_length(value), &cut))
		(void)json_string_setn(value, (char *)cut.data, cut.len - 1);
	json_array_foreach(value, i, member)
	{
		/* "--token": the value is the next argument. */
		text = json_string_value(before);
		if (text && text[0] == '-' && !strchr(text, '=') &&
		    is_secret_key(text) && json_is_string(member) &&
		    json_string_value(member)[0] != '$')
			(void)json_string_set(member, "");
		before = member;
		redact_json(member);
	}
	json_object_foreach_safe(value, next, key, member)
	{
		if (is_secret_key(key) && !json_is_boolean(member))
			(void)json_object_del(value, key);
		else
			redact_json(member);
	}
}

static bool name_has_suffix(const char *name, const char *const *suffixes)
{
	size_t len = strlen(name);

	for (; *suffixes; suffixes++) {
		size_t n = strlen(*suffixes);

		if (len >= n && strcasecmp(name + len - n, *suffixes) == 0)
			return true;
	}
	return false;
}

/* Puts into *text what may be copied; false: nothing of it. */
static bool clean_settings(const char *name, struct buf *text)
{
	static const char *const json[] = {".json", NULL};
	static const char *const extended_json[] = {".jsonc", ".json5", NULL};
	static const char *const settings[] = {".toml", ".yaml",       ".yml",
					       ".ini",	".conf",       ".cfg",
					       ".xml",	".properties", NULL};
	AUTO(buf) struct buf cut = {0};
	json_t *value;
	char *dumped;

	if (name_has_suffix(name, json)) {
		value = json_loadb((const char *)text->data, text->len, 0,
				   NULL);
		redact_json(value);
		dumped = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
		json_decref(value);
		buf_clear(text);
		if (dumped)
			buf_add_text(text, dumped);
		free(dumped);
		return dumped != NULL;
	}
	if (name_has_suffix(name, extended_json))
		return !redact_text(text->data, text->len, &cut);
	if (name_has_suffix(name, settings)
		    ? !redact_text(text->data, text->len, &cut)
		    : memchr(text->data, 0, text->len) ||
			      !redact_prose(text->data, text->len, &cut))
		return true;
	buf_clear(text);
	buf_add(text, cut.data, cut.len);
	return true;
}

/* ---- copies ---- */

struct seed_state {
	size_t entries;
	struct buf *skipped; /* names that were not copied */
};

static void record_skipped(struct seed_state *s, const char *name)
{
	buf_printf(s->skipped, "%s%s", s->skipped->len ? ", " : "",
		   text_quote(name));
}

/* Copies a directory with its entries, or a file that holds no secrets.
 * Symbolic links are not followed: their targets are no settings of the
 * agent. */
static void copy_seed_entry(struct seed_state *s, int from, const char *name,
			    int to, int depth)
{
	static const char *const secret_suffixes[] = {
		".pem", ".key", ".p12", ".kdbx", ".env", ".netrc", NULL};
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf text = {0};
	auto_close int in = -1, out = -1;
	struct err ignored;
	struct stat st;
	bool copied = false;
	size_t i;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    ++s->entries > ENTRIES_MAX + 1)
		return;
	if (s->entries > ENTRIES_MAX) {
		record_skipped(s, name);
		return;
	}
	if (S_ISDIR(st.st_mode)) {
		in = beneath_open(from, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
		copied = in >= 0 && dirlist_read(in, &list, &ignored) == 0 &&
			 depth <= DEPTH_MAX && mkdirat(to, name, 0700) == 0;
		if (copied)
			out = beneath_open(to, name, O_RDONLY | O_DIRECTORY, 0,
					   &ignored);
		for (i = 0; out >= 0 && i < list.count; i++)
			copy_seed_entry(s, in, list.items[i].name, out,
					depth + 1);
	} else if (S_ISREG(st.st_mode) && !is_secret_key(name) &&
		   !name_has_suffix(name, secret_suffixes) &&
		   strncmp(name, "auth.", 5) != 0) {
		in = beneath_open(from, name, O_RDONLY | O_NONBLOCK, 0,
				  &ignored);
		if (in >= 0 && fd_slurp(in, FILE_MAX, &text, &ignored) == 0 &&
		    clean_settings(name, &text))
			out = openat(to, name,
				     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
					     O_CLOEXEC,
				     0600 | (st.st_mode & 0100));
		copied = out >= 0 && fd_write(out, text.data, text.len) == 0;
	}
	if (!copied)
		record_skipped(s, name);
}

static int make_home_parents(int dir, const char *path, struct err *err)
{
	auto_free char *part = mem_strdup(path);
	char *slash = part;

	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		if (mkdirat(dir, part, 0700) < 0 && errno != EEXIST)
			return fail_errno(err, "create %s", text_quote(part));
		*slash++ = '/';
	}
	return 0;
}

/* Copies into `to`, the directory of the home. */
static void seed_home(const struct agent *a, const struct profile_item *home,
		      const char *user_home, int to, struct buf *skipped)
{
	struct seed_state s = {.skipped = skipped};
	const struct profile_item *item = NULL;
	struct err ignored;
	auto_close int from = open(user_home, O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (from >= 0 &&
	       (item = profile_next(&a->profile, PROFILE_SEED, item))) {
		auto_free char *real = NULL, *full_path = NULL;
		auto_close int above = -1, below = -1;
		const char *rest, *name;

		if (!path_below(item->value, home->value))
			continue;
		rest = path_rest(item->value, home->value);
		/* Dotfiles are often links, to somewhere else in the home. */
		full_path = path_join(user_home, item->value);
		real = path_resolve(full_path, &ignored);
		if (!*rest || !real || access(real, F_OK) < 0)
			continue;
		if (!path_below(real, user_home) ||
		    strcmp(path_name(real), path_name(full_path)) != 0 ||
		    make_home_parents(to, rest, &ignored) < 0) {
			record_skipped(&s, path_name(full_path));
			continue;
		}
		above = beneath_parent(from, path_rest(real, user_home), &name,
				       &ignored);
		below = beneath_parent(to, rest, &name, &ignored);
		if (above >= 0 && below >= 0)
			copy_seed_entry(&s, above, name, below, 0);
	}
}

/* ---- a new home ---- */

/* Made aside and moved into place whole. */
static int make_new_home(const struct agent *a, const struct state *state,
			 int dir, const struct profile_item *home,
			 struct buf *notes, struct err *err)
{
	AUTO(buf) struct buf skipped = {0};
	auto_free char *place = path_join("home", home->value);
	auto_close int fd = -1;
	const struct profile_item *item = NULL;
	struct err ignored;

	if (dirtree_remove(dir, "new", err) < 0)
		return -err->num;
	if (mkdirat(dir, "new", 0700) < 0)
		return fail_errno(err, "create a directory");
	fd = beneath_open(dir, "new", O_RDONLY | O_DIRECTORY, 0, err);
	if (fd < 0)
		return fd;
	seed_home(a, home, state->home, fd, &skipped);
	/* The initial files of the profile. */
	while ((item = profile_next(&a->profile, PROFILE_WRITE, item))) {
		auto_close int above = -1, out = -1;
		const char *rest, *name;

		if (strchr(item->value, '#') ||
		    !path_below(item->value, home->value))
			continue;
		rest = path_rest(item->value, home->value);
		if (!*rest || make_home_parents(fd, rest, &ignored) < 0)
			continue;
		above = beneath_parent(fd, rest, &name, &ignored);
		if (above >= 0)
			out = openat(above, name,
				     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
					     O_CLOEXEC,
				     0600);
		if (out >= 0 &&
		    fd_write(out, item->text, strlen(item->text)) == 0)
			(void)fd_write(out, "\n", 1);
	}
	if (make_home_parents(dir, place, err) < 0)
		return -err->num;
	if (renameat(dir, "new", dir, place) < 0)
		return fail_errno(err, "create %s", text_quote(place));
	buf_printf(notes,
		   "~/%s is now a directory of guard's own for %s: log in once "
		   "inside; your real one is unchanged\n",
		   home->value, a->name);
	if (skipped.len)
		buf_printf(notes, "not copied from ~/%s: %s\n", home->value,
			   buf_text(&skipped));
	return 0;
}

/* ---- members of JSON files ---- */

/* Environment and headers of servers hold keys of all kinds of names. */
static void drop_environments(json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	(void)json_object_del(value, "env");
	(void)json_object_del(value, "headers");
	json_array_foreach(value, i, member) drop_environments(member);
	json_object_foreach(value, key, member) drop_environments(member);
}

/* 1; 0: there is no such file. */
static int read_settings(int dir, const char *path, struct buf *to,
			 struct err *err)
{
	auto_close int fd =
		beneath_open(dir, path, O_RDONLY | O_NONBLOCK, 0, err);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return fd_slurp(fd, SETTINGS_MAX, to, err) < 0 ? -err->num : 1;
}

bool agent_json_is(const char *path, const char *key, const char *value)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	return fd_slurp_at(AT_FDCWD, path, SETTINGS_MAX, &text, &ignored) ==
		       0 &&
	       settings_member_is(&text, key, value);
}

static void add_wanted(json_t *wanted, const char *key, json_t *value)
{
	if (value)
		(void)json_array_append_new(wanted,
					    json_pack("[so]", key, value));
}

/* The wanted members of a real file of the user. */
static void copy_keys(const struct profile_item *item, const char *user_home,
		      const char *project, json_t *wanted)
{
	auto_close int from = open(user_home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *keys = strchr(item->value, '#');
	auto_free char *path =
		mem_strndup(item->value, (size_t)(keys - item->value));
	AUTO(buf) struct buf text = {0};
	json_t *real = NULL;
	struct err ignored;

	if (from >= 0 && read_settings(from, path, &text, &ignored) > 0)
		real = json_loadb((const char *)text.data, text.len, 0, NULL);
	while (json_is_object(real) && *keys) {
		size_t len = strcspn(++keys, ",");
		auto_free char *key = mem_strndup(keys, len);
		auto_free char *name = NULL;
		json_t *in = members_find(real, key, project, false, &name);
		json_t *value =
			in && !is_secret_key(name)
				? json_deep_copy(json_object_get(in, name))
				: NULL;

		drop_environments(value);
		redact_json(value);
		add_wanted(wanted, key, value);
		keys += len;
	}
	json_decref(real);
}

/* The wanted members as JSON, to free; NULL: there are none. To parse a large
 * file takes long: its members are kept until the file changes. */
static char *find_keys(const struct profile_item *item,
		       const struct state *state, const char *project)
{
	auto_free char *subject =
		mem_printf("keys %s %s", item->value, project);
	auto_free char *file =
		mem_printf("%s/%.*s", state->home,
			   (int)strcspn(item->value, "#"), item->value);
	auto_free char *name = NULL;
	AUTO(buf) struct buf kept = {0};
	json_t *wanted = NULL;
	struct err ignored;
	struct stat st;
	char *dumped;

	if (stat(file, &st) < 0)
		return NULL;
	name = derived_name(subject, &st);
	if (st.st_size >= LARGE_FILE &&
	    derived_read(state->fd, name, SETTINGS_MAX, &kept) == 0)
		return kept.len ? buf_take_text(&kept) : NULL;
	wanted = json_array();
	copy_keys(item, state->home, project, wanted);
	dumped = json_array_size(wanted) ? json_dumps(wanted, 0) : NULL;
	json_decref(wanted);
	if (st.st_size >= LARGE_FILE)
		(void)derived_save(state->fd, name, &st, dumped,
				   dumped ? strlen(dumped) : 0, &ignored);
	return dumped;
}

static int write_settings(int dir, const char *path, const struct buf *text,
			  struct err *err)
{
	const char *name;
	auto_close int above = -1;

	if (make_home_parents(dir, path, err) < 0)
		return -err->num;
	above = beneath_parent(dir, path, &name, err);
	if (above < 0)
		return above;
	return atomic_write(above, name, text->data, text->len, 0600,
			    ATOMIC_NO_SYNC, err);
}

/* One line of the profile, which sets members of a JSON file that lack there.
 */
static int update_json(const struct profile_item *item, int dir,
		       const char *target, const struct state *state,
		       const char *project, struct err *err)
{
	AUTO(buf) struct buf text = {0}, now = {0};
	char *dumped;
	int got;

	if (item->word == PROFILE_KEYS) {
		dumped = find_keys(item, state, project);
	} else {
		json_t *wanted = json_array();

		add_wanted(wanted, strchr(item->value, '#') + 1,
			   json_loads(item->text, JSON_DECODE_ANY, NULL));
		dumped = json_array_size(wanted) ? json_dumps(wanted, 0) : NULL;
		json_decref(wanted);
	}
	if (!dumped)
		return 0;
	got = read_settings(dir, target, &text, err);
	if (got >= 0)
		got = settings_add(got ? &text : NULL, dumped, project, &now,
				   err);
	free(dumped);
	return got > 0 ? write_settings(dir, target, &now, err) : got;
}

/* Another run of the agent may write the same file: the lock of the agent's
 * directory is held. */
static void update_settings(const struct agent *a, const struct state *state,
			    const char *project, int dir,
			    const struct profile_item *home, struct buf *notes)
{
	static const enum profile_word words[] = {PROFILE_KEYS, PROFILE_WRITE};
	struct err err;
	auto_close int fd =
		beneath_open(dir, "home", O_RDONLY | O_DIRECTORY, 0, &err);
	size_t i;

	for (i = 0; fd >= 0 && i < sizeof(words) / sizeof(*words); i++) {
		const struct profile_item *item = NULL;

		while ((item = profile_next(&a->profile, words[i], item))) {
			auto_free char *target =
				item->word == PROFILE_KEYS
					? mem_strdup(item->text)
					: mem_strndup(
						  item->value,
						  strcspn(item->value, "#"));

			if (strchr(item->value, '#') &&
			    path_below(target, home->value) &&
			    update_json(item, fd, target, state, project,
					&err) < 0)
				buf_printf(notes,
					   "~/%s did not get all of its "
					   "settings: %s\n",
					   target, err.text);
		}
	}
}

char *agent_make_home(const struct agent *a, const struct state *state,
		      const char *project, const struct profile_item *home,
		      struct buf *notes, struct err *err)
{
	auto_close int dir = agent_open_state(state, a->name, true, err);
	auto_free char *place = path_join("home", home->value);
	auto_close int lock = -1, fd = -1;

	if (dir < 0)
		return NULL;
	lock = lock_take(dir, "lock", true, true, err);
	if (lock < 0)
		return NULL;
	fd = beneath_open(dir, place, O_PATH | O_DIRECTORY, 0, err);
	if (fd < 0 && fd != -ENOENT)
		return NULL;
	if (fd < 0 && make_new_home(a, state, dir, home, notes, err) < 0)
		return NULL;
	update_settings(a, state, project, dir, home, notes);
	return mem_printf("%s/agents/%s/%s", state->path, a->name, place);
}
