/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hostile input for the carriers, the meter, the receiver of bursts and the reader of IOAM, in user space
 * with sanitizers:
 * any bytes as headers and options. `fuzz_carriers N [SEED]`. Each buffer has exactly the length that the
 * BPF programs read, so that a byte more is found.
 */
#include "carriers.h"
#include "orbcc_meter.h"

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

static void require(int holds, const char *what, u64 at)
{
	if (holds)
		return;
	fprintf(stderr, "input %llu: %s\n", (unsigned long long)at, what);
	abort();
}

static void fill(u8 *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (u8)draw();
}

static void headers(u64 at)
{
	u8 *x = malloc(ORBCC_H_BLOCK + ORBCC_FIXED_BYTES), made[ORBCC_H_BYTES(ORBCC_H_MAX_ROOM)];
	struct orbcc_fixed f = { 0 }, again = { 0 };
	u32 room = 0, asked = 1 + (u32)(draw() % ORBCC_H_MAX_ROOM);

	fill(x, ORBCC_H_BLOCK + ORBCC_FIXED_BYTES);
	x[0] = ORBCC_TCP;
	x[2] = ORBCC_H_DATA;
	x[4] = (u8)(ORBCC_VERSION << 4 | (x[4] & 15));
	if (!orbcc_h_get_block(x, &f, &room)) {
		require(f.hops <= room && f.hops <= ORBCC_MAX_HOPS, "more hops than room", at);
		require(ORBCC_H_BLOCK + ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * room <= ((u32)x[1] + 1) * 8,
			"room beyond the header", at);
	}
	f.hops = 0;
	f.base_rtt_us &= ORBCC_RTT_MAX_US;
	orbcc_h_put_block(made, &f, asked);
	require(!orbcc_h_get_block(made, &again, &room) && room == asked, "a header of ours is not read", at);
	require(again.path == f.path && again.cwnd == f.cwnd && again.base_rtt_us == f.base_rtt_us, "fields differ", at);
	free(x);
}

static void options(u64 at)
{
	u8 *x = malloc(ORBCC_T_DATA_BYTES), again[ORBCC_T_DATA_BYTES];
	struct orbcc_t_data d = { 0 };
	struct orbcc_telemetry t;
	struct orbcc_compact e;

	fill(x, ORBCC_T_DATA_BYTES);
	x[0] = ORBCC_T_KIND;
	x[1] = ORBCC_T_DATA_BYTES;
	orbcc_put16(x + 2, ORBCC_T_DATA_ID);
	x[4] = (u8)(ORBCC_VERSION << 4 | (x[4] & 15));
	x[23] = 0;
	require(!orbcc_t_get_data(x, &d), "an option of ours is not read", at);
	orbcc_t_put_data(again, &d, x[22]);
	require(!memcmp(x, again, sizeof(again)), "the option differs when written again", at);
	(void)orbcc_of_compact(&t, &d.port);
	x[1] = ORBCC_T_ECHO_BYTES;
	orbcc_put16(x + 2, ORBCC_T_ECHO_ID);
	require(!orbcc_t_get_echo(x, &e), "an echo of ours is not read", at);
	orbcc_t_put_echo(again, &e);
	require(!memcmp(x, again, ORBCC_T_ECHO_BYTES), "the echo differs when written again", at);
	free(x);
}

static void meters(u64 at)
{
	struct orbcc_published p;
	u64 a = (draw() >> (draw() % 64)) | 1, b = draw() >> (draw() % 64);
	u32 rtt = 1 + (u32)(draw() % ORBCC_RTT_MAX_US);

	orbcc_meter_publish(a, b, (u32)(draw() % (ORBCC_CELLS + 1)), &p);
	require(p.avg_rtt_us >= 1 && p.avg_rtt_us <= ORBCC_RTT_MAX_US && p.flows <= ORBCC_FLOWS_MAX, "out of range", at);
	(void)orbcc_exp2(orbcc_meter_lg(rtt, 1 + (u32)(draw() % 65535), 1 + (u32)(draw() % 65535)) + (24 << 12));
}

