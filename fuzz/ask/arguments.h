/* arguments.h: the words of a command line, one by one, against a table of options. All verbs read theirs with it.
 *
 * `--name VALUE` (which does not begin with `--`), `--name=VALUE`, or `--name` of an option that takes none;
 * options and other words in any order; `-` is a word, and so is everything after `--`. --help and -h belong to every verb.
 * A name is spelled out; one that nobody knows is an error with the nearest
 * one ("did you mean"); an option that is not said to be repeatable is an error the second time.
 *
 * Why not getopt_long(3): it takes every beginning of a name that is unambiguous today (`--prog 5` works until another option begins
 * so), it writes errors itself and cannot guess, and it keeps its place in globals. */
#ifndef SCATTERPROOF_ARGUMENTS_H
#define SCATTERPROOF_ARGUMENTS_H

#include "eager/base/base.h"

struct option_row {
	const char *name, *value; /* "--db", "FILE"; NULL: takes none */
	const char *verbs;        /* which of them know it: "fuzz check" */
	const char *help;         /* NULL: not listed */
};
enum { MAX_OPTION_ROWS = 64 };

struct arguments {
	const struct option_row *row;
	int nrow;
	uint64_t repeatable; /* bit k: row k may be given more than once */
	const char *verb;    /* only rows that it knows; NULL: all */
	const char *who;     /* begins errors about options: "fuzz: ", "" */
	int argc;
	char **argv; /* of argv[0] nothing is asked */
	int at;      /* how many after it were read */
	bool only_words;
	bool given[MAX_OPTION_ROWS];
	/* what was read last */
	int option;        /* its row */
	const char *value; /* the option's, NULL if it takes none; or the word */
};
enum argument { ARGUMENT_END, ARGUMENT_OPTION, ARGUMENT_WORD, ARGUMENT_HELP, ARGUMENT_BAD };

/* Reads on; the caller sets row, nrow, repeatable, verb, who, argc and argv before, all else 0. BAD: err says why. */
enum argument arguments_next(struct arguments *r, struct err *err);
/* Of the verbs that it lists between blanks; NULL is one of all. */
bool option_known(const struct option_row *row, const char *verb);

#endif
