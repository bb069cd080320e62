/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UDP packets at a constant rate; pings, which are echoed. The network measures both. */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGEST = 65507, MAX_PROBES = 1024 };

struct probe {
	uint32_t flow;
	int from, to; /* -1 = a host of another kernel */
	struct sockaddr_in address;
	uint64_t due_ns, stop_ns, interval_ns; /* simulated */
	size_t size;			       /* of the payload */
	uint64_t number;
	bool echoed;
	int sender, receiver;
};

static struct probe probes[MAX_PROBES];
static int count;
static unsigned char payload[LARGEST];

static int open_socket(int host)
{
	int s;

	enter(job.hosts[host].ns);
	s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enter(job.root_ns);
	if (s < 0)
		die("no socket for probes: %s", strerror(errno));
	return s;
}

/* "FLOW FROM TO ADDRESS PORT START STOP INTERVAL PAYLOAD ECHOED" */
void add_probe(char *line)
{
	struct probe *p = &probes[count];
	char address[44];
	unsigned int port;
	int echoed;

	if (count == MAX_PROBES)
		die("too many flows of UDP: at most %d", MAX_PROBES);
	if (sscanf(line, "%u %d %d %43s %u %lu %lu %lu %zu %d", &p->flow, &p->from, &p->to, address, &port, &p->due_ns,
		   &p->stop_ns, &p->interval_ns, &p->size, &echoed) != 10 ||
	    p->size > LARGEST || !p->interval_ns)
		die("a probe cannot be read: %s", line);
	p->echoed = echoed;
	p->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	if (inet_pton(AF_INET, address, &p->address.sin_addr) != 1)
		die("%s is no address", address);
	if (p->from >= 0) {
		p->sender = open_socket(p->from);
		watch(p->sender, EPOLLIN, END_ECHO, count);
	}
	if (p->to >= 0) {
		p->receiver = open_socket(p->to);
		if (bind(p->receiver, (struct sockaddr *)&p->address, sizeof(p->address)))
			die("port %u: %s", port, strerror(errno));
		watch(p->receiver, EPOLLIN, END_PROBE, count);
	}
	count++;
}

/* Sends due packets; returns the next instant with work. A packet that does not fit the buffer is
 * lost. */
uint64_t send_probes(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < count; i++) {
		struct probe *p = &probes[i];

		if (p->from < 0)
			continue;
		while (p->due_ns <= now && p->due_ns < p->stop_ns) {
			size_t named = p->size < sizeof(p->number) ? p->size : sizeof(p->number);

			memcpy(payload, &p->number, named);
			if (sendto(p->sender, payload, p->size, 0, (struct sockaddr *)&p->address, sizeof(p->address)) < 0 &&
			    errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED)
				die("a probe of flow %u: %s", p->flow, strerror(errno));
			p->number++;
			p->due_ns += p->interval_ns;
		}
		if (p->due_ns < p->stop_ns && p->due_ns < next)
			next = p->due_ns;
	}
	return next;
}

/* Receives packets, and echoes pings. */
void on_probe(uint32_t id)
{
	const struct probe *p = &probes[id];
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	ssize_t size;

	while ((size = recvfrom(p->receiver, payload, sizeof(payload), 0, (struct sockaddr *)&from, &length)) >= 0) {
		if (p->echoed)
			sendto(p->receiver, payload, size, 0, (struct sockaddr *)&from, length);
		length = sizeof(from);
	}
}

/* Discards answers; the network has recorded their arrival. */
void on_echo(uint32_t id)
{
	while (recv(probes[id].sender, payload, sizeof(payload), 0) >= 0)
		;
}
