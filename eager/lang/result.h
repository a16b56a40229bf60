/* result.h: what one execution of a program reports, whoever executed it (eager interpreter, built-in compiler, PyTorch).
 * The comparison (oracle/compare) reads this; the targets (compiled/targets) fill it. Everything lives in one arena.
 *
 * Tensor data is LOGICAL: numel elements in row-major order of the logical index, whatever the strides. Inputs after the call
 * are PHYSICAL: the storage's cells, because gaps and overlaps must be untouched too. */
#ifndef SCATTERPROOF_RESULT_H
#define SCATTERPROOF_RESULT_H

#include "eager/lang/meta.h"

enum { MAX_RESULT_TEXT = 64 << 10 };    /* bytes of a message or of a mismatch's text that are kept of what a child says */
enum { MAX_ARTIFACT_TEXT = 256 << 10 }; /* bytes of an artifact's text */
enum { MAX_RESULT_SHAPES = 128 };
enum result_status {
	RES_OK,          /* every call ran and reports */
	RES_RAISED,      /* the program raised: message holds "Class: text" */
	RES_UNSUPPORTED, /* the target refuses this program for a stated reason (message): not a bug */
	RES_CRASH,       /* the target process died (message: signal, last stderr) */
	RES_HANG,        /* the time limit was reached and the process group killed */
	RES_HARNESS,     /* our own fault or an answer that makes no sense: wrong sizes, rubbish, worker would not start */
	RES_INVARIANT,   /* a compiler that checks itself found itself wrong (message, violation); nothing was run */
	NRES
};
extern const char *const result_status_name[NRES];

struct result_tensor {
	bool present;       /* false: None (a gradient that does not exist) */
	bool requires_grad; /* outputs only */
	struct meta meta;   /* dtype, sizes, strides, offset as reported; device DEV_RUN if it is the run's device */
	/* Which memory: tensors of one call with equal storage ids share a storage. Ids 0..nstorages-1 are the program's input
	 * storages in order (see prog_storages); greater ids are fresh ones. */
	int storage;
	size_t nbytes;    /* numel * itemsize; checked by whoever fills this */
	const void *data; /* NULL if device is meta */
};

struct result_storage {
	size_t nbytes;
	const void *data;
};

/* What a call left behind. */
enum tensor_role { TR_OUTPUT, TR_GRADIENT, TR_STORAGE };
enum { NTENSOR_ROLES = TR_STORAGE + 1 };

struct result_call {
	int nouts, ngrads, nstorages;
	struct result_tensor *out;      /* one per value of `return` */
	struct result_tensor *grad;     /* one per input node that has requires_grad=True, in node order; 0 if no backward */
	struct result_storage *storage; /* every input storage after the call (after backward) */
	double run_ms;
};

/* A tensor that a call left behind, or an input's storage, which was another one when all calls had run: nobody may touch it by then. The
 * call reports it as it was. */
struct result_change {
	int call, index; /* among the call's outputs, gradients or storages */
	enum tensor_role role;
	const char *what;              /* a change that no member below can hold ("x has sizes [2]"); "" if there is none */
	struct result_tensor tensor;   /* as it is at the end; its storage id means nothing */
	struct result_storage storage; /* TR_STORAGE: the same */
};

/* torch:fake and torch:aot_fake: an operator whose predicted meta differs from the real one. */
struct result_meta_mismatch {
	const char *op; /* "aten.slice_scatter.default" */
	bool backward;
	int rank;           /* 1: the fake overlaps itself and the real does not; 2: size or dtype; 3: strides */
	const char *detail; /* "fake f32[4,13][0,1] real f32[4,13][13,1]" */
	bool layouts;       /* fake and real are known: neither is missing, of symbolic sizes or of a dtype that we do not have */
	struct meta fake, real;
};

/* What a target was asked for beside its results (probes, driver.h): graphs, generated code. */
struct result_artifact {
	const char *name, *text; /* "backward graph" */
};

/* What a compiler found broken behind one of its steps. */
struct result_violation {
	const char *invariant; /* "I2" */
	const char *step;      /* "cse" */
	const char *op;        /* of the row, "add.Tensor"; "" if it names none */
};

struct result {
	enum result_status status;
	bool compiling;      /* RAISED, or UNSUPPORTED for what was raised: while it was being compiled, not by the code that came of it */
	bool device_lost;    /* CRASH: the device, with whatever process drives it */
	bool bad_target;     /* RES_HARNESS whatever the program: the target's name asks for an option that it does not have */
	const char *message; /* "" if nothing to say */
	struct result_violation violation; /* INVARIANT: what message says */
	const char *stderr_tail;           /* last bytes of the target's stderr, "" if none */
	int ncalls;
	struct result_call *call; /* call 0 is the program's own data; 1.. are its `call` lines */
	int nchange;              /* each tensor at most once */
	struct result_change *change;
	int nmismatch;
	struct result_meta_mismatch *mismatch;
	int nartifact; /* also of a program that raised */
	struct result_artifact *artifact;
	int nshape; /* of the loops that it became, if the target says: hashes, each once (compiled/loops/shape.h) */
	uint64_t *shape;
	int ngraphs;                  /* graphs compiled; 0 for stages that compile nothing */
	double compile_ms, target_ms; /* time inside the target; target_ms includes compile_ms */
};

/* The artifact of that name, "" if there is none. */
static inline const char *result_text(const struct result *r, const char *name)
{
	for (int i = 0; i < r->nartifact; i++)
		if (str_eq(r->artifact[i].name, name))
			return r->artifact[i].text;
	return "";
}

#endif
