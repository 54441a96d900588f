#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/cli/commands.h"
#include "guard/change/resolve_run.h"
#include "guard/history/locate.h"
#include "guard/history/run_timeline.h"
#include "guard/history/runview.h"
#include "guard/cli/tree_list.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/store/content.h"

#define PIECE (64u << 10)

/*
 * Raw unless stdout is a terminal, else escaped. A character that is split by
 * the end of a piece is shown as bytes, which is harmless.
 */
static int print_show_data(void *arg, const void *data, size_t len,
			   struct err *err)
{
	const bool *raw = arg;
	AUTO(buf) struct buf b = {0};

	if (!*raw)
		text_escape(&b, data, len, true);
	(void)fwrite(*raw ? data : b.data, 1, *raw ? len : b.len, stdout);
	return output_has_failed() ? fail_errno(err, "write to stdout") : 0;
}

static void begin_text_output(const struct options *o, bool *ret_raw)
{
	*ret_raw = !isatty(STDOUT_FILENO);
	if (!o->no_pager)
		output_pager_start("show");
}

/* Nothing for an empty value. */
static void print_field(const char *name, struct buf *value)
{
	if (value->len)
		(void)printf("%-10s %s\n", name, buf_text(value));
	buf_clear(value);
}

static int show_entry(struct store *store, const struct entry *e,
		      const struct options *o, struct err *err)
{
	bool raw;

	if (S_ISDIR(e->mode) || o->json)
		return tree_list(store, e,
				 o->json ? TREE_LIST_JSON : TREE_LIST_NAMES,
				 err);
	if (!S_ISREG(e->mode))
		return tree_list(store, e, TREE_LIST_LONG, err);
	if (e->flags & ENTRY_INCOMPLETE)
		output_warn("this version is incomplete: the file could not be "
			    "read completely when it was stored");
	begin_text_output(o, &raw);
	return e->content.type == OBJECT_NONE
		       ? 0
		       : content_each(store, &e->content, print_show_data, &raw,
				      err);
}

static const char *note_kind(const struct note *n)
{
	return n->kind == NOTE_MOVED ? "moved" : "incomplete";
}

static void print_snapshot_json(const struct snapshot *s)
{
	json_t *object = jsonout_document("guard.show/1");
	json_t *notes = json_array();
	size_t i;

	jsonout_snapshot(object, s);
	jsonout_number(object, "parent", s->parent);
	jsonout_time(object, "time", s->time);
	jsonout_text(object, "reason", s->reason);
	jsonout_text(object, "run", s->run_id);
	jsonout_text(object, "command", s->command);
	jsonout_text(object, "message", s->message);
	jsonout_text(object, "root", s->root_path);
	jsonout_origin(object, s);
	jsonout_number(object, "files", s->files);
	jsonout_number(object, "folders", s->dirs);
	jsonout_number(object, "bytes", s->bytes);
	for (i = 0; i < s->note_count; i++) {
		const struct note *n = &s->notes[i];
		json_t *note = json_object();

		jsonout_text(note, "path", n->path);
		jsonout_text(note, "kind", note_kind(n));
		jsonout_text(note, "reason", n->text);
		jsonout_add(notes, note);
	}
	jsonout_texts(object, "tags", s->tags);
	jsonout_texts(object, "excludes", s->excludes);
	jsonout_set(object, "notes", notes);
	jsonstream_print(object);
}

static void print_snapshot(const struct snapshot *s)
{
	const struct {
		const char *name, *value;
	} fields[] = {
		{"of", s->root_path},	 {"taken", text_time(s->time)},
		{"reason", s->reason},	 {"run", s->run_id},
		{"command", s->command}, {"message", s->message},
		{"host", s->host ?: ""},
	};
	AUTO(buf) struct buf b = {0};
	size_t k;

	if (s->seq)
		(void)printf("%-10s %" PRIu64 "\n", "snapshot", s->seq);
	for (k = 0; k < ARRAY_SIZE(fields); k++) {
		text_escape_name(&b, fields[k].value);
		print_field(fields[k].name, &b);
	}
	output_list(&b, s->tags);
	print_field("tags", &b);
	output_list(&b, s->excludes);
	print_field("without", &b);
	if (s->seq)
		(void)printf("%-10s %s in %s, %s\n", "holds",
			     text_count(s->files, "file"),
			     text_count(s->dirs, "directory"),
			     text_size(s->bytes));
	for (k = 0; k < s->note_count; k++) {
		const struct note *n = &s->notes[k];

		text_escape_name(&b, n->path);
		buf_add_text(&b, n->text[0] ? ": " : "");
		text_escape_name(&b, n->text);
		(void)printf("%-10s %s\n", note_kind(n), buf_text(&b));
		buf_clear(&b);
	}
}

