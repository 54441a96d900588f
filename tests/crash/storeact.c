/*
 * One action on a store, for the crash tests: an action of the library, with
 * the present time of prune set a month ahead.
 *
 *	storeact snapshot STORE DIR CACHE	prints its number when done
 *	storeact prune STORE KEEP
 *	storeact undelete STORE			everything in the trash
 *	storeact repair STORE
 *	storeact model DIR			the directory as text
 *	storeact check STORE MODELS DIR
 *
 * check: MODELS has a text "<number>" for each snapshot that was reported done.
 * Each must be in the store or its trash, complete; a snapshot without a text
 * must be equal to the present DIR; and verify must find no damage.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "snapshot/walk/take.h"
#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/maintain/verify.h"
#include "tests/unit/storemodel.h"

enum { MONTH = 40 * 24 * 3600 };

static int die(const struct err *err)
{
	(void)fprintf(stderr, "storeact: %s\n", err->text);
	return 1;
}

static int do_snapshot(char **args, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	struct take_options o = {
		.root_path = args[1],
		.root_fd = -1,
		.cache_path = args[2],
		.reason = "manual",
	};

	if (store_open(&s, args[0], STORE_WRITE, err) < 0 ||
	    take_snapshot(s, &o, &snap, err) < 0)
		return -err->num;
	(void)printf("%" PRIu64 "\n", snap.seq);
	return fflush(stdout);
}

static int do_prune(char **args, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	struct prune_options o = {
		.policy = {.last = (uint32_t)strtoul(args[1], NULL, 10)},
		.now = {.sec = timestamp_now().sec + MONTH},
	};
	struct prune_result result;

	if (store_open(&s, args[0], STORE_WRITE, err) < 0)
		return -err->num;
	return prune_run(s, &o, NULL, &result, err);
}

static int do_undelete(char **args, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	AUTO(trash_list) struct trash_list list = {0};
	auto_free uint64_t *seqs = NULL;
	size_t i;

	if (store_open(&s, args[0], STORE_WRITE, err) < 0 ||
	    trash_snapshots(s, &list, err) < 0)
		return -err->num;
	seqs = mem_resize(NULL, list.count + 1, sizeof(*seqs));
	for (i = 0; i < list.count; i++)
		seqs[i] = list.items[i].snapshot.seq;
	return list.count ? trash_undelete(s, seqs, list.count, err) : 0;
}

static int do_repair(char **args, struct err *err)
{
	struct repair_options o = {.now = timestamp_now()};
	struct repair_result result;

	return repair_store(args[0], &o, &result, err);
}

static int do_model(char **args, struct err *err)
{
	AUTO(buf) struct buf text = {0};
	auto_close int fd = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || model_folder(fd, "", &text) < 0)
		return err_set_at(err, errno, __FILE__, __LINE__, "%s: %s",
				  args[0], strerror(errno));
	return fwrite(text.data, 1, text.len, stdout) == text.len ? 0 : -EIO;
}

/* --- check --- */

static int bad;

static void complain(const char *what, uint64_t seq, const char *why)
{
	(void)fprintf(stderr, "storeact: %s %" PRIu64 ": %s\n", what, seq, why);
	bad = 1;
}

static int tell_fault(void *arg, const struct verify_fault *f, struct err *err)
{
	(void)arg;
	(void)err;
	complain(f->name, f->seq, f->text);
	return 0;
}

/* want: the expected text; NULL: that of the present directory. */
static void check_one(struct store *s, uint64_t seq, const struct buf *want)
{
	AUTO(snapshot) struct snapshot snap = {0};
	AUTO(buf) struct buf is = {0};
	struct err err;

	/* The snapshot has a note that a file could not be read. */
	if (catalog_load(s, seq, &snap, &err) == 0 && snap.note_count)
		return;
	if (model_snapshot(s, seq, &is, &err) < 0)
		complain("snapshot", seq, err.text);
	else if (is.len != want->len ||
		 memcmp(is.data, want->data, is.len) != 0)
		complain("snapshot", seq, "is not what was stored");
}

static int check_all(struct store *s, const char *models, struct err *err)
{
	auto_close int fd = open(models, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, err) < 0)
		return -EIO;
	for (i = 0; i < list.count; i++) {
		AUTO(buf) struct buf want = {0};

		if (fd_slurp_at(fd, list.items[i].name, MODEL_FILE_MAX, &want,
				err) < 0)
			return -err->num;
		check_one(s, strtoull(list.items[i].name, NULL, 10), &want);
	}
	return 0;
}

static int check_unreported(struct store *s, const char *models,
			    const char *folder, struct err *err)
{
	auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free uint64_t *seqs = NULL;
	AUTO(buf) struct buf now = {0};
	size_t count, i;

	if (fd < 0 || model_folder(fd, "", &now) < 0 ||
	    catalog_list(s, &seqs, &count, err) < 0)
		return -EIO;
	for (i = 0; i < count; i++) {
		auto_free char *model =
			mem_printf("%s/%" PRIu64, models, seqs[i]);

		if (access(model, F_OK) < 0)
			check_one(s, seqs[i], &now);
	}
	return 0;
}

static int do_check(char **args, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	struct verify_options o = {.read_data = true, .fault = tell_fault};
	struct verify_result result;
	char *undelete[] = {args[0]};

	/* Packs in the trash must be complete. */
	if (do_undelete(undelete, err) < 0 ||
	    store_open(&s, args[0], STORE_READ, err) < 0 ||
	    verify_store(s, &o, &result, err) < 0 ||
	    check_all(s, args[1], err) < 0 ||
	    check_unreported(s, args[1], args[2], err) < 0)
		return -err->num;
	return bad ? err_set_at(err, EBADMSG, __FILE__, __LINE__, "not whole")
		   : 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		int (*run)(char **args, struct err *err);
	} verbs[] = {
		{"snapshot", 3, do_snapshot}, {"prune", 2, do_prune},
		{"undelete", 1, do_undelete}, {"repair", 1, do_repair},
		{"model", 1, do_model},	      {"check", 3, do_check},
	};
	struct err err = {0};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, argv[1]) == 0 &&
		    argc == 2 + verbs[i].args)
			return verbs[i].run(argv + 2, &err) < 0 ? die(&err) : 0;
	}
	(void)fprintf(stderr, "usage: see the top of storeact.c\n");
	return 2;
}
