/* load.h: programs that a person names on the command line. */
#ifndef SCATTERPROOF_LOAD_H
#define SCATTERPROOF_LOAD_H

#include "eager/lang/fx.h"
#include "eager/lang/fx_cut.h"
#include "eager/lang/prog.h"

enum { MAX_FILE_TEXT = 256 << 20 }; /* bytes of a file of programs; each of them at most MAX_TEXT */

/* name: the file, or FILE:LINE where the program begins if the file has several. Returns an exit code. */
typedef int loaded_fn(void *ctx, const char *name, const struct prog *p);

/* Hands over every program of `path`: a directory (its *.prog files, sorted by name), a file, "-" for standard input. A file holds one
 * program after another, each beginning with its `# scatterproof 1` line; text without or before such a line is read as a pasted FX
 * dump. What does not read is complained about with file, line and column, and passed over. Returns the largest of fn's codes, and
 * EXIT_USAGE for complaints. */
int load_programs(const char *path, loaded_fn *fn, void *ctx);
/* The same; what does not read is said to telling->unread too, after the complaint: nprogram programs of a file for one reason (graphs of a
 * dump may share it), or 0 if the file itself could not be read. *nfile grows by the files that were named or found. */
typedef void unread_fn(void *ctx, const char *name, int nprogram, const struct err *why);
/* A graph of a dump that is about to be handed over: its text, in which its program's rows have their lines, the first of which is `line`
 * of the file; which rows were cut out of it (fx_cut.h), none if all could be read. */
typedef void graph_fn(void *ctx, const char *name, const struct fx_graph *graph, int line, const struct fx_cut *cut);
struct load_telling {
	unread_fn *unread;
	graph_fn *graph; /* NULL: graphs of which a row cannot be read are not handed over */
	void *ctx;
};
int load_programs_telling(const char *path, loaded_fn *fn, const struct load_telling *telling, void *ctx, int64_t *nfile);

#endif
