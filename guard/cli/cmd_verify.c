#include <inttypes.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"
#include "snapshot/maintain/verify.h"

struct verify_command {
	json_t *faults; /* NULL: text */
	uint64_t paths; /* that suffer */
	uint64_t backup_faults;
	struct names *damaged; /* files of this machine; NULL: of another one */
};

static void print_fault(const struct verify_fault *f)
{
	AUTO(buf) struct buf b = {0};

	if (f->kind == VERIFY_PATH) {
		buf_printf(&b, "lost     snapshot %" PRIu64 ": ", f->seq);
		text_escape_name(&b, *f->name ? f->name : ".");
		buf_add_text(&b, ": ");
	} else {
		buf_add_text(&b, "damaged  ");
	}
	if (f->kind == VERIFY_SECRET)
		buf_printf(&b, "%s: ", f->name);
	else if (f->kind == VERIFY_PACK)
		buf_printf(&b, "pack %s: ", text_quote(f->name));
	/* Most records say of themselves where they are. */
	else if (f->kind == VERIFY_RECORD && strncmp(f->text, "pack ", 5) != 0)
		buf_printf(&b, "pack %s, byte %" PRIu64 ": ",
			   text_quote(f->name), f->offset);
	buf_add_text(&b, f->text);
	(void)puts(buf_text(&b));
}

static int print_or_add_fault(void *arg, const struct verify_fault *f,
			      struct err *err)
{
	static const char *const kinds[] = {"secret", "pack", "record",
					    "snapshot", "path"};
	static const char *const members[] = {"file", "pack", "pack", NULL,
					      "path"};
	struct verify_command *v = arg;
	json_t *object;

	(void)err;
	v->paths += f->kind == VERIFY_PATH;
	progress_pause();
	if (!v->faults) {
		print_fault(f);
		return 0;
	}
	object = json_object();
	jsonout_text(object, "kind", kinds[f->kind]);
	if (f->kind == VERIFY_SNAPSHOT || f->kind == VERIFY_PATH)
		jsonout_number(object, "snapshot", f->seq);
	if (members[f->kind])
		jsonout_text(object, members[f->kind], f->name);
	if (f->kind == VERIFY_RECORD)
		jsonout_number(object, "offset", f->offset);
	jsonout_text(object, "text", f->text);
	jsonout_add(v->faults, object);
	return 0;
}

/* "5" or "5%": 1 to 100. */
static bool parse_percentage(const char *text, unsigned int *ret)
{
	size_t len = strlen(text);
	auto_free char *copy =
		mem_strndup(text, len - (len && text[len - 1] == '%'));
	unsigned long value;

	if (parse_number(copy, 100, &value) < 0 || !value)
		return false;
	*ret = (unsigned int)value;
	return true;
}

static const char *level_of(const struct verify_options *o)
{
	return o->sample ? "sample" : o->read_data ? "read-data" : "quick";
}

static json_t *make_report(const struct verify_options *o, bool whole)
{
	json_t *object = jsonout_document("guard.verify/1");

	jsonout_bool(object, "whole", whole);
	jsonout_text(object, "level", level_of(o));
	return object;
}

static const char *describe_level(const struct verify_options *o)
{
	return o->sample      ? ", a sample of the bytes read"
	       : o->read_data ? ", every byte read"
			      : "";
}

static int verify_and_report(struct context *c, struct verify_options *o,
			     bool json, struct err *err)
{
	struct verify_command v = {0};
	struct verify_result result;
	int got;

	if (context_store(c, STORE_READ, err) < 0)
		return -err->num;
	progress_start("verify");
	v.faults = json ? json_array() : NULL;
	o->fault = print_or_add_fault;
	o->progress = progress_show_bytes;
	o->arg = &v;
	got = verify_store(c->store, o, &result, err);
	progress_end();
	if (got < 0) {
		json_decref(v.faults);
		return got;
	}
	if (json) {
		json_t *object = make_report(o, !result.faults);

		jsonout_number(object, "packs", result.packs);
		jsonout_number(object, "objects", result.objects);
		jsonout_number(object, "snapshots", result.snapshots);
		jsonout_set(object, "faults", TAKE(v.faults));
		jsonstream_print(object);
	} else if (result.faults) {
		output_print("the store is damaged: %s, %s of snapshots suffer",
			     text_count(result.faults - v.paths, "fault"),
			     text_count(v.paths, "path"));
		output_hint(result.faults > v.paths
				    ? "guard repair repairs the store as far "
				      "as possible"
				    : "guard repair recovers bytes that a file "
				      "still has; others are lost");
	} else {
		output_print("the store is intact: %s, %s, %s%s",
			     text_count(result.snapshots, "snapshot"),
			     text_count(result.packs, "pack"),
			     text_count(result.objects, "object"),
			     describe_level(o));
		if (!o->read_data && !o->sample)
			output_hint(
				"guard verify --read-data checks every byte");
	}
	return got ? STATUS_REFUSED : STATUS_OK;
}

/* --- a destination --- */

static void print_backup_fault(void *arg, const char *object, const char *what,
			       const char *why)
{
	struct verify_command *v = arg;
	json_t *fault;

	v->backup_faults++;
	progress_pause();
	if (v->damaged && strchr(object, '/'))
		names_add(v->damaged, path_name(object));
	if (!v->faults) {
		(void)printf("damaged  %s: %s: %s\n", text_quote(object), what,
			     why);
		return;
	}
	fault = json_object();
	jsonout_text(fault, "kind", "backup");
	jsonout_text(fault, "file", object);
	jsonout_text(fault, "text", text_printf("%s: %s", what, why));
	jsonout_add(v->faults, fault);
}

