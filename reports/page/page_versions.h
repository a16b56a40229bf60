/* page_versions.h: the installed versions on which a cause was tried: by a sweep over them (artifact "since"), else with its short script
 * (artifact "script_versions"). What is right on the newest may be mended already, so nobody should file it unseen. */
#ifndef SCATTERPROOF_PAGE_VERSIONS_H
#define SCATTERPROOF_PAGE_VERSIONS_H

#include "reports/cause/json_doc.h"

struct page_version {
	const char *version;
	const char *verdict; /* "wrong", "right"; else the store's words */
	const char *why;     /* "" if nothing is said */
};
struct page_versions {
	int n;
	const struct page_version *tried; /* each version once, the oldest first */
};
/* In a. */
struct page_versions page_versions_of(struct json_doc *since, struct json_doc *script_versions, struct arena *a);
/* The newest that is right or wrong; NULL: there is none. */
const struct page_version *page_versions_newest(const struct page_versions *v);
/* Its version, if it is right there; else "". */
const char *page_versions_right_on(const struct page_versions *v);

#endif
