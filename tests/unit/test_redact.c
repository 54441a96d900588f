/* guard/agent/redact.c: files without their secrets. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "guard/agent/redact.h"

static const struct {
	const char *from, *to; /* to NULL: no secret */
} texts[] = {
	/* npm */
	{"registry=https://registry.example/\n", NULL},
	{"//registry.example/:_authToken=npm_abc\nsave-exact=true\n",
	 "//registry.example/:_authToken=\nsave-exact=true\n"},
	{"//r/:_password=\"YWJj\"\n//r/:username=me\n",
	 "//r/:_password=\"\"\n//r/:username=me\n"},
	{"always-auth=true\n", NULL},
	{"_auth = dXNlcjpw\n", "_auth = \n"},
	{"proxy=http://me:pw@proxy:3128/x\n", "proxy=http://proxy:3128/x\n"},
	/* yarn */
	{"npmScopes:\n  mine:\n    npmAuthToken: \"x=y\"\n    a: b\n",
	 "npmScopes:\n  mine:\n    npmAuthToken: \"\"\n    a: b\n"},
	/* git */
	{"[user]\n\tname = Me\n\temail = me@example.org\n", NULL},
	{"[credential]\n\thelper = store\n[commit]\n\tgpgsign = true\n", NULL},
	{"[url \"https://u:tok@git.example/\"]\n\tinsteadOf = x:\n",
	 "[url \"https://git.example/\"]\n\tinsteadOf = x:\n"},
	{"[http]\n\textraHeader = AUTHORIZATION: basic abc\n\tproxy = p\n",
	 "[http]\n\textraHeader = \n\tproxy = p\n"},
	{"[sendemail]\n\tsmtpPass = geheim\n", "[sendemail]\n\tsmtpPass = \n"},
	{"[a]\n\ttoken = one\\\n\t\ttwo\n\tb = c\n",
	 "[a]\n\ttoken = \n\tb = c\n"},
	/* pip, cargo, gradle */
	{"[global]\nindex-url =\n    https://u:p@pypi.example/simple\n",
	 "[global]\nindex-url =\n    https://pypi.example/simple\n"},
	{"[registries.mine]\nindex = \"sparse+https://r/\"\ntoken = \"t\"\n",
	 "[registries.mine]\nindex = \"sparse+https://r/\"\ntoken = \"\"\n"},
	{"[registries]\na = { index = \"i\", token = \"t\" }\nb = 1\n",
	 "[registries]\na = {}\nb = 1\n"},
	{"jvmargs=-Xmx2g -DkeyPassword=geheim\n", "jvmargs=\n"},
	/* agents */
	{"[mcp_servers.a]\nenv = { \"API_KEY\" = \"k\" }\ncommand = \"c\"\n",
	 "[mcp_servers.a]\nenv = {}\ncommand = \"c\"\n"},
	{"headers = { Authorization = \"Bearer k\" }\n", "headers = {}\n"},
	{"{\"a\":1,\n\"apiKey\":\"k\",\n\"b\":2}\n", "{\"a\":1,\n\n\"b\":2}\n"},
	{"{\"a\":{\"Authorization\":\"Bearer k\"}}\n", "\n"},
	{"headers = { Authorization = \"Bearer $KEY\" }\n", NULL},
	{"args = [\"-y\", \"mcp\", \"--api-key\", \"k\"]\n", "args = []\n"},
	{"args = [\"--token=k\"]\n", "args = []\n"},
	{"args = [\"-y\", \"token-counter\", \"--verbose\"]\n", NULL},
	{"args = [\n\"-y\",\n\"--token\",\n\"k\",\n\"z\",\n]\nb = 1\n",
	 "args = [\n\"-y\",\n\"--token\",\n\"\",\n\"z\",\n]\nb = 1\n"},
	{"args = [\n  \"--token=k\",\n  \"z\"\n]\n",
	 "args = [\n  \"\",\n  \"z\"\n]\n"},
	{"private_key = \"\"\"\n-----BEGIN\nabc\n\"\"\"\nb = 1\n",
	 "private_key = \"\"\nb = 1\n"},
	{"tokens = [\n\"a\",\n]\nb = 1\n", "tokens = []\nb = 1\n"},
	{"url = \"https://mcp.example/x?access_token=k&a=b\"\n",
	 "url = \"\"\n"},
	{"args = [\"mcp\", \"ghp_0123456789abcdefghij\"]\n", "args = []\n"},
	{"model = \"sk-small\"\n", NULL},
	{"cmd = \"x --token $TOKEN\"\nenv = { T_TOKEN = \"$T\" }\n", NULL},
	{"env = { USE_TOKEN = \"true\", API_KEY = \"\" }\n", NULL},
	{"org.gradle.jvmargs=-Xmx2g\nnexusPassword=abc\n",
	 "org.gradle.jvmargs=-Xmx2g\nnexusPassword=\n"},
	/* maven */
	{"<server><id>r</id><password>p</password></server>\n",
	 "<server><id>r</id><password></password></server>\n"},
	{"<a>\n <passphrase>\n  one\n  two\n </passphrase>\n <b>x</b>\n</a>\n",
	 "<a>\n <passphrase></passphrase>\n <b>x</b>\n</a>\n"},
	/* unusual input */
	{"", NULL},
	{"token", NULL},
	{"token=", NULL},
	{"token=abc", "token=\n"},
	{"a://b://c@d\n", "a://b://d\n"},
	{"<password>", NULL},
	{"<password>never ends\nand on\n", "<password>\n"},
	{"secret: |\n  one\n\n  two\nnext: x\n", "secret: \nnext: x\n"},
	/* lines without a secret before, between and behind */
	{"a=1\n\nb: 2\ntoken=abc\nc\n\n  d\n\ttoken = x\n\t\ty\ne\nf",
	 "a=1\n\nb: 2\ntoken=\nc\n\n  d\n\ttoken = \ne\nf\n"},
	{"a\nMY-PassW: x\nb", "a\nMY-PassW: \nb\n"},
	{"a\nsmtp-pASS: x", "a\nsmtp-pASS: \n"},
};

