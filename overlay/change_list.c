#include "overlay/change_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

void change_list_free(struct change_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->items[i].path);
	for (i = 0; i < list->touched_count; i++)
		free(list->touched[i]);
	free(list->items);
	free(list->touched);
	*list = (struct change_list){0};
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
	GROW(list->items, list->count, list->room);
	list->items[list->count++] = (struct change){
		.kind = kind,
		.flags = flags,
		.path = mem_strdup(path),
		.old = old ? *old : (struct meta){0},
		.now = now ? *now : (struct meta){0},
	};
	/* A layer does not keep them: what it has is no change of the run. */
	list->items[list->count - 1].old.chattr =
		list->items[list->count - 1].now.chattr = 0;
}

void change_list_touch(struct change_list *list, const char *path)
{
	GROW(list->touched, list->touched_count, list->touched_room);
	list->touched[list->touched_count++] = mem_strdup(path);
}

void change_list_unreadable(struct change_list *list, const char *path,
			    unsigned int flags, const struct meta *old,
			    const struct meta *now)
{
	struct change *last =
		list->count ? &list->items[list->count - 1] : NULL;
	char **touched = list->touched_count
				 ? &list->touched[list->touched_count - 1]
				 : NULL;

	/* No more one whose time alone differs. */
	if (touched && strcmp(*touched, path) == 0) {
		free(*touched);
		list->touched_count--;
	}
	if (last && strcmp(last->path, path) == 0)
		last->flags |= CHANGE_UNREADABLE;
	else
		change_list_add(list, path, CHANGE_META,
				flags | CHANGE_UNREADABLE, old, now);
}
