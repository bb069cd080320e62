/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* LeoCC as a fallback: the kernel's BBR, with the model changes of perigee-cc's `leocc`.
 *
 *   hint        no ACK for 45 ms while cruising; another path in the records that still arrive
 *   hint        -> PROBE_RTT to half a BDP -> STARTUP, without the old rates
 *   cruising    with a Kalman-filtered RTT 10 ms above the lowest: the filtered rate, probed by 1.05
 *
 * Without the long-term rate of BBR. The published module pings every 10 ms from a companion program;
 * a host has the gaps of its ACKs. Its window for the lowest RTT is 20 s, that of BBR 10 s.
 */
#ifndef ORBCC_LEOCC_H
#define ORBCC_LEOCC_H

#include "host.h"

extern int CONFIG_HZ __kconfig __weak;

#define LEOCC_GAP_NS 45000000ull
#define LEOCC_FLUCTUATION_US 10000
#define LEOCC_MIN_PACKETS 4
#define LEOCC_BW_SCALE 24
#define LEOCC_BW_MAX (1ull << 31)
#define LEOCC_GENTLE_GAIN 269 /* 1.05 of 256 */
#define LEOCC_LONG_AGO (1u << 30) /* jiffies */

enum leocc_mode { LEOCC_STARTUP, LEOCC_DRAIN, LEOCC_CRUISE, LEOCC_PROBE_RTT };

/* struct bbr of tcp_bbr.c, whose fields of bits BPF cannot write by relocation. */
struct leocc_bbr {
	u32 min_rtt_us, min_rtt_stamp, probe_rtt_done_stamp;
	struct { u32 t, v; } bw[3];
	u32 rtt_cnt, next_rtt_delivered;
	u64 cycle_mstamp;
	u32 mode : 3, prev_ca_state : 3, packet_conservation : 1, round_start : 1, idle_restart : 1,
		probe_rtt_round_done : 1, unused : 13, lt_is_sampling : 1, lt_rtt_cnt : 7, lt_use_bw : 1;
	u32 lt_bw, lt_last_delivered, lt_last_stamp, lt_last_lost;
	u32 pacing_gain : 10, cwnd_gain : 10, full_bw_reached : 1, full_bw_cnt : 2, cycle_idx : 3, has_seen_rtt : 1,
		unused_b : 5;
	u32 prior_cwnd, full_bw;
};

static __always_inline int leocc_knows_bbr(void)
{
	return bpf_core_type_exists(struct bbr) &&
	       bpf_core_field_offset(struct bbr, cycle_mstamp) == __builtin_offsetof(struct leocc_bbr, cycle_mstamp) &&
	       bpf_core_field_offset(struct bbr, lt_bw) == __builtin_offsetof(struct leocc_bbr, lt_bw) &&
	       bpf_core_field_offset(struct bbr, full_bw) == __builtin_offsetof(struct leocc_bbr, full_bw);
}

static __always_inline void leocc_filter(struct leocc_filter *f, u64 z)
{
	u64 p = f->p + 4 < 31 ? f->p + 4 : 31, k = (p << 8) / (p + 4);

	f->x = ((256 - k) * f->x + k * z) >> 8;
	f->p = (u8)(((256 - k) * p) >> 8);
}

static __always_inline void leocc_start(struct leocc *l)
{
	__builtin_memset(l, 0, sizeof(*l));
	l->rtt_us.p = l->bw.p = 25;
}

/* Packets in a product of a rate (packets per us, Q24) and a time. */
static __always_inline u32 leocc_packets(u64 bw, u32 rtt_us)
{
	return (u32)((bw * rtt_us) >> LEOCC_BW_SCALE);
}

