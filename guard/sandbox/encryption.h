/* Whether the files of a directory lie encrypted on their disk, so that copies
 * of them elsewhere would be readable without its key. */
#ifndef GUARD_SANDBOX_ENCRYPTION_H
#define GUARD_SANDBOX_ENCRYPTION_H

/*
 * The sentence for the user that copies of this directory's files in `copies`
 * are not encrypted, to free; NULL: the directory is not encrypted as far as
 * guard knows, or both are. Knows fscrypt, eCryptfs, dm-crypt and, by their
 * names, FUSE file systems such as gocryptfs.
 */
char *encryption_note(const char *path, const char *copies);

#endif
