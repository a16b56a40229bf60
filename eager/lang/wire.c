/* wire.c: reading and writing of requests, answers and results as bytes. See wire.h; worker.py speaks the same. */
#include "eager/lang/wire.h"

#include "eager/base/escape.h"

static void put_number(struct strbuf *sb, uint64_t v, int nbytes)
{
	uint8_t b[8];
	put_le(b, v, nbytes);
	sb_put(sb, b, (size_t)nbytes);
}

void wire_put_u8(struct strbuf *sb, unsigned v) { put_number(sb, v, 1); }
void wire_put_u32(struct strbuf *sb, uint32_t v) { put_number(sb, v, 4); }
void wire_put_i64(struct strbuf *sb, int64_t v) { put_number(sb, (uint64_t)v, 8); }

void wire_put_f64(struct strbuf *sb, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, 8);
	put_number(sb, bits, 8);
}

void wire_put_str(struct strbuf *sb, const char *s)
{
	size_t n = strlen(s);
	CHECK(n <= UINT32_MAX);
	wire_put_u32(sb, (uint32_t)n);
	sb_put(sb, s, n);
}

void wire_put_blob(struct strbuf *sb, const void *p, size_t n)
{
	wire_put_i64(sb, (int64_t)n);
	if (n)
		sb_put(sb, p, n);
}

static const uint8_t *take(struct wire *w, uint64_t n)
{
	const uint8_t *p = w->p;
	if (w->bad || n > (uint64_t)(w->end - w->p)) {
		w->bad = true;
		return NULL;
	}
	w->p += n;
	return p;
}

static uint64_t get_number(struct wire *w, int nbytes)
{
	const uint8_t *p = take(w, (uint64_t)nbytes);
	return p ? get_le(p, nbytes) : 0;
}

uint8_t wire_u8(struct wire *w) { return (uint8_t)get_number(w, 1); }
uint32_t wire_u32(struct wire *w) { return (uint32_t)get_number(w, 4); }

int64_t wire_i64(struct wire *w)
{
	uint64_t v = get_number(w, 8);
	int64_t out;
	memcpy(&out, &v, 8);
	return out;
}

double wire_f64(struct wire *w)
{
	uint64_t v = get_number(w, 8);
	double out;
	memcpy(&out, &v, 8);
	return out;
}

const char *wire_str(struct wire *w, struct arena *a)
{
	uint32_t n = wire_u32(w);
	const uint8_t *p = take(w, n);
	if (!p)
		return "";
	char *s = arena_alloc(a, (size_t)n + 1);
	memcpy(s, p, n);
	s[n] = '\0';
	return s;
}

/* An exception's message may hold a whole tensor or generated file: each text is kept, printed and stored several times. */
static const char *get_text(struct wire *w, struct arena *a, size_t most)
{
	uint32_t n = wire_u32(w);
	const char *p = (const char *)take(w, n);
	size_t len = p ? strnlen(p, n) : 0, kept = len > most ? utf8_cut(p, most) : len;
	const char *head = arena_printf(a, "%.*s", (int)kept, p ? p : "");
	return kept == len ? head : arena_printf(a, "%s... %zu bytes more", head, len - kept);
}

const void *wire_blob(struct wire *w, struct arena *a, size_t *n)
{
	uint64_t len = get_number(w, 8);
	const uint8_t *p = take(w, len);
	*n = p ? (size_t)len : 0;
	if (!p)
		return NULL;
	void *copy = arena_alloc(a, *n ? *n : 1);
	memcpy(copy, p, *n);
	return copy;
}

/* ---- struct result ---------------------------------------------------------------------------------------- */

void wire_put_meta(struct strbuf *sb, const struct meta *m)
{
	wire_put_str(sb, dtype_info[m->dtype].torch);
	wire_put_u8(sb, m->device);
	wire_put_u8(sb, (unsigned)m->rank);
	for (int d = 0; d < m->rank; d++)
		wire_put_i64(sb, m->size[d]);
	for (int d = 0; d < m->rank; d++)
		wire_put_i64(sb, m->stride[d]);
	wire_put_i64(sb, m->offset);
}

static void put_tensor(struct strbuf *sb, const struct result_tensor *t)
{
	wire_put_u8(sb, t->present);
	if (!t->present)
		return;
	wire_put_u8(sb, t->requires_grad);
	wire_put_meta(sb, &t->meta);
	wire_put_i64(sb, t->storage);
	wire_put_blob(sb, t->data, t->data ? t->nbytes : 0);
}

