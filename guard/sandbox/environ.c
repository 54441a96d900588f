#include "guard/sandbox/sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/shipped.h"
#include "base/text.h"
#include "base/vec.h"

/* A pattern of variables.list, which explains the words. */
struct variable_rule {
	enum variable_kind {
		VARIABLE_KEEP,
		VARIABLE_PASS,
		VARIABLE_DROP,
		VARIABLE_SOCKET,
		VARIABLE_RANDOM,
		VARIABLE_OWN,
		VARIABLE_KINDS,
	} kind;
	const char *name, *value; /* value: NULL: any */
};

struct variable_rules {
	struct variable_rule *items;
	size_t count, capacity;
};

/* A shorter value may be a word. */
#define RANDOM_MIN 16

/* Returns the number of the first line that is no rule; 0: all are. The rules
 * borrow from the text. */
static unsigned int load_variable_rules(char *text, struct variable_rules *ret)
{
	static const char *const words[] = {"keep",   "pass",	"drop",
					    "socket", "random", "own"};
	unsigned int number = 0, kind;
	char *line, *name;

	while ((line = strsep(&text, "\n"))) {
		number++;
		if (!*line || *line == '#')
			continue;
		name = strsep(&line, " ");
		for (kind = 0; kind < VARIABLE_KINDS; kind++)
			if (strcmp(name, words[kind]) == 0)
				break;
		if (kind == VARIABLE_KINDS || !line)
			return number;
		while ((name = strsep(&line, " "))) {
			char *value = name;

			name = strsep(&value, "=");
			if (!*name)
				return number;
			*VEC_ADD(ret) =
				(struct variable_rule){kind, name, value};
		}
	}
	return 0;
}

int sandbox_environ_check(const char *path, const char *text, struct err *err)
{
	auto_free char *copy = mem_strdup(text);
	struct variable_rules rules = {0};
	unsigned int bad = load_variable_rules(copy, &rules);

	VEC_FREE(&rules);
	return bad ? fail(err, EINVAL,
			  "%s:%u: expected keep, pass, drop, socket, random or "
			  "own, and patterns with one blank between",
			  text_quote(path), bad)
		   : 0;
}

static bool is_random(const char *value)
{
	size_t len = strlen(value), letters = 0, digits = 0, signs = 0;

	for (; *value; value++) {
		letters += isalpha((unsigned char)*value) != 0;
		digits += isdigit((unsigned char)*value) != 0;
		signs += strchr("+_=-", *value) != NULL;
	}
	return len >= RANDOM_MIN && letters && digits &&
	       letters + digits + signs == len;
}

/* "apiKey2" is "_APIKEY__". */
static char *name_words(const char *name)
{
	char *words = mem_printf("_%s_", name), *at;

	for (at = words; *at; at++)
		*at = isalpha((unsigned char)*at)
			      ? (char)toupper((unsigned char)*at)
			      : '_';
	return words;
}

static enum variable_kind judge_variable(const struct variable_rules *rules,
					 const char *name, const char *value,
					 const struct environ_request *q)
{
	auto_free char *words = name_words(name);
	enum variable_kind kind = VARIABLE_PASS;
	size_t i;

	for (i = 0; i < rules->count; i++) {
		const struct variable_rule *r = &rules->items[i];

		/* An error of fnmatch(3) counts as a match. */
		if (fnmatch(r->name, *r->name == '*' ? words : name, 0) !=
			    FNM_NOMATCH &&
		    (!r->value || fnmatch(r->value, value, 0) != FNM_NOMATCH) &&
		    (r->kind != VARIABLE_RANDOM || is_random(value))) {
			kind = r->kind;
			break;
		}
	}
	if (!*value && kind != VARIABLE_KEEP && kind != VARIABLE_OWN)
		kind = VARIABLE_PASS;
	if (kind != VARIABLE_PASS)
		return kind;
	if (q->clean)
		return VARIABLE_OWN;
	return q->has_secret && q->has_secret(value, strlen(value))
		       ? VARIABLE_DROP
		       : VARIABLE_PASS;
}

