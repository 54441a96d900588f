/*
 * Names in the trash for entries that upper_discard() removed from a layer;
 * upper_restore() uses them. NAME is the caller's name:
 *
 * 	NAME		the layer's entry at the path: a file, a directory or a
 * 			whiteout
 * 	NAME-at-N	the whiteout of the first N parts of the path, a
 * 			directory that the run had deleted. Before the exchange
 * 			with the whiteout this is the directory that replaces it
 * 	NAME, NAME-root	for the path "": a directory with all entries of the
 * 			layer; and an empty one with the metadata that the run
 * 			gave the root
 */
#ifndef GUARD_OVERLAY_UPPER_DISCARD_TRASH_H
#define GUARD_OVERLAY_UPPER_DISCARD_TRASH_H

#define UPPER_DISCARD_ROOT "-root"

/* The name "NAME-at-N", to free. */
char *upper_discard_trash_name(const char *name, unsigned int depth);

#endif