static int fail_missing(struct context *c, const char *arg, struct err *err)
{
	struct err ignored;
	auto_free char *path =
		arg && *arg ? resolve_run_path(arg, &ignored) : NULL;

	return path ? locate_only_run(c->store, path, err) : -err->num;
}

static int show_snapshot(struct context *c, const char *when, const char *arg,
			 const struct options *o, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	auto_free char *path = NULL;
	int got;

	if (context_store(c, STORE_READ, err) < 0)
		return -err->num;
	if (locate_snapshot(c, when, arg && *arg ? arg : NULL, &s, &path, err) <
	    0)
		return fail_missing(c, arg, err);
	if (!arg) {
		if (o->json)
			print_snapshot_json(&s);
		else
			print_snapshot(&s);
		return 0;
	}
	got = tree_lookup(c->store, &s.root, path, &e, err);
	if (got < 0)
		return got;
	if (!got || snapshot_purge_note(&s, path)) {
		(void)locate_missing(&s, path, err);
		return fail_missing(c, arg, err);
	}
	return show_entry(c->store, &e, o, err);
}

static int print_run_file(int fd, const struct options *o, struct err *err)
{
	auto_free char *piece = mem_alloc(PIECE);
	struct stat st;
	bool raw;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat");
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "it is not a regular file");
	begin_text_output(o, &raw);
	for (;;) {
		ssize_t n = fd_read(fd, piece, PIECE);

		if (n < 0)
			return fail_errno(err, "read");
		if (n == 0)
			return 0;
		if (print_show_data(&raw, piece, (size_t)n, err) < 0)
			return -err->num;
	}
}

/* 1: shown; 0: the operand begins with no run. */
static int show_run_path(struct context *c, const char *arg,
			 const struct options *o, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(entry) struct entry e = {0};
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct err unexpected;
	int got = runview_find(c, arg, &s, &path, err);

	if (got <= 0)
		return got;
	/* The result has unchanged files, too, and no later writes into the
	 * layer. */
	if (runview_result(c, &s, path, &e, &unexpected) > 0)
		got = show_entry(c->store, &e, o, err);
	else
		fd = got = runview_open(&s, path, err);
	if (fd >= 0)
		got = print_run_file(fd, o, err);
	return got < 0 ? err_context(err, "run %s: %s", session_label(&s),
				     text_quote(path))
		       : 1;
}

/* --- lists --- */

static int list_snapshot(struct context *c, const char *when, const char *arg,
			 enum tree_list_form form, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	auto_free char *path = NULL;
	int got;

	if (context_store(c, STORE_READ, err) < 0 ||
	    locate_snapshot(c, when, arg, &s, &path, err) < 0)
		return -err->num;
	got = tree_lookup(c->store, &s.root, path, &e, err);
	if (got < 0)
		return got;
	if (!got)
		return locate_missing(&s, path, err);
	if (snapshot_purge_note(&s, path))
		output_print("%s of %s was %s", text_quote(path),
			     snapshot_label(&s), snapshot_purge_note(&s, path));
	return tree_list(c->store, &e, form, err);
}

static int list_directory(const struct options *o, struct context *c,
			  struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	auto_free char *path = NULL, *when = NULL, *below = NULL;
	AUTO(tree) struct tree tree = {0};
	const char *arg = o->operands[1];
	enum tree_list_form form =
		o->json ? TREE_LIST_JSON
			: (enum tree_list_form)(o->listing -
						OPTION_LISTING_NAMES);
	int got = runview_find(c, o->operands[0], &s, &path, err);

	/* "14:30" is a time here, "14:30:src" a time and a path. */
	if (arg || (!run_timeline_name_len(o->operands[0]) &&
		    locate_is_point(c, o->operands[0])))
		when = mem_strdup(o->operands[0]);
	else
		locate_split(c, o->operands[0], &when, &below);
	if (below && *below)
		arg = below;
	if (got == 0) {
		got = list_snapshot(c, when, arg, form, err);
	} else if (got > 0) {
		got = runview_list(c, &s, *path || !arg ? path : arg, &tree,
				   err);
		if (got >= 0)
			tree_list_entries(&tree, form);
	}
	return got < 0 ? got : STATUS_OK;
}

int cmd_show(const struct options *o, struct context *c, struct err *err)
{
	auto_free char *when = NULL, *path = NULL;
	int got;

	if (o->listing)
		return list_directory(o, c, err);
	if (o->count > 1)
		return options_usage_error(
			o, "expected SNAP:PATH; --list takes SNAP and PATH");
	got = show_run_path(c, o->operands[0], o, err);
	if (got == 0) {
		locate_split(c, o->operands[0], &when, &path);
		/* A path alone: its newest version. */
		if (when && !path && !locate_is_point(c, when)) {
			path = TAKE(when);
			when = mem_strdup("latest");
		}
		got = show_snapshot(c, when, path, o, err);
	}
	/* The user has left the pager. */
	return got < 0 && !output_has_failed() ? got : STATUS_OK;
}
