// SPDX-License-Identifier: GPL-2.0-only
/* Carriage of OrbCC's telemetry in IPv6: data packets have a hop-by-hop header with an option 0x3E,
 * in which ports write their records; ACKs have a destination header with an option 0x1E, in which
 * the receiver returns the block of the data packet that they answer.
 *
 *   header   next 8 | length 8 | option 8 | bytes 8 | block (orbcc_codec.h) | padding
 */
#include <net/ipv6.h>

#include "orbcc_socket.h"

#define OPTION_DATA 0x3e
#define OPTION_ECHO 0x1e
#define BLOCK 4 /* its place in a header */

#define RECEIVING (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSE_WAIT | TCPF_CLOSING | TCPF_LAST_ACK)

struct tcp_orbcc *tcp_orbcc_of(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->orbcc)
		tp->orbcc = kzalloc(sizeof(*tp->orbcc), GFP_ATOMIC);
	return tp->orbcc;
}

void tcp_orbcc_destroy(struct sock *sk)
{
	kfree(tcp_sk(sk)->orbcc);
	tcp_sk(sk)->orbcc = NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* An extension header with one option of `bytes` bytes, the rest padding. */
static void put_header(u8 *x, u8 option, u32 bytes)
{
	u32 used = BLOCK + bytes, all = ALIGN(used, 8);

	x[1] = all / 8 - 1;
	x[2] = option;
	x[3] = bytes;
	if (all - used >= 2) {
		x[used] = IPV6_TLV_PADN;
		x[used + 1] = all - used - 2;
	}
}

static void put_block(const struct sock *sk, const struct tcp_orbcc *o, struct tcp_orbcc_options *out)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 room = (o->header_bytes - BLOCK - ORBCC_FIXED_BYTES) / ORBCC_HOP_BYTES;
	u64 cwnd = o->core.fallback.active ? (u64)tcp_snd_cwnd(tp) * tp->mss_cache : o->core.cwnd;
	struct orbcc_fixed fixed;

	put_header(out->header, OPTION_DATA, ORBCC_STACK_BYTES(room));
	orbcc_stamp(&o->core, cwnd, &fixed);
	orbcc_put_fixed(out->header + BLOCK, &fixed);
	out->opt.hopopt = (void *)out->header;
	out->opt.opt_nflen = o->header_bytes;
}

static void put_echo(const struct tcp_orbcc *o, struct tcp_orbcc_options *out)
{
	struct orbcc_fixed fixed;
	u32 bytes;

	if (orbcc_get_fixed(o->block, &fixed))
		return;
	bytes = ORBCC_STACK_BYTES(fixed.hops);
	put_header(out->header, OPTION_ECHO, bytes);
	memcpy(out->header + BLOCK, o->block, bytes);
	out->opt.dst1opt = (void *)out->header;
	out->opt.opt_flen = ALIGN(BLOCK + bytes, 8);
}

/* Options of an outgoing packet, whose TCP header is at skb->data; those of the program, if it has
 * any. */
struct ipv6_txoptions *tcp_orbcc_options(const struct sock *sk, const struct sk_buff *skb, struct ipv6_txoptions *own,
					 struct tcp_orbcc_options *out)
{
	const struct tcp_orbcc *o = tcp_sk(sk)->orbcc;
	const struct tcphdr *tcp = tcp_hdr(skb);

	if (!o || own || tcp->syn || tcp->rst)
		return own;
	memset(out, 0, sizeof(*out));
	if (skb->len > tcp_hdrlen(skb)) {
		if (o->sends && o->header_bytes)
			put_block(sk, o, out);
	} else if (o->has_block) {
		put_echo(o, out);
	}
	return out->opt.opt_nflen || out->opt.opt_flen ? &out->opt : own;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* The block in a packet's first extension header, and its size; NULL = there is none. The stack has
 * walked over the extension headers, which are linear. */
static const u8 *find_block(const struct sk_buff *skb, u8 option, u32 *bytes)
{
	const u8 *x = skb_network_header(skb) + sizeof(struct ipv6hdr);
	long there = skb_transport_header(skb) - x;

	if (there < 8 || (x[1] + 1) * 8 > there || x[2] != option || BLOCK + x[3] > (x[1] + 1) * 8)
		return NULL;
	*bytes = x[3];
	return x + BLOCK;
}

/* The fixed part of a block with all its records; 0 = read. */
static int get_fixed(const u8 *block, u32 bytes, struct orbcc_fixed *fixed)
{
	if (bytes < ORBCC_FIXED_BYTES || orbcc_get_fixed(block, fixed) || fixed->hops > ORBCC_MAX_HOPS)
		return -1;
	return ORBCC_STACK_BYTES(fixed->hops) > bytes ? -1 : 0;
}

/* Keeps the block for the ACK of this packet, which is sent at once. */
static void receive_data(struct sock *sk, const struct sk_buff *skb)
{
	struct orbcc_fixed fixed;
	struct tcp_orbcc *o;
	const u8 *block;
	u32 bytes;

	block = find_block(skb, OPTION_DATA, &bytes);
	if (!block || get_fixed(block, bytes, &fixed))
		return;
	o = tcp_orbcc_of(sk);
	if (!o)
		return;
	memcpy(o->block, block, ORBCC_STACK_BYTES(fixed.hops));
	o->has_block = true;
	inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
}

static void receive_echo(struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_orbcc *o = tcp_sk(sk)->orbcc;
	struct orbcc_fixed fixed;
	const u8 *block;
	u32 bytes, i;

	if (!o || !o->sends)
		return;
	block = find_block(skb, OPTION_ECHO, &bytes);
	if (!block || get_fixed(block, bytes, &fixed))
		return;
	o->echo.path = fixed.path;
	o->echo.hops = fixed.hops;
	for (i = 0; i < fixed.hops; i++)
		orbcc_get_hop(block + ORBCC_STACK_BYTES(i), &o->echo.hop[i]);
	o->has_echo = true;
}

void tcp_orbcc_receive(struct sock *sk, const struct sk_buff *skb)
{
	u8 next = ipv6_hdr(skb)->nexthdr;

	if (next == IPPROTO_TCP || !((1 << sk->sk_state) & RECEIVING))
		return;
	if (next == NEXTHDR_HOP)
		receive_data(sk, skb);
	else if (next == NEXTHDR_DEST)
		receive_echo(sk, skb);
}
