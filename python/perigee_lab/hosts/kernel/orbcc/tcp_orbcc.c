// SPDX-License-Identifier: GPL-2.0-only
/* OrbCC: congestion control from in-network telemetry. The law is orbcc_law.h, as in the programs
 * for eBPF; headers.c carries the telemetry. While telemetry is missing, Cubic controls.
 */
#include <linux/module.h>
#include <linux/sysctl.h>
#include <net/netns/generic.h>

#include "orbcc_socket.h"

#define SND_UNA_ADVANCED 0x400 /* FLAG_SND_UNA_ADVANCED of tcp_input.c */
#define DEFAULT_HOPS 3

static const struct tcp_congestion_ops *cubic __ro_after_init;
static unsigned int per_net __read_mostly;

struct orbcc_net {
	int hops;
	struct ctl_table_header *table;
};

static struct tcp_orbcc *sender(const struct sock *sk)
{
	struct tcp_orbcc *o = tcp_sk(sk)->orbcc;

	return o && o->sends ? o : NULL;
}

static bool falls_back(const struct tcp_orbcc *o)
{
	return !o || o->core.fallback.active;
}

u32 tcp_orbcc_hops(const struct net *net)
{
	const struct orbcc_net *n = net_generic(net, per_net);

	return READ_ONCE(n->hops);
}

/* Bytes of telemetry in data packets, by which the MSS is lower. */
static void reserve(struct sock *sk, struct tcp_orbcc *o, u16 bytes)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_ext_hdr_len += bytes - o->header_bytes;
	o->header_bytes = bytes;
	tcp_sync_mss(sk, icsk->icsk_pmtu_cookie);
}

static void set_window(struct sock *sk, const struct tcp_orbcc *o)
{
	u64 packets = div_u64(o->core.cwnd, tcp_sk(sk)->mss_cache);

	tcp_snd_cwnd_set(tcp_sk(sk), clamp_t(u64, packets, 1, tcp_sk(sk)->snd_cwnd_clamp));
}

static void set_pacing(struct sock *sk, const struct tcp_orbcc *o)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 mss = tp->mss_cache, cwnd = falls_back(o) ? tcp_snd_cwnd(tp) * mss : o->core.cwnd;
	u64 pace = orbcc_pacing(&o->core, cwnd, tcp_packets_in_flight(tp) * mss);

	if (pace)
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, pace, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void orbcc_start(struct sock *sk)
{
	struct tcp_orbcc *o = tcp_orbcc_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!o) {
		cubic->init(sk);
		return;
	}
	memset(&o->core, 0, sizeof(o->core));
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		reserve(sk, o, ORBCC_HEADER_BYTES(tcp_orbcc_hops(sock_net(sk))));
	orbcc_init(&o->core, tcp_clock_ns(), tp->mss_cache, ORBCC_PROFILE_ORBCC, ORBCC_TRUSTED);
	o->sends = true;
	o->readings = 0;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	set_window(sk, o);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	/* One packet at a time: ports see bursts as queues. */
	sk->sk_gso_max_segs = 1;
}

static void orbcc_release(struct sock *sk)
{
	struct tcp_orbcc *o = sender(sk);

	if (!o)
		return;
	o->sends = false;
	if (o->header_bytes)
		reserve(sk, o, 0);
}

static void start_fallback(struct sock *sk, const struct tcp_orbcc *o)
{
	struct tcp_sock *tp = tcp_sk(sk);

	cubic->init(sk);
	/* From the current window; a connection that never had telemetry starts slowly, as any does. */
	if (o->readings)
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

/* Cubic under a host that leaves reductions to the scheme: at once, instead of by PRR. */
static void run_cubic(struct sock *sk, u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		tcp_snd_cwnd_set(tp, max(tp->snd_ssthresh, 2U));
	else if (rs->acked_sacked > 0)
		cubic->cong_avoid(sk, ack, rs->acked_sacked);
}

static void take_telemetry(struct tcp_orbcc *o, struct orbcc_telemetry *t, const struct rate_sample *rs)
{
	orbcc_no_telemetry(t);
	if (!o->has_echo)
		return;
	o->has_echo = false;
	if (!orbcc_of_stack(t, &o->echo)) {
		orbcc_no_telemetry(t);
		o->core.implausible++;
		return;
	}
	t->covered = max(rs->acked_sacked, 1);
}

static void orbcc_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcp_orbcc *o = sender(sk);
	u32 mss = tp->mss_cache;
	struct orbcc_telemetry t;
	struct orbcc_ack a = { 0 };
	bool was;

	if (!o) {
		run_cubic(sk, ack, rs);
		return;
	}
	was = o->core.fallback.active;
	take_telemetry(o, &t, rs);
	a.now_ns = tp->tcp_clock_cache;
	a.rtt_ns = rs->rtt_us > 0 ? (u64)rs->rtt_us * NSEC_PER_USEC : 0;
	a.cwnd = was ? (u64)tcp_snd_cwnd(tp) * mss : o->core.cwnd;
	a.delivered = (u64)tp->delivered * mss;
	a.lost = (u64)tp->lost * mss;
	if (rs->delivered > 0 && rs->interval_us > 0)
		a.rate = div64_u64((u64)rs->delivered * mss * USEC_PER_SEC, rs->interval_us);
	a.cum_acked = !!(flag & SND_UNA_ADVANCED);
	a.mss = mss;
	orbcc_on_ack(&o->core, &a, &t);
	o->readings = o->core.readings;
	if (o->core.fallback.active) {
		if (!was)
			start_fallback(sk, o);
		run_cubic(sk, ack, rs);
	} else {
		if (was)
			tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
		set_window(sk, o);
	}
	set_pacing(sk, o);
}

