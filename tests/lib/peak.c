/*
 * The peak memory of a command:
 *
 *	peak FILE CMD [ARGS]
 *
 * Writes the resident kilobytes of the command, or of a process that it waited
 * for if that had more, to FILE. Ends with the command's own status.
 */
#include <err.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	FILE *file;
	pid_t pid;
	int status;

	if (argc < 3)
		errx(99, "usage: peak FILE CMD [ARGS]");
	pid = fork();
	if (pid == 0) {
		(void)execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		err(99, "%s", argv[2]);
	file = fopen(argv[1], "we");
	if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 ||
	    fclose(file) != 0)
		err(99, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