/* The newest backup of one machine. */
static int verify_machine(struct from_copy *f, const struct copy_source *s,
			  const struct copy_options *o,
			  struct copy_verify_result *sum, struct err *err)
{
	AUTO(copy) struct copy_store copy = {0};
	int got = copy_open(&f->destination, s, 0, &copy, err);

	if (destination_is_damage(got)) {
		o->fault(o->arg, s->name, "the newest backup", err->text);
		return 0;
	}
	return got < 0 || copy_verify(&copy, o, sum, err) < 0 ? -err->num : 0;
}

/* Checks the newest backup of each machine, and whether this machine made newer
 * ones, which are missing. damaged: files of this machine. */
static int verify_machines(struct from_copy *f, const struct copy_options *o,
			   struct copy_verify_result *sum,
			   struct names *damaged, struct err *err)
{
	struct verify_command *v = o->arg;
	auto_free char *space = NULL;
	uint64_t newest = 0;
	size_t i;

	for (i = 0; i < f->sources.count; i++) {
		const struct copy_source *s = &f->sources.items[i];
		bool own = from_copy_is_own(f, s);

		v->damaged = own ? damaged : NULL;
		newest = own ? s->newest.number : newest;
		if (verify_machine(f, s, o, sum, err) < 0)
			return -err->num;
	}
	v->damaged = NULL;
	if (!f->own || newest >= f->own->number)
		return 0;
	space = manifest_space_path(f->own->space, SEAL_ROOT);
	print_backup_fault(
		v, space, "the newest backups are missing",
		text_printf("number %" PRIu64 " was the last", f->own->number));
	return 0;
}

/* The next backup of this machine sends the damaged files again. */
static int send_again(const struct from_copy *f, const struct names *damaged,
		      struct err *err)
{
	if (push_note_damaged(f->own->dir, damaged, err) < 0)
		return -err->num;
	output_hint("guard backup %s sends the damaged files of this machine "
		    "again, as far as its store has them",
		    text_shell(f->destination.path));
	return 0;
}

static int verify_destination(struct context *c,
			      const struct verify_options *level,
			      const struct options *o, struct err *err)
{
	json_auto_t *faults = o->json ? json_array() : NULL;
	struct verify_command v = {.faults = faults};
	AUTO(from_copy) struct from_copy f = FROM_COPY_NONE;
	AUTO(names) struct names damaged = {0};
	struct copy_verify_result sum = {0};
	const struct copy_options options = {
		.read_percentage = level->read_data ? 100 : level->sample,
		.fault = print_backup_fault,
		.progress = progress_show_bytes,
		.arg = &v,
	};
	enum destination_promise promise;
	const char *text;
	struct err unknown, why;
	int got;

	if (from_copy_open(&f, c, o->operands[0], o->passphrase_file, err) < 0)
		return -err->num;
	progress_start("verify");
	if (backups_check_keyfiles(&f.destination, &why) < 0)
		print_backup_fault(&v, KEYFILE_NAME, "the key", why.text);
	got = verify_machines(&f, &options, &sum, &damaged, err);
	progress_end();
	if (got < 0 || (damaged.count && send_again(&f, &damaged, err) < 0))
		return -err->num;
	if (destination_try(&f.destination, &promise, &unknown) < 0)
		promise = DESTINATION_UNKNOWN;
	text = from_copy_promise_text(promise);
	if (o->json) {
		json_t *object = make_report(level, !v.backup_faults);

		jsonout_text(object, "backup", f.destination.path);
		jsonout_number(object, "machines", f.sources.count);
		jsonout_number(object, "files", sum.files);
		jsonout_number(object, "bytes", sum.bytes);
		jsonout_number(object, "packs", sum.packs);
		jsonout_number(object, "snapshots", sum.snapshots);
		jsonout_text(
			object, "protection",
			text_printf("%.*s", (int)strcspn(text, ":"), text));
		jsonout_set(object, "faults", TAKE(faults));
		jsonstream_print(object);
	} else {
		output_print("%s is %s: %s of %s in %s (%s)%s",
			     text_quote(f.destination.path),
			     v.backup_faults ? "damaged" : "intact",
			     text_count(sum.snapshots, "snapshot"),
			     text_count(f.sources.count, "store"),
			     text_count(sum.files, "file"),
			     text_size(sum.bytes), describe_level(level));
		output_print("%s", text);
		if (!level->read_data && !level->sample)
			output_hint("guard verify --read-data %s checks every "
				    "byte",
				    text_shell(f.destination.path));
	}
	return v.backup_faults ? STATUS_REFUSED : STATUS_OK;
}

int cmd_verify(const struct options *o, struct context *c, struct err *err)
{
	struct verify_options verify = {.read_data = o->read_data};

	if (o->repair)
		return cmd_repair(o, c, err);
	if (o->sample && !parse_percentage(o->sample, &verify.sample))
		return options_usage_error(
			o, "%s is not a percentage from 1%% to 100%%",
			text_quote(o->sample));
	if (!o->operands[0] && o->passphrase_file)
		return options_usage_error(o, "--passphrase-file needs DIR");
	return o->operands[0] ? verify_destination(c, &verify, o, err)
			      : verify_and_report(c, &verify, o->json, err);
}
