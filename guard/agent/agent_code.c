#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/agent/agent.h"
#include "guard/agent/settings.h"
#include "guard/change/changes.h"
#include "guard/rules/risk.h"
#include "snapshot/store/content.h"

/* Settings up to this size are compared by their members. */
#define SETTINGS_MAX (32u << 20)
/* Files that may name commands: one, and all together. */
#define TEXT_MAX (256u << 10)
#define TEXTS_MAX (8u << 20)
#define ENTRIES_MAX 20000
#define LINKS_MAX 40
#define COMMANDS_MAX 20000
/* All names in a run's record, whose length is limited. */
#define NAMES_MAX (4u << 20)
/* Bits of a file's mode that matter for execution. */
#define MODE_MASK (S_IFMT | 0111)

/* Two states of an agent's home. */
struct home_states {
	const struct agent *agent;
	const char *user_home; /* as the run has it */
	const char *project;
	struct store *store;
	const struct entry *before, *now; /* roots */
	/* Data that is obeyed all the same: targets of links and files that
	 * settings name as commands, with all below them. */
	char **obeyed;
	/* Words of the settings that may be paths of commands, absolute, and
	 * targets of redirections. */
	struct names commands, written;
	/* Whether the words of the present text are added to them. */
	bool take_commands, take_written;
	bool prose; /* only "@PATH" imports a file */
	size_t entries, texts;
};

static bool is_obeyed(const struct home_states *h, const char *path)
{
	char **item;

	for (item = h->obeyed; item && *item; item++)
		if (path_below(path, *item))
			return true;
	return profile_match(&h->agent->profile, PROFILE_CODE, path);
}

static bool is_known_data(const struct home_states *h, const char *path)
{
	static const enum profile_word words[] = {PROFILE_DATA, PROFILE_HISTORY,
						  PROFILE_LOGIN, PROFILE_NOISE};
	size_t i;

	if (is_obeyed(h, path))
		return false;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (profile_match(&h->agent->profile, words[i], path))
			return true;
	return false;
}

char *agent_data_members(const struct profile *profile, const char *path)
{
	const struct profile_item *item = NULL;
	AUTO(buf) struct buf list = {0};

	while ((item = profile_next(profile, PROFILE_DATA, item))) {
		size_t len = strcspn(item->value, "#");

		if (item->in_home && item->value[len] &&
		    strncmp(item->value, path, len) == 0 && !path[len])
			buf_printf(&list, "%s%s", list.len ? "," : "",
				   item->value + len + 1);
	}
	return buf_take_text(&list);
}

static bool read_content(const struct home_states *h, const struct entry *e,
			 uint64_t max, struct buf *to)
{
	struct err ignored;

	return S_ISREG(e->mode) && e->size <= max &&
	       !(e->flags & ENTRY_INCOMPLETE) &&
	       content_append(h->store, &e->content, to, &ignored) == 0;
}

/* ---- links ---- */

/* Without "." and "..", which are taken by the letter. */
static char *clean_absolute_path(const char *path)
{
	char *clean = mem_strdup("");

	while (*path) {
		size_t len = strcspn(path, "/");
		char *longer = NULL;

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			char *slash = strrchr(clean, '/');

			if (slash)
				*slash = '\0';
		} else if (len && !(len == 1 && *path == '.')) {
			longer = mem_printf("%s/%.*s", clean, (int)len, path);
			free(clean);
			clean = longer;
		}
		path += len;
		path += *path == '/';
	}
	return clean;
}

/* The path below the home; NULL: elsewhere. */
static char *path_in_home(const struct home_states *h, const char *absolute)
{
	auto_free char *clean = clean_absolute_path(absolute);

	return path_below(clean, h->user_home) &&
			       strcmp(clean, h->user_home) != 0
		       ? mem_strdup(path_rest(clean, h->user_home))
		       : NULL;
}

/* The path up to the end of the next part behind *len, to free; NULL: there is
 * none. */
