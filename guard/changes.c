#include "guard/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/moved_dirs.h"
#include "overlay/lower_copy.h"
#include "overlay/layers.h"
#include "overlay/whiteout.h"
#include "restore/transaction.h"

static int open_layer_dir(int dirfd, const char *path, struct err *err)
{
	int fd = openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? fail_errno(err, "open %s", text_quote(path)) : fd;
}

#define IN " in "

char *changes_prefix(const char *path, const char *home)
{
	const char *rest;

	if (!home || !*home || !path_below(path, home))
		return mem_printf("%s/", path);
	rest = path_rest(path, home);
	return mem_printf("~/%s%s", rest, *rest ? "/" : "");
}

/* One beside the project, for people. To free. */
static char *extra_where_text(const char *path, const char *home)
{
	auto_free char *prefix = changes_prefix(path, home);

	return mem_printf(IN "%s", prefix);
}

/* What has another layer, or none, in that folder; borrowed. */
static const char **list_uncovered_paths(const struct session *s,
					 const char *dir)
{
	size_t uncovered = 0, n = 0, i;
	const char **skip;

	while (record_get_nth(&s->more, LAYERS_UNCOVERED, uncovered))
		uncovered++;
	skip = mem_zalloc((s->extra_count + uncovered + 3) * sizeof(*skip));
	for (i = 0; i < s->extra_count + uncovered + 1; i++) {
		const char *path =
			i < s->extra_count ? s->extras[i].path
			: i == s->extra_count
				? s->project
				: record_get_nth(&s->more, LAYERS_UNCOVERED,
						 i - s->extra_count - 1);

		if (path_below(path, dir) && strcmp(path, dir) != 0)
			skip[n++] = path_rest(path, dir);
	}
	return skip;
}

int changes_explain(int got, const char *path, struct err *err)
{
	if (got != -ENOENT && got != -ENOTDIR && got != -ELOOP)
		return got;
	return fail(err, -got,
		    "%s %s: the run's changes are of the folder that was "
		    "there; put it back, then try again",
		    text_quote(path),
		    got == -ENOENT ? "is gone"
				   : "is no folder any more, or is reached by "
				     "a link");
}

static int load_extra(const struct session *s, size_t index,
		      struct changes_extra *ret, struct err *err)
{
	auto_free char *upper = session_extra_dir(index, "upper");
	const struct extra *e = &s->extras[index];
	auto_free const char **skip = NULL;

	ret->where = extra_where_text(e->path, s->home);
	ret->upper_fd = open_layer_dir(s->fd, upper, err);
	if (ret->upper_fd < 0)
		return ret->upper_fd;
	ret->lower_fd = project_open_dir(e->path, false, err);
	if (ret->lower_fd < 0)
		return changes_explain(ret->lower_fd, e->path, err);
	skip = list_uncovered_paths(s, e->path);
	return scan_layer(ret->upper_fd, ret->lower_fd, skip, &ret->list, err);
}

static int load_extras(const struct session *s, struct changes *ret,
		       struct err *err)
{
	size_t i;

	ret->extras = mem_zalloc((s->extra_count + 1) * sizeof(*ret->extras));
	for (i = 0; i < s->extra_count; i++) {
		struct changes_extra *e = &ret->extras[ret->extra_count++];

		e->upper_fd = e->lower_fd = -1;
		if (load_extra(s, i, e, err) < 0)
			return err_context(err, "the layer of run %s over %s",
					   s->id,
					   text_quote(s->extras[i].path));
	}
	return 0;
}

/* The covered home: the project, which has a layer of its own, and guard's
 * state, which no run sees, are left out. */
static int load_home(const struct session *s, const struct state *state,
		     struct changes *ret, struct err *err)
{
	auto_free const char **skip = NULL;
	size_t n = 0;

	/* The project's layer has it (--home). */
	if (path_below(s->home, s->project))
		return 0;
	skip = list_uncovered_paths(s, s->home);
	ret->home_upper_fd =
		openat(s->fd, "home-upper",
		       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->home_upper_fd < 0)
		return errno == ENOENT ? 0 : fail_errno(err, "open it");
	ret->home_lower_fd = open_layer_dir(AT_FDCWD, s->home, err);
	if (ret->home_lower_fd < 0)
		return -err->num;
	while (skip[n])
		n++;
	if (path_below(state->path, s->home))
		skip[n++] = path_rest(state->path, s->home);
	return scan_layer(ret->home_upper_fd, ret->home_lower_fd, skip,
			  &ret->home, err);
}

