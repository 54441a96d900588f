/* Messages between an editor and its agent: those that pass, those that are
 * answered in the run, and the spellings of a call that must not pass. */
#include "base/auto.h"
#include "guard/acp/acp_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct buf to_editor, to_agent;

static void from_agent_bytes(const char *line, size_t len)
{
	buf_clear(&to_editor);
	buf_clear(&to_agent);
	acp_message_from_agent(line, len, &to_editor, &to_agent);
}

static void from_agent(const char *line)
{
	from_agent_bytes(line, strlen(line));
}

static void expect(struct buf *got, const char *line, const char *wanted)
{
	if (strcmp(buf_text(got), wanted) != 0)
		print_error("%s\n", line);
	assert_string_equal(buf_text(got), wanted);
}

static void other_messages_of_an_agent_pass_byte_for_byte(void **state)
{
	static const char *const lines[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
		"  { \"id\" : 1e400 , \"method\" : \"no/such\" }  \r\n",
		"{\"method\":\"session/"
		"update\",\"params\":{\"a\":\"\\ud800\"}}\n",
		"{\"id\":1,\"id\":2,\"method\":\"a\"}\n",
		"[{\"id\":1,\"method\":\"a\"},[],3]\n",
		"not JSON at all: fs/write_text_file, 'fs/x'\n",
		"\n",
		"\xef\xbb\xbf{\"method\":\"a\"}\n",
		"\xff\xfe\n",
		"{\"method\":\"a\"}{\"method\":\"b\"}\r{\"method\":\"c\"}\n",
		"{\"method\":\"cut",
		/* A name as a value of something else, in strict JSON. */
		"{\"method\":\"session/update\",\"params\":"
		"{\"title\":\"fs/read_text_file\"}}\n",
		"{\"fs/write_text_file\":{\"method\":\"fsx\"}}\n",
		"{\"id\":123456789012345678901,\"result\":\"fs/ext4/"
		"inode.c\"}\n",
		"{\"id\":1,\"result\":[{\"method\":\"fs/"
		"write_text_file\"}]}\r\n",
		"{\"id\":1,\"method\":\"_x/fs/write\",\"params\":\"terminal/"
		"\"}",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		from_agent(lines[i]);
		expect(&to_editor, lines[i], lines[i]);
		expect(&to_agent, lines[i], "");
	}
	from_agent_bytes("a\0b\n", 4);
	assert_int_equal(to_editor.len, 4);
}

#define CALL "\"params\":{\"path\":\"never\",\"content\":\"x\"}"