static void receivers(struct orbcc_smoother *r, u64 at)
{
	u8 bytes[ORBCC_HOP_BYTES];
	struct orbcc_stack stack = { 0 };
	struct orbcc_telemetry t;
	struct orbcc_compact e;
	static u64 now;

	now += draw() >> (30 + draw() % 30);
	stack.path = (u16)(draw() & 1);
	stack.hops = (u8)(draw() % 20);
	for (u32 i = 0; i < stack.hops && i < ORBCC_MAX_HOPS; i++) {
		fill(bytes, sizeof(bytes));
		orbcc_get_hop(bytes, &stack.hop[i]);
	}
	if (!orbcc_stack_plausible(&stack))
		return;
	orbcc_receive_smooth(r, now, &stack, &e);
	require(e.hop == ORBCC_BASELINE || e.hop < stack.hops, "a hop that the path has not", at);
	(void)orbcc_of_compact(&t, &e);
}

/* Traces with any nodes, and now and then any header. */
static void traces(struct orbcc_ioam *s, u64 at)
{
	u8 *x = malloc(ORBCC_IOAM_HEADER + ORBCC_IOAM_NODE_BYTES * ORBCC_IOAM_MAX_HOPS), made[ORBCC_I_BYTES(ORBCC_H_MAX_ROOM)];
	u32 room = 1 + (u32)(draw() % ORBCC_IOAM_MAX_HOPS), hops = 0, i;
	struct orbcc_ioam_trace t = { 0 };
	struct orbcc_fixed f = { 0 };
	struct orbcc_telemetry read;
	struct orbcc_compact e;
	static u64 now;

	now += draw() >> (30 + draw() % 30);
	f.base_rtt_us = (u32)draw() & ORBCC_RTT_MAX_US;
	f.cwnd = (u16)draw();
	orbcc_i_put_block(made, &f, room);
	require(!orbcc_ioam_get(made + ORBCC_I_TRACE, &i, &hops) && i == room && !hops, "a trace of ours is not read", at);
	memcpy(x, made + ORBCC_I_TRACE, ORBCC_IOAM_HEADER);
	if (draw() & 1)
		fill(x + draw() % ORBCC_IOAM_HEADER, 1);
	else
		x[7] = (u8)(ORBCC_IOAM_WORDS * (draw() % (room + 1)));
	if (!orbcc_ioam_get(x, &i, &t.hops)) {
		require(i <= ORBCC_IOAM_MAX_HOPS && t.hops <= i, "more nodes than room", at);
		for (i = 0; i < t.hops; i++) {
			fill(x, ORBCC_IOAM_NODE_BYTES);
			x[1] = x[2] = 0;
			x[3] &= 7;
			orbcc_put32(x + 4, (u32)(draw() % (ORBCC_SECOND_US + 2)));
			orbcc_put32(x + 8, (u32)draw() >> draw() % 32);
			if (orbcc_ioam_get_node(x, &t.hop[i]))
				break;
		}
		if (i == t.hops && orbcc_ioam_receive(s, now, &t, &f, (u32)draw(), &e)) {
			require(e.hop == ORBCC_BASELINE || e.hop < t.hops, "a node that the trace has not", at);
			(void)orbcc_of_compact(&read, &e);
		}
	}
	free(x);
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], 0, 0) : 1000000, i;
	struct orbcc_smoother r;
	struct orbcc_ioam s;

	memset(&r, 0, sizeof(r));
	memset(&s, 0, sizeof(s));
	state = argc > 2 ? strtoull(argv[2], 0, 0) : 1;
	for (i = 0; i < n; i++) {
		headers(i);
		options(i);
		meters(i);
		receivers(&r, i);
		traces(&s, i);
	}
	printf("%llu inputs each, no finding\n", (unsigned long long)n);
	return 0;
}
