/* output.c: a stdio stream whose bytes pass through escape.h on their way to a descriptor. */
#include "eager/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/base/escape.h"
#include "eager/base/screen.h"

/* 0, or the errno of what failed. */
static int write_all(int fd, const char *s, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, s, n);
		if (done < 0 && errno == EAGAIN && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1) == 1)
			continue; /* somebody made a terminal that we share non-blocking */
		if (done < 0)
			return errno;
		s += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Whether s could still become a valid character if more bytes came. */
static bool unfinished(const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];
	size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return false;
	return n < len;
}

/* What the file held goes. Pipes and devices hold nothing. */
static void replace(struct output *out)
{
	out->replaces = false;
	if (ftruncate(out->fd, 0) != 0 && errno != EINVAL && !out->error)
		out->error = errno;
}

/* What was held back, then s. last: nothing follows, so half a character is no character. */
static int write_harmless(struct output *out, const char *s, size_t n, bool last)
{
	struct strbuf all, sb;
	sb_init(&all);
	sb_init(&sb);
	sb_put(&all, out->held, out->nheld);
	sb_put(&all, s, n);
	out->nheld = 0;
	bool lost = out->error && out->fd != STDERR_FILENO;
	for (size_t i = 0; i < all.len && !lost;) {
		const char *at = all.s + i;
		size_t left = all.len - i;
		if (!last && (unfinished(at, left) || (out->styled && style_unfinished(at, left)))) {
			memcpy(out->held, at, out->nheld = left);
			break;
		}
		const size_t style = out->styled ? style_sequence(at, left) : 0;
		if (*at == '\n' || *at == '\t') {
			sb_putc(&sb, *at);
			i++;
		} else if (style) {
			sb_put(&sb, at, style);
			i += style;
		} else {
			i += escape_char(&sb, at, left);
		}
	}
	if (out->replaces && sb.len)
		replace(out);
	int error = lost ? out->error : write_all(out->fd, sb.s, sb.len);
	out->error = out->error ? out->error : error;
	sb_free(&all);
	sb_free(&sb);
	return error;
}

/* stdio's callback: 0 is an error. */
static ssize_t output_write(void *ctx, const char *s, size_t n)
{
	errno = write_harmless(ctx, s, n, false);
	return errno ? 0 : (ssize_t)n;
}

void output_standard(struct output *out, int fd)
{
	static const char *const name[] = {[STDOUT_FILENO] = "standard output", [STDERR_FILENO] = "standard error"};
	*out = (struct output){.fd = fd, .name = name[fd]};
	out->file = fopencookie(out, "w", (cookie_io_functions_t){.write = output_write});
	if (!out->file) {
		fprintf(stderr, "scatterproof: out of memory\n");
		exit(3);
	}
	setvbuf(out->file, NULL, fd == STDERR_FILENO ? _IONBF : isatty(fd) ? _IOLBF : _IOFBF, BUFSIZ);
}

static bool is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char begin[sizeof magic] = "";
	struct stat st;
	int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool is = fd >= 0 && read(fd, begin, sizeof begin) == (ssize_t)sizeof begin && memcmp(begin, magic, sizeof magic) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

bool output_file(struct output *out, const char *path, struct err *err)
{
	bool made = access(path, F_OK) != 0;
	if (is_database(path))
		return err_set(err, "cannot write to %s: it is a database (a findings store?), which would be lost", path);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, "cannot write to %s: %s", path, strerror(errno));
	output_standard(out, STDOUT_FILENO);
	out->fd = fd;
	out->name = path;
	out->replaces = true;
	out->made = made;
	return true;
}

bool output_close(struct output *out, struct err *err)
{
	errno = 0;
	if (fclose(out->file) != 0 && !out->error)
		out->error = errno ? errno : EIO;
	write_harmless(out, "", 0, true);
	if (out->replaces && !out->abandoned)
		replace(out);
	if (out->replaces && out->made)
		unlink(out->name);
	if (out->fd > STDERR_FILENO && close(out->fd) != 0 && !out->error)
		out->error = errno;
	return !out->error || err_set(err, "cannot write to %s: %s", out->name, strerror(out->error));
}

bool output_text(const char *path, const struct strbuf *text, struct err *err)
{
	struct output out;
	bool standard = str_eq(path, "-");
	if (!standard && !output_file(&out, path, err))
		return false;
	fwrite(text->s, 1, text->len, standard ? stdout : out.file);
	return standard || output_close(&out, err);
}

void complain(const char *fmt, ...)
{
	struct strbuf raw, line;
	va_list ap;
	sb_init(&raw);
	sb_init(&line);
	va_start(ap, fmt);
	sb_vprintf(&raw, fmt, ap);
	va_end(ap);
	escape_line(&line, raw.s);
	fprintf(stderr, "scatterproof: %s\n", line.s);
	sb_free(&raw);
	sb_free(&line);
}
