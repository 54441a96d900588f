#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "base/record.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "guard/agent/agent.h"
#include "guard/agent/redact.h"
#include "guard/agent/settings.h"

#define FILE_MAX (8u << 20)
/* ~/.claude.json grows with each project. */
#define SETTINGS_MAX (32u << 20)
/* A smaller one is parsed at once. */
#define LARGE_FILE (64 << 10)
#define ENTRIES_MAX 5000
/* So many of them are compared at each start. */
#define UPDATED_MAX 1000

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

/* A run may have put links into a home. */
static int make_home_parents(int dir, const char *path, struct err *err)
{
	auto_free char *part = mem_strdup(path);
	char *slash = part;

	while ((slash = strchr(slash, '/'))) {
		auto_close int above = -1;
		const char *name;

		*slash = '\0';
		above = beneath_parent(dir, part, &name, err);
		if (above < 0)
			return above;
		if (mkdirat(above, name, 0700) < 0 && errno != EEXIST)
			return fail_errno(err, "create %s", text_quote(part));
		*slash++ = '/';
	}
	return 0;
}

/* ---- copies of settings ---- */

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

static int write_settings(int dir, const char *path, const struct buf *text,
			  struct err *err)
{
	const char *name;
	auto_close int above = -1;
	struct stat st;
	bool exists;