static __always_inline void leocc_before(struct flow *f, struct tcp_sock *tp, struct leocc_bbr *b,
					 const struct rate_sample *rs, u64 gap_ns)
{
	struct leocc *l = &f->leocc;
	u64 bw = 0;

	if ((b->mode == LEOCC_CRUISE && gap_ns > LEOCC_GAP_NS) || f->core.path_changes != l->path_changes) {
		l->trigger = 1;
		count(COUNT_HINTS);
	}
	l->path_changes = f->core.path_changes;
	l->mode = b->mode;
	if (rs->delivered > 0 && rs->interval_us > 0)
		bw = ((u64)rs->delivered << LEOCC_BW_SCALE) / (u64)rs->interval_us;
	if (bw > LEOCC_BW_MAX)
		bw = LEOCC_BW_MAX;
	if (b->mode == LEOCC_CRUISE && l->round != b->rtt_cnt)
		leocc_filter(&l->bw, l->round_bw);
	if (l->round != b->rtt_cnt)
		l->round_bw = 0;
	l->round = b->rtt_cnt;
	if (bw > l->round_bw)
		l->round_bw = (u32)bw;
	b->lt_use_bw = 0;
	b->lt_is_sampling = 0;
	if (!l->trigger)
		return;
	if (b->mode == LEOCC_CRUISE)
		b->min_rtt_stamp = (u32)bpf_jiffies64() - LEOCC_LONG_AGO;
	if (b->mode == LEOCC_PROBE_RTT)
		b->full_bw_reached = 0; /* It ends in STARTUP. */
}

static __always_inline void leocc_probe_rtt(struct tcp_sock *tp, struct leocc_bbr *b)
{
	u32 half = leocc_packets(b->bw[0].v, b->min_rtt_us) / 2, ticks = CONFIG_HZ ? (u32)CONFIG_HZ / 5 : 50;

	if (half < LEOCC_MIN_PACKETS)
		half = LEOCC_MIN_PACKETS;
	if (tp->snd_cwnd < half)
		tp->snd_cwnd = half < b->prior_cwnd ? half : tp->snd_cwnd;
	if (b->probe_rtt_done_stamp || tp->packets_out > half)
		return;
	b->probe_rtt_done_stamp = ((u32)bpf_jiffies64() + ticks) | 1;
	b->probe_rtt_round_done = 0;
	b->next_rtt_delivered = tp->delivered;
}

static __always_inline void leocc_after(struct flow *f, struct sock *sk, struct tcp_sock *tp, struct leocc_bbr *b,
					const struct rate_sample *rs)
{
	struct leocc *l = &f->leocc;
	u32 most, gain;

	if (b->mode == LEOCC_PROBE_RTT)
		leocc_probe_rtt(tp, b);
	if (l->mode == LEOCC_PROBE_RTT && b->mode == LEOCC_STARTUP && l->trigger) {
		if (rs->rtt_us > 0)
			b->min_rtt_us = (u32)rs->rtt_us;
		b->bw[0].t = b->bw[1].t = b->bw[2].t = b->rtt_cnt;
		b->bw[0].v = b->bw[1].v = b->bw[2].v = 0;
	}
	if (l->mode == LEOCC_STARTUP && b->mode == LEOCC_DRAIN)
		l->trigger = 0;
	if (rs->rtt_us > 0)
		leocc_filter(&l->rtt_us, (u64)rs->rtt_us);
	if (b->mode != LEOCC_CRUISE || l->trigger || !l->bw.x || l->rtt_us.x < b->min_rtt_us + LEOCC_FLUCTUATION_US)
		return;
	gain = b->cycle_idx == 0 ? LEOCC_GENTLE_GAIN : b->pacing_gain;
	sk->sk_pacing_rate = (((l->bw.x * gain) >> 8) * tp->mss_cache * 990000) >> LEOCC_BW_SCALE;
	most = 2 * leocc_packets(l->bw.x, b->min_rtt_us) + LEOCC_MIN_PACKETS;
	if (tp->snd_cwnd > most)
		tp->snd_cwnd = most;
}

static __always_inline void leocc_main(struct flow *f, struct sock *sk, struct tcp_sock *tp, u32 ack, int flag,
				       const struct rate_sample *rs, u64 gap_ns)
{
	struct leocc_bbr *b = (void *)tp->inet_conn.icsk_ca_priv;

	if (!leocc_knows_bbr()) {
		bbr_main(sk, ack, flag, rs);
		return;
	}
	leocc_before(f, tp, b, rs, gap_ns);
	bbr_main(sk, ack, flag, rs);
	leocc_after(f, sk, tp, b, rs);
}

#endif
