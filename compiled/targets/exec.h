/* exec.h: running programs on targets: one slot = one persistent child that serves every target of one home
 * (target_same_home: family, version, device).
 * Hides what a target is. Nothing blocks but exec_run and exec_identify. */
#ifndef SCATTERPROOF_EXEC_H
#define SCATTERPROOF_EXEC_H

#include "compiled/targets/target.h"
#include "eager/lang/prog.h"
#include "eager/lang/result.h"

struct proc;
struct exec_options {
	const char *self;   /* path of this binary, for built-in targets */
	const char *python; /* --python; NULL: the target's own environment */
	int limit_ms;       /* per program; 0: the target's default */
	bool background;    /* others have the processor first; slowness is no hang */
	bool patient;       /* is it a hang, or was the machine slow? Programs have EXEC_PATIENCE times as long */
};
enum { EXEC_PATIENCE = 4 };

struct exec;
/* A slot for targets of t's family, version and device. NULL: it cannot exist on this machine (no environment): err says why. */
struct exec *exec_open(const struct target *t, const struct exec_options *o, struct err *err);
void exec_close(struct exec *e);
bool exec_warm(struct exec *e, struct err *err); /* starts the child now; does not wait for it */

/* A name is what runs: waits for the child (started if need be) to say which version it is. */
enum exec_identity {
	EXEC_IDENTIFIED, /* t->version is that version, without local suffix ("2.11.0"); families without versions: "" as before */
	EXEC_BROKEN,     /* it does not start, or the device is missing */
	EXEC_OTHER       /* it is not the version that t names */
};
/* t: any target of the slot. err: the sentence for the latter two. */
enum exec_identity exec_identify(struct target *t, struct exec *e, struct err *err);

/* Does t not get p, because p would take its device down? Such a program is unsupported there. */
bool exec_withholds(const struct prog *p, const struct target *t);

/* The program must stay unchanged until exec_take. One at a time. A child that is not the version that t names gives RES_HARNESS with
 * bad_target. */
void exec_submit(struct exec *e, const struct prog *p, const struct target *t);
/* The same, for the first of many: next are the texts of the programs that come after it on t, for a stage that compiles several in one go
 * (target_stage's ahead). It changes when what is compiled, and no result. */
void exec_submit_first(struct exec *e, const struct prog *p, const struct target *t, const char *const *next, int nnext);
bool exec_ready(const struct exec *e);
void exec_take(struct result *out, struct arena *a, struct exec *e);
void exec_await(struct result *out, struct arena *a, struct exec *e); /* waits, then takes */
void exec_run(struct result *out, struct arena *a, struct exec *e, const struct prog *p, const struct target *t);
struct proc *exec_proc(struct exec *e); /* for proc_wait over several slots */
/* "torch 2.11.0+cpu, python 3.11.2" and "cpu"; empty before the first answer. */
void exec_versions(struct strbuf *versions, struct strbuf *device, const struct exec *e);

#endif
