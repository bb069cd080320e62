/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Carrier T: an option of TCP; and the choice of scheme and carrier for the connections of a
 * cgroup. */
#ifndef ORBCC_OPTIONS_H
#define ORBCC_OPTIONS_H

#include "host.h"

#define LEVEL_TCP 6
#define OPTION_MAXSEG 2
#define OPTION_CONGESTION 13
#define FAMILY_IPV6 10
#define ETHERNET_MSS 1440 /* of IPv6 in 1500 bytes */
#define LARGEST_PURE_ACK 60

static __always_inline int is_ipv4(const struct bpf_sock_ops *s)
{
	if (s->family != FAMILY_IPV6)
		return 1;
	/* A dual-stack socket that carries IPv4. */
	return s->remote_ip6[0] == 0 && s->remote_ip6[1] == 0 && s->remote_ip6[2] == bpf_htonl(0xffff);
}

static __always_inline u32 carrier_of(const struct bpf_sock_ops *s)
{
	if (opt_carrier == CARRIER_AUTO)
		return is_ipv4(s) ? CARRIER_T : CARRIER_H;
	if (opt_carrier == CARRIER_I && is_ipv4(s))
		return CARRIER_T;
	return opt_carrier;
}

static __always_inline void choose(struct bpf_sock_ops *s)
{
	char name[] = "orbcc";
	u32 carrier = carrier_of(s);
	int mss = ETHERNET_MSS - (carrier == CARRIER_I ? ORBCC_I_BYTES(opt_room) : ORBCC_H_BYTES(opt_room));

	bpf_setsockopt(s, LEVEL_TCP, OPTION_CONGESTION, name, sizeof(name));
	if (s->family == FAMILY_IPV6 && carrier != CARRIER_T)
		bpf_setsockopt(s, LEVEL_TCP, OPTION_MAXSEG, &mss, sizeof(mss));
}

static __always_inline void establish(struct bpf_sock_ops *s, struct bpf_sock *sk)
{
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, 0);
	u32 carrier = carrier_of(s);

	if (f)
		f->carrier = carrier;
	if (carrier == CARRIER_T)
		bpf_sock_ops_cb_flags_set(s, s->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG |
						     BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
}

static __always_inline int is_pure_ack(const struct bpf_sock_ops *s)
{
	return s->skb_len <= LARGEST_PURE_ACK;
}

static __always_inline void reserve(struct bpf_sock_ops *s, struct bpf_sock *sk)
{
	struct receiver *r;

	if (s->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS || (s->skb_len && !is_pure_ack(s))) {
		if (bpf_sk_storage_get(&flows, sk, 0, 0) && bpf_reserve_hdr_opt(s, ORBCC_T_DATA_BYTES, 0))
			count(COUNT_NO_ROOM);
		return;
	}
	r = bpf_sk_storage_get(&receivers, sk, 0, 0);
	if (r && r->has_record && bpf_reserve_hdr_opt(s, ORBCC_T_ECHO_BYTES, 0))
		count(COUNT_NO_ROOM);
}

static __always_inline void write(struct bpf_sock_ops *s, struct bpf_sock *sk)
{
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct receiver *r = bpf_sk_storage_get(&receivers, sk, 0, 0);
	struct orbcc_t_data d = {};
	u8 x[ORBCC_T_DATA_BYTES] = {};

	if (f && !is_pure_ack(s)) {
		orbcc_stamp(&f->core, f->core.cwnd, &d.fixed);
		orbcc_t_put_data(x, &d, ORBCC_PROFILE_ORBCC);
		if (!bpf_store_hdr_opt(s, x, ORBCC_T_DATA_BYTES, 0))
			count(COUNT_OPTIONS_WRITTEN);
	} else if (r && r->has_record) {
		orbcc_t_put_echo(x, &r->record);
		if (!bpf_store_hdr_opt(s, x, ORBCC_T_ECHO_BYTES, 0))
			count(COUNT_OPTIONS_WRITTEN);
	}
}

static __always_inline void parse(struct bpf_sock_ops *s, struct bpf_sock *sk)
{
	u8 x[ORBCC_T_DATA_BYTES] = { ORBCC_T_KIND, 4, ORBCC_T_DATA_ID >> 8, ORBCC_T_DATA_ID & 255 };
	struct orbcc_telemetry t;
	struct orbcc_compact e;
	struct orbcc_t_data d;
	struct receiver *r;
	struct flow *f;

	if (bpf_load_hdr_opt(s, x, sizeof(x), 0) == ORBCC_T_DATA_BYTES && !orbcc_t_get_data(x, &d)) {
		count(COUNT_BLOCKS);
		if (!d.fixed.hops)
			return;
		r = bpf_sk_storage_get(&receivers, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!r)
			return;
		if (!orbcc_of_compact(&t, &d.port)) {
			count(COUNT_IMPLAUSIBLE);
			return;
		}
		r->record = d.port;
		r->has_record = 1;
		count(COUNT_OPTIONS_READ);
		return;
	}
	__builtin_memset(x, 0, sizeof(x));
	x[0] = ORBCC_T_KIND;
	x[1] = 4;
	orbcc_put16(x + 2, ORBCC_T_ECHO_ID);
	if (bpf_load_hdr_opt(s, x, sizeof(x), 0) != ORBCC_T_ECHO_BYTES || orbcc_t_get_echo(x, &e))
		return;
	f = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (f)
		feed(f, &e);
}

SEC("sockops")
int orbcc_sockops(struct bpf_sock_ops *s)
{
	struct bpf_sock *sk = s->sk;

	if (!sk)
		return 1;
	switch (s->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		if (opt_sender)
			choose(s);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		establish(s, sk);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		reserve(s, sk);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write(s, sk);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		parse(s, sk);
		break;
	}
	return 1;
}

#endif
