/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { FRAME = 1500 + ETH_HLEN, RECORD_HEADER = 4 };

static int packets = -1;
static unsigned char frame[FRAME];
static size_t filled;

static void empty(void)
{
	static const unsigned char ethernet[ETH_HLEN] = {
		/* to */ 0x02, 0, 0, 0, 0xff, 0xff, /* from */ 0x02, 0, 0, 0, 0xff, 0xfe, /* type */ 0x88, 0xb5,
	};

	memcpy(frame, ethernet, sizeof(ethernet));
	filled = ETH_HLEN;
}

void open_reports(void)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = 0, .sll_ifindex = if_nametoindex("eth0") };

	/* It carries reports only: no address, no router solicitation. */
	write_file("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
	link_up("eth0");
	/* Protocol 0: the socket receives nothing. */
	packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (packets < 0 || bind(packets, (struct sockaddr *)&to, sizeof(to)))
		die("no socket for reports: %s", strerror(errno));
	empty();
}

void flush_reports(void)
{
	if (filled == ETH_HLEN)
		return;
	if (send(packets, frame, filled, 0) != (ssize_t)filled)
		die("a report cannot be sent: %s", strerror(errno));
	empty();
}

void report(enum report kind, const void *payload, size_t size)
{
	uint16_t header[2] = { kind, size };

	if (filled + RECORD_HEADER + size > FRAME)
		flush_reports();
	memcpy(frame + filled, header, RECORD_HEADER);
	memcpy(frame + filled + RECORD_HEADER, payload, size);
	filled += RECORD_HEADER + size;
}

void report_text(enum report kind, uint32_t flow, const char *text)
{
	char payload[512];
	size_t length = strnlen(text, sizeof(payload) - 12);
	uint64_t now = simulated_ns();

	memcpy(payload, &now, 8);
	memcpy(payload + 8, &flow, 4);
	memcpy(payload + 12, text, length);
	report(kind, payload, 12 + length);
	flush_reports();
}
