/* library.h: functions of libraries that are loaded at run time. */
#ifndef SCATTERPROOF_LIBRARY_H
#define SCATTERPROOF_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* *function: a pointer to a function, whose address comes as data. False, and NULL: the library has none of that name. */
static inline bool library_find(void *function, void *library, const char *name)
{
	void *at = dlsym(library, name);
	memcpy(function, &at, sizeof at);
	return at != NULL;
}

#endif
