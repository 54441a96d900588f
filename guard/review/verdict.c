#include "guard/review/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"

#define CACHE "verdict"
#define CACHE_HEAD "guard-verdict 1"
#define CACHE_MAX 16384
/* So many names in a directory are one name with their number. */
#define DIR_LEAST 4
#define NAMES_MOST 6

static const char *const ids[] = {
	"no-copy", "work-lost",	   "critical",	   "ref-back",		"high",
	"no-git",  "not-examined", "home-deleted", "repository-deleted"};

void verdict_free(struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->count; i++) {
		free(v->items[i].text);
		free(v->items[i].brief);
	}
	*v = (struct verdict){0};
}

bool verdict_equal(const struct verdict *a, const struct verdict *b)
{
	size_t i;

	for (i = 0; i < a->count && i < b->count; i++)
		if (strcmp(a->items[i].text, b->items[i].text) != 0)
			return false;
	return a->count == b->count;
}

const char *verdict_sign(enum risk_level level)
{
	return level == RISK_CRITICAL ? " !!"
	       : level == RISK_HIGH   ? "  !"
				      : "  i";
}

/* --- names --- */

/* Names that a line lists, as far as they fit. */
struct name_list {
	struct buf *to;
	bool critical;
	size_t listed, total;
	struct names names; /* names in the line */
	bool full;
};

static void add_name(struct name_list *l, const char *name, size_t stands_for)
{
	auto_free char *more = mem_printf(", and %zu more", l->total);
	AUTO(buf) struct buf text = {0};

	if (names_have(&l->names, name))
		return;
	buf_printf(&text, "%s%s", l->listed ? ", " : ": ", name);
	/* The last name needs no room for the number of the others. */
	l->full = l->full || (l->critical && l->names.count == NAMES_MOST) ||
		  text_width(buf_text(l->to)) + text_width(buf_text(&text)) +
				  (l->listed + stands_for < l->total
					   ? strlen(more)
					   : 0) >
			  (l->critical ? 3 : 1) * VERDICT_COLUMNS;
	/* A name that is too long by itself leaves room for the next one. */
	if (l->full && !l->listed)
		l->full = false;
	else if (!l->full) {
		buf_add(l->to, text.data, text.len);
		l->listed += stands_for;
		names_add(&l->names, name);
	}
}

static void end_names(struct name_list *l)
{
	if (l->listed < l->total && l->listed)
		buf_printf(l->to, ", and %zu more", l->total - l->listed);
}

/* The entries that a line is about. */
struct match {
	const char *id; /* the first risk; NULL: any */
	enum loss loss; /* LOSS_NONE: of any */
	enum risk_level level; /* the worst of its risks; RISK_NONE: any */
	bool deleted; /* only files that are deleted */
	bool partly; /* only files that are overwritten in part */
	bool repository; /* only deleted repositories; else none of them */
};

static bool is_deleted_repository(const struct view_entry *e)
{
	/* .git; other systems are no risk, but a loss of a directory. */
	return (e->risks.count &&
		strcmp(e->risks.items[0].id, "git-deleted") == 0) ||
	       (e->loss == LOSS_NO_COPY && S_ISDIR(e->change->old.mode));
}

static bool is_wanted(const struct match *m, const struct view_entry *e)
{
	return m->repository == is_deleted_repository(e) &&
	       (!m->id ||
		(e->risks.count && strcmp(e->risks.items[0].id, m->id) == 0)) &&
	       (!m->loss || e->loss == m->loss) &&
	       (!m->level || risks_worst(&e->risks) == m->level) &&
	       (!m->deleted || !e->change->now.mode) &&
	       (!m->partly || e->partly);
}

/* The number of wanted entries from i on in the topmost directory of the i-th.
 */
static size_t count_in_dir(const struct view *v, size_t i,
			   const struct match *wanted, size_t *ret_end)
{
	const char *path = v->items[i].change->path;
	auto_free char *dir = mem_strndup(path, strcspn(path, "/"));
	size_t n = 0;

	for (; i < v->count && path_below(v->items[i].change->path, dir); i++)
		n += is_wanted(wanted, &v->items[i]);
	*ret_end = i;
	return n;
}

/* Adds the name of the i-th entry, or of its topmost directory if many wanted
 * entries are in it; dirs: only such directories, or only other names. Returns
 * the last entry that the name stands for. */
