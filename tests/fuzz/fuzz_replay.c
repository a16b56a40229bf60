/* fuzz_replay.c: runs a libFuzzer target over the files of a corpus, without libFuzzer, so that every build replays them. */
#include <dirent.h>
#include <stdlib.h>

#include "eager/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool replay(const char *path)
{
	struct strbuf sb;
	struct err err = {0};
	sb_init(&sb);
	bool ok = sb_read_file(&sb, path, (size_t)1 << 24, &err);
	if (ok)
		LLVMFuzzerTestOneInput((const uint8_t *)sb.s, sb.len);
	else
		fprintf(stderr, "%s\n", err.msg);
	sb_free(&sb);
	return ok;
}

int main(int argc, char **argv)
{
	int n = 0;
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		if (!d) {
			n += replay(argv[i]);
			continue;
		}
		for (struct dirent *e; (e = readdir(d));) {
			char path[4096];
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
			n += replay(path);
		}
		closedir(d);
	}
	printf("%d inputs replayed\n", n);
	return n ? 0 : 1;
}
