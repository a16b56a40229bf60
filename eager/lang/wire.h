/* wire.h: bytes of requests and answers: little-endian integers, length-prefixed strings and blobs, and the one encoding of a
 * `struct result` that every child uses, whatever runs in it.
 *
 * Reading trusts nothing: a read beyond the end or a length that does not fit sets `bad`, after which every read gives 0 or
 * an empty string, so that a decoder may check once at the end of each record. */
#ifndef SCATTERPROOF_WIRE_H
#define SCATTERPROOF_WIRE_H

#include "eager/lang/result.h"

void wire_put_u8(struct strbuf *sb, unsigned v);
void wire_put_u32(struct strbuf *sb, uint32_t v);
void wire_put_i64(struct strbuf *sb, int64_t v);
void wire_put_f64(struct strbuf *sb, double v);
void wire_put_str(struct strbuf *sb, const char *s);            /* u32 length, bytes */
void wire_put_blob(struct strbuf *sb, const void *p, size_t n); /* i64 length, bytes */
void wire_put_meta(struct strbuf *sb, const struct meta *m);    /* torch's dtype name, device, rank, sizes, strides, offset */

struct wire {
	const uint8_t *p, *end;
	bool bad;
};
uint8_t wire_u8(struct wire *w);
uint32_t wire_u32(struct wire *w);
int64_t wire_i64(struct wire *w);
double wire_f64(struct wire *w);
const char *wire_str(struct wire *w, struct arena *a);             /* copied; a NUL inside ends the text */
const void *wire_blob(struct wire *w, struct arena *a, size_t *n); /* copied, 16-byte aligned */

/* What the sender of a request knows about the answer; a wrong count is an answer that makes no sense. */
struct wire_expect {
	int nouts, ngrads, nstorages, ncalls;
	const size_t *storage_nbytes; /* [ncalls][nstorages] */
};

void wire_put_result(struct strbuf *sb, const struct result *r);
/* False: err says what does not fit; *out is then undefined. With status RES_OK all calls must be there, otherwise at most
 * ncalls of them. Of a text longer than MAX_RESULT_TEXT (an artifact's: MAX_ARTIFACT_TEXT) the head is kept, and how many bytes follow it.
 * CRASH and HANG are not a child's to say. */
bool wire_get_result(struct result *out, struct arena *a, struct wire *w, const struct wire_expect *expect, struct err *err);

#endif