static size_t add_entry_name(struct name_list *l, const struct view *v,
			     size_t i, const struct match *wanted,
			     const bool *dirs)
{
	const char *path = v->items[i].change->path;
	AUTO(buf) struct buf name = {0};
	size_t end, n = count_in_dir(v, i, wanted, &end);
	/* The others of a critical kind have names of their own. */
	bool many = n >= DIR_LEAST && !(l->critical && dirs);

	text_escape_name(&name, v->prefix);
	if (many) {
		text_escape(&name, path, strcspn(path, "/"), false);
		buf_printf(&name, "/ (%zu)", n);
	} else {
		text_escape_name(&name, path);
	}
	if (!dirs || *dirs == many)
		add_name(l, buf_text(&name), many ? n : 1);
	return many ? end - 1 : i;
}

/* The directories with many wanted entries, or the other names. */
static void add_view_names(struct name_list *l, const struct view *v,
			   const struct match *wanted, bool dirs)
{
	size_t i;

	for (i = 0; i < v->count && !l->full; i++)
		if (is_wanted(wanted, &v->items[i]))
			i = add_entry_name(l, v, i, wanted, &dirs);
}

/* Shells and git come first, then the home directory. */
static int rank_of(const struct view *v, const char *id)
{
	return strcmp(id, "shell-start") == 0 || strncmp(id, "git-", 4) == 0 ? 0
	       : v->home						     ? 1
			 : 2;
}

/* One name for each rule. */
static void add_kind_names(struct name_list *l, const struct judgement *j,
			   const struct match *wanted)
{
	AUTO(mem_list) char **kinds = NULL;
	size_t i, k;
	int rank;

	for (rank = 0; rank <= 2; rank++)
		for (i = 0; i < j->count; i++)
			for (k = 0; k < j->views[i].count && !l->full; k++) {
				const struct view *v = &j->views[i];
				const struct risks *r = &v->items[k].risks;
				struct match kind = *wanted;

				if (!is_wanted(wanted, &v->items[k]) ||
				    !r->count)
					continue;
				kind.id = r->items[0].id;
				if (rank_of(v, kind.id) == rank &&
				    mem_list_add_once(&kinds, kind.id))
					(void)add_entry_name(l, v, k, &kind,
							     NULL);
			}
}

/* --- lines --- */

static void add_line(struct verdict *v, const char *id, enum risk_level level,
		     size_t count, struct buf *text, char *brief)
{
	if (v->count == VERDICT_LINES_MAX) {
		free(brief);
		return;
	}
	v->items[v->count++] = (struct verdict_line){
		.id = id,
		.level = level,
		.count = count,
		.text = buf_take_text(text),
		.brief = brief,
	};
}

static size_t count_entries(const struct judgement *j,
			    const struct match *wanted)
{
	size_t n = 0, i, k;

	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->views[i].count; k++)
			n += is_wanted(wanted, &j->views[i].items[k]);
	return n;
}

static void add_names(const struct judgement *j, const struct match *wanted,
		      size_t total, struct buf *to)
{
	bool critical = wanted->level == RISK_CRITICAL;
	struct name_list l = {
		.to = to,
		.critical = critical,
		.total = total,
	};
	size_t i;

	if (critical)
		add_kind_names(&l, j, wanted);
	/* Others of the same kinds only if all have a name of their own. */
	if (!critical || (total <= NAMES_MOST && l.listed == l.names.count))
		for (i = 0; i < 2 * j->count; i++)
			add_view_names(&l, &j->views[i % j->count], wanted,
				       i < j->count);
	end_names(&l);
	names_free(&l.names);
}

/* A line of a sentence, the names, and for status a brief text; both begin with
 * a number. */
static void add_loss(const struct judgement *j, const struct match *wanted,
		     const char *id, enum risk_level level, const char *noun,
		     const char *sentence, const char *brief, struct verdict *v)
{
	size_t n = count_entries(j, wanted);
	AUTO(buf) struct buf text = {0};

	if (!n)
		return;
	buf_printf(&text, "%s %s", text_count(n, noun), sentence);
	add_names(j, wanted, n, &text);
	add_line(v, id, level, n, &text, mem_printf("%zu %s", n, brief));
}

static void add_losses(const struct judgement *j, struct verdict *v)
{
	static const struct match repositories = {.repository = true};
	static const struct match copies = {.loss = LOSS_NO_COPY};
	static const struct match deleted_copies = {.loss = LOSS_NO_COPY,
						    .deleted = true};
	static const struct match parts = {.loss = LOSS_NO_COPY,
					   .partly = true};
	static const struct match work = {.loss = LOSS_WORK};
	size_t n = count_entries(j, &copies);
	size_t deleted = count_entries(j, &deleted_copies);
	bool partly = count_entries(j, &parts) == n;

	add_loss(j, &repositories, "repository-deleted", RISK_CRITICAL,
		 "repository",
		 count_entries(j, &repositories) == 1
			 ? "deleted, with its history"
			 : "deleted, with their histories",
		 "deleted with history", v);
	add_loss(j, &copies, "no-copy", RISK_CRITICAL,
		 partly		? "file"
		 : deleted == n ? "deleted file"
				: "lost file",
		 partly	  ? "overwritten in part, no other copy"
		 : n == 1 ? "has no other copy"
			  : "have no other copy",
		 n == 1 ? "only copy" : "only copies", v);
	add_loss(j, &work, "work-lost", RISK_CRITICAL, "file",
		 "lost uncommitted work", "lost work", v);
}

