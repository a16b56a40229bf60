/* driver.h: one family of targets: everything that differs from family to family, in one object. A family is a folder here and a row of
 * target_drivers (target.c); nothing outside its folder names it or looks into its targets' names.
 *
 * What a driver must give is in this struct; members that may be NULL say so, and what is then done. python/ is the smallest family that
 * starts an interpreter. */
#ifndef SCATTERPROOF_DRIVER_H
#define SCATTERPROOF_DRIVER_H

#include "compiled/targets/target.h"
#include "compiled/targets/trace.h"
#include "eager/base/proc.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"
#include "eager/lang/target_facts.h"

/* A legitimate difference or a known refusal concerns its stage and every later one of the ladder; one of `plain`, what the stages that
 * compile nothing have no kernel for on that device. A compiler that says so where the plain stage runs is not excused. */
struct target_freedom {
	unsigned bit;
	const char *stage, *reason, *source;
};
struct target_refusal {
	const char *stage, *fragment, *reason, *source;
	bool plain;
	enum target_device device;
};

/* Something of a stage that an option of the target's name switches off, or makes plainer, by itself. Coarse ones come first. */
struct target_knob {
	const char *stage; /* it takes the option; others that do have rows of their own */
	const char *option, *value;
	const char *what;      /* "fusion of several kernels into one" */
	const char *subsystem; /* applied one by one: what PROBE_FIRST counts. NULL: a single switch */
};

/* What a target can be asked beside its results, by options of its name; answers are the result's artifacts. */
enum target_probe_kind {
	PROBE_KEEP,     /* artifacts "forward graph", "backward graph", "forward code", "backward code", "operators" (as far as there are any;
	                 * others may be named "… graph", "… code"); a line of "operators": fw|bw NODE OPERATOR PREDICTED-META */
	PROBE_CLONE,    /* what an operator, or the one node %NODE, of the forward or backward graph returns is copied before it is read */
	PROBE_FALLBACK, /* the plain stage's kernel runs an operator */
	PROBE_FIRST,    /* of a knob's subsystem only so many applications */
	PROBE_EXCUSE,   /* artifact "excuse": "assert_close: equal|MESSAGE", "same: equal|differs": what the family's own comparisons say */
	PROBE_VALUES,   /* artifact "values": which node of the graphs that the stage compiles is the first whose value is wrong; a line is
	                 * fw|bw NODE OPERATOR VALUE ALONE LAYOUT PREDICTED REAL MADE INPUTS (suspect.h) */
	NPROBES
}; /* those that change something say in artifact "probe" in how many places: a line "clone bw aten.neg.default: 1 place" each */
struct target_probe {
	enum target_probe_kind kind;
	bool backward;    /* CLONE: of which graph */
	const char *what; /* CLONE, FALLBACK: operator or %NODE as "operators" has it; FIRST: the subsystem */
	int first;        /* FIRST */
};

/* What a child said about itself. */
struct target_hello {
	char version[64];   /* "2.11.0+cu130"; "": the family has no versions */
	char versions[320]; /* everything known: "torch 2.11.0+cu130, python 3.11.2" */
	char device[96];    /* "cpu", "cuda, NVIDIA H200" */
	char missing[128];  /* why the device that the target names is not there; "": it is */
};

struct exec_options;

/* A version of a family on this machine. */
struct target_installed {
	const char *version; /* as in the target's name: "2.11.0" */
	const char *python;  /* path of its interpreter */
	const char *holds;   /* the version that is really there, "2.11.0+cu130"; "" if its files do not tell */
	const char *cuda;    /* version of CUDA it was built for, "13.0"; "" if without */
	const char *problem; /* why it cannot be used; "" if it can */
};

/* What a child is sent. */
struct target_request {
	const struct prog *p;
	const struct target *t;
	const struct said *said; /* p in the dialect that t's stage takes (dialect.h); NULL: it takes programs as they are */
	int limit_ms;            /* 0: the family's */
	/* Texts of the programs that come next on t, for stages that compile several in one go (target_stage's ahead). */
	const char *const *next;
	int nnext;
};

