/* folder.h: a folder into which files are written whole or not at all: NAME.part first, which then takes its place. Nothing is written
 * outside: a folder in it that is a link is refused, a file that is a link is replaced, not followed. */
#ifndef SCATTERPROOF_FOLDER_H
#define SCATTERPROOF_FOLDER_H

#include "eager/base/base.h"

enum folder_status {
	FOLDER_OK,
	FOLDER_BAD,  /* the path is no folder */
	FOLDER_WORLD /* full, not writable, … */
};
struct folder {
	int fd; /* -1: closed */
	const char *path;
};
/* Made if it is absent (not what it is in). err says what and why. path is not copied. */
enum folder_status folder_open(struct folder *out, const char *path, struct err *err);
/* name: a folder in it, made if it is absent; of hex digits. */
enum folder_status folder_inside(struct folder *out, const struct folder *f, const char *name, struct arena *a, struct err *err);
void folder_close(struct folder *f);
/* name: without a slash. FOLDER_WORLD: the file is as it was before, and no half of it is left. */
enum folder_status folder_write(const struct folder *f, const char *name, const struct strbuf *bytes, struct err *err);
/* Takes away folders inside f that are ours (named by STORE_ID_DIGITS hex digits or more, with the file `mark` inside, no link) and that
 * keep does not want: of each the files named, `mark` last, and the folder itself if nothing else lies in it. */
struct folder_drop {
	bool (*keep)(void *ctx, const char *name);
	void *ctx;
	const char *const *file;
	int nfiles;
	const char *mark;
};
enum folder_status folder_drop(const struct folder *f, const struct folder_drop *d, struct err *err);

#endif
