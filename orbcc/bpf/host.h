/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Maps, settings and counters of the sender's and receiver's programs. */
#ifndef ORBCC_HOST_H
#define ORBCC_HOST_H

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "carriers.h"

enum carrier { CARRIER_AUTO, CARRIER_H, CARRIER_T, CARRIER_I };
enum fallback_scheme { FALLBACK_CUBIC, FALLBACK_BBR, FALLBACK_LEOCC };

/* Set by the loader. */
const volatile u32 opt_carrier = CARRIER_AUTO;
const volatile u32 opt_fallback = FALLBACK_CUBIC;
const volatile u32 opt_trust = ORBCC_OPEN;
const volatile u32 opt_room = 3;
const volatile u32 opt_sender = 1; /* connections get the congestion control */
const volatile u32 opt_link_bytes = 14;

enum counter {
	COUNT_ACKS, COUNT_READINGS, COUNT_TAGGED, COUNT_TOO_LARGE, COUNT_NO_ROOM, COUNT_BLOCKS, COUNT_ECHOES,
	COUNT_FEEDS, COUNT_NO_SOCKET, COUNT_IMPLAUSIBLE, COUNT_TO_FALLBACK, COUNT_BACK, COUNT_CONNECTIONS,
	COUNT_OPTIONS_WRITTEN, COUNT_OPTIONS_READ, COUNT_HINTS, COUNT_TRACES, COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

/* A Kalman filter: estimate and variance. */
struct leocc_filter {
	u64 x;
	u8 p;
};

/* LeoCC, next to the kernel's BBR. */
struct leocc {
	struct leocc_filter bw, rtt_us; /* packets per us in Q24; us */
	u32 round, round_bw, path_changes;
	u8 trigger, mode; /* mode: before the ACK */
};

/* Sender of a connection. */
struct flow {
	struct orbcc core;
	struct orbcc_compact echo;
	u64 last_reading_ns, last_ack_ns;
	u64 mute_until_ns; /* packets go without headers, which a box on the path may drop */
	u32 timeouts; /* since the last echo */
	u32 news, seen, readings;
	u32 carrier;
	struct leocc leocc;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

/* Receiver of a connection: data packets leave their records, the difference is made once per
 * ACK. */
struct receiver {
	struct orbcc_smoother core;
	struct orbcc_stack stack;
	struct orbcc_compact record; /* carrier T */
	struct orbcc_compact derived; /* carrier I */
	u8 has_stack, has_record, has_derived;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct receiver);
} receivers SEC(".maps");

/* Receiver of a connection with IOAM traces. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct orbcc_ioam);
} traces SEC(".maps");

static __always_inline void count(u32 which)
{
	u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		(*n)++;
}

/* An echo for a sender's next ACK. */
static __always_inline void feed(struct flow *f, const struct orbcc_compact *e)
{
	f->echo = *e;
	f->news++;
	f->timeouts = 0;
	count(COUNT_FEEDS);
}

#endif
