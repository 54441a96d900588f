/* Reports which layers of protection work on this machine, by trying them where
 * possible. It changes nothing and needs no state and no project. The caller
 * has no threads. */
#ifndef GUARD_SANDBOX_INSPECT_H
#define GUARD_SANDBOX_INSPECT_H

enum inspect_state {
	INSPECT_OK,
	INSPECT_WEAKER, /* runs work with less protection */
	INSPECT_MISSING, /* no command can run */
};

struct inspection {
	enum inspect_state state;
	const char *name; /* short and stable, also for programs */
	const char *text;
	const char *remedy; /* or NULL */
};

/* Calls each() in a fixed order. The texts are valid during the call. */
void sandbox_inspect(void (*each)(void *arg, const struct inspection *i),
		     void *arg);

#endif