/* Applied only by their paths, and nowhere in git. */
static void add_home_losses(const struct judgement *j, struct verdict *v)
{
	static const struct match home = {.loss = LOSS_HOME};

	add_loss(j, &home, "home-deleted", RISK_HIGH, "file",
		 "deleted in your home directory", "deleted in home", v);
}

/* One change is named with its risk, several with their names alone. */
static void add_risks(const struct judgement *j, enum risk_level level,
		      struct verdict *v)
{
	static const struct match torn = {.id = "torn"};
	const struct match wanted = {.level = level};
	size_t n = count_entries(j, &wanted), i, k;
	const char *id = level == RISK_CRITICAL ? "critical" : "high";
	AUTO(buf) struct buf text = {0};

	if (!n)
		return;
	for (i = 0; n == 1 && i < j->count; i++) {
		const struct view *view = &j->views[i];

		for (k = 0; k < view->count; k++) {
			const struct view_entry *e = &view->items[k];
			auto_free char *sentence = NULL;

			if (!is_wanted(&wanted, e))
				continue;
			text_escape_name(&text, view->prefix);
			text_escape_name(&text, e->change->path);
			sentence = risk_sentence(&e->risks.items[0]);
			buf_printf(&text, " %s", sentence);
		}
	}
	if (n > 1) {
		buf_printf(&text, "%zu %s", n,
			   level != RISK_CRITICAL ? "changes to look at first"
			   : count_entries(j, &torn) == n
				   ? "files may be torn by a power cut"
				   : "changes act without being asked");
		add_names(j, &wanted, n, &text);
	}
	if (n == 1 && text_width(buf_text(&text)) > VERDICT_COLUMNS) {
		text.len = text_fit(buf_text(&text), VERDICT_COLUMNS - 3);
		buf_add_text(&text, "...");
	}
	add_line(v, id, level, n, &text,
		 mem_printf("%zu %s", n,
			    level == RISK_CRITICAL ? id : "to look at"));
}

static void add_refs(const struct judgement *j, struct verdict *v)
{
	AUTO(buf) struct buf text = {0};
	const char *brief = NULL;
	size_t n = 0, shown = 0, i, k;

	for (i = 0; i < j->count; i++)
		n += j->losses[i].refs.count;
	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->losses[i].refs.count; k++) {
			const struct loss_ref *r = &j->losses[i].refs.items[k];

			if (shown && text_width(buf_text(&text)) +
						     text_width(r->text) + 18 >
					     VERDICT_COLUMNS)
				continue;
			buf_printf(&text, "%s%s", shown++ ? ", " : "", r->text);
			brief = brief ? brief : r->brief;
		}
	if (shown < n)
		buf_printf(&text, ", and %s",
			   text_count(n - shown, "more ref"));
	if (n)
		add_line(v, "ref-back", RISK_HIGH, n, &text, mem_strdup(brief));
}

static bool is_out_of_time(const struct view_entry *e)
{
	size_t i;

	for (i = 0; i < e->risks.count; i++)
		if (strcmp(e->risks.items[i].id, "time-limit") == 0)
			return true;
	return false;
}

/* Files of which only the names are judged. */
static void add_out_of_time(const struct judgement *j, struct verdict *v)
{
	AUTO(buf) struct buf text = {0};
	size_t n = 0, i, k;

	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->views[i].count; k++)
			n += is_out_of_time(&j->views[i].items[k]);
	buf_printf(&text, "%s %s not examined: they take too long",
		   text_count(n, "file"), n == 1 ? "was" : "were");
	if (n)
		add_line(v, "not-examined", RISK_HIGH, n, &text,
			 mem_printf("%zu not examined", n));
}

/* References that were not followed: the search has limits. */
static void add_unfollowed(const struct judgement *j, struct verdict *v)
{
	AUTO(buf) struct buf text = {0};
	size_t n = 0, i;

	for (i = 0; i < j->count; i++) {
		const struct changes_root *root = j->views[i].root;
		const struct risk_refs *refs =
			root && root->refs ? &root->refs->list : NULL;

		if (!refs || !refs->left)
			continue;
		buf_printf(&text, "%s%s in %s not followed", n ? "; " : "",
			   text_count(refs->left, "name"), refs->left_by);
		n += refs->left;
	}
	if (n)
		add_line(v, "not-examined", RISK_HIGH, n, &text,
			 mem_printf("%zu names not followed", n));
}