int changes_load(const struct session *s, const struct state *state,
		 struct changes *ret, struct err *err)
{
	AUTO(changes) struct changes c = CHANGES_NONE;
	auto_free const char **skip = NULL;

	if (moved_dirs_check(s, err) < 0 ||
	    (s->state == RUN_INTERRUPTED && layers_finalize(s, err) < 0))
		return -err->num;
	c.upper_fd = open_layer_dir(s->fd, "upper", err);
	if (c.upper_fd < 0)
		return err_context(err, "the layer of run %s", s->id);
	c.lower_fd = lower_copy_open(s, err);
	if (c.lower_fd < 0) {
		(void)changes_explain(c.lower_fd, s->project, err);
		return err_context(err, "the project of run %s", s->id);
	}
	skip = list_uncovered_paths(s, s->project);
	if (scan_layer(c.upper_fd, c.lower_fd, skip, &c.project, err) < 0)
		return err_context(err, "the layer of run %s", s->id);
	if (load_extras(s, &c, err) < 0)
		return -err->num;
	if (state && s->home && s->home[0] && load_home(s, state, &c, err) < 0)
		return err_context(err, "the home layer of run %s", s->id);
	changes_fold(s, &c);
	*ret = c;
	c = (struct changes)CHANGES_NONE;
	return 0;
}

void changes_free(struct changes *c)
{
	auto_close int upper = c->upper_fd, lower = c->lower_fd;
	auto_close int home_upper = c->home_upper_fd;
	auto_close int home_lower = c->home_lower_fd;
	size_t i;

	(void)upper;
	(void)lower;
	(void)home_upper;
	(void)home_lower;
	for (i = 0; i < c->extra_count; i++) {
		auto_close int extra_upper = c->extras[i].upper_fd;
		auto_close int extra_lower = c->extras[i].lower_fd;

		(void)extra_upper;
		(void)extra_lower;
		change_list_free(&c->extras[i].list);
		free(c->extras[i].where);
	}
	free(c->extras);
	change_list_free(&c->project);
	change_list_free(&c->home);
	*c = (struct changes)CHANGES_NONE;
}

size_t changes_groups(struct changes *c, struct changes_group **ret)
{
	struct changes_group *g = mem_zalloc((c->extra_count + 2) * sizeof(*g));
	size_t i, n = 0;

	g[n++] = (struct changes_group){&c->project, c->upper_fd, c->lower_fd,
					"",	     "",	  false};
	for (i = 0; i < c->extra_count; i++) {
		struct changes_extra *e = &c->extras[i];

		g[n++] = (struct changes_group){
			&e->list,    e->upper_fd,
			e->lower_fd, e->where + strlen(IN),
			e->where,    false};
	}
	g[n++] = (struct changes_group){
		&c->home, c->home_upper_fd,	  c->home_lower_fd,
		"~/",	  " in your home folder", true};
	*ret = g;
	return n;
}

/* A move is counted where it went. */
static void add_moved_counts(const struct change *c, struct change_counts *ret)
{
	ret->moved += c->kind != CHANGE_DELETED;
	ret->moved_from += c->kind == CHANGE_DELETED;
	ret->moved_over += c->kind == CHANGE_MODIFIED;
	ret->moved_to += c->kind == CHANGE_ADDED;
}

static void add_list_counts(const struct change_list *list,
			    struct change_counts *ret)
{
	size_t i;

	ret->total += list->count;
	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];

		if (c->flags & CHANGE_GIT)
			ret->git++;
		else if (c->kind == CHANGE_DELETED)
			ret->deleted++;
		else if (c->kind == CHANGE_TYPE)
			ret->type++;
		else if (c->kind == CHANGE_MODIFIED)
			ret->modified++;
		else if (c->kind == CHANGE_META)
			ret->meta++;
		else
			ret->added++;
		if (changes_is_moved(list, c))
			add_moved_counts(c, ret);
	}
}

void changes_count(const struct change_list *list, struct change_counts *ret)
{
	*ret = (struct change_counts){0};
	add_list_counts(list, ret);
}

void changes_count_all(const struct changes *c, struct change_counts *ret)
{
	size_t i;

	changes_count(&c->project, ret);
	for (i = 0; i < c->extra_count; i++)
		add_list_counts(&c->extras[i].list, ret);
}

