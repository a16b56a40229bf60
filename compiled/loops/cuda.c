/* cuda.c: see cuda.h. All memory of a program is one piece, on the device and beside it: what a kernel raised first and scratch
 * (emit_cuda.h), then the buffers. */
#include "compiled/loops/cuda.h"

#include <stdlib.h>

#include "compiled/gpu/device.h"
#include "compiled/loops/emit_cuda.h"
#include "compiled/loops/symbols.h"
#include "eager/base/clock.h"
#include "eager/lang/wire.h"
#include "eager/run/zones.h"

enum { ALIGNMENT = 256, MAX_POINTERS = 480, MAX_BATCH_BYTES = 1 << 28 }; /* pointers: 4 KiB of arguments */
_Static_assert((int)DEVICE_BLOCK == (int)TEAM_BLOCK, "teams are blocks as they are launched");

struct cuda {
	struct arena arena;
	const struct loops *l;
	const struct loop_kernel *kernel;
	int nkernel, repeat;
	const char *name;                   /* kernels are NAME_k0, ... */
	struct device_module *module, *own; /* NULL: all rows run on the processor; the module is another's, compiled ahead */
	size_t head, *at, nbytes;           /* what kernels raise, and scratch; by buffer: where its zone begins */
	unsigned char *copy;                /* the processor's */
};                                      /* of loops of any size the last two lines are of the call that runs */

/* ---- making it ---- */

