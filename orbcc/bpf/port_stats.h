/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a port publishes for its administrator; shared with the loader. */
#ifndef ORBCC_PORT_STATS_H
#define ORBCC_PORT_STATS_H

struct orbcc_port_stats {
	unsigned long long bytes;
	unsigned long long utilisation; /* Q32 */
	unsigned long long wait_ns; /* of the last packet */
	unsigned int rate_kbit, avg_rtt_us, flows, unused;
};

#endif
