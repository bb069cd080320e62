/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* OrbCC's control law in integers, one call per ACK. The reference is perigee-cc's `orbcc`.
 *
 *   (2) U    <- (1 - alpha) U + alpha u      weight 1 - (1 - alpha)^k for an ACK of k packets
 *   (3) AI   = a bw_b RTT / flows_b
 *   (4) W    = ref eta / U + AI   if U >= eta,   ref + AI   otherwise
 *       cwnd = W on every ACK; ref = W once per sRTT; pacing = 1.2 max(cwnd, in flight) / sRTT
 *
 * Units: times ns, windows bytes in Q8 (`_q8`), U and u Q32. Rates of ports are kbit/s; kbit/s
 * times ns are 1/8,000,000 bytes. Timers need no host: they are due at the first ACK after their
 * time; a host with timers calls orbcc_on_timer() at orbcc_next_timer().
 */
#ifndef ORBCC_LAW_H
#define ORBCC_LAW_H

#include "orbcc_evidence.h"
#include "orbcc_fallback.h"
#include "orbcc_state.h"
#include "orbcc_tables.h"

/* ---- telemetry of an ACK, in the units of the law; 0 = implausible --------------------------- */

ORBCC_INLINE void orbcc_no_telemetry(struct orbcc_telemetry *t)
{
	t->kind = ORBCC_NONE;
	t->partial = 0;
	t->hops = t->hop = 0;
	t->covered = 1;
	t->path = t->avg_rtt_us = t->flows = 0;
	t->u = t->rate_kbit = t->queueing_ns = 0;
	t->stack = 0;
}

ORBCC_INLINE int orbcc_of_stack(struct orbcc_telemetry *t, const struct orbcc_stack *stack)
{
	orbcc_no_telemetry(t);
	if (!orbcc_stack_plausible(stack))
		return 0;
	t->queueing_ns = orbcc_queueing_ns(stack);
	if (t->queueing_ns > ORBCC_MAX_QUEUEING_NS)
		return 0;
	t->kind = ORBCC_STACK;
	t->path = stack->path;
	t->stack = stack;
	t->hops = stack->hops;
	return 1;
}

ORBCC_INLINE int orbcc_of_compact(struct orbcc_telemetry *t, const struct orbcc_compact *e)
{
	orbcc_no_telemetry(t);
	t->rate_kbit = orbcc_uf16_decode(e->rate);
	t->queueing_ns = orbcc_uf16_decode(e->queueing) * 1000;
	if (t->rate_kbit > ORBCC_MAX_RATE_KBIT || t->queueing_ns > ORBCC_MAX_QUEUEING_NS)
		return 0;
	t->kind = ORBCC_COMPACT;
	t->path = e->path;
	t->hop = e->hop;
	t->u = (u64)e->u << 20;
	t->avg_rtt_us = e->avg_rtt & ORBCC_RTT_MAX_US;
	t->flows = e->flows;
	return 1;
}

ORBCC_INLINE int orbcc_of_pint(struct orbcc_telemetry *t, const struct orbcc_pint *r)
{
	orbcc_no_telemetry(t);
	t->rate_kbit = orbcc_uf16_decode(r->rate);
	t->queueing_ns = (u64)r->wait * 64000;
	if (t->rate_kbit > ORBCC_MAX_RATE_KBIT)
		return 0;
	t->kind = ORBCC_PINT;
	t->path = r->path;
	t->u = (u64)orbcc_pint_u[r->u] << 6;
	t->flows = orbcc_pint_flows[r->flows];
	return 1;
}

/* ---- RTT ------------------------------------------------------------------------------------- */

ORBCC_CALL u64 orbcc_toward(u64 mean_q8, u64 sample_q8)
{
	return sample_q8 > mean_q8 ? mean_q8 + ((sample_q8 - mean_q8) >> 3) : mean_q8 - ((mean_q8 - sample_q8) >> 3);
}

