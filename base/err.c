#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 5, 0))) static void
set_err_text(struct err *err, int num, const char *file, int line,
	     const char *format, va_list list)
{
	err->num = num > 0 ? num : EIO;
	err->file = file;
	err->line = line;
	(void)vsnprintf(err->text, sizeof(err->text), format, list);
}

int err_set_at(struct err *err, int num, const char *file, int line,
	       const char *format, ...)
{
	va_list list;

	va_start(list, format);
	set_err_text(err, num, file, line, format, list);
	va_end(list);
	return -err->num;
}

/* Limits of the user's own, which strerror(3) does not name. */
static const char *errno_remedy(int num)
{
	if (num == EMFILE)
		return " (guard needs at least 64 descriptors: raise ulimit "
		       "-n)";
	if (num == EFBIG)
		return " (the limit of ulimit -f may be too low)";
	return "";
}

bool err_is_exhaustion(int num)
{
	return num == EMFILE || num == ENFILE || num == ENOMEM;
}

int err_sys_at(struct err *err, int num, const char *file, int line,
	       const char *format, ...)
{
	va_list list;
	size_t len;

	va_start(list, format);
	set_err_text(err, num, file, line, format, list);
	va_end(list);
	len = strlen(err->text);
	(void)snprintf(err->text + len, sizeof(err->text) - len, ": %s%s",
		       strerror(err->num), errno_remedy(err->num));
	return -err->num;
}

int err_context(struct err *err, const char *format, ...)
{
	char old[ERR_TEXT_LEN];
	va_list list;
	size_t len;

	memcpy(old, err->text, sizeof(old));
	va_start(list, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, list);
	va_end(list);
	len = strlen(err->text);
	if (len + 2 < sizeof(err->text)) {
		memcpy(err->text + len, ": ", 3);
		len += 2;
		(void)snprintf(err->text + len, sizeof(err->text) - len, "%.*s",
			       (int)(sizeof(err->text) - len - 1), old);
	}
	return -err->num;
}