static void cuts_the_secrets_and_nothing_else(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		AUTO(buf) struct buf b = {0};
		bool any =
			redact_text(texts[i].from, strlen(texts[i].from), &b);

		if (any != (texts[i].to != NULL))
			fail_msg("%s: %d", texts[i].from, any);
		if (any)
			assert_string_equal(buf_text(&b), texts[i].to);
	}
}

/* name: of a file with settings of an agent; members: the names of those with
 * a key */
static const struct {
	const char *name, *from, *to, *members;
} settings[] = {
	{"a.json", "{\"apiKey\": \"k\", \"a\": [1, true]}",
	 "{\n  \"apiKey\": \"\",\n  \"a\": [\n    1,\n    true\n  ]\n}",
	 "apiKey"},
	{"a.json", "{\"FOO_KEY\":\"k\",\"OpenAIKey\":\"k\",\"SSLKey\":\"k\"}",
	 "{\n  \"FOO_KEY\": \"\",\n  \"OpenAIKey\": \"\",\n  \"SSLKey\": "
	 "\"\"\n}",
	 "FOO_KEY OpenAIKey SSLKey"},
	{"a.json",
	 "{\"theme\":\"a\",\"model\":\"b\",\"paths\":[\"c\"],\"url\":\"https://"
	 "h/x\"}",
	 NULL, ""},
	{"a.json", "{\"X-Auth\":\"k\",\"Cookie\":\"k\",\"DB_PWD\":\"k\"}",
	 "{\n  \"X-Auth\": \"\",\n  \"Cookie\": \"\",\n  \"DB_PWD\": \"\"\n}",
	 "DB_PWD"},
	{"a.json", "{\"env\":{\"A\":\"k\",\"N\":1,\"B\":[\"k\"]},\"c\":\"d\"}",
	 "{\n  \"env\": {\n    \"A\": \"\",\n    \"N\": 1,\n    \"B\": [\n     "
	 " \"\"\n    ]\n  },\n  \"c\": \"d\"\n}",
	 ""},
	{"a.json",
	 "{\"tokens\":{\"a\":{\"b\":\"k\"},\"c\":123456},\"d\":\"e\"}",
	 "{\n  \"tokens\": {\n    \"a\": {\n      \"b\": \"\"\n    },\n    "
	 "\"c\": 0\n  },\n  \"d\": \"e\"\n}",
	 ""},
	{"a.json", "[\"--api-key\",\"k\",\"-y\",\"--use-token\",\"--x\"]",
	 "[\n  \"--api-key\",\n  \"\",\n  \"-y\",\n  \"--use-token\",\n  "
	 "\"--x\"\n]",
	 ""},
	{"a.json",
	 "[\"-H\",\"X-Auth: k\",\"A_KEY=k\",\"https://u:p@h/\",\"z\"]",
	 "[\n  \"-H\",\n  \"\",\n  \"\",\n  \"\",\n  \"z\"\n]", ""},
	{"a.json", "{\"apiKey\": \"{env:K}\", \"token\": null}",
	 "{\n  \"apiKey\": \"\",\n  \"token\": null\n}", ""},
	{"a.jsonc",
	 "// token: abcd1234\n{\"apiKey\": \"a\\\"//k\", /* x, */ \"b\": "
	 "[1,],}\n",
	 "{\n  \"apiKey\": \"\",\n  \"b\": [\n    1\n  ]\n}", "apiKey"},
	{"settings", "{\"apiKey\":\"k\"}", "{\n  \"apiKey\": \"\"\n}",
	 "apiKey"},
	/* none of the format */
	{"a.json", "{\"a\": \"b, \"apiKey\": \"k\"}", "{\"a\": \"\"\n", ""},
	{"a.json", "a=1\nA_TOKEN=k\n\"X-Auth\": \"k\"\n",
	 "a=1\nA_TOKEN=\n\"X-Auth\": \"\"\n", "A_TOKEN"},
	{"a.json", "{\"apiKey\": \"k", "{\"apiKey\": \"\"\n", "apiKey"},
	{"a.json5", "{apiKey: 'k', b: 1}", "{apiKey: ''\n", "apiKey"},
	{"a.json5", "{a: 1,\nheaders: {\n b: 'k'}}\n", "{a: 1,\nheaders: {}\n",
	 ""},
	/* lines */
	{"a.yaml",
	 "m:\n  - name: x\n    apiKey: k\n    env:\n      A: k\n    b: c\n",
	 "m:\n  - name: x\n    apiKey: \n    env:\n    b: c\n", "apiKey"},
	{"a.yaml", "key: k\nh: {headers: {X-Auth: k}}\nlayout: us\n",
	 "key: \nh: {}\nlayout: us\n", "key"},
	{"a.toml", "a = 1\n[x.env]\nA = \"k\"\n[y]\nA = \"b\"\n",
	 "a = 1\n[x.env]\nA = \"\"\n[y]\nA = \"b\"\n", ""},
	{"a.toml", "http_headers = { \"X\" = \"k\" }\nbearer_token = \"k\"\n",
	 "http_headers = {}\nbearer_token = \"\"\n", "bearer_token"},
	{".env", "# c\nA=k\nexport GEMINI_API_KEY='k'\n",
	 "# c\nA=\nexport GEMINI_API_KEY=''\n", "GEMINI_API_KEY"},
	{".env", "A=\"k\nk=\n\"\nB='k'\n", "A=\"\"\nB=''\n", ""},
	{"a.yaml", "key: \"k\n  k\"\nb: c\n", "key: \"\"\nb: c\n", "key"},
	/* prose */
	{"a.md", "The key: b\nexport A_TOKEN=k\n",
	 "The key: b\nexport A_TOKEN=\n", ""},
	{"x.sh", "key = 1\n", NULL, ""},
	/* complex keys */
	{"a.yaml", "? apiKey\n: k\nb: c\n", "? apiKey\n: \nb: c\n", ""},
	{"a.yaml", "- ? apiKey\n  : >-\n    k\n- b\n",
	 "- ? apiKey\n  : \n- b\n", ""},
	/* any name of a member, in the syntax of any language */
	{"a.py", "KEY = \"k\"\nname = \"b\"\n", "KEY = \"\"\nname = \"b\"\n",
	 ""},
	{"a.py", "os.environ[\"A_KEY\"] = 'k'\nkeys = f(\"b\")\n",
	 "os.environ[\"A_KEY\"] = ''\nkeys = f(\"b\")\n", ""},
	{"a.py", "h = {\"X-Auth\": f\"Bearer k\", \"b\": \"c\"}",
	 "h = {\"X-Auth\": f\"Bearer \", \"b\": \"c\"}", ""},
	{"a.py", "key = (\n  \"k\"\n)\ncookie =\\\n  'k'\n",
	 "key = (\n  \"\"\n)\ncookie =\\\n  ''\n", ""},
	{"a.ts", "a({apiKey:\n  \"k\", b: \"c\"})\n",
	 "a({apiKey:\n  \"\", b: \"c\"})\n", ""},
	{"a.ts", "process.env.T ||= `k`\nx = `b`\nif (key == x) {}\n",
	 "process.env.T ||= ``\nx = `b`\nif (key == x) {}\n", ""},
	{"a.sh", "KEY=k\nAUTH=$X\nCOOKIE=<yours>\nB=c\n",
	 "KEY=\nAUTH=$X\nCOOKIE=<yours>\nB=c\n", ""},
	{"a.sh", "curl -u me:k x; curl --user='me:k' x; curl -u me:$P x\n",
	 "curl -u me: x; curl --user='me:' x; curl -u me:$P x\n", ""},
	{"a.md", "Use the key: abcd1234, see `keys: x`.\n",
	 "Use the key: , see `keys: x`.\n", ""},
	{"a.md", "---\nname: b\nenv:\n  A: k\n---\nThe text: c\n",
	 "---\nname: b\nenv:\n---\nThe text: c\n", ""},
};

