/* cuda.c: see cuda.h. All memory of a program is one piece, on the device and beside it: what a kernel raised first and scratch
 * (emit_cuda.h), then the buffers. */
#include "compiled/loops/cuda.h"

#include <stdlib.h>

#include "compiled/gpu/device.h"
#include "compiled/loops/emit_cuda.h"
#include "compiled/loops/symbols.h"
#include "eager/base/clock.h"
#include "eager/run/zones.h"

enum { ALIGNMENT = 256, MAX_POINTERS = 480 }; /* 4 KiB of arguments */
_Static_assert((int)DEVICE_BLOCK == (int)TEAM_BLOCK, "teams are blocks as they are launched");

struct cuda {
	struct arena arena;
	const struct loops *l;
	struct loop_kernel *kernel;
	int nkernel, repeat;
	struct device_module *module; /* NULL: all rows run on the processor */
	size_t head, *at, nbytes;     /* what kernels raise, and scratch; by buffer: where its zone begins */
	unsigned char *copy;          /* the processor's */
};                                /* of loops of any size: of the call that runs */

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

static bool kernels_fit(const struct cuda *c, struct err *err)
{
	for (int k = 0; k < c->nkernel; k++)
		if (c->kernel[k].nbuffer > MAX_POINTERS)
			return err_set(err, "a nest touches %d buffers, and a kernel takes %d", c->kernel[k].nbuffer, MAX_POINTERS);
	return true;
}

static enum gpu_end make(struct cuda *c, const struct gpu_options *o, struct err *err)
{
	struct strbuf text, cubin;
	enum gpu_end end = GPU_OK;
	bool any = false;
	if (!device_open(err) || !kernels_fit(c, err))
		return GPU_MISSING;
	lay_out(c, c->l);
	for (int k = 0; k < c->nkernel; k++)
		any |= is_device(c, k);
	if (!any)
		return GPU_OK;
	sb_init(&text);
	sb_init(&cubin);
	loops_emit_cuda_head(&text);
	loops_emit_cuda(&text, c->l, c->kernel, c->nkernel, "p");
	struct gpu_options own = *o;
	own.arch = device_arch();
	end = nvrtc_compile(&cubin, text.s, GPU_CUBIN, &own, err);
	if (end == GPU_OK)
		c->module = device_load(cubin.s);
	sb_free(&text);
	sb_free(&cubin);
	return end;
}

enum gpu_end cuda_open(struct cuda **out, const struct loops *l, const struct gpu_options *o, struct err *err)
{
	struct cuda *c = xmalloc(sizeof *c);
	*c = (struct cuda){.l = l, .repeat = o->repeat};
	arena_init(&c->arena);
	c->nkernel = loops_kernels(&c->kernel, l, &c->arena);
	const enum gpu_end end = make(c, o, err);
	*out = end == GPU_OK ? c : NULL;
	if (end != GPU_OK)
		cuda_close(c);
	return end;
}

void cuda_close(struct cuda *c)
{
	if (!c)
		return;
	device_unload(c->module);
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
		CHECK(raised.ins >= 0 && raised.ins < f->loops->nins && f->loops->ins[raised.ins].op == LOOP_BOUND);
		if (loop_frame_bound(&position, f, &f->loops->ins[raised.ins], raised.v))
			BUG("the GPU raised at position %lld, which is none to raise at", (long long)raised.v);
		return false;
	}
	for (int b = 0; b < f->loops->nbuffer; b++)
		memcpy(f->data[b] - ZONE, c->copy + c->at[b], loop_buffer_bytes(&f->loops->buffer[b]) + 2 * ZONE);
	return true;
}

/* In this call. */
static int64_t threads_of(const struct loops *at, const struct loop_kernel *k)
{
	int64_t n = k->team;
	for (int i = 0; i < k->nloop; i++)
		n *= at->ins[k->loop[i]].imm;
	return n;
}

static void launch(const struct cuda *c, struct loop_frame *f, int k, device_address memory)
{
	const struct loop_kernel *kernel = &c->kernel[k];
	const unsigned symbols = loops_symbols_of(c->l, kernel->begin, kernel->end);
	device_address pointer[MAX_POINTERS];
	void *argument[MAX_POINTERS + MAX_POLY_SYMBOLS + 2];
	char name[40];
	int n = 0;
	int64_t nthread = threads_of(f->loops, kernel);
	if (nthread == 0)
		return;
	argument[n++] = &memory;
	argument[n++] = &nthread;
	for (int s = 0; s < c->l->nsymbol; s++)
		if (symbols & 1u << s)
			argument[n++] = &f->symbol[s];
	for (int i = 0; i < kernel->nbuffer; i++) {
		pointer[i] = memory + c->at[kernel->buffer[i]] + ZONE;
		argument[n++] = &pointer[i];
	}
	snprintf(name, sizeof name, "p_k%d", k);
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
