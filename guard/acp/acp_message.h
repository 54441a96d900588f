/*
 * Messages of the Agent Client Protocol (ACP): JSON-RPC, a line each, between
 * an editor and an agent. An agent may ask its editor to read and write files
 * and to run commands, and the editor does so outside of the run. These
 * functions decide what becomes of each line, and do the agent's file work in
 * this process instead, which is in the run:
 *
 *	editor's line	passed on; `initialize` without the capabilities fs and
 *			terminal
 *	agent's line	fs/read_text_file and fs/write_text_file: done here,
 *			answered to the agent. Every other fs/... and
 *			terminal/...: answered with an error. The answer to
 *			`initialize`: no login with variables or a command of
 *			the agent's choice. Other lines: passed on
 *
 * Lines are passed on byte for byte.
 *
 * The agent is untrusted, and editors read JSON with different parsers. An
 * agent's line in which any string begins like one of these names, at any
 * quotation mark and with any escapes, is therefore passed on only if it is
 * strict JSON: an object, without duplicate members, in UTF-8, without a
 * carriage return inside. ACP has no batches: a list with such a string is
 * refused. Any other line cannot be such a call for any parser.
 */
#ifndef GUARD_ACP_ACP_MESSAGE_H
#define GUARD_ACP_ACP_MESSAGE_H

#include <stddef.h>

#include "base/mem.h"

/* Appends to to_agent the line of the editor as the agent gets it, with its
 * line feed, if any. */
void acp_message_from_editor(const char *line, size_t len,
			     struct buf *to_agent);

/* The same for a line of the agent. Answers are appended to to_agent. A line
 * that is refused is named on stderr. line[len] is NUL. */
void acp_message_from_agent(const char *line, size_t len, struct buf *to_editor,
			    struct buf *to_agent);

#endif