static void put_call(struct strbuf *sb, const struct result_call *c)
{
	wire_put_u32(sb, (uint32_t)c->nouts);
	for (int i = 0; i < c->nouts; i++)
		put_tensor(sb, &c->out[i]);
	wire_put_u32(sb, (uint32_t)c->ngrads);
	for (int i = 0; i < c->ngrads; i++)
		put_tensor(sb, &c->grad[i]);
	wire_put_u32(sb, (uint32_t)c->nstorages);
	for (int i = 0; i < c->nstorages; i++)
		wire_put_blob(sb, c->storage[i].data, c->storage[i].nbytes);
	wire_put_f64(sb, c->run_ms);
}

static void put_change(struct strbuf *sb, const struct result_change *c)
{
	wire_put_u32(sb, (uint32_t)c->call);
	wire_put_u8(sb, c->role);
	wire_put_u32(sb, (uint32_t)c->index);
	wire_put_str(sb, c->what);
	if (c->role == TR_STORAGE)
		wire_put_blob(sb, c->storage.data, c->storage.nbytes);
	else
		put_tensor(sb, &c->tensor);
}

void wire_put_result(struct strbuf *sb, const struct result *r)
{
	wire_put_u8(sb, r->status);
	wire_put_str(sb, r->message);
	if (r->status == RES_INVARIANT) {
		wire_put_str(sb, r->violation.invariant);
		wire_put_str(sb, r->violation.step);
		wire_put_str(sb, r->violation.op);
	}
	wire_put_u32(sb, (uint32_t)r->ngraphs);
	wire_put_f64(sb, r->compile_ms);
	wire_put_f64(sb, r->target_ms);
	wire_put_u32(sb, (uint32_t)r->ncalls);
	for (int i = 0; i < r->ncalls; i++)
		put_call(sb, &r->call[i]);
	wire_put_u32(sb, (uint32_t)r->nchange);
	for (int i = 0; i < r->nchange; i++)
		put_change(sb, &r->change[i]);
	wire_put_u32(sb, (uint32_t)r->nmismatch);
	for (int i = 0; i < r->nmismatch; i++) {
		wire_put_str(sb, r->mismatch[i].op);
		wire_put_u8(sb, r->mismatch[i].backward);
		wire_put_u8(sb, (unsigned)r->mismatch[i].rank);
		wire_put_str(sb, r->mismatch[i].detail);
		wire_put_u8(sb, r->mismatch[i].layouts);
		if (r->mismatch[i].layouts) {
			wire_put_meta(sb, &r->mismatch[i].fake);
			wire_put_meta(sb, &r->mismatch[i].real);
		}
	}
	wire_put_u32(sb, (uint32_t)r->nartifact);
	for (int i = 0; i < r->nartifact; i++) {
		wire_put_str(sb, r->artifact[i].name);
		wire_put_str(sb, r->artifact[i].text);
	}
	wire_put_u32(sb, (uint32_t)r->nshape);
	for (int i = 0; i < r->nshape; i++)
		wire_put_i64(sb, (int64_t)r->shape[i]);
}

/* Where we are, for sentences: "call 0, output 2". */
struct wire_place {
	int call;
	const char *kind;
	int index;
};