static void lay_out(struct cuda *c, const struct loops *l)
{
	c->at = ARENA_NEW(&c->arena, size_t, MAX(l->nbuffer, 1));
	int64_t scratch = 0;
	for (int k = 0; k < c->nkernel; k++)
		scratch = MAX(scratch, emit_cuda_scratch(&c->kernel[k]));
	c->head = c->nbytes = ((size_t)scratch + CUDA_HEAD + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	CHECK(sizeof(struct raised) <= CUDA_HEAD);
	for (int b = 0; b < l->nbuffer; b++) {
		c->at[b] = c->nbytes;
		c->nbytes += (loop_buffer_bytes(&l->buffer[b]) + 2 * ZONE + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	}
	c->copy = arena_alloc(&c->arena, c->nbytes);
}

static bool is_device(const struct cuda *c, int k) { return c->l->ins[c->kernel[k].begin].op != LOOP_EXTERN; }

/* ---- text and code ---- */

/* The device's architecture, unless another one is asked for. */
static struct gpu_options with_arch(const struct gpu_options *o)
{
	struct gpu_options own = *o;
	own.arch = o->arch ? o->arch : device_arch();
	return own;
}

/* A program's part of a text, for o->arch. False: a kernel touches more buffers than one takes (err). */
static bool text_of(struct cuda_text *out, const struct loops *l, const struct gpu_options *o, struct arena *a, struct err *err)
{
	char name[BATCH_NAME];
	struct loop_kernel *kernel;
	struct strbuf text;
	*out = (struct cuda_text){.l = l, .nkernel = loops_kernels(&kernel, l, a), .name = "p"};
	out->kernel = kernel;
	for (int k = 0; k < out->nkernel; k++)
		if (kernel[k].nbuffer > MAX_POINTERS)
			return err_set(err, "a nest touches %d buffers, and a kernel takes %d", kernel[k].nbuffer, MAX_POINTERS);
	sb_init(&text);
	sb_printf(&text, "sm_%d%s\n", o->arch, o->fast ? " fast" : "");
	loops_emit_cuda_body(&text, out);
	batch_name(name, &text);
	out->name = arena_strdup(a, name);
	sb_free(&text);
	return true;
}

/* Does anything of it run on the device? */
static bool has_kernels(const struct cuda_text *t)
{
	bool any = false;
	for (int k = 0; k < t->nkernel; k++)
		any |= t->l->ins[t->kernel[k].begin].op != LOOP_EXTERN;
	return any;
}

enum gpu_end cuda_compile(
	struct strbuf *names, struct strbuf *cubin, const struct loops *const *l, int n, const struct gpu_options *o, struct err *err)
{
	struct arena a;
	struct strbuf text;
	int ntext = 0;
	arena_init(&a);
	sb_init(&text);
	struct cuda_text *each = ARENA_NEW(&a, struct cuda_text, MAX(n, 1));
	for (int i = 0; i < n; i++) {
		bool add = text_of(&each[ntext], l[i], o, &a, NULL) && has_kernels(&each[ntext]);
		for (int k = 0; add && k < ntext; k++)
			add = !str_eq(each[k].name, each[ntext].name);
		if (add)
			sb_printf(names, "%s\n", each[ntext++].name);
	}
	loops_emit_cuda(&text, each, ntext);
	const enum gpu_end end = nvrtc_compile(cubin, text.s, GPU_CUBIN, o, err);
	sb_free(&text);
	arena_free(&a);
	return end;
}

/* ---- ahead ---- */

/* What a batch's file holds: names, a line each; the hash of what follows; the cubin. */
struct cuda_batch {
	struct device_module *module;
	char *names;
};

static void put_batch(struct strbuf *file, const struct strbuf *names, const struct strbuf *cubin)
{
	const struct hash128 hash = hash_bytes(cubin->s, cubin->len);
	wire_put_str(file, names->s);
	wire_put_blob(file, &hash, sizeof hash);
	wire_put_blob(file, cubin->s, cubin->len);
}

/* The cubin of a file that is whole, in a, 16-byte aligned; NULL: it is not. */
static const void *take_batch(const char **names, const struct strbuf *file, struct arena *a)
{
	struct wire w = {.p = (const uint8_t *)file->s, .end = (const uint8_t *)file->s + file->len};
	size_t nhash, ncubin;
	*names = wire_str(&w, a);
	const void *hash = wire_blob(&w, a, &nhash), *cubin = wire_blob(&w, a, &ncubin);
	if (w.bad || w.p != w.end || nhash != sizeof(struct hash128))
		return NULL;
	const struct hash128 is = hash_bytes(cubin, ncubin);
	return memcmp(&is, hash, sizeof is) == 0 ? cubin : NULL;
}

static void *open_batch(const char *path)
{
	struct cuda_batch *b = NULL;
	struct strbuf file;
	struct arena a;
	const char *names;
	sb_init(&file);
	arena_init(&a);
	const void *cubin = sb_read_file(&file, path, MAX_BATCH_BYTES, NULL) ? take_batch(&names, &file, &a) : NULL;
	struct device_module *module = cubin ? device_load(cubin, NULL) : NULL;
	if (module) {
		b = xmalloc(sizeof *b);
		*b = (struct cuda_batch){.module = module, .names = xstrdup(names)};
	}
	arena_free(&a);
	sb_free(&file);
	return b;
}

/* Asks what this process remembers, never the driver, which a process that fork() made must leave alone. */
static void *find_in_batch(void *batch, const char *name)
{
	const struct cuda_batch *b = batch;
	const char *at = strstr(b->names, name);
	return at && at[strlen(name)] == '\n' ? b->module : NULL;
}

static void close_batch(void *batch)
{
	struct cuda_batch *b = batch;
	device_unload(b->module);
	free(b->names);
	free(b);
}

const struct batch_kind cuda_batches = {open_batch, find_in_batch, close_batch};

bool cuda_can_run(const struct gpu_options *o, struct err *err) { return device_open(err) && nvrtc_open(o->search, err); }

bool cuda_is_ahead(const struct batches *ahead, const struct loops *l, const struct gpu_options *o)
{
	const struct gpu_options own = with_arch(o);
	struct cuda_text text;
	struct arena a;
	arena_init(&a);
	const bool is = !text_of(&text, l, &own, &a, NULL) || !has_kernels(&text) || batches_find(ahead, text.name);
	arena_free(&a);
	return is;
}

bool cuda_build_all(const char *path, const struct loops *const *l, int n, const struct gpu_options *o, struct err *err)
{
	const struct gpu_options own = with_arch(o);
	struct strbuf names, cubin, file;
	sb_init(&names);
	sb_init(&cubin);
	sb_init(&file);
	bool ok = cuda_compile(&names, &cubin, l, n, &own, err) == GPU_OK;
	if (ok) {
		put_batch(&file, &names, &cubin);
		ok = sb_write_file(path, &file, err);
	}
	sb_free(&names);
	sb_free(&cubin);
	sb_free(&file);
	return ok;
}

/* ---- making it ---- */

static enum gpu_end compile_alone(struct cuda *c, const struct gpu_options *o, struct err *err)
{
	struct strbuf names, cubin;
	sb_init(&names);
	sb_init(&cubin);
	const enum gpu_end end = cuda_compile(&names, &cubin, &c->l, 1, o, err);
	c->module = end == GPU_OK ? device_load(cubin.s, err) : NULL;
	c->own = c->module;
	if (end == GPU_OK && !c->module)
		BUG("%s", err->msg);
	sb_free(&names);
	sb_free(&cubin);
	return end;
}

static enum gpu_end make(struct cuda *c, const struct gpu_options *o, const struct batches *ahead, struct err *err)
{
	struct gpu_options own;
	struct cuda_text text;
	if (!device_open(err))
		return GPU_MISSING;
	own = with_arch(o);
	if (!text_of(&text, c->l, &own, &c->arena, err))
		return GPU_MISSING;
	c->kernel = text.kernel;
	c->nkernel = text.nkernel;
	c->name = text.name;
	lay_out(c, c->l);
	if (!has_kernels(&text))
		return GPU_OK;
	c->module = batches_find(ahead, c->name);
	return c->module ? GPU_OK : compile_alone(c, &own, err);
}

enum gpu_end cuda_open(struct cuda **out, const struct loops *l, const struct gpu_options *o, const struct batches *ahead, struct err *err)
{
	struct cuda *c = xmalloc(sizeof *c);
	*c = (struct cuda){.l = l, .repeat = o->repeat};
	arena_init(&c->arena);
	const enum gpu_end end = make(c, o, ahead, err);
	*out = end == GPU_OK ? c : NULL;
	if (end != GPU_OK)
		cuda_close(c);
	return end;
}

void cuda_close(struct cuda *c)
{
	if (!c)
		return;
	device_unload(c->own);
	arena_free(&c->arena);
	free(c);
}

/* ---- running it ---- */

static void put_on_device(const struct cuda *c, struct loop_frame *f, device_address memory)
{
	for (int b = 0; b < f->loops->nbuffer; b++)
		memcpy(c->copy + c->at[b], f->data[b] - ZONE, loop_buffer_bytes(&f->loops->buffer[b]) + 2 * ZONE);
	device_write(memory, c->copy, c->nbytes);
}

/* False: a kernel raised. */
static bool take_from_device(const struct cuda *c, struct loop_frame *f, device_address memory)
{
	struct raised raised;
	int64_t position;
	device_read(c->copy, memory, c->nbytes);
	memcpy(&raised, c->copy, sizeof raised);
	if (raised.is) {
		CHECK(raised.ins >= 0 && raised.ins < f->loops->nins);
		const struct loop_ins *ins = &f->loops->ins[raised.ins];
		CHECK(loop_may_raise(ins->op));
		if (ins->op == LOOP_STATED ? loop_frame_stated(f, raised.ins, raised.v) : loop_frame_bound(&position, f, ins, raised.v))
			BUG("the GPU raised at position %lld, which is none to raise at", (long long)raised.v);
		return false;
	}
	for (int b = 0; b < f->loops->nbuffer; b++)
		memcpy(f->data[b] - ZONE, c->copy + c->at[b], loop_buffer_bytes(&f->loops->buffer[b]) + 2 * ZONE);
	return true;
}

/* In this call. */
static int64_t points_of(const struct loops *at, const struct loop_kernel *k)
{
	int64_t npoint = 1;
	for (int i = 0; i < k->nloop; i++)
		npoint *= loop_iterations(&at->ins[k->loop[i]]);
	return npoint;
}

static void launch(const struct cuda *c, struct loop_frame *f, int k, device_address memory)
{
	const struct loop_kernel *kernel = &c->kernel[k];
	const unsigned symbols = loops_symbols_of(c->l, kernel->begin, kernel->end);
	device_address pointer[MAX_POINTERS];
	void *argument[MAX_POINTERS + MAX_POLY_SYMBOLS + 2];
	char name[BATCH_NAME + 16];
	int n = 0;
	const int64_t npoint = points_of(f->loops, kernel), nthread = loops_threads(kernel, npoint);
	int64_t number = kernel->each > 1 ? npoint : nthread;
	if (nthread == 0)
		return;
	argument[n++] = &memory;
	argument[n++] = &number;
	for (int s = 0; s < c->l->nsymbol; s++)
		if (symbols & 1u << s)
			argument[n++] = &f->symbol[s];
	for (int i = 0; i < kernel->nbuffer; i++) {
		pointer[i] = memory + c->at[kernel->buffer[i]] + ZONE;
		argument[n++] = &pointer[i];
	}
	snprintf(name, sizeof name, "%s_k%d", c->name, k);
	device_launch(c->module, name, nthread, argument);
}

/* Kernels from k up to the next extern, which ends the stretch. */
static int run_stretch(const struct cuda *c, struct loop_frame *f, int k, device_address memory)
{
	int end = k;
	const double begin = clock_ms();
	for (int again = 0; again < MAX(c->repeat, 1); again++)
		for (end = k; end < c->nkernel && is_device(c, end); end++)
			launch(c, f, end, memory);
	device_wait();
	f->ms += (clock_ms() - begin) / MAX(c->repeat, 1);
	return end;
}

static bool run(const struct cuda *c, struct loop_frame *f)
{
	const device_address memory = device_memory(c->nbytes);
	memset(c->copy, 0, c->head);
	put_on_device(c, f, memory);
	for (int k = 0; k < c->nkernel;) {
		if (is_device(c, k)) {
			k = run_stretch(c, f, k, memory);
			continue;
		}
		if (!take_from_device(c, f, memory) || !loop_frame_call(f, f->loops->ins[c->kernel[k].begin].call))
			return false;
		put_on_device(c, f, memory);
		k++;
	}
	return take_from_device(c, f, memory);
}

bool cuda_run(struct loop_frame *f, void *cuda)
{
	struct cuda *c = cuda;
	if (!c->l->nsymbol)
		return run(c, f);
	struct arena_mark mark = arena_mark(&c->arena);
	lay_out(c, f->loops);
	const bool ran = run(c, f);
	arena_release(&c->arena, mark);
	return ran;
}
