/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Integer arithmetic of the meter of an egress port, without division: mean base RTT and number of
 * flows. The reference is the module `integer` of the crate perigee-telemetry.
 *
 *   lg x   = 4096 log2 x             r: base RTT in us, s: payload in bytes, w: window in bytes
 *   a      = lg s + lg r - lg w      A += 2^(a/4096)     r s/w   in units of 2^-24 us
 *   b      = a + lg r                B += 2^(b/4096)     r^2 s/w in units of 2^-10 us^2
 *   avgRTT = 2^((lg B - lg A)/4096)  at the end of each interval; it is the length of the next one
 *   flows  = n + n^2/2m + n^3/3m^2   for n of m cells to which packets of this interval hashed
 *                                    (linear counting: series of -m ln(1 - n/m))
 */
#ifndef ORBCC_METER_H
#define ORBCC_METER_H

#include "orbcc_meter_tables.h"

#define ORBCC_CELLS 65536
/* lg 2m and lg 3m^2. */
#define ORBCC_LG_2M (17 << 12)
#define ORBCC_LG_3MM ((32 << 12) + 6492)
#define ORBCC_FIRST_INTERVAL_US 10000

/* Results of a completed interval. */
struct orbcc_published {
	u32 avg_rtt_us;
	u16 flows;
	u8 flags;
};

/* 4096 log2 x, rounded, for x > 0. */
ORBCC_CALL u32 orbcc_lg(u64 x)
{
	u32 place = orbcc_log2(x), carried = 0;
	u64 aligned;

	if (place > 11)
		aligned = ((x >> (place - 12)) + 1) >> 1; /* Rounding may carry into the next power of 2. */
	else
		aligned = x << (11 - place);
	if (aligned >> 12) {
		carried = 1;
		aligned = 0;
	}
	return ((place + carried) << 12) + orbcc_log[aligned & 2047];
}

/* 4096 log2 of a value in the 16-bit floating-point format; that of 1 for 0. */
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

/* lg of a packet's r s/w, without the scale of A; all arguments must be positive. */
ORBCC_CALL int orbcc_meter_lg(u32 base_rtt_us, u32 cwnd, u32 payload)
{
	return (int)(orbcc_lg(payload) + orbcc_lg(base_rtt_us)) - (int)orbcc_lg_uf16(cwnd);
}

/* Computes the results of an interval from the sums A > 0 and B, and the number of occupied cells. */
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
