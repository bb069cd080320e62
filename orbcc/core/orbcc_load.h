/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Utilisation of a path's hops from two consecutive stacks of records; the receiver's differencing.
 *
 *   (1)  u_i = min(qLen_i, qLen'_i) / (bw_i avgRTT_i) + txRate_i / bw_i
 *   (2)  txRate_i = (txBytes_i - txBytes'_i) / (ts_i - ts'_i)         prime: the previous stack
 *
 * Fractions are Q32. Every value of a packet is checked against a bound before it takes part in a
 * product, and every divisor against zero.
 */
#ifndef ORBCC_LOAD_H
#define ORBCC_LOAD_H

#include "orbcc_codec.h"

#define ORBCC_ONE (1ull << 32)
/* Bounds of what a record may contain; beyond them it is implausible. */
#define ORBCC_MAX_RATE_KBIT 1600000000ull /* 1.6 Tbit/s */
#define ORBCC_MAX_QUEUE (1ull << 32)
#define ORBCC_MAX_U (1024 * ORBCC_ONE)
/* A stack older than this is no reference: its clock may have wrapped. */
#define ORBCC_STACK_LIFETIME_NS 4000000000ull
/* Paths for which a receiver keeps the last stack. */
#define ORBCC_PATHS 4

/* The part of a record that the next one is compared with. */
struct orbcc_sample {
	u32 ts, tx;
	u16 q_out;
};

/* Records of a packet. */
struct orbcc_stack {
	u16 path;
	u8 hops;
	struct orbcc_hop hop[ORBCC_MAX_HOPS];
};

/* The busiest hop. */
struct orbcc_bottleneck {
	u64 u; /* Q32 */
	u32 tau_us;
	u32 hop;
};

struct orbcc_last_stack {
	u64 at_ns;
	u16 path;
	u8 used, hops;
	struct orbcc_sample sample[ORBCC_MAX_HOPS];
};

/* Receiver of one connection. */
struct orbcc_receiver {
	struct orbcc_last_stack last[ORBCC_PATHS];
};

/* Time or count since `then`; zero where a clock runs backwards. */
ORBCC_INLINE u64 orbcc_since(u64 now, u64 then) { return now > then ? now - then : 0; }

/* a f / 2^32, for f below 2^32 and a result of 64 bits. */
ORBCC_CALL u64 orbcc_scale(u64 a, u64 f)
{
	return (a >> 32) * f + (((a & 0xffffffff) * f) >> 32);
}

/* num / den in Q32, at most ORBCC_MAX_U; to 22 bits. */
ORBCC_CALL u64 orbcc_ratio(u64 num, u64 den)
{
	u32 room;

	if (num >> 10 >= den)
		return ORBCC_MAX_U;
	room = 63 - orbcc_log2(num);
	if (room > 32)
		room = 32;
	num <<= room;
	/* With less room num is large, and den larger than a 1024th of it: bits remain. */
	den >>= 32 - room;
	return den ? num / den : ORBCC_MAX_U;
}

ORBCC_INLINE int orbcc_plausible(const struct orbcc_hop *h)
{
	return orbcc_uf16_decode(h->rate) <= ORBCC_MAX_RATE_KBIT &&
	       orbcc_uf16_decode(h->q_out) <= ORBCC_MAX_QUEUE && orbcc_uf16_decode(h->q_in) <= ORBCC_MAX_QUEUE;
}

/* Equations (1) and (2) for one plausible hop, Q32; 0 = there is no such pair, or it has no
 * measurement. (Pointers are checked for the verifier, which examines global functions on their
 * own.) */
ORBCC_CALL u64 orbcc_hop_load(const struct orbcc_sample *before, const struct orbcc_hop *after)
{
	u64 rate, queue, queue_before, sent, u;
	u32 tau;

	if (!before || !after)
		return 0;
	rate = orbcc_uf16_decode(after->rate);
	queue = orbcc_uf16_decode(after->q_out);
	queue_before = orbcc_uf16_decode(before->q_out);
	tau = (after->ts + ORBCC_TS_MASK + 1 - before->ts) & ORBCC_TS_MASK;
	sent = (u64)((after->tx + ORBCC_TX_MASK + 1 - before->tx) & ORBCC_TX_MASK) * 8;
	if (!rate || !after->avg_rtt || !tau || tau > (ORBCC_TS_MASK + 1) / 2)
		return 0;
	if (queue_before < queue)
		queue = queue_before;
	/* kbit/s times us are 8000 bytes. */
	u = orbcc_ratio(queue * 8000, rate * after->avg_rtt) + orbcc_ratio(sent * 8000, rate * tau);
	if (u > ORBCC_MAX_U)
		u = ORBCC_MAX_U;
	return u ? u : 1; /* A measurement of an idle port is one. */
}

/* The first hop of maximal utilisation; 0 = no hop has a usable pair of samples. */
ORBCC_CALL int orbcc_busiest(const struct orbcc_last_stack *before, const struct orbcc_stack *after,
			     struct orbcc_bottleneck *best)
{
	u64 u, most = 0;
	u32 i, at = 0;

	if (!before || !after || !best)
		return 0;
	for (i = 0; i < ORBCC_MAX_HOPS; i++) {
		if (i >= after->hops)
			break;
		u = orbcc_hop_load(&before->sample[i], &after->hop[i]);
		if (u > most) {
			most = u;
			at = i;
		}
	}
	if (!most)
		return 0;
	best->u = most;
	best->hop = at;
	best->tau_us = (after->hop[at].ts + ORBCC_TS_MASK + 1 - before->sample[at].ts) & ORBCC_TS_MASK;
	return 1;
}

/* Queueing delay of the packet along its path, sum of rxQlen/bw, in ns; plausible records. */
ORBCC_CALL u64 orbcc_queueing_ns(const struct orbcc_stack *stack)
{
	u64 ns = 0, rate;
	u32 i;

	if (!stack)
		return 0;
	for (i = 0; i < ORBCC_MAX_HOPS; i++) {
		if (i >= stack->hops)
			break;
		rate = orbcc_uf16_decode(stack->hop[i].rate);
		if (rate)
			ns += orbcc_uf16_decode(stack->hop[i].q_in) * 8000000 / rate;
	}
	return ns;
}

/* 1 = every record of a stack is within the bounds. */
ORBCC_CALL int orbcc_stack_plausible(const struct orbcc_stack *stack)
{
	u32 i;

	if (!stack || stack->hops > ORBCC_MAX_HOPS)
		return 0;
	for (i = 0; i < ORBCC_MAX_HOPS; i++) {
		if (i >= stack->hops)
			break;
		if (!orbcc_plausible(&stack->hop[i]))
			return 0;
	}
	return 1;
}

ORBCC_CALL int orbcc_keep(struct orbcc_last_stack *last, u64 now_ns, const struct orbcc_stack *stack)
{
	u32 i;

	if (!last || !stack)
		return 0;
	last->at_ns = now_ns;
	last->path = stack->path;
	last->used = 1;
	last->hops = stack->hops;
	for (i = 0; i < ORBCC_MAX_HOPS; i++) {
		last->sample[i].ts = stack->hop[i].ts;
		last->sample[i].tx = stack->hop[i].tx;
		last->sample[i].q_out = stack->hop[i].q_out;
	}
	return 1;
}

/* Place of a path: its own, a free one, or that of the path that was seen least recently. */
ORBCC_CALL u32 orbcc_place(const struct orbcc_receiver *r, u16 path)
{
	u32 i, place = 0, own = ORBCC_PATHS, empty = ORBCC_PATHS;

	if (!r)
		return 0;
	for (i = 0; i < ORBCC_PATHS; i++) {
		if (!r->last[i].used && empty == ORBCC_PATHS)
			empty = i;
		if (r->last[i].used && r->last[i].path == path && own == ORBCC_PATHS)
			own = i;
	}
	if (own < ORBCC_PATHS)
		return own;
	if (empty < ORBCC_PATHS)
		return empty;
	for (i = 1; i < ORBCC_PATHS; i++)
		if (r->last[i].at_ns < r->last[place].at_ns)
			place = i;
	return place;
}

/* The record of hop b. */
ORBCC_INLINE void orbcc_put_bottleneck(struct orbcc_compact *echo, const struct orbcc_stack *stack,
				       const struct orbcc_bottleneck *b)
{
	u64 q = (b->u + (1 << 19)) >> 20;

	if (b->hop >= ORBCC_MAX_HOPS)
		return;
	echo->u = (u16)(q > 65535 ? 65535 : q);
	echo->hop = (u8)b->hop;
	echo->tau = b->tau_us;
	echo->rate = stack->hop[b->hop].rate;
	echo->avg_rtt = stack->hop[b->hop].avg_rtt;
	echo->flows = stack->hop[b->hop].flows;
}

/* A record without a measurement. */
ORBCC_INLINE void orbcc_put_baseline(struct orbcc_compact *echo, const struct orbcc_stack *stack)
{
	echo->path = stack->path;
	echo->hop = ORBCC_BASELINE;
	echo->u = echo->rate = echo->flows = 0;
	echo->tau = echo->avg_rtt = 0;
	echo->queueing = orbcc_uf16_encode((orbcc_queueing_ns(stack) + 500) / 1000);
}

/* A plausible stack arrived: makes the record that its ACK echoes. A first stack, a stale one or one
 * that was overtaken gives a baseline. */
ORBCC_INLINE void orbcc_receive(struct orbcc_receiver *r, u64 now_ns, const struct orbcc_stack *stack,
				struct orbcc_compact *echo)
{
	struct orbcc_bottleneck b = { 0 };
	struct orbcc_last_stack *last = &r->last[orbcc_place(r, stack->path) & (ORBCC_PATHS - 1)];
	int fresh, found = 0;

	orbcc_put_baseline(echo, stack);
	fresh = !last->used || last->path != stack->path || last->hops != stack->hops ||
		orbcc_since(now_ns, last->at_ns) > ORBCC_STACK_LIFETIME_NS;
	if (!fresh)
		found = orbcc_busiest(last, stack, &b);
	if (!fresh && !found)
		return;
	orbcc_keep(last, now_ns, stack);
	if (found)
		orbcc_put_bottleneck(echo, stack, &b);
}

/* Receiver for bursty senders: u over an eighth to a quarter of the mean RTT. Between the packets of a
 * burst every port is busy, and ACKs of bursts are many: the mean of u from ACK to ACK is above the load.
 */
struct orbcc_smoother {
	struct orbcc_last_stack last[2];
	u32 young;
};

ORBCC_INLINE void orbcc_receive_smooth(struct orbcc_smoother *r, u64 now_ns, const struct orbcc_stack *stack,
				       struct orbcc_compact *echo)
{
	struct orbcc_last_stack *young = &r->last[r->young & 1], *old = &r->last[(r->young + 1) & 1];
	struct orbcc_bottleneck b = { 0 };
	u32 tau;

	orbcc_put_baseline(echo, stack);
	if (!young->used || young->path != stack->path || young->hops != stack->hops ||
	    orbcc_since(now_ns, young->at_ns) > ORBCC_STACK_LIFETIME_NS) {
		orbcc_keep(young, now_ns, stack);
		old->used = 0;
		return;
	}
	if (!old->used) {
		if (orbcc_busiest(young, stack, &b)) {
			orbcc_keep(old, now_ns, stack);
			r->young = (r->young + 1) & 1;
			orbcc_put_bottleneck(echo, stack, &b);
		}
		return;
	}
	if (!orbcc_busiest(old, stack, &b))
		return;
	orbcc_put_bottleneck(echo, stack, &b);
	tau = (stack->hop[0].ts + ORBCC_TS_MASK + 1 - young->sample[0].ts) & ORBCC_TS_MASK;
	if (tau <= (ORBCC_TS_MASK + 1) / 2 && tau >= echo->avg_rtt / 8) {
		orbcc_keep(old, now_ns, stack);
		r->young = (r->young + 1) & 1;
	}
}

#endif