static char *next_prefix(const char *path, size_t *len)
{
	if (!path[*len])
		return NULL;
	*len += path[*len] == '/';
	*len += strcspn(path + *len, "/");
	return mem_strndup(path, *len);
}

/* Finds the first link on the path: 1, its path in *ret_link (to free), and its
 * target in *e; 0: no link, *e is the entry at the path (mode 0: none). */
static int find_link(const struct home_states *h, const char *path,
		     char **ret_link, struct entry *e)
{
	size_t len = 0;
	struct err ignored;

	for (;;) {
		auto_free char *part = next_prefix(path, &len);

		if (!part)
			return 0;
		entry_free(e);
		if (tree_lookup(h->store, h->now, part, e, &ignored) > 0 &&
		    S_ISLNK(e->mode)) {
			*ret_link = TAKE(part);
			return 1;
		}
	}
}

/*
 * The path that the home's path leads to through links, to free; NULL: out of
 * the home, or in a loop. Each link on the way is added to the obeyed paths.
 * *ret: the entry there, to free; mode 0: none.
 */
static char *follow_links(struct home_states *h, const char *path,
			  struct entry *ret)
{
	char *at = mem_strdup(path);
	int links = 0;
	auto_free char *link = NULL;

	while (at && find_link(h, at, &link, ret)) {
		auto_free char *parent = path_parent(link);
		auto_free char *target =
			*ret->link == '/'
				? mem_printf("%s%s", ret->link,
					     at + strlen(link))
				: mem_printf("%s/%s/%s%s", h->user_home, parent,
					     ret->link, at + strlen(link));

		mem_list_add(&h->obeyed, link);
		free(at);
		at = ++links < LINKS_MAX ? path_in_home(h, target) : NULL;
		free(TAKE(link));
	}
	return at;
}

/* ---- files of an unknown purpose ---- */

static void note_acting_member(void *arg, char letter, const char *member)
{
	(void)member;
	*(bool *)arg |= isupper(letter) != 0;
}

static bool has_acting_line(const struct home_states *h, const struct buf *text)
{
	const char *at = (const char *)text->data, *end = at + text->len;

	while (at < end) {
		size_t len = text_line_len(at, end);
		auto_free char *line = text_trim(at, len);

		if (!members_line_is_plain(line, h->project))
			return true;
		at += len + 1;
	}
	return false;
}

/* Logs have lines like those of commands, and agents read none as settings. */
static bool is_log(const char *path)
{
	return path_ends(path, ".log") || path_ends(path, ".jsonl");
}

/* Whether one side of the change is a program by its kind or its first bytes,
 * or a text with lines or values that may be more than data, whatever its name
 * is. */
static bool has_acting_content(const struct home_states *h, const char *path,
			       const struct entry *e)
{
	const struct members m = {".json", "", h->project};
	AUTO(buf) struct buf text = {0};
	bool acts = false;

	if (!e)
		return false;
	if (!S_ISREG(e->mode) || e->mode & 0111 || e->flags & ENTRY_INCOMPLETE)
		return true;
	if (is_log(path))
		return false;
	if (!read_content(h, e, TEXTS_MAX, &text))
		return path_ends(path, ".json");
	if (text.len > 3 && (memcmp(text.data, "\177ELF", 4) == 0 ||
			     memcmp(text.data, "PK\3\4", 4) == 0))
		return true;
	if (text.len && memchr(text.data, 0, text.len))
		return false;
	if (!path_ends(path, ".json") && text.len && !strchr("{[", *text.data))
		return has_acting_line(h, &text);
	return !settings_compare(&m, NULL, &text, note_acting_member, &acts) ||
	       acts;
}

/* A script, prose that agents read, or settings in a form whose members are not
 * compared. */
