/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hostile input for the core in user space, compiled with sanitizers: any bytes as records, any
 * clock, any order of events. `fuzz_core N [SEED]`. What must hold is asserted: windows within
 * their bounds, with `open` no raise beyond twice what was delivered.
 */
#include "orbcc_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static u64 state;

__attribute__((no_sanitize("unsigned-integer-overflow"))) static u64 draw(void)
{
	u64 z = (state += 0x9E3779B97F4A7C15ull);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

static u64 below(u64 n) { return draw() % n; }

/* Mostly small, now and then anything. */
static u64 number(void)
{
	return draw() >> below(64);
}

static void require(int holds, const char *what, u64 at)
{
	if (holds)
		return;
	fprintf(stderr, "input %llu: %s\n", (unsigned long long)at, what);
	abort();
}

static int telemetry(struct orbcc_telemetry *t, struct orbcc_stack *stack, struct orbcc_receiver *r, u64 now)
{
	u8 bytes[ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * ORBCC_MAX_HOPS];
	struct orbcc_fixed f = { 0 };
	struct orbcc_compact e;
	struct orbcc_pint p;
	u32 i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (u8)(below(3) ? number() : 0);
	bytes[0] = (u8)(below(16) ? ORBCC_VERSION << 4 | (bytes[0] & 15) : bytes[0]);
	orbcc_no_telemetry(t);
	switch (below(5)) {
	case 0:
		return 1;
	case 1:
		orbcc_get_compact(bytes, &e);
		return orbcc_of_compact(t, &e);
	case 2:
		return !orbcc_get_pint(bytes, &p) && orbcc_of_pint(t, &p);
	}
	if (orbcc_get_fixed(bytes, &f))
		return 0;
	stack->hops = f.hops;
	stack->path = f.path & 3;
	for (i = 0; i < ORBCC_MAX_HOPS; i++)
		orbcc_get_hop(bytes + ORBCC_FIXED_BYTES + i * ORBCC_HOP_BYTES, &stack->hop[i]);
	if (!orbcc_of_stack(t, stack))
		return 0;
	orbcc_receive(r, now, stack, &e);
	if (below(2))
		return orbcc_of_compact(t, &e);
	return 1;
}

/* One connection. */
static u64 one(u64 at, u64 length)
{
	static struct orbcc c;
	static struct orbcc_receiver r;
	struct orbcc_stack stack;
	struct orbcc_telemetry t;
	struct orbcc_fixed f;
	struct orbcc_ack a;
	u64 now = number() >> 1, delivered = number() >> 2, before;
	u32 mss = 1 + (u32)below(9000);
	u8 trust = (u8)below(2);
	u64 i, bound, reference, start;

	memset(&c, 0, sizeof(c));
	memset(&r, 0, sizeof(r));
	orbcc_init(&c, now, mss, (u8)(1 + below(2)), trust);
	for (i = 0; i < length; i++) {
		now += below(100) ? number() >> 30 : 0;
		if (!below(5000) && now > 1000000)
			now -= number() % 1000000; /* a clock that runs backwards */
		memset(&a, 0, sizeof(a));
		a.now_ns = now;
		a.rtt_ns = below(4) ? number() >> 24 : number();
		a.cwnd = below(2) ? c.cwnd : number() >> 20;
		a.delivered = delivered += below(1 << 20);
		a.rate = number() >> 20;
		a.cum_acked = (u32)below(100000);
		a.mss = mss;
		if (!telemetry(&t, &stack, &r, now)) {
			orbcc_no_telemetry(&t);
			c.implausible++;
		}
		t.partial = (u8)below(2);
		t.covered = (u32)number();
		before = c.fallback.active && a.cwnd > c.cwnd ? a.cwnd : c.cwnd;
		reference = c.ref_q8 >> 8;
		orbcc_on_ack(&c, &a, &t);
		bound = orbcc_proven_bytes(&c.evidence, mss) + 10ull * mss;
		start = 2 * (before > reference ? before : reference); /* as any start */
		if ((c.phase == ORBCC_RAMP || c.phase == ORBCC_SETTLING) && bound < start)
			bound = start;
		require(c.cwnd >= mss, "window below a segment", at + i);
		require(c.cwnd < 1ull << 45, "window above any path", at + i);
		if (trust == ORBCC_OPEN)
			require(c.cwnd <= bound || c.cwnd <= before || c.cwnd == mss, "open: raised too far", at + i);
		require(c.utilisation <= ORBCC_MAX_U, "utilisation out of range", at + i);
		(void)orbcc_pacing(&c, c.cwnd, number());
		orbcc_stamp(&c, c.cwnd, &f);
		if (!below(50))
			orbcc_on_timer(&c, now, (int)below(2));
		if (!below(100))
			orbcc_on_restart(&c, now, now - (now >> below(40)), mss);
	}
	return length;
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], 0, 0) : 1000000, done = 0;

	state = argc > 2 ? strtoull(argv[2], 0, 0) : 1;
	while (done < n)
		done += one(done, 1 + below(2000));
	printf("%llu ACKs, no finding\n", (unsigned long long)done);
	return 0;
}
