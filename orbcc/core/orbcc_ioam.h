/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* IOAM of routers without OrbCC, and the record that a receiver derives from it.
 *
 * Pre-allocated trace of RFC 9197 as an option of IPv6 (RFC 9486), with the fields that Linux fills:
 *
 *   option  type 8 (0x31) | length 8 | reserved 8 | type 8 (0) | namespace 16 | words of a node 5 | flags 4
 *           | free words 7 | trace type 24 | reserved 8 | free space | nodes, the last one first
 *   node    hop limit 8 | node id 24 | arrival 32 us of the second | backlog 32 bytes
 *
 * Rates and transmitted bytes are missing. The reference, with the reasons for each rule, is
 * perigee_telemetry::carrier:
 *
 *   rate    change of the backlog / change of the transit time, the median of five
 *   u       min(backlog, backlog before) / (rate * base RTT) + sent / rate, averaged over a quarter of
 *           the base RTT
 *   sent    the larger of the sender's own rate and what has left since the packet before, at most `rate`
 *   flows 1, mean RTT: the sender's base RTT
 */
#ifndef ORBCC_IOAM_H
#define ORBCC_IOAM_H

#include "orbcc_load.h"

#define ORBCC_IOAM_OPTION 0x31
#define ORBCC_IOAM_FIELDS 0x920000u /* bits 0, 3 and 6 of the trace type */
#define ORBCC_IOAM_WORDS 3 /* of 4 bytes, for each node */
#define ORBCC_IOAM_HEADER 12
#define ORBCC_IOAM_NODE_BYTES (4 * ORBCC_IOAM_WORDS)
#define ORBCC_IOAM_MAX_HOPS 6
#define ORBCC_IOAM_PORTS 8 /* that a receiver remembers */
#define ORBCC_IOAM_RATES 5
#define ORBCC_IOAM_SLOTS 8 /* for them, a power of two */
#define ORBCC_SECOND_US 1000000u
#define ORBCC_IOAM_RECEIVER 0xffffffffu /* `next` of the last port: no node id of 24 bits */
/* Backlogs above this are no measurement. */
#define ORBCC_IOAM_MAX_BACKLOG ((1u << 28) - 1)
/* A rate follows from a change of the backlog by this, within this time. */
#define ORBCC_IOAM_STEP_BYTES 24000u
#define ORBCC_IOAM_STEP_NS 1000000000ull
#define ORBCC_IOAM_AVERAGES_PER_RTT 4
#define ORBCC_IOAM_MAX_RATE (1ull << 40) /* bytes/s */

/* A node of a trace. */
struct orbcc_ioam_hop {
	u32 node, at_us, backlog;
};

struct orbcc_ioam_trace {
	struct orbcc_ioam_hop hop[ORBCC_IOAM_MAX_HOPS]; /* in path order */
	u32 hops;
};

/* A port, known by its node and the next one. */
struct orbcc_ioam_port {
	u64 used_ns, anchor_ns; /* 0 = never */
	u64 u_q24; /* mean; 0 = none */
	u64 rate[ORBCC_IOAM_SLOTS]; /* the latest, in bytes/s */
	u32 node, next, at_us, backlog, anchor_backlog, anchor_transit_us;
	u32 rates, place; /* number of rates, and place of the next one */
};

struct orbcc_ioam {
	struct orbcc_ioam_port port[ORBCC_IOAM_PORTS];
};

/* The sender's own part, from the fixed part of its packet. */
struct orbcc_ioam_own {
	u64 rate; /* bytes/s */
	u32 base_rtt_us, packet; /* packet: bytes of payload */
};

/* Difference of two times of a second, in us. */
ORBCC_INLINE u32 orbcc_ioam_since(u32 later_us, u32 earlier_us)
{
	return (later_us + ORBCC_SECOND_US - earlier_us) % ORBCC_SECOND_US;
}

/* An option with free space for `room` nodes: ORBCC_IOAM_HEADER + ORBCC_IOAM_NODE_BYTES * room bytes,
 * of which the header is written. */
