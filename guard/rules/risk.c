#include "guard/rules/risk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

/* Microseconds. */
#define RUN_TIME_MAX 1200000

/* Of a run, for all rules and for the critical ones. */
static _Thread_local int64_t times_used[2];

void risk_renew_time(void)
{
	times_used[0] = times_used[1] = 0;
}

/* --- content --- */

static void judge_texts(const struct risk_file *f, const struct risk_rule *rule,
			enum risk_as as, bool complete, const struct buf *old,
			const struct buf *now, struct risks *r)
{
	/* git takes no hook without the bit: a new bit is a new hook. */
	if (rule && as == AS_NAME && (f->now_mode & ~f->old_mode & 0111))
		risk_add(r, rule, RISK_NONE);
	else if (rule)
		risk_judge_content(f->path, rule, as, old, now, r);
	if (!complete)
		return;
	if (!rule)
		risk_judge_shape(f->path, old, now, r);
	risk_judge_text(f->path, S_ISREG(f->old_mode), old, now, r);
	risk_judge_bytes(f, old, now, r);
}

/* Judged by its name alone. */
static void add_unexamined(const struct risk_rule *rule, struct risks *r)
{
	if (rule)
		risk_add(r, rule, RISK_NONE);
	risk_add(r, risk_rule("time-limit"), RISK_NONE);
}

static void judge_content(const struct risk_file *f,
			  const struct risk_rule *rule, enum risk_as as,
			  bool complete, struct risks *r)
{
	int64_t *used = &times_used[complete];
	AUTO(buf) struct buf old = {0}, now = {0};
	bool had = S_ISREG(f->old_mode) && f->old_size <= RISK_READ_MAX;

	if (!S_ISREG(f->now_mode) || f->now_size > RISK_READ_MAX ||
	    !f->read(f->arg, true, &now)) {
		if (rule)
			risk_add(r, rule, RISK_NONE);
		if (S_ISREG(f->now_mode) && f->now_size > RISK_READ_MAX)
			risk_add_line(r, risk_rule("not-examined"), RISK_NONE,
				      0, NULL, text_size(f->now_size));
		return;
	}
	if (*used > RUN_TIME_MAX) {
		add_unexamined(rule, r);
		return;
	}
	if (had && !f->read(f->arg, false, &old))
		buf_clear(&old);
	/* NUL-terminated both, for those who read text. */
	(void)buf_text(&old);
	(void)buf_text(&now);
	risk_begin_file();
	judge_texts(f, rule, as, complete, &old, &now, r);
	if (risk_is_late())
		add_unexamined(rule, r);
	*used += risk_file_time();
}

/* A link in place of a directory of programs. */
static bool is_bin_link(const struct risk_file *f)
{
	const char *name = path_name(f->path);

	return S_ISLNK(f->now_mode) &&
	       strcmp(name + (*name == '.'), "bin") == 0;
}

/* Names mean little in a generated directory, where thousands are new. But such
 * a directory is rarely read, git does not show it, and tools execute it:
 * changes of earlier files are reported, and files that no tool makes. */
static void judge_generated(const struct risk_file *f,
			    const struct risk_rule *rule, struct risks *r)
{
	bool was_file = f->old_mode && !S_ISDIR(f->old_mode);

	if (rule && rule->level > RISK_NOTE &&
	    (was_file ? risk_has_other_bytes(f)
		      : (risk_always_runs(f->path) && !risk_is_setuptools(f)) ||
				is_bin_link(f)))
		/* Each new environment has such files. */
		risk_add(r, rule, was_file ? RISK_NONE : RISK_HIGH);
	else if (was_file && !S_ISDIR(f->now_mode) &&
		 risk_is_installed(f->path) && risk_has_other_bytes(f))
		risk_add(r, risk_rule("installed-changed"), RISK_NONE);
}

/* The rule for the names of the file and of its directories, or for what a
 * reference makes of it. */
