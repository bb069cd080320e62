/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* What is written at once; unsent data below this wakes the writer. */
enum { CHUNK = 1 << 17 };
/* Room for TCP_INFO and TCP_CC_INFO of kernels newer than our headers: they fill what they know. */
enum { INFO = 256, SCHEME_INFO = 64 };

/* Of our patch to the kernel: it throws away so many bytes as they come, without waking us. */
#define TCP_DISCARD 200

/* One TCP transfer. Its descriptors are -1 while closed. */
struct flow {
	uint32_t id;
	int from, to; /* -1 = a host of another kernel */
	char address[44];
	uint16_t port;
	uint64_t start_ns, stop_ns; /* simulated */
	uint64_t bytes, written;    /* bytes: UINT64_MAX = until it stops */
	char scheme[16];
	int listener, sender, receiver;
	bool begun, stopped, complete;
};

static struct flow *flows[MAX_FLOWS];
static int flow_count;
static char *data;

/* Bytes of the kernel's structures that travel: as many as it fills. */
struct sample {
	uint64_t at_ns;
	uint32_t flow;
	uint16_t info_size, scheme_size;
	uint64_t received;
	char text[16];
	unsigned char rest[INFO + SCHEME_INFO];
} __attribute__((packed));

void add_flow(char *line)
{
	struct flow *f = calloc(1, sizeof(*f));
	unsigned int port;

	if (!f || flow_count == MAX_FLOWS)
		die("too many flows: at most %d", MAX_FLOWS);
	if (sscanf(line, "%u %d %d %43s %u %lu %lu %lu %15s", &f->id, &f->from, &f->to, f->address, &port, &f->start_ns,
		   &f->stop_ns, &f->bytes, f->scheme) != 9)
		die("a flow cannot be read: %s", line);
	f->port = port;
	f->listener = f->sender = f->receiver = -1;
	flows[flow_count++] = f;
}

