#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dirtree.h"
#include "base/library.h"
#include "guard/change/live.h"
#include "guard/cli/backup_age.h"
#include "guard/cli/commands.h"
#include "guard/cli/styled.h"
#include "guard/sandbox/inspect.h"
#include "guard/sandbox/sandbox.h"
#include "guard/state/state.h"
#include "overlay/layers.h"
#include "overlay/pre_copy_up.h"

/* Where texts begin, and their further lines where a terminal is narrower. */
#define INDENT 21u
#define INDENT_NARROW 4u
#define NARROW 60u
/* In the state; its mtime is the time of the last hint at a backup. */
#define HINT_STAMP "last-hint"
#define WEEK ((int64_t)7 * 24 * 3600)

struct doctor {
	json_t *list; /* NULL: text */
	bool missing;
};

static void print_inspection(void *arg, const struct inspection *i)
{
	static const char *const words[] = {"ok", "weaker", "missing"};
	static const char *const styles[] = {ADDED, CHANGED, DELETED};
	struct doctor *d = arg;
	size_t width = output_width();
	size_t indent = width && width < NARROW ? INDENT_NARROW : INDENT;
	AUTO(buf) struct buf text = {0};
	json_t *check;

	if (i->state == INSPECT_MISSING)
		d->missing = true;
	if (d->list) {
		check = json_object();
		jsonout_text(check, "name", i->name);
		jsonout_text(check, "state", words[i->state]);
		jsonout_text(check, "text", i->text);
		jsonout_text(check, "mend", i->remedy);
		jsonout_add(d->list, check);
		return;
	}
	(void)output_wrap(&text, i->text, INDENT, indent, width);
	styled_line(styled_out(), LINE_ROW, "%s%-8s" PLAIN " %-11s %s",
		    styles[i->state], words[i->state], i->name,
		    buf_text(&text));
	if (!i->remedy)
		return;
	buf_clear(&text);
	(void)output_wrap(&text, i->remedy, indent + 1, indent + 1, width);
	(void)printf("%*s%s\n", (int)indent + 1, "-> ", buf_text(&text));
}

static void print_inspection_error(struct doctor *d, const char *name,
				   const struct err *err)
{
	print_inspection(d, &(struct inspection){.state = INSPECT_MISSING,
						 .name = name,
						 .text = err->text});
}

static int try_layer(void *dir, struct err *err)
{
	return layers_probe(dir, err);
}

/* Mounts a layer where a run would. Skipped if a requirement of every run is
 * missing. */
static void inspect_layers(struct doctor *d, const struct state *st)
{
	static const struct inspection ok = {
		.name = "layers",
		.text = "overlayfs over a directory of yours: a test layer was "
			"mounted and written to",
	};
	auto_free char *dir = mem_printf("%s/trial.XXXXXX", st->path);
	struct err err, ignored;
	int got;

	if (d->missing)
		return;
	if (mkdtemp(dir)) {
		got = sandbox_probe(try_layer, dir, &err);
		(void)dirtree_remove(AT_FDCWD, dir, &ignored);
	} else {
		got = fail_errno(&err, "create a directory in %s",
				 text_quote(st->path));
	}
	if (got < 0)
		print_inspection_error(d, "layers", &err);
	else
		print_inspection(d, &ok);
}

static void inspect_disk(void *arg, const struct session *s, const char *point,
			 bool mounted)
{
	if (!mounted)
		print_inspection(
			arg,
			&(struct inspection){
				.state = INSPECT_WEAKER,
				.name = "busy disk",
				.text = text_printf(
					"run %s keeps the disk busy that was "
					"unmounted from %s",
					session_label(s), text_quote(point)),
				.remedy = text_printf("guard stop %s",
						      session_label(s))});
}

/* Returns the number of destinations. */
static size_t inspect_backups(struct doctor *d, const struct state *st)
{
	AUTO(backups) struct backups known = {0};
	struct err ignored;
	size_t i;

	(void)backup_age_load(st, &known, &ignored);
	for (i = 0; i < known.count; i++) {
		const struct backup *b = &known.items[i];
		bool late = backup_age_is_late(b);
		auto_free char *text =
			mem_printf("newest backup: %s", backup_age_text(b));
		auto_free char *remedy =
			mem_printf("guard backup %s", text_shell(b->path));

		print_inspection(
			d, &(struct inspection){
				   .state = late ? INSPECT_WEAKER : INSPECT_OK,
				   .name = "backup",
				   .text = text,
				   .remedy = late ? remedy : NULL});
	}
	return known.count;
}

