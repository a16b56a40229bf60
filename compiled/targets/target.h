/* target.h: names of targets and what is known about their families.
 *
 *     family[-version]:stage[@device][+option=value…]      torch:inductor@cpu+freezing=1   torch-2.15.0:eager   builtin:eager
 *
 * A family is one way of executing programs (driver.h); its stages form a ladder ordered from plain to fully compiled, and the first rung
 * that goes wrong is to blame. Options may also be separated by commas: +backend=NAME,import=MODULE.
 * Two targets are the same if and only if target_print gives the same text: options are kept sorted by name. */
#ifndef SCATTERPROOF_TARGET_H
#define SCATTERPROOF_TARGET_H

#include "eager/base/base.h"

enum { MAX_TARGET_OPTIONS = 16, MAX_OPTION_TEXT = 96, MAX_VERSION_TEXT = 32, MAX_SUBJECT_TEXT = 512 };

enum target_device { TDEV_CPU, TDEV_CUDA, NTDEVICES };

struct target_driver; /* driver.h: what a family is */
struct target_facts;  /* eager/lang/target_facts.h: what the oracle must know */

/* The form in which a stage is given programs (dialect.h). */
enum target_dialect {
	TAKES_ATEN, /* the program as it is stored */
	TAKES_CORE  /* forward and backward in one, of rows of the core dialect, none of which writes but the copy_ to inputs at its end */
};

/* One stage of the ladder from plain to fully compiled; the first that goes wrong is to blame. */
struct target_stage {
	const char *name;
	const char *what;  /* one line for `scatterproof targets` */
	const char *where; /* how a title ends that is about it: "with torch.compile". NULL: "on FAMILY:STAGE" */
	bool compiles;     /* a run in which nothing was compiled says nothing */
	bool predicts;     /* compares the compiler's predicted metas with the real ones: cheap, ranks programs before they are compiled */
	bool options;      /* takes +name=value of the compiler */
	int ahead;         /* how many programs it compiles in one go, if it is told which come next (exec_submit_first); 0: one at a time */
	enum target_dialect takes;
	bool by_rows; /* plain, but each row is compiled by the compiler of the next stage, whose options may cure what is wrong here */
	int rungs;    /* so many stages of the table, from the first on, are the ladder below it */
};

struct target_option {
	char name[MAX_OPTION_TEXT], value[MAX_OPTION_TEXT];
};
struct target {
	const struct target_driver *driver;
	char version[MAX_VERSION_TEXT]; /* "" = the family's default */
	int stage;                      /* index into the family's ladder */
	char subject[MAX_SUBJECT_TEXT]; /* families whose names say what runs instead of a stage (a file); "" elsewhere */
	enum target_device device;
	int noptions;
	struct target_option option[MAX_TARGET_OPTIONS]; /* sorted by name, names unique */
};

/* err: what is wrong, and what would be right. Whether the compiler knows an option's name only its worker can say. */
bool target_parse(struct target *out, const char *text, struct err *err);
void target_print(struct strbuf *sb, const struct target *t);     /* canonical text; parses back to the same target */
const char *target_text(const struct target *t, struct arena *a); /* the same, in a */
const struct target_stage *target_stage(const struct target *t);
const char *target_family(const struct target *t); /* "torch": its driver's name */
bool target_has_versions(const struct target *t);  /* names of its family may carry one */
void target_facts(struct target_facts *out, const struct target *t);
/* One child serves both. */
bool target_same_home(const struct target *a, const struct target *b);
struct target target_plain(const struct target *t); /* the lowest rung, without options */
/* Its family has a stage that compiles nothing: it can be asked whether a program is right. Elsewhere only our own rules can. */
bool target_has_plain(const struct target *t);
/* That stage is not our interpreter: what our rules say of a program, it can refute. */
bool target_has_own_plain(const struct target *t);
/* If t raises where the plain stage does not, t is wrong: it compiles, or it stands beside the interpreter, which anybody can ask. */
bool target_must_run(const struct target *t);
bool target_predicting(struct target *out, const struct target *t);  /* the stage that predicts metas; false: its family has none */
const char *target_device_name(enum target_device d);                /* "cpu", "cuda" */
const char *target_option(const struct target *t, const char *name); /* value, or NULL */

/* The rungs below t, lowest first, same version and device, options dropped where a rung does not take them. Returns how
 * many were written to out (at most max). t itself is not among them. */
int target_ladder(struct target *out, int max, const struct target *t);

/* ${SCATTERPROOF_TARGETS:-${XDG_DATA_HOME:-$HOME/.local/share}/scatterproof/targets}: where scripts/setup-targets makes environments.
 * False: none of the three is set. */
bool targets_dir(struct strbuf *path, struct err *err);
/* The Python interpreter that runs t: `override` if not NULL (looked for in PATH if it has no slash), else FAMILY-VERSION/bin/python in
 * targets_dir. False: it is not there or not executable; err says which path and what to do. */
bool target_python(struct strbuf *path, const struct target *t, const char *override, struct err *err);

#endif
