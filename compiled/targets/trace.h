/* trace.h: a function of the user's, in a file of the language that a family's programs are written in: run, traced and compared by that
 * family, in a process of its own that ends with the answer. Whoever asks knows neither the language nor the family (driver.h: trace). */
#ifndef SCATTERPROOF_TRACE_H
#define SCATTERPROOF_TRACE_H

#include "compiled/targets/target.h"
#include "eager/lang/dtype.h"

struct exec_options;

enum trace_task {
	TRACE_EAGER,  /* run it, with its backward: results */
	TRACE_GRAPHS, /* what a compiler is given: graph */
	TRACE_COMPARE /* run it compiled by `target`: what differs from `eager`, the results of TRACE_EAGER */
};
struct trace_request {
	enum trace_task task;
	const struct target *target; /* its home runs the function; its stage and options compile it (COMPARE) */
	const char *file, *name;     /* file: absolute */
	const char *args;            /* "": the name gives function and inputs */
	bool decompose;              /* GRAPHS: with the decompositions of the compiler that generates code */
	const void *eager;
	size_t neager;
};

enum trace_status {
	TRACE_OK,
	TRACE_SCRIPT,   /* the file, the name or the inputs are wrong, or the function raises without any compiler */
	TRACE_COMPILER, /* the compiler raised */
	TRACE_OTHER,    /* COMPARE: nothing can be compared: this process made other inputs, or nothing was compiled */
	TRACE_CRASH,    /* the process died, or took too much memory */
	TRACE_HANG,     /* or time */
	TRACE_BROKEN    /* it does not start, or answers rubbish */
};

/* An input of a graph: what its memory held when the graph was called first. */
struct traced_input {
	const char *name;
	bool given; /* it was small enough */
	enum dtype dtype;
	int64_t ncell; /* from the tensor's first cell on */
	const void *cells;
};
struct traced_graph {
	const char *kind; /* "forward", "backward", "inference" */
	const char *text; /* as the family prints it; fx.h reads it */
	int ninput;
	struct traced_input *input;
};
struct trace_difference {
	const char *tensor, *what;
};
struct traced {
	enum trace_status status;
	const char *message;            /* one sentence, "" if OK */
	const char *output;             /* the end of what the process printed */
	char version[MAX_VERSION_TEXT]; /* "2.11.0"; "": it did not say */
	const char *versions;           /* "torch 2.11.0+cpu, python 3.11.2" */
	const void *results;            /* EAGER */
	size_t nresults;
	int ngraph; /* GRAPHS */
	struct traced_graph *graph;
	int ncompared, ndifference; /* COMPARE: tensors */
	double largest;             /* difference, as a part of the tensor's largest number */
	const char *note;           /* "; numbers that are not judged: …", "" */
	struct trace_difference *difference;
};

#endif