ORBCC_INLINE void orbcc_ioam_put(u8 *x, u32 room)
{
	x[0] = ORBCC_IOAM_OPTION;
	x[1] = (u8)(ORBCC_IOAM_HEADER - 2 + ORBCC_IOAM_NODE_BYTES * room);
	x[2] = x[3] = 0;
	orbcc_put16(x + 4, 0);
	orbcc_put16(x + 6, ORBCC_IOAM_WORDS << 11 | ORBCC_IOAM_WORDS * room);
	orbcc_put24(x + 8, ORBCC_IOAM_FIELDS);
	x[11] = 0;
}

/* The header of an option: 0 = a trace with these fields; `room` and `hops` are set. */
ORBCC_INLINE int orbcc_ioam_get(const u8 *x, u32 *room, u32 *hops)
{
	u32 word = orbcc_get16(x + 6), left = word & 127, bytes = x[1] + 2u;

	if (x[0] != ORBCC_IOAM_OPTION || x[3] || bytes < ORBCC_IOAM_HEADER || word >> 11 != ORBCC_IOAM_WORDS ||
	    orbcc_get24(x + 8) != ORBCC_IOAM_FIELDS || (bytes - ORBCC_IOAM_HEADER) % ORBCC_IOAM_NODE_BYTES)
		return -1;
	*room = (bytes - ORBCC_IOAM_HEADER) / ORBCC_IOAM_NODE_BYTES;
	if (*room > ORBCC_IOAM_MAX_HOPS || left % ORBCC_IOAM_WORDS || left / ORBCC_IOAM_WORDS > *room)
		return -1;
	*hops = *room - left / ORBCC_IOAM_WORDS;
	return 0;
}

/* A node: 0 = within its bounds. */
ORBCC_INLINE int orbcc_ioam_get_node(const u8 *x, struct orbcc_ioam_hop *h)
{
	h->node = orbcc_get24(x + 1);
	h->at_us = orbcc_get32(x + 4);
	h->backlog = orbcc_get32(x + 8);
	return h->at_us < ORBCC_SECOND_US && h->backlog <= ORBCC_IOAM_MAX_BACKLOG ? 0 : -1;
}

/* The sender's part: 0 = known. */
ORBCC_INLINE int orbcc_ioam_own(struct orbcc_ioam_own *o, const struct orbcc_fixed *f, u32 packet)
{
	u64 window = orbcc_uf16_decode(f->cwnd);

	o->base_rtt_us = f->base_rtt_us;
	o->packet = packet & 0xffff;
	if (!f->base_rtt_us || !window)
		return -1;
	o->rate = window * ORBCC_SECOND_US / f->base_rtt_us;
	return 0;
}

/* The place of a port: its own, or that of the port that was seen least recently. */
ORBCC_CALL u32 orbcc_ioam_place(const struct orbcc_ioam *s, u32 node, u32 next)
{
	u32 i, oldest = 0;
	u64 oldest_ns;

	if (!s)
		return 0;
	oldest_ns = s->port[0].used_ns;

	for (i = 0; i < ORBCC_IOAM_PORTS; i++) {
		const struct orbcc_ioam_port *p = &s->port[i];

		if (p->used_ns && p->node == node && p->next == next)
			return i;
		if (p->used_ns < oldest_ns) {
			oldest = i;
			oldest_ns = p->used_ns;
		}
	}
	return oldest;
}

