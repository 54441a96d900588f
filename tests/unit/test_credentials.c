/* guard/sandbox/places.c: the places of credentials, by default and moved. */
#include "guard/sandbox/places.c"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"

#undef fail
#include <cmocka.h>

static char *const none[] = {NULL};

static char *make_home(void)
{
	char *home = mem_strdup("/var/tmp/guard-test-XXXXXX");

	assert_non_null(mkdtemp(home));
	return home;
}

static void remove_home(char *home)
{
	struct err err;

	assert_int_equal(dirtree_remove(AT_FDCWD, home, &err), 0);
	free(home);
}

/* Makes a directory with the ones above it. */
static void make_dir(const char *path)
{
	auto_free char *above = path_parent(path);
	struct stat st;

	if (stat(path, &st) == 0)
		return;
	if (*above)
		make_dir(above);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_file(const char *path)
{
	auto_free char *above = path_parent(path);

	make_dir(above);
	assert_true(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
}

/* The table's name with a match for its pattern. */
static char *example_of(const char *name)
{
	const bool any = strcmp(path_name(name), LOGIN_NAMES) == 0;
	const int len = (int)(path_name(name) - name);
	char *example =
		any ? mem_printf("%.*stoken", len, name) : mem_strdup(name);
	char *star;

	while ((star = strchr(example, '*')))
		*star = 'x';
	return example;
}

static const struct place *find_place(const struct places *l, const char *path)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->items[i].path, path) == 0)
			return &l->items[i];
	return NULL;
}

static const struct place *find_below(const struct places *l, const char *home,
				      const char *name)
{
	auto_free char *path = path_join(home, name);

	return find_place(l, path);
}

static bool has_note(const struct places *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->notes.count; i++)
		if (strstr(l->notes.items[i], text))
			return true;
	return false;
}

/* The next rule of a kind behind `after` (NULL: the first); NULL: none. */
static const struct place_rule *next_rule(int kind,
					  const struct place_rule *after)
{
	AUTO(places) struct places l = {0};
	const struct place_rule *r;

	if (!rules.count)
		places_find(none, NULL, NULL, -1, &l);
	r = after ? after + 1 : rules.items;
	while (r < rules.items + rules.count && (int)r->kind != kind)
		r++;
	return r < rules.items + rules.count ? r : NULL;
}

static void each_entry_of_the_table_is_found_in_the_home(void **state)
{
	char *home = make_home();
	const struct place_rule *r = NULL;
	AUTO(places) struct places l = {0};
	size_t i;

	(void)state;
	while ((r = next_rule(RULE_HOME, r))) {
		auto_free char *example = example_of(r->name);
		auto_free char *path = path_join(home, example);

		make_dir(path);
	}
	places_find(none, home, NULL, -1, &l);
	for (i = 0; (r = next_rule(RULE_HOME, r)); i++) {
		auto_free char *example = example_of(r->name);
		auto_free char *path = path_join(home, example);
		auto_free char *entry = mem_printf("~/%s", r->name);
		const struct place *place = find_place(&l, path);

		assert_non_null(place);
		assert_string_equal(place->entry, entry);
		assert_int_equal(place->how, r->how);
		assert_false(place->moved);
	}
	assert_true(i > 150);
	remove_home(home);
}

static void each_entry_is_found_where_a_variable_moves_it(void **state)
{
	char *home = make_home();
	const struct place_rule *base = NULL, *r;
	size_t i, found = 0;

	(void)state;
	for (i = 0; (base = next_rule(RULE_MOVE, base)); i++) {
		const char *variable = base->name, *at = base->rest;
		auto_free char *dir = path_join(home, variable);
		auto_free char *setting = mem_printf("%s=%s/", variable, dir);
		char *variables[] = {setting, NULL};

		AUTO(places) struct places l = {0}, plain = {0};

		for (r = NULL; *at && (r = next_rule(RULE_HOME, r));) {
			auto_free char *example = example_of(r->name);
			auto_free char *path = NULL;

			if (!path_below(r->name, at))
				continue;
			path = path_join(dir, path_rest(example, at));
			make_dir(path);
		}
		places_find(none, home, NULL, -1, &plain);
		places_find(variables, home, NULL, -1, &l);
		for (r = NULL; *at && (r = next_rule(RULE_HOME, r));) {
			auto_free char *example = example_of(r->name);
			auto_free char *path = NULL;
			const struct place *place;

			if (!path_below(r->name, at))
				continue;
			path = path_join(dir, path_rest(example, at));
			assert_null(find_place(&plain, path));
			place = find_place(&l, path);
			assert_non_null(place);
			assert_string_equal(place->entry, variable);
			assert_int_equal(place->how, r->how);
			found++;
		}
		assert_true(found > 0);
	}
	assert_true(i > 15);
	remove_home(home);
}

