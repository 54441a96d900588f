#include "base/parse.h"
#include "guard/cli/commands.h"
#include "snapshot/maintain/verify.h"

struct verify_command {
	json_t *faults; /* NULL: text */
	uint64_t paths; /* that suffer */
};

static int print_or_add_fault(void *arg, const struct verify_fault *f,
			      struct err *err)
{
	static const char *const kinds[] = {"secret", "pack", "record",
					    "snapshot", "path"};
	struct verify_command *v = arg;
	json_t *object;

	(void)err;
	v->paths += f->kind == VERIFY_PATH;
	progress_pause();
	if (!v->faults) {
		AUTO(buf) struct buf b = {0};

		switch (f->kind) {
		case VERIFY_SECRET:
			buf_printf(&b, "damaged  %s: %s", f->name, f->text);
			break;
		case VERIFY_PACK:
			buf_printf(&b, "damaged  pack %s: %s",
				   text_quote(f->name), f->text);
			break;
		case VERIFY_RECORD:
			/* Most say of themselves where it is. */
			if (strncmp(f->text, "pack ", 5) == 0)
				buf_printf(&b, "damaged  %s", f->text);
			else
				buf_printf(
					&b, "damaged  pack %s, byte %llu: %s",
					text_quote(f->name),
					(unsigned long long)f->offset, f->text);
			break;
		case VERIFY_SNAPSHOT:
			buf_printf(&b, "damaged  %s", f->text);
			break;
		case VERIFY_PATH:
			buf_printf(&b, "lost     snapshot %llu: ",
				   (unsigned long long)f->seq);
			text_escape_name(&b, *f->name ? f->name : ".");
			buf_printf(&b, ": %s", f->text);
			break;
		}
		(void)puts(buf_text(&b));
		return 0;
	}
	object = json_object();
	jsonout_text(object, "kind", kinds[f->kind]);
	if (f->kind == VERIFY_SNAPSHOT || f->kind == VERIFY_PATH)
		jsonout_number(object, "snapshot", f->seq);
	if (f->kind == VERIFY_PATH)
		jsonout_text(object, "path", f->name);
	if (f->kind == VERIFY_PACK || f->kind == VERIFY_RECORD)
		jsonout_text(object, "pack", f->name);
	if (f->kind == VERIFY_RECORD)
		jsonout_number(object, "offset", f->offset);
	if (f->kind == VERIFY_SECRET)
		jsonout_text(object, "file", f->name);
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
		json_t *object = json_object();

		jsonout_text(object, "schema", "guard.verify/1");
		jsonout_bool(object, "whole", !result.faults);
		jsonout_text(object, "level",
			     o->sample	    ? "sample"
			     : o->read_data ? "read-data"
					    : "quick");
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
			     o->sample	    ? ", a sample of the bytes read"
			     : o->read_data ? ", every byte read"
					    : "");
		if (!o->read_data && !o->sample)
			output_hint(
				"guard verify --read-data checks every byte");
	}
	return output_finish() && !got ? STATUS_OK : STATUS_REFUSED;
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
	return verify_and_report(c, &verify, o->json, err);
}
