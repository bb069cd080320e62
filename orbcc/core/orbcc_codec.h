/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Wire format of OrbCC's telemetry, in integers.
 *
 *   fixed part, 8 bytes    version 4 | hops 8 | path 16 | base RTT 20 us | window 16 uf16 bytes
 *   per hop, 17 bytes      ts 24 us | rate 16 uf16 kbit/s | qLen 16 uf16 bytes | rxQlen 16 uf16 bytes
 *                          | txBytes 28 x 8 bytes | avgRTT 20 us | flows 12 | flags 4
 *   compact echo, 16 bytes path 16 | hop 8 | u 16 Q4.12 | tau 24 us | rate 16 | avgRTT 20 | flows 12
 *                          | queueing 16 uf16 us
 *   PINT record, 16 bytes  version 4 | U 8 | flows 8 | rate 16 uf16 kbit/s | queueing 12 x 64 us | path 32
 *                          | base RTT 24 us | window 16 uf16 bytes | 8 unused
 *
 * Big endian, without gaps. The reference is the crate perigee-telemetry. uf16: the top 5 bits are
 * an exponent e, the low 11 a mantissa m; the value is m for e = 0 and (2048 + m) 2^(e-1)
 * otherwise.
 */
#ifndef ORBCC_CODEC_H
#define ORBCC_CODEC_H

#if !defined(__bpf__) && !defined(__KERNEL__)
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define ORBCC_INLINE static inline __attribute__((always_inline))
/* Functions of numbers only. The verifier examines a global function once, not at each call. */
#if defined(__bpf__)
#define ORBCC_CALL __attribute__((noinline))
#else
#define ORBCC_CALL ORBCC_INLINE
#endif

/* Version of the layouts above, as blocks and PINT records carry it. */
#define ORBCC_VERSION 1
#define ORBCC_FIXED_BYTES 8
#define ORBCC_HOP_BYTES 17
#define ORBCC_COMPACT_BYTES 16
#define ORBCC_PINT_BYTES 16
/* Hops that fit the 255 bytes of one IPv6 option. */
#define ORBCC_MAX_HOPS 14
/* Hop of a compact echo that only marks a baseline. */
#define ORBCC_BASELINE 255
#define ORBCC_TS_MASK 0xffffffu
#define ORBCC_TX_MASK 0xfffffffu
#define ORBCC_RTT_MAX_US 0xfffffu
#define ORBCC_FLOWS_MAX 0xfffu
#define ORBCC_FLAG_FLOWS_SATURATED 1
#define ORBCC_FLAG_SHAPER_RATE 2

/* The fixed part of a block. */
struct orbcc_fixed {
	u32 base_rtt_us;
	u16 path;
	u16 cwnd; /* uf16 */
	u8 hops;
};

/* One hop's record, coded as on the wire. */
struct orbcc_hop {
	u32 ts, tx, avg_rtt;
	u16 rate, q_out, q_in, flows;
	u8 flags;
};

/* The compact echo: one hop, differenced by the receiver. */
struct orbcc_compact {
	u32 tau, avg_rtt;
	u16 path, u, rate, flows, queueing;
	u8 hop;
};

/* The record of fixed size that ports overwrite. */
struct orbcc_pint {
	u32 path, base_rtt_us;
	u16 rate, wait, cwnd;
	u8 u, flows;
};

/* Position of the leading one of v; 0 for v = 0. */
ORBCC_CALL u32 orbcc_log2(u64 v)
{
	u32 r = 0;

	if (v >> 32) { v >>= 32; r += 32; }
	if (v >> 16) { v >>= 16; r += 16; }
	if (v >> 8) { v >>= 8; r += 8; }
	if (v >> 4) { v >>= 4; r += 4; }
	if (v >> 2) { v >>= 2; r += 2; }
	if (v >> 1) r += 1;
	return r;
}

ORBCC_CALL u64 orbcc_uf16_decode(u32 code)
{
	u32 e = (code >> 11) & 31, m = code & 2047;

	return e ? (u64)(2048 + m) << (e - 1) : m;
}

ORBCC_CALL u16 orbcc_uf16_encode(u64 v)
{
	u32 shift;

	if (v < 2048)
		return (u16)v;
	if (v >= (4095ull << 30))
		return 0xffff;
	shift = orbcc_log2(v) - 11;
	v = (v + ((1ull << shift) >> 1)) >> shift;
	/* A mantissa that rounds up to 4096 carries into the exponent: the correct next code. */
	return (u16)(((shift + 1) << 11) + (u32)(v - 2048));
}

ORBCC_INLINE u32 orbcc_get16(const u8 *p) { return (u32)p[0] << 8 | p[1]; }
ORBCC_INLINE u32 orbcc_get24(const u8 *p) { return (u32)p[0] << 16 | (u32)p[1] << 8 | p[2]; }
ORBCC_INLINE u32 orbcc_get32(const u8 *p) { return orbcc_get16(p) << 16 | orbcc_get16(p + 2); }

ORBCC_INLINE void orbcc_put16(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

ORBCC_INLINE void orbcc_put24(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 16);
	orbcc_put16(p + 1, v);
}

ORBCC_INLINE void orbcc_put32(u8 *p, u32 v)
{
	orbcc_put16(p, v >> 16);
	orbcc_put16(p + 2, v);
}