static void a_default_place_is_not_listed_twice(void **state)
{
	char *home = make_home();
	auto_free char *gh = mem_printf("%s/.config/gh", home);
	auto_free char *setting =
		mem_printf("XDG_CONFIG_HOME=%s/.config", home);
	char *variables[] = {setting, NULL};
	AUTO(places) struct places l = {0};
	size_t i, count = 0;

	(void)state;
	make_dir(gh);
	places_find(variables, home, NULL, -1, &l);
	for (i = 0; i < l.count; i++)
		count += strcmp(l.items[i].path, gh) == 0;
	assert_int_equal(count, 1);
	assert_string_equal(find_place(&l, gh)->entry, "~/.config/gh");
	remove_home(home);
}

static void files_are_found_by_the_variables_that_name_them(void **state)
{
	static const char *const words[] = {
		"AWS_SHARED_CREDENTIALS_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"PGPASSFILE",
		"SOPS_AGE_KEY_FILE",
		"XAUTHORITY",
		"ICEAUTHORITY",
		"HISTFILE",
		"LESSHISTFILE",
		"MY_TOKEN_FILE",
		"DB_SECRET",
		"SESSION_COOKIE",
	};
	AUTO(names) struct names names = {0};
	const struct place_rule *r = NULL;
	char *home = make_home();
	auto_free char *file = mem_printf("%s/any.file", home);
	auto_free char *other = mem_printf("%s/other.file", home);
	auto_free char *dir = mem_printf("%s/dir", home);
	auto_free char *link = mem_printf("%s/link", home);
	size_t i;

	(void)state;
	make_file(file);
	make_file(other);
	make_dir(dir);
	assert_int_equal(symlink("any.file", link), 0);
	while ((r = next_rule(RULE_VARIABLE, r)))
		names_add(&names, r->name);
	assert_true(names.count > 20);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		names_add(&names, words[i]);
	for (i = 0; i < names.count; i++) {
		AUTO(places) struct places l = {0};
		const char *name = names.items[i];
		auto_free char *setting = mem_printf("%s=%s", name, file);
		auto_free char *list =
			mem_printf("%s=FILE:%s:%s", name, other, file);
		auto_free char *linked = mem_printf("%s=%s", name, link);
		auto_free char *relative =
			mem_printf("%s=%s", name, "any.file");
		auto_free char *tilde = mem_printf("%s=%s", name, "~/any.file");
		char *variables[] = {setting, NULL};
		char *here = getcwd(NULL, 0);

		places_find(variables, home, NULL, -1, &l);
		assert_string_equal(find_place(&l, file)->entry, name);
		assert_null(find_place(&l, other));
		places_free(&l);
		variables[0] = list;
		places_find(variables, home, NULL, -1, &l);
		assert_non_null(find_place(&l, file));
		assert_non_null(find_place(&l, other));
		places_free(&l);
		variables[0] = linked;
		places_find(variables, home, NULL, -1, &l);
		assert_non_null(find_place(&l, link));
		assert_ptr_equal(places_of(&l, file), find_place(&l, link));
		places_free(&l);
		assert_int_equal(chdir(home), 0);
		variables[0] = relative;
		places_find(variables, home, NULL, -1, &l);
		assert_int_equal(chdir(here), 0);
		assert_non_null(find_place(&l, file));
		places_free(&l);
		variables[0] = tilde;
		places_find(variables, home, NULL, -1, &l);
		assert_non_null(find_place(&l, file));
		free(here);
	}
	remove_home(home);
}

