#include "guard/change/consent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/change/changes.h"
#include "guard/rules/risk.h"
#include "snapshot/store/content.h"

void consent_free(struct consent *c)
{
	mem_list_free(&c->paths);
	mem_list_free(&c->rules);
	mem_list_free(&c->named);
	mem_list_free(&c->except);
}

/* The id of a kind of refusal that is no risk; NULL: REFUSED_RISK. */
static const char *rule_id(enum refusal_kind kind)
{
	static const char *const rules[] = {
		[REFUSED_SETID] = "set-id",
		[REFUSED_NODE] = "special-file",
		[REFUSED_GIT] = "git-setting",
		[REFUSED_UNREADABLE] = "unreadable-directory",
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

char **consent_paths_below(char *const *paths, const char *root)
{
	char **below = NULL;

	for (; paths && *paths; paths++)
		if (path_below(*paths, root))
			mem_list_add(&below, path_rest(*paths, root));
	return below;
}

static bool has_absolute(char *const *paths, const char *root, const char *path)
{
	auto_free char *full_path = path_join(root, path);

	return mem_list_has((const char *const *)paths, full_path);
}

static bool allows_rule(const struct consent *c, const char *rule)
{
	return mem_list_has((const char *const *)c->rules, "all") ||
	       mem_list_has((const char *const *)c->rules, rule);
}

char *consent_hooks_dir(struct store *store, const struct entry *tree)
{
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf config = {0};
	struct err ignored;

	if (tree_lookup(store, tree, ".git/config", &e, &ignored) <= 0 ||
	    !S_ISREG(e.mode) || e.size > RISK_READ_MAX ||
	    content_append(store, &e.content, &config, &ignored) < 0)
		return NULL;
	return risk_hooks_dir(&config);
}

struct looked_tree {
	struct store *store;
	const struct entry *root;
	struct tree top; /* most names are missing there */
};

static uint32_t look_in_tree(void *arg, const char *path, struct buf *target)
{
	struct looked_tree *t = arg;
	auto_free char *first = mem_strndup(path, strcspn(path, "/"));
	AUTO(entry) struct entry e = {0};
	struct err ignored;

	if (!tree_find(&t->top, first) ||
	    tree_lookup(t->store, t->root, path, &e, &ignored) <= 0)
		return 0;
	if (S_ISLNK(e.mode))
		buf_add_text(target, e.link);
	return e.mode;
}

void consent_find_links(struct store *store, const struct entry *tree,
			struct risk_links *ret)
{
	struct looked_tree t = {.store = store, .root = tree};
	struct err ignored;

	if (S_ISDIR(tree->mode) &&
	    tree_load(store, &tree->content, &t.top, &ignored) >= 0)
		risk_links_find(look_in_tree, &t, ret);
	tree_free(&t.top);
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
	struct judged_entry j = {root, from, to};
	struct risk_file f = {
		.path = path,
		.old_mode = from->mode,
		.now_mode = to->mode,
		.old_size = from->size,
		.now_size = to->size,
		.above = root->above,
		.hooks = root->hooks,
		.links = root->links,
		.read = read_entry,
		.exists = entry_exists,
		.arg = &j,
	};

	if (!root->home || !changes_is_cache(path))
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
		if (refusal->kind == REFUSED_NODE ||
		    !allows_rule(c, refusal->rule))
			return c->except_critical ? CONSENT_LEAVE : CONSENT_ASK;
		if (refusal->kind != REFUSED_SETID)
			return CONSENT_GIVEN;
		/* The file itself may be critical, too. */
		refusal->kind = REFUSED_RISK;
		refusal->rule = NULL;
	}
	if (c->off || has_absolute(c->named, root->path, refusal->path))
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
