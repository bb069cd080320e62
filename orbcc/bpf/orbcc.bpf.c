/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* OrbCC in an unpatched kernel: congestion control (struct_ops), carriers H (tc) and T (sock_ops),
 * and a listing of its connections (iterator). */
#include "congestion.h"
#include "headers.h"
#include "options.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* A line of JSON per connection. */
SEC("iter/tcp")
int orbcc_list(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;
	struct flow *f;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	f = bpf_sk_storage_get(&flows, (struct sock *)tp, 0, 0);
	if (!f)
		return 0;
	if (common->skc_family == FAMILY_IPV6)
		BPF_SEQ_PRINTF(ctx->meta->seq, "{\"local\":\"[%pI6c]:%u\",\"remote\":\"[%pI6c]:%u\"",
			       &common->skc_v6_rcv_saddr, common->skc_num, &common->skc_v6_daddr,
			       bpf_ntohs(common->skc_dport));
	else
		BPF_SEQ_PRINTF(ctx->meta->seq, "{\"local\":\"%pI4:%u\",\"remote\":\"%pI4:%u\"",
			       &common->skc_rcv_saddr, common->skc_num, &common->skc_daddr,
			       bpf_ntohs(common->skc_dport));
	BPF_SEQ_PRINTF(ctx->meta->seq,
		       ",\"carrier\":%u,\"window_bytes\":%llu,\"srtt_us\":%llu,\"base_rtt_us\":%llu,\"utilisation\":%llu",
		       f->carrier, (u64)tp->snd_cwnd * tp->mss_cache, orbcc_srtt_ns(&f->core) / 1000,
		       orbcc_base_ns(&f->core) / 1000, f->core.utilisation * 1000 >> 32);
	BPF_SEQ_PRINTF(ctx->meta->seq,
		       ",\"bottleneck_hop\":%u,\"bottleneck_kbit\":%llu,\"bottleneck_flows\":%u,\"path\":%u",
		       f->core.port.hop, f->core.port.rate_kbit, f->core.port.flows, f->core.path);
	BPF_SEQ_PRINTF(ctx->meta->seq,
		       ",\"path_changes\":%u,\"fallback\":%u,\"handovers\":%u,\"acks\":%u,\"readings\":%u,\"late\":%u",
		       f->core.path_changes, f->core.fallback.active, f->core.handovers, f->core.acks,
		       f->core.readings, f->core.late);
	BPF_SEQ_PRINTF(ctx->meta->seq, ",\"implausible\":%u,\"phase\":%u,\"trust\":%u}\n", f->core.implausible,
		       f->core.phase, f->core.trust);
	return 0;
}
