#include "guard/risk_bytes.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"

/* ---- look-alike letters ---- */

/* Letters as UTF-8, two bytes each. */
static const char alike[] =
	/* Cyrillic */
	"\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
	"\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e"
	"\u0420\u0421\u0422\u0425\u0405\u0406\u0408\u04bb\u04cf"
	/* Greek */
	"\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
	"\u039d\u039f\u03a1\u03a4\u03a5\u03a7";

static bool is_lookalike(const unsigned char *at, size_t len)
{
	const char *p;

	/* U+FF21 to U+FF3A and U+FF41 to U+FF5A: full-width letters */
	if (len >= 3 && at[0] == 0xef)
		return (at[1] == 0xbc && at[2] >= 0xa1 && at[2] <= 0xba) ||
		       (at[1] == 0xbd && at[2] >= 0x81 && at[2] <= 0x9a);
	for (p = alike; len >= 2 && *p; p += 2)
		if (memcmp(at, p, 2) == 0)
			return true;
	return false;
}

size_t risk_has_lookalikes(const void *data, size_t len)
{
	const unsigned char *at = data, *end = at + len;
	bool latin = false, other = false;
	size_t n = 0;

	if (!len || memchr(data, '\0', len))
		return 0;
	for (;; at++) {
		bool word =
			at < end && (*at >= 0x80 || isalnum(*at) || *at == '_');

		if (!word) {
			n += latin && other;
			latin = other = false;
			if (at >= end)
				return n;
		} else if (*at < 0x80) {
			latin |= isalpha(*at) != 0;
		} else if (*at >= 0xc0) {
			other |= is_lookalike(at, (size_t)(end - at));
		}
	}
}

/* ---- texts that look binary ---- */

static bool has_nul(const struct buf *b)
{
	return b->len && memchr(b->data, '\0', b->len);
}

static bool path_has_suffix(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len > n && strcmp(path + len - n, suffix) == 0;
}

static bool has_text_suffix(const char *path)
{
	static const char *const suffixes[] = {
		".sh",	".bash", ".js",	  ".mjs", ".cjs",    ".ts",   ".jsx",
		".tsx", ".py",	 ".rb",	  ".pl",  ".pm",     ".php",  ".lua",
		".c",	".h",	 ".cc",	  ".cpp", ".hpp",    ".rs",   ".go",
		".mk",	".json", ".yaml", ".yml", ".toml",   ".html", ".css",
		".md",	".sql",	 ".java", ".kt",  ".gradle",
	};
	size_t i;

	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (path_has_suffix(path, suffixes[i]))
			return true;
	return false;
}

bool risk_hides_text(const char *path, const struct buf *old,
		     const struct buf *now)
{
	if (!has_nul(now) || has_nul(old))
		return false;
	return has_text_suffix(path) ||
	       (now->len > 2 && memcmp(now->data, "#!", 2) == 0) ||
	       (old->len && now->len > old->len / 2 &&
		memcmp(old->data, now->data,
		       old->len < 64 ? old->len / 2 : 32) == 0);
}

/* ---- bytecode ---- */

/* Header of a .pyc: a magic number, flags, then time and size of the source, or
 * its hash. */
#define HEADER 16
#define FLAGS_AT 4

static bool is_in_pycache(const char *path)
{
	auto_free char *dir = path_parent(path);

	return strcmp(path_name(dir), "__pycache__") == 0;
}

/* Whether both were compiled from the same source, and the code differs. */
static bool is_forged_bytecode(const struct buf *old, const struct buf *now)
{
	return old->len >= HEADER && now->len >= HEADER &&
	       memcmp(old->data, now->data, 4) == 0 &&
	       memcmp(old->data + 8, now->data + 8, HEADER - 8) == 0 &&
	       (old->len != now->len ||
		memcmp(old->data, now->data, now->len) != 0);
}

static void add_bytecode_risk(struct risks *r, enum risk_level level,
			      const char *text)
{
	risk_add(r, level, true, mem_strdup(text));
}

void risk_judge_bytecode(const struct risk_file *f, struct risks *r)
{
	AUTO(buf) struct buf old = {0}, now = {0};

	/* A new file does not differ from the thousands of others that a tool
	 * installs. */
	if (!S_ISREG(f->now_mode) || !path_has_suffix(f->path, ".pyc") ||
	    (!f->old_mode && risk_is_installed(f->path)))
		return;
	if (!is_in_pycache(f->path)) {
		add_bytecode_risk(r, RISK_HIGH,
				  "as a module of Python's without a source");
		return;
	}
	if (f->now_size > RISK_READ_MAX || !f->read(f->arg, true, &now)) {
		add_bytecode_risk(r, RISK_HIGH,
				  "in place of a source, and cannot be read");
		return;
	}
	if (now.len < HEADER)
		return;
	if (now.data[FLAGS_AT] & 1 && !(now.data[FLAGS_AT] & 2))
		add_bytecode_risk(r, RISK_HIGH,
				  "in place of a source, whatever stands "
				  "in that: Python does not compare them");
	else if (S_ISREG(f->old_mode) && f->old_size <= RISK_READ_MAX &&
		 f->read(f->arg, false, &old) && is_forged_bytecode(&old, &now))
		add_bytecode_risk(r, RISK_HIGH,
				  "in place of a source, and has other code "
				  "than before for the same one");
	else
		add_bytecode_risk(r, RISK_NOTE,
				  "in place of its source, which is not "
				  "compared with it here");
}
