/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The congestion control: OrbCC's core, and Cubic, BBR or LeoCC while telemetry does not suffice. */
#ifndef ORBCC_CONGESTION_H
#define ORBCC_CONGESTION_H

#include "host.h"

extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) __ksym;

#include "leocc.h"

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern void bbr_init(struct sock *sk) __ksym;
extern u32 bbr_ssthresh(struct sock *sk) __ksym;
extern u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, u8 new_state) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;

#define SND_UNA_ADVANCED 0x400 /* FLAG_SND_UNA_ADVANCED of tcp_input.c */
#define PACING_NEEDED 1 /* SK_PACING_NEEDED: the stack's own timer */
#define NON_RESTRICTED 1 /* TCP_CONG_NON_RESTRICTED */
#define INFINITE_SSTHRESH 0x7fffffff
#define MIN_PACKETS 2
#define MUTE_NS 1000000000ull

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

static __always_inline int falls_back(const struct flow *f)
{
	return f && f->core.fallback.active;
}

/* An RTT of telemetry without a reading is none: echoes of ports that never measure keep no flow
 * alive. */
static __always_inline int is_stale(const struct flow *f, u64 now)
{
	u64 srtt = orbcc_srtt_ns(&f->core);

	return orbcc_since(now, f->last_reading_ns) > 6 * srtt + 100000000ull;
}

static __always_inline void take_telemetry(struct flow *f, struct orbcc_telemetry *t, u32 packets, u64 now)
{
	orbcc_no_telemetry(t);
	if (f->news == f->seen)
		return;
	f->seen = f->news;
	if (!orbcc_of_compact(t, &f->echo)) {
		orbcc_no_telemetry(t);
		f->core.implausible++;
		count(COUNT_IMPLAUSIBLE);
		return;
	}
	t->covered = packets ? packets : 1;
	if (t->hop == ORBCC_BASELINE && is_stale(f, now))
		orbcc_no_telemetry(t);
}

static __always_inline void start_fallback(struct sock *sk, struct tcp_sock *tp, struct flow *f)
{
	u32 most = (u32)(f->core.round_bytes / (tp->mss_cache ? tp->mss_cache : 1));

	count(COUNT_TO_FALLBACK);
	/* Telemetry that may have deceived leaves no more than what arrived in the last RTT. */
	if (opt_trust == ORBCC_OPEN && f->readings) {
		most = most < ORBCC_OPEN_SEGMENTS ? ORBCC_OPEN_SEGMENTS : most;
		if (most < tp->snd_cwnd)
			tp->snd_cwnd = most;
	}
	if (opt_fallback != FALLBACK_CUBIC) {
		bbr_init(sk);
		leocc_start(&f->leocc);
		f->leocc.path_changes = f->core.path_changes;
		return;
	}
	cubictcp_init(sk);
	/* From the current window; a connection that never had telemetry starts slowly, as any does. */
	if (f->readings)
		tp->snd_ssthresh = tp->snd_cwnd;
}

/* A timeout may mean that a box drops our headers: the next packets go without, for longer each
 * time, and for good if no echo has ever come. */
static __always_inline void mute(struct flow *f)
{
	u32 n = f->timeouts < 10 ? f->timeouts : 10;

	f->timeouts++;
	f->mute_until_ns = f->news ? bpf_ktime_get_ns() + (MUTE_NS << n) : ~0ull;
}

/* Cubic under a host that leaves reductions to the scheme: at once, instead of by PRR. */
static __always_inline void run_cubic(struct sock *sk, struct tcp_sock *tp, u32 ack, const struct rate_sample *rs)
{
	u8 state = tp->inet_conn.icsk_ca_state;

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		tp->snd_cwnd = tp->snd_ssthresh > MIN_PACKETS ? tp->snd_ssthresh : MIN_PACKETS;
	else if (rs->acked_sacked > 0)
		cubictcp_cong_avoid(sk, ack, rs->acked_sacked);
}

SEC("struct_ops/orbcc_start")
void BPF_PROG(orbcc_start, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	u64 now = bpf_ktime_get_ns();

	if (!f)
		return;
	if (!f->core.version) {
		orbcc_init(&f->core, now, tp->mss_cache ? tp->mss_cache : 536, ORBCC_PROFILE_ORBCC, opt_trust);
		f->last_reading_ns = now;
		count(COUNT_CONNECTIONS);
	}
	tp->snd_cwnd = opt_trust == ORBCC_OPEN ? ORBCC_OPEN_SEGMENTS : ORBCC_INITIAL_SEGMENTS;
	if (sk->sk_pacing_status == 0)
		sk->sk_pacing_status = PACING_NEEDED;
}

