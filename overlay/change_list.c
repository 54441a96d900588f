#include "overlay/change_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/vec.h"

/* Paths are stored one after another in blocks. A list of millions of paths is
 * freed block by block. */
#define BLOCK_SIZE (64u << 10)

struct change_names {
	struct change_names *next; /* an earlier block */
	size_t left; /* unused bytes at the end */
	size_t size;
	char bytes[];
};

void change_list_free(struct change_list *list)
{
	while (list->names) {
		struct change_names *block = list->names;

		list->names = block->next;
		free(block);
	}
	free(list->items);
	free(list->moves);
	free(list->touched);
	*list = (struct change_list){0};
}

static const char *copy_listed_path(struct change_list *list, const char *path)
{
	size_t len = strlen(path) + 1;
	struct change_names *block = list->names;
	char *to;

	if (!block || block->left < len) {
		size_t size = len > BLOCK_SIZE ? len : BLOCK_SIZE;

		block = mem_alloc(sizeof(*block) + size);
		*block = (struct change_names){
			.next = list->names, .left = size, .size = size};
		list->names = block;
	}
	to = block->bytes + block->size - block->left;
	block->left -= len;
	return memcpy(to, path, len);
}

struct change_side change_side(const struct meta *m)
{
	if (!m)
		return (struct change_side){0};
	return (struct change_side){
		.mode = m->mode,
		.uid = m->uid,
		.gid = m->gid,
		.chattr = m->chattr,
		.size = m->size,
		.mtime = m->mtime,
	};
}

void change_list_add(struct change_list *list, const char *path,
		     enum change_kind kind, unsigned int flags,
		     const struct meta *old, const struct meta *now)
{
	if (now && S_ISREG(now->mode) && (now->mode & (S_ISUID | S_ISGID)))
		flags |= CHANGE_SETID;
	if (now && !S_ISREG(now->mode) && !S_ISDIR(now->mode) &&
	    !S_ISLNK(now->mode))
		flags |= CHANGE_NODE;
	*VEC_ADD(list) = (struct change){
		.kind = kind,
		.flags = flags,
		.path = copy_listed_path(list, path),
		.old = change_side(old),
		.now = change_side(now),
	};
	if (!list->flags_known)
		list->items[list->count - 1].old.chattr =
			list->items[list->count - 1].now.chattr = 0;
}

void change_list_copy(struct change_list *list, const struct change *c)
{
	*VEC_ADD(list) = *c;
	list->items[list->count - 1].path = copy_listed_path(list, c->path);
}

static void add_touched(struct change_list *list, const char *path)
{
	GROW(list->touched, list->touched_count, list->touched_capacity);
	list->touched[list->touched_count++] = path;
}

void change_list_append(struct change_list *to, struct change_list *from)
{
	struct change_names **last = &from->names;
	size_t i;

	for (i = 0; i < from->count; i++)
		*VEC_ADD(to) = from->items[i];
	for (i = 0; i < from->touched_count; i++)
		add_touched(to, from->touched[i]);
	timestamp_raise(&to->newest, from->newest);
	timestamp_raise(&to->newest_below, from->newest_below);
	while (*last)
		last = &(*last)->next;
	*last = to->names;
	to->names = from->names;
	from->names = NULL;
	change_list_free(from);
}

void change_list_touch(struct change_list *list, const char *path)
{
	add_touched(list, copy_listed_path(list, path));
}

void change_list_unreadable(struct change_list *list, const char *path,
			    unsigned int flags, const struct meta *old,
			    const struct meta *now)
{
	struct change *last =
		list->count ? &list->items[list->count - 1] : NULL;
	const char **touched = list->touched_count
				       ? &list->touched[list->touched_count - 1]
				       : NULL;

	/* The path becomes a change, so it leaves the touched paths. */
	if (touched && strcmp(*touched, path) == 0)
		list->touched_count--;
	if (last && strcmp(last->path, path) == 0)
		last->flags |= CHANGE_UNREADABLE;
	else
		change_list_add(list, path, CHANGE_META,
				flags | CHANGE_UNREADABLE, old, now);
}
