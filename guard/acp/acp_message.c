#include "guard/acp/acp_message.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/text.h"

/* Largest file that is read for an agent. */
#define FILE_MAX ((size_t)64 << 20)

/* Errors of JSON-RPC and ACP. */
#define NOT_JSON (-32700)
#define NO_SUCH_METHOD (-32601)
#define WRONG_PARAMS (-32602)
#define FAILED (-32603)
#define NO_SUCH_RESOURCE (-32002)

/* ---- the calls ---- */

/* The longest name below. */
#define NAME_LEN 11

static bool is_callback(const char *method)
{
	return strncasecmp(method, "fs/", 3) == 0 ||
	       strncasecmp(method, "terminal/", 9) == 0;
}

/* The next byte that is a visible ASCII character; 0: none. One parser or
 * another drops the others. */
static char next_visible(const char **at, const char *end)
{
	while (*at < end) {
		char c = *(*at)++;

		if (c > ' ' && c < 0x7f)
			return c;
	}
	return 0;
}

/* Whether a string is such a method, or the member with the logins. Decodes its
 * beginning as the most tolerant parser might, with every escape. */
static bool may_act(const char *at, const char *end)
{
	char text[NAME_LEN + 1] = {0}, hex[5] = {0};
	size_t len = 0, i;
	char c;

	while (len < NAME_LEN && (c = next_visible(&at, end))) {
		if (c == '\\' && ((c = next_visible(&at, end)) | 0x20) == 'u') {
			for (i = 0; i < 4; i++)
				hex[i] = next_visible(&at, end);
			c = (char)strtoul(hex, NULL, 16);
		}
		if (c > ' ' && c < 0x7f)
			text[len++] = c;
	}
	return is_callback(text) ||
	       strncasecmp(text, "authMethods", NAME_LEN) == 0;
}

static bool has_action(const char *at, size_t len)
{
	const char *end = at + len;

	while ((at = memchr(at, '"', (size_t)(end - at))))
		if (may_act(++at, end))
			return true;
	return false;
}

/* Some parsers ignore the case of a member's name. */
static bool asks_callback(json_t *message)
{
	const char *name;
	json_t *value;

	json_object_foreach(
		message, name,
		value) if (strcasecmp(name, "method") == 0 &&
			   json_is_string(value) &&
			   is_callback(json_string_value(value))) return true;
	return false;
}

/* ---- files ---- */

static int open_file(const char *path, int flags, struct err *err)
{
	const struct timespec moment = {.tv_nsec = 20000000};
	auto_close int fd = -1;
	struct stat st;
	int tries = 50;

	/* A FIFO does not block. A file whose content is just being kept is
	 * free in a moment. */
	while ((fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			  0666)) < 0 &&
	       errno == EAGAIN && tries--)
		(void)nanosleep(&moment, NULL);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "%s", text_quote(path));
	if (!S_ISREG(st.st_mode))
		return fail(err, EISDIR, "%s is not a regular file",
			    text_quote(path));
	return TAKE_FD(fd);
}

/* Moves behind count line feeds, or to the end. */
static const char *skip_lines(const char *at, const char *end, double count)
{
	for (; count >= 1 && at < end; count--) {
		at += text_line_len(at, end);
		at += at < end;
	}
	return at;
}

static json_t *read_text_file(const char *path, const json_t *params,
			      struct err *err)
{
	const json_t *line = json_object_get(params, "line");
	const json_t *limit = json_object_get(params, "limit");
	auto_close int fd = open_file(path, O_RDONLY, err);
	AUTO(buf) struct buf text = {0};
	const char *at, *end;
	json_t *content;

	if (fd < 0 || fd_slurp(fd, FILE_MAX, &text, err) < 0)
		return NULL;
	end = buf_text(&text) + text.len;
	/* Lines count from 1. */
	at = skip_lines(buf_text(&text), end, json_number_value(line) - 1);
	if (json_is_number(limit)) {
		end = skip_lines(at, end, json_number_value(limit));
		end -= end > at && end[-1] == '\n';
	}
	content = json_stringn(at, (size_t)(end - at));
	if (content)
		return json_pack("{s:o}", "content", content);
	(void)fail(err, EILSEQ, "%s is not UTF-8 text", text_quote(path));
	return NULL;
}

/* As editors do it when they save a file. */
static void make_parents(const char *path)
{
	const char *at = path;

	while ((at = strchr(at + 1, '/'))) {
		auto_free char *above = mem_strndup(path, (size_t)(at - path));

		(void)mkdir(above, 0777);
	}
}

static json_t *write_text_file(const char *path, const json_t *params,
			       struct err *err)
{
	const json_t *content = json_object_get(params, "content");
	const int flags = O_WRONLY | O_CREAT | O_TRUNC;
	auto_close int fd = -1;

	if (!json_is_string(content)) {
		(void)fail(err, EINVAL, "the parameter 'content' is missing");
		return NULL;
	}
	fd = open_file(path, flags, err);
	if (fd == -ENOENT) {
		make_parents(path);
		fd = open_file(path, flags, err);
	}
	if (fd >= 0 && fd_write(fd, json_string_value(content),
				json_string_length(content)) == 0)
		return json_object();
	if (fd >= 0)
		(void)fail_errno(err, "write %s", text_quote(path));
	return NULL;
}

/* ---- answers ---- */

