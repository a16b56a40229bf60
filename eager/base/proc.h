/* proc.h: persistent child processes that answer framed messages. Knows nothing about tensors, programs or Python.
 *
 * A `struct proc` is a SLOT: it outlives its children. proc_submit starts a child if the slot has none (never had, it died, it
 * is due for recycling), so a crash, a hang or rubbish costs exactly one request and the next one meets a fresh child. Nothing
 * here blocks except proc_wait; one thread can drive many slots with one poll():
 *
 *     proc_submit(p, request…);                        one request at a time per slot
 *     while (!proc_ready(p)) proc_wait(&p, 1, -1);     or: proc_pollfds + poll + proc_step
 *     if (proc_state(p) == PROC_DONE) proc_answer(p)…  else proc_end(p), proc_why(p), proc_tail(p)
 *     proc_release(p);                                 the slot may be submitted to again
 *
 * Messages travel on one stream socket that the child finds as descriptor PROC_FD; a frame is
 *     u32 magic PROC_MAGIC, u32 sequence number, u64 payload bytes (little endian), payload.
 * The first frame of a child is its hello (sequence 0); answers repeat the request's number. Standard output and error are
 * captured together through a pipe of which the last PROC_TAIL bytes are kept (compilers print rubbish there); standard input
 * is /dev/null. A child lives in its own process group, which is killed as a whole, and dies with this process
 * (PR_SET_PDEATHSIG). Its working directory, TMPDIR and the directories of dir_env are private to the slot: kept when a child
 * is recycled for its memory, emptied after max_served answers and after every disorderly end, removed by proc_close.
 * Directories that a killed parent left behind are removed by the next proc_open (each is locked by its living owner).
 *
 * Limits: time per request (wall clock, from the moment the child is ready for it), which a child that works but did not get the
 * processor may exceed: as long as its group goes on computing and has used less than PROC_CPU_SHARE of the limit, up to PROC_STARVED
 * times (a nice child: PROC_STARVED_NICE). A child that is about to be killed for its time gets last_words and a second to say where it
 * is; if it dies of that, its end is the time limit all the same. A child that died is dead, whichever of its own children still hold its
 * descriptors. Memory: as a watch on the child's resident set (RLIMIT_AS is useless with CUDA's and ASan's address space reservations),
 * looked at every PROC_WATCH_MS while busy. */
#ifndef SCATTERPROOF_PROC_H
#define SCATTERPROOF_PROC_H

#include <poll.h>
#include <sys/types.h>

#include "eager/base/base.h"

enum { PROC_FD = 3, PROC_TAIL = 8192, PROC_WATCH_MS = 100, PROC_NPOLLFDS = 2, PROC_STARVED = 4, PROC_STARVED_NICE = 100 };
enum { PROC_MIN_FILES = 64 }; /* descriptors that a process with children must be allowed (ulimit -n) */
#define PROC_CPU_SHARE   0.75
#define PROC_MAGIC       0x31465053u         /* "SPF1" */
#define PROC_MAX_MESSAGE ((uint64_t)1 << 30) /* a longer frame is rubbish */
#define PROC_MAX_HELLO   ((uint64_t)1 << 20) /* a longer first frame, too */

struct proc_file {
	const char *name; /* NULL ends a list */
	const void *data;
	size_t nbytes;
};

struct proc_spec {                 /* every pointer must outlive the slot */
	const char *name;              /* for sentences: "torch-2.11.0 worker" */
	const char *const *argv;       /* NULL-terminated; argv[0] is a path, absolute: the child changes directory */
	const char *const *env;        /* "NAME=VALUE" on top of ours, NULL-terminated; may be NULL */
	const char *const *not_env;    /* the child does not get ours whose names start so, NULL-terminated; may be NULL */
	const char *const *dir_env;    /* variables that get a private directory each, NULL-terminated; may be NULL */
	const struct proc_file *files; /* written into the child's working directory before it starts; may be NULL */
	int start_limit_ms;            /* until hello; 0: 120,000 */
	int max_served;                /* recycle after that many answers; 0: never */
	int64_t recycle_rss;           /* recycle an idle child above that many bytes; 0: never */
	int64_t max_rss;               /* kill a busy child above that many bytes; 0: no limit */
	int nice;                      /* added to its niceness: others have the processor first */
	int patience;                  /* limits of requests are so many times as long; 0: 1 */
	int last_words;                /* signal to a child that exceeded its time; 0: none */
};

