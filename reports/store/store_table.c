/* store_table.c: the tables of shared rows, and the key of a row.
 *
 * THE KEY of a shared row is hash_bytes() of this canonical byte string: the table's name, NUL, then each column but id in the
 * order below: 'i' and 8 bytes big-endian for an integer; 't' (text) or 'b' (blob), the length in 8 bytes big-endian,
 * and the bytes; 'n' for NULL. Two rows with one key are therefore one row, whoever wrote them. */
#include <limits.h>

#include "reports/store/store_internal.h"

const struct table_shape store_table[NTABLES] = {
	[TABLE_RUN] = {"run", 5, "seed, shard, policy, versions, started", "ittti"},
	[TABLE_DRAW] = {"draw", 1, "text", "t"},
	[TABLE_ENVIRONMENT] = {"environment", 6, "family, version, target, versions, device, machine", "tttttt"},
	[TABLE_PROGRAM] = {"program", 1, "text", "t"},
	[TABLE_FINDING] = {"finding", 3, "program, family, kind", "btt"},
	[TABLE_ISSUE] = {"issue", 2, "url, title", "tt"},
	[TABLE_OBSERVATION] = {"observation", 10, "finding, program, environment, run, at, verdict, tensor, fill, call, detail", "bbbbittiit"},
	[TABLE_ARTIFACT] = {"artifact", 4, "finding, name, at, bytes", "btib"},
	[TABLE_EVENT] = {"event", 7, "finding, at, kind, tool, payload, program, issue", "bitttBB"},
};

struct column_value value_int(int64_t i) { return (struct column_value){.type = 'i', .i = i}; }
struct column_value value_text(const char *s) { return (struct column_value){.type = 't', .p = s, .n = strlen(s)}; }
struct column_value value_blob(const void *p, size_t n) { return (struct column_value){.type = 'b', .p = n ? p : "", .n = n}; }

struct column_value value_hash(const struct hash128 *h) { return h ? value_blob(h->b, sizeof h->b) : (struct column_value){.type = 'n'}; }

struct column_value value_column(sqlite3_stmt *st, int col)
{
	switch (sqlite3_column_type(st, col)) {
	case SQLITE_INTEGER: return value_int(sqlite3_column_int64(st, col));
	case SQLITE_TEXT: {
		const void *p = sqlite3_column_text(st, col); /* before bytes: it may convert */
		return (struct column_value){.type = 't', .p = p ? p : "", .n = (size_t)sqlite3_column_bytes(st, col)};
	}
	case SQLITE_BLOB: {
		const void *p = sqlite3_column_blob(st, col);
		return value_blob(p, (size_t)sqlite3_column_bytes(st, col));
	}
	default: return (struct column_value){.type = 'n'};
	}
}

static void put_be64(struct strbuf *sb, uint64_t v)
{
	unsigned char b[8];
	for (int i = 0; i < 8; i++)
		b[i] = (unsigned char)(v >> (56 - 8 * i));
	sb_put(sb, b, sizeof b);
}

struct hash128 table_key(const struct table_shape *t, const struct column_value *values)
{
	struct strbuf sb;
	sb_init(&sb);
	sb_put(&sb, t->name, strlen(t->name) + 1);
	for (int i = 0; i < t->ncols; i++) {
		const struct column_value *v = &values[i];
		sb_putc(&sb, v->type);
		if (v->type == 'i')
			put_be64(&sb, (uint64_t)v->i);
		if (v->type == 't' || v->type == 'b') {
			put_be64(&sb, v->n);
			sb_put(&sb, v->p, v->n);
		}
	}
	struct hash128 key = hash_bytes(sb.s, sb.len);
	sb_free(&sb);
	return key;
}

void bind_value(sqlite3_stmt *st, int at, const struct column_value *v)
{
	switch (v->type) {
	case 'i': sqlite3_bind_int64(st, at, v->i); break;
	case 't': sqlite3_bind_text64(st, at, v->p, v->n, SQLITE_STATIC, SQLITE_UTF8); break;
	case 'b': sqlite3_bind_blob64(st, at, v->p, v->n, SQLITE_STATIC); break;
	default: sqlite3_bind_null(st, at); break;
	}
}

void bind_hash(sqlite3_stmt *st, int at, const struct hash128 *h) { sqlite3_bind_blob(st, at, h->b, sizeof h->b, SQLITE_STATIC); }
void bind_text(sqlite3_stmt *st, int at, const char *text) { sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC); }

bool column_hash(struct hash128 *out, sqlite3_stmt *st, int col)
{
	if (sqlite3_column_type(st, col) != SQLITE_BLOB || sqlite3_column_bytes(st, col) != (int)sizeof out->b)
		return false;
	memcpy(out->b, sqlite3_column_blob(st, col), sizeof out->b);
	return true;
}

static enum store_status put_stmt(struct store *s, sqlite3_stmt **st, enum table_id id)
{
	const struct table_shape *t = &store_table[id];
	if (!s->put[id]) {
		struct strbuf sql;
		sb_init(&sql);
		sb_printf(&sql, "INSERT INTO %s (id, %s) VALUES (?", t->name, t->columns);
		for (int i = 0; i < t->ncols; i++)
			sb_puts(&sql, ", ?");
		sb_puts(&sql, ") ON CONFLICT (id) DO NOTHING");
		int rc = sqlite3_prepare_v3(s->db, sql.s, -1, SQLITE_PREPARE_PERSISTENT, &s->put[id], NULL);
		sb_free(&sql);
		if (rc != SQLITE_OK)
			return store_fail(s, rc, "preparing to write");
	}
	*st = s->put[id];
	return STORE_OK;
}

enum store_status store_put(struct store *s, struct hash128 *id, enum table_id t, const struct column_value *values)
{
	char doing[48];
	sqlite3_stmt *st = NULL;
	*id = table_key(&store_table[t], values);
	for (int i = 0; i < store_table[t].ncols; i++)
		if (values[i].type != 'i' && values[i].n > STORE_MAX_BLOB)
			return store_refuse(s, STORE_BAD, "%s: a %s of %zu bytes is too long, the limit is %d", s->path, store_table[t].name,
				values[i].n, STORE_MAX_BLOB);
	enum store_status status = put_stmt(s, &st, t);
	if (status != STORE_OK)
		return status;
	bind_hash(st, 1, id);
	for (int i = 0; i < store_table[t].ncols; i++)
		bind_value(st, i + 2, &values[i]);
	snprintf(doing, sizeof doing, "writing to table %s", store_table[t].name);
	status = store_run_stmt(s, st, doing);
	sqlite3_clear_bindings(st);
	return status;
}
