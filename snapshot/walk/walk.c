#include "snapshot/walk/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

char *walk_path(const struct walk_dir *f, const char *name)
{
	size_t len = strlen(name), at;
	const struct walk_dir *up;
	char *path;

	for (up = f; up->parent; up = up->parent)
		len += strlen(up->name) + 1;
	path = mem_alloc(len + 2);
	/* Filled from the end to the front. */
	at = len + 1;
	path[at] = '\0';
	at -= strlen(name);
	memcpy(path + at, name, strlen(name));
	for (up = f; up->parent; up = up->parent) {
		if (path[at])
			path[--at] = '/';
		at -= strlen(up->name);
		memcpy(path + at, up->name, strlen(up->name));
	}
	memmove(path, path + at, strlen(path + at) + 1);
	return path;
}

void walk_add_note(struct walk *w, enum note_kind kind,
		   const struct walk_dir *f, const char *name, const char *text)
{
	struct note n = {
		.kind = kind,
		.path = walk_path(f, name),
		.text = mem_strdup(text),
	};

	(void)pthread_mutex_lock(&w->lock);
	GROW(w->notes, w->note_count, w->note_capacity);
	w->notes[w->note_count++] = n;
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_fail(struct walk *w, const struct err *err)
{
	(void)pthread_mutex_lock(&w->lock);
	if (!atomic_exchange(&w->failed, true))
		w->err = *err;
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_add_gid(struct walk *w, const struct meta *m, uint32_t *last)
{
	if (!w->gid_summary || m->gid == *last ||
	    (m->uid != w->uid && !(m->mode & S_IWGRP)))
		return;
	*last = m->gid;
	(void)pthread_mutex_lock(&w->lock);
	gid_summary_add(w->gid_summary, m->gid);
	(void)pthread_mutex_unlock(&w->lock);
}

void walk_push_dirs(struct walk *w, struct walk_dir *chain)
{
	if (!chain)
		return;
	(void)pthread_mutex_lock(&w->lock);
	for (; chain; chain = chain->next) {
		GROW(w->stack, w->stack_count, w->stack_capacity);
		w->stack[w->stack_count++] = chain;
	}
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

bool walk_is_moved(const struct walk *w, const struct meta *m)
{
	struct timestamp since = w->moved_since;

	if (!since.sec && !since.nsec)
		return false;
	if (!w->local_clock)
		return m->ctime.sec + 2 >= since.sec;
	/* The file system keeps whole seconds. */
	if (!m->ctime.nsec)
		return m->ctime.sec >= since.sec;
	return timestamp_compare(m->ctime, since) >= 0;
}

static struct timestamp is_before_nsec(struct timestamp m, int64_t nsec)
{
	m.sec -= nsec / 1000000000;
	nsec %= 1000000000;
	if ((int64_t)m.nsec < nsec) {
		m.sec--;
		m.nsec += 1000000000;
	}
	m.nsec -= (uint32_t)nsec;
	return m;
}

bool walk_is_racy(const struct walk *w, const struct meta *m)
{
	struct timestamp racy = is_before_nsec(w->start, w->slack_nsec);

	return timestamp_compare(m->ctime, racy) >= 0 ||
	       (!w->trusted_fs && timestamp_compare(m->mtime, racy) >= 0);
}

bool walk_is_untrusted(const struct walk *w, const struct meta *m)
{
	if (walk_is_racy(w, m))
		return true;
	if (!S_ISREG(m->mode) || !m->size)
		return false;
	return m->ctime.sec + w->writeback_sec >= w->start.sec;
}

/*
 * The last user closes the descriptor. Names that came or went during the walk
 * show in the directory's ctime. The ctime is checked here, because all entries
 * have been examined or opened by now.
 */
void walk_release_fd(struct walk *w, struct walk_dir *f)
{
	struct meta now;

	if (f->closed_early && f->fd < 0)
		return;
	if (atomic_fetch_sub(&f->fd_users, 1) != 1)
		return;
	if ((w->moved_since.sec || w->moved_since.nsec) && !f->ancestor_only &&
	    meta_get(f->fd, "", &now) == 0 && walk_is_moved(w, &now)) {
		walk_add_note(w, NOTE_MOVED, f, "", "");
		/* A directory that closed early did not see this last swap. */
		if (f->parent && f->parent->closed_early &&
		    !f->parent->ancestor_only)
			walk_add_note(w, NOTE_MOVED, f->parent, "", "");
	}
	(void)close(f->fd);
	f->fd = -1;
	atomic_fetch_sub(&w->open_fds, 1);
}

const char *walk_item_name(const struct walk *w, const struct walk_dir *f,
			   size_t i)
{
	return f->listed ? f->list.items[i].name
			 : statcache_name(w->cache, &f->entries[i]);
}

void walk_make_items(const struct walk *w, struct walk_dir *f,
		     size_t item_count)
{
	size_t i;

	if (f->items)
		return;
	f->items = mem_zalloc(f->count * sizeof(*f->items));
	for (i = 0; i < f->count; i++)
		f->items[i].name = walk_item_name(w, f, i);
	for (i = 0; i < item_count; i++) {
		const struct cache_entry *e = &f->entries[i];
		struct walk_item *it = &f->items[i];

		statcache_meta(w->cache, e, &it->meta);
		it->content = statcache_content(e);
		it->attrs = statcache_attrs(w->cache, e);
		it->size = e->size;
		if (S_ISLNK(e->mode))
			it->link = mem_strdup(statcache_link(w->cache, e));
	}
}

void walk_dir_free(struct walk_dir *f)
{
	size_t i;

	for (i = 0; f->items && i < f->count; i++)
		free(f->items[i].link);
	free(f->items);
	dirlist_free(&f->list);
	if (f->fd >= 0)
		(void)close(f->fd);
	free(f);
}

/* Frees all directories below f (not f), without recursion: the children of the
 * first child are inserted into the list. */
void walk_dir_free_below(struct walk_dir *f)
{
	struct walk_dir *todo = f->children, *last, *next;

	f->children = NULL;
	while (todo) {
		if (todo->children) {
			for (last = todo->children; last->next;)
				last = last->next;
			last->next = todo->next;
			todo->next = todo->children;
			todo->children = NULL;
		}
		next = todo->next;
		walk_dir_free(todo);
		todo = next;
	}
}
