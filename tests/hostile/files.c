/* Attacks on files outside of the project, on masked paths, on nodes. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "tests/hostile/attack.h"

#define V "\"$HOME/documents/v\""

static const char *home_file(const char *name)
{
	static char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("HOME"), name);
	return path;
}

static int map_shared(void)
{
	int fd = open("/srv/service/open", O_RDONLY | O_CLOEXEC);
	char *mem;

	if (fd < 0)
		return verdict(-1, "open a file outside");
	(void)close(fd);
	fd = open("/srv/service/open", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return verdict(-1, "open it for writing");
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return verdict(-1, "map it");
	*mem = 'X';
	return verdict(msync(mem, 4096, MS_SYNC), "write through a map");
}

/* Every change of an inode that needs no open for writing. */
static int change_inode(const char *path)
{
	struct timespec times[2] = {{1, 0}, {1, 0}};
	int good = 0;

	good += chmod(path, 0777) == 0;
	good += utimensat(AT_FDCWD, path, times, 0) == 0;
	good += setxattr(path, "user.hostile", "x", 1, 0) == 0;
	good += chown(path, getuid(), getgid()) == 0;
	good += truncate(path, 1) == 0;
	return good ? tell(WORKED, "%d ways", good)
		    : tell(HELD, "%s", strerror(errno));
}

static int change_outside(void)
{
	return change_inode("/srv/service/own");
}

static int change_home(void)
{
	return change_inode(home_file("documents/v"));
}

/* Sets the present mode of a node in the machine's own /dev. */
static int change_node(const char *path)
{
	struct stat st;
	struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};

	if (stat(path, &st) < 0)
		return tell(CANNOT, "no %s", path);
	if (chmod(path, st.st_mode & 07777) == 0 ||
	    chown(path, st.st_uid, st.st_gid) == 0)
		return tell(WORKED, "mode of %s", path);
	(void)times;
	return verdict(-1, path);
}

static int dev_null(void)
{
	return change_node("/dev/null");
}

static int dev_full(void)
{
	return change_node("/dev/full");
}

/* The driver passes /dev/null as input. */
static int input_node(void)
{
	struct stat st;

	if (fstat(0, &st) < 0 || !S_ISCHR(st.st_mode))
		return tell(CANNOT, "input is no node");
	return verdict(fchmod(0, st.st_mode & 07777), "mode of the input node");
}

