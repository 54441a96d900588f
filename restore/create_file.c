#include "restore/create_file.h"

#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/text.h"
#include "restore/entry_compare.h"
#include "restore/transaction.h"
#include "snapshot/store/content.h"

#define SPECIAL_MODES (S_ISUID | S_ISGID | S_ISVTX)

bool create_file_possible(const struct entry *e, const char *name)
{
	return S_ISREG(e->mode) && !(e->flags & ENTRY_INCOMPLETE) &&
	       !(e->mode & SPECIAL_MODES) && e->attrs.type == OBJECT_NONE &&
	       strcmp(name, ".git") != 0;
}

int create_file_make(struct store *store, const char *dir, const char *name,
		     const struct entry *e, struct err *err)
{
	auto_close int fd = project_open_dir(dir, true, err);
	AUTO(atomic_file) struct atomic_file file = ATOMIC_FILE_NONE;

	if (fd < 0)
		return fd;
	if (atomic_begin(fd, name, 0600, &file, err) < 0)
		return -err->num;
	if (e->content.type != OBJECT_NONE &&
	    content_write(store, &e->content, file.fd, NULL, err) < 0)
		return err_context(err, "%s", text_quote(name));
	if (entry_apply_meta(store, file.fd, e, err) < 0)
		return err_context(err, "%s", text_quote(name));
	return atomic_publish(&file, name, err);
}
