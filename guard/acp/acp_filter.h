/*
 * The process between an editor and its agent in a run with --acp. pid 1
 * executes guard's own program as acp_filter_name, inside of the run's sandbox
 * and with all of its confinement; this program starts the command that stands
 * in its arguments, and passes the messages of both sides on
 * (acp_message.h). It has the privileges, descriptors and environment of the
 * run's command, and none of guard's.
 *
 * The agent cannot reach the editor past this process: it gets pipes as its
 * stdin and stdout, and the process is not dumpable, so its descriptors are
 * not open to other processes of the user. Where stderr is the same file as
 * stdout, the agent's stderr is filtered, too.
 *
 * The process ends as the agent does, with its status. When no process reads
 * its output any more it closes the agent's pipes, and two seconds later ends
 * the agent.
 *
 * As the command of a run it ends all other processes of the run with the
 * agent. Beside others (`guard run --acp` inside of a run, `guard exec` in a
 * live one) it leaves them.
 */
#ifndef GUARD_ACP_ACP_FILTER_H
#define GUARD_ACP_ACP_FILTER_H

/* argv[0] of the process as the command of a run, and beside other commands of
 * it; the command follows. */
extern const char acp_filter_name[];
extern const char acp_filter_nested_name[];

/* The name and the command, to free with mem_list_free(). */
char **acp_filter_argv(const char *name, char *const *command);

#endif
