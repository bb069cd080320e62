/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reports, collected in frames. */
#include "agent.h"
#include <linux/if_ether.h>
#include <string.h>

enum { LARGEST = 1 << 16, RECORD_HEADER = 4, EVENT_HEADER = 12 };

static unsigned char frame[LARGEST] = {
	/* to */ 0x02, 0, 0, 0, 0xff, 0xff, /* from */ 0x02, 0, 0, 0, 0xff, 0xfe, /* type */ 0x88, 0xb5,
};
static size_t filled = ETH_HLEN;

size_t report_room(void)
{
	return platform.frame_bytes - ETH_HLEN - RECORD_HEADER;
}

void flush_reports(void)
{
	if (filled == ETH_HLEN)
		return;
	send_frame(frame, filled);
	filled = ETH_HLEN;
}

void report(enum report kind, const void *payload, size_t size)
{
	uint16_t header[2] = { kind, size };

	if (filled + RECORD_HEADER + size > platform.frame_bytes)
		flush_reports();
	memcpy(frame + filled, header, RECORD_HEADER);
	memcpy(frame + filled + RECORD_HEADER, payload, size);
	filled += RECORD_HEADER + size;
}

void report_text(enum report kind, uint32_t subject, const char *text)
{
	char payload[1024];
	size_t length = strnlen(text, sizeof(payload) - EVENT_HEADER);
	uint64_t now = simulated_ns();

	memcpy(payload, &now, 8);
	memcpy(payload + 8, &subject, 4);
	memcpy(payload + EVENT_HEADER, text, length);
	report(kind, payload, EVENT_HEADER + length);
	flush_reports();
}
