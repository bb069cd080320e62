/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How packets carry telemetry.
 *
 * H, over IPv6. Data: a hop-by-hop header with option 0x3E, which holds the block of orbcc_codec.h
 * with room for records. ACKs: a destination header with option 0x1E, which holds the compact echo.
 *
 * I, over IPv6, for paths of routers without OrbCC. Data: a hop-by-hop header with option 0x3E, which
 * holds the block of orbcc_codec.h without records, and an IOAM trace (orbcc_ioam.h). ACKs as with H.
 *
 * T, over IPv4 and IPv6: a TCP option of kind 253 (RFC 4727) with an experiment id (RFC 6994).
 * Ports compute u themselves: a raw record could not be compared with another port's.
 *
 *   data, 24 bytes  kind 8 | length 8 | 0x4F44 16 | version 4 | ports 4 | path 16 | hop 4 | base RTT 20 us
 *                   | window 16 uf16 bytes | u 16 Q4.12 | rate 16 uf16 kbit/s | avgRTT 20 us | flows 12
 *                   | queueing 16 uf16 us | profile 8 | unused 8
 *   ACK, 16 bytes   kind 8 | length 8 | 0x4F45 16 | path 16 | u 16 | rate 16 | avgRTT 20 | flows 12
 *                   | queueing 16
 *
 * Both fit beside timestamps. The id of an ACK's option changes with its layout.
 */
#ifndef ORBCC_CARRIERS_H
#define ORBCC_CARRIERS_H

#include "orbcc_core.h"
#include "orbcc_ioam.h"

#define ORBCC_H_DATA 0x3e
#define ORBCC_H_ECHO 0x1e
#define ORBCC_H_ECHO_BYTES 24
#define ORBCC_H_MAX_ROOM 6
/* Bytes of a hop-by-hop header with room for n records. */
#define ORBCC_H_BYTES(n) ((4 + ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * (n) + 7) / 8 * 8)
/* Of which the block starts here. */
#define ORBCC_H_BLOCK 4
/* Bytes of a hop-by-hop header with a trace of n nodes, which starts here: IOAM wants a multiple of 4. */
#define ORBCC_I_TRACE (ORBCC_H_BLOCK + ORBCC_FIXED_BYTES)
#define ORBCC_I_USED(n) (ORBCC_I_TRACE + ORBCC_IOAM_HEADER + ORBCC_IOAM_NODE_BYTES * (n))
#define ORBCC_I_BYTES(n) ((ORBCC_I_USED(n) + 7) / 8 * 8)
#define ORBCC_TCP 6
#define ORBCC_PADN 1

#define ORBCC_T_KIND 253
#define ORBCC_T_DATA_ID 0x4f44
#define ORBCC_T_ECHO_ID 0x4f45
#define ORBCC_T_DATA_BYTES 24
#define ORBCC_T_ECHO_BYTES 16

/* ---- H --------------------------------------------------------------------------------------- */

/* A hop-by-hop header with room for `room` records, of ORBCC_H_BYTES(room) bytes. */
ORBCC_INLINE void orbcc_h_put_block(u8 *x, const struct orbcc_fixed *f, u32 room)
{
	u32 used = ORBCC_H_BLOCK + ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * room, i;

	for (i = 0; i < ORBCC_H_BYTES(ORBCC_H_MAX_ROOM); i++)
		x[i] = 0; /* also the padding, which is Pad1 or the data of PadN */
	x[0] = ORBCC_TCP;
	x[1] = (u8)(ORBCC_H_BYTES(room) / 8 - 1);
	x[2] = ORBCC_H_DATA;
	x[3] = (u8)(ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * room);
	orbcc_put_fixed(x + ORBCC_H_BLOCK, f);
	if (ORBCC_H_BYTES(room) - used >= 2 && used + 1 < ORBCC_H_BYTES(ORBCC_H_MAX_ROOM)) {
		x[used] = ORBCC_PADN;
		x[used + 1] = (u8)(ORBCC_H_BYTES(room) - used - 2);
	}
}

/* The first 12 bytes of a hop-by-hop header: 0 = it is ours, holds what it claims, and TCP
 * follows. */
ORBCC_INLINE int orbcc_h_get_block(const u8 *x, struct orbcc_fixed *f, u32 *room)
{
	u32 bytes = ((u32)x[1] + 1) * 8;

	if (x[0] != ORBCC_TCP || x[2] != ORBCC_H_DATA || x[3] < ORBCC_FIXED_BYTES || ORBCC_H_BLOCK + x[3] > bytes)
		return -1;
	if (orbcc_get_fixed(x + ORBCC_H_BLOCK, f))
		return -1;
	*room = (x[3] - ORBCC_FIXED_BYTES) / ORBCC_HOP_BYTES;
	return f->hops > *room || f->hops > ORBCC_MAX_HOPS ? -1 : 0;
}

/* ---- I --------------------------------------------------------------------------------------- */

/* A hop-by-hop header with a trace for `room` nodes, of ORBCC_I_BYTES(room) bytes. */
ORBCC_INLINE void orbcc_i_put_block(u8 *x, const struct orbcc_fixed *f, u32 room)
{
	u32 used = ORBCC_I_USED(room), i;

	for (i = 0; i < ORBCC_I_BYTES(ORBCC_H_MAX_ROOM); i++)
		x[i] = 0;
	x[0] = ORBCC_TCP;
	x[1] = (u8)(ORBCC_I_BYTES(room) / 8 - 1);
	x[2] = ORBCC_H_DATA;
	x[3] = ORBCC_FIXED_BYTES;
	orbcc_put_fixed(x + ORBCC_H_BLOCK, f);
	orbcc_ioam_put(x + ORBCC_I_TRACE, room);
	if (ORBCC_I_BYTES(room) - used >= 2 && used + 1 < ORBCC_I_BYTES(ORBCC_H_MAX_ROOM)) {
		x[used] = ORBCC_PADN;
		x[used + 1] = (u8)(ORBCC_I_BYTES(room) - used - 2);
	}
}