struct target_driver {
	const char *title; /* what people call it: "PyTorch" */
	const char *name;
	const char *default_version;      /* what a name without -version means; NULL: names carry no version */
	const char *const *version_steps; /* facts differ by version only from one of these to the next, ends with NULL. NULL: never */
	unsigned devices;                 /* mask of 1u << enum target_device */
	const struct target_stage *stage; /* ladder order; stage 0 is the plain one, if it does not compile (target_has_plain) */
	int nstages;
	bool plain_is_interpreter; /* the plain stage is the interpreter of eager/run, which whoever judges can ask, too */
	const struct target_freedom *freedom;
	int nfreedoms;
	const struct target_refusal *refusal; /* fragments of messages, raised while compiling or by plain stages, that are known refusals */
	int nrefusals;
	const char *const *wrapping; /* what frameworks write around the error that matters; ends with NULL. NULL: nothing */
	const char *package;         /* "/torch/": the part of a path in a traceback from which on it is the compiler's. NULL: none */

	/* May t have option o (its stage takes options, or o is one that every stage takes)? err: the sentence, beginning with the target. */
	bool (*option_fits)(const struct target *t, const struct target_option *o, const char *text, struct err *err);
	const char *subject_form; /* what names have in place of a stage, for people: "FILE.py". NULL: nothing */
	const struct target_knob *knob;
	int nknobs;
	/* The option that asks p of t. False: t's stage has no such probe. NULL: no stage has any. */
	bool (*probe)(struct target_option *out, const struct target *t, const struct target_probe *p);
	/* Reads what stands between ':' and '@' or '+' into t->stage and t->subject. NULL: it is the name of a stage. */
	bool (*subject)(struct target *t, const char *text, size_t n, const char *target, struct err *err);
	/* Is the name as a whole right, now that all of it is read? NULL: it is. */
	bool (*complete)(const struct target *t, const char *text, struct err *err);
	const char *const *of_child; /* options that a child is started with, so that it serves no others; ends with NULL. NULL: none */
	/* How it computes, and as which version's eager it refuses programs; freedoms are added by target_facts. */
	void (*facts)(struct target_facts *out, const struct target *t);

	/* The child that serves every target of t's version and device (and subject). Strings in a. False: it cannot be on this machine. */
	bool (*spec)(struct proc_spec *out, struct arena *a, const struct target *t, const struct exec_options *o, struct err *err);
	bool (*hello)(struct target_hello *out, const struct proc *p, const struct target *t); /* false: it has not said anything yet */
	/* Sends a program. *request: what take needs again, in a. False: it cannot be sent (err). */
	bool (*submit)(struct proc *child, const struct target_request *of, struct arena *a, void **request, struct err *err);
	/* proc_ready(child): what happened, memory in a; releases the child. */
	void (*take)(struct result *out, struct arena *a, struct proc *child, const struct prog *p, void *request);

	/* The versions on this machine, sorted, in a; how many. NULL: there is nothing to install. */
	int (*installed)(struct target_installed **out, struct arena *a);

	/* Appends what that interpreter's installation says that it runs on: lines about versions, the system, processors, libraries, fit to be
	 * shown to anybody. False: it says nothing. NULL: it cannot be asked. */
	bool (*about)(struct strbuf *out, const char *python);

	/* Runs, traces or compares a function of the user's (trace.h). NULL: the family takes no functions. */
	void (*trace)(struct traced *out, struct arena *a, const struct trace_request *r, const struct exec_options *o);

	/* Is every operator of p written in p's surface (on t), none of it as in aten? NULL: the family has no surfaces. */
	bool (*spelled)(const struct prog *p, const struct target *t);

