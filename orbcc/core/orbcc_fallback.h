/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Whether telemetry suffices to control; the reference is perigee-cc's `orbcc/fallback.rs`.
 *
 *            ACKs without telemetry for 2 sRTT, or partial telemetry while the unexplained part of
 *            the RTT stays 20 % above its lowest and a wider window brings no more
 *   OrbCC  ------------------------------------------------------------------> fallback
 *          <------------------------------------------------------------------
 *                            complete telemetry for 1 sRTT
 *
 * With `open` complete telemetry is tested as partial telemetry is, since it may hide a queue; and so is loss.
 */
#ifndef ORBCC_FALLBACK_H
#define ORBCC_FALLBACK_H

#include "orbcc_state.h"

enum orbcc_handover { ORBCC_NO_HANDOVER, ORBCC_TO_FALLBACK, ORBCC_BACK };

/* Number of sRTTs after which a window that does not grow counts as limited by a busy port or by an
 * unknown one. */
#define ORBCC_TEST_ROUNDS 8
#define ORBCC_BUSY (ORBCC_ONE / 100 * 85)

ORBCC_INLINE void orbcc_fallback_on_path_change(struct orbcc_fallback *f)
{
	f->lowest_base_q8 = 0;
	f->rise.running = 0;
}

/* The RTT has risen without a reason in telemetry; a larger window does not increase the rate. */
ORBCC_INLINE int orbcc_hides_a_queue(struct orbcc *c, const struct orbcc_ack *a, int tested)
{
	struct orbcc_fallback *f = &c->fallback;
	struct orbcc_rise *rise = &f->rise;
	u64 srtt = (c->srtt_q8 + 128) >> 8, age, growth, follows;
	int longer_path;

	if (!tested || c->base_q8 * 5 <= f->lowest_base_q8 * 6) {
		rise->running = 0;
		return 0;
	}
	if (!rise->running) {
		rise->running = 1;
		rise->since_ns = a->now_ns;
		rise->marked = rise->failed = 0;
	}
	if (!rise->marked) {
		if (orbcc_since(a->now_ns, rise->since_ns) >= srtt) {
			rise->marked = 1;
			rise->mark_ns = a->now_ns;
			rise->window = a->cwnd;
			rise->rate = a->rate;
		}
		return 0;
	}
	age = orbcc_since(a->now_ns, rise->mark_ns);
	if (a->cwnd * 10 >= rise->window * 11 && age >= 2 * srtt) {
		growth = orbcc_ratio(a->cwnd, rise->window);
		follows = orbcc_ratio(a->rate, rise->rate);
		longer_path = a->rate && follows > ORBCC_ONE + (growth - ORBCC_ONE) / 2;
	} else if (age >= ORBCC_TEST_ROUNDS * srtt) {
		longer_path = c->utilisation >= ORBCC_BUSY;
	} else {
		return 0;
	}
	if (longer_path) {
		f->lowest_base_q8 = c->base_q8;
		rise->running = 0;
		return 0;
	}
	if (!rise->failed) { /* It is repeated, as rates are distorted after an outage. */
		rise->failed = 1;
		rise->mark_ns = a->now_ns;
		rise->window = a->cwnd;
		rise->rate = a->rate;
		return 0;
	}
	return 1;
}

/* `open`: what packets do contradicts the records; trust returns later each time. */
ORBCC_INLINE int orbcc_is_deceived(struct orbcc *c, const struct orbcc_ack *a, int hides)
{
	struct orbcc_fallback *f = &c->fallback;

	if (c->trust != ORBCC_OPEN || (!hides && c->lossy_rounds < ORBCC_LOSSY_ROUNDS))
		return 0;
	f->distrust_until_ns = a->now_ns + (ORBCC_DISTRUST_NS << (f->distrusts < 6 ? f->distrusts : 6));
	f->distrusts++;
	c->lossy_rounds = 0;
	return 1;
}

/* Watches the telemetry of each ACK. */
ORBCC_INLINE int orbcc_watch(struct orbcc *c, const struct orbcc_ack *a, const struct orbcc_telemetry *t)
{
	struct orbcc_fallback *f = &c->fallback;
	u64 srtt = (c->srtt_q8 + 128) >> 8;
	int bare = t->kind == ORBCC_NONE || (t->kind == ORBCC_STACK && !t->hops);
	int complete = !bare && !t->partial, hides;

	if (!c->srtt_q8)
		return ORBCC_NO_HANDOVER;
	if (bare && !f->bare)
		f->bare_since_ns = a->now_ns;
	if (complete && !f->complete)
		f->complete_since_ns = a->now_ns;
	f->bare = (u8)bare;
	f->complete = (u8)complete;
	if (!f->lowest_base_q8 || c->base_q8 < f->lowest_base_q8)
		f->lowest_base_q8 = c->base_q8;
	if (f->active) {
		if (!complete || orbcc_since(a->now_ns, f->complete_since_ns) < srtt ||
		    a->now_ns < f->distrust_until_ns)
			return ORBCC_NO_HANDOVER;
		f->active = 0;
		orbcc_fallback_on_path_change(f);
		return ORBCC_BACK;
	}
	if (!(bare && orbcc_since(a->now_ns, f->bare_since_ns) >= 2 * srtt)) {
		hides = orbcc_hides_a_queue(c, a, !bare && (t->partial || c->trust == ORBCC_OPEN));
		if (!orbcc_is_deceived(c, a, hides) && !hides)
			return ORBCC_NO_HANDOVER;
	}
	f->active = 1;
	return ORBCC_TO_FALLBACK;
}

#endif