SEC("struct_ops/orbcc_control")
void BPF_PROG(orbcc_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	u32 mss = tp->mss_cache, packets, was;
	u64 now = bpf_ktime_get_ns(), pace, delivered, gap;
	struct orbcc_telemetry t;
	struct orbcc_ack a = { 0 };

	if (!f || !mss)
		return;
	count(COUNT_ACKS);
	was = f->core.fallback.active;
	packets = rs->acked_sacked > 0 ? rs->acked_sacked : 0;
	take_telemetry(f, &t, packets, now);
	a.now_ns = now;
	a.rtt_ns = rs->rtt_us > 0 ? (u64)rs->rtt_us * 1000 : 0;
	a.cwnd = was ? (u64)tp->snd_cwnd * mss : f->core.cwnd;
	a.delivered = (u64)tp->delivered * mss;
	a.lost = (u64)tp->lost * mss;
	delivered = rs->delivered > 0 ? rs->delivered : 0;
	if (delivered && rs->interval_us > 0)
		a.rate = delivered * mss * 1000000 / (u64)rs->interval_us;
	a.cum_acked = flag & SND_UNA_ADVANCED ? 1 : 0;
	a.mss = mss;
	gap = orbcc_since(now, f->last_ack_ns);
	f->last_ack_ns = now;
	orbcc_on_ack(&f->core, &a, &t);
	if (f->core.readings != f->readings) {
		f->readings = f->core.readings;
		f->last_reading_ns = now;
		count(COUNT_READINGS);
	}
	if (f->core.fallback.active) {
		if (!was)
			start_fallback(sk, tp, f);
		if (opt_fallback != FALLBACK_CUBIC) {
			if (opt_fallback == FALLBACK_LEOCC)
				leocc_main(f, sk, tp, ack, flag, rs, gap);
			else
				bbr_main(sk, ack, flag, rs);
			return;
		}
		run_cubic(sk, tp, ack, rs);
	} else {
		if (was) {
			count(COUNT_BACK);
			tp->snd_ssthresh = INFINITE_SSTHRESH;
		}
		packets = (u32)((f->core.cwnd + mss / 2) / mss);
		tp->snd_cwnd = packets < MIN_PACKETS ? MIN_PACKETS : packets;
	}
	pace = orbcc_pacing(&f->core, (u64)tp->snd_cwnd * mss, (u64)tp->packets_out * mss);
	if (pace)
		sk->sk_pacing_rate = pace;
}

/* A timeout leaves OrbCC's window as it is. */
SEC("struct_ops/orbcc_set_state")
void BPF_PROG(orbcc_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	u32 mss = tp->mss_cache, packets;

	if (!f)
		return;
	if (new_state == TCP_CA_Loss)
		mute(f);
	if (!falls_back(f)) {
		if (new_state == TCP_CA_Loss && mss) {
			packets = (u32)((f->core.cwnd + mss / 2) / mss);
			tp->snd_cwnd = packets < MIN_PACKETS ? MIN_PACKETS : packets;
		}
		return;
	}
	if (opt_fallback != FALLBACK_CUBIC)
		bbr_set_state(sk, new_state);
	else
		cubictcp_state(sk, new_state);
}

SEC("struct_ops/orbcc_ssthresh")
u32 BPF_PROG(orbcc_ssthresh, struct sock *sk)
{
	if (!falls_back(flow_of(sk)))
		return INFINITE_SSTHRESH;
	return opt_fallback != FALLBACK_CUBIC ? bbr_ssthresh(sk) : cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops/orbcc_undo")
u32 BPF_PROG(orbcc_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (falls_back(flow_of(sk)) && opt_fallback != FALLBACK_CUBIC)
		return bbr_undo_cwnd(sk);
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

SEC("struct_ops/orbcc_event")
void BPF_PROG(orbcc_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	u32 mss = tp->mss_cache, packets;

	if (!f || !mss)
		return;
	if (falls_back(f)) {
		if (opt_fallback != FALLBACK_CUBIC)
			bbr_cwnd_event(sk, event);
		else
			cubictcp_cwnd_event(sk, event);
		return;
	}
	if (event != CA_EVENT_TX_START)
		return;
	orbcc_on_restart(&f->core, bpf_ktime_get_ns(), f->last_ack_ns, mss);
	packets = (u32)((f->core.cwnd + mss / 2) / mss);
	tp->snd_cwnd = packets < MIN_PACKETS ? MIN_PACKETS : packets;
}

SEC("struct_ops/orbcc_acked")
void BPF_PROG(orbcc_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (falls_back(flow_of(sk)) && opt_fallback == FALLBACK_CUBIC)
		cubictcp_acked(sk, sample);
}

SEC("struct_ops/orbcc_tso")
u32 BPF_PROG(orbcc_tso, struct sock *sk)
{
	return 1;
}

/* Windows in the send buffer: losses do not lower the window, and a packet that is lost again stays in
 * it for one more RTT each time. */
SEC("struct_ops/orbcc_buffer")
u32 BPF_PROG(orbcc_buffer, struct sock *sk)
{
	return 4;
}

SEC(".struct_ops")
struct tcp_congestion_ops orbcc = {
	.init = (void *)orbcc_start,
	.cong_control = (void *)orbcc_control,
	.set_state = (void *)orbcc_set_state,
	.ssthresh = (void *)orbcc_ssthresh,
	.undo_cwnd = (void *)orbcc_undo,
	.cwnd_event = (void *)orbcc_event,
	.pkts_acked = (void *)orbcc_acked,
	.min_tso_segs = (void *)orbcc_tso,
	.sndbuf_expand = (void *)orbcc_buffer,
	.flags = NON_RESTRICTED,
	.name = "orbcc",
};

#endif
