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
void send_ping(const char *line)
{
	struct sockaddr_in to4 = { .sin_family = AF_INET };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
	struct echo echo = { .type = ICMP_ECHO };
	char address[44];
	unsigned int number;
	int host, version;
	ssize_t sent;

	if (sscanf(line, "%u %d %43s", &number, &host, address) != 3 || host < 0 || host >= job.host_count)
		die("a ping cannot be read: %s", line);
	version = strchr(address, ':') != NULL;
	if (inet_pton(version ? AF_INET6 : AF_INET, address, version ? (void *)&to6.sin6_addr : &to4.sin_addr) != 1)
		die("%s is no address", address);
	echo.id = htons(number);
	if (version)
		echo.type = ICMP6_ECHO_REQUEST; /* the kernel computes its checksum */
	else
		echo.checksum = checksum(&echo, sizeof(echo));
	sent = sendto(socket_of(host, version), &echo, sizeof(echo), 0,
		      version ? (struct sockaddr *)&to6 : (struct sockaddr *)&to4, version ? sizeof(to6) : sizeof(to4));
	if (sent != sizeof(echo))
		report_text(REPORT_FAILED, number, strerror(errno));
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
		report_text(REPORT_ANSWERED, ntohs(number), "");
	}
}