static void inspect_state_dir(struct doctor *d)
{
	struct inspection ok = {.name = "state"};
	struct inspection disk = {
		.name = "disk",
		.text = "the store is on another disk than your home",
	};
	struct stat state, home;
	struct state st;
	struct err err;

	if (state_open(&st, &err) < 0) {
		print_inspection_error(d, "state", &err);
		return;
	}
	ok.text = text_quote(st.path);
	if (layers_check_state(st.runs_fd, &err) < 0)
		print_inspection_error(d, "state", &err);
	else
		print_inspection(d, &ok);
	inspect_layers(d, &st);
	/* The loss of a disk is also the loss of a store on it. */
	if (st.home && fstat(st.fd, &state) == 0 && stat(st.home, &home) == 0 &&
	    state.st_dev == home.st_dev) {
		disk.state = INSPECT_WEAKER;
		disk.text = "the store is on the same disk as your home: "
			    "versions help against mistakes, not against a "
			    "broken disk";
		disk.remedy = "guard backup DIR, on another disk";
	}
	/* A missing backup is named once a week: a machine may have no other
	 * disk. */
	if (!inspect_backups(d, &st) && (disk.state == INSPECT_OK || d->list ||
					 state_is_due(&st, HINT_STAMP, WEEK)))
		print_inspection(d, &disk);
	live_each_disk(st.runs_fd, inspect_disk, d);
	state_close(&st);
}

static void inspect_libraries(struct doctor *d)
{
	enum library_id id;

	for (id = 0; id < LIBRARY_COUNT; id++) {
		const struct library *l = library_info(id);
		struct inspection i = {.name = l->name, .text = l->soname};
		struct err err;

		if (library_load(id, "", "", NULL, &err) < 0) {
			i.state = INSPECT_WEAKER;
			i.text = text_printf("%s cannot be loaded: %s",
					     l->soname, l->loss);
			i.remedy =
				text_printf("apt-get install %s", l->package);
		}
		print_inspection(d, &i);
	}
}

/* The engines' own files. An image of a virtual machine may have one, too. */
static void inspect_container(struct doctor *d)
{
	struct inspection inside = {
		.name = "container",
		.text = "inside a container a run is isolated from the "
			"container's files only",
	};

	if (access("/.dockerenv", F_OK) < 0 &&
	    access("/run/.containerenv", F_OK) < 0)
		return;
	if (d->missing) {
		inside.state = INSPECT_WEAKER;
		inside.remedy = "guard outside of the container, or the "
				"option that is named above, and a volume for "
				"GUARD_HOME";
	}
	print_inspection(d, &inside);
}

/* The files of the current directory that a run cannot write as they are. */
static void inspect_groups(struct doctor *d)
{
	auto_close int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t count = dir < 0 ? 0 : pre_copy_up_count(dir);

	if (count)
		print_inspection(
			d, &(struct inspection){
				   .state = INSPECT_WEAKER,
				   .name = "groups",
				   .text = text_printf(
					   "%s in the current directory of "
					   "groups that you are not in: what a "
					   "run writes gets your group",
					   text_count(count, "entry")),
				   .remedy = text_printf("chgrp -R %u .",
							 getegid())});
}

int cmd_doctor(const struct options *o, struct context *c, struct err *err)
{
	struct doctor d = {.list = o->json ? json_array() : NULL};

	(void)c;
	(void)err;
	sandbox_inspect(print_inspection, &d);
	inspect_state_dir(&d);
	inspect_libraries(&d);
	inspect_container(&d);
	inspect_groups(&d);
	if (d.list) {
		jsonstream_print(json_pack("{s:b, s:o}", "usable", !d.missing,
					   "checks", d.list));
	} else {
		(void)printf("%s\n", d.missing ? "guard run does not work here"
					       : "guard run works here");
	}
	return d.missing ? STATUS_REFUSED : STATUS_OK;
}
