/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What packets prove of a path, for the profile `open`: the delivery rate that was reached and the
 * lowest RTT, which no record can change.
 *
 *   window <= gain x highest rate of 8 to 16 rounds x lowest RTT of 3 to 6 s + 10 segments
 *   gain    = 2 after a round that raised the rate by a quarter, 5/4 otherwise
 */
#ifndef ORBCC_EVIDENCE_H
#define ORBCC_EVIDENCE_H

#include "orbcc_state.h"

ORBCC_INLINE u64 orbcc_best_rate(const struct orbcc_evidence *e)
{
	return e->rate > e->rate_before ? e->rate : e->rate_before;
}

ORBCC_INLINE u64 orbcc_lowest_rtt_ns(const struct orbcc_evidence *e)
{
	if (!e->low_ns || !e->low_before_ns)
		return e->low_ns | e->low_before_ns;
	return e->low_ns < e->low_before_ns ? e->low_ns : e->low_before_ns;
}

ORBCC_INLINE void orbcc_prove_rtt(struct orbcc_evidence *e, u64 now_ns, u64 rtt_ns)
{
	if (orbcc_since(now_ns, e->low_at_ns) > ORBCC_LOW_RTT_NS) {
		e->low_before_ns = e->low_ns;
		e->low_ns = 0;
		e->low_at_ns = now_ns;
	}
	if (rtt_ns > ORBCC_MAX_RTT_NS)
		rtt_ns = ORBCC_MAX_RTT_NS;
	if (!e->low_ns || rtt_ns < e->low_ns)
		e->low_ns = rtt_ns;
}

/* A round that took `took_ns` delivered `bytes` (below 2^32), under a window of `cwnd`. */
ORBCC_INLINE void orbcc_prove_rate(struct orbcc_evidence *e, u64 bytes, u64 took_ns, u64 cwnd)
{
	u64 rate = took_ns >> 10 ? bytes * 1000000 / (took_ns >> 10) : 0, best = orbcc_best_rate(e);

	if (e->fruitless < 255)
		e->fruitless++;
	if (rate > best + best / 4)
		e->fruitless = 0;
	else if (rate <= best && bytes < cwnd / 2)
		return; /* The window was no limit. */
	if (++e->rounds >= ORBCC_RATE_ROUNDS) {
		e->rounds = 0;
		e->rate_before = e->rate;
		e->rate = 0;
	}
	if (rate > e->rate)
		e->rate = rate;
}

/* Another path may be longer, and what was in flight may be lost: 1 = losses are excused. Both at
 * most once in a period, since ports choose the path's id. */
ORBCC_INLINE int orbcc_prove_path(struct orbcc_evidence *e, u64 now_ns, u64 srtt_ns)
{
	if (!e->path_at_ns || orbcc_since(now_ns, e->path_at_ns) >= ORBCC_LOW_RTT_NS) {
		e->path_at_ns = e->low_at_ns = now_ns;
		e->low_ns = e->low_before_ns = 0;
	}
	if (e->excused_until_ns && orbcc_since(now_ns, e->excused_until_ns) < ORBCC_EXCUSED_NS)
		return 0;
	e->excused_until_ns = now_ns + 3 * srtt_ns;
	return 1;
}

/* Bytes that the path is known to carry; 0 = there is no evidence yet. */
ORBCC_INLINE u64 orbcc_proven_bytes(const struct orbcc_evidence *e, u32 mss)
{
	u64 rate = orbcc_best_rate(e), low = orbcc_lowest_rtt_ns(e), bytes;

	if (!rate || !low)
		return 0;
	if (rate >> 40)
		rate = 1ull << 40;
	bytes = rate * (low >> 10) / 1000000;
	bytes += e->fruitless < ORBCC_FRUITLESS ? bytes : bytes / 4;
	return bytes + ORBCC_OPEN_SEGMENTS * (u64)mss;
}

#endif