static json_t *call(const char *method, const json_t *params, struct err *err)
{
	bool writes = strcmp(method, "fs/write_text_file") == 0;
	const json_t *path = json_object_get(params, "path");
	const char *text = json_string_value(path);

	if (!writes && strcmp(method, "fs/read_text_file") != 0)
		(void)fail(err, ENOSYS,
			   "%s is not available: guard keeps files and "
			   "commands of the agent in its run",
			   text_quote(method));
	else if (!text || *text != '/' ||
		 strlen(text) != json_string_length(path))
		(void)fail(err, EINVAL,
			   "the parameter 'path' must be an absolute path");
	else
		return writes ? write_text_file(text, params, err)
			      : read_text_file(text, params, err);
	return NULL;
}

/* A number as the agent wrote it, which a double may not hold. A wrong one
 * would reach nobody but the agent. */
static char *id_text(const char *line, const json_t *id)
{
	static const char name[] = "\"id\"";
	const char *at = json_is_number(id) ? strstr(line, name) : NULL;
	char *end;

	for (; at; at = strstr(at, name)) {
		at += strlen(name);
		at += strspn(at, " \t:");
		if (strtod(at, &end) == json_number_value(id) && end > at)
			return mem_strndup(at, (size_t)(end - at));
	}
	return json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* Consumes the value of the member. */
static void send_answer(struct buf *to, const char *id, const char *member,
			json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	if (text)
		buf_printf(to, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"%s\":%s}\n",
			   id, member, text);
	json_decref(value);
}

static void send_error(struct buf *to, const char *id, int code,
		       const char *text)
{
	send_answer(to, id, "error",
		    json_pack("{s:i, s:s}", "code", code, "message", text));
}

/* A notification asks for no answer, and has no effect. */
static void answer(const char *line, const json_t *message, struct buf *to)
{
	const char *method =
		json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id");
	auto_free char *text = id ? id_text(line, id) : NULL;
	struct err err = {0};
	json_t *result;

	if (!text)
		return;
	result = call(method ? method : "", json_object_get(message, "params"),
		      &err);
	if (result)
		send_answer(to, text, "result", result);
	else
		send_error(to, text,
			   err.num == ENOENT   ? NO_SUCH_RESOURCE
			   : err.num == EINVAL ? WRONG_PARAMS
			   : err.num == ENOSYS ? NO_SUCH_METHOD
					       : FAILED,
			   err.text);
}

static void send_message(struct buf *to, const json_t *message)
{
	auto_free char *text = json_dumps(message, JSON_COMPACT);

	if (text)
		buf_printf(to, "%s\n", text);
}

/* ---- a line of the agent ---- */

static json_t *parse(const char *line, size_t len, size_t flags)
{
	json_t *json;

	flags |= JSON_ALLOW_NUL;
	json = json_loadb(line, len, flags, NULL);
	/* Numbers above 64 bits need the flag, which turns 1 into 1.0. */
	return json ? json
		    : json_loadb(line, len, flags | JSON_DECODE_INT_AS_REAL,
				 NULL);
}

/* NULL: not strict. Some editors end a line at a carriage return, too. */
static json_t *parse_strictly(const char *line, size_t len)
{
	const char *feed = memchr(line, '\r', len);

	if (feed && (size_t)(line + len - feed) > strlen("\r\n"))
		return NULL;
	return parse(line, len, JSON_REJECT_DUPLICATES);
}

static void refuse(const char *line, struct buf *to_agent)
{
	(void)dprintf(STDERR_FILENO,
		      "guard: --acp: a message of the agent is not passed on: "
		      "it is no object in strict JSON, and may ask the editor "
		      "for a file or a command: %s\n",
		      text_quote(line));
	send_error(to_agent, "null", NOT_JSON,
		   "not an object in strict JSON without duplicate members");
}

/* A login in a terminal is the editor's command, `guard run -- AGENT`, with
 * more arguments. The agent must not choose variables for guard, or, in an
 * older form, the command. Returns true if the message had some. */
static bool restrict_logins(json_t *message)
{
	json_t *methods = json_object_get(json_object_get(message, "result"),
					  "authMethods");
	json_t *login;
	bool changed = false;
	size_t i;

	json_array_foreach(methods, i, login)
	{
		json_t *meta = json_object_get(login, "_meta");

		changed |= json_object_del(login, "env") == 0;
		changed |= json_object_del(meta, "terminal-auth") == 0;
	}
	return changed;
}

void acp_message_from_agent(const char *line, size_t len, struct buf *to_editor,
			    struct buf *to_agent)
{
	bool has = has_action(line, len);
	json_auto_t *json = has ? parse_strictly(line, len) : NULL;

	if (has && !json_is_object(json))
		refuse(line, to_agent);
	else if (asks_callback(json))
		answer(line, json, to_agent);
	else if (restrict_logins(json))
		send_message(to_editor, json);
	else
		buf_add(to_editor, line, len);
}

/* ---- a line of the editor ---- */

static bool restrict_initialize(json_t *message)
{
	const char *method =
		json_string_value(json_object_get(message, "method"));
	json_t *can = json_object_get(json_object_get(message, "params"),
				      "clientCapabilities");

	return method && strcmp(method, "initialize") == 0 &&
	       (json_object_del(can, "fs") == 0) +
		       (json_object_del(can, "terminal") == 0);
}

void acp_message_from_editor(const char *line, size_t len, struct buf *to_agent)
{
	json_auto_t *json = memmem(line, len, "initialize", 10)
				    ? parse(line, len, 0)
				    : NULL;

	if (restrict_initialize(json))
		send_message(to_agent, json);
	else
		buf_add(to_agent, line, len);
}
