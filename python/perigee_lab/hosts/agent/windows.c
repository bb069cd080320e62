/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Limits on the receive windows of flows. */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct {
	uint32_t flow, bytes;
	bool kept; /* the limit is permanent */
} windows[MAX_FLOWS];
static int count;

/* "FLOW BYTES" */
void add_window(char *line)
{
	if (count == MAX_FLOWS || sscanf(line, "%u %u", &windows[count].flow, &windows[count].bytes) != 2)
		die("a window cannot be read: %s", line);
	count++;
}

static int find(uint32_t flow)
{
	for (int i = 0; i < count; i++)
		if (windows[i].flow == flow)
			return i;
	return -1;
}

bool has_window(uint32_t flow)
{
	return find(flow) >= 0;
}

static void clamp(int socket, uint32_t bytes)
{
	if (setsockopt(socket, IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes)))
		die("a window of %u bytes: %s", bytes, strerror(errno));
}

/* Sets a listener's buffer to a fixed size, with room for the kernel's overhead; where only root of the
 * machine may, settings of the namespace do. */
void limit_window(uint32_t flow, int listener)
{
	int i = find(flow), buffer;

	if (i < 0)
		return;
	buffer = windows[i].bytes > 1 << 28 ? 1 << 29 : (int)windows[i].bytes * 2;
	if (platform.forces_buffers && setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		die("a buffer of %d bytes: %s", buffer, strerror(errno));
	clamp(listener, windows[i].bytes);
}

/* On data: with the first full segment the kernel updates its estimate of overhead, which resets
 * the limit. */
void keep_window(uint32_t flow, int receiver)
{
	int i = find(flow);

	if (i < 0 || windows[i].kept)
		return;
	windows[i].kept = true;
	clamp(receiver, windows[i].bytes);
}