/* A timeout leaves OrbCC's window as it is. */
static void orbcc_set_state(struct sock *sk, u8 state)
{
	struct tcp_orbcc *o = sender(sk);

	if (falls_back(o))
		cubic->set_state(sk, state);
	else if (state == TCP_CA_Loss)
		set_window(sk, o);
}

static u32 orbcc_ssthresh(struct sock *sk)
{
	return falls_back(sender(sk)) ? cubic->ssthresh(sk) : TCP_INFINITE_SSTHRESH;
}

static u32 orbcc_undo(struct sock *sk)
{
	return falls_back(sender(sk)) ? cubic->undo_cwnd(sk) : tcp_snd_cwnd(tcp_sk(sk));
}

static void orbcc_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tcp_orbcc *o = sender(sk);
	u64 now = tcp_clock_ns(), idle;

	if (falls_back(o)) {
		cubic->cwnd_event(sk, event);
		return;
	}
	if (event != CA_EVENT_TX_START)
		return;
	idle = jiffies_to_nsecs(tcp_jiffies32 - tp->lsndtime);
	orbcc_on_restart(&o->core, now, now - min(idle, now), tp->mss_cache);
	set_window(sk, o);
}

static void orbcc_acked(struct sock *sk, const struct ack_sample *sample)
{
	if (falls_back(sender(sk)))
		cubic->pkts_acked(sk, sample);
}

/* BBRv3's patch, which defines this flag, replaces the minimum by a member with another meaning; its
 * kernels use the default minimum of two segments. */
#ifndef TCP_CONG_WANTS_CE_EVENTS
static u32 orbcc_segments(struct sock *sk)
{
	return 1;
}
#endif

/* Windows in the send buffer: losses do not lower the window, and a packet that is lost again stays in
 * it for one more RTT each time. */
static u32 orbcc_buffer(struct sock *sk)
{
	return 4;
}

static struct tcp_congestion_ops orbcc __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "orbcc",
	.owner = THIS_MODULE,
	.init = orbcc_start,
	.release = orbcc_release,
	.cong_control = orbcc_control,
	.set_state = orbcc_set_state,
	.ssthresh = orbcc_ssthresh,
	.undo_cwnd = orbcc_undo,
	.cwnd_event = orbcc_event,
	.pkts_acked = orbcc_acked,
#ifndef TCP_CONG_WANTS_CE_EVENTS
	.min_tso_segs = orbcc_segments,
#endif
	.sndbuf_expand = orbcc_buffer,
};

/* ---- net.ipv4.tcp_orbcc_hops ------------------------------------------------------------------ */

static int most_hops = ORBCC_MAX_HOPS;

static const struct ctl_table settings[] = {
	{
		.procname = "tcp_orbcc_hops",
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ONE,
		.extra2 = &most_hops,
	},
};

static int __net_init start_net(struct net *net)
{
	struct orbcc_net *n = net_generic(net, per_net);
	struct ctl_table *table;

	n->hops = DEFAULT_HOPS;
	table = kmemdup(settings, sizeof(settings), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = &n->hops;
	n->table = register_net_sysctl_sz(net, "net/ipv4", table, ARRAY_SIZE(settings));
	if (!n->table) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit end_net(struct net *net)
{
	struct orbcc_net *n = net_generic(net, per_net);
	const struct ctl_table *table = n->table->ctl_table_arg;

	unregister_net_sysctl_table(n->table);
	kfree(table);
}

static struct pernet_operations nets = {
	.init = start_net,
	.exit = end_net,
	.id = &per_net,
	.size = sizeof(struct orbcc_net),
};

static int __init orbcc_register(void)
{
	int error;

	rcu_read_lock();
	cubic = tcp_ca_find("cubic");
	rcu_read_unlock();
	if (!cubic)
		return -ENOENT;
	error = register_pernet_subsys(&nets);
	return error ? error : tcp_register_congestion_control(&orbcc);
}

/* After Cubic. */
late_initcall(orbcc_register);