static void no_spelling_of_a_call_reaches_the_editor(void **state)
{
	static const char *const lines[] = {
		"{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"fs/write_text_file\"}",
		"{\"id\":1,\"method\":\"terminal/create\"," CALL "}\n",
		"{\"method\":\"fs/write_text_file\"," CALL "}\n",
		"{\"method\":\"terminal/kill\"}\r\n",
		"{\"id\":1,\"method\":\"fs\\u002fwrite_text_file\"}\n",
		"{\"id\":1,\"method\":\"\\u0066\\u0073/write_text_file\"}\n",
		"{\"id\":1,\"\\u006dethod\":\"fs\\/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"FS/Write_Text_File\"}\n",
		"{\"id\":1,\"Method\":\"fs/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"a\",\"METHOD\":\"terminal/create\"}\n",
		"{\"id\":1,\"result\":{},\"method\":\"fs/write_text_file\"}\n",
		/* Duplicates: parsers take the first or the last. */
		"{\"id\":1,\"method\":\"a\",\"method\":\"fs/"
		"write_text_file\"}\n",
		"{\"id\":1,\"method\":\"fs/"
		"write_text_file\",\"method\":\"a\"}\n",
		"{\"id\":1,\"method\":\"fs/read_text_file\",\"params\":"
		"{\"path\":\"a\",\"path\":\"b\"}}\n",
		/* Some editors accept bytes that others do not. */
		"\xef\xbb\xbf{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"fs/write_text_file\",\"x\":\"\xff\"}\n",
		"{\"id\":1,\"method\":\"f\xffs/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"fs\\u00\xff"
		"2fwrite_text_file\"}\n",
		"{\"id\":1,\"method\":\"\\\x01u0066s/write_text_file\"}\n",
		"{\"id\":1,\"method\":\"fs/"
		"write_text_file\",\"x\":\"\\ud800\"}\n",
		"{\"id\":1,\"method\":\"fs/write_text_file\",}\n",
		"{\"id\":1,\"method\":\"fs/write_text_file\",\"x\":NaN}\n",
		"{\"id\":1,\"method\":\"f\\s/write_text_file\"}\n",
		"// a\f{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		/* Several messages, or parts of one, in a line. */
		"{}{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		"{}\r{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		"{\"a\":\r{\"id\":1,\"method\":\"fs/write_text_file\"}\r}\n",
		"\xe2\x80\xa8{\"id\":1,\"method\":\"fs/write_text_file\"}\n",
		"\"fs/write_text_file\"\n",
		/* The protocol has no batches. */
		"[{\"id\":1,\"result\":\"fs/x\"}]\n",
		"[{\"id\":1,\"result\":{\"authMethods\":[{\"env\":1}]}}]\n",
		"[\"fs/write_text_file\"]\n",
		"\"fs/write_text_file\",\"id\":1}\n",
		"{\"id\":1,\"method\":\"fs/writ",
		"[[{\"id\":1,\"method\":\"fs/write_text_file\"}]]\n",
		"[{\"id\":1,\"method\":\"terminal/create\"}]\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		from_agent(lines[i]);
		expect(&to_editor, lines[i], "");
		if (strstr(lines[i], "\"id\":1"))
			assert_true(buf_has(&to_agent, "\"error\"") ||
				    strstr(lines[i], "[["));
	}
	from_agent_bytes("{\"method\":\"\0fs/write_text_file\"}\n", 33);
	expect(&to_editor, "a NUL byte", "");
	assert_int_equal(access("never", F_OK), -1);
}

static void a_login_has_no_variables_and_no_command(void **state)
{
	(void)state;
	from_agent("{\"id\":0,\"result\":{\"authMethods\":[{\"id\":\"a\","
		   "\"type\":\"terminal\",\"args\":[\"login\"],\"env\":"
		   "{\"LD_PRELOAD\":\"x\"},\"_meta\":{\"terminal-auth\":"
		   "{\"command\":\"sh\"},\"b\":1}},{\"id\":\"c\"}]}}\n");
	expect(&to_editor, "login",
	       "{\"id\":0,\"result\":{\"authMethods\":[{\"id\":\"a\","
	       "\"type\":\"terminal\",\"args\":[\"login\"],\"_meta\":{\"b\":1}}"
	       ","
	       "{\"id\":\"c\"}]}}\n");
	from_agent("{\"result\":{\"\\u0061uthMethods\":[{\"env\":[]}]}}\n");
	expect(&to_editor, "escaped", "{\"result\":{\"authMethods\":[{}]}}\n");
	from_agent("{\"result\":{\"authMethods\":[{\"id\":\"a\"}, {}]}}\n");
	expect(&to_editor, "none",
	       "{\"result\":{\"authMethods\":[{\"id\":\"a\"}, {}]}}\n");
	from_agent("{\"result\":{\"authMethods\":1,\"authMethods\":[]}}\n");
	expect(&to_editor, "duplicates", "");
}

static void answers_have_the_id_of_the_request(void **state)
{
	static const char *const ids[] = {"0",
					  "-7",
					  "9223372036854775807",
					  "\"a\\u0000b\"",
					  "1.5",
					  "\"ü/\"",
					  "{}",
					  "[false,{\"a\":null}]",
					  "null",
					  "true",
					  "9223372036854775808",
					  "123456789012345678901",
					  "1e2",
					  "1.0",
					  "-0.10",
					  "100000000000000000000000.5"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		auto_free char *line = mem_printf(
			"{\"params\":{\"id\":\"a\",\"b\":{\"id\" : 7}},"
			"\"id\"\t: %s , \"method\":\"terminal/x\","
			"\"limit\":100000000000000000000}",
			ids[i]);
		auto_free char *wanted = mem_printf("\"id\":%s,", ids[i]);

		from_agent(line);
		if (!buf_has(&to_agent, wanted))
			print_error("%s: %s\n", line, buf_text(&to_agent));
		assert_true(buf_has(&to_agent, wanted));
	}
}

/* ---- files ---- */

static void reads(const char *more, const char *wanted)
{
	auto_free char *line = mem_printf(
		"{\"id\":1,\"method\":\"fs/read_text_file\","
		"\"params\":{\"path\":\"/proc/self/cwd/dir/file\"%s}}\n",
		more);
	auto_free char *answer =
		mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
			   "{\"content\":\"%s\"}}\n",
			   wanted);

	from_agent(line);
	expect(&to_agent, line, answer);
}

static void fails(const char *method, const char *params, const char *code,
		  const char *text)
{
	auto_free char *line =
		mem_printf("{\"id\":1,\"method\":\"fs/%s_text_file\","
			   "\"params\":%s}\n",
			   method, params);

	from_agent(line);
	if (!buf_has(&to_agent, code) || !buf_has(&to_agent, text))
		print_error("%s%s\n", line, buf_text(&to_agent));
	assert_true(buf_has(&to_agent, code));
	assert_true(buf_has(&to_agent, text));
}

