/*
 * Prints the reports of the code below guard/cli (guard/state/report.h):
 * messages and progress on stderr, lines of results on stdout, questions on the
 * terminal.
 */
#ifndef GUARD_CLI_REPORT_SINK_H
#define GUARD_CLI_REPORT_SINK_H

/* Once, before any verb. */
void report_sink_install(void);

#endif