/* A rate, if the backlog has changed enough since the anchor. */
ORBCC_INLINE void orbcc_ioam_measure(struct orbcc_ioam_port *p, u64 now_ns, u32 backlog, u32 transit_us)
{
	u32 change, later_us, rising = backlog > p->anchor_backlog;
	u64 rate;
	int fresh = !p->anchor_ns || now_ns - p->anchor_ns > ORBCC_IOAM_STEP_NS;

	change = rising ? backlog - p->anchor_backlog : p->anchor_backlog - backlog;
	if (!fresh && change < ORBCC_IOAM_STEP_BYTES)
		return;
	later_us = orbcc_ioam_since(rising ? transit_us : p->anchor_transit_us,
				    rising ? p->anchor_transit_us : transit_us);
	p->anchor_ns = now_ns;
	p->anchor_backlog = backlog;
	p->anchor_transit_us = transit_us;
	/* A backlog that rises delays, one that falls does not. */
	if (fresh || !later_us || later_us > ORBCC_SECOND_US / 2)
		return;
	rate = (u64)change * ORBCC_SECOND_US / later_us;
	p->rate[p->place & (ORBCC_IOAM_SLOTS - 1)] = rate < ORBCC_IOAM_MAX_RATE ? rate : ORBCC_IOAM_MAX_RATE;
	p->place = p->place + 1 < ORBCC_IOAM_RATES ? p->place + 1 : 0;
	if (p->rates < ORBCC_IOAM_RATES)
		p->rates++;
}

/* Median of the rates, the higher of the middle two; 0 = none. */
ORBCC_CALL u64 orbcc_ioam_rate(const struct orbcc_ioam_port *p)
{
	u32 n, i, j;

	if (!p)
		return 0;
	n = p->rates;
	for (i = 0; i < ORBCC_IOAM_RATES; i++) {
		u32 lower = 0, equal = 0;

		if (i >= n)
			break;
		for (j = 0; j < ORBCC_IOAM_RATES; j++) {
			if (j < n && p->rate[j] < p->rate[i])
				lower++;
			if (j < n && p->rate[j] == p->rate[i])
				equal++;
		}
		if (lower <= n / 2 && n / 2 < lower + equal)
			return p->rate[i];
	}
	return 0;
}

/* A packet at one port, and what it says of the port. */
struct orbcc_ioam_step {
	u64 now_ns;
	struct orbcc_ioam_own own;
	struct orbcc_ioam_hop hop;
	u32 next, transit_us, has_own;
	u32 tau_us; /* since the packet before; 0 = unknown, or overtaken */
	u64 rate; /* bytes/s; 0 = unknown */
	u64 u_q12; /* mean; 0 = unknown */
};

/* Load of a port by a packet, Q20; `before`: backlog that the packet before found. */
ORBCC_INLINE u64 orbcc_ioam_load(u32 before, u32 tau_us, const struct orbcc_ioam_step *x)
{
	u64 least = x->hop.backlog < before ? x->hop.backlog : before;
	u64 left = ((u64)before + x->own.packet) * ORBCC_SECOND_US / tau_us;
	u64 sent = left > x->own.rate ? left : x->own.rate;
	u64 queue = (least * ORBCC_SECOND_US << 12) / (x->rate * x->own.base_rtt_us);

	if (sent > x->rate)
		sent = x->rate;
	return (queue << 8) + (sent << 20) / x->rate;
}

/* The mean load after a packet. */
ORBCC_CALL u64 orbcc_ioam_mean(u64 mean_q24, u64 now_q20, u32 tau_us, u32 base_rtt_us)
{
	u64 now_u = (now_q20 < (1u << 28) ? now_q20 : 1u << 28) << 4, weight;

	if (!base_rtt_us)
		return mean_q24;
	weight = ((u64)tau_us * ORBCC_IOAM_AVERAGES_PER_RTT << 24) / base_rtt_us;
	if (!mean_q24 || weight >= 1u << 24)
		return now_u;
	if (now_u >= mean_q24)
		return mean_q24 + ((now_u - mean_q24) * weight >> 24);
	return mean_q24 - ((mean_q24 - now_u) * weight >> 24);
}

