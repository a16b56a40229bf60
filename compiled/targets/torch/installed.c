/* installed.c: which PyTorch an environment holds. */
#include "compiled/targets/torch/installed.h"

#include "compiled/targets/installed.h"
#include "compiled/targets/torch/torch.h"

#include <glob.h>

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

int torch_installed(struct target_installed **out, struct arena *a) { return installed_environments(out, &torch_driver, read_versions, a); }