static bool has_acting_name(const char *path)
{
	static const char endings[] =
		" awk bash bat cfg cjs cmd conf cts dll el env exe fish hbs "
		"htm html ini ipynb j2 jar js json5 jsonc jsx lua markdown md "
		"mdc mdx mjs mts node nu php pl ps1 py pyc rb scm service sh "
		"so "
		"tgz tmpl toml ts tsx txt vim wasm xml yaml yml zip zsh ";
	const char *dot = strrchr(path_name(path), '.');
	auto_free char *ending = mem_printf(" %s ", dot ? dot + 1 : " ");

	if (strcasestr(endings, ending))
		return true;
	return members_name_acts(path) || risk_by_name(path) == RISK_CRITICAL;
}

/*
 * Whether the next session may execute or obey the file, by its kind: unknown
 * files of other kinds are the notes and caches of another version of the
 * agent.
 */
static bool may_act(const struct home_states *h, const char *path,
		    const struct entry *a, const struct entry *b)
{
	const struct profile *p = &h->agent->profile;
	const struct profile_item *home = NULL;
	const char *rest = path;

	while ((home = profile_next(p, PROFILE_HOME, home)))
		if (path_below(path, home->value))
			rest = path_rest(path, home->value);
	return is_obeyed(h, path) || (!is_log(path) && has_acting_name(rest)) ||
	       has_acting_content(h, path, a) || has_acting_content(h, path, b);
}

/* ---- commands that settings name ---- */

/* A word as a path of the run, absolute, to free; NULL: none. */
static char *word_path(const struct home_states *h, const char *word,
		       size_t len)
{
	static const struct {
		const char *prefix;
		bool project;
	} known[] = {
		{"~/", false},
		{"$HOME/", false},
		{"${HOME}/", false},
		{"$CLAUDE_PROJECT_DIR/", true},
		{"${CLAUDE_PROJECT_DIR}/", true},
		{"./", true},
	};
	size_t i;

	if (!len || len >= PATH_MAX)
		return NULL;
	if (*word == '/')
		return mem_strndup(word, len);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].prefix);

		if (len > n && memcmp(word, known[i].prefix, n) == 0)
			return mem_printf("%s/%.*s",
					  known[i].project ? h->project
							   : h->user_home,
					  (int)(len - n), word + n);
	}
	return *word == '-' || *word == '$'
		       ? NULL
		       : mem_printf("%s/%.*s", h->project, (int)len, word);
}

/* The target of a redirection or of tee is written, not executed; settings that
 * name it elsewhere, too, execute it. */
static void add_command_words(void *arg, const char *text)
{
	struct home_states *h = arg;

	/* A quoted "$HOME"/x is one word for a shell. */
	auto_free char *plain = mem_strdup(text);
	bool redirected = false, tee = false;
	const char *at;
	char *to = plain;

	for (at = text; *at; at++)
		if (!(strchr("\"'", *at) && at[1] == '/'))
			*to++ = *at;
	*to = '\0';
	for (at = plain; *at && h->commands.count < COMMANDS_MAX; at++) {
		size_t len = strcspn(at, " \t\n\r\"'`;|&()<>=,[]");
		size_t import = h->prose && *at == '@';
		auto_free char *path =
			h->prose && !import
				? NULL
				: word_path(h, at + import, len - import);
		auto_free char *clean = path ? clean_absolute_path(path) : NULL;

		bool written = redirected || tee;

		if (clean && (written ? h->take_written : h->take_commands))
			names_add(written ? &h->written : &h->commands, clean);
		if (len) {
			tee |= len == 3 && memcmp(at, "tee", 3) == 0;
			redirected = strncmp(at, "of=", 3) == 0;
			at += len;
		}
		/* ">", ">>", "&>", ">&" and ">|". */
		redirected = *at == '>' ||
			     (redirected && *at && strchr(" \t\"'&|=", *at));
		tee &= *at && strchr(" \t\"'", *at);
		if (!*at)
			break;
	}
}

