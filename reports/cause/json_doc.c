/* json_doc.c: a private database in memory that has no tables: each question is a SELECT of a JSON function of SQLite. */
#include "reports/cause/json_doc.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>

#include "eager/base/escape.h"

struct json_doc {
	sqlite3 *db;
	sqlite3_stmt *get, *count;
	char *text;
	size_t nbytes;
	bool valid;
};

/* The whole of SQLite's JSON nesting limit and sizes hold; what it refuses is no JSON here. */
static bool is_json(sqlite3 *db, const char *text, size_t n)
{
	sqlite3_stmt *st;
	CHECK(sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &st, NULL) == SQLITE_OK);
	sqlite3_bind_text64(st, 1, text, n, SQLITE_STATIC, SQLITE_UTF8);
	bool valid = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 1;
	sqlite3_finalize(st);
	return valid && utf8_valid(text, n);
}

struct json_doc *json_doc_open(const char *text, size_t nbytes)
{
	struct json_doc *d = calloc(1, sizeof *d);
	CHECK(d);
	d->text = malloc(nbytes + 1);
	CHECK(d->text);
	memcpy(d->text, text, nbytes);
	d->text[nbytes] = 0;
	d->nbytes = nbytes;
	CHECK(sqlite3_open(":memory:", &d->db) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(
			  d->db, "SELECT CASE json_type(?1, ?2) WHEN 'real' THEN ?1 -> ?2 ELSE json_extract(?1, ?2) END", -1, &d->get, NULL)
		== SQLITE_OK);
	CHECK(sqlite3_prepare_v2(d->db, "SELECT json_array_length(?1, ?2)", -1, &d->count, NULL) == SQLITE_OK);
	d->valid = nbytes <= JSON_DOC_MOST_BYTES && is_json(d->db, d->text, nbytes);
	return d;
}

void json_doc_close(struct json_doc *d)
{
	if (!d)
		return;
	sqlite3_finalize(d->get);
	sqlite3_finalize(d->count);
	sqlite3_close(d->db);
	free(d->text);
	free(d);
}

bool json_doc_empty(const struct json_doc *d) { return !d->valid; }

/* The statement, standing on its answer; NULL: none. Reset it. */
static sqlite3_stmt *ask(struct json_doc *d, sqlite3_stmt *st, const char *path, va_list args)
{
	char text[512];
	const int n = vsnprintf(text, sizeof text, path, args);
	CHECK(n >= 0 && n < (int)sizeof text);
	if (!d->valid)
		return NULL;
	sqlite3_reset(st);
	sqlite3_bind_text64(st, 1, d->text, d->nbytes, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_text(st, 2, text, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
		return st;
	sqlite3_reset(st);
	return NULL;
}

bool json_doc_has(struct json_doc *d, const char *path, ...)
{
	va_list args;
	va_start(args, path);
	sqlite3_stmt *st = ask(d, d->get, path, args);
	va_end(args);
	return st != NULL;
}

const char *json_doc_text(struct json_doc *d, struct arena *a, const char *path, ...)
{
	va_list args;
	va_start(args, path);
	sqlite3_stmt *st = ask(d, d->get, path, args);
	va_end(args);
	return st ? arena_strdup(a, (const char *)sqlite3_column_text(st, 0)) : "";
}

int64_t json_doc_int(struct json_doc *d, int64_t otherwise, const char *path, ...)
{
	va_list args;
	va_start(args, path);
	sqlite3_stmt *st = ask(d, d->get, path, args);
	va_end(args);
	return st && sqlite3_column_type(st, 0) == SQLITE_INTEGER ? sqlite3_column_int64(st, 0) : otherwise;
}

int json_doc_count(struct json_doc *d, const char *path, ...)
{
	va_list args;
	va_start(args, path);
	sqlite3_stmt *st = ask(d, d->count, path, args);
	va_end(args);
	return st ? MIN(sqlite3_column_int(st, 0), JSON_DOC_MOST_ELEMENTS) : 0;
}

/* ---- in a page ----------------------------------------------------------------------------------------------------------------------- */

void json_embed(struct strbuf *sb, const char *json, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t code = (unsigned char)json[i];
		const size_t len = utf8_read(&code, json + i, n - i);
		const bool space = len == 1 && (code == '\n' || code == '\t' || code == '\r');
		if (!space && (code == '<' || code == '>' || code == '&' || !len || code_harmful(code)))
			sb_printf(sb, "\\u%04x", len ? code : 0xfffd);
		else if (space)
			sb_putc(sb, ' ');
		else
			sb_put(sb, json + i, len);
		i += len ? len : 1;
	}
}

void json_doc_embed(struct strbuf *sb, struct json_doc *d)
{
	if (d->valid)
		json_embed(sb, d->text, d->nbytes);
	else
		sb_puts(sb, "null");
}