static void other_variables_name_no_credentials(void **state)
{
	char *home = make_home();
	auto_free char *file = mem_printf("%s/any.file", home);
	auto_free char *dir = mem_printf("%s/dir", home);
	auto_free char *editor = mem_printf("EDITOR=%s", file);
	auto_free char *askpass =
		mem_printf("VSCODE_GIT_ASKPASS_NODE=%s", file);
	auto_free char *list = mem_printf("HISTIGNORE=./x:any.file:%s.", file);
	auto_free char *keys = mem_printf("MY_KEYS=%s", dir);
	char *variables[] = {editor,
			     askpass,
			     list,
			     (char[]){"KEYMAP=/usr/bin/env"},
			     keys,
			     (char[]){"HISTFILE=/dev/null"},
			     (char[]){"KUBECONFIG=/proc/self/status"},
			     (char[]){"MY_TOKEN=word"},
			     (char[]){"GNUPGHOME="},
			     NULL};
	AUTO(places) struct places l = {0}, plain = {0};

	(void)state;
	make_file(file);
	make_dir(dir);
	assert_int_equal(chdir(home), 0);
	places_find(none, home, NULL, -1, &plain);
	places_find(variables, home, NULL, -1, &l);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(l.count, plain.count);
	assert_int_equal(l.notes.count, 0);
	remove_home(home);
}

static void a_variable_masks_nothing_that_a_run_needs(void **state)
{
	char *home = make_home();
	auto_free char *project = mem_printf("%s/src/project", home);
	auto_free char *above = mem_printf("GNUPGHOME=%s/src", home);
	auto_free char *itself = mem_printf("DOCKER_CONFIG=%s", project);
	auto_free char *whole = mem_printf("AZURE_CONFIG_DIR=%s", home);
	char *variables[] = {above,
			     itself,
			     whole,
			     (char[]){"GH_CONFIG_DIR=/"},
			     (char[]){"CLOUDSDK_CONFIG=/etc"},
			     (char[]){"XDG_RUNTIME_DIR=/tmp"},
			     (char[]){"PASSWORD_STORE_DIR=/usr/lib"},
			     NULL};
	AUTO(places) struct places l = {0}, plain = {0};

	(void)state;
	make_dir(project);
	places_find(none, home, project, -1, &plain);
	places_find(variables, home, project, -1, &l);
	assert_int_equal(l.count, plain.count);
	assert_true(has_note(&l, "GNUPGHOME names '~/src': not hidden, it "
				 "contains the project"));
	assert_true(has_note(&l, "DOCKER_CONFIG names '~/src/project': not "
				 "hidden, it contains the project"));
	assert_true(has_note(&l, "AZURE_CONFIG_DIR names '~': not hidden, it "
				 "contains the project"));
	assert_true(has_note(&l, "GH_CONFIG_DIR names '/': not hidden, it "
				 "contains the project"));
	assert_true(has_note(&l, "CLOUDSDK_CONFIG names '/etc': not hidden, it "
				 "is a system directory"));
	assert_true(has_note(&l, "XDG_RUNTIME_DIR names '/tmp'"));
	assert_true(has_note(&l, "PASSWORD_STORE_DIR names '/usr/lib'"));
	places_free(&l);
	places_find(variables, home, "/srv", -1, &l);
	assert_true(has_note(&l, "AZURE_CONFIG_DIR names '~': not hidden, it "
				 "contains your home directory"));
	remove_home(home);
}

static void settings_name_further_files(void **state)
{
	char *home = make_home();
	auto_free char *ssh = mem_printf("%s/.ssh/config", home);
	auto_free char *git = mem_printf("%s/.gitconfig", home);
	auto_free char *key = mem_printf("%s/keys/one", home);
	auto_free char *work = mem_printf("%s/work.inc", home);
	auto_free char *store = mem_printf("%s/keys/store", home);
	AUTO(places) struct places l = {0};
	FILE *f;

	(void)state;
	make_file(ssh);
	make_file(key);
	make_file(work);
	make_file(store);
	f = fopen(ssh, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "Host x\n  identityfile ~/keys/one\n") > 0);
	assert_int_equal(fclose(f), 0);
	f = fopen(git, "w");
	assert_non_null(f);
	assert_true(fprintf(f,
			    "[include]\n\tpath = work.inc\n[credential]\n"
			    "\thelper = store --file=%s\n",
			    store) > 0);
	assert_int_equal(fclose(f), 0);
	places_find(none, home, NULL, -1, &l);
	assert_string_equal(find_place(&l, key)->entry, "~/.ssh/config");
	assert_int_equal(find_place(&l, key)->how, PLACE_MASKED);
	assert_string_equal(find_place(&l, work)->entry, "~/.gitconfig");
	assert_int_equal(find_place(&l, work)->how, PLACE_SETTINGS);
	assert_int_equal(find_place(&l, store)->how, PLACE_MASKED);
	remove_home(home);
}