	/* Stand-alone Python scripts (fuzz/triage/script.c, short_script.c). NULL: there are none. */
	const struct target_script *script;
};

/* What a short script looks at: whether the program runs as it must (RUN), or a fact of a tensor (tensor_name.h counts them so). */
struct script_look {
	enum script_at { LOOK_RUN, LOOK_OUTPUT, LOOK_GRADIENT, LOOK_STORAGE } at;
	int index;
	/* META: dtype, sizes and strides; MEMORY: which inputs and outputs share it. */
	enum script_fact { FACT_ELEMENTS, FACT_META, FACT_PRESENT, FACT_REQUIRES_GRAD, FACT_MEMORY } fact;
	bool random;          /* float inputs are not what the program says but random numbers */
	bool beside_right;    /* eager is wrong, too: the target is compared with `expected` */
	const char *expected; /* the elements as a nested list of Python; NULL: not known by one number each, or too many */
	const char *law;      /* why, "x.grad[i] is how often the result reads x[i]"; NULL: nothing short explains it */
	const char *raised; /* RUN: what the target raises, "IndexError: Dimension …": no other error is this bug; NULL: it does not raise */
};

/* The parts of a script that know the family; the rest (what must come out, what is claimed) is the same for all. */
struct target_script {
	/* What stands beside the target in a short script, which says its answer first: "eager", as in "eager: tensor([1.])". */
	const char *beside;
	/* Of the judged script, up to `running`; imports NULL: the family has none. */
	void (*imports)(struct strbuf *sb, const struct target *t); /* and global settings, DEVICE = … */
	/* The functions of the program, `under_test(fn)`, INPUTS, BACKWARD, CALLS. */
	bool (*program)(struct strbuf *sb, const struct prog *p, const struct target *t, struct arena *a, struct err *err);
	int (*limit_ms)(const struct target *t); /* of the first program of a process */
	/* What the stage does beside running the program, which the script does not; NULL: nothing. */
	const char *(*not_here)(const struct target *t);
	const char *(*making_inputs)(void); /* Python text: the functions that CALLS needs */
	const char *(*running)(void);       /* Python text: running, comparing, the exit code */
	/* Appends a script of a few lines that runs p, written in its surface, compares with eager, and ends with code 1 if what is looked at
	 * is wrong, 0 if not, 2 if it does not run through; a crash ends it by a signal. Whoever wants it runs it: it knows less than the
	 * judge. False: it would not be short, or would say less; err says why. */
	bool (*brief)(
		struct strbuf *sb, const struct script_look *look, const struct prog *p, const struct target *t, struct arena *a, struct err *err);
};

extern const struct target_driver *const target_drivers[];
extern const int ntarget_drivers;

const struct target_driver *target_driver_named(const char *name, size_t n); /* NULL: unknown */
bool target_refusal_concerns(const struct target_refusal *r, const struct target *t);
/* The refusal of t that message shows; NULL: none. */
const struct target_refusal *target_refusal_of(const struct target *t, const char *message);
/* Models of the GPUs that NVIDIA's driver lists, "A, B"; "" if none. Nothing is opened, so no promise that they work. */
void gpu_names(struct strbuf *out);
/* t with an option more, or with another value of it. False: t cannot have it (its stage does not take it, too many). What only the
 * compiler knows (whether this version has the option, the operator, the subsystem) its worker says: RES_HARNESS with bad_target. */
bool target_with(struct target *out, const struct target *t, const struct target_option *o, struct err *err);
struct target target_without(const struct target *t, int option); /* without the option of that index */
/* t asked p beside whatever its name asks already. False: it cannot be asked. */
bool target_probing(struct target *out, const struct target *t, const struct target_probe *p, struct err *err);
bool target_concerns(const struct target *t, const char *stage); /* a row of that stage holds for t */
/* From the current directory on: children change theirs. No symlink is resolved: a virtual environment is its path. */
void path_make_absolute(struct strbuf *path);

#endif
