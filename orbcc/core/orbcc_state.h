/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Constants and state of OrbCC's sender. */
#ifndef ORBCC_STATE_H
#define ORBCC_STATE_H

#include "orbcc_load.h"

/* Version of the law; it changes when the result of a published profile does. */
#define ORBCC_LAW_VERSION 1
#define ORBCC_INITIAL_SEGMENTS 5
#define ORBCC_ETA 4080218931ull /* 0.95 */
#define ORBCC_ALPHA 42949673ull /* 0.01 */
#define ORBCC_INCREASE_DIVISOR 20 /* a = 0.05 */
#define ORBCC_BOUND_SLACK_NS 200000000ull
#define ORBCC_MIN_RTO_NS 200000000ull
#define ORBCC_MAX_RTT_NS (1ull << 33)
#define ORBCC_MAX_QUEUEING_NS 60000000000ull
#define ORBCC_MAX_COVERED 1023
/* `open`: the initial window, and segments in addition to what packets prove (orbcc_evidence.h). */
#define ORBCC_OPEN_SEGMENTS 10
#define ORBCC_LOW_RTT_NS 3000000000ull
#define ORBCC_RATE_ROUNDS 8
#define ORBCC_EXCUSED_NS 1000000000ull
/* `open`: rounds without a higher rate after which growth has no effect; and which end the start. */
#define ORBCC_FRUITLESS 2
#define ORBCC_RAMP_ROUNDS 3

/* `open`: a 16th of a round lost, in this number of consecutive rounds, contradicts the records. */
#define ORBCC_LOSSY_SHARE 16
#define ORBCC_LOSSY_ROUNDS 2
#define ORBCC_DISTRUST_NS 4000000000ull

enum orbcc_profile { ORBCC_PROFILE_ORBCC = 1, ORBCC_PROFILE_PINT = 2 };

/* trusted: one administration, the law unbounded. open: telemetry may lower the rate freely and
 * raise it to what packets prove. */
enum orbcc_trust { ORBCC_TRUSTED, ORBCC_OPEN };

enum orbcc_kind { ORBCC_NONE, ORBCC_STACK, ORBCC_COMPACT, ORBCC_PINT };

enum orbcc_phase {
	ORBCC_STARTUP,  /* waiting for a usable record, then one mean RTT */
	ORBCC_JUMP,     /* the next processed ACK jumps */
	ORBCC_SETTLING, /* jumped; the next reference update ends the phase */
	ORBCC_CONTROL,
	ORBCC_RAMP, /* `open`: slow start to the jump's end */
};

/* Telemetry of an ACK, in the units of the law. */
struct orbcc_telemetry {
	u64 u; /* Q32 */
	u64 rate_kbit, queueing_ns;
	const struct orbcc_stack *stack;
	u32 covered; /* packets */
	u32 path, avg_rtt_us, flows;
	u8 kind, partial, hops, hop;
};

/* What an ACK's telemetry says of the bottleneck. */
struct orbcc_reading {
	u64 u; /* Q32 */
	u64 rate_kbit, avg_rtt_ns;
	u32 flows, hop;
};

/* An ACK; all counts in bytes. */
struct orbcc_ack {
	u64 now_ns;
	u64 rtt_ns;  /* 0 = no sample */
	u64 cwnd;    /* of whichever scheme controls */
	u64 delivered; /* since the start of the connection */
	u64 lost;    /* marked lost since the start; only `open` uses it */
	u64 rate;    /* delivery rate, bytes/s; 0 = unknown */
	u32 cum_acked; /* 0 = duplicate */
	u32 mss;
};

/* A test of a rise of the RTT that no port explains. */
struct orbcc_rise {
	u64 since_ns, mark_ns;
	u64 window, rate;
	u8 running, marked, failed;
};

struct orbcc_fallback {
	u64 bare_since_ns, complete_since_ns, lowest_base_q8; /* 0 = none */
	struct orbcc_rise rise;
	u64 distrust_until_ns; /* `open`: no return before */
	u32 distrusts;
	u8 active, bare, complete;
};

/* Rates in bytes per 1.024 s. */
struct orbcc_evidence {
	u64 rate, rate_before, low_ns, low_before_ns, low_at_ns, path_at_ns, excused_until_ns; /* 0 = none */
	u8 rounds, fruitless;
};

struct orbcc {
	u64 cwnd; /* bytes: the result */
	u64 ref_q8, increase_q8, utilisation;
	u64 rtt_ns, srtt_q8, rttvar_q8, base_q8;
	u64 queueing_ns;
	u64 initial_at_ns, reference_at_ns, settles_at_ns; /* 0 = off */
	u64 round_bytes, round_from, round_at_ns, round_lost_from, ramp_from;
	struct orbcc_evidence evidence;
	u32 lossy_rounds;
	struct orbcc_reading port; /* the last that steered */
	u32 path;
	/* Counters. */
	u32 acks, readings, steered, late, implausible, path_changes, handovers;
	u8 version, profile, trust, phase;
	u8 update_reference, has_path, has_port;
	struct orbcc_fallback fallback;
	/* Full echo only: the last stack. */
	struct orbcc_last_stack last;
};

#endif
