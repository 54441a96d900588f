/*
 * Settings for all projects: the file `config` in guard's state, which may be a
 * symbolic link of the user to a file of the user's own. Its lines are "key =
 * value", '#' begins a comment. A run cannot see it.
 *
 *	keep-last, keep-hourly, keep-daily, keep-weekly, keep-monthly,
 *	keep-yearly = N
 *	keep-within = 14d
 *	keep-tag = TAG		may be there several times
 *	max-size = 20G		of the store
 *	min-free = 2G		of the disk that it is on
 *	auto-prune = yes | no
 *	ask-above = 4G | 200000 files | no
 *				may be there twice
 *	backup = DIR		after snapshots; may be there several times
 *	backup-command DIR = CMD
 *				after each backup to DIR; without DIR: to any
 *				other one
 *
 * A '#' in the lines of the last two is part of them.
 *
 * The rules have the names and meanings of the options of `guard prune`.
 */
#ifndef GUARD_RETENTION_SETTINGS_H
#define GUARD_RETENTION_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/state/state.h"
#include "snapshot/maintain/retain.h"

struct settings {
	struct retain_policy policy;
	char **keep_tags;
	bool rules; /* some were given: the default ones do not hold */
	uint64_t max_size; /* 0: as much as there is room for */
	uint64_t min_free; /* UINT64_MAX: a share of the disk */
	bool auto_prune;
	/* A larger directory outside of the home that is no git repository is
	 * not stored beside a run; 0: any. */
	uint64_t ask_bytes, ask_files;
	char **backups; /* absolute paths */
	struct {
		struct settings_command {
			char *dir; /* "": all without a line of their own */
			char *command; /* "": none */
		} * items;
		size_t count, capacity;
	} backup_commands;
};

/* The default ones. */
void settings_init(struct settings *s);
void settings_free(struct settings *s);

/* Without a file: the default settings. -EINVAL names the line and the allowed
 * values. */
int settings_load(const struct state *state, struct settings *ret,
		  struct err *err);

/*
 * Sets one by its name. The first rule for what to keep clears the default
 * policy. 1; 0: there is no such name; -EINVAL: no such value.
 */
int settings_set(struct settings *s, const char *key, const char *value,
		 struct err *err);

/* Adds the line "key = value" to the file, or removes all of them. */
int settings_change(const struct state *state, const char *key,
		    const char *value, bool on, struct err *err);

struct store;
/* Lets the store stop where the settings say. */
void settings_limit(const struct settings *s, struct store *store);

/* The command for the destination of this resolved path, or NULL. */
const char *settings_backup_command(const struct settings *s, const char *path);

/* Whether the rules keep anything at all. */
bool settings_keep_any(const struct settings *s);

#endif
