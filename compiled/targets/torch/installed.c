/* installed.c: the environments with PyTorch that scripts/setup-targets made. Their files are read, no interpreter is started. */
#include "compiled/targets/torch/installed.h"

#include "compiled/targets/driver.h"
#include "compiled/targets/torch/torch.h"

#include <dirent.h>
#include <glob.h>
#include <stdlib.h>

enum { MAX_VERSION_FILE = 1 << 16 };

/* The quoted value in a line `name... = 'value'` of PyTorch's version.py; "" if there is none. */
static const char *python_string(const char *text, const char *name, struct arena *a)
{
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		size_t n = strlen(name), len = strcspn(line, "\n");
		if (strncmp(line, name, n) != 0 || (line[n] != ' ' && line[n] != ':'))
			continue;
		const char *open = memchr(line, '\'', len), *close = open ? strchr(open + 1, '\'') : NULL;
		return open && close && close < line + len ? arena_printf(a, "%.*s", (int)(close - open - 1), open + 1) : "";
	}
	return "";
}

static void read_versions(struct target_installed *t, const char *dir, struct arena *a)
{
	struct strbuf text;
	glob_t g;
	sb_init(&text);
	if (glob(arena_printf(a, "%s/lib/python3*/site-packages/torch/version.py", dir), 0, NULL, &g) == 0) {
		if (sb_read_file(&text, g.gl_pathv[0], MAX_VERSION_FILE, NULL)) {
			t->holds = python_string(text.s, "__version__", a);
			t->cuda = python_string(text.s, "cuda", a);
		}
		globfree(&g);
	}
	sb_free(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strverscmp((*a)->d_name, (*b)->d_name); }

int torch_installed(struct target_installed **out, struct arena *a)
{
	struct dirent **entry;
	struct strbuf base;
	sb_init(&base);
	const char *family = torch_driver.name;
	int n = targets_dir(&base, NULL) ? scandir(base.s, &entry, NULL, by_name) : -1, found = 0;
	*out = ARENA_ZNEW(a, struct target_installed, MAX(n, 0));
	for (int i = 0; i < n; i++) {
		size_t len = strlen(family);
		if (str_starts(entry[i]->d_name, family) && entry[i]->d_name[len] == '-') {
			struct target_installed *t = &(*out)[found++];
			struct target name = {.driver = &torch_driver};
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
			read_versions(t, dir, a);
			size_t public = strcspn(t->holds, "+");
			if (!t->problem[0] && public && (strlen(t->version) != public || strncmp(t->version, t->holds, public) != 0))
				t->problem = arena_printf(a, "holds PyTorch %s, which its name does not say", t->holds);
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	sb_free(&base);
	return found;
}