ORBCC_INLINE void orbcc_sample_rtt(struct orbcc *c, u64 rtt_ns, u64 queueing_ns)
{
	u64 error;

	if (rtt_ns > ORBCC_MAX_RTT_NS)
		rtt_ns = ORBCC_MAX_RTT_NS;
	c->rtt_ns = rtt_ns;
	if (!c->srtt_q8) {
		c->srtt_q8 = c->base_q8 = rtt_ns << 8;
		c->rttvar_q8 = c->srtt_q8 / 2;
		return;
	}
	error = rtt_ns << 8 > c->srtt_q8 ? (rtt_ns << 8) - c->srtt_q8 : c->srtt_q8 - (rtt_ns << 8);
	c->srtt_q8 = orbcc_toward(c->srtt_q8, rtt_ns << 8);
	c->rttvar_q8 = orbcc_toward(c->rttvar_q8, error);
	if (queueing_ns < rtt_ns)
		c->base_q8 = orbcc_toward(c->base_q8, (rtt_ns - queueing_ns) << 8);
	if (queueing_ns >= rtt_ns || !c->base_q8)
		c->base_q8 = c->srtt_q8;
}

ORBCC_INLINE u64 orbcc_srtt_ns(const struct orbcc *c) { return (c->srtt_q8 + 128) >> 8; }
ORBCC_INLINE u64 orbcc_base_ns(const struct orbcc *c) { return (c->base_q8 + 128) >> 8; }

/* ---- shares ---------------------------------------------------------------------------------- */

/* Bytes, Q8, that a port of a plausible rate sends in a time of at most ORBCC_MAX_RTT_NS. */
ORBCC_INLINE u64 orbcc_bytes_q8(u64 rate_kbit, u64 ns) { return rate_kbit * ns / 31250; }

ORBCC_INLINE u64 orbcc_flows(const struct orbcc *c) { return c->port.flows ? c->port.flows : 1; }

/* Equation (3). */
ORBCC_INLINE u64 orbcc_increase_q8(const struct orbcc *c)
{
	return orbcc_bytes_q8(c->port.rate_kbit, c->rtt_ns) / (ORBCC_INCREASE_DIVISOR * orbcc_flows(c));
}

ORBCC_INLINE u64 orbcc_target_q8(const struct orbcc *c)
{
	return orbcc_scale(orbcc_bytes_q8(c->port.rate_kbit, orbcc_base_ns(c)), ORBCC_ETA) / orbcc_flows(c);
}

/* Bytes, Q8, up to which `open` may raise the window now; everything with `trusted`. */
ORBCC_INLINE u64 orbcc_trust_bound_q8(const struct orbcc *c, u32 mss)
{
	u64 bytes = orbcc_proven_bytes(&c->evidence, mss);

	if (c->trust == ORBCC_TRUSTED)
		return ~0ull;
	if (!bytes)
		bytes = c->cwnd > ORBCC_OPEN_SEGMENTS * (u64)mss ? c->cwnd : ORBCC_OPEN_SEGMENTS * (u64)mss;
	return bytes << 8;
}

ORBCC_INLINE u64 orbcc_bounded_q8(const struct orbcc *c, u64 window_q8, u32 mss)
{
	u64 most = 2 * orbcc_bytes_q8(c->port.rate_kbit, orbcc_base_ns(c)) +
		   2 * orbcc_bytes_q8(c->port.rate_kbit, ORBCC_BOUND_SLACK_NS);
	u64 trusted = orbcc_trust_bound_q8(c, mss);

	if (window_q8 > most)
		window_q8 = most;
	if (window_q8 > trusted)
		window_q8 = trusted;
	return window_q8 > (u64)mss << 8 ? window_q8 : (u64)mss << 8;
}

/* ---- the law --------------------------------------------------------------------------------- */

/* 1 - (1 - alpha)^k in Q32. */
ORBCC_CALL u64 orbcc_weight(u32 k)
{
	u64 power = ORBCC_ONE, square = ORBCC_ONE - ORBCC_ALPHA;
	u32 i;

	if (k <= 1)
		return ORBCC_ALPHA;
	if (k > ORBCC_MAX_COVERED)
		k = ORBCC_MAX_COVERED;
	for (i = 0; i < 10; i++) {
		if (k & 1)
			power = orbcc_scale(power, square);
		square = orbcc_scale(square, square);
		k >>= 1;
	}
	return ORBCC_ONE - power;
}

