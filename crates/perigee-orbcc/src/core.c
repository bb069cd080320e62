/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls into the core for src/lib.rs. Telemetry crosses as the bytes of its wire format. */
#include "orbcc_core.h"
#include "orbcc_ioam.h"

#include <stdlib.h>

/* An ACK as src/lib.rs passes it. */
struct input {
	u64 now_ns, rtt_ns, cwnd, delivered, rate;
	u32 cum_acked, mss, covered;
	u16 path;
	u8 kind, partial, hops;
};

/* The result. */
struct output {
	u64 cwnd, utilisation, ref_q8, base_ns;
	u32 implausible, phase;
	int fallback;
};

struct orbcc *orbcc_core_new(u64 now_ns, u32 mss, u8 profile, u8 trust);
void orbcc_core_free(struct orbcc *c);
void orbcc_core_ack(struct orbcc *c, const struct input *in, const u8 *bytes, struct output *out);
void orbcc_core_timer(struct orbcc *c, u64 now_ns, int outstanding);
void orbcc_core_restart(struct orbcc *c, u64 now_ns, u64 last_sent_ns, u32 mss);
u64 orbcc_core_pacing(const struct orbcc *c, u64 cwnd, u64 in_flight);
struct orbcc_receiver *orbcc_core_receiver(void);
void orbcc_core_receiver_free(struct orbcc_receiver *r);
void orbcc_core_receive(struct orbcc_receiver *r, u64 now_ns, u16 path, u32 hops, const u8 *records, u8 *echo);
struct orbcc_ioam *orbcc_core_ioam(void);
void orbcc_core_ioam_free(struct orbcc_ioam *s);
int orbcc_core_ioam_receive(struct orbcc_ioam *s, u64 now_ns, const u8 *option, const u8 *sender, u32 packet, u8 *echo);

struct orbcc *orbcc_core_new(u64 now_ns, u32 mss, u8 profile, u8 trust)
{
	struct orbcc *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	orbcc_init(c, now_ns, mss, profile, trust);
	return c;
}

void orbcc_core_free(struct orbcc *c)
{
	free(c);
}

static void stack_of(struct orbcc_stack *stack, u16 path, u8 hops, const u8 *records)
{
	stack->path = path;
	stack->hops = hops;
	for (u32 i = 0; i < hops && i < ORBCC_MAX_HOPS; i++)
		orbcc_get_hop(records + i * ORBCC_HOP_BYTES, &stack->hop[i]);
}

void orbcc_core_ack(struct orbcc *c, const struct input *in, const u8 *bytes, struct output *out)
{
	struct orbcc_ack a = { .now_ns = in->now_ns, .rtt_ns = in->rtt_ns, .delivered = in->delivered,
			       .rate = in->rate, .cum_acked = in->cum_acked, .mss = in->mss };
	struct orbcc_stack stack = { 0 };
	struct orbcc_compact compact;
	struct orbcc_pint pint;
	struct orbcc_telemetry t;
	int usable = 1;

	orbcc_no_telemetry(&t);
	if (in->kind == ORBCC_STACK) {
		stack_of(&stack, in->path, in->hops, bytes);
		usable = orbcc_of_stack(&t, &stack);
	} else if (in->kind == ORBCC_COMPACT) {
		orbcc_get_compact(bytes, &compact);
		usable = orbcc_of_compact(&t, &compact);
	} else if (in->kind == ORBCC_PINT) {
		usable = orbcc_get_pint(bytes, &pint) == 0 && orbcc_of_pint(&t, &pint);
	}
	if (!usable) {
		c->implausible++;
		orbcc_no_telemetry(&t);
	}
	t.partial = in->partial;
	t.covered = in->covered;
	/* The window of whoever controls. */
	a.cwnd = c->fallback.active ? in->cwnd : c->cwnd;
	out->fallback = orbcc_on_ack(c, &a, &t);
	out->cwnd = c->cwnd;
	out->utilisation = c->utilisation;
	out->ref_q8 = c->ref_q8;
	out->base_ns = orbcc_base_ns(c);
	out->implausible = c->implausible;
	out->phase = c->phase;
}

/* The host's timers are the reference's; their times differ by rounding. */
#define SLACK_NS 64

static void settle(u64 *at_ns, u64 now_ns)
{
	if (*at_ns > now_ns && *at_ns <= now_ns + SLACK_NS)
		*at_ns = now_ns;
}

void orbcc_core_timer(struct orbcc *c, u64 now_ns, int outstanding)
{
	settle(&c->initial_at_ns, now_ns);
	settle(&c->reference_at_ns, now_ns);
	orbcc_on_timer(c, now_ns, outstanding);
}

void orbcc_core_restart(struct orbcc *c, u64 now_ns, u64 last_sent_ns, u32 mss)
{
	orbcc_on_restart(c, now_ns, last_sent_ns, mss);
}

u64 orbcc_core_pacing(const struct orbcc *c, u64 cwnd, u64 in_flight)
{
	return orbcc_pacing(c, cwnd, in_flight);
}

struct orbcc_receiver *orbcc_core_receiver(void)
{
	struct orbcc_receiver *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	return r;
}

void orbcc_core_receiver_free(struct orbcc_receiver *r)
{
	free(r);
}

void orbcc_core_receive(struct orbcc_receiver *r, u64 now_ns, u16 path, u32 hops, const u8 *records, u8 *echo)
{
	struct orbcc_stack stack = { 0 };
	struct orbcc_compact e;

	stack_of(&stack, path, (u8)hops, records);
	orbcc_receive(r, now_ns, &stack, &e);
	orbcc_put_compact(echo, &e);
}

struct orbcc_ioam *orbcc_core_ioam(void)
{
	struct orbcc_ioam *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	return s;
}

void orbcc_core_ioam_free(struct orbcc_ioam *s)
{
	free(s);
}

/* -1 = no trace, or one with values out of their bounds; 0 = no record. */
int orbcc_core_ioam_receive(struct orbcc_ioam *s, u64 now_ns, const u8 *option, const u8 *sender, u32 packet, u8 *echo)
{
	struct orbcc_ioam_trace t = { 0 };
	struct orbcc_fixed fixed;
	struct orbcc_compact e;
	u32 room, i;
	int found;

	if (orbcc_ioam_get(option, &room, &t.hops) || orbcc_get_fixed(sender, &fixed))
		return -1;
	for (i = 0; i < t.hops; i++)
		if (orbcc_ioam_get_node(option + ORBCC_IOAM_HEADER + (room - 1 - i) * ORBCC_IOAM_NODE_BYTES, &t.hop[i]))
			return -1;
	found = orbcc_ioam_receive(s, now_ns, &t, &fixed, packet, &e);
	orbcc_put_compact(echo, &e);
	return found;
}
