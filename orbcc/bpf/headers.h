/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Carriers H and I: extension headers of IPv6, by tc at the hosts' devices. */
#ifndef ORBCC_HEADERS_H
#define ORBCC_HEADERS_H

#include "host.h"

#define IPV6_BYTES 40
#define IPV6_LENGTH 4 /* place of the payload's length */
#define IPV6_NEXT 6
#define NEXT_HOP_BY_HOP 0
#define NEXT_DESTINATION 60
#define ETHERTYPE_IPV6 0x86dd
#define TCP_SEQUENCE 4
#define TCP_OFFSET 12 /* place of the header's length */
#define PASS TCX_NEXT

/* Inserts `bytes` of `x` after the IPv6 header. */
static __always_inline int insert(struct __sk_buff *skb, const struct ipv6hdr *ip, const void *x, u32 bytes, u8 kind,
				  u64 flags)
{
	u32 at = opt_link_bytes;
	u16 length = bpf_htons(bpf_ntohs(ip->payload_len) + bytes);

	if (bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_NET, flags))
		return -1;
	bpf_skb_store_bytes(skb, at + IPV6_BYTES, x, bytes, 0);
	if (ip->payload_len)
		bpf_skb_store_bytes(skb, at + IPV6_LENGTH, &length, sizeof(length), 0);
	bpf_skb_store_bytes(skb, at + IPV6_NEXT, &kind, sizeof(kind), 0);
	return 0;
}

/* Bytes that a packet of this socket may have: the helper that makes room asks for no MTU, and what
 * is too large vanishes. */
static __always_inline u32 packet_limit(struct __sk_buff *skb, struct bpf_sock *sk, u32 bytes)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	u32 mtu = bytes;

	bpf_check_mtu(skb, 0, &mtu, 0, 0);
	if (tp && tp->inet_conn.icsk_pmtu_cookie && tp->inet_conn.icsk_pmtu_cookie < mtu)
		mtu = tp->inet_conn.icsk_pmtu_cookie;
	return mtu;
}

static __always_inline void tag(struct __sk_buff *skb, struct bpf_sock *sk, const struct ipv6hdr *ip, u32 headers)
{
	struct flow *f = bpf_sk_storage_get(&flows, sk, 0, 0);
	u8 x[ORBCC_H_BYTES(ORBCC_H_MAX_ROOM)];
	struct orbcc_fixed fixed;
	u32 room = opt_room, bytes, packet, is_trace = opt_carrier == CARRIER_I;

	if (!f || f->carrier == CARRIER_T || room < 1 || room > ORBCC_H_MAX_ROOM)
		return;
	if (f->mute_until_ns && bpf_ktime_get_ns() < f->mute_until_ns)
		return;
	bytes = is_trace ? ORBCC_I_BYTES(room) : ORBCC_H_BYTES(room);
	packet = (skb->gso_size ? skb->gso_size + headers : skb->len - opt_link_bytes) + bytes;
	if (packet > packet_limit(skb, sk, packet)) {
		count(COUNT_TOO_LARGE);
		return;
	}
	orbcc_stamp(&f->core, f->core.cwnd, &fixed);
	if (is_trace)
		orbcc_i_put_block(x, &fixed, room);
	else
		orbcc_h_put_block(x, &fixed, room);
	if (bytes > sizeof(x))
		return;
	if (insert(skb, ip, x, bytes, NEXT_HOP_BY_HOP, BPF_F_ADJ_ROOM_FIXED_GSO))
		count(COUNT_NO_ROOM);
	else
		count(COUNT_TAGGED);
}

static __always_inline void answer(struct __sk_buff *skb, struct bpf_sock *sk, const struct ipv6hdr *ip)
{
	struct receiver *r = bpf_sk_storage_get(&receivers, sk, 0, 0);
	struct orbcc_compact e;
	u8 x[ORBCC_H_ECHO_BYTES];

	if (!r || (!r->has_stack && !r->has_derived))
		return;
	if (r->has_stack)
		orbcc_receive_smooth(&r->core, bpf_ktime_get_ns(), &r->stack, &e);
	else
		e = r->derived;
	orbcc_h_put_echo(x, &e);
	if (insert(skb, ip, x, sizeof(x), NEXT_DESTINATION, 0))
		count(COUNT_NO_ROOM);
	else
		count(COUNT_ECHOES);
}

