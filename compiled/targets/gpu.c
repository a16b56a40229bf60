/* gpu.c: which GPUs NVIDIA's driver lists, read from its files: opening one would cost a second and memory. */
#include <glob.h>

#include "compiled/targets/driver.h"

void gpu_names(struct strbuf *out)
{
	enum { MAX_INFORMATION = 1 << 16 };
	static const char key[] = "Model:";
	glob_t g;
	sb_reset(out);
	if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct strbuf text;
		sb_init(&text);
		const char *model = sb_read_file(&text, g.gl_pathv[i], MAX_INFORMATION, NULL) ? strstr(text.s, key) : NULL;
		if (model) {
			model += strlen(key);
			model += strspn(model, " \t");
			sb_printf(out, "%s%.*s", out->len ? ", " : "", (int)strcspn(model, "\n"), model);
		}
		sb_free(&text);
	}
	globfree(&g);
}
