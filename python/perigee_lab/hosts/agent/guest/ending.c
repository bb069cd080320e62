/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* End of the run: a frame from outside, after which programs have some time to exit. */
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ENDING_TYPE = 0x88b8, ENDING_FRAME = 64 };

static int ending = -1;

static void on_end(uint32_t id)
{
	char frame[ENDING_FRAME];

	(void)id;
	if (read(ending, frame, sizeof(frame)) > 0)
		end_programs();
}

void await_end(void)
{
	struct sockaddr_ll from = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(ENDING_TYPE),
				    .sll_ifindex = if_nametoindex("eth0") };

	ending = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ending < 0 || bind(ending, (struct sockaddr *)&from, sizeof(from)))
		die("no socket for the end of the run: %s", strerror(errno));
	on_event(END_RUN, on_end);
	watch(ending, EPOLLIN, END_RUN, 0);
}
