#include "guard/commands.h"

int main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return STATUS_USAGE;
}