	if (make_home_parents(dir, path, err) < 0)
		return -err->num;
	above = beneath_parent(dir, path, &name, err);
	if (above < 0)
		return above;
	exists = fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (atomic_write(above, name, text->data, text->len, 0600,
			 ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	/* No change of a run: see update_seed(). A new file is older than the
	 * home. */
	if (!exists)
		st.st_atim = st.st_mtim = (struct timespec){0};
	(void)utimensat(above, name,
			(struct timespec[]){st.st_atim, st.st_mtim},
			AT_SYMLINK_NOFOLLOW);
	return 0;
}

/*
 * The record "seeds" beside the homes has for each file below a seed line the
 * mtimes of the real file and of the copy when guard last compared them ("-":
 * no such file). Its path is the key: -HH is a character that a key lacks.
 */
#define SEEDS "seeds"
#define SEEDS_VERSION 1

struct seeding {
	const struct agent *a;
	const struct profile_item *home;
	const char *user_home;
	int from, to; /* the user's home directory, the agent's home */
	bool fresh; /* the home is new */
	bool changed; /* the record */
	size_t entries, left_count;
	struct record record;
	struct buf keys, skipped, left_out, *notes;
};

static void record_skipped(struct seeding *s, const char *path)
{
	if (s->fresh)
		buf_printf(&s->skipped, "%s%s", s->skipped.len ? ", " : "",
			   text_quote(path_name(path)));
}

static char *stamp_of(int dir, const char *path, struct stat *ret)
{
	*ret = (struct stat){0};
	return fstatat(dir, path, ret, AT_SYMLINK_NOFOLLOW) < 0
		       ? mem_strdup("-")
		       : mem_printf("%lld.%09ld",
				    (long long)ret->st_mtim.tv_sec,
				    ret->st_mtim.tv_nsec);
}

/* A home of an earlier version has no record: a copy that is not younger than
 * the home was not changed in a run. */
static bool is_first_copy(const struct seeding *s, const struct stat *copy)
{
	struct stat above;

	return fstatat(s->to, "..", &above, 0) == 0 &&
	       copy->st_mtim.tv_sec <= above.st_mtim.tv_sec + 1;
}

static void copy_seed(struct seeding *s, const char *path, int from,
		      const char *name, int to, const char *to_name,
		      mode_t mode)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	auto_close int in =
		beneath_open(from, name, O_RDONLY | O_NONBLOCK, 0, &ignored);

	if (in < 0 || fd_slurp(in, FILE_MAX, &text, &ignored) < 0 ||
	    atomic_write(to, to_name, text.data, text.len, 0600 | (mode & 0100),
			 ATOMIC_NO_SYNC, &ignored) < 0)
		record_skipped(s, path);
}

/* A key of the user's real file is the one of the copy, too. */
static void update_keys(struct seeding *s, const char *path, int from,
			const char *name, int to, const char *to_name)
{
	AUTO(buf) struct buf real = {0}, copy = {0}, now = {0};
	struct err ignored;
	int got;

	if (read_settings(from, name, &real, &ignored) <= 0 ||
	    read_settings(to, to_name, &copy, &ignored) <= 0)
		return;
	got = settings_merge(path, &real, &copy, &now, &ignored);
	if (got > 0)
		got = write_settings(to, to_name, &now, &ignored);
	if (got >= 0)
		return;
	buf_add_text(s->notes, "~/");
	text_escape_name(s->notes, path);
	buf_printf(s->notes,
		   ": the copy of %s may have other keys than yours (guard "
		   "agents --reset %s)\n",
		   s->a->name, s->a->name);
}

/* Copies a file that is new or that the user has changed, unless a run has
 * changed the copy. path: below the home directory. */
static void update_seed_file(struct seeding *s, const char *path, int from,
			     const char *name, int to, const char *to_name)
{
	struct stat st, copy_st;
	AUTO(buf) struct buf key = {0};
	auto_free char *real = stamp_of(from, name, &st);
	auto_free char *copy = stamp_of(to, to_name, &copy_st);
	auto_free char *value = NULL;
	const char *before, *then, *c;
	bool known;

	for (c = path; *c; c++)
		buf_printf(&key,
			   islower((unsigned char)*c) ||
					   isdigit((unsigned char)*c)
				   ? "%c"
				   : "-%02x",
			   (unsigned char)*c);
	before = s->fresh ? NULL : record_get(&s->record, buf_text(&key));
	then = before ? strchr(before, ' ') : NULL;
	known = then && strncmp(before, real, strlen(real)) == 0;
	if (then && strcmp(then + 1, copy) != 0)
		update_keys(s, path, from, name, to, to_name);
	if (known)
		return;
	if (!copy_st.st_mode ||
	    (then ? strcmp(then + 1, copy) == 0 : is_first_copy(s, &copy_st))) {
		copy_seed(s, path, from, name, to, to_name, st.st_mode);
		free(copy);
		copy = stamp_of(to, to_name, &copy_st);
		then = copy;
	} else if (then) {
		then++;
		buf_add_text(s->notes, "~/");
		text_escape_name(s->notes, path);
		buf_printf(s->notes,
			   " was changed outside, and guard's copy by %s: the "
			   "copy stays, with your keys (guard agents --reset "
			   "%s)\n",
			   s->a->name, s->a->name);
	}
	value = mem_printf("%s %s", real, then ?: "-");
	record_set(&s->record, buf_text(&key), value);
	s->changed = true;
}

/* The same for a directory with its entries. Symbolic links are not followed:
 * their targets are no settings of the agent. */
static void update_seed(struct seeding *s, const char *path, int from,
			const char *name, int to, const char *to_name)
{
	const size_t most = s->fresh ? ENTRIES_MAX : UPDATED_MAX;
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int in = -1, out = -1;
	struct err ignored;
	struct stat st;
	size_t i;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		in = beneath_open(from, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
		if (in >= 0 &&
		    (mkdirat(to, to_name, 0700) == 0 || errno == EEXIST))
			out = beneath_open(to, to_name, O_RDONLY | O_DIRECTORY,
					   0, &ignored);
	}
	if (s->entries++ >= most ||
	    (S_ISDIR(st.st_mode)
		     ? out < 0 || dirlist_read(in, &list, &ignored) < 0
		     : !S_ISREG(st.st_mode))) {
		record_skipped(s, path);
		return;
	}
	if (S_ISREG(st.st_mode))
		update_seed_file(s, path, from, name, to, to_name);
	for (i = 0; i < list.count; i++) {
		const char *entry = list.items[i].name;
		auto_free char *below = path_join(path, entry);

		if (strlen(below) < PATH_MAX)
			update_seed(s, below, in, entry, out, entry);
	}
}

/* Adds the members with keys in a file of the user to the header. */
static void name_keys(struct seeding *s, const char *path, int from,
		      const char *name)
{
	AUTO(buf) struct buf text = {0}, ignored = {0};
	char **members = NULL, **member;
	struct err err;

	if (read_settings(from, name, &text, &err) <= 0)
		return;
	(void)redact_settings(path, text.data, text.len, &ignored, &members);
	if (members)
		buf_printf(&s->keys, "%s~/%s (", s->keys.len ? ", " : "", path);
	for (member = members; member && *member; member++)
		buf_printf(&s->keys, "%s%s", *member, member[1] ? ", " : ")");
	mem_list_free(&members);
}

static void seed_home(struct seeding *s)
{
	const struct profile_item *item = NULL;
	struct err ignored;

	while (s->from >= 0 &&
	       (item = profile_next(&s->a->profile, PROFILE_SEED, item))) {
		auto_free char *real = NULL, *full_path = NULL;
		auto_close int above = -1, below = -1;
		const char *rest, *name, *to_name;

		if (!path_below(item->value, s->home->value))
			continue;
		rest = path_rest(item->value, s->home->value);
		/* Dotfiles are often links, to somewhere else in the home. */
		full_path = path_join(s->user_home, item->value);
		real = path_resolve(full_path, &ignored);
		if (*rest && real && access(real, F_OK) == 0) {
			if (path_below(real, s->user_home))
				above = beneath_parent(
					s->from, path_rest(real, s->user_home),
					&name, &ignored);
			if (above >= 0 &&
			    make_home_parents(s->to, rest, &ignored) == 0)
				below = beneath_parent(s->to, rest, &to_name,
						       &ignored);
			if (below < 0)
				record_skipped(s, item->value);
			else
				update_seed(s, item->value, above, name, below,
					    to_name);
			if (above >= 0)
				name_keys(s, item->value, above, name);
		}
	}
}

/* ---- settings that stay behind ---- */

#define LEFT_OUT_NAMED 6

static bool is_copied(const struct profile_item *item)
{
	return item->word == PROFILE_SEED || item->word == PROFILE_INITIAL;
}

/* Whether a line of the profile has the entry, or seeds a part of it. */
static bool is_known_entry(const struct profile *p, const char *path)
{
	unsigned int word;
	size_t i;

	for (word = PROFILE_HOME + 1; word < PROFILE_WORDS; word++)
		if (profile_match(p, (enum profile_word)word, path))
			return true;
	for (i = 0; i < p->count; i++) {
		const char *value = p->items[i].value;
		const size_t len = strlen(path);

		if (strncmp(value, path, len) == 0 &&
		    (value[len] == '#' ||
		     (value[len] == '/' && is_copied(&p->items[i]))))
			return true;
	}
	return false;
}

/* Names entries of the real directory of which the run has no copy. */
static void name_left_out_in(struct seeding *s, const char *path)
{
	auto_close int dir =
		openat(s->from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	struct stat st;
	size_t i;

	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		auto_free char *entry = path_join(path, list.items[i].name);
		auto_free char *shown = path_join("~", entry);

		if (fstatat(dir, list.items[i].name, &st, 0) < 0 ||
		    !(members_name_acts(list.items[i].name) ||
		      (S_ISREG(st.st_mode) && st.st_mode & 0111)) ||
		    is_known_entry(&s->a->profile, entry) ||
		    s->left_count++ > LEFT_OUT_NAMED)
			continue;
		buf_add_text(&s->left_out, s->left_out.len ? ", " : "");
		if (s->left_count > LEFT_OUT_NAMED)
			buf_add_text(&s->left_out, "...");
		else
			text_escape_name(&s->left_out, shown);
	}
}

/* In the home, and in the directories of the settings below it. */
static void name_left_out(struct seeding *s)
{
	const struct profile *p = &s->a->profile;
	auto_free char *last = mem_strdup(s->home->value);
	size_t i;

	name_left_out_in(s, last);
	for (i = 0; i < p->count; i++) {
		auto_free char *above = path_parent(p->items[i].value);

		if (!is_copied(&p->items[i]) ||
		    !path_below(above, s->home->value) ||
		    path_below(last, above))
			continue;
		name_left_out_in(s, above);
		free(last);
		last = TAKE(above);
	}
	if (s->left_count)
		buf_printf(s->notes,
			   "not taken along: %s (a seed "
			   "line in ~/.config/guard/agents/%s copies it)\n",
			   buf_text(&s->left_out), s->a->name);
	buf_free(&s->left_out);
}

/* The files of one line that the home lacks. */
static void write_initial_files(const struct seeding *s)
{
	const struct profile_item *item = NULL;
	struct err ignored;

	while ((item = profile_next(&s->a->profile, PROFILE_WRITE, item))) {
		auto_free char *text = mem_printf("%s\n", item->text);
		auto_close int above = -1, out = -1;
		const char *rest, *name;

		if (strchr(item->value, '#') ||
		    !path_below(item->value, s->home->value))
			continue;
		rest = path_rest(item->value, s->home->value);
		if (!*rest || make_home_parents(s->to, rest, &ignored) < 0)
			continue;
		above = beneath_parent(s->to, rest, &name, &ignored);
		if (above >= 0)
			out = openat(above, name,
				     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
					     O_CLOEXEC,
				     0600);
		if (out >= 0)
			(void)fd_write(out, text, strlen(text));
	}
}

/* ---- members of JSON files ---- */

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

