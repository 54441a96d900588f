/*
 * Compares the timeline of a run with its layer and with what a program did:
 *
 *	check dump RUN_DIR		prints the records
 *	check layer RUN_DIR		the last records are the layer
 *	check recall RUN_DIR LOG MS	each content in the log of destroyer
 *that stood so long is kept, or in the layer
 *	check noted RUN_DIR LOG MS	as recall, or the timeline says why not
 *	check has RUN_DIR FILE		the content of the file is kept
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/state/state.h"
#include "guard/timeline/contents.h"
#include "overlay/session.h"
#include "snapshot/store/content.h"
#include "snapshot/store/store_dir.h"

static const char *const kinds[] = {
	[TIMELINE_BEGIN] = "begin",	[TIMELINE_ENTRY] = "entry",
	[TIMELINE_OPAQUE] = "opaque",	[TIMELINE_GONE] = "gone",
	[TIMELINE_NONE] = "none",	[TIMELINE_GAP] = "gap",
	[TIMELINE_SAMPLED] = "sampled", [TIMELINE_THINNED] = "thinned",
	[TIMELINE_MARK] = "mark",	[TIMELINE_ALARM] = "alarm",
	[TIMELINE_END] = "end",
};

static struct timeline timeline;
static int run_fd;
static int failures;
static size_t layer_root;
static const char *layer_path;
static VEC(uint64_t) hashes;

static void dump(void)
{
	size_t i;

	for (i = 0; i < timeline.count; i++) {
		const struct timeline_record *r = &timeline.items[i];

		(void)printf("%" PRIu64 " %s %" PRId64 ".%03u root %zu '%s' "
			     "mode %o size %" PRIu64 " ino %" PRIu64
			     " content %" PRIu64 " '%s'\n",
			     r->number, kinds[r->kind], r->time.sec,
			     r->time.nsec / 1000000, r->root, r->path, r->mode,
			     r->size, r->ino, r->content, r->text);
	}
}

static const struct timeline_record *last_of(size_t root, const char *path)
{
	size_t i = timeline.count;

	while (i--) {
		const struct timeline_record *r = &timeline.items[i];

		if (r->kind >= TIMELINE_ENTRY && r->kind <= TIMELINE_NONE &&
		    r->root == root && strcmp(r->path, path) == 0)
			return r;
	}
	return NULL;
}

static void wrong(const char *path, const char *what)
{
	(void)printf("%s: %s\n", path, what);
	failures++;
}

static int check_entry(const char *full, const struct stat *st, int type,
		       struct FTW *at)
{
	const char *path = full + strlen(layer_path);
	const struct timeline_record *r;

	(void)type;
	(void)at;
	path += *path == '/';
	if (!*path)
		return 0;
	r = last_of(layer_root, path);
	if (!r || r->kind == TIMELINE_NONE)
		wrong(path, "in the layer, not in the timeline");
	else if (S_ISCHR(st->st_mode))
		r->kind == TIMELINE_GONE ? (void)0
					 : wrong(path, "not recorded as gone");
	else if (r->mode != st->st_mode || r->ino != st->st_ino)
		wrong(path, "recorded with another mode or inode");
	else if (S_ISREG(st->st_mode) && (r->size != (uint64_t)st->st_size ||
					  r->mtime.sec != st->st_mtim.tv_sec ||
					  r->mtime.nsec != st->st_mtim.tv_nsec))
		wrong(path, "recorded with another size or mtime");
	return 0;
}

static void check_layer(const char *dir)
{
	size_t i;

	for (layer_root = 0;; layer_root++) {
		char *name = session_root_dir(layer_root, "upper");
		char *path = mem_printf("%s/%s", dir, name);

		if (access(path, F_OK) < 0)
			break;
		layer_path = path;
		(void)nftw(path, check_entry, 50, FTW_PHYS);
	}
	for (i = 0; i < timeline.count; i++) {
		const struct timeline_record *r = &timeline.items[i];
		char *name = session_root_dir(r->root, "upper");
		char *path = mem_printf("%s/%s/%s", dir, name, r->path);
		struct stat st;

		if (r->kind >= TIMELINE_ENTRY && r->kind <= TIMELINE_GONE &&
		    last_of(r->root, r->path) == r && lstat(path, &st) < 0 &&
		    errno != EACCES)
			wrong(r->path, "in the timeline, not in the layer");
	}
	if (!timeline.count ||
	    timeline.items[timeline.count - 1].kind != TIMELINE_END)
		wrong("timeline", "has no end");
}

static uint64_t hash_bytes(const struct buf *bytes)
{
	uint64_t hash = 14695981039346656037u;
	size_t i;

	for (i = 0; i < bytes->len; i++)
		hash = (hash ^ bytes->data[i]) * 1099511628211u;
	return hash;
}

/* Of every content of the run, wherever it is. */
static int hash_contents(const char *dir, struct err *err)
{
	struct state state;
	struct store *store = NULL;
	struct session s = SESSION_NONE;
	struct contents *c = NULL;
	size_t i;

	if (state_open(&state, err) < 0 ||
	    session_open(state.runs_fd, path_name(dir), false, &s, err) < 0 ||
	    store_open(&store, state.store_path, STORE_WRITE, err) < 0 ||
	    contents_open(&c, store, &s, err) < 0)
		return -err->num;
	for (i = 0; i < timeline.count; i++) {
		const struct timeline_record *r = &timeline.items[i];
		struct entry e = {0};
		struct buf bytes = {0};
		int got;

		if (r->kind != TIMELINE_ENTRY || r->content != r->number ||
		    r->size > 1u << 26)
			continue;
		got = contents_entry(c, r->content, &e, err);
		if (got > 0)
			got = content_append(store, &e.content, &bytes, err);
		else if (got == 0)
			continue;
		if (got < 0)
			return -err->num;
		*VEC_ADD(&hashes) = hash_bytes(&bytes);
		buf_free(&bytes);
		entry_free(&e);
	}
	VEC_SORT(&hashes, sorted_compare_numbers);
	return 0;
}

