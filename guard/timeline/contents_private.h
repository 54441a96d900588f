/* The tree of a run's timeline in the store, for the modules that read and
 * write it: contents.c, import.c and thin.c. */
#ifndef GUARD_TIMELINE_CONTENTS_PRIVATE_H
#define GUARD_TIMELINE_CONTENTS_PRIVATE_H

#include "base/vec.h"
#include "guard/timeline/contents.h"

#define CONTENTS_RECORDS "records"
#define CONTENTS_ROOTS "roots"
#define CONTENTS_DIR "contents"

/* A record that is the last one of its path. */
struct contents_last {
	uint64_t content; /* first: see sorted_find_number() */
	const struct timeline_record *record;
};

struct contents {
	struct store *store;
	const struct session *session; /* NULL: it has no directory */
	int spool_fd; /* -1: there is none */
	struct timeline timeline;
	VEC(struct contents_root) roots;
	struct snapshot stored; /* seq 0: nothing is stored yet */
	/* The regular files that the run has at the end of the timeline. */
	VEC(struct contents_last) last;
	bool has_last; /* last was made */
	struct entry *results; /* trees of the results, made when needed */
};

/* The path of a content in the tree. */
#define CONTENTS_PATH_LEN 32
void contents_path(char ret[CONTENTS_PATH_LEN], uint64_t number);
/* Makes c->last. */
void contents_find_last(struct contents *c);
/* As contents_entry(), of a content that still stands in the layer or in the
 * result. */
int contents_standing(struct contents *c, uint64_t number, struct entry *ret,
		      struct err *err);
/* Loads the snapshot that timeline/stored in run_fd names into *ret; an empty
 * one if there is none. */
int contents_load_snapshot(struct store *store, int run_fd, const char *run_id,
			   struct snapshot *ret, struct err *err);

#endif
