/* Takes UDP ports until that fails, prints their number and waits. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int count = 0;

	while (bind(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
		    (struct sockaddr *)&any, sizeof(any)) == 0)
		count++;
	(void)printf("%d\n", count);
	(void)fflush(stdout);
	return pause();
}