static void cuts_members_of_settings_by_their_names(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const char *from = settings[i].from, *to = settings[i].to;
		AUTO(buf) struct buf b = {0}, members = {0};
		char **names = NULL;
		bool any = redact_settings(settings[i].name, from, strlen(from),
					   &b, &names);

		if (any != (to != NULL))
			fail_msg("%s: %d, %s", from, any, buf_text(&b));
		assert_string_equal(buf_text(&b), to ?: from);
		for (k = 0; names && names[k]; k++)
			buf_printf(&members, "%s%s", k ? " " : "", names[k]);
		mem_list_free(&names);
		assert_string_equal(buf_text(&members), settings[i].members);
	}
}

static const struct {
	const char *from, *to; /* to NULL: no secret */
} prose[] = {
	/* text about secrets without a secret */
	{"Never print the token: it is secret.\n", NULL},
	{"Use `--token` to give it, password = what you got.\n", NULL},
	{"The API key: see the wiki. Set API_KEY=$KEY first.\n", NULL},
	{"curl -H 'Authorization: Bearer $TOKEN' https://x/\n", NULL},
	{"export TOKEN=$(pass show x)\nAPI_KEY=<your key>\n", NULL},
	{"def f(user, password=None, token=None):\n", NULL},
	{"login(user, password=password)\ntoken = get_token()\n", NULL},
	{"std::token::kind\ntokens: 4096\nprimary_key: true\n", NULL},
	{"use_token = true\nTOKEN=\n", NULL},
	{"SSH_KEY=/home/u1/.ssh/id\nSIGN_KEY=~/k1234567\nXKB_KEY=caps\n", NULL},
	{"set -gx GH_TOKEN (pass show x)\nset -gx API_KEY $KEY1234\n", NULL},
	{"set the token abcd\nset -e GH_TOKEN\n", NULL},
	/* secrets */
	{"export GH_TOKEN=hunter2\n", "export GH_TOKEN=\n"},
	{"GH_TOKEN=\"a b\" make\n", "GH_TOKEN=\"\" make\n"},
	{"token = 'hunter2'\n", "token = ''\n"},
	{"const apiKey = \"k1\";\n", "const apiKey = \"\";\n"},
	{"{\"token\": \"k1\"}\n", "{\"token\": \"\"}\n"},
	{"- **Password**: `geheim` for all\n", "- **Password**: `` for all\n"},
	{"The token: abcd1234efgh, do not tell\n",
	 "The token: , do not tell\n"},
	{"curl -H \"Authorization: Bearer abcd1234efgh\" x\n",
	 "curl -H \"Authorization: Bearer \" x\n"},
	{"mcp --api-key abcd1234efgh y\n", "mcp --api-key  y\n"},
	{"mcp --api-key=abcd1234efgh y\n", "mcp --api-key= y\n"},
	{"a 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0 b\n",
	 "a 123456789: b\n"},
	{"a LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ b\n", "a  b\n"},
	{"a glsa_aaaaaaaaaaaaaaaa lin_api_0123456789 r8_0123456789abcd b\n",
	 "a    b\n"},
	{"log in with ghp_0123456789abcdefghij now\n", "log in with  now\n"},
	{"sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_ to x\n",
	 "sent  to x\n"},
	{"charge sk_live_0123456789abcdef\n", "charge \n"},
	{"git clone ssh://git@git.example/x\n", NULL},
	{"git clone ssh://me:pw@git.example/x\n",
	 "git clone ssh://git.example/x\n"},
	{"git clone https://me:pw@git.example/x\n",
	 "git clone https://git.example/x\n"},
	{"-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n"
	 "-----END RSA PRIVATE KEY-----\nend\n",
	 "-----BEGIN RSA \nend\n"},
	{"A_TOKEN=one B_TOKEN=two", "A_TOKEN= B_TOKEN="},
	{"export LLM_KEY=hunter234 MYSQL_PWD='hunter 234'\n",
	 "export LLM_KEY= MYSQL_PWD=''\n"},
	/* fish */
	{"set -gx DB_PASSWORD hunter\n", "set -gx DB_PASSWORD \n"},
	{"if x; set --global -x  API_TOKEN \"a b\"; end\n",
	 "if x; set --global -x  API_TOKEN \"\"; end\n"},
	{"set -Ux GITLAB_PAT hunter234\n", "set -Ux GITLAB_PAT \n"},
	{"a\n\nGH_TOKEN=hunter2\nb\n\nset -x A_PAT hunter234\nc",
	 "a\n\nGH_TOKEN=\nb\n\nset -x A_PAT \nc"},
	{"a token token=abcd1234 x", "a token token= x"},
	{"{\"a\": 1, \"token\": \"abc def", "{\"a\": 1, \"token\": "},
	{"API_KEY='one\ntwo'\n", "API_KEY=''\n"},
	{"ghp_0123456789abcdefghij:a1b2c3d4 TOKEN='token'='k'",
	 ":a1b2c3d4 TOKEN=''"},
	{"SETUVAR --export API_TOKEN:sk\\x2da b\nSETUVAR A:1\n",
	 "SETUVAR --export API_TOKEN:\nSETUVAR A:1\n"},
};