static struct flow *find(uint32_t id)
{
	/* Flows come in the order of their numbers, some of which are not ours. */
	int low = 0, high = flow_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (flows[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return flows[low];
}

static void address_of(const struct flow *f, struct sockaddr_in *address)
{
	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_port = htons(f->port);
	if (inet_pton(AF_INET, f->address, &address->sin_addr) != 1)
		die("%s is no address", f->address);
}

static int open_socket(int host)
{
	int s;

	enter(job.hosts[host].ns);
	s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s < 0)
		die("no socket: %s", strerror(errno));
	return s;
}

static void listen_for(struct flow *f)
{
	struct sockaddr_in address;

	address_of(f, &address);
	f->listener = open_socket(f->to);
	if (setsockopt(f->listener, IPPROTO_TCP, TCP_CONGESTION, f->scheme, strlen(f->scheme)))
		die("congestion control %s: %s", f->scheme, strerror(errno));
	limit_window(f->id, f->listener);
	if (bind(f->listener, (struct sockaddr *)&address, sizeof(address)) || listen(f->listener, 1))
		die("port %u: %s", f->port, strerror(errno));
	watch(f->listener, EPOLLIN, END_LISTENER, f->id);
}

static void failed(struct flow *f, int error)
{
	report_text(REPORT_FAILED, f->id, strerror(error));
	close(f->sender);
	f->sender = -1;
}

static void start(struct flow *f)
{
	struct sockaddr_in address;
	int unsent = CHUNK;

	address_of(f, &address);
	f->sender = open_socket(f->from);
	if (setsockopt(f->sender, IPPROTO_TCP, TCP_CONGESTION, f->scheme, strlen(f->scheme)))
		die("congestion control %s: %s", f->scheme, strerror(errno));
	/* What is handed over but not sent is little, so that a flow that stops is silent soon. */
	setsockopt(f->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	report_text(REPORT_STARTED, f->id, "");
	if (connect(f->sender, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS) {
		failed(f, errno);
		return;
	}
	watch(f->sender, EPOLLOUT, END_SENDER, f->id);
}

/* Bytes that have come in order: those that were thrown away unseen, too. */
static uint64_t received(const struct flow *f)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (f->receiver < 0 || getsockopt(f->receiver, IPPROTO_TCP, TCP_INFO, &info, &size))
		return 0;
	return info.tcpi_bytes_received;
}

static void sample(const struct flow *f, enum report kind, uint64_t at_ns)
{
	struct sample s = { .at_ns = at_ns, .flow = f->id };
	socklen_t size = INFO, name = sizeof(s.text);
	socklen_t scheme = SCHEME_INFO;

	s.received = received(f);
	if (f->sender < 0 || getsockopt(f->sender, IPPROTO_TCP, TCP_INFO, s.rest, &size))
		return;
	s.info_size = size;
	getsockopt(f->sender, IPPROTO_TCP, TCP_CONGESTION, s.text, &name);
	if (getsockopt(f->sender, IPPROTO_TCP, TCP_CC_INFO, s.rest + size, &scheme))
		scheme = 0;
	s.scheme_size = scheme;
	report(kind, &s, offsetof(struct sample, rest) + size + scheme);
}

static void stop(struct flow *f)
{
	f->stopped = true;
	sample(f, REPORT_STOPPED, simulated_ns());
	flush_reports();
	if (f->sender >= 0)
		watch(f->sender, 0, END_SENDER, f->id);
}

void on_sender(uint32_t id)
{
	struct flow *f = find(id);
	int error = 0;
	socklen_t size = sizeof(error);

	if (f->sender < 0)
		return;
	if (getsockopt(f->sender, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error) {
		failed(f, error);
		return;
	}
	while (!f->stopped) {
		uint64_t left = f->bytes - f->written;
		ssize_t n = write(f->sender, data, left < CHUNK ? left : CHUNK);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			failed(f, errno);
			return;
		}
		f->written += n;
		if (f->bytes != UINT64_MAX && f->written == f->bytes)
			stop(f);
	}
}

void on_receiver(uint32_t id)
{
	struct flow *f = find(id);

	for (;;) {
		/* MSG_TRUNC: the data is counted and thrown away (tcp(7)). */
		ssize_t n = recv(f->receiver, data, 1 << 24, MSG_TRUNC);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			watch(f->receiver, 0, END_RECEIVER, f->id);
			break;
		}
		/* Less than was asked for is all that there was. */
		if (n < 1 << 24)
			break;
	}
	keep_window(f->id, f->receiver);
	if (!f->complete && f->bytes != UINT64_MAX && received(f) >= f->bytes) {
		f->complete = true;
		report_text(REPORT_COMPLETE, f->id, "");
	}
}

void on_listener(uint32_t id)
{
	struct flow *f = find(id);
	uint64_t unseen = f->bytes - 1;

	f->receiver = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (f->receiver < 0)
		die("accept: %s", strerror(errno));
	/* All but the last byte, which says that the transfer is complete. */
	if (!has_window(f->id) &&
	    setsockopt(f->receiver, IPPROTO_TCP, TCP_DISCARD, &unseen, sizeof(unseen)))
		die("the socket option TCP_DISCARD of our patch: %s", strerror(errno));
	close(f->listener);
	f->listener = -1;
	watch(f->receiver, EPOLLIN, END_RECEIVER, f->id);
}

void sample_flows(enum report kind, uint64_t at_ns)
{
	for (int i = 0; i < flow_count; i++)
		sample(flows[i], kind, at_ns);
	flush_reports();
}

uint64_t start_and_stop_flows(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < flow_count; i++) {
		struct flow *f = flows[i];

		if (!f->begun && f->start_ns <= now) {
			f->begun = true;
			if (f->from >= 0)
				start(f);
		}
		if (!f->stopped && f->stop_ns <= now)
			stop(f);
		if (!f->begun && f->start_ns < next)
			next = f->start_ns;
		if (!f->stopped && f->stop_ns < next)
			next = f->stop_ns;
	}
	return next;
}

void open_listeners(void)
{
	data = calloc(1, CHUNK);
	if (!data)
		die("no memory");
	for (int i = 0; i < flow_count; i++)
		if (flows[i]->to >= 0)
			listen_for(flows[i]);
}
