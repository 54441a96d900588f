#include "snapshot/store/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"

/* Structs are reused and never freed, because the signal handler may be reading
 * one. */
struct mapping {
	_Atomic(unsigned char *) data; /* NULL: unused */
	atomic_size_t len;
	atomic_bool failed;
	struct mapping *next;
	struct mapping *next_spare;
};

static _Atomic(struct mapping *) all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *spare; /* list of unused structs, protected by the
				 mutex */
static size_t used;
static struct sigaction before;
static size_t page_size;

/* Replaces the page by zeros. */
static bool zero_failed_page(struct mapping *m, unsigned char *page)
{
	int saved = errno;
	bool done;

	atomic_store(&m->failed, true);
	done = mmap(page, page_size, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
	errno = saved;
	return done;
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	struct mapping *m;

	(void)context;
	for (m = atomic_load(&all); m; m = m->next) {
		unsigned char *data = atomic_load(&m->data);
		uintptr_t start = (uintptr_t)data;

		/* The mapping extends to the end of its last page. */
		if (!data || at < start ||
		    (at - start) / page_size >
			    (atomic_load(&m->len) - 1) / page_size)
			continue;
		if (zero_failed_page(m, data + (at - start) / page_size *
							page_size))
			return;
	}
	/* The fault is not in a mapping of this module: the previous handler
	 * gets it when the instruction runs again. */
	(void)sigaction(sig, &before, NULL);
}

/* Called under the mutex when the first mapping comes into use: other code may
 * have installed its own handler since. */
static bool install_sigbus_handler(void)
{
	struct sigaction action = {
		.sa_sigaction = on_sigbus,
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART,
	};
	struct sigaction now;

	if (used)
		return true;
	if (sigaction(SIGBUS, NULL, &now) < 0)
		return false;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigbus)
		return true;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&action.sa_mask);
	before = now;
	return sigaction(SIGBUS, &action, NULL) == 0;
}

/* Called under the mutex. */
static struct mapping *claim_mapping_slot(void)
{
	struct mapping *m = spare;

	used++;
	if (m) {
		spare = m->next_spare;
		return m;
	}
	m = mem_zalloc(sizeof(*m));
	m->next = atomic_load(&all);
	atomic_store(&all, m);
	return m;
}

struct mapping *mapping_new(int fd, uint64_t at, size_t len)
{
	struct mapping *m = NULL;
	void *data;

	(void)pthread_mutex_lock(&mutex);
	data = install_sigbus_handler()
		       ? mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)at)
		       : MAP_FAILED;
	if (data != MAP_FAILED) {
		m = claim_mapping_slot();
		atomic_store(&m->failed, false);
		atomic_store(&m->len, len);
		atomic_store(&m->data, data);
	}
	(void)pthread_mutex_unlock(&mutex);
	return m;
}

struct mapping *mapping_open(int dirfd, const char *name, size_t min,
			     size_t max, size_t *ret_len)
{
	auto_close int fd = openat(dirfd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size < min ||
	    (size_t)st.st_size > max) {
		errno = EINVAL;
		return NULL;
	}
	*ret_len = (size_t)st.st_size;
	return mapping_new(fd, 0, *ret_len);
}

void mapping_free(struct mapping **mapping)
{
	struct mapping *m = *mapping;
	void *data;

	if (!m)
		return;
	(void)pthread_mutex_lock(&mutex);
	data = atomic_exchange(&m->data, NULL);
	(void)munmap(data, atomic_load(&m->len));
	m->next_spare = spare;
	spare = m;
	used--;
	(void)pthread_mutex_unlock(&mutex);
	*mapping = NULL;
}

const unsigned char *mapping_data(const struct mapping *m)
{
	return atomic_load(&m->data);
}

bool mapping_failed(const struct mapping *m)
{
	return atomic_load(&m->failed);
}
