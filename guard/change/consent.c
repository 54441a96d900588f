#include "guard/change/consent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/sorted.h"
#include "guard/change/worktrees.h"
#include "guard/rules/risk.h"
#include "snapshot/store/content.h"

void consent_forget_answers(struct consent *c)
{
	mem_list_free(&c->paths);
	mem_list_free(&c->rules);
	mem_list_free(&c->named);
	mem_list_free(&c->except);
	c->except_critical = c->except_copies = false;
}

void consent_free_copy(struct consent_copy *copy)
{
	free(copy->path);
	free(copy->text);
	free(copy->dir);
}

void consent_free(struct consent *c)
{
	size_t i;

	consent_forget_answers(c);
	for (i = 0; i < c->copies.count; i++)
		consent_free_copy(&c->copies.items[i]);
	VEC_FREE(&c->copies);
	for (i = 0; i < c->commits.count; i++) {
		free(c->commits.items[i].path);
		free(c->commits.items[i].text);
	}
	VEC_FREE(&c->commits);
}

/* The id of a kind of refusal that is no risk; NULL: REFUSED_RISK. */
static const char *rule_id(enum refusal_kind kind)
{
	static const char *const rules[] = {
		[REFUSED_SETID] = "set-id",
		[REFUSED_GIT] = "git-setting",
		[REFUSED_UNREADABLE] = "unreadable-directory",
		[REFUSED_COPY] = CONSENT_ONLY_COPY,
		[REFUSED_RISK] = NULL,
	};

	return rules[kind];
}

bool consent_is_rule(const char *text)
{
	enum refusal_kind kind;

	if (strcmp(text, "all") == 0)
		return true;
	for (kind = REFUSED_SETID; kind < REFUSED_RISK; kind++)
		if (strcmp(text, rule_id(kind)) == 0)
			return true;
	return risk_id_level(text) == RISK_CRITICAL;
}

static bool has_absolute(char *const *paths, const char *root, const char *path)
{
	auto_free char *full_path = path_join(root, path);

	return mem_list_has(paths, full_path);
}

static bool allows_rule(const struct consent *c, const char *rule)
{
	return mem_list_has(c->rules, "all") || mem_list_has(c->rules, rule);
}

/* --- only copies --- */

/* A path that was named for it, or a deleted directory around it. */
static bool names_copy(const char *path, const struct consent_copy *copy)
{
	return strcmp(path, copy->path) == 0 ||
	       (copy->dir && path_below(copy->path, path) &&
		path_below(path, copy->dir));
}

static bool allows_copy(const struct consent *c,
			const struct consent_copy *copy)
{
	char *const *path;

	if (c->off || allows_rule(c, copy->rule ?: CONSENT_ONLY_COPY) ||
	    (!copy->in_git && mem_list_has(c->named, copy->path)))
		return true;
	for (path = c->paths; path && *path; path++)
		if (names_copy(*path, copy))
			return true;
	return false;
}

static void add_below(struct names *to, const char *path, const char *root)
{
	if (path_below(path, root))
		names_add(to, path_rest(path, root));
}

char **consent_paths_below(char *const *paths, const char *root)
{
	struct names below = {0};

	for (; paths && *paths; paths++)
		add_below(&below, *paths, root);
	*VEC_ADD(&below) = NULL;
	return below.items;
}

char **consent_excepted(const struct consent *c, const char *root)
{
	struct names below = {0};
	char *const *path;
	size_t i;

	for (path = c->except; path && *path; path++)
		add_below(&below, *path, root);
	for (i = 0; i < c->copies.count; i++)
		if ((c->except_critical || c->except_copies) &&
		    !allows_copy(c, &c->copies.items[i]))
			add_below(&below, c->copies.items[i].path, root);
	*VEC_ADD(&below) = NULL;
	return below.items;
}

/* A file that the run made itself is no loss when the run changes it again. */
static bool is_made_by_run(const struct consent_root *root, const char *path)
{
	AUTO(entry) struct entry e = {0};
	struct err ignored;

	return root->begun &&
	       tree_lookup(root->store, root->begun, path, &e, &ignored) == 0;
}

void consent_refuse_copies(const struct consent_root *root, struct plan *plan)
{
	const struct consent *c = root->consent;
	const char **lost = mem_alloc((plan->steps.count + 1) * sizeof(*lost));
	struct pathset set;
	size_t count = 0, i;

	for (i = 0; i < plan->steps.count && c->copies.count; i++)
		if (plan->steps.items[i].kind <= STEP_CREATE)
			lost[count++] = plan->steps.items[i].path;
	lost[count] = NULL;
	set = pathset_make(lost);
	for (i = 0; i < c->copies.count; i++) {
		const struct consent_copy *copy = &c->copies.items[i];
		const char *path = path_below(copy->path, root->path)
					   ? path_rest(copy->path, root->path)
					   : NULL;

		if (!path || !pathset_contains(&set, path) ||
		    allows_copy(c, copy) ||
		    (!copy->in_git && is_made_by_run(root, path)))
			continue;
		if (copy->rule)
			*VEC_ADD(&plan->refusals) = (struct refusal){
				.kind = REFUSED_RISK,
				.path = mem_strdup(path),
				.rule = copy->rule,
				.text = mem_strdup(copy->text),
			};
		else
			*VEC_ADD(&plan->refusals) = (struct refusal){
				.kind = REFUSED_COPY,
				.path = mem_strdup(path),
				.rule = CONSENT_ONLY_COPY,
				.text = mem_printf(
					"would be %s, and has no other copy%s",
					copy->deleted  ? "deleted"
					: copy->in_git ? "applied"
					: copy->partly ? "overwritten in part"
						       : "overwritten",
					copy->in_git
						? " but in .git, which is "
						  "applied by its name only"
						: ""),
			};
	}
	pathset_free(&set);
	free(lost);
}

