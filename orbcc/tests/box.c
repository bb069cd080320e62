/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A cable with a delay between two devices, which may meddle with IPv6 and IPv4 packets as
 * middleboxes do.
 *
 *   box IF1 IF2 DELAY_US [drop-headers | strip-headers | strip-options | duplicate | reorder=K]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define SLOTS 16384
#define LARGEST 4096
#define L2 14

struct frame {
	long long due_ns;
	int length;
	unsigned char bytes[LARGEST];
};

struct way {
	int from, to;
	struct frame *ring;
	unsigned head, tail;
};

static const char *meddling = "";
static int reorder;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int open_device(const char *name)
{
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), size = 16 << 20, one = 1;
	struct sockaddr_ll a = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(name) };

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a))) {
		perror(name);
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	return fd;
}

/* Place of the TCP header of a packet without extension headers; 0 = none. */
static int tcp_at(const unsigned char *p, int n)
{
	int at = p[L2] >> 4 == 6 ? L2 + 40 : L2 + (p[L2] & 15) * 4;
	int proto = p[L2] >> 4 == 6 ? p[L2 + 6] : p[L2 + 9];

	return (p[12] == 0x86 || p[12] == 0x08) && p[13] != 6 && proto == 6 && at + 20 <= n ? at : 0;
}

static void mend_checksum(unsigned char *sum, unsigned was, unsigned is)
{
	unsigned long s = (~(sum[0] << 8 | sum[1]) & 0xffff) + (~was & 0xffff) + is;

	s = (s & 0xffff) + (s >> 16);
	s = ~((s & 0xffff) + (s >> 16)) & 0xffff;
	sum[0] = (unsigned char)(s >> 8);
	sum[1] = (unsigned char)s;
}

/* Options that are not of RFC 793, 7323 and 2018 become padding. */
static void strip_options(unsigned char *p, int n)
{
	int at = tcp_at(p, n), o, end;

	if (!at)
		return;
	end = at + (p[at + 12] >> 4) * 4;
	for (o = at + 20; o < end && end <= n && p[o];) {
		int length = p[o] == 1 ? 1 : p[o + 1];

		if (length < 1 || o + length > end)
			return;
		if (p[o] > 8) {
			for (int i = o; i < o + length; i++) {
				/* The checksum's words start at even places of the header. */
				unsigned was = (i - at) & 1 ? p[i] : p[i] << 8, is = (i - at) & 1 ? 1 : 1 << 8;

				p[i] = 1;
				mend_checksum(p + at + 16, was, is);
			}
		}
		o += length;
	}
}

/* 0 = the frame is lost. */
static int meddle(unsigned char *p, int n)
{
	int headers = p[12] == 0x86 && p[13] == 0xdd && n > L2 + 48 && (p[L2 + 6] == 0 || p[L2 + 6] == 60), bytes;

	if (!strcmp(meddling, "drop-headers") && headers)
		return 0;
	if (!strcmp(meddling, "strip-headers") && headers) {
		bytes = (p[L2 + 41] + 1) * 8;
		p[L2 + 6] = p[L2 + 40];
		memmove(p + L2 + 40, p + L2 + 40 + bytes, (size_t)(n - L2 - 40 - bytes));
		n -= bytes;
		p[L2 + 4] = (unsigned char)((n - L2 - 40) >> 8);
		p[L2 + 5] = (unsigned char)(n - L2 - 40);
	}
	if (!strcmp(meddling, "strip-options"))
		strip_options(p, n);
	return n;
}

static void take(struct way *w, long long delay_ns)
{
	struct frame *f;
	int n;

	while (w->tail - w->head < SLOTS) {
		f = &w->ring[w->tail % SLOTS];
		n = (int)recv(w->from, f->bytes, LARGEST, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0)
			return;
		if (n > LARGEST) {
			fprintf(stderr, "box: a frame of %d bytes is lost\n", n);
			continue;
		}
		n = meddle(f->bytes, n);
		if (!n)
			continue;
		f->length = n;
		f->due_ns = now_ns() + delay_ns;
		if (reorder && w->tail - w->head > (unsigned)reorder && random() % 100 == 0) {
			/* It overtakes `reorder` others. */
			struct frame late = *f, *other;
			unsigned i;

			for (i = w->tail; i > w->tail - (unsigned)reorder; i--) {
				other = &w->ring[(i - 1) % SLOTS];
				long long due = w->ring[i % SLOTS].due_ns;

				w->ring[i % SLOTS] = *other;
				w->ring[i % SLOTS].due_ns = due;
			}
			late.due_ns = w->ring[i % SLOTS].due_ns;
			w->ring[i % SLOTS] = late;
		}
		w->tail++;
	}
}

static long long give(struct way *w, long long next)
{
	while (w->head != w->tail) {
		struct frame *f = &w->ring[w->head % SLOTS];

		if (f->due_ns > now_ns())
			return f->due_ns < next ? f->due_ns : next;
		send(w->to, f->bytes, (size_t)f->length, 0);
		if (!strcmp(meddling, "duplicate") && random() % 20 == 0)
			send(w->to, f->bytes, (size_t)f->length, 0);
		w->head++;
	}
	return next;
}

int main(int argc, char **argv)
{
	struct way ways[2] = { 0 };
	int fd[2];

	if (argc < 4)
		return 2;
	if (argc > 4) {
		meddling = argv[4];
		if (!strncmp(meddling, "reorder=", 8))
			reorder = atoi(meddling + 8);
	}
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 20 });
	for (int i = 0; i < 2; i++)
		fd[i] = open_device(argv[1 + i]);
	for (int i = 0; i < 2; i++) {
		ways[i].from = fd[i];
		ways[i].to = fd[!i];
		ways[i].ring = calloc(SLOTS, sizeof(struct frame));
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		long long next = now_ns() + 100000000, left;

		for (int i = 0; i < 2; i++)
			next = give(&ways[i], next);
		left = next - now_ns();
		struct pollfd p[2] = { { fd[0], POLLIN, 0 }, { fd[1], POLLIN, 0 } };
		struct timespec wait = { 0, left > 0 ? left : 0 };

		ppoll(p, 2, &wait, NULL);
		for (int i = 0; i < 2; i++)
			take(&ways[i], atoll(argv[3]) * 1000);
	}
}