static void cuts_the_secrets_out_of_prose(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(prose) / sizeof(*prose); i++) {
		AUTO(buf) struct buf b = {0};
		bool any =
			redact_prose(prose[i].from, strlen(prose[i].from), &b);

		if (any != (prose[i].to != NULL))
			fail_msg("%s: %d, %s", prose[i].from, any,
				 buf_text(&b));
		assert_string_equal(buf_text(&b),
				    any ? prose[i].to : prose[i].from);
	}
}

/*
 * Pieces of files: each @ stands for a part of a secret, each ~ for a word that
 * must stay. A file has some pieces of one format.
 */
static const struct {
	bool (*redact)(const void *data, size_t len, struct buf *to);
	const char *pieces[24];
} formats[] = {
	{redact_prose, /* JSON */
	 {"{\"~\": 1, \"args\": [\"-y\", \"--api-key\", \"@\"], \"~\": {}},",
	  "{\"args\": [\n \"~\",\n \"--token\",\n \"@\",\n \"~\"\n]},",
	  "{\"args\":[\"mcp\",\"--token\",\"@\"],\"~\":\"~\"},",
	  "{\"args\": [\"~\", \"--token=@\", \"-e\", \"A_TOKEN=@\", \"~\"]},",
	  "{\"args\": [\"--token\", \"a\\\"@\", \"~\"], \"~\": \"--token\"},",
	  "{\"MCP_PASSWORD\": \"@\\\"@\", \"~\": \"~\"},",
	  "{\"token\":\"\\\"@\\\\\",\"~\":\"it's ~\",\"apiKey\" : \"@\"},",
	  "{\"~\": \"curl -H \\\"Authorization: Bearer @\\\" ~\"},",
	  "{\"~\": \"export A_TOKEN=\\\"@\\\"\", \"~\": 1},",
	  "{\"~\": \"https://~/\", \"proxy\": \"u:@@~:80\"},"}},
	{redact_prose, /* a shell's */
	 {"export A_TOKEN=\"@\\\"@\" # ~", "A_TOKEN='@'\"'\"'@' ~",
	  "export A_TOKEN=$'@\\'@' ~", "A_TOKEN=@\"@ @\"'@ @' ~",
	  "export A_TOKEN=@\\\n@ ~", "export A_TOKEN=\"@\n @\n@\"; ~",
	  "A_TOKEN='@\n@' ~", "export A_TOKEN=\"@\\\n@\"@ ~",
	  "~ --api-key \"@ @\" ~", "~ --api-key \\\n  @ ~",
	  "export A_TOKEN=@,@:@ ~", "export HTTPS_PROXY=u:@@~:80 ~",
	  "x=\"~ A_TOKEN=@\" ~", "# don't ~: export A_TOKEN='@ @'",
	  "(export A_TOKEN=@) # ~", "docker -e \"A_TOKEN=@\" -e \"~\" '~'"}},
	{redact_prose, /* TOML */
	 {"args = [\"-y\", \"--api-key\", \"@\"]\n~ = 1",
	  "args = [\n\t\"--api-key\",\n\t\"@\",\n\t\"~\",\n]",
	  "token = \"@\\\"@\" # ~", "token = \"\"\"\n@\n@\"\"\"\n~ = 2",
	  "token = '''@'''\n~ = 3", "api_key = '@''@'\n~ = \"~\""}},
	{redact_text, /* YAML */
	 {"~: 1\nnpmAuthToken:\n  \"@\"\n~:",
	  "a~:\n  npmAuthToken:\n    @\n  ~: 1", "token: >-\n  @\n  @\n~: 1",
	  "- ~\n- token: @\n  ~: 1\n- ~: 1", "tokens:\n- @\n- @\n~: 1",
	  "args:\n  - --token\n  - @\n  - ~",
	  "args:\n- \"--token\"\n- '@'\n- \"~\"", "token: '@''@'\n~: ~",
	  "args: [\"--token\",\n  \"@\"]\n~: 2", "\"token\": \"@\\\"@\"\n~: 1",
	  "token:\t@\n~: 3", "args: [\n  --token,\n  @,\n  ~\n]"}},
	{redact_text, /* TOML, INI */
	 {"[http]\nproxy = \"u:@@~:80\"\n~ = 1",
	  "proxy = http://u:@@@@~/\n~ = 2",
	  "args = [\n\"--token\",\n\"a\\\"@\",\n\"~\",\n]",
	  "args = [\"--token\",\n\"@\"]\n~ = 3", "token = \"@\\\"@\"\n~ = 4",
	  "token =\n  @\n~ = 5", "https-proxy=u:@@~:80\n~=1"}},
	{redact_text, /* XML */
	 {"<a><~/><password>@</password></a><a><token b=\"c\">@</token></a>",
	  "<password\n  >@</password><~>~</~>",
	  "<passphrase\n>\n@\n@</passphrase\n><b>~</b>",
	  "<~>~</~><x:token a='>'>@</x:token>~",
	  "<a><password/>~</a><password >@@</password >",
	  "  ~</id><password>@</password><~ a=\"b\"/>",
	  "<add key=\"token\" value=\"@\"/><b c='~'>~</b>",
	  "<s a=\"b\" password=\"@>@\">~</s>", "<!-- token: @ --><~/>",
	  "<proxy>u:@@~:80</proxy>"}},
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

static uint32_t next_random(uint32_t below)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Appends a piece with new secrets and new words, which go to the lists. */
static void add_piece(struct buf *to, const char *piece, struct names *secrets,
		      struct names *words)
{
	for (; *piece; piece++) {
		char word[16];

		snprintf(word, sizeof(word), "%s%06u",
			 *piece == '@' ? "Sec" : "keep", next_random(1000000));
		/* u:@@host: a secret and the sign itself */
		if (*piece == '@' || *piece == '~') {
			names_add(*piece == '@' ? secrets : words, word);
			buf_add_text(to, word);
			if (piece[0] == '@' && piece[1] == '@')
				buf_add(to, piece++, 1);
		} else {
			buf_add(to, piece, 1);
		}
	}
	buf_add_char(to, '\n');
}

static void no_part_of_a_secret_stays_and_the_rest_does(void **state)
{
	size_t round, i;

	(void)state;
	for (round = 0; round < FORMAT_COUNT * 400; round++) {
		const char *const *pieces =
			formats[round % FORMAT_COUNT].pieces;
		struct names secrets = {0}, words = {0};
		AUTO(buf) struct buf from = {0};
		AUTO(buf) struct buf to = {0};
		uint32_t count = 0, n;

		while (pieces[count])
			count++;
		for (n = 1 + next_random(4); n; n--)
			add_piece(&from, pieces[next_random(count)], &secrets,
				  &words);
		assert_true(formats[round % FORMAT_COUNT].redact(
			from.data, from.len, &to));
		for (i = 0; i < secrets.count; i++)
			if (strstr(buf_text(&to), secrets.items[i]))
				fail_msg("%s is in\n%s\nfrom\n%s",
					 secrets.items[i], buf_text(&to),
					 buf_text(&from));
		for (i = 0; i < words.count; i++)
			if (!strstr(buf_text(&to), words.items[i]))
				fail_msg("%s is not in\n%s\nfrom\n%s",
					 words.items[i], buf_text(&to),
					 buf_text(&from));
		names_free(&secrets);
		names_free(&words);
	}
}

static void bytes_of_any_kind_do_no_harm(void **state)
{
	static const char pieces[][16] = {
		"<",  "</",   ">",  "token", "=",     ": ",	"://",	  "@",
		"\n", "\\\n", "\t", "\"",    "<pass", "passw>", "\xff\0", ""};
	uint32_t seed = 1;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		AUTO(buf) struct buf from = {0};
		AUTO(buf) struct buf to = {0};
		int n;

		for (n = 0; n < 12; n++) {
			seed = seed * 1664525 + 1013904223;
			buf_add(&from, pieces[seed >> 28],
				strlen(pieces[seed >> 28]) + (seed >> 20) % 2);
		}
		(void)redact_text(from.data, from.len, &to);
		assert_true(to.len <= from.len + 1);
		buf_clear(&to);
		(void)redact_prose(from.data, from.len, &to);
		assert_true(to.len <= from.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_the_secrets_and_nothing_else),
		cmocka_unit_test(cuts_members_of_settings_by_their_names),
		cmocka_unit_test(cuts_the_secrets_out_of_prose),
		cmocka_unit_test(no_part_of_a_secret_stays_and_the_rest_does),
		cmocka_unit_test(bytes_of_any_kind_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