/* Equation (2). */
ORBCC_INLINE void orbcc_average(struct orbcc *c, u64 u, u64 weight)
{
	if (u > c->utilisation)
		c->utilisation += orbcc_scale(u - c->utilisation, weight);
	else
		c->utilisation -= orbcc_scale(c->utilisation - u, weight);
	if (!c->utilisation)
		c->utilisation = u;
}

/* Equation (4). */
ORBCC_INLINE u64 orbcc_window_q8(const struct orbcc *c)
{
	if (c->utilisation < ORBCC_ETA)
		return c->ref_q8 + c->increase_q8;
	return orbcc_scale(c->ref_q8, ((ORBCC_ETA << 31) / c->utilisation) << 1) + c->increase_q8;
}

/* PINT's start: towards the share, as fast as all starting flows together may. 0 = it is over. */
ORBCC_INLINE int orbcc_climb(struct orbcc *c)
{
	u64 target, most;

	if (c->phase != ORBCC_JUMP && c->phase != ORBCC_SETTLING)
		return 0;
	target = orbcc_target_q8(c);
	if (target <= c->ref_q8 || c->utilisation >= ORBCC_ETA) {
		c->phase = ORBCC_CONTROL;
		return 0;
	}
	c->phase = ORBCC_SETTLING;
	most = orbcc_bytes_q8(c->port.rate_kbit, orbcc_base_ns(c)) / (ORBCC_INCREASE_DIVISOR * orbcc_flows(c));
	c->increase_q8 = target - c->ref_q8 < most ? target - c->ref_q8 : most;
	return 1;
}

/* `open`: the jump at slow start's pace, until it has no effect. */
ORBCC_INLINE int orbcc_ramp(struct orbcc *c, const struct orbcc_ack *a)
{
	u64 target = orbcc_target_q8(c), bytes = orbcc_since(a->delivered, c->ramp_from);

	c->ramp_from = a->delivered;
	if (c->evidence.fruitless >= ORBCC_RAMP_ROUNDS) {
		c->phase = ORBCC_CONTROL;
		return 0;
	}
	if (bytes > c->ref_q8 >> 8)
		bytes = c->ref_q8 >> 8;
	c->ref_q8 += bytes << 8;
	if (c->ref_q8 >= target) {
		c->ref_q8 = target > (u64)a->mss << 8 ? target : (u64)a->mss << 8;
		c->phase = ORBCC_SETTLING;
	}
	c->increase_q8 = orbcc_increase_q8(c);
	return 1;
}

/* The jump of the initial phase. */
ORBCC_INLINE int orbcc_jump(struct orbcc *c, const struct orbcc_ack *a)
{
	if (c->phase == ORBCC_RAMP)
		return orbcc_ramp(c, a);
	if (c->phase != ORBCC_JUMP)
		return 0;
	if (c->trust == ORBCC_OPEN && orbcc_target_q8(c) > c->ref_q8) {
		c->phase = ORBCC_RAMP;
		c->ramp_from = a->delivered;
		c->evidence.fruitless = 0;
		return 1;
	}
	c->phase = ORBCC_SETTLING;
	c->ref_q8 = orbcc_bounded_q8(c, orbcc_target_q8(c), a->mss);
	c->increase_q8 = orbcc_increase_q8(c);
	return 1;
}

