/* findings_print.c: see findings_print.h. A line is built in a buffer and written whole, unless it is so long that memory would suffer. */
#include "reports/render/findings_print.h"

#include "eager/base/escape.h"
#include "eager/base/json.h"

enum { PIECE = 1 << 16 }; /* bytes of a value that are turned into text at a time */

void printer_init(struct printer *p, bool json)
{
	*p = (struct printer){.json = json};
	sb_init(&p->pending);
}

void printer_free(struct printer *p) { sb_free(&p->pending); }

bool printer_write(struct printer *p)
{
	if (!p->failed && p->pending.len)
		p->failed = fwrite(p->pending.s, 1, p->pending.len, stdout) != p->pending.len || fflush(stdout) != 0;
	sb_reset(&p->pending);
	return !p->failed;
}

/* The end of the piece that begins at `from`, between characters. */
static size_t piece_end(const struct store_value *v, size_t from)
{
	size_t end = MIN(from + PIECE, v->nbytes);
	for (int i = 0; v->type == STORE_TEXT && end < v->nbytes && i < 3 && ((unsigned char)v->s[end] & 0xc0) == 0x80; i++)
		end--;
	return end;
}

static void long_cell(struct printer *p, const struct store_value *v)
{
	for (size_t from = 0, end; from < v->nbytes; from = end) {
		end = piece_end(v, from);
		if (v->type == STORE_TEXT)
			escape_cell(&p->pending, v->s + from, end - from);
		else
			sb_hex(&p->pending, v->s + from, end - from);
		if (end < v->nbytes)
			printer_write(p);
	}
}

void print_cell(struct printer *p, const struct store_value *v)
{
	switch (v->type) {
	case STORE_INT: sb_printf(&p->pending, "%lld", (long long)v->i); break;
	case STORE_REAL: sb_printf(&p->pending, "%.17g", v->r); break;
	case STORE_TEXT:
	case STORE_BLOB: long_cell(p, v); break;
	default: sb_puts(&p->pending, "NULL");
	}
}

void print_json_row(struct printer *p, int ncols, const char *const *names, const struct store_value *v)
{
	struct json j = json_into(&p->pending, JSON_TIGHT);
	json_object(&j, NULL);
	for (int i = 0; i < ncols; i++)
		switch (v[i].type) {
		case STORE_INT: json_int(&j, names[i], v[i].i); break;
		case STORE_REAL: json_double(&j, names[i], v[i].r); break;
		case STORE_TEXT: json_text(&j, names[i], v[i].s, v[i].nbytes); break;
		case STORE_BLOB: json_hex(&j, names[i], v[i].s, v[i].nbytes); break;
		default: json_null(&j, names[i]);
		}
	json_end(&j);
	sb_putc(&p->pending, '\n');
}