/* Whether the timeline says of the path that a content was lost. */
static bool is_noted(const char *path)
{
	size_t i;

	for (i = 0; i < timeline.count; i++)
		if (timeline_is_lost(&timeline.items[i]) &&
		    strcmp(timeline.items[i].path, path) == 0)
			return true;
	return false;
}

static void check_recall(const char *dir, const char *log, int64_t min_ms,
			 bool noted)
{
	static const int64_t bounds[] = {0,   200,  250,      300,
					 600, 1000, INT64_MAX};
	size_t found[6] = {0}, all[6] = {0}, by_way[256] = {0};
	size_t lost[256] = {0}, i;
	char kind, way, path[64];
	uint64_t hash;
	int64_t ms;
	size_t size;
	FILE *file = fopen(log, "r");
	struct err err;

	if (hash_contents(dir, &err) < 0)
		wrong(dir, err.text);
	while (file && fscanf(file, " %c %" SCNd64 " %c %" SCNx64 " %zu %63s",
			      &kind, &ms, &way, &hash, &size, path) == 6) {
		bool has = sorted_find_number(hash, hashes.items, hashes.count,
					      sizeof(*hashes.items));

		for (i = 0; kind == 'D' && i < 6; i++) {
			if (ms < bounds[i] || ms >= bounds[i + 1])
				continue;
			all[i]++;
			found[i] += has;
		}
		if (kind == 'D' && ms < 250)
			continue;
		by_way[(unsigned char)way]++;
		lost[(unsigned char)way] += !has;
		if (!has && (kind == 'E' || ms >= min_ms) &&
		    !(noted && is_noted(path))) {
			(void)printf("lost after %" PRId64 " ms: %c %zu %s\n",
				     ms, way, size, path);
			failures++;
		}
	}
	if (!file || !all[5])
		wrong(log, "no contents");
	for (i = 0; i < 6; i++)
		(void)printf("from %" PRId64 " ms: %zu/%zu\n", bounds[i],
			     found[i], all[i]);
	for (i = 0; i < 256; i++)
		if (by_way[i])
			(void)printf("above 250 ms, way %c: lost %zu of %zu\n",
				     (char)i, lost[i], by_way[i]);
}

int main(int argc, char **argv)
{
	struct err err;

	if (argc < 3)
		return 2;
	run_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run_fd < 0 || timeline_load(&timeline, run_fd, &err) < 0) {
		(void)printf("no timeline in %s\n", argv[2]);
		return 2;
	}
	if (strcmp(argv[1], "dump") == 0) {
		dump();
	} else if (strcmp(argv[1], "layer") == 0) {
		check_layer(argv[2]);
	} else if ((strcmp(argv[1], "recall") == 0 ||
		    strcmp(argv[1], "noted") == 0) &&
		   argc == 5) {
		check_recall(argv[2], argv[3], strtol(argv[4], NULL, 10),
			     *argv[1] == 'n');
	} else if (strcmp(argv[1], "has") == 0 && argc == 4) {
		struct buf wanted = {0};
		uint64_t hash;

		if (fd_slurp_at(AT_FDCWD, argv[3], 1 << 20, &wanted, &err) <
			    0 ||
		    hash_contents(argv[2], &err) < 0)
			wrong(argv[3], err.text);
		hash = hash_bytes(&wanted);
		if (!sorted_find_number(hash, hashes.items, hashes.count,
					sizeof(*hashes.items)))
			wrong(argv[3], "not kept");
	} else {
		return 2;
	}
	return failures != 0;
}