static void add_unexamined(const struct judgement *j, struct verdict *v)
{
	static const struct match unknown = {.loss = LOSS_UNKNOWN};
	static const struct match deleted = {.loss = LOSS_UNKNOWN,
					     .deleted = true};
	const char *unread = NULL;
	bool repository = false;
	AUTO(buf) struct buf text = {0};
	size_t n, i;

	for (i = 0; i < j->count; i++) {
		unread = unread ? unread : j->losses[i].unread;
		repository |= j->losses[i].repository;
	}
	n = count_entries(j, &deleted);
	if (n && !repository && !unread) {
		buf_printf(&text, "no git repository: %s deleted",
			   text_count(n, "file"));
		add_line(v, "no-git", RISK_HIGH, n, &text,
			 mem_printf("%zu deleted, no git", n));
		return;
	}
	n = count_entries(j, &unknown);
	if (!n)
		return;
	buf_printf(&text, "%s %s not compared with git%s%s",
		   text_count(n, "file"), n == 1 ? "was" : "were",
		   unread ? ": " : "", unread ? unread : "");
	add_line(v, "not-examined", RISK_NOTE, n, &text,
		 mem_printf("%zu not examined", n));
}

void verdict_make(const struct judgement *j, bool complete, struct verdict *ret)
{
	*ret = (struct verdict){.complete = complete};
	add_losses(j, ret);
	add_risks(j, RISK_CRITICAL, ret);
	add_home_losses(j, ret);
	add_refs(j, ret);
	add_unexamined(j, ret);
	add_out_of_time(j, ret);
	add_unfollowed(j, ret);
	add_risks(j, RISK_HIGH, ret);
}

/* --- the cache --- */

static char *cache_head(struct verdict_key key)
{
	return mem_printf(CACHE_HEAD "\nresult %" PRIu64 "\nchanges %zu\n",
			  key.result, key.changes);
}

int verdict_save(int run_fd, struct verdict_key key, const struct verdict *v,
		 struct err *err)
{
	auto_free char *head = cache_head(key);
	AUTO(buf) struct buf b = {0};
	size_t i;

	if (!key.result)
		return 0;
	buf_printf(&b, "%scomplete %d\nlines %zu\n", head, v->complete,
		   v->count);
	for (i = 0; i < v->count; i++)
		buf_printf(&b, "%d\t%s\t%zu\t%s\t%s\n", (int)v->items[i].level,
			   v->items[i].id, v->items[i].count, v->items[i].brief,
			   v->items[i].text);
	return atomic_write(run_fd, CACHE, b.data, b.len, 0600, ATOMIC_NO_SYNC,
			    err);
}

/* One line of a verdict; at: behind it on return. */
static bool load_line(char **at, struct verdict *v)
{
	char *level = strsep(at, "\t"), *id = strsep(at, "\t");
	char *count = strsep(at, "\t"), *brief = strsep(at, "\t");
	char *text = strsep(at, "\n");
	unsigned long number, worst;
	size_t i;

	/* A text without its line feed is cut. */
	if (!text || !*at || v->count == VERDICT_LINES_MAX ||
	    parse_number(level, RISK_CRITICAL, &worst) < 0 ||
	    parse_number(count, UINT32_MAX, &number) < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		if (strcmp(ids[i], id) == 0)
			break;
	if (i == ARRAY_SIZE(ids))
		return false;
	v->items[v->count++] = (struct verdict_line){
		.id = ids[i],
		.level = (enum risk_level)worst,
		.count = number,
		.text = mem_strdup(text),
		.brief = mem_strdup(brief),
	};
	return true;
}

int verdict_load(int run_fd, struct verdict_key key, struct verdict *ret)
{
	auto_free char *head = cache_head(key);
	AUTO(verdict) struct verdict v = {0};
	AUTO(buf) struct buf b = {0};
	unsigned int complete, lines;
	struct err ignored;
	int len = 0;
	char *at;

	if (!key.result ||
	    fd_slurp_at(run_fd, CACHE, CACHE_MAX, &b, &ignored) < 0 ||
	    strncmp(buf_text(&b), head, strlen(head)) != 0)
		return 0;
	at = (char *)b.data + strlen(head);
	if (sscanf(at, "complete %1u\nlines %3u\n%n", &complete, &lines,
		   &len) != 2 ||
	    !len)
		return 0;
	v.complete = complete;
	at += len;
	while (*at)
		if (!load_line(&at, &v))
			return 0;
	if (v.count != lines)
		return 0;
	*ret = TAKE(v);
	return 1;
}
