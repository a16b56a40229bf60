/* installed.c: the environments of a family. Their files are read, no interpreter is started. */
#include "compiled/targets/installed.h"

#include <dirent.h>
#include <stdlib.h>

static int by_name(const struct dirent **a, const struct dirent **b) { return strverscmp((*a)->d_name, (*b)->d_name); }

int installed_environments(struct target_installed **out, const struct target_driver *d, read_versions_fn *read, struct arena *a)
{
	struct dirent **entry;
	struct strbuf base;
	sb_init(&base);
	const char *family = d->name;
	int n = targets_dir(&base, NULL) ? scandir(base.s, &entry, NULL, by_name) : -1, found = 0;
	*out = ARENA_ZNEW(a, struct target_installed, MAX(n, 0));
	for (int i = 0; i < n; i++) {
		size_t len = strlen(family);
		if (str_starts(entry[i]->d_name, family) && entry[i]->d_name[len] == '-') {
			struct target_installed *t = &(*out)[found++];
			struct target name = {.driver = d};
			struct strbuf path;
			struct err err = {0};
			const char *dir = arena_printf(a, "%s/%s", base.s, entry[i]->d_name);
			*t = (struct target_installed){.version = arena_strdup(a, entry[i]->d_name + len + 1), .holds = "", .cuda = "", .problem = ""};
			snprintf(name.version, sizeof name.version, "%s", t->version);
			sb_init(&path);
			if (!target_python(&path, &name, NULL, &err))
				t->problem = arena_strdup(a, err.msg);
			t->python = arena_strdup(a, path.s);
			sb_free(&path);
			read(t, dir, a);
			size_t public = strcspn(t->holds, "+");
			if (!t->problem[0] && public && (strlen(t->version) != public || strncmp(t->version, t->holds, public) != 0))
				t->problem = arena_printf(a, "holds %s %s, which its name does not say", d->title, t->holds);
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	sb_free(&base);
	return found;
}
