/* cuda_on_cpu.hpp: what CUDA text (compiled/loops/emit_cuda.h) needs to be C++ of the processor; cuda_on_cpu.c has it compiled so.
 * A block's 256 threads are contexts of one thread, run one at a time in an order made of hashes, each as far as the next place where
 * threads meet. One block after another runs, in such an order, too. Shared memory is filled with 0xa5 before each block.
 * Aborts where threads meet that would not on a GPU: a barrier that not all threads of a block reach, a shuffle that not all of a warp reach. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#undef isnan
#define __global__
#define __noinline__    __attribute__((noinline))
#define __forceinline__ inline
#define __shared__   static __attribute__((section("shared")))

namespace cpu {
enum { THREADS = 256, WARP = 32, STACK = 256 << 10 };
enum state { READY, AT_BARRIER, AT_SHUFFLE, DONE };
struct thread {
	ucontext_t at;
	state is;
	char *stack;
};
static thread threads[THREADS];
static ucontext_t scheduler;
static unsigned running, hash = 1;
static unsigned long lane[THREADS];
static void (*call)(void **);
static void **arguments;

static void entry()
{
	call(arguments);
	threads[running].is = DONE;
}

static void meet(state where)
{
	threads[running].is = where;
	swapcontext(&threads[running].at, &scheduler);
}

static void fail(const char *what)
{
	fprintf(stderr, "CUDA on the processor: %s\n", what);
	abort();
}

static unsigned below(unsigned n)
{
	hash ^= hash << 13, hash ^= hash >> 17, hash ^= hash << 5;
	return hash % n;
}

static void shuffle(unsigned *order, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = below(i + 1);
		order[i] = order[k];
		order[k] = i;
	}
}

static unsigned count(unsigned begin, unsigned n, state is)
{
	unsigned k = 0;
	for (unsigned i = begin; i < begin + n; i++)
		k += threads[i].is == is;
	return k;
}

static void release(unsigned begin, unsigned n)
{
	for (unsigned i = begin; i < begin + n; i++)
		threads[i].is = READY;
}
} // namespace cpu

static struct {
	unsigned x;
} threadIdx, blockIdx, blockDim = {cpu::THREADS};

namespace cpu {
static void run_ready()
{
	unsigned order[THREADS];
	shuffle(order, THREADS);
	for (unsigned i : order)
		if (threads[i].is == READY) {
			running = threadIdx.x = i;
			swapcontext(&scheduler, &threads[i].at);
		}
}

/* Those that all wait for each other go on; false: none is left. */
static bool go_on()
{
	bool met = false;
	for (unsigned w = 0; w < THREADS; w += WARP) {
		const unsigned n = count(w, WARP, AT_SHUFFLE);
		if (n != 0 && n != WARP)
			fail("not all threads of a warp reach a shuffle");
		if (n == WARP)
			release(w, WARP);
		met |= n == WARP;
	}
	if (met)
		return true;
	const unsigned n = count(0, THREADS, AT_BARRIER);
	if (n != 0 && n != THREADS)
		fail("not all threads of a block reach a barrier");
	if (n)
		release(0, THREADS);
	return n != 0;
}

extern "C" char __start_shared[] __attribute__((weak)), __stop_shared[] __attribute__((weak));

static void run_block(unsigned block)
{
	blockIdx.x = block;
	memset(__start_shared, 0xa5, (size_t)(__stop_shared - __start_shared));
	for (thread &t : threads) {
		if (!t.stack)
			t.stack = (char *)malloc(STACK);
		getcontext(&t.at);
		t.at.uc_stack.ss_sp = t.stack;
		t.at.uc_stack.ss_size = STACK;
		t.at.uc_link = &scheduler;
		t.is = READY;
		makecontext(&t.at, entry, 0);
	}
	do
		run_ready();
	while (go_on());
}

static void launch(unsigned blocks, void (*f)(void **), void **a)
{
	unsigned *order = (unsigned *)malloc(blocks * sizeof *order);
	call = f;
	arguments = a;
	shuffle(order, blocks);
	for (unsigned i = 0; i < blocks; i++)
		run_block(order[i]);
	free(order);
}

template <class... A, size_t... I> static void apply(void (*kernel)(A...), void **a, std::index_sequence<I...>)
{
	kernel(*(A *)a[I]...);
}
template <class... A> static void with(void (*kernel)(A...), void **a) { apply(kernel, a, std::index_sequence_for<A...>()); }
} // namespace cpu

static void __syncthreads() { cpu::meet(cpu::AT_BARRIER); }
static void __threadfence() {}
static void __nanosleep(unsigned) {}

template <class T> static T __shfl_xor_sync(unsigned, T v, int mask)
{
	static_assert(sizeof v <= sizeof *cpu::lane, "a lane holds it");
	memcpy(&cpu::lane[cpu::running], &v, sizeof v);
	cpu::meet(cpu::AT_SHUFFLE);
	memcpy(&v, &cpu::lane[cpu::running ^ (unsigned)mask], sizeof v);
	cpu::meet(cpu::AT_SHUFFLE);
	return v;
}

template <class T> static T atomicExch(T *p, T v)
{
	const T was = *p;
	*p = v;
	return was;
}
template <class T> static T atomicAdd(T *p, T v) { return atomicExch(p, *p + v); }
template <class T> static T atomicCAS(T *p, T is, T v) { return *p == is ? atomicExch(p, v) : *p; }

/* What cuda_on_cpu.c asks for by name. */
#define KERNEL_ON_CPU(space, name)                                                                                                                \
	extern "C" void name##_on_cpu(unsigned blocks, void **a)                                                                               \
	{                                                                                                                                      \
		cpu::launch(blocks, [](void **given) { cpu::with(space::name, given); }, a);                                                              \
	}
