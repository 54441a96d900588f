/*
 * Seals its input as a backup does: into FILE, synced. Makes floors of pipes.
 *
 *	seal FILE
 */
#include <err.h>
#include <fcntl.h>
#include <unistd.h>

#include "snapshot/backup/seal.h"

int main(int argc, char **argv)
{
	static const unsigned char key[SEAL_KEY_LEN], space[SEAL_SPACE_LEN];
	static char bytes[1 << 20];
	unsigned char hash[SEAL_HASH_LEN];
	struct seal_writer *w;
	struct err e;
	uint64_t size;
	ssize_t len;
	int fd;

	if (argc != 2)
		errx(2, "usage: seal FILE");
	fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (seal_init(&e) < 0 ||
	    seal_writer_new(fd, key, SEAL_PACKS, space, &w, &e) < 0)
		errx(1, "%s", e.text);
	while ((len = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (seal_writer_add(w, bytes, (size_t)len, &e) < 0)
			errx(1, "%s", e.text);
	if (len < 0)
		err(1, "read");
	if (seal_writer_end(w, hash, &size, &e) < 0)
		errx(1, "%s", e.text);
	seal_writer_free(&w);
	if (fsync(fd) < 0)
		err(1, "%s", argv[1]);
	return 0;
}