static void histories_are_found_four_levels_deep(void **state)
{
	static const char *const found[] = {
		".local/state/bash/history",
		".local/share/powershell/PSReadLine/ConsoleHost_history.txt",
		".local/share/a/b/c/tool_history",
		".local/share/atuin/history.db",
		".python_history",
	};
	static const char *const not_found[] = {
		".local/share/a/b/c/d/tool_history",
		".local/share/lib/history.js",
		".local/share/guard/history",
		"documents/family-history",
	};
	char *home = make_home();
	AUTO(places) struct places l = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(found) / sizeof(*found); i++) {
		auto_free char *path = path_join(home, found[i]);

		make_file(path);
	}
	for (i = 0; i < sizeof(not_found) / sizeof(*not_found); i++) {
		auto_free char *path = path_join(home, not_found[i]);

		make_file(path);
	}
	places_find(none, home, NULL, -1, &l);
	for (i = 0; i < sizeof(found) / sizeof(*found); i++)
		assert_non_null(find_below(&l, home, found[i]));
	for (i = 0; i < sizeof(not_found) / sizeof(*not_found); i++)
		assert_null(find_below(&l, home, not_found[i]));
	remove_home(home);
}

/* Renames x_history to q_history in every file of the directory; returns how
 * many files there are. */
static size_t change_kept_names(const char *path)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(AT_FDCWD, path);
	struct err ignored;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return 0;
	for (i = 0; i < list.count; i++) {
		auto_free char *file = path_join(path, list.items[i].name);
		AUTO(buf) struct buf text = {0};
		char *at;

		assert_int_equal(
			fd_slurp_at(AT_FDCWD, file, 1 << 24, &text, &ignored),
			0);
		while ((at = memmem(text.data, text.len, "x_history", 9)))
			*at = 'q';
		assert_int_equal(chmod(file, 0600), 0);
		fd_close(&fd);
		fd = open(file, O_WRONLY | O_CLOEXEC);
		assert_int_equal(fd_write(fd, text.data, text.len), 0);
	}
	return list.count;
}

static void
the_names_of_large_directories_are_kept_until_they_change(void **state)
{
	static const char *const dirs[] = {"", ".local/share/tool",
					   ".config/fish/conf.d"};
	char *home = make_home();
	auto_free char *kept_dir = path_join(home, "kept");
	auto_free char *derived = path_join(kept_dir, "derived");
	auto_close int kept = -1;
	size_t i, k;

	(void)state;
	make_dir(kept_dir);
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		for (k = 0; k < 200; k++) {
			auto_free char *path =
				mem_printf("%s/%s/%s%03zu-%060d", home, dirs[i],
					   i == 2 ? "." : "file", k, 0);

			make_file(path);
		}
	kept = fd_open_dir(AT_FDCWD, kept_dir);
	assert_true(kept >= 0);
	for (i = 0; i < 4; i++) {
		const char *name = i < 3 ? ".x_history" : ".y_history";
		auto_free char *in_home = path_join(home, name);
		auto_free char *in_data = path_join(home, dirs[1]);
		auto_free char *below = path_join(in_data, name + 1);
		auto_free char *conf = path_join(home, dirs[2]);
		auto_free char *fish = path_join(conf, name + 1);
		AUTO(places) struct places l = {0};

		if (i == 0 || i == 3) {
			make_file(in_home);
			make_file(below);
			make_file(fish);
		}
		/* A directory that has just changed is read. */
		for (k = 0; i == 1 && k < 50; k++)
			assert_int_equal(usleep(50000), 0);
		places_find(none, home, NULL, kept, &l);
		/* Once the kept names are changed, a history is found only
		 * where the directory has changed. */
		assert_int_equal(find_place(&l, in_home) != NULL, i != 2);
		assert_int_equal(find_place(&l, below) != NULL, i != 2);
		assert_int_equal(find_place(&l, fish) != NULL, i != 2);
		assert_int_equal(change_kept_names(derived), 1);
	}
	remove_home(home);
}

