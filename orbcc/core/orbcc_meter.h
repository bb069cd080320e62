/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Meter of an egress port: mean base RTT and number of its flows, without division; the reference
 * is perigee-telemetry's `integer`.
 *
 *   lg x   = 4096 log2 x
 *   a      = lg s + lg r - lg w      A += 2^(a/4096)     r s/w   in 2^-24 us      r base RTT, s payload, w window
 *   b      = a + lg r                B += 2^(b/4096)     r^2 s/w in 2^-10 us^2
 *   avgRTT = 2^((lg B - lg A)/4096)  once per interval of avgRTT, 10 ms before the first
 *   flows: cells hold the interval in which a flow last hashed to them; n of m new ones are
 *          n + n^2/2m + n^3/3m^2 flows
 */
#ifndef ORBCC_METER_H
#define ORBCC_METER_H

#include "orbcc_meter_tables.h"

#define ORBCC_CELLS 65536
#define ORBCC_LG_2M (17 << 12)
#define ORBCC_LG_3MM ((32 << 12) + 6492)
#define ORBCC_FIRST_INTERVAL_US 10000

/* What a completed interval publishes. */
struct orbcc_published {
	u32 avg_rtt_us;
	u16 flows;
	u8 flags;
};

/* 4096 log2 x, for x > 0. */
ORBCC_CALL u32 orbcc_lg(u64 x)
{
	u32 place = orbcc_log2(x), carried = 0;
	u64 aligned;

	if (place > 11)
		aligned = ((x >> (place - 12)) + 1) >> 1; /* Rounds, and may carry into the next power. */
	else
		aligned = x << (11 - place);
	if (aligned >> 12) {
		carried = 1;
		aligned = 0;
	}
	return ((place + carried) << 12) + orbcc_log[aligned & 2047];
}

ORBCC_CALL u32 orbcc_lg_uf16(u32 code)
{
	u32 e = code >> 11 & 31;

	return e ? ((e + 10) << 12) + orbcc_log[code & 2047] : orbcc_lg(code & 2047 ? code & 2047 : 1);
}

/* 2^(l/4096), rounded down, at most 2^62; 0 for l < 0. */
ORBCC_CALL u64 orbcc_exp2(int l)
{
	u32 whole = (u32)l >> 12;
	u64 mantissa;

	if (l < 0)
		return 0;
	mantissa = orbcc_exp[l & 4095];
	if (whole <= 15)
		return mantissa >> (15 - whole);
	return whole <= 61 ? mantissa << (whole - 15) : 1ull << 62;
}

/* Logarithm of the packet's part of A, without its scale; of known and positive values. */
ORBCC_CALL int orbcc_meter_lg(u32 base_rtt_us, u32 cwnd, u32 payload)
{
	return (int)(orbcc_lg(payload) + orbcc_lg(base_rtt_us)) - (int)orbcc_lg_uf16(cwnd);
}

/* The end of an interval with sums A and B (positive) and `occupied` cells. */
ORBCC_INLINE void orbcc_meter_publish(u64 a, u64 b, u32 occupied, struct orbcc_published *p)
{
	int l = (int)orbcc_lg(b ? b : 1) - (int)orbcc_lg(a) + (14 << 12), lg = occupied ? (int)orbcc_lg(occupied) : 0;
	u64 rtt = orbcc_exp2(l), n = occupied;

	p->avg_rtt_us = (u32)(rtt > ORBCC_RTT_MAX_US ? ORBCC_RTT_MAX_US : rtt ? rtt : 1);
	if (occupied)
		n += orbcc_exp2(2 * lg - ORBCC_LG_2M) + orbcc_exp2(3 * lg - ORBCC_LG_3MM);
	p->flags = n > ORBCC_FLOWS_MAX ? ORBCC_FLAG_FLOWS_SATURATED : 0;
	p->flows = (u16)(n > ORBCC_FLOWS_MAX ? ORBCC_FLOWS_MAX : n);
}

#endif