static void files_are_written_and_read_here(void **state)
{
	(void)state;
	from_agent("{\"id\":1,\"method\":\"fs/write_text_file\",\"params\":"
		   "{\"path\":\"/proc/self/cwd/dir/"
		   "file\",\"content\":\"1\\n2\\n3\\n\"}}\n");
	expect(&to_agent, "write",
	       "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	reads("", "1\\n2\\n3\\n");
	reads(",\"line\":2", "2\\n3\\n");
	reads(",\"line\":2,\"limit\":1", "2");
	reads(",\"line\":null,\"limit\":2", "1\\n2");
	reads(",\"line\":0,\"limit\":9", "1\\n2\\n3");
	reads(",\"line\":9", "");
	reads(",\"limit\":0", "");
	/* Through a link, and shorter than before. */
	assert_int_equal(symlink("dir/file", "link"), 0);
	from_agent("{\"id\":1,\"method\":\"fs/write_text_file\",\"params\":"
		   "{\"path\":\"/proc/self/cwd/"
		   "link\",\"content\":\"\\u0000ü\"}}\n");
	reads("", "\\u0000ü");
	fails("read", "{\"path\":\"/proc/self/cwd/dir/none\"}", "-32002",
	      "No such file");
	fails("read", "{\"path\":\"/proc/self/cwd/dir\"}", "-32603",
	      "not a regular file");
	fails("write", "{\"path\":\"/proc/self/cwd/dir\",\"content\":\"\"}",
	      "-32603", "Is a directory");
	fails("write",
	      "{\"path\":\"/proc/self/cwd/dir/file/x\",\"content\":\"\"}",
	      "-32603", "Not a directory");
	fails("write", "{\"path\":\"/proc/self/cwd/dir/file\"}", "-32602",
	      "'content'");
	fails("write", "{\"content\":\"\"}", "-32602", "'path'");
	fails("read", "{\"path\":\"\"}", "-32602", "'path'");
	fails("read", "{\"path\":\"dir/file\"}", "-32602", "absolute");
	fails("write", "{\"path\":\"~/x\",\"content\":\"\"}", "-32602",
	      "absolute");
	fails("write", "{\"path\":\"file:///tmp/x\",\"content\":\"\"}",
	      "-32602", "absolute");
	assert_int_equal(access("~", F_OK), -1);
	fails("read", "{\"path\":\"a\\u0000b\"}", "-32602", "'path'");
	fails("read", "{\"path\":7}", "-32602", "'path'");
	fails("read", "[]", "-32602", "'path'");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	fails("read", "{\"path\":\"/proc/self/cwd/fifo\"}", "-32603",
	      "not a regular file");
	fails("write", "{\"path\":\"/proc/self/cwd/fifo\",\"content\":\"\"}",
	      "-32603", "fifo'");
	fails("read", "{\"path\":\"/proc/self/exe\"}", "-32603", "not UTF-8");
}

/* ---- the editor ---- */

static void from_editor(const char *line, const char *wanted)
{
	buf_clear(&to_agent);
	acp_message_from_editor(line, strlen(line), &to_agent);
	expect(&to_agent, line, wanted);
}

static void an_editor_offers_no_files_and_no_terminal(void **state)
{
	(void)state;
	from_editor(
		"{\"id\":0,\"method\":\"initialize\",\"params\":{\"v\":1.5,"
		"\"clientCapabilities\":{\"fs\":{\"readTextFile\":true},"
		"\"auth\":{\"terminal\":true},\"terminal\":true}}}\n",
		"{\"id\":0,\"method\":\"initialize\",\"params\":{\"v\":1.5,"
		"\"clientCapabilities\":{\"auth\":{\"terminal\":true}}}}\n");
}

static void other_messages_of_an_editor_pass_byte_for_byte(void **state)
{
	static const char *const lines[] = {
		"{ \"id\": 0, \"method\": \"initialize\", \"params\": {}}\n",
		"{\"method\":\"initialize\",\"params\":"
		"{\"clientCapabilities\": {\"x\": 1} }}\r\n",
		"{\"method\":\"x\",\"params\":{\"clientCapabilities\":"
		"{\"fs\":1}},\"initialize\":1}\n",
		"{\"id\":1,\"result\":{\"content\":\"initialize\"}}\n",
		"initialize\n",
		"\xff{\"method\":\"fs/write_text_file\"}",
		"",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		from_editor(lines[i], lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_messages_of_an_agent_pass_byte_for_byte),
		cmocka_unit_test(no_spelling_of_a_call_reaches_the_editor),
		cmocka_unit_test(a_login_has_no_variables_and_no_command),
		cmocka_unit_test(answers_have_the_id_of_the_request),
		cmocka_unit_test(files_are_written_and_read_here),
		cmocka_unit_test(an_editor_offers_no_files_and_no_terminal),
		cmocka_unit_test(
			other_messages_of_an_editor_pass_byte_for_byte),
	};
	char dir[] = "/tmp/acp.XXXXXX";
	int failed, null = open("/dev/null", O_WRONLY);

	/* Refused lines are named there. */
	if (!mkdtemp(dir) || chdir(dir) < 0 || dup2(null, STDERR_FILENO) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&to_editor);
	buf_free(&to_agent);
	return failed;
}