static bool may_name_commands(const char *path, const struct entry *e)
{
	static const char *const endings[] = {".json", ".jsonc", ".md",
					      ".toml", ".yaml",	 ".yml"};
	const char *dot = strrchr(path_name(path), '.');
	size_t i;

	if (e->mode & 0111)
		return true;
	for (i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (strcmp(dot, endings[i]) == 0)
			return true;
	return false;
}

static void obey_path(struct home_states *h, const char *path, bool any);

/* Finds links and names of commands in files that are no data. */
static void scan_code(struct home_states *h, const char *path,
		      const struct entry *e)
{
	auto_free char *data = agent_data_members(&h->agent->profile, path);
	AUTO(tree) struct tree tree = {0};
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	size_t i;

	/* Links and names within the packages of an agent's first start are no
	 * settings. */
	if (++h->entries > ENTRIES_MAX || (*path && is_known_data(h, path)) ||
	    profile_match(&h->agent->profile, PROFILE_INITIAL, path))
		return;
	if (S_ISLNK(e->mode)) {
		obey_path(h, path, true);
	} else if (S_ISREG(e->mode) && may_name_commands(path, e) &&
		   h->texts < TEXTS_MAX &&
		   read_content(h, e, TEXT_MAX, &text) &&
		   (*data || may_act(h, path, NULL, e))) {
		const struct members m = {path, data, h->project};
		AUTO(entry) struct entry old = {0};
		bool had;

		h->texts += text.len;
		/* Only those that the user's settings had before the run. */
		had = tree_lookup(h->store, h->before, path, &old, &ignored) >
		      0;
		h->prose = path_ends(path, ".md");
		h->take_commands = true;
		h->take_written = had && entry_same_content(&old, e);
		settings_texts(&m, &text, add_command_words, h);
		buf_clear(&text);
		if (had && !h->take_written &&
		    read_content(h, &old, TEXT_MAX, &text)) {
			h->take_commands = false;
			h->take_written = true;
			settings_texts(&m, &text, add_command_words, h);
		}
	} else if (S_ISDIR(e->mode) &&
		   tree_load(h->store, &e->content, &tree, &ignored) == 0) {
		for (i = 0; i < tree.count; i++) {
			auto_free char *below =
				path_join(path, tree.entries[i].name);

			scan_code(h, below, &tree.entries[i]);
		}
	}
}

/* Adds the path to the obeyed ones, with what it leads to. any: directories,
 * too. */
static void obey_path(struct home_states *h, const char *path, bool any)
{
	struct entry e = {0};
	auto_free char *target = follow_links(h, path, &e);

	if (target && (any || S_ISREG(e.mode)) &&
	    !mem_list_has(h->obeyed, target)) {
		bool data = is_known_data(h, target);

		mem_list_add(&h->obeyed, target);
		if (data)
			scan_code(h, target, &e);
	}
	entry_free(&e);
}

static void find_obeyed(struct home_states *h)
{
	size_t i;

	scan_code(h, "", h->now);
	for (i = 0; i < h->commands.count; i++) {
		auto_free char *path = path_in_home(h, h->commands.items[i]);

		if (path)
			obey_path(h, path, false);
	}
}

/* ---- changes ---- */

struct code_record {
	struct home_states *states;
	struct session *session;
	size_t had; /* items of the record that are older */
	size_t bytes_left;
	const char *file; /* whose members are compared */
	bool any;
};

static void record_change(struct code_record *r, const char *key, char letter,
			  const char *path)
{
	auto_free char *text = mem_printf("%c %s", letter, path);

	/* A run that went on has some already, and changed them once more. */
	if (r->had && record_has(&r->session->more, key, text)) {
		r->any = true;
		return;
	}
	if (strlen(text) > r->bytes_left)
		return;
	r->bytes_left -= strlen(text);
	record_add(&r->session->more, key, text);
	r->any = true;
}

static void record_member(void *arg, char letter, const char *member)
{
	struct code_record *r = arg;
	auto_free char *name = *member ? mem_printf("%s#%s", r->file, member)
				       : mem_strdup(r->file);

	record_change(r, isupper(letter) ? AGENT_CODE : AGENT_UNKNOWN,
		      (char)toupper(letter), name);
}

/* Whether members of the file were compared. */
static bool compare_members(struct code_record *r, const char *path,
			    const struct entry *a, const struct entry *b)
{
	struct home_states *h = r->states;
	auto_free char *data = agent_data_members(&h->agent->profile, path);
	const struct members m = {path, data, h->project};
	AUTO(buf) struct buf before = {0}, now = {0};

	if (!*data || (a && !read_content(h, a, SETTINGS_MAX, &before)) ||
	    (b && !read_content(h, b, SETTINGS_MAX, &now)))
		return false;
	r->file = path;
	return settings_compare(&m, a ? &before : NULL, b ? &now : NULL,
				record_member, r);
}

/* Whether the path is new content of the agent's first start: the topmost path
 * that the line matches did not exist before, and is recorded once. */
static bool record_initial(struct code_record *r, const char *path)
{
	struct home_states *h = r->states;
	size_t len = 0;

	for (;;) {
		auto_free char *part = next_prefix(path, &len);
		auto_free char *text = NULL;
		struct entry e = {0};
		struct err ignored;
		int found;

		if (!part || is_obeyed(h, path))
			return false;
		if (!profile_match(&h->agent->profile, PROFILE_INITIAL, part))
			continue;
		found = tree_lookup(h->store, h->before, part, &e, &ignored);
		entry_free(&e);
		text = mem_printf("A %s", part);
		if (found == 0 &&
		    !record_has(&r->session->more, AGENT_INITIAL, text))
			record_add(&r->session->more, AGENT_INITIAL, text);
		return found == 0;
	}
}

static bool is_plain_empty(const struct entry *e)
{
	return !e ||
	       (S_ISREG(e->mode) && !e->size && !(e->flags & ENTRY_INCOMPLETE));
}

static int judge_difference(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	struct code_record *r = arg;

	(void)err;
	if ((!a || S_ISDIR(a->mode)) && (!b || S_ISDIR(b->mode)))
		return 0;
	if (a && b && entry_same_content(a, b) &&
	    !((a->mode ^ b->mode) & MODE_MASK) &&
	    !(b->flags & ENTRY_INCOMPLETE))
		return 0;
	/* Locks and marks: without content nothing can be obeyed. */
	if (is_plain_empty(a) && is_plain_empty(b))
		return 0;
	if (is_known_data(r->states, path) || record_initial(r, path) ||
	    compare_members(r, path, a, b))
		return 0;
	record_change(
		r, may_act(r->states, path, a, b) ? AGENT_CODE : AGENT_UNKNOWN,
		!a   ? 'A'
		: !b ? 'D'
		     : 'M',
		path);
	return 0;
}

/* Makes the tree of a directory that of a home with only this directory. */
static int put_below(struct store *store, const char *below, struct entry *root,
		     struct err *err)
{
	const struct entry dir = {.mode = S_IFDIR | 0700};
	AUTO(tree_editor) struct tree_editor *editor = NULL;
	const char *slash = below;
	struct entry made = {0};

	if (!*below)
		return 0;
	editor = tree_editor_new(store, &dir);
	for (; (slash = strchr(slash, '/')); slash++) {
		auto_free char *above =
			mem_strndup(below, (size_t)(slash - below));

		if (tree_editor_put_dir(editor, above, &dir, err) < 0)
			return -err->num;
	}
	if (tree_editor_put(editor, below, root, err) < 0 ||
	    tree_editor_save(editor, &made, err) < 0)
		return -err->num;
	entry_free(root);
	*root = made;
	return 0;
}

int agent_code_compare(struct agent *a, const struct state *state,
		       struct store *store, const char *below, uint64_t before,
		       uint64_t now, struct session *s, struct err *err)
{
	AUTO(snapshot) struct snapshot old = {0}, new = {0};
	struct home_states h = {
		.agent = a,
		.user_home = state->home,
		.project = s->project,
		.store = store,
		.before = &old.root,
		.now = &new.root,
	};
	struct code_record r = {
		.states = &h,
		.session = s,
		.had = s->more.count,
		.bytes_left = NAMES_MAX,
	};
	const char *had;
	size_t i;
	int got;

	for (i = 0; (had = record_get_nth(&s->more, AGENT_CODE, i)); i++)
		r.bytes_left -=
			strlen(had) < r.bytes_left ? strlen(had) : r.bytes_left;
	if (catalog_load(store, before, &old, err) < 0 ||
	    catalog_load(store, now, &new, err) < 0 ||
	    put_below(store, below, &old.root, err) < 0 ||
	    put_below(store, below, &new.root, err) < 0)
		return -err->num;
	find_obeyed(&h);
	got = tree_diff(store, h.before, h.now, judge_difference, &r, err);
	mem_list_free(&h.obeyed);
	names_free(&a->commands);
	names_free(&a->written);
	a->commands = h.commands;
	a->written = h.written;
	return got < 0 ? got : r.any;
}

/* ---- files that settings name as commands ---- */

/* The change of the absolute path; NULL: none, or of a directory. *ret_root:
 * of the one with the change. */
static struct change *find_change(struct changes *changes,
				  const struct session *s, const char *path,
				  struct changes_root **ret_root)
{
	size_t i;

	for (i = 0; i < changes->root_count; i++) {
		struct changes_root *root = &changes->roots[i];
		const char *dir =
			i < s->root_count ? s->roots[i].path : s->home;
		struct change *c =
			path_below(path, dir)
				? FIND_BY_PATH(path_rest(path, dir),
					       root->list.items,
					       root->list.count, path)
				: NULL;

		*ret_root = root;
		if (c && !S_ISDIR(c->now.mode ? c->now.mode : c->old.mode))
			return c;
	}
	return NULL;
}

/* A file that a hook of the user appends to is left out of the run's changes:
 * no apply without its path takes it, since the run could have written it, too.
 */
static bool leave_out(struct change *c, struct session *s)
{
	auto_free char *glob = mem_printf("~/%s", c->path);

	if (c->now.size < c->old.size || strpbrk(c->path, "*?[\\") ||
	    !changes_make_noise(c, c->path))
		return false;
	record_add(&s->more, CHANGES_NOISE_GLOB, glob);
	return true;
}

bool agent_code_commands(const struct agent *a, struct changes *changes,
			 struct session *s)
{
	size_t i, count = a->commands.count;
	bool any = false;

	for (i = 0; i < count + a->written.count; i++) {
		bool command = i < count;
		struct changes_root *root;
		struct change *c =
			find_change(changes, s,
				    command ? a->commands.items[i]
					    : a->written.items[i - count],
				    &root);
		auto_free char *text =
			c ? mem_printf("%c %s%s", changes_letter(c->kind),
				       root->prefix, c->path)
			  : NULL;

		if (!c || record_has(&s->more, AGENT_COMMAND, text) ||
		    record_has(&s->more, AGENT_LOG, text) ||
		    (!command && !(root->home && leave_out(c, s))))
			continue;
		record_add(&s->more, command ? AGENT_COMMAND : AGENT_LOG, text);
		any = true;
	}
	return any;
}

char **agent_code_paths(const struct session *s)
{
	char **paths = NULL;
	size_t i, count = 0;

	for (i = 0; i < s->more.count; i++) {
		const char *key = s->more.items[i].key;
		const char *change = s->more.items[i].value;
		const char *member;
		auto_free char *file = NULL;

		if ((strcmp(key, AGENT_CODE) != 0 &&
		     strcmp(key, AGENT_INITIAL) != 0) ||
		    strlen(change) < 3)
			continue;
		/* "M .claude/.claude.json#hooks": the file of the member. */
		member = strstr(change, ".json#");
		if (member)
			file = mem_strndup(change + 2,
					   (size_t)(member - change) + 3);
		mem_list_add(&paths, file ? file : change + 2);
		count++;
	}
	if (paths)
		qsort(paths, count, sizeof(*paths), sorted_compare_paths);
	return paths;
}