void consent_refuse_commits(const struct consent_root *root, struct plan *plan)
{
	const struct consent *c = root->consent;
	size_t i;

	for (i = 0; i < c->commits.count; i++) {
		const struct consent_commit *m = &c->commits.items[i];

		if (path_below(m->path, root->path) &&
		    !allows_rule(c, m->rule) &&
		    !mem_list_has(c->paths, m->path))
			*VEC_ADD(&plan->refusals) = (struct refusal){
				.kind = REFUSED_RISK,
				.path = mem_strdup(
					path_rest(m->path, root->path)),
				.rule = m->rule,
				.text = mem_strdup(m->text),
			};
	}
}

/* --- the risk of an entry --- */

struct judged_entry {
	const struct consent_root *root;
	const struct entry *from, *to;
};

static bool read_entry(void *arg, bool now, struct buf *to)
{
	const struct judged_entry *j = arg;
	const struct entry *e = now ? j->to : j->from;
	struct err ignored;

	if (S_ISLNK(e->mode))
		buf_add_text(to, e->link);
	return S_ISLNK(e->mode) ||
	       (S_ISREG(e->mode) &&
		content_append(j->root->store, &e->content, to, &ignored) == 0);
}

static bool entry_exists(void *arg, const char *path)
{
	const struct judged_entry *j = arg;
	AUTO(entry) struct entry now = {0}, want = {0};
	struct store *store = j->root->store;
	struct err ignored;

	return tree_lookup(store, j->root->now, path, &now, &ignored) > 0 ||
	       tree_lookup(store, j->root->want, path, &want, &ignored) > 0;
}

static void judge_entry(const struct consent_root *root, const char *path,
			const struct entry *from, const struct entry *to,
			struct risks *ret)
{
	const struct change_list *list = &root->changes->list;
	const struct change *c =
		FIND_BY_PATH(path, list->items, list->count, path);
	auto_free char *named = worktrees_judged_path(root->changes, path);
	struct judged_entry j = {root, from, to};
	struct risk_file f = {
		.path = path,
		.old_mode = from->mode,
		.now_mode = to->mode,
		.old_size = from->size,
		.now_size = to->size,
		.above = root->above,
		.named = named,
		.refs = changes_refs(root->changes),
		.torn = c && c->flags & CHANGES_TORN,
		.read = read_entry,
		.exists = entry_exists,
		.arg = &j,
	};

	if (f.torn || (!(c && c->flags & CHANGES_CHECKOUT) &&
		       (!root->home || !changes_is_cache(path))))
		risk_judge_critical(&f, ret);
}

/* --- decisions --- */

/* The first critical risk that no rule allows, or NULL. */
static const struct risk *find_asking_risk(const struct consent *c,
					   const struct risks *r)
{
	size_t i;

	for (i = 0; i < r->count && r->items[i].level == RISK_CRITICAL; i++)
		if (!allows_rule(c, r->items[i].id))
			return &r->items[i];
	return NULL;
}

enum plan_consent consent_decide(void *arg, const struct entry *from,
				 const struct entry *to,
				 struct refusal *refusal)
{
	const struct consent_root *root = arg;
	const struct consent *c = root->consent;
	AUTO(risks) struct risks risks = {0};
	const struct risk *risk;

	refusal->rule = rule_id(refusal->kind);
	if (refusal->rule) {
		if (!c->off && !allows_rule(c, refusal->rule))
			return c->except_critical ? CONSENT_LEAVE : CONSENT_ASK;
		if (refusal->kind != REFUSED_SETID)
			return CONSENT_GIVEN;
		/* The file itself may be critical, too. */
		refusal->kind = REFUSED_RISK;
		refusal->rule = NULL;
	}
	/* Who names a .git means the repository, and not another one. */
	if ((S_ISDIR(to->mode) ||
	     strcmp(path_name(refusal->path), ".git") != 0) &&
	    has_absolute(c->named, root->path, refusal->path))
		return CONSENT_GIVEN;
	judge_entry(root, refusal->path, from, to, &risks);
	risk = find_asking_risk(c, &risks);
	if (!risk)
		return CONSENT_GIVEN;
	if (c->except_critical)
		return CONSENT_LEAVE;
	refusal->rule = risk->id;
	refusal->text = risk_sentence(risk);
	return CONSENT_ASK;
}
