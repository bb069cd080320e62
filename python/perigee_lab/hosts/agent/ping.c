/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pings between hosts before the run; the number of a ping is the identifier of its message. */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAYLOAD = 56 };

struct echo {
	uint8_t type, code;
	uint16_t checksum, id, sequence; /* in network byte order */
	uint8_t payload[PAYLOAD];
};

struct ping {
	uint16_t number;
	int host, version; /* 1 = IPv6 */
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to;
	bool answered;
};

static struct ping *pings;
static size_t count;

/* By host and IP version: sockets that receive all answers to the host; 0 = none yet. */
static int sockets[MAX_HOSTS][2];

static uint16_t checksum(const void *message, size_t size)
{
	const uint16_t *words = message;
	uint32_t sum = 0;

	for (size_t i = 0; i < size / 2; i++)
		sum += words[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static int socket_of(int host, int version)
{
	int *known = &sockets[host][version];

	if (*known)
		return *known;
	enter(job.hosts[host].ns);
	*known = version ? socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6)
			 : socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	enter(job.root_ns);
	if (*known < 0)
		die("no socket for pings: %s", strerror(errno));
	watch(*known, EPOLLIN, END_PONG, 2 * host + version);
	return *known;
}

/* "NUMBER HOST ADDRESS" */
void add_ping(char *line)
{
	struct ping *p;
	char address[44];

	pings = realloc(pings, (count + 1) * sizeof(*pings));
	if (!pings)
		die("no memory for pings");
	p = &pings[count++];
	memset(p, 0, sizeof(*p));
	if (sscanf(line, "%hu %d %43s", &p->number, &p->host, address) != 3 || p->host < 0 || p->host >= job.host_count)
		die("a ping cannot be read: %s", line);
	p->version = strchr(address, ':') != NULL;
	p->to.any.sa_family = p->version ? AF_INET6 : AF_INET;
	if (inet_pton(p->to.any.sa_family, address, p->version ? (void *)&p->to.v6.sin6_addr : &p->to.v4.sin_addr) != 1)
		die("%s is no address", address);
	socket_of(p->host, p->version);
}

static bool send_ping(const struct ping *p)
{
	struct echo echo = { .type = p->version ? ICMP6_ECHO_REQUEST : ICMP_ECHO, .id = htons(p->number) };
	socklen_t size = p->version ? sizeof(p->to.v6) : sizeof(p->to.v4);

	/* The kernel computes the checksum of version 6. */
	if (!p->version)
		echo.checksum = checksum(&echo, sizeof(echo));
	return sendto(socket_of(p->host, p->version), &echo, sizeof(echo), 0, &p->to.any, size) == sizeof(echo);
}

void send_pings(bool report_errors)
{
	for (size_t i = 0; i < count; i++)
		if (!pings[i].answered && !send_ping(&pings[i]) && report_errors)
			report_text(REPORT_FAILED, pings[i].number, strerror(errno));
}

void close_pings(void)
{
	for (int i = 0; i < job.host_count; i++)
		for (int version = 0; version < 2; version++)
			if (sockets[i][version]) {
				close(sockets[i][version]);
				sockets[i][version] = 0;
			}
}

static void note_answer(uint16_t number)
{
	for (size_t i = 0; i < count; i++)
		if (pings[i].number == number && !pings[i].answered) {
			pings[i].answered = true;
			report_text(REPORT_ANSWERED, number, "");
		}
}

void on_pong(uint32_t id)
{
	int version = id % 2;
	unsigned char packet[256];
	ssize_t size;

	while ((size = recv(sockets[id / 2][version], packet, sizeof(packet), 0)) > 0) {
		/* Sockets of version 4 receive the IP header as well. */
		size_t header = version ? 0 : (size_t)(packet[0] & 15) * 4;
		uint16_t number;

		if ((size_t)size < header + 8 || packet[header] != (version ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
			continue;
		memcpy(&number, packet + header + 4, sizeof(number));
		note_answer(ntohs(number));
	}
}