static int handle(const char *path)
{
	struct {
		struct file_handle head;
		unsigned char data[128];
	} h = {.head.handle_bytes = 128};
	int mount_id, dir, fd;

	if (name_to_handle_at(AT_FDCWD, path, &h.head, &mount_id, 0) < 0)
		return verdict(-1, "name_to_handle_at");
	dir = open("/srv", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = open_by_handle_at(dir, &h.head, O_RDONLY);
	return verdict(fd, "open_by_handle_at");
}

static int by_handle(void)
{
	return handle("/srv/service/open");
}

static int reflink(void)
{
	int from = open("/srv/service/open", O_RDONLY | O_CLOEXEC);
	int to = open("/srv/service/own", O_WRONLY | O_CLOEXEC);

	if (to < 0)
		return verdict(-1, "open a file outside for writing");
	return verdict(copy_file_range(from, NULL, to, NULL, 4, 0),
		       "copy_file_range");
}

/* A file that is reachable through the caller's descriptor 9. */
static int inherited(void)
{
	int fd = openat(9, "own", O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0)
		return verdict(-1, "descriptor 9");
	return verdict(write(fd, "x", 1), "write below descriptor 9");
}

/* Played by tests/hostile/later, which checks the flags afterwards. */
static int set_flags(void)
{
	return verdict(fcntl(1, F_SETFL, O_NONBLOCK | O_APPEND | O_ASYNC),
		       "flags of the output");
}

static const struct attack table[] = {
	{"P01", "append to a file of the home folder", "home layer", PROOF_HOST,
	 .shell = "echo x >>" V},
	{"P02", "delete the home folder", "home layer", PROOF_HOST,
	 .shell = "rm -rf ~/* ~/.[!.]*"},
	{"P03", "delete everything", "read-only root, layers, masks",
	 PROOF_HOST,
	 .shell = "rm -rf --no-preserve-root /home/*/* /root/* "
		  "/srv/* /tmp/* 2>/dev/null"},
	{"P04", "write through a link", "read-only root", PROOF_HOST,
	 .shell = "ln -s /srv/service/own l; echo x >>l"},
	{"P05", "hard link to a file outside", "mounts", PROOF_HOST,
	 .shell = "ln /srv/service/own h && echo x >>h"},
	{"P06", "move a file from outside", "read-only root", PROOF_HOST,
	 .shell = "mv /srv/service/own ."},
	{"P07", "modes, times, attributes, owner, size outside",
	 "read-only root", PROOF_HOST, .play = change_outside},
	{"P07h", "the same in the home folder", "home layer", PROOF_HOST,
	 .play = change_home},
	{"P08", "truncate, punch, overwrite outside", "read-only root",
	 PROOF_HOST,
	 .shell = "cd /srv/service; truncate -s0 own; fallocate -p -o0 -l4096 "
		  "open; dd if=/dev/zero of=open bs=8 count=1 conv=notrunc"},
	{"P09", "open again for writing through /proc/self/fd",
	 "read-only root", PROOF_HOST,
	 .shell = "exec 3</srv/service/own; echo x >/proc/self/fd/3"},
	{"P10", "leave the project by ..", "read-only root", PROOF_HOST,
	 .shell = "echo x >>../../../srv/service/own"},
	{"P11", "read keys and tokens", "masks", PROOF_SECRET,
	 .shell = "cat ~/.ssh/id_* ~/.netrc ~/.git-credentials "
		  "~/.aws/credentials ~/.config/gh/hosts.yml ~/.kube/config "
		  "~/.docker/config.json ~/.gnupg/*"},
	{"P12", "read keys where a link leads", "masks, links resolved",
	 PROOF_SECRET, .shell = "cat ~/.azure/token /srv/service/keys/token"},
	{"P12h", "hidden by --hide, seen under another name",
	 "masks, links resolved", PROOF_SECRET,
	 .options = "--hide /srv/service/alias",
	 .shell = "cat /srv/service/alias/token /srv/service/keys/token"},
	{"F01", "read keys through /proc/self/root and /proc/PID/cwd", "masks",
	 PROOF_SECRET,
	 .shell = "cat /proc/self/root/$HOME/.ssh/id_rsa; cd ..; "
		  "cat /proc/self/cwd/.ssh/id_rsa"},
	{"F02", "read keys after moving what holds them", "masks", PROOF_SECRET,
	 .shell = "mv ~/.config ~/moved; cat ~/moved/gh/hosts.yml"},
	{"F03", "read keys in copies that file systems keep", "masks",
	 PROOF_SECRET,
	 .shell = "cat ~/.zfs/snapshot/*/.ssh/id_rsa "
		  "~/.snapshots/*/snapshot/.ssh/id_rsa"},
	{"F04", "read the keys of the real home behind another $HOME", "masks",
	 PROOF_SECRET, "user", .options = "HOME=/srv/elsewhere",
	 .shell = "cat /home/tester/.ssh/id_rsa"},
	{"P13", "look at guard's own store", "mask over the state",
	 PROOF_SECRET,
	 .shell = "find /var/lib/guard ~/.local/share/guard "
		  "-name '*.gpk' | grep -q . && "
		  "echo SECRET-of-the-victim"},
	{"F05", "destroy guard's own store", "mask over the state", PROOF_CLAIM,
	 .shell = "for d in /var/lib/guard ~/.local/share/guard; do "
		  "chmod 700 $d/store/packs; "
		  "touch $d/store/packs/hostile && "
		  "rm $d/store/packs/hostile && exit 0; done; exit 1"},
	{"P15", "write through a shared map", "read-only root", PROOF_HOST,
	 .play = map_shared},
	{"P16", "copy_file_range into a file outside", "read-only root",
	 PROOF_HOST, .play = reflink},
	{"P17", "a start-up file for all users", "read-only root", PROOF_HOST,
	 "root", .shell = "echo x >/srv/etc/profile.d/z.sh"},
	{"P18", "start-up files of the user", "home layer", PROOF_HOST,
	 .shell = "mkdir -p ~/.config/systemd/user ~/.config/autostart; "
		  "echo x >~/.config/systemd/user/x.service; "
		  "echo x >~/.config/autostart/x.desktop; echo x >>~/.bashrc; "
		  "echo x >~/.profile; mkdir -p ~/.local/bin; "
		  "echo x >~/.local/bin/ls"},
	{"F06", "write a named pipe that somebody outside reads",
	 "home layer: a pipe of its own", PROOF_HOST,
	 .shell = "timeout 1 sh -c 'echo x >~/.agent/pipe'"},
	{"F13", "write a named pipe outside of every layer", "Landlock",
	 PROOF_CLAIM, .options = "--strict",
	 .shell = "echo x 1<>/srv/service/pipe"},
	{"F14", "look at the home folder", "an empty one", PROOF_SECRET,
	 .options = "--strict", .shell = "cat ~/documents/secret"},
	{"F07", "mode of a device node", "nodes on read-only mounts",
	 PROOF_CLAIM, "root", .play = dev_null},
	{"F08", "mode of another node", "nodes on read-only mounts",
	 PROOF_CLAIM, "root", .play = dev_full},
	{"F09", "mode of the node that is its input",
	 "input on a read-only mount", PROOF_CLAIM, "root", .play = input_node},
	{"P33", "open by file handle", "filter, capabilities", PROOF_CLAIM,
	 "root", .play = by_handle},
	{"P41", "a folder that the caller has open", "closed descriptors",
	 PROOF_HOST, .play = inherited},
	{"F10", "write a shared /tmp, /var/tmp, /dev/shm", "private folders",
	 PROOF_HOST,
	 .shell = "for d in /tmp /var/tmp /dev/shm; do "
		  "echo x >$d/hostile; rm -rf $d/victim; done"},
	{"F11", "run a script in the project on the host's behalf: git hooks",
	 "project layer", PROOF_HOST,
	 .shell = "mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; "
		  "echo x >.envrc; echo x >conftest.py"},
	{"F12", "overwrite the file that is its input",
	 "input on a "
	 "read-only mount",
	 PROOF_HOST, .options = "INPUT",
	 .shell = "echo x >/proc/self/fd/0; chmod 777 /proc/self/fd/0"},
	{"F15", "flags of the output", "-", PROOF_WORKS, .play = set_flags},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
