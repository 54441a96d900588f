/*
 * Attacks: one program per class, one table per program.
 *
 *	PROGRAM --list		prints the table: lines, fields by TAB
 *	PROGRAM ID		plays one attack
 *
 * tests/hostile/play plays each twice: without guard, where it must work, and
 * as the command of a guard run, where it must not. The proof decides, never
 * the attack's own report if there is other evidence:
 *
 *	PROOF_HOST	something outside has changed (files, victim, mounts)
 *	PROOF_SECRET	the victim's secret is in the output
 *	PROOF_CLAIM	the program ends with 0
 *	PROOF_WORKS	the reverse: it must work inside as well
 *
 * An attack ends with WORKED, HELD, or CANNOT when this machine cannot play it;
 * one line on stdout gives the reason. It runs only in a throw-away root of
 * tests/lib/root.c, and checks that itself.
 */
#ifndef TESTS_HOSTILE_ATTACK_H
#define TESTS_HOSTILE_ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKED = 0, HELD = 1, CANNOT = 77 };

enum proof { PROOF_HOST, PROOF_SECRET, PROOF_CLAIM, PROOF_WORKS };

struct attack {
	const char *id; /* P..: the public list; others: our own */
	const char *what;
	const char *layer; /* the layer of protection that has to stop it */
	enum proof proof;
	const char *users; /* "both", "root" or "user" */
	const char *options; /* options of guard run */
	const char *shell; /* for /bin/sh, or */
	int (*play)(void);
};

static int tell(int verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int tell(int verdict, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vprintf(format, ap);
	va_end(ap);
	(void)printf("\n");
	(void)fflush(stdout);
	return verdict;
}

/* The verdict of rc < 0 and errno; `what` names the attempt. */
static __attribute__((unused)) int verdict(long rc, const char *what)
{
	if (rc >= 0)
		return tell(WORKED, "%s", what);
	return tell(HELD, "%s: %s", what, strerror(errno));
}

static void refuse_outside(void)
{
	char marker[256] = "", ns[64] = "";
	int fd = open("/.guard-test-root", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, marker, sizeof(marker) - 1);

	if (len <= 0 || readlink("/proc/self/ns/mnt", ns, sizeof(ns) - 1) < 0 ||
	    strncmp(marker, ns, strlen(ns)) == 0) {
		(void)fprintf(stderr, "not in a throw-away root\n");
		exit(99);
	}
	(void)close(fd);
}

static void list_attacks(const struct attack *a)
{
	static const char *const proofs[] = {"host", "secret", "claim",
					     "works"};

	for (; a->id; a++)
		(void)printf("%s\t%s\t%s\t%s\t%s\t%s\n", a->id,
			     proofs[a->proof], a->users ? a->users : "both",
			     a->layer, a->options ? a->options : "-", a->what);
}

static int attack_main(const struct attack *table, int argc, char **argv)
{
	const struct attack *a;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list_attacks(table);
		return 0;
	}
	refuse_outside();
	for (a = table; argc == 2 && a->id; a++) {
		if (strcmp(a->id, argv[1]) != 0)
			continue;
		if (a->play)
			return a->play();
		(void)execl("/bin/sh", "sh", "-c", a->shell, (char *)NULL);
		return 99;
	}
	(void)fprintf(stderr, "no such attack\n");
	return 99;
}

#endif
