/*
 * The rules of guard/rules on the last commits of a repository: how many have
 * a risk of at least level high. A commit stands for a run that changed these
 * files. What critical files execute is taken from the present files of the
 * directory. Merges are left out.
 *
 *	measure [-v] DIRECTORY [COMMITS]
 *
 * -v prints each such risk. git reads the repository; nothing is written.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/parse/parse_worker.h"
#include "guard/rules/risk.h"

#define OID_LEN 40
#define COMMITS 200

struct blobs {
	const char *dir;
	char old[OID_LEN + 1], now[OID_LEN + 1];
};

/* A program's output; the arguments have no quotes in them. */
static bool read_output(const char *command, struct buf *to)
{
	FILE *in = popen(command, "r");
	char part[1 << 16];
	size_t got;

	if (!in)
		return false;
	while ((got = fread(part, 1, sizeof(part), in)))
		buf_add(to, part, got);
	return pclose(in) == 0;
}

static bool read_blob(void *arg, bool now, struct buf *to)
{
	const struct blobs *b = arg;
	const char *id = now ? b->now : b->old;
	auto_free char *command = mem_printf(
		"git -C '%s' cat-file blob %s 2>/dev/null", b->dir, id);

	return strspn(id, "0") != OID_LEN && read_output(command, to);
}

static uint64_t blob_size(const char *dir, const char *id)
{
	AUTO(buf) struct buf out = {0};
	auto_free char *command =
		mem_printf("git -C '%s' cat-file -s %s 2>/dev/null", dir, id);

	if (strspn(id, "0") == OID_LEN || !read_output(command, &out))
		return 0;
	return strtoull(buf_text(&out), NULL, 10);
}

/* ":100644 100755 OLD NOW M", then the path: as git diff-tree --raw -z. */
static void judge_change(const char *dir, const char *head, const char *path,
			 const struct risk_refs *refs, struct risks *ret)
{
	struct blobs b = {.dir = dir};
	unsigned int old, now;
	struct risk_file f = {
		.path = path, .refs = refs, .read = read_blob, .arg = &b};

	if (sscanf(head, ":%o %o %40s %40s", &old, &now, b.old, b.now) != 4)
		return;
	/* A submodule is a directory. */
	f.old_mode = old == 0160000 ? S_IFDIR | 0755 : old;
	f.now_mode = now == 0160000 ? S_IFDIR | 0755 : now;
	if (S_ISREG(f.old_mode))
		f.old_size = blob_size(dir, b.old);
	if (S_ISREG(f.now_mode))
		f.now_size = blob_size(dir, b.now);
	risk_judge(&f, ret);
}

static uint32_t look_on_disk(void *arg, const char *path, bool now,
			     struct buf *target)
{
	char link[4096];
	struct stat st;
	ssize_t len;

	(void)arg, (void)now;
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode)) {
		len = readlink(path, link, sizeof(link));
		buf_add(target, link, len > 0 ? (size_t)len : 0);
	}
	return st.st_mode;
}

static bool read_on_disk(void *arg, const char *path, bool now, struct buf *to)
{
	FILE *in = now ? NULL : fopen(path, "r");
	char part[1 << 16];
	size_t got;

	(void)arg;
	if (!in)
		return false;
	while ((got = fread(part, 1, sizeof(part), in)))
		buf_add(to, part, got);
	return fclose(in) == 0;
}

static enum risk_level judge_commit(const char *dir, const char *id,
				    const struct risk_refs *refs, bool verbose)
{
	AUTO(buf) struct buf out = {0};
	auto_free char *command = mem_printf(
		"git -C '%s' diff-tree --root --no-renames --raw -z --abbrev=%d"
		" -r --no-commit-id %s",
		dir, OID_LEN, id);
	enum risk_level worst = RISK_NONE;
	const char *at, *end;
	size_t i;

	if (!read_output(command, &out))
		return RISK_NONE;
	risk_renew_time();
	at = buf_text(&out);
	end = at + out.len;
	while (at < end && *at == ':') {
		const char *path = at + strlen(at) + 1;
		AUTO(risks) struct risks r = {0};

		judge_change(dir, at, path, refs, &r);
		if (risks_worst(&r) > worst)
			worst = risks_worst(&r);
		for (i = 0; verbose && i < r.count; i++) {
			auto_free char *text = risk_sentence(&r.items[i]);

			if (r.items[i].level >= RISK_HIGH)
				(void)printf("%.12s %s %s %s: %s\n", id,
					     risk_level_name(r.items[i].level),
					     r.items[i].id, path, text);
		}
		at = path + strlen(path) + 1;
	}
	return worst;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	const char *dir = argv[1 + verbose];
	int most = dir && argv[2 + verbose] ? atoi(argv[2 + verbose]) : COMMITS;
	size_t count = 0, high = 0, critical = 0;
	AUTO(buf) struct buf log = {0};
	auto_free char *command = NULL, *root = NULL;
	struct risk_tree tree = {.look = look_on_disk, .read = read_on_disk};
	struct risk_refs refs = {0};
	char *none[] = {NULL};
	const char *at;

	if (!dir || strchr(dir, '\'') || most <= 0) {
		(void)fputs("usage: measure [-v] DIRECTORY [COMMITS]\n",
			    stderr);
		return 2;
	}
	parse_worker_install();
	root = realpath(dir, NULL);
	tree.root = root;
	risk_refs_find(&tree, none, false, &refs);
	command = mem_printf("git -C '%s' log --no-merges --format=%%H -n %d",
			     dir, most);
	if (!read_output(command, &log)) {
		risk_refs_free(&refs);
		return 1;
	}
	for (at = buf_text(&log); isxdigit((unsigned char)*at);
	     at += OID_LEN + 1) {
		auto_free char *id = mem_strndup(at, OID_LEN);
		enum risk_level worst = judge_commit(dir, id, &refs, verbose);

		count++;
		high += worst >= RISK_HIGH;
		critical += worst == RISK_CRITICAL;
	}
	(void)printf("%zu commits: %.1f %% high or critical, %.1f %% "
		     "critical  %s\n",
		     count, 100.0 * (double)high / (double)(count ? count : 1),
		     100.0 * (double)critical / (double)(count ? count : 1),
		     dir);
	risk_refs_free(&refs);
	return 0;
}
