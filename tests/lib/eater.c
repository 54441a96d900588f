/*
 * Opens files until it gets no more, then says so and ends with 1.
 *
 *	eater [closed | on]
 *
 * closed: closes them all before the end. on: goes on, and ends with 0 when
 * its input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char byte;
	int count = 0;

	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		count++;
	(void)printf("%d files\n", count);
	(void)fflush(stdout);
	if (strcmp(how, "closed") == 0)
		(void)close_range(3, ~0U, 0);
	if (strcmp(how, "on") != 0)
		return 1;
	return read(0, &byte, 1) != 0;
}