/* ---- Echo of H and I ------------------------------------------------------------------------- */

ORBCC_INLINE void orbcc_h_put_echo(u8 *x, const struct orbcc_compact *e)
{
	x[0] = ORBCC_TCP;
	x[1] = ORBCC_H_ECHO_BYTES / 8 - 1;
	x[2] = ORBCC_H_ECHO;
	x[3] = ORBCC_COMPACT_BYTES;
	orbcc_put_compact(x + 4, e);
	x[20] = ORBCC_PADN;
	x[21] = 2;
	x[22] = x[23] = 0;
}

ORBCC_INLINE int orbcc_h_get_echo(const u8 *x, struct orbcc_compact *e)
{
	if (x[0] != ORBCC_TCP || x[1] != ORBCC_H_ECHO_BYTES / 8 - 1 || x[2] != ORBCC_H_ECHO ||
	    x[3] != ORBCC_COMPACT_BYTES)
		return -1;
	orbcc_get_compact(x + 4, e);
	return 0;
}

/* ---- T --------------------------------------------------------------------------------------- */

/* What a data packet's option says: the sender's fields and the busiest port so far. */
struct orbcc_t_data {
	struct orbcc_fixed fixed; /* `hops`: ports passed, at most 15 */
	struct orbcc_compact port; /* without tau */
};

ORBCC_INLINE void orbcc_t_put_data(u8 *x, const struct orbcc_t_data *d, u8 profile)
{
	x[0] = ORBCC_T_KIND;
	x[1] = ORBCC_T_DATA_BYTES;
	orbcc_put16(x + 2, ORBCC_T_DATA_ID);
	x[4] = (u8)(ORBCC_VERSION << 4 | (d->fixed.hops & 15));
	orbcc_put16(x + 5, d->fixed.path);
	orbcc_put24(x + 7, (u32)(d->port.hop & 15) << 20 | (d->fixed.base_rtt_us & ORBCC_RTT_MAX_US));
	orbcc_put16(x + 10, d->fixed.cwnd);
	orbcc_put16(x + 12, d->port.u);
	orbcc_put16(x + 14, d->port.rate);
	orbcc_put32(x + 16, d->port.avg_rtt << 12 | (d->port.flows & ORBCC_FLOWS_MAX));
	orbcc_put16(x + 20, d->port.queueing);
	x[22] = profile;
	x[23] = 0;
}

ORBCC_INLINE int orbcc_t_get_data(const u8 *x, struct orbcc_t_data *d)
{
	u32 word = orbcc_get24(x + 7);

	if (x[0] != ORBCC_T_KIND || x[1] != ORBCC_T_DATA_BYTES || orbcc_get16(x + 2) != ORBCC_T_DATA_ID ||
	    x[4] >> 4 != ORBCC_VERSION)
		return -1;
	d->fixed.hops = x[4] & 15;
	d->fixed.path = (u16)orbcc_get16(x + 5);
	d->fixed.base_rtt_us = word & ORBCC_RTT_MAX_US;
	d->fixed.cwnd = (u16)orbcc_get16(x + 10);
	d->port.path = d->fixed.path;
	d->port.hop = (u8)(word >> 20);
	d->port.u = (u16)orbcc_get16(x + 12);
	d->port.rate = (u16)orbcc_get16(x + 14);
	word = orbcc_get32(x + 16);
	d->port.avg_rtt = word >> 12;
	d->port.flows = (u16)(word & ORBCC_FLOWS_MAX);
	d->port.queueing = (u16)orbcc_get16(x + 20);
	d->port.tau = 0;
	return 0;
}

ORBCC_INLINE void orbcc_t_put_echo(u8 *x, const struct orbcc_compact *e)
{
	x[0] = ORBCC_T_KIND;
	x[1] = ORBCC_T_ECHO_BYTES;
	orbcc_put16(x + 2, ORBCC_T_ECHO_ID);
	orbcc_put16(x + 4, e->path);
	orbcc_put16(x + 6, e->u);
	orbcc_put16(x + 8, e->rate);
	orbcc_put32(x + 10, e->avg_rtt << 12 | (e->flows & ORBCC_FLOWS_MAX));
	orbcc_put16(x + 14, e->queueing);
}

ORBCC_INLINE int orbcc_t_get_echo(const u8 *x, struct orbcc_compact *e)
{
	u32 word = orbcc_get32(x + 10);

	if (x[0] != ORBCC_T_KIND || x[1] != ORBCC_T_ECHO_BYTES || orbcc_get16(x + 2) != ORBCC_T_ECHO_ID)
		return -1;
	e->path = (u16)orbcc_get16(x + 4);
	e->u = (u16)orbcc_get16(x + 6);
	e->rate = (u16)orbcc_get16(x + 8);
	e->avg_rtt = word >> 12;
	e->flows = (u16)(word & ORBCC_FLOWS_MAX);
	e->queueing = (u16)orbcc_get16(x + 14);
	e->tau = 0;
	e->hop = e->avg_rtt ? 0 : ORBCC_BASELINE;
	return 0;
}

#endif