ORBCC_INLINE void orbcc_steer(struct orbcc *c, const struct orbcc_ack *a, u32 covered)
{
	int pint = c->profile == ORBCC_PROFILE_PINT, climbs = 0;
	u64 window = 0;

	c->steered++;
	if (c->phase == ORBCC_STARTUP && c->trust == ORBCC_OPEN)
		c->phase = ORBCC_JUMP; /* No faster than any other start. */
	if (c->phase == ORBCC_STARTUP && !c->initial_at_ns)
		c->initial_at_ns = a->now_ns + c->port.avg_rtt_ns;
	orbcc_average(c, c->port.u, pint ? ORBCC_ONE : orbcc_weight(covered));
	if (pint)
		climbs = orbcc_climb(c);
	if (!climbs && orbcc_jump(c, a)) {
		window = c->ref_q8;
	} else {
		if (!climbs)
			c->increase_q8 = c->phase == ORBCC_STARTUP ? 1 << 8 : orbcc_increase_q8(c);
		window = orbcc_bounded_q8(c, orbcc_window_q8(c), a->mss);
		if (c->update_reference) {
			c->update_reference = 0;
			c->ref_q8 = window;
			if (c->phase == ORBCC_SETTLING && !climbs)
				c->phase = ORBCC_CONTROL;
		}
	}
	c->cwnd = window >> 8 > a->mss ? window >> 8 : a->mss;
}

/* ---- readings -------------------------------------------------------------------------------- */

enum orbcc_arrival { ORBCC_SAME, ORBCC_CHANGED, ORBCC_LATE };

/* Echoes of a new path are used at once, those of others are ignored for one sRTT. */
ORBCC_INLINE enum orbcc_arrival orbcc_judge(struct orbcc *c, u64 now_ns, u32 path, int comparable)
{
	if (c->has_path && c->path == path && comparable)
		return ORBCC_SAME;
	if (c->has_path && now_ns < c->settles_at_ns)
		return ORBCC_LATE;
	c->has_path = 1;
	c->path = path;
	c->settles_at_ns = now_ns + orbcc_srtt_ns(c);
	return ORBCC_CHANGED;
}

ORBCC_INLINE int orbcc_path_changed(struct orbcc *c, u64 now_ns)
{
	c->path_changes++;
	if (orbcc_prove_path(&c->evidence, now_ns, orbcc_srtt_ns(c)))
		c->lossy_rounds = 0;
	orbcc_fallback_on_path_change(&c->fallback);
	return 0;
}

/* Compares a stack with the last one, and stores it; 1 = it yields a reading. */
ORBCC_INLINE int orbcc_read_stack(struct orbcc *c, u64 now_ns, const struct orbcc_telemetry *t,
			      struct orbcc_reading *r)
{
	struct orbcc_last_stack *last = &c->last;
	struct orbcc_bottleneck b = { 0 };

	if (!last->used || orbcc_since(now_ns, last->at_ns) > ORBCC_STACK_LIFETIME_NS) {
		orbcc_keep(last, now_ns, t->stack);
		c->has_path = 1;
		c->path = t->path;
		return 0;
	}
	switch (orbcc_judge(c, now_ns, t->path, last->hops == t->hops)) {
	case ORBCC_LATE:
		c->late++;
		return 0;
	case ORBCC_CHANGED:
		orbcc_keep(last, now_ns, t->stack);
		return orbcc_path_changed(c, now_ns);
	case ORBCC_SAME:
		break;
	}
	if (!orbcc_busiest(last, t->stack, &b)) {
		c->late++;
		return 0;
	}
	orbcc_keep(last, now_ns, t->stack);
	r->u = b.u;
	r->rate_kbit = orbcc_uf16_decode(t->stack->hop[b.hop].rate);
	r->avg_rtt_ns = (u64)t->stack->hop[b.hop].avg_rtt * 1000;
	r->flows = t->stack->hop[b.hop].flows;
	r->hop = b.hop;
	return 1;
}

/* 1 = the ACK's telemetry yields a reading. */
ORBCC_INLINE int orbcc_read(struct orbcc *c, u64 now_ns, const struct orbcc_telemetry *t,
			      struct orbcc_reading *r)
{
	u64 avg_rtt_ns = (u64)t->avg_rtt_us * 1000;
	enum orbcc_arrival arrival;

