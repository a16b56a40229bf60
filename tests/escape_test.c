/* escape_test.c: what is harmful and how it comes out; streams that pass through it, and what becomes of their errors. */
#include "eager/base/escape.h"
#include "eager/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "eager/base/json.h"
#include "tests/test.h"

/* given, as one line, as a block with indent "> ", as a Python literal, as a word of a shell, as JSON */
static const struct {
	const char *given, *line, *block, *python, *shell, *json;
} rows[] = {
	{"plain", "plain", "plain", "\"plain\"", "plain", "\"plain\""},
	{"", "", "", "\"\"", "''", "\"\""},
	{"a\nb\n", "a\\nb\\n", "a\n> b\n", "\"a\\nb\\n\"", "$'a\\x0ab\\x0a'", "\"a\\nb\\n\""},
	{"\x1b[31m", "\\x1b[31m", "\\x1b[31m", "\"\\x1b[31m\"", "$'\\x1b[31m'", "\"\\u001b[31m\""},
	{"\r\t\x7f", "\\r\\t\\x7f", "\\r\t\\x7f", "\"\\r\\t\\x7f\"", "$'\\x0d\\x09\\x7f'", "\"\\r\\t\\u007f\""},
	{"\x9b", "\\x9b", "\\x9b", "\"\\x9b\"", "$'\\x9b'", "\"\\ufffd\""},
	{"\xc2\x9b", "\\u009b", "\\u009b", "\"\\u009b\"", "$'\\xc2\\x9b'", "\"\\u009b\""},
	{"\xe2\x80\xae", "\\u202e", "\\u202e", "\"\\u202e\"", "$'\\xe2\\x80\\xae'", "\"\\u202e\""},
	{"\xe2\x81\xa6", "\\u2066", "\\u2066", "\"\\u2066\"", "$'\\xe2\\x81\\xa6'", "\"\\u2066\""},
	{"\xe2\x80\x8f", "\\u200f", "\\u200f", "\"\\u200f\"", "$'\\xe2\\x80\\x8f'", "\"\\u200f\""},
	{"\xd8\x9c", "\\u061c", "\\u061c", "\"\\u061c\"", "$'\\xd8\\x9c'", "\"\\u061c\""},
	{"\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80", "\\xc0\\xaf\\xed\\xa0\\x80", "\"\\xc0\\xaf\\xed\\xa0\\x80\"",
		"$'\\xc0\\xaf\\xed\\xa0\\x80'", "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""},
	{"\xe2\x82", "\\xe2\\x82", "\\xe2\\x82", "\"\\xe2\\x82\"", "$'\\xe2\\x82'", "\"\\ufffd\\ufffd\""},
	{"Grüße \xf0\x9f\x98\x80", "Grüße \xf0\x9f\x98\x80", "Grüße \xf0\x9f\x98\x80", "\"Grüße \xf0\x9f\x98\x80\"", "'Grüße \xf0\x9f\x98\x80'",
		"\"Grüße \xf0\x9f\x98\x80\""},
	{"it's \\ \"", "it's \\ \"", "it's \\ \"", "\"it's \\\\ \\\"\"", "'it'\\''s \\ \"'", "\"it's \\\\ \\\"\""},
	{"it's\\\n", "it's\\\\n", "it's\\\n", "\"it's\\\\\\n\"", "$'it\\'s\\\\\\x0a'", "\"it's\\\\\\n\""},
};

static void forms(void)
{
	for (int i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf sb[5];
		for (int k = 0; k < 5; k++)
			sb_init(&sb[k]);
		escape_line(&sb[0], rows[i].given);
		escape_lines(&sb[1], "> ", rows[i].given, strlen(rows[i].given));
		escape_python(&sb[2], rows[i].given);
		escape_shell(&sb[3], rows[i].given);
		struct json j = json_into(&sb[4], JSON_TIGHT);
		json_string(&j, NULL, rows[i].given);
		EXPECT_STR(sb[0].s, rows[i].line);
		EXPECT_STR(sb[1].s, rows[i].block);
		EXPECT_STR(sb[2].s, rows[i].python);
		EXPECT_STR(sb[3].s, rows[i].shell);
		EXPECT_STR(sb[4].s, rows[i].json);
		for (int k = 0; k < 5; k++)
			sb_free(&sb[k]);
	}
}

static void json(void)
{
	static const struct {
		enum json_style style;
		const char *want;
	} styles[] = {{JSON_TIGHT,
					  "{\"a\":[],\"b\":{},\"c\":[[1,-2],{\"d\":\"x\\\"\",\"e\":\"00ff\"}],\"f\":0.10000000000000001,\"g\":\"-Infinity\","
					  "\"h\":1.5,\"i\":null,\"j\":[true,false,null,18446744073709551615]}"},
		{JSON_SPACED,
			"{\"a\": [], \"b\": {}, \"c\": [[1, -2], {\"d\": \"x\\\"\", \"e\": \"00ff\"}], \"f\": 0.10000000000000001, \"g\": \"-Infinity\", "
			"\"h\": 1.5, \"i\": null, \"j\": [true, false, null, 18446744073709551615]}"}};
	for (int i = 0; i < ARRAY_LEN(styles); i++) {
		struct strbuf sb;
		struct json j = json_into(&sb, styles[i].style);
		sb_init(&sb);
		json_object(&j, NULL);
		json_array(&j, "a"), json_end(&j);
		json_object(&j, "b"), json_end(&j);
		json_array(&j, "c");
		json_array(&j, NULL), json_int(&j, NULL, 1), json_int(&j, NULL, -2), json_end(&j);
		json_object(&j, NULL), json_string(&j, "d", "x\""), json_hex(&j, "e", "\0\xff", 2), json_end(&j);
		json_end(&j);
		json_double(&j, "f", 0.1), json_double(&j, "g", -INFINITY);
		json_fixed(&j, "h", 1.52, 1), json_fixed(&j, "i", NAN, 1);
		json_array(&j, "j");
		json_bool(&j, NULL, true), json_bool(&j, NULL, false), json_null(&j, NULL), json_unsigned(&j, NULL, UINT64_MAX);
		json_end(&j);
		json_end(&j);
		EXPECT_STR(sb.s, styles[i].want);
		EXPECT_INT(j.depth, 0);
		sb_free(&sb);
	}
}

static void errors(void)
{
	struct err err = {0};
	char given[2 * MAX_ERR];
	err_set(&err, "'%s' is unknown", "\x1b[2J\nnext");
	EXPECT_STR(err.msg, "'\\x1b[2J\\nnext' is unknown");
	err = (struct err){0};
	memset(given, 'x', sizeof given);
	given[0] = 'y';
	for (size_t i = 1; i + 3 < sizeof given; i += 3)
		memcpy(given + i, "\xe2\x82\xac", 3); /* one of them would be cut */
	given[sizeof given - 1] = 0;
	err_set(&err, "%s", given);
	EXPECT(utf8_valid(err.msg, strlen(err.msg)) && strlen(err.msg) > MAX_ERR - 4, "'%s'", err.msg + MAX_ERR - 10);
}

/* Characters in pieces, as buffers cut them. */
static void streams(void)
{
	static const char given[] = "a\x1b[m \xe2\x80\xae \xe2\x82\xac \xf0\x9f\x98\x80\tb\n\xe2\x82";
	int fd[2];
	char got[256];
	CHECK(pipe(fd) == 0);
	struct output out;
	output_standard(&out, STDERR_FILENO);
	out.fd = fd[1];
	for (size_t i = 0; i < sizeof given - 1; i++)
		fputc(given[i], out.file);
	struct err err = {0};
	EXPECT(output_close(&out, &err), "%s", err.msg);
	ssize_t n = read(fd[0], got, sizeof got - 1);
	got[MAX(n, 0)] = 0;
	EXPECT_STR(got, "a\\x1b[m \\u202e \xe2\x82\xac \xf0\x9f\x98\x80\tb\n\\xe2\\x82");
	close(fd[0]);
}

static void full_devices(void)
{
	struct output out;
	struct err err = {0};
	CHECK(output_file(&out, "/dev/full", &err));
	for (int i = 0; i < 10000; i++)
		fprintf(out.file, "line %d\n", i);
	errno = 0; /* what other calls leave there is not the reason */
	EXPECT(!output_close(&out, &err), "closed");
	EXPECT_STR(err.msg, "cannot write to /dev/full: No space left on device");
	err = (struct err){0};
	EXPECT(!output_file(&out, "/nonexistent/file", &err), "opened");
	EXPECT_STR(err.msg, "cannot write to /nonexistent/file: No such file or directory");
	char path[] = "/tmp/escape_test_XXXXXX";
	CHECK(close(mkstemp(path)) == 0);
	struct rlimit before, small = {1000, 1000};
	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	err = (struct err){0};
	CHECK(output_file(&out, path, &err) && setrlimit(RLIMIT_FSIZE, &small) == 0);
	for (int i = 0; i < 10000; i++)
		fprintf(out.file, "line %d\n", i);
	EXPECT(!output_close(&out, &err) && strstr(err.msg, ": File too large"), "%s", err.msg);
	setrlimit(RLIMIT_FSIZE, &before);
	unlink(path);
}

int main(void)
{
	RUN(forms);
	RUN(json);
	RUN(errors);
	RUN(streams);
	RUN(full_devices);
	return TEST_END();
}
