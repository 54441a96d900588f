/*
 * Risks of a change: files that are executed later, or are dangerous otherwise.
 * They are judged by name, type and mode, and for a few kinds of files by their
 * content; nothing of a run is ever executed for it, and no command of the run
 * is inspected. A hint where to look first, no proof of harmlessness: any
 * source file is executed some day.
 */
#ifndef GUARD_RISK_H
#define GUARD_RISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum risk_level {
	RISK_NONE,
	RISK_NOTE, /* worth knowing */
	RISK_HIGH, /* runs in a routine command: build, install, commit */
	RISK_CRITICAL, /* runs without being asked for, or does harm at once */
};

struct risk {
	enum risk_level level;
	bool runs; /* "runs " + text makes a sentence */
	char *text; /* escaped */
};

struct risks {
	struct risk *items; /* the worst first */
	size_t count, capacity;
};

/* One thing before and after; mode 0: it is not there. */
struct risk_file {
	const char *path;
	uint32_t old_mode, now_mode;
	uint64_t old_size, now_size;
	bool acl; /* an access list that it did not have */
	bool same_time; /* of the last change of its bytes */
	bool special; /* set-id bits or capabilities that are new */
	/* The bytes, or a link's target; false: they cannot be had. */
	bool (*read)(void *arg, bool now, struct buf *to);
	void *arg;
};

/* Files above it are judged by their names alone. */
#define RISK_READ_MAX (1u << 20)

void risks_free(struct risks *r);
void risk_judge(const struct risk_file *f, struct risks *ret);
enum risk_level risks_worst(const struct risks *r);
const char *risk_level_name(enum risk_level level);

/* When a file of that name runs: the rest of a sentence, or NULL. */
const char *risk_by_name(const char *path, enum risk_level *ret_level);

/* A directory that tools fill: node_modules, __pycache__. */
bool risk_is_generated(const char *name);
/* The path lies in one: names mean nothing there, and there are thousands. */
bool risk_in_generated(const char *path);
/* Installed packages: node_modules, .venv; not the notes and caches of a tool
 * in them. */
bool risk_is_installed(const char *path);
/* Files in it that run without a command of the user: start-up files of Python.
 */
bool risk_always_runs(const char *path);

#endif