enum proc_state {
	PROC_EMPTY,    /* no child */
	PROC_STARTING, /* waiting for hello; a request may be queued */
	PROC_IDLE,
	PROC_BUSY,
	PROC_DONE, /* an answer lies ready */
	PROC_ENDED /* the request (or the start) ended without one; the child is gone */
};
enum proc_end {
	PROC_END_NONE,
	PROC_END_START,  /* never said hello: cannot execute, exit or time limit before it, rubbish instead of it */
	PROC_END_DIED,   /* exit or signal while it had a request */
	PROC_END_TIME,   /* time limit; group killed */
	PROC_END_MEMORY, /* memory limit; group killed */
	PROC_END_RUBBISH /* bytes that are no frame, wrong number, pipe closed by a living child; group killed */
};

struct proc;
struct proc *proc_open(const struct proc_spec *spec, struct err *err); /* NULL: no private directory, or too few descriptors */
void proc_close(struct proc *p);                                       /* kills, removes the private directory; NULL is fine */
bool proc_start(struct proc *p, struct err *err);                      /* warms the slot up; proc_submit does it by itself */
/* PROC_EMPTY, _STARTING or _IDLE only (a PROC_ENDED that nobody released becomes EMPTY). Copies the bytes. False: the child
 * could not be started at all (fork, descriptors). */
bool proc_submit(struct proc *p, const void *request, size_t nbytes, int limit_ms, struct err *err);
void proc_kill(struct proc *p); /* group killed; state EMPTY, nothing pending */

int proc_pollfds(const struct proc *p, struct pollfd out[PROC_NPOLLFDS]); /* how many descriptors to watch */
int proc_timeout_ms(const struct proc *p);                                /* proc_step wants to be called within that time; -1: no need */
void proc_step(struct proc *p);                                           /* all that can be done now, without waiting */
/* Waits until one of the slots is ready, timeout_ms has passed (-1: never) or a signal came; steps all of them. Slots that
 * are NULL are skipped. Returns how many are ready. */
int proc_wait(struct proc *const *p, int n, int timeout_ms);

enum proc_state proc_state(const struct proc *p);
bool proc_ready(const struct proc *p);                         /* DONE or ENDED */
const void *proc_answer(const struct proc *p, size_t *nbytes); /* DONE only; valid until proc_release */
const void *proc_hello(const struct proc *p, size_t *nbytes);  /* of the latest child; nbytes 0 before it */
enum proc_end proc_end(const struct proc *p);
int proc_signal(const struct proc *p);      /* PROC_END_DIED by a signal: its number; else 0 */
const char *proc_why(const struct proc *p); /* a sentence, "" if nothing ended */
const char *proc_tail(struct proc *p);      /* last output, control bytes replaced; "" if none */
void proc_release(struct proc *p);          /* DONE -> IDLE (or EMPTY if due for recycling), ENDED -> EMPTY */
void proc_recycle(struct proc *p);          /* the child says of itself that it must be replaced */
int proc_nstarted(const struct proc *p);    /* children started so far */
int proc_nserved(const struct proc *p);     /* answers of the present child */
void proc_note(struct proc *p, int note);   /* the caller's remark about the present child, 0 in a fresh one */
int proc_noted(const struct proc *p);
int64_t proc_rss(const struct proc *p);       /* bytes resident now, 0 if unknown */
int64_t process_rss(pid_t pid);               /* of any process */
double proc_elapsed_ms(const struct proc *p); /* of the present or last request, from its sending */

/* ---- the child's side (C children: the built-in targets, tests) --------------------------------------------- */
/* Sends hello, then answers requests until the parent closes the socket. `serve` appends its answer; false: stop after
 * sending it. Returns an exit code. */
int proc_serve(const void *hello, size_t nbytes, bool (*serve)(void *ctx, const void *req, size_t nreq, struct strbuf *answer), void *ctx);
/* For children that speak for themselves. */
bool proc_send_frame(int fd, uint32_t seq, const void *p, size_t n);
bool proc_read_frame(int fd, uint32_t *seq, struct strbuf *payload); /* false: end of stream or rubbish */

/* Where a shell would find a program whose name has no slash. False: nowhere in PATH; *path is spoilt. */
bool proc_find(struct strbuf *path, const char *name);

#endif