SEC("tc")
int orbcc_egress(struct __sk_buff *skb)
{
	u32 at = opt_link_bytes, headers, payload;
	struct bpf_sock *sk = skb->sk;
	struct ipv6hdr ip;
	struct tcphdr tcp;

	if (!sk || skb->protocol != bpf_htons(ETHERTYPE_IPV6))
		return PASS;
	sk = bpf_sk_fullsock(sk);
	if (!sk || bpf_skb_load_bytes(skb, at, &ip, sizeof(ip)) || ip.nexthdr != ORBCC_TCP)
		return PASS;
	if (bpf_skb_load_bytes(skb, at + IPV6_BYTES, &tcp, sizeof(tcp)))
		return PASS;
	headers = IPV6_BYTES + tcp.doff * 4;
	if (skb->len < at + headers)
		return PASS;
	payload = skb->len - at - headers;
	if (payload)
		tag(skb, sk, &ip, headers);
	else if (tcp.ack && !tcp.syn && !tcp.rst)
		answer(skb, sk, &ip);
	return PASS;
}

/* The local socket of a packet with its TCP header at `at`; to be released. */
static __always_inline struct bpf_sock *socket_of(struct __sk_buff *skb, const struct ipv6hdr *ip, u32 at)
{
	struct bpf_sock_tuple t = {};
	struct tcphdr tcp;

	if (bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		return NULL;
	__builtin_memcpy(t.ipv6.saddr, &ip->saddr, sizeof(t.ipv6.saddr));
	__builtin_memcpy(t.ipv6.daddr, &ip->daddr, sizeof(t.ipv6.daddr));
	t.ipv6.sport = tcp.source;
	t.ipv6.dport = tcp.dest;
	return bpf_skc_lookup_tcp(skb, &t, sizeof(t.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/* 1 = TCP may accept a segment with its header at `at`: what is far from the receive window is of another,
 * and so is its telemetry. */
static __always_inline int in_window(struct __sk_buff *skb, struct bpf_sock *sk, u32 at)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	u32 sequence;

	if (!tp || bpf_skb_load_bytes(skb, at + TCP_SEQUENCE, &sequence, sizeof(sequence)))
		return 0;
	/* Retransmissions are behind, at most by a window. */
	return bpf_ntohl(sequence) - tp->rcv_nxt + tp->rcv_wnd <= 2 * tp->rcv_wnd;
}

/* Records of a data packet; `at`: place of the first. */
static __always_inline void keep_records(struct __sk_buff *skb, struct receiver *r, const struct orbcc_fixed *f, u32 at)
{
	u8 bytes[ORBCC_HOP_BYTES];
	u32 i;

	for (i = 0; i < ORBCC_MAX_HOPS; i++) {
		if (i >= f->hops || bpf_skb_load_bytes(skb, at + i * ORBCC_HOP_BYTES, bytes, sizeof(bytes)))
			break;
		orbcc_get_hop(bytes, &r->stack.hop[i]);
	}
	r->stack.path = f->path;
	r->stack.hops = (u8)i;
	r->has_stack = i && orbcc_stack_plausible(&r->stack);
	if (i && !r->has_stack)
		count(COUNT_IMPLAUSIBLE);
}

/* Bytes of payload of a packet with its TCP header at `at`. */
static __always_inline u32 payload_of(struct __sk_buff *skb, const struct ipv6hdr *ip, u32 at)
{
	u32 end = opt_link_bytes + IPV6_BYTES + bpf_ntohs(ip->payload_len), start;
	u8 offset;

	if (bpf_skb_load_bytes(skb, at + TCP_OFFSET, &offset, sizeof(offset)))
		return 0;
	start = at + (offset >> 4) * 4;
	return end > start ? end - start : 0;
}

/* Place of a node in a trace, from the end of the trace's header. */
static __always_inline u32 node_at(u32 room, u32 i)
{
	return (room - 1 - i) * ORBCC_IOAM_NODE_BYTES;
}

/* The trace of a data packet; `at`: place of its option, `payload`: bytes of TCP. */
static __always_inline void keep_trace(struct __sk_buff *skb, struct bpf_sock *sk, struct receiver *r,
				       const struct orbcc_fixed *f, u32 at, u32 payload)
{
	u8 x[ORBCC_IOAM_HEADER], node[ORBCC_IOAM_NODE_BYTES];
	struct orbcc_ioam_trace t = {};
	struct orbcc_ioam *s;
	u32 room, i;

	if (bpf_skb_load_bytes(skb, at, x, sizeof(x)) || orbcc_ioam_get(x, &room, &t.hops) || !t.hops)
		return;
	s = bpf_sk_storage_get(&traces, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return;
	for (i = 0; i < ORBCC_IOAM_MAX_HOPS; i++) {
		if (i >= t.hops)
			break;
		if (bpf_skb_load_bytes(skb, at + sizeof(x) + node_at(room, i), node, sizeof(node)) ||
		    orbcc_ioam_get_node(node, &t.hop[i])) {
			count(COUNT_IMPLAUSIBLE);
			return;
		}
	}
	r->has_derived = (u8)orbcc_ioam_receive(s, bpf_ktime_get_ns(), &t, f, payload, &r->derived);
	count(COUNT_TRACES);
}

static __always_inline void receive_data(struct __sk_buff *skb, const struct ipv6hdr *ip)
{
	u32 at = opt_link_bytes + IPV6_BYTES, room;
	u8 x[ORBCC_H_BLOCK + ORBCC_FIXED_BYTES];
	struct bpf_sock *sk, *full;
	struct orbcc_fixed f = {};
	struct receiver *r;

	if (bpf_skb_load_bytes(skb, at, x, sizeof(x)) || orbcc_h_get_block(x, &f, &room))
		return;
	count(COUNT_BLOCKS);
	sk = socket_of(skb, ip, at + ((u32)x[1] + 1) * 8);
	if (!sk) {
		count(COUNT_NO_SOCKET);
		return;
	}
	full = bpf_sk_fullsock(sk);
	if (full && in_window(skb, full, at + ((u32)x[1] + 1) * 8)) {
		r = bpf_sk_storage_get(&receivers, full, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (r && room)
			keep_records(skb, r, &f, at + sizeof(x));
		else if (r && ((u32)x[1] + 1) * 8 >= ORBCC_I_USED(1))
			keep_trace(skb, full, r, &f, at + ORBCC_I_TRACE, payload_of(skb, ip, at + ((u32)x[1] + 1) * 8));
	}
	bpf_sk_release(sk);
}

static __always_inline void receive_echo(struct __sk_buff *skb, const struct ipv6hdr *ip)
{
	u32 at = opt_link_bytes + IPV6_BYTES;
	u8 x[ORBCC_H_ECHO_BYTES];
	struct bpf_sock *sk, *full;
	struct orbcc_compact e;
	struct flow *f;

	if (bpf_skb_load_bytes(skb, at, x, sizeof(x)) || orbcc_h_get_echo(x, &e))
		return;
	sk = socket_of(skb, ip, at + sizeof(x));
	if (!sk) {
		count(COUNT_NO_SOCKET);
		return;
	}
	full = bpf_sk_fullsock(sk);
	if (full) {
		f = bpf_sk_storage_get(&flows, full, 0, 0);
		if (f)
			feed(f, &e);
	}
	bpf_sk_release(sk);
}

SEC("tc")
int orbcc_ingress(struct __sk_buff *skb)
{
	struct ipv6hdr ip;

	if (skb->protocol != bpf_htons(ETHERTYPE_IPV6) || bpf_skb_load_bytes(skb, opt_link_bytes, &ip, sizeof(ip)))
		return PASS;
	if (ip.nexthdr == NEXT_HOP_BY_HOP)
		receive_data(skb, &ip);
	else if (ip.nexthdr == NEXT_DESTINATION)
		receive_echo(skb, &ip);
	return PASS;
}

#endif
