/*
 * The encoding of a snapshot's file:
 *
 * 	file   = "GUARDSN1" version body check
 * 	version = u16                       ; 1, 2 with more, 3 the same where
 * 	                                    ; the root has chattr
 * 	check  = u64                        ; XXH3-64 of all before it
 * 	body   = seq parent time boot_id uid reason run_id command message
 * 	         root_path root_dev files folders bytes root notes
 * 	         [more]                     ; from version 2 on
 * 	more   = texts texts                ; tags, excludes
 * 	texts  = count *text
 * 	time   = svar var                   ; seconds, nanoseconds
 * 	root   = u8 [entry]                 ; 0: there was none; 1: see entry.c
 * 	notes  = count *( kind path text )  ; sorted by path
 *
 * Numbers are var, texts var *byte, u16 and u64 little-endian.
 */
#ifndef GUARD_SNAPSHOT_TREE_SNAPFILE_H
#define GUARD_SNAPSHOT_TREE_SNAPFILE_H

#include "snapshot/tree/catalog.h"

/* Appends the snapshot's encoding. */
void snapfile_encode(const struct snapshot *s, struct buf *to);
/* Decodes a snapshot. -EBADMSG: damaged, or not the snapshot `seq`; -EPROTO:
 * written by a newer guard. */
int snapfile_decode(const struct buf *bytes, uint64_t seq, struct snapshot *ret,
		    struct err *err);

#endif