	if (t->kind == ORBCC_STACK)
		return orbcc_read_stack(c, now_ns, t, r);
	arrival = orbcc_judge(c, now_ns, t->path, 1);
	if (arrival == ORBCC_LATE) {
		c->late++;
		return 0;
	}
	if (arrival == ORBCC_CHANGED && c->has_port)
		return orbcc_path_changed(c, now_ns);
	if (t->kind == ORBCC_PINT) /* Records lack the ports' mean RTT. */
		avg_rtt_ns = orbcc_srtt_ns(c) ? orbcc_srtt_ns(c) : 1;
	else if (t->hop == ORBCC_BASELINE || !avg_rtt_ns)
		return 0;
	if (!t->rate_kbit)
		return 0;
	r->u = t->u;
	r->rate_kbit = t->rate_kbit;
	r->avg_rtt_ns = avg_rtt_ns;
	r->flows = t->flows;
	r->hop = t->hop;
	return 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Time of the next timer; 0 = none. */
ORBCC_INLINE u64 orbcc_next_timer(const struct orbcc *c)
{
	if (!c->initial_at_ns || !c->reference_at_ns)
		return c->initial_at_ns | c->reference_at_ns;
	return c->initial_at_ns < c->reference_at_ns ? c->initial_at_ns : c->reference_at_ns;
}

ORBCC_INLINE u64 orbcc_period_ns(const struct orbcc *c)
{
	return orbcc_srtt_ns(c) > 1000 ? orbcc_srtt_ns(c) : 1000;
}

/* Timers due at or before now; `outstanding` = data is not yet acknowledged. */
ORBCC_INLINE void orbcc_on_timer(struct orbcc *c, u64 now_ns, int outstanding)
{
	if (c->initial_at_ns && c->initial_at_ns <= now_ns) {
		c->initial_at_ns = 0;
		if (c->phase == ORBCC_STARTUP)
			c->phase = ORBCC_JUMP;
	}
	if (c->reference_at_ns && c->reference_at_ns <= now_ns) {
		c->update_reference = 1;
		c->reference_at_ns = outstanding ? now_ns + orbcc_period_ns(c) : 0;
	}
}

/* Timers that were due before the ACK at now. */
ORBCC_INLINE void orbcc_due_before(struct orbcc *c, u64 now_ns)
{
	u64 late;

	if (c->initial_at_ns && c->initial_at_ns < now_ns) {
		c->initial_at_ns = 0;
		if (c->phase == ORBCC_STARTUP)
			c->phase = ORBCC_JUMP;
	}
	if (c->reference_at_ns && c->reference_at_ns < now_ns) {
		late = (now_ns - c->reference_at_ns - 1) / orbcc_period_ns(c) + 1;
		c->update_reference = 1;
		c->reference_at_ns += late * orbcc_period_ns(c);
	}
}

/* A round's deliveries and losses, for the bounds of `open`. */
ORBCC_INLINE void orbcc_count_round(struct orbcc *c, const struct orbcc_ack *a)
{
	u64 bytes = orbcc_since(a->delivered, c->round_from), took = orbcc_since(a->now_ns, c->round_at_ns);

	if (!c->srtt_q8 || took < orbcc_srtt_ns(c))
		return;
	if (a->now_ns >= c->evidence.excused_until_ns &&
	    orbcc_since(a->lost, c->round_lost_from) > bytes / ORBCC_LOSSY_SHARE + ORBCC_OPEN_SEGMENTS * (u64)a->mss / 2)
		c->lossy_rounds++;
	else
		c->lossy_rounds = 0;
	c->round_lost_from = a->lost;
	if (bytes >> 32)
		bytes = 0xffffffff;
	orbcc_prove_rate(&c->evidence, bytes, took, a->cwnd);
	if (took > orbcc_srtt_ns(c)) /* sRTT in us has at most 24 bits. */
		bytes = bytes * (orbcc_srtt_ns(c) >> 10) / ((took >> 10) + 1);
	c->round_bytes = bytes;
	c->round_from = a->delivered;
	c->round_at_ns = a->now_ns;
}

ORBCC_INLINE void orbcc_init(struct orbcc *c, u64 now_ns, u32 mss, u8 profile, u8 trust)
{
	/* The host passes cleared memory. */
	c->version = ORBCC_LAW_VERSION;
	c->profile = profile;
	c->trust = trust;
	c->cwnd = (trust == ORBCC_OPEN ? ORBCC_OPEN_SEGMENTS : ORBCC_INITIAL_SEGMENTS) * (u64)mss;
	c->ref_q8 = c->cwnd << 8;
	c->utilisation = ORBCC_ONE;
	c->round_at_ns = now_ns;
}

/* Processes an ACK. The host then takes `cwnd`, unless it returned 1: telemetry is missing or does
 * not explain the queue, and another scheme controls. */
ORBCC_INLINE int orbcc_on_ack(struct orbcc *c, const struct orbcc_ack *a, const struct orbcc_telemetry *t)
{
	int handover, reading;
	struct orbcc_reading r = { 0 };

	c->acks++;
	orbcc_due_before(c, a->now_ns);
	if (a->rtt_ns && a->cum_acked)
		orbcc_sample_rtt(c, a->rtt_ns, t->kind ? t->queueing_ns : c->queueing_ns);
	if (a->rtt_ns)
		orbcc_prove_rtt(&c->evidence, a->now_ns, a->rtt_ns);
	orbcc_count_round(c, a);
	handover = orbcc_watch(c, a, t);
	if (handover)
		c->handovers++;
	if (handover == ORBCC_BACK) {
		c->cwnd = a->cwnd > a->mss ? a->cwnd : a->mss;
		c->ref_q8 = c->cwnd << 8;
		c->update_reference = 0;
		c->phase = ORBCC_CONTROL;
		c->initial_at_ns = 0;
	}
	if (t->kind) {
		reading = orbcc_read(c, a->now_ns, t, &r);
		c->queueing_ns = t->queueing_ns;
		c->readings += (u32)reading;
		if (reading && c->fallback.active == 0 && c->srtt_q8) {
			c->has_port = 1;
			c->port = r;
			orbcc_steer(c, a, t->covered);
		}
	}
	if (!a->cum_acked && (c->phase == ORBCC_JUMP || c->phase == ORBCC_SETTLING || c->phase == ORBCC_RAMP))
		c->phase = ORBCC_CONTROL;
	if (!c->reference_at_ns && c->srtt_q8)
		c->reference_at_ns = a->now_ns + orbcc_period_ns(c);
	return c->fallback.active;
}

/* A packet is about to be sent with nothing in flight: after an idle RTO the network has
 * changed. */
ORBCC_INLINE void orbcc_on_restart(struct orbcc *c, u64 now_ns, u64 last_sent_ns, u32 mss)
{
	u64 rto = (c->srtt_q8 + 4 * c->rttvar_q8) >> 8, share;

	if (rto < ORBCC_MIN_RTO_NS)
		rto = ORBCC_MIN_RTO_NS;
	if (c->fallback.active || !c->has_port || orbcc_since(now_ns, last_sent_ns) <= rto)
		return;
	c->last.used = 0;
	share = orbcc_target_q8(c) >> 8;
	if (share < c->cwnd)
		c->cwnd = share;
	if (c->cwnd < mss)
		c->cwnd = mss;
	c->ref_q8 = c->cwnd << 8;
}

/* Pacing rate in bytes/s; 0 = no RTT yet. */
ORBCC_INLINE u64 orbcc_pacing(const struct orbcc *c, u64 cwnd, u64 in_flight)
{
	u64 bytes = cwnd > in_flight ? cwnd : in_flight, ns = orbcc_srtt_ns(c);

	if (!c->srtt_q8)
		return 0;
	if (bytes >> 43)
		bytes = 1ull << 43;
	if (ns < 1000)
		ns = 1000;
	return bytes / ns * 1200000000ull + bytes % ns * 1200000000ull / ns;
}

/* The sender's part of the fixed header. */
ORBCC_INLINE void orbcc_stamp(const struct orbcc *c, u64 cwnd, struct orbcc_fixed *f)
{
	u64 us = (orbcc_base_ns(c) + 500) / 1000;

	f->hops = 0;
	f->path = 0;
	f->base_rtt_us = (u32)(us > ORBCC_RTT_MAX_US ? ORBCC_RTT_MAX_US : us);
	f->cwnd = orbcc_uf16_encode(cwnd);
}

#endif
