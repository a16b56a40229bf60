/* version.h: version numbers of targets, as far as one must know which is later. */
#ifndef SCATTERPROOF_VERSION_H
#define SCATTERPROOF_VERSION_H

#include "eager/base/base.h"

/* A digit, then letters, digits, '.', '+' and '-'. */
bool version_valid(const char *s);
/* < 0, 0, > 0. Numbers are compared as numbers; 2.15.0.dev20260101 and 2.15.0rc1 come before 2.15.0, 2.15.0.post1 after it; what follows
 * '+' (2.15.0+cu130) does not count. */
int version_compare(const char *a, const char *b);
/* The first version in an environment's text, without local suffix: "torch 2.11.0+cu130, python 3.11.2" -> "2.11.0"; "" if there is
 * none. */
const char *version_of_environment(const char *versions, struct arena *a);

#endif