/* 0 = read; -1 = of another version. */
ORBCC_INLINE int orbcc_get_fixed(const u8 *p, struct orbcc_fixed *f)
{
	if (p[0] >> 4 != ORBCC_VERSION)
		return -1;
	f->hops = (u8)((p[0] & 15) << 4 | p[1] >> 4);
	f->path = (u16)((p[1] & 15u) << 12 | (u32)p[2] << 4 | p[3] >> 4);
	f->base_rtt_us = (p[3] & 15u) << 16 | orbcc_get16(p + 4);
	f->cwnd = (u16)orbcc_get16(p + 6);
	return 0;
}

ORBCC_INLINE void orbcc_put_fixed(u8 *p, const struct orbcc_fixed *f)
{
	p[0] = (u8)(ORBCC_VERSION << 4 | f->hops >> 4);
	p[1] = (u8)((f->hops & 15u) << 4 | f->path >> 12);
	p[2] = (u8)(f->path >> 4);
	p[3] = (u8)((f->path & 15u) << 4 | (f->base_rtt_us >> 16 & 15));
	orbcc_put16(p + 4, f->base_rtt_us);
	orbcc_put16(p + 6, f->cwnd);
}

ORBCC_INLINE void orbcc_get_hop(const u8 *p, struct orbcc_hop *h)
{
	h->ts = orbcc_get24(p);
	h->rate = (u16)orbcc_get16(p + 3);
	h->q_out = (u16)orbcc_get16(p + 5);
	h->q_in = (u16)orbcc_get16(p + 7);
	h->tx = orbcc_get24(p + 9) << 4 | p[12] >> 4;
	h->avg_rtt = (p[12] & 15u) << 16 | orbcc_get16(p + 13);
	h->flows = (u16)(orbcc_get16(p + 15) >> 4);
	h->flags = p[16] & 15;
}

ORBCC_INLINE void orbcc_put_hop(u8 *p, const struct orbcc_hop *h)
{
	orbcc_put24(p, h->ts);
	orbcc_put16(p + 3, h->rate);
	orbcc_put16(p + 5, h->q_out);
	orbcc_put16(p + 7, h->q_in);
	orbcc_put24(p + 9, h->tx >> 4);
	p[12] = (u8)((h->tx & 15) << 4 | (h->avg_rtt >> 16 & 15));
	orbcc_put16(p + 13, h->avg_rtt);
	orbcc_put16(p + 15, (u32)h->flows << 4 | (h->flags & 15));
}

ORBCC_INLINE void orbcc_get_compact(const u8 *p, struct orbcc_compact *e)
{
	e->path = (u16)orbcc_get16(p);
	e->hop = p[2];
	e->u = (u16)orbcc_get16(p + 3);
	e->tau = orbcc_get24(p + 5);
	e->rate = (u16)orbcc_get16(p + 8);
	e->avg_rtt = (u32)p[10] << 12 | (u32)p[11] << 4 | p[12] >> 4;
	e->flows = (u16)((p[12] & 15u) << 8 | p[13]);
	e->queueing = (u16)orbcc_get16(p + 14);
}

ORBCC_INLINE void orbcc_put_compact(u8 *p, const struct orbcc_compact *e)
{
	orbcc_put16(p, e->path);
	p[2] = e->hop;
	orbcc_put16(p + 3, e->u);
	orbcc_put24(p + 5, e->tau);
	orbcc_put16(p + 8, e->rate);
	p[10] = (u8)(e->avg_rtt >> 12);
	p[11] = (u8)(e->avg_rtt >> 4);
	p[12] = (u8)((e->avg_rtt & 15) << 4 | (e->flows >> 8 & 15));
	p[13] = (u8)e->flows;
	orbcc_put16(p + 14, e->queueing);
}

/* 0 = read; -1 = of another version. */
ORBCC_INLINE int orbcc_get_pint(const u8 *p, struct orbcc_pint *r)
{
	if (p[0] >> 4 != ORBCC_VERSION)
		return -1;
	r->u = (u8)((p[0] & 15) << 4 | p[1] >> 4);
	r->flows = (u8)((p[1] & 15) << 4 | p[2] >> 4);
	r->rate = (u16)((p[2] & 15u) << 12 | (u32)p[3] << 4 | p[4] >> 4);
	r->wait = (u16)((p[4] & 15u) << 8 | p[5]);
	r->path = orbcc_get32(p + 6);
	r->base_rtt_us = orbcc_get24(p + 10);
	r->cwnd = (u16)orbcc_get16(p + 13);
	return 0;
}

ORBCC_INLINE void orbcc_put_pint(u8 *p, const struct orbcc_pint *r)
{
	p[0] = (u8)(ORBCC_VERSION << 4 | r->u >> 4);
	p[1] = (u8)((r->u & 15u) << 4 | r->flows >> 4);
	p[2] = (u8)((r->flows & 15u) << 4 | r->rate >> 12);
	p[3] = (u8)(r->rate >> 4);
	p[4] = (u8)((r->rate & 15u) << 4 | (r->wait >> 8 & 15));
	p[5] = (u8)r->wait;
	orbcc_put32(p + 6, r->path);
	orbcc_put24(p + 10, r->base_rtt_us);
	orbcc_put16(p + 13, r->cwnd);
	p[15] = 0;
}

#endif
