/*
 * What each layer of the fence is worth on this machine, by trying it where
 * that can be done. Changes nothing; needs no state and no project. The caller
 * has no threads.
 */
#ifndef GUARD_SANDBOX_INSPECT_H
#define GUARD_SANDBOX_INSPECT_H

enum inspect_state {
	INSPECT_OK,
	INSPECT_WEAKER, /* runs work, with less */
	INSPECT_MISSING, /* nothing is run */
};

struct inspection {
	enum inspect_state state;
	const char *name; /* short, for programs as well */
	const char *text;
	const char *remedy; /* NULL: nothing to mend */
};

/* In a fixed order; the texts live for the call. */
void sandbox_inspect(void (*each)(void *arg, const struct inspection *i),
		     void *arg);

#endif
