/* environment.c: environments of the store, from a target, from what its process said, and from what /proc says of this machine. */
#include "fuzz/campaign/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "eager/base/version.h"

/* "Intel(R) Xeon(R) Platinum 8481C"; "" where the system does not say. */
static const char *cpu_model(struct arena *a)
{
	enum { MAX_CPUINFO = 16 << 20 };
	static const char key[] = "model name";
	struct strbuf text;
	const char *model = "";
	sb_init(&text);
	const char *line = sb_read_file(&text, "/proc/cpuinfo", MAX_CPUINFO, NULL) ? strstr(text.s, key) : NULL;
	line = line ? strchr(line, ':') : NULL;
	if (line) {
		line += 1 + strspn(line + 1, " \t");
		model = arena_printf(a, "%.*s", (int)strcspn(line, "\n"), line);
	}
	sb_free(&text);
	return model;
}

/* hello: "x86_64 AVX512, NVIDIA H200", or "" where nothing but the machine itself is known. */
static const char *machine_text(const char *hello, struct arena *a)
{
	struct utsname u;
	const char *model = cpu_model(a);
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	const char *kind = arena_printf(a, "%.*s", (int)strcspn(hello, ","), hello);
	if (!hello[0] || str_starts(hello, "cpu"))
		kind = uname(&u) == 0 ? u.machine : "";
	return arena_printf(a, "%s%s%s, %ld CPU%s", kind, model[0] ? ", " : "", model, n, n == 1 ? "" : "s");
}

void environment_of(struct store_env_text *out, const struct target *t, const char *versions, const char *hello, struct arena *a)
{
	struct strbuf name;
	const char *gpus = strstr(hello, ", ");
	gpus = gpus ? gpus + 2 : "unknown";
	sb_init(&name);
	target_print(&name, t);
	*out = (struct store_env_text){.family = target_family(t),
		.version = version_of_environment(versions, a),
		.target = arena_strdup(a, name.s),
		.versions = arena_strdup(a, versions),
		.machine = machine_text(hello, a),
		.device = t->device == TDEV_CPU ? "cpu" : arena_printf(a, "%s: %s", target_device_name(t->device), gpus)};
	sb_free(&name);
}

void environment_of_tool(struct store_env_text *out, struct arena *a)
{
	const char *version = version_of_environment(SCATTERPROOF, a);
	*out = (struct store_env_text){.family = TOOL_TARGET,
		.version = version,
		.target = TOOL_TARGET,
		.versions = SCATTERPROOF,
		.device = "cpu",
		.machine = machine_text("", a)};
}
