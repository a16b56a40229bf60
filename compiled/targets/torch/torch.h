/* torch.h: running a program on PyTorch: the request, and the answer as a `struct result`.
 *
 * The caller (who knows programs) fills a torch_request; the Python text in it is what a reproducer contains, byte for byte:
 *     def f(in0, in1, …):        returns a tuple of nouts tensors; takes the inputs with to_f, in order
 *     def cotangents(…):         returns nbackward tensors; takes the inputs with to_cotangents, in order. Only with backward.
 * The worker (worker.py, embedded) does for each call: build the inputs on fresh storages (set_, never a view; leaves for
 * requires_grad), outs = F(…) with F = f or torch.compile(f, …), then cotangents(…) under no_grad, then
 * torch.autograd.backward([outs[i] for i in backward], cotangents), then report. In this order; a reproducer does the same.
 *
 * What becomes what:
 *     f, cotangents or backward raised            RES_RAISED       "RuntimeError: text"
 *     the compiler raised, a row of refusals.def  RES_UNSUPPORTED  the row's reason
 *     the compiler raised, no such row            RES_RAISED       "InductorError: text", compiling set: a finding
 *     a compiling stage that compiled no graph    RES_UNSUPPORTED  never an agreement
 *     worker died / time / memory                 RES_CRASH / RES_HANG / RES_CRASH, message with the fact
 *     answer that does not decode or fit          RES_HARNESS
 *     an option unknown to this PyTorch           RES_HARNESS with bad_target
 * A program that must raise usually does so while it is compiled: that is for the caller.
 * On RES_RAISED the calls before the one that raised are reported (ncalls says how many). */
#ifndef SCATTERPROOF_TORCH_H
#define SCATTERPROOF_TORCH_H

#include "eager/base/proc.h"
#include "compiled/targets/target.h"
#include "eager/lang/result.h"

extern const struct target_driver torch_driver;

struct torch_input {
	const char *name;
	bool symbol; /* an int, not a tensor: only to_f, to_cotangents count of what follows */
	bool to_f, to_cotangents;
	bool requires_grad;
	int storage; /* index of its storage; two inputs may share one */
};
struct torch_bytes {
	const void *data;
	size_t nbytes;
};
struct torch_call {
	const struct meta *meta;           /* per input; symbols: ignored. device DEV_RUN: the target's */
	const int64_t *symbol;             /* per input; NULL if no input is a symbol */
	const struct torch_bytes *storage; /* per storage */
};
struct torch_request {
	struct target target;
	const char *source;
	int ninputs, nstorages, nouts, ncalls, nbackward;
	const struct torch_input *input;
	const struct torch_call *call; /* call 0: the program's own data */
	const int *backward;           /* output indices that get the cotangents, in order; nbackward 0: no backward */
	bool late;                     /* the backward of each call runs after the forward of the next one */
	int limit_ms;                  /* time limit; 0: a default by stage. The first compile of a child gets 120 s more. */
};

/* What a worker said about itself; texts are cut to fit. */
struct torch_hello {
	char torch[64], git[64], python[32], cuda[32], device[96], module[96], no_cuda[128];
}; /* module: "NAME 1.2" of +import, or ""; no_cuda: why there is no CUDA device, or "" */

/* Spec of a worker: serves every stage of one PyTorch installation on one device. `python` and the arena (which holds the
 * strings) outlive the slot. module: imported before anything is compiled (it registers a backend of Dynamo), also from the directory
 * that is current now; NULL: none. Adjust limits in *out afterwards if wanted. */
void torch_spec(struct proc_spec *out, struct arena *a, const char *python, const char *module);
bool torch_hello(struct torch_hello *out, const struct proc *p); /* false: no hello yet, or rubbish */

bool torch_option_of_dynamo(const char *name); /* it says how torch.compile is called, and is none of Inductor's */
bool torch_probe_changes(const char *name);    /* a probe of that name changes what is compiled */

int torch_limit_ms(const struct target *t); /* the time limit of the first program of a child */

/* Checks the request (our bug if it is inconsistent: CHECK) and submits it. */
bool torch_submit(struct proc *p, const struct torch_request *req, struct err *err);
/* When proc_ready(p): turns what happened into *out (memory in a) and releases the slot. */
void torch_take(struct result *out, struct arena *a, struct proc *p, const struct torch_request *req);
/* submit + wait + take, for callers with one program in hand. Never fails: an impossible start is RES_HARNESS. */
void torch_run(struct result *out, struct arena *a, struct proc *p, const struct torch_request *req);

#endif