		if (in)
			add_wanted(wanted, key,
				   json_incref(json_object_get(in, name)));
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

char *agent_own_member(const struct profile_item *item, const char *home)
{
	const char *hash = strchr(item->value, '#');
	const char *at = hash ? strstr(hash, "\"~/") : NULL;
	json_auto_t *wanted = json_array();
	auto_free char *key = NULL;

	if (!hash)
		return NULL;
	key = at ? mem_printf("%.*s%s%s", (int)(at - hash), hash + 1, home,
			      at + 2)
		 : mem_strdup(hash + 1);
	add_wanted(wanted, key, json_loads(item->text, JSON_DECODE_ANY, NULL));
	return json_array_size(wanted) ? json_dumps(wanted, 0) : NULL;
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

	dumped = item->word == PROFILE_KEYS
			 ? find_keys(item, state, project)
			 : agent_own_member(item, state->home);
	if (!dumped)
		return 0;
	got = read_settings(dir, target, &text, err);
	if (got >= 0)
		got = settings_add(target, got ? &text : NULL, dumped, project,
				   &now, err);
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

	for (i = 0; fd >= 0 && i < ARRAY_SIZE(words); i++) {
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

static int open_home(struct seeding *s, int dir, const char *place,
		     struct err *err)
{
	auto_free char *entry = path_join(place, ".");

	s->to = beneath_open(dir, place, O_RDONLY | O_DIRECTORY, 0, err);
	if (s->to != -ENOENT)
		return s->to < 0 ? s->to : 0;
	if (make_home_parents(dir, entry, err) < 0)
		return -err->num;
	s->fresh = true;
	buf_printf(s->notes,
		   "~/%s is now a directory of guard's own for %s: log in once "
		   "inside; your real one is unchanged\n",
		   s->home->value, s->a->name);
	s->to = beneath_open(dir, place, O_RDONLY | O_DIRECTORY, 0, err);
	return s->to < 0 ? s->to : 0;
}

/* A crash leaves a home that the next start completes. */
static void fill_home(struct seeding *s, int dir)
{
	struct err ignored;

	(void)record_load(dir, SEEDS, SEEDS, SEEDS_VERSION, &s->record,
			  &ignored);
	seed_home(s);
	write_initial_files(s);
	if (s->changed)
		(void)record_save(dir, SEEDS, SEEDS, SEEDS_VERSION, &s->record,
				  ATOMIC_NO_SYNC, &ignored);
	if (s->skipped.len)
		buf_printf(s->notes, "not copied from ~/%s: %s\n",
			   s->home->value, buf_text(&s->skipped));
	if (s->keys.len)
		buf_printf(s->notes, "%s uses the keys in %s\n", s->a->name,
			   buf_text(&s->keys));
	name_left_out(s);
}

char *agent_make_home(const struct agent *a, const struct state *state,
		      const char *project, const struct profile_item *home,
		      struct buf *notes, struct err *err)
{
	auto_close int dir = agent_open_state(state, a->name, true, err);
	auto_free char *place = path_join("home", home->value);
	struct seeding s = {.a = a,
			    .home = home,
			    .user_home = state->home,
			    .to = -1,
			    .notes = notes};
	auto_close int lock = -1;
	int got;

	if (dir < 0)
		return NULL;
	lock = lock_take(dir, "lock", true, true, err);
	if (lock < 0)
		return NULL;
	s.from = open(state->home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	got = open_home(&s, dir, place, err);
	if (got == 0)
		fill_home(&s, dir);
	fd_close(&s.from);
	fd_close(&s.to);
	record_free(&s.record);
	buf_free(&s.skipped);
	buf_free(&s.keys);
	if (got < 0)
		return NULL;
	update_settings(a, state, project, dir, home, notes);
	return mem_printf("%s/agents/%s/%s", state->path, a->name, place);
}