static void set_variable(struct names *l, const char *entry)
{
	size_t len = (size_t)(strchr(entry, '=') - entry) + 1, i;

	for (i = 0; i < l->count; i++)
		if (strncmp(l->items[i], entry, len) == 0) {
			free(l->items[i]);
			l->items[i] = mem_strdup(entry);
			return;
		}
	names_add(l, entry);
}

static void set_named_variable(struct names *l, const char *name,
			       const char *value)
{
	auto_free char *entry = mem_printf("%s=%s", name, value);

	set_variable(l, entry);
}

/* dropped: the sockets are at its end. */
static void inherit_variables(struct names *l, const struct environ_request *q,
			      struct names *dropped)
{
	auto_free char *text = mem_strdup(shipped_text(VARIABLES_LIST));
	struct variable_rules rules = {0};
	AUTO(names) struct names sockets = {0};
	char **e;
	size_t i;

	(void)load_variable_rules(text, &rules);
	for (e = environ; *e; e++) {
		const char *equals = strchr(*e, '=');
		auto_free char *name = NULL;
		enum variable_kind kind;

		if (!equals || equals == *e)
			continue;
		name = mem_strndup(*e, (size_t)(equals - *e));
		kind = judge_variable(&rules, name, equals + 1, q);
		if (kind == VARIABLE_KEEP || kind == VARIABLE_PASS)
			names_add(l, *e);
		else if (kind != VARIABLE_OWN && dropped)
			names_add(kind == VARIABLE_SOCKET ? &sockets : dropped,
				  name);
	}
	for (i = 0; i < sockets.count; i++)
		names_add(dropped, sockets.items[i]);
	VEC_FREE(&rules);
}

/* "K=V" is set as it is, "K" gets its value from this process. */
static void add_requested_variables(struct names *l, const char *const *names)
{
	for (; names && *names; names++) {
		const char *value = getenv(*names);

		if (strchr(*names, '='))
			set_variable(l, *names);
		else if (value)
			set_named_variable(l, *names, value);
	}
}

char **sandbox_environ(const struct environ_request *q, struct names *dropped)
{
	struct names l = {0};
	auto_free char *runtime = mem_printf("/run/user/%u", geteuid());

	inherit_variables(&l, q, dropped);
	if (!getenv("PATH"))
		set_named_variable(&l, "PATH", "/usr/local/bin:/usr/bin:/bin");
	set_named_variable(&l, "HOME", q->home ? q->home : "/tmp/home");
	set_named_variable(&l, "XDG_RUNTIME_DIR", runtime);
	set_named_variable(&l, "GUARD", "1");
	if (q->run_id)
		set_named_variable(&l, "GUARD_RUN", q->run_id);
	/* The signing keys are masked, and a run must not sign in the user's
	 * name. */
	set_named_variable(&l, "GIT_CONFIG_COUNT", "2");
	set_named_variable(&l, "GIT_CONFIG_KEY_0", "commit.gpgsign");
	set_named_variable(&l, "GIT_CONFIG_VALUE_0", "false");
	set_named_variable(&l, "GIT_CONFIG_KEY_1", "tag.gpgsign");
	set_named_variable(&l, "GIT_CONFIG_VALUE_1", "false");
	add_requested_variables(&l, q->extra);
	*VEC_ADD(&l) = NULL;
	return l.items;
}

char **sandbox_environ_exec(const char *const *extra, bool terminal)
{
	static const char *const shown[] = {"TERM", "COLORTERM", "TERM_PROGRAM",
					    "TERM_PROGRAM_VERSION", NULL};
	struct names l = {0};

	if (terminal)
		add_requested_variables(&l, shown);
	add_requested_variables(&l, extra);
	*VEC_ADD(&l) = NULL;
	return l.items;
}

void sandbox_environ_free(char **envp)
{
	mem_list_free(&envp);
}