size_t changes_total(const struct changes *c)
{
	struct change_counts n;

	changes_count_all(c, &n);
	return n.total;
}

void changes_summary(const struct change_counts *counts, struct buf *to)
{
	const struct text_part parts[] = {
		{counts->deleted - counts->moved_from, "deleted"},
		{counts->moved, "moved"},
		{counts->type, "of another type"},
		{counts->modified - counts->moved_over, "modified"},
		{counts->meta, "with other rights"},
		{counts->added - counts->moved_to, "added"},
		{counts->git, "in .git"},
	};

	text_sum(to, parts, sizeof(parts) / sizeof(parts[0]), "no changes");
}

void changes_filter(struct change_list *list, const char *const *paths)
{
	AUTO(pathset) struct pathset wanted_paths = pathset_make(paths);
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++)
		if (pathset_contains(&wanted_paths, list->items[i].path))
			list->items[kept++] = list->items[i];
	list->count = kept;
	for (i = 0; i < list->move_count; i++) {
		struct change_move *m = &list->moves[i];

		m->half |= !pathset_contains(&wanted_paths, m->from) ||
			   !pathset_contains(&wanted_paths, m->to);
	}
}

/* What lies below a path comes directly behind it. */
bool changes_has(const struct change_list *list, const char *path)
{
	size_t at = INDEX_BY_PATH(path, list->items, list->count, path);

	return at < list->count && path_below(list->items[at].path, path);
}

/* The layer has it, or says that a folder around it is deleted. */
static bool layer_has_path(int upper_fd, const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (upper_fd >= 0 && *at) {
		struct err ignored;
		auto_close int fd =
			beneath_open(upper_fd, at, O_PATH, 0, &ignored);
		struct meta m;
		char *up;

		if (fd >= 0)
			return meta_get(fd, "", &m) == 0 &&
			       (whiteout_is(&m) || strcmp(at, path) == 0);
		up = path_parent(at);
		free(at);
		at = up;
	}
	return false;
}

int changes_check(const struct change_list *list, int upper_fd, int lower_fd,
		  char *const *paths, struct err *err)
{
	struct err ignored;

	for (; paths && *paths; paths++) {
		auto_close int fd = -1;

		if (changes_has(list, *paths))
			continue;
		fd = beneath_open(lower_fd, *paths, O_PATH, 0, &ignored);
		if (fd < 0 && !layer_has_path(upper_fd, *paths))
			return fail(err, ENOENT,
				    "%s is no run's id (`guard status --all` "
				    "shows them), no file and no change of "
				    "the run",
				    text_quote(*paths));
	}
	return 0;
}

char changes_letter(enum change_kind kind)
{
	static const char letters[] = {
		[CHANGE_DELETED] = 'D',	 [CHANGE_TYPE] = 'T',
		[CHANGE_MODIFIED] = 'M', [CHANGE_META] = 'P',
		[CHANGE_ADDED] = 'A',
	};

	return letters[kind];
}

const char *changes_kind_name(enum change_kind kind)
{
	static const char *const names[] = {
		[CHANGE_DELETED] = "delete",  [CHANGE_TYPE] = "type",
		[CHANGE_MODIFIED] = "modify", [CHANGE_META] = "meta",
		[CHANGE_ADDED] = "add",
	};

	return names[kind];
}

bool changes_is_cache(const char *home_path)
{
	static const char *const caches[] = {
		".cache",
		".npm",
		".cargo/registry",
		".cargo/git",
		".ccache",
		".gradle/caches",
		".m2/repository",
		".nuget/packages",
		".yarn/berry/cache",
		".bun/install/cache",
		".local/share/pnpm/store",
		".pub-cache",
		"go/pkg/mod",
		/* What programs note of their own use. */
		".bash_history",
		".zsh_history",
		".python_history",
		".node_repl_history",
		".irb_history",
		".gdb_history",
		".sqlite_history",
		".psql_history",
		".mysql_history",
		".rediscli_history",
		".lesshst",
		".viminfo",
		".wget-hsts",
	};
	size_t i;

	for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
		if (path_below(home_path, caches[i]))
			return true;
	return false;
}

size_t changes_count_home(const struct change_list *home)
{
	size_t i, n = 0;

	for (i = 0; i < home->count; i++)
		n += !changes_is_cache(home->items[i].path);
	return n;
}
