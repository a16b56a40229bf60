/* complete.h: `scatterproof complete WORD...`, which only shells type (shell/): the words behind the program's name up to the one that is
 * being completed. Prints what that may become, one per line: verbs, options, the values of enumerated options, stages of targets,
 * operators, and, where --db names a store, its causes' numbers and its findings' ids. Nothing: a file, or nobody knows. */
#ifndef SCATTERPROOF_COMPLETE_H
#define SCATTERPROOF_COMPLETE_H

#include "eager/base/base.h"

/* word: the last of them is being completed. Never fails: what cannot be read offers nothing. */
void complete_words(struct strbuf *sb, int nwords, char **word);

#endif
