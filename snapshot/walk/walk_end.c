#include "snapshot/walk/walk_end.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/walk/stable_read.h"

bool walk_end_is_unchanged(const struct walk_dir *child)
{
	return child->same && !child->items && !child->absent &&
	       !child->incomplete;
}

static void collect_child_dirs(struct walk *w, struct walk_dir *f)
{
	struct walk_dir *child;

	for (child = f->children; child; child = child->next)
		if (!walk_end_is_unchanged(child))
			walk_make_items(w, f, f->count);
	/* The root's own record has the tree that identifies the cache. */
	if (!f->parent && !f->same && f->count)
		walk_make_items(w, f, f->count);
	if (!f->items)
		return;
	for (child = f->children; child; child = child->next) {
		struct walk_item *it = &f->items[child->index];

		it->child = child;
		it->absent = child->absent;
		it->meta = child->meta;
		it->content = child->tree;
		it->attrs = child->attrs;
		it->incomplete = child->incomplete;
		it->untrusted = child->untrusted || child->incomplete;
	}
}

static void make_item_entry(const struct walk_item *it, struct entry *ret)
{
	struct stable_read r = {
		.meta = it->meta,
		.content = it->content,
		.attrs = it->attrs,
		.link = mem_strdup(it->link),
		.size = it->size,
		.incomplete = it->incomplete,
	};

	stable_read_make_entry(&r, it->name, ret);
}

/* Removes items that a tree cannot hold; returns the number of others. */
static size_t drop_invalid_items(struct walk *w, struct walk_dir *f)
{
	size_t count = 0, i;

	for (i = 0; i < f->count; i++) {
		AUTO(entry) struct entry e = {0};
		struct walk_item *it = &f->items[i];

		if (it->absent)
			continue;
		make_item_entry(it, &e);
		if (entry_ok(&e, false)) {
			count++;
			continue;
		}
		it->absent = true;
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, it->name,
			      "of a kind that is not known");
	}
	return count;
}

static int encode_dir_tree(struct walk *w, struct walk_dir *f, struct err *err)
{
	AUTO(tree_writer)
	struct tree_writer *t =
		tree_writer_new(w->store, drop_invalid_items(w, f));
	size_t i;

	atomic_fetch_add(&w->encoded, 1);
	for (i = 0; i < f->count; i++) {
		AUTO(entry) struct entry e = {0};

		if (f->items[i].absent)
			continue;
		make_item_entry(&f->items[i], &e);
		if (tree_writer_add(t, &e, err) < 0)
			return -err->num;
	}
	return tree_writer_end(t, &f->tree, err);
}

static void add_dir_to_cache(struct walk *w, struct walk_dir *f)
{
	size_t i;

	(void)pthread_mutex_lock(&w->lock);
	for (i = 0; i < f->count; i++) {
		const struct walk_item *it = &f->items[i];
		const struct walk_dir *child = it->child;
		struct cache_item item;

		if (it->absent)
			continue;
		item = (struct cache_item){
			.name = it->name,
			.link = it->link,
			.meta = &it->meta,
			.content = it->content,
			.attrs = it->attrs,
			.flags = it->untrusted ? CACHE_UNTRUSTED : 0,
			.dir = child && child->items ? child->number + 1 : 0,
			.old = child && !child->items && !child->incomplete
				       ? child->old
				       : NULL,
		};
		cache_builder_add(w->builder, &item);
	}
	f->number = cache_builder_end_dir(w->builder, &f->tree, w->cache);
	(void)pthread_mutex_unlock(&w->lock);
}

static void finish_dir(struct walk *w, struct walk_dir *f)
{
	struct err err;

	collect_child_dirs(w, f);
	if (f->items && !atomic_load(&w->failed)) {
		if (encode_dir_tree(w, f, &err) < 0) {
			auto_free char *path = walk_path(f, "");

			(void)err_context(&err, "keep folder %s",
					  text_quote(path));
			walk_fail(w, &err);
		} else {
			add_dir_to_cache(w, f);
		}
	} else if (f->record) {
		f->tree = f->record->tree;
	}
	walk_dir_free_below(f);
}

void walk_end_part(struct walk *w, struct walk_dir *f)
{
	while (f && atomic_fetch_sub(&f->pending, 1) == 1) {
		finish_dir(w, f);
		if (!f->parent) {
			(void)pthread_mutex_lock(&w->lock);
			w->done = true;
			(void)pthread_cond_broadcast(&w->wake);
			(void)pthread_mutex_unlock(&w->lock);
		}
		f = f->parent;
	}
}
