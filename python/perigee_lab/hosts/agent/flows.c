/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "flow.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Bytes per write; the writer wakes up when less is unsent. */
enum { CHUNK = 1 << 17 };
/* The same of an on/off source, which must be silent soon after its turn ends. */
enum { SMALL_CHUNK = 1 << 13 };
/* Room for TCP_INFO and TCP_CC_INFO of kernels newer than our headers. */
enum { INFO = 256, SCHEME_INFO = 64 };

/* Option of our kernel patch: discards this many received bytes without waking us. */
#define TCP_DISCARD 200

static struct flow *flows[MAX_FLOWS];
static int flow_count;
static char *data;

/* Header of a sample; the filled bytes of the kernel's structures follow. */
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
	f->offered = f->bytes;
	f->app.due_ns = UINT64_MAX;
	f->listener = f->sender = f->receiver = -1;
	flows[flow_count++] = f;
}

struct flow *find_flow(uint32_t id)
{
	/* Flows are sorted by number, with gaps: some belong to other guests. */
	int low = 0, high = flow_count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (flows[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < flow_count && flows[low]->id == id ? flows[low] : NULL;
}

/* An address of either IP version. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The address that a flow connects to; returns its size. */
static socklen_t address_of(const struct flow *f, union address *address)
{
	bool is_v6 = strchr(f->address, ':');

	memset(address, 0, sizeof(*address));
	address->any.sa_family = is_v6 ? AF_INET6 : AF_INET;
	*(is_v6 ? &address->v6.sin6_port : &address->v4.sin_port) = htons(f->port);
	if (inet_pton(address->any.sa_family, f->address,
		      is_v6 ? (void *)&address->v6.sin6_addr : (void *)&address->v4.sin_addr) != 1)
		die("%s is no address", f->address);
	return is_v6 ? sizeof(address->v6) : sizeof(address->v4);
}

static int open_socket(int host, int family)
{
	int s;

	enter(job.hosts[host].ns);
	s = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s < 0)
		die("no socket: %s", strerror(errno));
	return s;
}

static void listen_for(struct flow *f)
{
	union address address;
	socklen_t size = address_of(f, &address);

	f->listener = open_socket(f->to, address.any.sa_family);
	if (setsockopt(f->listener, IPPROTO_TCP, TCP_CONGESTION, f->scheme, strlen(f->scheme)))
		die("congestion control %s: %s", f->scheme, strerror(errno));
	limit_window(f->id, f->listener);
	limit_leg(f, f->listener, true);
	if (bind(f->listener, &address.any, size) || listen(f->listener, 1))
		die("port %u: %s", f->port, strerror(errno));
	watch(f->listener, EPOLLIN, END_LISTENER, f->id);
	open_relay(f);
}

void fail_flow(struct flow *f, const char *why)
{
	report_text(REPORT_FAILED, f->id, why);
	close(f->sender);
	f->sender = -1;
	f->stopped = true;
	f->app.due_ns = UINT64_MAX;
}

/* Bytes per write. */
static int chunk(const struct flow *f)
{
	return f->app.kind == APP_ON_OFF ? SMALL_CHUNK : CHUNK;
}

void await_sender(struct flow *f, uint32_t what)
{
	if (f->awaited == what)
		return;
	f->awaited = what;
	/* Errors are events even while nothing is sent. */
	watch(f->sender, what | EPOLLERR, END_SENDER, f->id);
}

void start_flow(struct flow *f)
{
	union address address;
	socklen_t size;
	int unsent = chunk(f);

	f->begun = true;
	if (f->from < 0)
		return;
	size = address_of(f, &address);
	f->sender = open_socket(f->from, address.any.sa_family);
	if (setsockopt(f->sender, IPPROTO_TCP, TCP_CONGESTION, f->scheme, strlen(f->scheme)))
		die("congestion control %s: %s", f->scheme, strerror(errno));
	/* Little unsent data in the socket, so that a flow falls silent soon after it stops. */
	if (!f->before)
		setsockopt(f->sender, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	if (f->app.kind == APP_REQUEST)
		no_delay(f->sender);
	limit_leg(f, f->sender, false);
	report_text(REPORT_STARTED, f->id, "");
	if (connect(f->sender, &address.any, size) && errno != EINPROGRESS) {
		fail_flow(f, strerror(errno));
		return;
	}
	await_sender(f, EPOLLOUT);
}

/* Bytes received in order, including discarded ones. */
uint64_t received(const struct flow *f)
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
	f->app.due_ns = UINT64_MAX;
	sample(f, REPORT_STOPPED, simulated_ns());
	flush_reports();
	if (f->sender >= 0)
		await_sender(f, 0);
}

/* Events to watch while there is nothing to send. */
static uint32_t quiet(const struct flow *f)
{
	return f->app.kind == APP_REQUEST ? EPOLLIN : 0;
}

/* Whether an on/off source has written its limit. The kernel checks TCP_NOTSENT_LOWAT only once per
 * packet of up to 64 KiB. */
static bool has_enough(const struct flow *f)
{
	int unsent;

	return f->app.kind == APP_ON_OFF && !ioctl(f->sender, SIOCOUTQNSD, &unsent) && unsent >= SMALL_CHUNK;
}

/* Writes offered data until the buffer is full; then waits for room, or for more data. */
void send_offered(struct flow *f)
{
	while (!f->stopped) {
		uint64_t left = f->offered - f->written, most = chunk(f);
		ssize_t n;

		if (!left) {
			await_sender(f, quiet(f));
			return;
		}
		n = has_enough(f) ? 0 : write(f->sender, data, left < most ? left : most);
		if (n == 0 || (n < 0 && errno == EAGAIN)) {
			await_sender(f, EPOLLOUT | quiet(f));
			return;
		}
		if (n < 0) {
			fail_flow(f, strerror(errno));
			return;
		}
		f->written += n;
		if (f->bytes != UINT64_MAX && f->written == f->bytes)
			stop(f);
	}
}

static void note_completion(struct flow *f)
{
	if (!f->complete && f->bytes != UINT64_MAX && received(f) >= f->bytes) {
		f->complete = true;
		report_text(REPORT_COMPLETE, f->id, "");
	}
}

void on_sender(uint32_t id)
{
	struct flow *f = find_flow(id);
	int error = 0;
	socklen_t size = sizeof(error);

	if (f->sender < 0)
		return;
	if (getsockopt(f->sender, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error) {
		fail_flow(f, strerror(error));
		return;
	}
	if (!f->connected) {
		f->connected = true;
		app_connected(f, simulated_ns());
	}
	if (f->app.kind == APP_REQUEST)
		app_requests(f);
	if (f->before) {
		carry_on(f->before);
		note_completion(f->before);
	} else {
		send_offered(f);
	}
}

/* Receives everything. */
static void take(struct flow *f)
{
	for (;;) {
		/* MSG_TRUNC: the data is counted and discarded (tcp(7)). */
		ssize_t n = recv(f->receiver, data, 1 << 24, MSG_TRUNC);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			watch(f->receiver, 0, END_RECEIVER, f->id);
			break;
		}
		/* A short read empties the buffer. */
		if (n < 1 << 24)
			break;
	}
}

void on_receiver(uint32_t id)
{
	struct flow *f = find_flow(id);

	if (f->relay)
		carry_on(f);
	else
		take(f);
	keep_window(f->id, f->receiver);
	app_received(f);
	note_completion(f);
}

void on_listener(uint32_t id)
{
	struct flow *f = find_flow(id);
	uint64_t unseen = f->bytes - 1;

	f->receiver = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (f->receiver < 0)
		die("accept: %s", strerror(errno));
	/* Discards all but the last byte, which signals completion. */
	if (platform.discards && f->app.kind == APP_BULK && !f->relay && !has_window(f->id) &&
	    setsockopt(f->receiver, IPPROTO_TCP, TCP_DISCARD, &unseen, sizeof(unseen)))
		die("the socket option TCP_DISCARD of our patch: %s", strerror(errno));
	close(f->listener);
	f->listener = -1;
	watch(f->receiver, EPOLLIN, END_RECEIVER, f->id);
	app_accepted(f);
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

		if (!f->begun && f->start_ns <= now)
			start_flow(f);
		if (!f->stopped && f->stop_ns <= now)
			stop(f);
		if (f->app.due_ns <= now)
			app_due(f, now);
		if (f->app.due_ns < next)
			next = f->app.due_ns;
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
	enter(job.root_ns);
}
