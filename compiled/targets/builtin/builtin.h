/* builtin.h: the far end of the family `builtin` (builtin.c): the child that the verb starts. */
#ifndef SCATTERPROOF_BUILTIN_H
#define SCATTERPROOF_BUILTIN_H

#define BUILTIN_VERB "__builtin"

int builtin_child(void); /* the verb; returns the exit code */

#endif
