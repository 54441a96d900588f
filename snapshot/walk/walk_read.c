#include "snapshot/walk/walk_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/walk/walk_end.h"
#include "snapshot/walk/stable_read.h"
#include "snapshot/store/content.h"

/* A pending read. */
struct read_job {
	struct walk_dir *dir;
	size_t index;
};

/*
 * The mount attribute is needed because a bind mount of the same file system
 * has the same device.
 */
int walk_read_stat(int dirfd, const char *name, struct meta *ret,
		   bool *ret_mount)
{
	struct statx st;

	if (RETRY_ENOENT(statx(dirfd, name,
			       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
			       STATX_BASIC_STATS, &st)) < 0)
		return -1;
	meta_from_statx(&st, ret);
	*ret_mount = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return 0;
}

void walk_read_failed(struct walk *w, struct walk_dir *f, const char *name,
		      struct err *err)
{
	auto_free char *path = walk_path(f, name);

	(void)err_context(err, "keep %s", text_quote(path));
	walk_fail(w, err);
}

static void take_stable_read(struct walk *w, struct walk_dir *f,
			     struct walk_item *it, struct stable_read *r)
{
	it->meta = r->meta;
	it->content = r->content;
	it->attrs = r->attrs;
	it->link = TAKE(r->link);
	it->size = r->content.type == OBJECT_NONE ? r->meta.size : r->size;
	it->incomplete = r->incomplete;
	it->untrusted = r->incomplete || walk_is_untrusted(w, &r->meta);
	if (r->incomplete)
		walk_add_note(w, NOTE_INCOMPLETE, f, it->name, r->why);
	if (walk_is_moved(w, &r->meta))
		walk_add_note(w, NOTE_MOVED, f, it->name, "");
	/* stat failed: a tree cannot hold the entry. */
	it->absent = !r->meta.mode;
	f->incomplete |= it->absent;
}

/* Reads one entry with plain calls and all retries of stable_read_entry(). */
static void read_item_alone(struct walk *w, struct walk_dir *f,
			    struct walk_item *it, const struct oid *before)
{
	struct longfile_hints hints = {.chunk_mac_cache = w->chunk_mac_cache,
				       .before = before};
	AUTO(stable_read) struct stable_read r = {0};
	struct err err;
	int got = stable_read_entry(w->store, f->fd, it->name, NULL, &w->dev,
				    &hints, &r, &err);

	if (got == -ENOENT || got == -ENOTDIR) {
		it->absent = true;
	} else if (got == -EXDEV) {
		it->incomplete = it->untrusted = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, it->name,
			      "another file system");
	} else if (got < 0) {
		walk_read_failed(w, f, it->name, &err);
	} else if (S_ISDIR(r.meta.mode) || !r.meta.mode) {
		/* The name became a directory while it was examined. */
		stable_read_add_fault(&r, "changed while it was read", 0);
		take_stable_read(w, f, it, &r);
	} else {
		if (S_ISREG(r.meta.mode)) {
			atomic_fetch_add(&w->read_files, 1);
			atomic_fetch_add(&w->read_bytes, r.size);
		}
		take_stable_read(w, f, it, &r);
	}
}

/* 1: stored; 0: the file changed while it was read; negative: the store
 * failed. */
static int store_small_file(struct walk *w, struct walk_dir *f,
			    struct walk_item *it,
			    const struct reader_file *file, struct err *err)
{
	struct stable_read r = {.meta = it->meta,
				.size = file->len,
				.ask_chattr = f->meta.chattr != 0};
	struct meta after;
	bool mount;

	if (file->error || file->grew || file->len != it->meta.size)
		return 0;
	if (stable_read_attrs(w->store, f->fd, it->name, NULL, &r, err) < 0)
		return -err->num;
	stable_read_call_hook(f->fd, it->name);
	if (walk_read_stat(f->fd, it->name, &after, &mount) < 0 || mount ||
	    !meta_same(&it->meta, &after))
		return 0;
	if (content_put_bytes(w->store, file->data, file->len, &r.content,
			      err) < 0)
		return -err->num;
	atomic_fetch_add(&w->read_files, 1);
	atomic_fetch_add(&w->read_bytes, file->len);
	take_stable_read(w, f, it, &r);
	return 1;
}

bool walk_read_collect(struct walk_worker *k)
{
	struct walk *w = k->walk;
	struct reader_file file;
	struct walk_dir *f;
	struct walk_item *it;
	struct read_job *read_job;
	struct err err;
	int got;

	if (!reader_next(k->reader, &file))
		return false;
	read_job = (struct read_job *)(uintptr_t)file.cookie;
	f = read_job->dir;
	it = &f->items[read_job->index];
	free(read_job);
	if (!atomic_load(&w->failed)) {
		got = store_small_file(w, f, it, &file, &err);
		if (got < 0)
			walk_read_failed(w, f, it->name, &err);
		else if (got == 0)
			read_item_alone(w, f, it, NULL);
	}
	walk_release_fd(w, f);
	walk_end_part(w, f);
	return true;
}

void walk_read_item(struct walk_worker *k, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct cache_entry *old)
{
	struct walk_item *it;
	struct read_job *read_job;
	struct oid before;

	walk_make_items(k->walk, f, i);
	it = &f->items[i];
	it->meta = *meta;
	if (!S_ISREG(meta->mode) || !meta->size ||
	    meta->size > READER_LEN_MAX) {
		before = old ? statcache_content(old) : (struct oid){0};
		read_item_alone(k->walk, f, it, &before);
		return;
	}
	read_job = mem_alloc(sizeof(*read_job));
	*read_job = (struct read_job){.dir = f, .index = i};
	atomic_fetch_add(&f->pending, 1);
	atomic_fetch_add(&f->fd_users, 1);
	while (!reader_add(k->reader, f->fd, it->name, meta->size,
			   (uint64_t)(uintptr_t)read_job))
		(void)walk_read_collect(k);
}

void walk_read_hint(struct walk *w, struct walk_dir *f, size_t i,
		    const struct meta *meta, const struct ingest_hint *hints)
{
	AUTO(stable_read)
	struct stable_read r = {.meta = *meta,
				.size = hints->size,
				.content = hints->content,
				.ask_chattr = f->meta.chattr != 0};
	/* Setting an attribute would change the ctime. */
	bool no_attrs = hints->no_attrs && hints->ctime.sec && !meta->chattr &&
			!f->meta.chattr;
	struct walk_item *it;
	struct err err;

	walk_make_items(w, f, i);
	it = &f->items[i];
	if (!no_attrs &&
	    stable_read_attrs(w->store, f->fd, it->name, NULL, &r, &err) < 0) {
		walk_read_failed(w, f, it->name, &err);
		return;
	}
	take_stable_read(w, f, it, &r);
	/* A file without read permission is not read again: its known content
	 * would be lost. */
	it->untrusted = r.incomplete ||
			(walk_is_racy(w, meta) && (meta->mode & S_IRUSR));
}
