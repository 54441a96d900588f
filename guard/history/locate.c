#include "guard/history/locate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/resolve_run.h"
#include "guard/history/run_timeline.h"
#include "snapshot/tree/time_spec.h"

static int find_path_in_snapshot(const struct snapshot *s, const char *arg,
				 char **ret, struct err *err)
{
	auto_free char *path = arg ? resolve_run_path(arg, err) : NULL;
	bool is_below = path && path_below(path, s->root_path);

	if (arg && !path)
		return -err->num;
	if (arg && !is_below && !path_ok(arg))
		return fail(err, EXDEV,
			    "%s is not in %s, the directory of snapshot %llu",
			    text_quote(arg), text_quote(s->root_path),
			    (unsigned long long)s->seq);
	*ret = mem_strdup(is_below ? path_rest(path, s->root_path)
			  : arg	   ? arg
				   : "");
	return 0;
}

int locate_find(struct context *c, const char *when, const char *path,
		bool need_path, struct snapshot *ret, struct err *err)
{
	AUTO(run_timeline) struct run_timeline run = {0};
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	AUTO(moment) struct moment m = {0};
	int got = when ? run_timeline_find(c, when, &run, &m, err) : 0;
	size_t len = when ? run_timeline_name_len(when) : 0;
	auto_free char *name = mem_strndup(when ?: "", len);

	if (got == 0 && len)
		return fail(err, EDOM,
			    "no such run: %s; `guard status --all` lists all "
			    "runs",
			    text_quote(name));
	if (got == 0)
		return catalog_find(c->store, when, path, need_path, ret, err);
	if (got < 0 || run_timeline_snapshot(c, &run, &m, path, &s, err) < 0)
		return -err->num;
	if (need_path) {
		got = tree_lookup(c->store, &s.root,
				  path_rest(path, s.root_path), &e, err);
		if (got == 0)
			return locate_missing(&s, path_rest(path, s.root_path),
					      err);
		if (got < 0)
			return got;
	}
	*ret = TAKE(s);
	return 0;
}

bool locate_is_point(struct context *c, const char *text)
{
	struct time_spec ignored_time;
	struct err ignored;

	return time_spec_parse(text, timestamp_now(), &ignored_time,
			       &ignored) == 0 ||
	       run_timeline_len(c, text);
}

int locate_snapshot(struct context *c, const char *when, const char *arg,
		    struct snapshot *ret, char **ret_path, struct err *err)
{
	auto_free char *path = NULL;
	const char *digits = when && *when == 's' ? when + 1 : when;
	AUTO(snapshot) struct snapshot s = {0};
	unsigned long number;
	int got;

	/* "12" or "s12" */
	if (digits && parse_number(digits, ~0ul, &number) == 0 && number) {
		if (catalog_load_version(c->store, number, &s, err) < 0 ||
		    find_path_in_snapshot(&s, arg, ret_path, err) < 0)
			return -err->num;
		*ret = TAKE(s);
		return 0;
	}
	path = arg ? resolve_run_path(arg, err) : mem_strdup(c->project);
	if (!path)
		return -err->num;
	got = locate_find(c, when, path, false, ret, err);
	if (got == -EDOM && !arg && access(when, F_OK) == 0) {
		auto_free char *full = mem_printf("latest:%s", when);

		return fail(err, EDOM,
			    "%s is a path without a snapshot: for the latest "
			    "one, write %s",
			    text_quote(when), text_quote(full));
	}
	if (got < 0)
		return got;
	*ret_path = mem_strdup(path_rest(path, ret->root_path));
	return 0;
}

/* Length of the text's beginning that has the given form: in the form, 0 stands
 * for a digit and a blank for itself or a T. 0: the text does not have the
 * form. */
static size_t match_time_form(const char *t, const char *form)
{
	size_t i;

	for (i = 0; form[i]; i++) {
		bool digit = t[i] >= '0' && t[i] <= '9';

		if (form[i] == '0' ? !digit
				   : t[i] != form[i] &&
					     !(form[i] == ' ' && t[i] == 'T'))
			return 0;
	}
	return i;
}

/* Length of the time at the start of the text; 0: none. A text of two digits, a
 * colon and two digits ("14:30") is a snapshot and a file, unless a path
 * follows. */
static size_t time_prefix_len(const char *t)
{
	static const char *const days[] = {"0000-00-00 ", "today ",
					   "yesterday "};
	size_t i, day = 0, clock;

	for (i = 0; i < 3 && !day; i++)
		day = match_time_form(t, days[i]);
	clock = match_time_form(t + day, "00:00");
	if (!clock)
		return 0;
	clock += day;
	/* Seconds only count when a path or the end of the text follows. */
	if (match_time_form(t + clock, ":00") &&
	    (!t[clock + 3] || strchr(":Z.", t[clock + 3])))
		return clock + 3;
	return day || t[clock] == ':' ? clock : 0;
}

int locate_missing(const struct snapshot *s, const char *path, struct err *err)
{
	const char *purged = snapshot_purge_note(s, path);

	return purged ? fail(err, ENODATA, "%s of %s was %s", text_quote(path),
			     snapshot_label(s), purged)
		      : fail(err, ENOENT, "no such path: %s in %s",
			     text_quote(path), snapshot_label(s));
}

int locate_only_run(struct store *store, const char *path, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	const char *word = text_shell(path);
	struct err ignored;
	uint64_t found = 0;
	auto_free char *why = NULL;
	AUTO(snapshot) struct snapshot of = {0};
	size_t count;

	if (err->num != ENOENT ||
	    catalog_list(store, &seqs, &count, &ignored) < 0)
		return -err->num;
	while (count--) {
		AUTO(snapshot) struct snapshot s = {0};
		AUTO(entry) struct entry e = {0};

		if (catalog_load(store, seqs[count], &s, &ignored) < 0 ||
		    !path_below(path, s.root_path) ||
		    (found ? snapshot_of_run : snapshot_is_hidden)(&s) ||
		    tree_lookup(store, &s.root, path_rest(path, s.root_path),
				&e, &ignored) <= 0)
			continue;
		if (!snapshot_of_run(&s))
			return -err->num;
		found = s.seq;
		of = TAKE(s);
	}
	if (!found)
		return -err->num;
	why = mem_strndup(err->text, strcspn(err->text, ";"));
	return fail(err, ENOENT,
		    "%s; run %s has it: guard restore --at %llu %s restores "
		    "it, guard show %llu:%s prints it",
		    why, of.run_id, (unsigned long long)found, word,
		    (unsigned long long)found, word);
}

void locate_split(struct context *c, const char *arg, char **ret_when,
		  char **ret_path)
{
	size_t len = run_timeline_len(c, arg);
	const char *colon = strchr(arg + (len ?: time_prefix_len(arg)), ':');

	*ret_when = colon ? mem_strndup(arg, (size_t)(colon - arg))
			  : mem_strdup(arg);
	*ret_path = colon ? mem_strdup(colon + 1) : NULL;
}
