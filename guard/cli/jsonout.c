#include "guard/cli/jsonout.h"

#include <stdio.h>
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

static char *base64(const unsigned char *data, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	struct buf b = {0};
	size_t i;

	for (i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)data[i] << 16;

		if (i + 1 < len)
			three |= (uint32_t)data[i + 1] << 8;
		if (i + 2 < len)
			three |= data[i + 2];
		buf_add_char(&b, digits[three >> 18]);
		buf_add_char(&b, digits[three >> 12 & 63]);
		buf_add_char(&b, i + 1 < len ? digits[three >> 6 & 63] : '=');
		buf_add_char(&b, i + 2 < len ? digits[three & 63] : '=');
	}
	return buf_take_text(&b);
}

json_t *jsonout_document(const char *schema)
{
	return json_pack("{s:s}", "schema", schema);
}

void jsonout_set(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

void jsonout_add(json_t *array, json_t *value)
{
	(void)json_array_append_new(array, value);
}

void jsonout_bool(json_t *object, const char *key, bool value)
{
	jsonout_set(object, key, json_boolean(value));
}

void jsonout_mode(json_t *object, uint32_t mode)
{
	jsonout_text(object, "mode", text_printf("%04o", mode & 07777));
}

void jsonout_bytes(json_t *object, const char *key, const void *data,
		   size_t len)
{
	if (text_is_utf8(data, len) && !(len && memchr(data, '\0', len))) {
		jsonout_set(object, key, json_stringn(data, len));
	} else {
		auto_free char *coded = base64(data, len);

		jsonout_set(object, key, json_null());
		jsonout_set(object, text_printf("%s_b64", key),
			    json_string(coded));
	}
}

void jsonout_text(json_t *object, const char *key, const char *text)
{
	if (text)
		jsonout_bytes(object, key, text, strlen(text));
	else
		jsonout_set(object, key, json_null());
}

void jsonout_texts(json_t *object, const char *key, char *const *texts)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; texts && texts[i]; i++) {
		json_t *one = json_object();
		json_t *text;

		/* A text that is not UTF-8 has no other representation. */
		jsonout_text(one, "text", texts[i]);
		text = json_object_get(one, "text");
		(void)json_array_append(array, json_is_null(text) ? one : text);
		json_decref(one);
	}
	jsonout_set(object, key, array);
}

void jsonout_number(json_t *object, const char *key, uint64_t number)
{
	jsonout_set(object, key, json_integer((json_int_t)number));
}

void jsonout_origin(json_t *object, const struct snapshot *s)
{
	jsonout_text(object, "origin",
		     s->host ? text_hex(s->origin, ORIGIN_LEN) : NULL);
	jsonout_text(object, "host", s->host);
}

void jsonout_seq(json_t *object, uint64_t seq)
{
	jsonout_set(object, "snapshot",
		    seq ? json_integer((json_int_t)seq) : json_null());
}

void jsonout_snapshot(json_t *object, const struct snapshot *s)
{
	jsonout_seq(object, s->seq);
	if (!s->seq)
		jsonout_text(object, "moment", s->message);
}