static bool misfit(struct err *err, const struct wire_place *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool misfit(struct err *err, const struct wire_place *at, const char *fmt, ...)
{
	char text[MAX_ERR / 2];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(err, "answer: call %d, %s %d: %s", at->call, at->kind, at->index, text);
}

static bool get_meta(struct meta *m, struct wire *w, struct arena *a, const struct wire_place *at, struct err *err)
{
	memset(m, 0, sizeof *m);
	const char *dtype = wire_str(w, a);
	int device = wire_u8(w), rank = wire_u8(w);
	if (w->bad)
		return misfit(err, at, "ends in the middle of a tensor");
	if (!dtype_find(&m->dtype, dtype))
		return misfit(err, at, "dtype '%.40s' is unknown here", dtype);
	if (device >= NDEVICES)
		return misfit(err, at, "device number %d", device);
	if (rank > MAX_RANK)
		return misfit(err, at, "rank %d exceeds %d", rank, MAX_RANK);
	m->device = (enum device)device;
	m->rank = rank;
	for (int d = 0; d < rank; d++)
		m->size[d] = wire_i64(w);
	for (int d = 0; d < rank; d++)
		m->stride[d] = wire_i64(w);
	m->offset = wire_i64(w);
	if (w->bad)
		return misfit(err, at, "ends in the middle of a tensor");
	struct err why = {0};
	if (!meta_check_sizes(m->size, rank, &why))
		return misfit(err, at, "%s", why.msg);
	return true;
}

static bool get_tensor(struct result_tensor *t, struct wire *w, struct arena *a, const struct wire_place *at, struct err *err)
{
	memset(t, 0, sizeof *t);
	t->present = wire_u8(w) != 0;
	if (!t->present)
		return !w->bad || misfit(err, at, "ends before it");
	t->requires_grad = wire_u8(w) != 0;
	if (!get_meta(&t->meta, w, a, at, err))
		return false;
	int64_t storage = wire_i64(w);
	if (storage < 0 || storage > INT32_MAX)
		return misfit(err, at, "storage number %lld", (long long)storage);
	t->storage = (int)storage;
	size_t nbytes;
	const void *data = wire_blob(w, a, &nbytes);
	size_t want = (size_t)meta_numel(&t->meta) * (size_t)dtype_nbytes(t->meta.dtype);
	if (w->bad)
		return misfit(err, at, "ends in the middle of its data");
	if (nbytes != (t->meta.device == DEV_META ? 0 : want))
		return misfit(err, at, "%zu bytes of data where its sizes need %zu", nbytes, want);
	t->nbytes = want;
	t->data = t->meta.device == DEV_META ? NULL : data;
	return true;
}

static bool get_tensors(
	struct result_tensor **out, int *n, int want, struct wire *w, struct arena *a, struct wire_place at, struct err *err)
{
	uint32_t count = wire_u32(w);
	at.index = (int)MIN(count, 9999u);
	if (w->bad || count != (uint32_t)want)
		return misfit(err, &at, "that many reported, %d expected", want);
	*n = want;
	*out = ARENA_ZNEW(a, struct result_tensor, want + 1);
	for (int i = 0; i < want; i++) {
		at.index = i;
		if (!get_tensor(&(*out)[i], w, a, &at, err))
			return false;
	}
	return true;
}

static bool get_call(struct result_call *c, int call, struct wire *w, struct arena *a, const struct wire_expect *expect, struct err *err)
{
	struct wire_place at = {.call = call, .kind = "output"};
	if (!get_tensors(&c->out, &c->nouts, expect->nouts, w, a, at, err))
		return false;
	at.kind = "gradient";
	if (!get_tensors(&c->grad, &c->ngrads, expect->ngrads, w, a, at, err))
		return false;
	at.kind = "storage";
	uint32_t count = wire_u32(w);
	if (w->bad || count != (uint32_t)expect->nstorages)
		return misfit(err, &at, "%u reported, %d expected", count, expect->nstorages);
	c->nstorages = expect->nstorages;
	c->storage = ARENA_ZNEW(a, struct result_storage, c->nstorages + 1);
	for (at.index = 0; at.index < c->nstorages; at.index++) {
		struct result_storage *s = &c->storage[at.index];
		size_t want = expect->storage_nbytes[(size_t)call * (size_t)expect->nstorages + (size_t)at.index];
		s->data = wire_blob(w, a, &s->nbytes);
		if (w->bad || s->nbytes != want)
			return misfit(err, &at, "%zu bytes, %zu expected", s->nbytes, want);
	}
	c->run_ms = wire_f64(w);
	return !w->bad || misfit(err, &at, "ends after it");
}

static bool get_change(struct result_change *c, struct wire *w, const struct result *r, struct arena *a, struct err *err)
{
	const uint32_t call = wire_u32(w), role = wire_u8(w), index = wire_u32(w);
	if (w->bad || call >= (uint32_t)r->ncalls || role >= NTENSOR_ROLES)
		return err_set(err, "answer: a change of call %u, role %u", call, role);
	const struct result_call *of = &r->call[call];
	const int count[NTENSOR_ROLES] = {[TR_OUTPUT] = of->nouts, [TR_GRADIENT] = of->ngrads, [TR_STORAGE] = of->nstorages};
	const struct wire_place at = {.call = (int)call, .kind = "change of tensor", .index = (int)MIN(index, 9999u)};
	if (index >= (uint32_t)count[role])
		return misfit(err, &at, "there are %d", count[role]);
	*c = (struct result_change){.call = (int)call, .role = (enum tensor_role)role, .index = (int)index};
	c->what = get_text(w, a, MAX_RESULT_TEXT);
	if (c->role != TR_STORAGE)
		return get_tensor(&c->tensor, w, a, &at, err);
	c->storage.data = wire_blob(w, a, &c->storage.nbytes);
	return (!w->bad && c->storage.nbytes == of->storage[index].nbytes)
		|| misfit(err, &at, "%zu bytes, %zu expected", c->storage.nbytes, of->storage[index].nbytes);
}

static bool get_changes(struct result *out, struct arena *a, struct wire *w, struct err *err)
{
	const uint32_t n = wire_u32(w);
	uint32_t most = 0;
	for (int i = 0; i < out->ncalls; i++)
		most += (uint32_t)(out->call[i].nouts + out->call[i].ngrads + out->call[i].nstorages);
	if (w->bad || n > most)
		return err_set(err, "answer: %u changes", n);
	out->change = ARENA_ZNEW(a, struct result_change, n + 1);
	for (out->nchange = 0; out->nchange < (int)n; out->nchange++)
		if (!get_change(&out->change[out->nchange], w, out, a, err))
			return false;
	return true;
}

static bool get_mismatches(struct result *out, struct arena *a, struct wire *w, struct err *err)
{
	uint32_t n = wire_u32(w);
	if (w->bad || n > 100000)
		return err_set(err, "answer: %u meta mismatches", n);
	out->nmismatch = (int)n;
	out->mismatch = ARENA_ZNEW(a, struct result_meta_mismatch, n + 1);
	for (uint32_t i = 0; i < n && !w->bad; i++) {
		struct result_meta_mismatch *m = &out->mismatch[i];
		m->op = get_text(w, a, MAX_RESULT_TEXT);
		m->backward = wire_u8(w) != 0;
		m->rank = wire_u8(w);
		m->detail = get_text(w, a, MAX_RESULT_TEXT);
		if (!w->bad && (m->rank < 1 || m->rank > 3))
			return err_set(err, "answer: meta mismatch %u: rank %d", i, m->rank);
		const struct wire_place at = {.kind = "meta mismatch", .index = (int)i};
		m->layouts = wire_u8(w) != 0;
		if (m->layouts && (!get_meta(&m->fake, w, a, &at, err) || !get_meta(&m->real, w, a, &at, err)))
			return false;
	}
	return !w->bad || err_set(err, "answer: ends in the middle of the meta mismatches");
}

static bool get_artifacts(struct result *out, struct arena *a, struct wire *w, struct err *err)
{
	uint32_t n = wire_u32(w);
	if (w->bad || n > 1000)
		return err_set(err, "answer: %u artifacts", n);
	out->nartifact = (int)n;
	out->artifact = ARENA_ZNEW(a, struct result_artifact, n + 1);
	for (uint32_t i = 0; i < n && !w->bad; i++) {
		out->artifact[i].name = get_text(w, a, MAX_RESULT_TEXT);
		out->artifact[i].text = get_text(w, a, MAX_ARTIFACT_TEXT);
	}
	return !w->bad || err_set(err, "answer: ends in the middle of the artifacts");
}

static bool get_shapes(struct result *out, struct arena *a, struct wire *w, struct err *err)
{
	const uint32_t n = wire_u32(w);
	if (n > MAX_RESULT_SHAPES)
		return err_set(err, "answer: %u shapes of loops", n);
	out->nshape = (int)n;
	out->shape = ARENA_NEW(a, uint64_t, n + 1);
	for (uint32_t i = 0; i < n && !w->bad; i++)
		out->shape[i] = get_number(w, 8);
	return !w->bad || err_set(err, "answer: ends in the middle of the shapes of loops");
}

bool wire_get_result(struct result *out, struct arena *a, struct wire *w, const struct wire_expect *expect, struct err *err)
{
	memset(out, 0, sizeof *out);
	unsigned status = wire_u8(w);
	out->message = get_text(w, a, MAX_RESULT_TEXT);
	out->stderr_tail = "";
	if (status == RES_INVARIANT) {
		out->violation.invariant = get_text(w, a, MAX_RESULT_TEXT);
		out->violation.step = get_text(w, a, MAX_RESULT_TEXT);
		out->violation.op = get_text(w, a, MAX_RESULT_TEXT);
	}
	out->ngraphs = (int)(wire_u32(w) & INT32_MAX);
	out->compile_ms = wire_f64(w);
	out->target_ms = wire_f64(w);
	uint32_t ncalls = wire_u32(w);
	if (w->bad)
		return err_set(err, "answer: ends after %d bytes of its head", (int)(w->end - w->p));
	if (status >= NRES || status == RES_CRASH || status == RES_HANG)
		return err_set(err, "answer: status %u", status);
	out->status = (enum result_status)status;
	if (ncalls > (uint32_t)expect->ncalls || (out->status == RES_OK && ncalls != (uint32_t)expect->ncalls))
		return err_set(err, "answer: %u calls reported, %d expected", ncalls, expect->ncalls);
	out->ncalls = (int)ncalls;
	out->call = ARENA_ZNEW(a, struct result_call, ncalls + 1);
	for (int i = 0; i < out->ncalls; i++)
		if (!get_call(&out->call[i], i, w, a, expect, err))
			return false;
	if (!get_changes(out, a, w, err) || !get_mismatches(out, a, w, err) || !get_artifacts(out, a, w, err) || !get_shapes(out, a, w, err))
		return false;
	return w->p == w->end || err_set(err, "answer: %lld bytes too many", (long long)(w->end - w->p));
}