/* Updates a port by a packet. */
ORBCC_CALL int orbcc_ioam_update(struct orbcc_ioam_port *p, struct orbcc_ioam_step *x)
{
	u32 before, tau_us, i;
	int known, recent;

	if (!p || !x)
		return 0;
	before = p->backlog;
	tau_us = orbcc_ioam_since(x->hop.at_us, p->at_us);
	known = p->used_ns && p->node == x->hop.node && p->next == x->next;
	recent = known && x->now_ns - p->used_ns <= ORBCC_STACK_LIFETIME_NS;
	if (!known) {
		p->node = x->hop.node;
		p->next = x->next;
		p->anchor_ns = p->u_q24 = 0;
		p->rates = p->place = 0;
		for (i = 0; i < ORBCC_IOAM_SLOTS; i++)
			p->rate[i] = 0;
	}
	orbcc_ioam_measure(p, x->now_ns, x->hop.backlog, x->transit_us);
	p->used_ns = x->now_ns;
	p->at_us = x->hop.at_us;
	p->backlog = x->hop.backlog;
	x->rate = orbcc_ioam_rate(p);
	x->u_q12 = x->tau_us = 0;
	if (!x->rate || !recent || !x->has_own || !x->own.base_rtt_us)
		return 0;
	/* A sample that was overtaken appears to be far ahead. */
	if (tau_us && tau_us <= ORBCC_SECOND_US / 2) {
		x->tau_us = tau_us;
		p->u_q24 = orbcc_ioam_mean(p->u_q24, orbcc_ioam_load(before, tau_us, x), tau_us, x->own.base_rtt_us);
	}
	x->u_q12 = (p->u_q24 + (1u << 11)) >> 12;
	return 0;
}

/* A trace arrived: 1 = `echo` is the record for its ACK. A trace without a port of a known rate
 * leaves none, one without a later time than before a baseline. */
ORBCC_INLINE int orbcc_ioam_receive(struct orbcc_ioam *s, u64 now_ns, const struct orbcc_ioam_trace *t,
				    const struct orbcc_fixed *f, u32 packet, struct orbcc_compact *echo)
{
	u32 i, then_us, now_us = (u32)(now_ns / 1000 % ORBCC_SECOND_US), known = 0, newer = 0, path = 0;
	struct orbcc_ioam_step x = { .now_ns = now_ns };
	u64 waiting_ns = 0, most = 0;

	x.has_own = !orbcc_ioam_own(&x.own, f, packet);
	*echo = (struct orbcc_compact){ .hop = ORBCC_BASELINE };
	for (i = 0; i < ORBCC_IOAM_MAX_HOPS; i++) {
		if (i >= t->hops)
			break;
		x.hop = t->hop[i];
		x.next = ORBCC_IOAM_RECEIVER;
		then_us = now_us;
		if (i + 1 < t->hops && i + 1 < ORBCC_IOAM_MAX_HOPS) {
			x.next = t->hop[i + 1].node;
			then_us = t->hop[i + 1].at_us;
		}
		x.transit_us = orbcc_ioam_since(then_us, x.hop.at_us);
		path ^= x.hop.node ^ x.hop.node >> 16;
		orbcc_ioam_update(&s->port[orbcc_ioam_place(s, x.hop.node, x.next) & (ORBCC_IOAM_PORTS - 1)], &x);
		if (!x.rate)
			continue;
		known = 1;
		waiting_ns += (u64)x.hop.backlog * 1000000000 / x.rate;
		newer |= x.tau_us != 0;
		if (x.u_q12 <= most)
			continue;
		most = x.u_q12;
		echo->hop = (u8)i;
		echo->u = (u16)(most > 65535 ? 65535 : most);
		echo->tau = x.tau_us;
		echo->rate = orbcc_uf16_encode(x.rate * 8 / 1000);
		echo->avg_rtt = x.own.base_rtt_us & ORBCC_RTT_MAX_US;
		echo->flows = 1;
	}
	if (known && !newer)
		*echo = (struct orbcc_compact){ .hop = ORBCC_BASELINE };
	echo->path = (u16)path;
	echo->queueing = orbcc_uf16_encode((waiting_ns + 500) / 1000);
	return (int)known;
}

#endif