void jsonout_time(json_t *object, const char *key, struct timestamp when)
{
	time_t sec = (time_t)when.sec;
	char text[40] = "";
	struct tm tm;

	if ((!when.sec && !when.nsec) || !gmtime_r(&sec, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		jsonout_set(object, key, json_null());
	else
		jsonout_set(object, key, json_string(text));
}

void jsonout_moment(json_t *object, struct timestamp when)
{
	time_t sec = (time_t)when.sec;
	char text[64];
	struct tm tm;
	size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S",
			      gmtime_r(&sec, &tm));

	(void)snprintf(text + len, sizeof(text) - len, ".%03uZ",
		       when.nsec / 1000000);
	jsonout_text(object, "time", text);
}

const char *jsonout_type(uint32_t mode)
{
	static const char *const names[IFTODT(S_IFMT) + 1] = {
		[DT_REG] = "file",  [DT_DIR] = "folder",  [DT_LNK] = "link",
		[DT_FIFO] = "fifo", [DT_SOCK] = "socket", [DT_CHR] = "char",
		[DT_BLK] = "block",
	};
	const char *name = names[IFTODT(mode)];

	return name ?: "unknown";
}

const char *jsonout_type_text(uint32_t mode)
{
	return S_ISDIR(mode) ? "directory" : jsonout_type(mode);
}

/* Returns {"type": "file", "mode": "0644", "size": 12}, or null for mode 0. */
static json_t *change_side_json(const struct change_side *m)
{
	json_t *object;

	if (!m->mode)
		return json_null();
	object = json_object();
	jsonout_text(object, "type", jsonout_type(m->mode));
	jsonout_mode(object, m->mode);
	jsonout_number(object, "uid", m->uid);
	jsonout_number(object, "gid", m->gid);
	if (S_ISREG(m->mode))
		jsonout_number(object, "size", m->size);
	return object;
}

static const char *change_kind_name(enum change_kind kind)
{
	static const char *const names[] = {
		[CHANGE_DELETED] = "delete",  [CHANGE_TYPE] = "type",
		[CHANGE_MODIFIED] = "modify", [CHANGE_META] = "meta",
		[CHANGE_ADDED] = "add",
	};

	return names[kind];
}

json_t *jsonout_change(const struct change_list *list, const struct change *c)
{
	const struct change_move *m = changes_move(list, c);
	json_t *object = json_object();

	jsonout_text(object, "path", c->path);
	jsonout_text(object, "op", change_kind_name(c->kind));
	jsonout_set(object, "old", change_side_json(&c->old));
	jsonout_set(object, "new", change_side_json(&c->now));
	jsonout_bool(object, "git", c->flags & CHANGE_GIT);
	jsonout_bool(object, "with_parent", c->flags & CHANGE_WITH_PARENT);
	jsonout_bool(object, "setid", c->flags & CHANGE_SETID);
	jsonout_bool(object, "changed_here", c->flags & CHANGES_EDITED);
	jsonout_bool(object, "unreadable", c->flags & CHANGE_UNREADABLE);
	jsonout_bool(object, "torn", c->flags & CHANGES_TORN);
	if (m && c->kind == CHANGE_DELETED)
		jsonout_text(object, "moved_to", m->to);
	else if (m)
		jsonout_text(object, "moved_from", m->from);
	if (m)
		jsonout_number(object, "similarity", m->percent);
	return object;
}

json_t *jsonout_move(const struct change_move *m)
{
	json_t *object = json_object();

	jsonout_text(object, "from", m->from);
	jsonout_text(object, "to", m->to);
	jsonout_text(object, "type", jsonout_type(m->now.mode));
	if (S_ISDIR(m->now.mode))
		jsonout_number(object, "files", m->files);
	jsonout_number(object, "similarity", m->percent);
	jsonout_set(object, "over", change_side_json(&m->over));
	return object;
}

json_t *jsonout_counts(const struct change_counts *n)
{
	json_t *counts = json_object();

	jsonout_number(counts, "deleted", n->deleted);
	jsonout_number(counts, "type", n->type);
	jsonout_number(counts, "modified", n->modified);
	jsonout_number(counts, "meta", n->meta);
	jsonout_number(counts, "added", n->added);
	jsonout_number(counts, "git", n->git);
	jsonout_number(counts, "worktrees", n->worktrees);
	jsonout_number(counts, "moved", n->moved);
	return counts;
}

json_t *jsonout_run(const struct session *s)
{
	json_t *object = json_object();

	jsonout_text(object, "run", s->id);
	jsonout_text(object, "name", session_name(s));
	jsonout_text(object, "state", run_state_name(s->state));
	jsonout_bool(object, "live", s->live);
	jsonout_text(object, "project", s->project);
	jsonout_text(object, "command", s->command);
	jsonout_time(object, "started", s->started);
	jsonout_time(object, "ended", s->ended);
	jsonout_set(object, "exit",
		    s->status < 0 ? json_null() : json_integer(s->status));
	jsonout_number(object, "base", s->roots[0].base);
	jsonout_number(object, "result", s->roots[0].result);
	return object;
}
