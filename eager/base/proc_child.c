/* proc_child.c: the child's side of proc.h, for children written in C. Blocking on purpose: a child has nothing else to do. */
#include "eager/base/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20) /* a length is believed one chunk at a time */

static bool send_all(int fd, const void *p, size_t n)
{
	const char *at = p;
	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool read_all(int fd, void *p, size_t n)
{
	char *at = p;
	while (n > 0) {
		ssize_t got = read(fd, at, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static uint64_t le(const uint8_t *p, int n)
{
	uint64_t v = 0;
	for (int i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

bool proc_send_frame(int fd, uint32_t seq, const void *p, size_t n)
{
	uint8_t head[16];
	for (int i = 0; i < 4; i++) {
		head[i] = (uint8_t)(PROC_MAGIC >> (8 * i));
		head[4 + i] = (uint8_t)(seq >> (8 * i));
	}
	for (int i = 0; i < 8; i++)
		head[8 + i] = (uint8_t)((uint64_t)n >> (8 * i));
	return send_all(fd, head, sizeof head) && send_all(fd, p, n);
}

bool proc_read_frame(int fd, uint32_t *seq, struct strbuf *payload)
{
	uint8_t head[16];
	if (!read_all(fd, head, sizeof head) || le(head, 4) != PROC_MAGIC)
		return false;
	*seq = (uint32_t)le(head + 4, 4);
	uint64_t left = le(head + 8, 8);
	if (left > PROC_MAX_MESSAGE)
		return false;
	sb_reset(payload);
	char *chunk = xmalloc(CHUNK);
	bool ok = true;
	while (ok && left > 0) {
		size_t n = (size_t)MIN(left, (uint64_t)CHUNK);
		ok = read_all(fd, chunk, n);
		if (ok)
			sb_put(payload, chunk, n);
		left -= n;
	}
	free(chunk);
	return ok;
}

int proc_serve(const void *hello, size_t nbytes, bool (*serve)(void *ctx, const void *req, size_t nreq, struct strbuf *answer), void *ctx)
{
	struct strbuf request, answer;
	sb_init(&request);
	sb_init(&answer);
	uint32_t seq;
	bool more = proc_send_frame(PROC_FD, 0, hello, nbytes);
	while (more && proc_read_frame(PROC_FD, &seq, &request)) {
		sb_reset(&answer);
		more = serve(ctx, request.s, request.len, &answer);
		if (!proc_send_frame(PROC_FD, seq, answer.s, answer.len))
			break;
	}
	sb_free(&request);
	sb_free(&answer);
	return 0;
}