static void places_of_the_machine_and_of_root_are_found(void **state)
{
	AUTO(places) struct places l = {0};
	char *home = make_home();
	struct stat st;

	(void)state;
	places_find(none, home, NULL, -1, &l);
	/* A directory without search permission needs no mask. */
	assert_int_equal(find_place(&l, "/root/.ssh") != NULL,
			 lstat("/root/.ssh", &st) == 0);
	assert_int_equal(find_place(&l, "/etc/shadow") != NULL,
			 lstat("/etc/shadow", &st) == 0);
	remove_home(home);
}

static void a_place_in_a_closed_directory_is_found(void **state)
{
	AUTO(places) struct places l = {0};
	char *home = make_home();
	auto_free char *config = path_join(home, ".config");
	auto_free char *gh = path_join(config, "gh");

	(void)state;
	make_dir(gh);
	assert_int_equal(chmod(config, 0), 0);
	places_find(none, home, NULL, -1, &l);
	assert_non_null(find_place(&l, gh));
	assert_int_equal(chmod(config, 0700), 0);
	remove_home(home);
}

/* With it, a place would silently stay readable. */
static void a_mistake_in_the_list_is_named(void **state)
{
	static const char *const lines[] = {
		"hide ~/.a # x",
		"hide ~/.a ",
		"hide ~/.a\t",
		"hide ~/.a\r",
		"hide ~/.a/",
		"hide ~/.a//b",
		"hide ~/a/../b",
		"hide ~/./a",
		"hide ~/*/b: c",
		"hide ~/NAME: c",
		"move $A ~/*/b",
		"name a/b",
		"name",
		"hide  ~/.a",
		"hide .a",
		"hide ~/.a:",
		"hide /a/",
		"hide /a/*/b",
		"hide $A/.config",
		"hide $",
		"hide $A ~/.first",
		"hide ~/a:  b",
		"hide ~/a*: b",
		"move ~/.first",
		"move $A .first",
		"move $A ~/",
		"move $A ~/.firsT",
		"move $A/b ~/.first",
		"word A B",
		"hide ~/.first/a",
		"copy ~/.first/a",
		"copy $FIRST",
		"move $FIRST ~/.first",
		"hides ~/.a",
		"hide",
	};
	static const char *const good[] = {
		"hide ~/.a b",	      "hide ~/.first/*",
		"move $A ~/.first",   "move $A",
		"move $A ~/.first/a", "hide ~/a: b c d",
		"hide ~/.first/a: b", "word FIRST",
		"hide /.first/a",     "hide ~/*/b*/c",
		"hide ~/.b/NAME",     "name *@(a|b)?(.*)",
	};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		auto_free char *text = mem_printf(
			"hide ~/.first/a\nhide $FIRST\n%s\n", lines[i]);

		err.text[0] = '\0';
		if (places_check("F", text, &err) == 0)
			print_error("taken: %s\n", lines[i]);
		assert_int_equal(strncmp(err.text, "'F':3: ", 7), 0);
	}
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		auto_free char *text =
			mem_printf("hide ~/.first/a\n%s\n", good[i]);

		assert_int_equal(places_check("F", text, &err), 0);
	}
	assert_int_equal(
		places_check(PLACES_LIST, shipped_text(PLACES_LIST), &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_entry_of_the_table_is_found_in_the_home),
		cmocka_unit_test(each_entry_is_found_where_a_variable_moves_it),
		cmocka_unit_test(a_default_place_is_not_listed_twice),
		cmocka_unit_test(
			files_are_found_by_the_variables_that_name_them),
		cmocka_unit_test(other_variables_name_no_credentials),
		cmocka_unit_test(a_variable_masks_nothing_that_a_run_needs),
		cmocka_unit_test(settings_name_further_files),
		cmocka_unit_test(histories_are_found_four_levels_deep),
		cmocka_unit_test(
			the_names_of_large_directories_are_kept_until_they_change),
		cmocka_unit_test(places_of_the_machine_and_of_root_are_found),
		cmocka_unit_test(a_place_in_a_closed_directory_is_found),
		cmocka_unit_test(a_mistake_in_the_list_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