static const struct risk_rule *find_name_rule(const struct risk_file *f,
					      enum risk_as *ret_as,
					      const struct risk_ref **ret_ref)
{
	const char *named = f->named ? f->named : f->path;
	auto_free char *path = f->above ? path_join(f->above, named) : NULL;
	const struct risk_rule *rule, *placed;
	const struct risk_ref *ref;
	enum risk_as placed_as;

	if (S_ISDIR(f->now_mode))
		return NULL;
	rule = risk_name_rule(named, ret_as);
	placed = path ? risk_name_rule(path, &placed_as) : NULL;
	if (placed && (!rule || placed->level > rule->level)) {
		*ret_as = placed_as;
		rule = placed;
	}
	placed = risk_refs_rule(f->refs, named, &placed_as, &ref);
	if (placed && (!rule || placed->level + !ref->named > rule->level)) {
		*ret_as = placed_as;
		*ret_ref = ref;
		rule = placed;
	}
	if (S_ISLNK(f->now_mode) && (!rule || rule->level == RISK_NOTE))
		rule = risk_link_rule(path ? path : named) ?: rule;
	return rule;
}

/* A reference is named where its level is. */
static void name_reference(const struct risk_ref *ref, struct risks *r)
{
	size_t i;

	for (i = 0; i < r->count && r->items[i].level >= RISK_HIGH; i++) {
		char *text =
			mem_printf("%s (by %s)", r->items[i].text, ref->by);

		free(r->items[i].text);
		r->items[i].text = text;
	}
}

/* A file that something else or nothing has replaced. */
static void judge_deletion(const struct risk_file *f, bool complete,
			   struct risks *r)
{
	struct risk_file was = *f;
	const struct risk_rule *rule;
	const struct risk_ref *ref;
	AUTO(buf) struct buf old = {0};
	enum risk_as as;

	was.now_mode = 0;
	if (!S_ISREG(f->old_mode) || risk_in_generated(f->path))
		return;
	rule = find_name_rule(&was, &as, &ref);
	if (!rule || as == AS_NAME ||
	    (!complete && rule->level < RISK_CRITICAL &&
	     !risk_is_for_agents(as)))
		return;
	if (f->old_size > RISK_READ_MAX || !f->read(f->arg, false, &old)) {
		risk_add(r, risk_rule("not-examined"), RISK_NONE);
		return;
	}
	(void)buf_text(&old);
	risk_judge_deletion(f->path, rule, as, &old, r);
}

static void judge_by_tables(const struct risk_file *file, bool complete,
			    struct risks *ret)
{
	auto_free char *in_git = risk_repository_path(file);
	struct risk_file alias = *file;
	const struct risk_file *f = &alias;
	const struct risk_rule *rule;
	const char *name;
	const struct risk_ref *ref = NULL;
	auto_free char *text = NULL;
	struct risk_rule by;
	enum risk_as as = AS_NAME;

	if (in_git) {
		alias.path = in_git;
		alias.named = NULL;
	}
	name = path_name(f->path);
	if (!S_ISREG(f->now_mode))
		judge_deletion(f, complete, ret);
	if (!f->now_mode) {
		if (S_ISDIR(f->old_mode) && strcmp(name, ".git") == 0)
			risk_add(ret, risk_rule("git-deleted"), RISK_NONE);
		return;
	}
	risk_judge_entry(f, ret);
	if (complete) {
		risk_judge_bytecode(f, ret);
		risk_judge_typed(f, ret);
	}
	rule = find_name_rule(f, &as, &ref);
	if (ref && !ref->named) {
		by = *rule;
		by.text = text = mem_printf("runs by %s", ref->by);
		rule = &by;
	}
	if (risk_in_generated(f->path) || risk_in_new_venv(f)) {
		judge_generated(f, rule, ret);
		return;
	}
	if (S_ISDIR(f->now_mode) || (!rule && risk_is_git_object(f->path)))
		return;
	/* A new program is typed by the names of programs only. */
	if (rule && !ref && !f->old_mode &&
	    strcmp(rule->id, "path-shadow") == 0 &&
	    path_has_part(f->path, "bin") && !is_bin_link(f))
		rule = NULL;
	/* git executes no hook of this name, and no tool loads such variables.
	 */
	if (rule && (as == AS_ENV || strcmp(rule->id, "git-hook") == 0) &&
	    path_ends(name, ".sample"))
		rule = NULL;
	if (complete ||
	    (rule && (rule->level == RISK_CRITICAL || risk_is_for_agents(as))))
		judge_content(f, rule, as, complete, ret);
	if (ref && ref->named)
		name_reference(ref, ret);
}

void risk_judge(const struct risk_file *f, struct risks *ret)
{
	judge_by_tables(f, true, ret);
	risk_user_judge(f, true, ret);
}

void risk_judge_critical(const struct risk_file *f, struct risks *ret)
{
	judge_by_tables(f, false, ret);
	risk_user_judge(f, false, ret);
}
