/* pager.c: the text is complete before its lines are counted, so a pager starts only where one is needed, and an error is never
 * behind it. */
#include "fuzz/ask/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eager/base/guess.h"
#include "fuzz/ask/option_values.h"

/* ---- options ------------------------------------------------------------------------------------------------------------------------- */

static const struct option_row screen_rows[] = {
	{"--color", "WHEN", "", "color on a terminal (auto; a NO_COLOR that is not empty switches it off), always or never"},
	{"--no-pager", NULL, "", "what is longer than the screen is printed as it is, not shown in PAGER (less -FRX if that is not set)"},
};
static option_values_fn *const screen_values[] = {color_values, NULL};
const struct option_table screen_table = {screen_rows, screen_values, ARRAY_LEN(screen_rows)};

static bool read_when(enum color_when *when, const char *word, struct err *err)
{
	struct guess g;
	for (int i = 0; i < NCOLOR_WHENS; i++)
		if (str_eq(word, color_when_name[i])) {
			*when = (enum color_when)i;
			return true;
		}
	return err_set(err, "--color knows no '%.60s'; it knows auto, always, never%s", word,
		guess_from(&g, word, color_when_name, sizeof color_when_name[0], NCOLOR_WHENS));
}

bool screen_options(struct screen *screen, int *argc, char **argv, struct err *err)
{
	enum color_when when = COLOR_AUTO;
	bool no_pager = false;
	int n = 1, i = 1;
	for (; i < *argc && !str_eq(argv[i], "--"); i++) {
		if (str_eq(argv[i], "--no-pager")) {
			no_pager = true;
		} else if (str_starts(argv[i], "--color=")) {
			if (!read_when(&when, argv[i] + strlen("--color="), err))
				return false;
		} else if (str_eq(argv[i], "--color")) {
			if (i + 1 == *argc)
				return err_set(err, "--color needs a value");
			if (!read_when(&when, argv[++i], err))
				return false;
		} else {
			argv[n++] = argv[i];
		}
	}
	while (i < *argc)
		argv[n++] = argv[i++];
	argv[n] = NULL;
	*argc = n;
	*screen = (struct screen){.look = {.width = screen_width(STDOUT_FILENO), .color = screen_color(when, STDOUT_FILENO)},
		.paged = !no_pager && screen_height(STDOUT_FILENO) > 0};
	return true;
}

/* ---- the pager ----------------------------------------------------------------------------------------------------------------------- */

/* Lines of the screen that the text takes. */
static int64_t screen_lines(const char *s, int width)
{
	int64_t lines = 0;
	for (size_t n; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		int columns = 0;
		for (size_t i = 0, style; i < n; i += style ? style : 1) {
			style = style_sequence(s + i, n - i);
			columns += !style && ((unsigned char)s[i] & 0xc0) != 0x80;
		}
		lines += 1 + (width > 0 && columns > 0 ? (columns - 1) / width : 0);
	}
	return lines;
}

static const char *pager_command(void)
{
	const char *given = getenv("PAGER");
	return !given ? "less -FRX" : given;
}

/* False: it does not start, or fails: whatever it has shown, the text was not read in it. */
static bool show_in(const char *command, const char *text, size_t n, bool styled)
{
	int ends[2], status;
	struct output out;
	struct err err = {0};
	if (pipe(ends) != 0)
		return false;
	const pid_t pid = fork();
	if (pid == 0) {
		if (dup2(ends[0], STDIN_FILENO) < 0)
			_exit(127);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return false;
	}
	/* whoever leaves the pager early has read enough, and ^C is the pager's */
	void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN), (*int_before)(int) = signal(SIGINT, SIG_IGN);
	output_standard(&out, STDOUT_FILENO);
	out.fd = ends[1];
	out.styled = styled;
	fwrite(text, 1, n, out.file);
	output_close(&out, &err);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	signal(SIGPIPE, pipe_before);
	signal(SIGINT, int_before);
	return !(WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

void pager_begin(struct pager *p, const struct screen *screen)
{
	const char *command = pager_command();
	*p = (struct pager){.on = screen->paged && command[0] && !str_eq(command, "cat"), .look = screen->look};
	FILE *buffer = p->on ? open_memstream(&p->text, &p->nbytes) : NULL;
	p->on = buffer != NULL;
	if (!p->on)
		return;
	p->standard = stdout;
	stdout = buffer;
}

void pager_end(struct pager *p)
{
	if (!p->on)
		return;
	fclose(stdout);
	stdout = p->standard;
	const bool fits = screen_lines(p->text, screen_width(STDOUT_FILENO)) < screen_height(STDOUT_FILENO);
	fflush(stdout);
	if (fits || !show_in(pager_command(), p->text, p->nbytes, p->look.color))
		fwrite(p->text, 1, p->nbytes, stdout);
	free(p->text);
}
