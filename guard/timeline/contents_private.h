/* The tree of a run's timeline in the store, for the modules that read and
 * write it: contents.c, import.c and drop.c. */
#ifndef GUARD_TIMELINE_CONTENTS_PRIVATE_H
#define GUARD_TIMELINE_CONTENTS_PRIVATE_H

#include "base/vec.h"
#include "guard/timeline/contents.h"
#include "overlay/torn.h"
#include "restore/plan/lookup.h"

#define CONTENTS_RECORDS "records"
#define CONTENTS_ROOTS "roots"
#define CONTENTS_DIR "contents"

/* A record that is the last one of its path. */
struct contents_last {
	uint64_t content; /* first: see sorted_find_number() */
	const struct timeline_record *record;
};

/* A state of a root that the store has. */
struct contents_state {
	struct snapshot snapshot;
	struct lookup lookup; /* in it */
};

struct contents {
	struct store *store;
	const struct session *session; /* NULL: it has no directory */
	int spool_fd; /* -1: there is none */
	struct torn torn; /* nothing of it is a content */
	struct timeline timeline;
	VEC(struct contents_root) roots;
	struct snapshot stored; /* seq 0: nothing is stored yet */
	/* The regular files that the run has at the end of the timeline. */
	VEC(struct contents_last) last;
	bool has_last; /* last was made */
	struct lookup in_stored;
	VEC(struct contents_state) states; /* the newest last */
	bool has_states; /* states was made */
	struct tree_editor *editor; /* contents_edit(), or NULL */
	bool changed; /* the edited tree has other contents */
	unsigned int waited; /* ticks, for the version worker */
};

/* Whether a content is in the tree: as contents_entry(), of size, bytes and
 * attributes only. */
int contents_stored(struct contents *c, uint64_t number, struct entry *ret,
		    struct err *err);
/* Whether it is in the spool, and its name there. */
#define CONTENTS_NAME 24
bool contents_spooled(const struct contents *c, uint64_t number,
		      char ret_name[CONTENTS_NAME]);
/* Whether a power cut tore a content, or what a rest of it was made of. */
bool contents_is_torn(const struct contents *c,
		      const struct timeline_record *r);
/* Loads the snapshot again, of a run with a directory. */
int contents_refresh(struct contents *c, struct err *err);
/* As contents_entry(), of a content that still stands in the result or in the
 * layer. */
int contents_standing(struct contents *c, uint64_t number, struct entry *ret,
		      struct err *err);
/* Makes c->last. */
void contents_find_last(struct contents *c);

/*
 * Changes of the tree: contents_edit(), then puts and removes, in the order of
 * their numbers where they are many, then contents_commit(). The caller holds
 * contents_lock().
 */
void contents_edit(struct contents *c);
int contents_put(struct contents *c, uint64_t number, const struct entry *e,
		 struct err *err);
int contents_remove(struct contents *c, uint64_t number, struct err *err);
/* records: those of the timeline, too. message: of the snapshot. Durable on
 * return, with timeline/stored of the run's directory if there is one. */
int contents_commit(struct contents *c, bool records, const char *message,
		    struct err *err);
/* The lock of a run's timeline, for imports and for what removes contents: a
 * descriptor. -EWOULDBLOCK: another process has it, and wait is false. */
int contents_lock(int run_fd, bool wait, struct err *err);

#endif
