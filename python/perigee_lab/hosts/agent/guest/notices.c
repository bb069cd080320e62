/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Notices of handovers and path changes: frames from outside, passed to programs as datagrams and
 * in a file. */
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* NOTICE_PORT is documented: programs listen there. */
enum { NOTICE_TYPE = 0x88b7, NOTICE_FRAME = 1514, ETHERNET = 14, NOTICE_PORT = 5000 };

#define FOLDER WORLD "/run/perigee"

static int notices = -1, stream = -1;
static int senders[MAX_HOSTS];

/* Sends a datagram to the host's own address, with or without a listener. */
static void send_to(int host, const char *line, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(NOTICE_PORT) };
	char address[20];

	memcpy(address, job.hosts[host].address4, sizeof(address));
	address[strcspn(address, "/")] = '\0';
	if (senders[host] < 0) {
		enter(job.hosts[host].ns);
		senders[host] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		enter(job.root_ns);
	}
	if (senders[host] < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("no socket for notices: %s", strerror(errno));
	if (sendto(senders[host], line, size, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return;
}

/* Frames of "HOST LINE" */
static void on_notices(uint32_t id)
{
	char frame[NOTICE_FRAME + 1], *line;
	ssize_t size;

	(void)id;
	while ((size = read(notices, frame, NOTICE_FRAME)) > ETHERNET) {
		long host;

		frame[size] = '\0';
		host = strtol(frame + ETHERNET, &line, 10);
		if (host < 0 || host >= job.host_count || *line++ != ' ')
			die("a notice cannot be read");
		size -= line - frame;
		if (write(stream, line, size) != size)
			die("%s: %s", FOLDER, strerror(errno));
		send_to(host, line, size);
	}
}

void open_notices(char *line)
{
	struct sockaddr_ll from = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(NOTICE_TYPE),
				    .sll_ifindex = if_nametoindex("eth0") };

	(void)line;
	if (mkdir(FOLDER, 0755))
		die("%s: %s", FOLDER, strerror(errno));
	stream = open(FOLDER "/notices", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	notices = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (stream < 0 || notices < 0 || bind(notices, (struct sockaddr *)&from, sizeof(from)))
		die("no notices: %s", strerror(errno));
	for (int i = 0; i < MAX_HOSTS; i++)
		senders[i] = -1;
	on_event(END_NOTICES, on_notices);
	watch(notices, EPOLLIN, END_NOTICES, 0);
}
