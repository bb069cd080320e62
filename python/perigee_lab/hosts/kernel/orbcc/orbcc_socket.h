/* SPDX-License-Identifier: GPL-2.0-only */
/* State of a socket with telemetry. */
#ifndef ORBCC_SOCKET_H
#define ORBCC_SOCKET_H

#include <net/tcp.h>
#include <net/tcp_orbcc.h>

#include "orbcc_core.h"

#define ORBCC_STACK_BYTES(n) (ORBCC_FIXED_BYTES + ORBCC_HOP_BYTES * (n))
/* Bytes of an extension header with room for n records. */
#define ORBCC_HEADER_BYTES(n) ALIGN(4 + ORBCC_STACK_BYTES(n), 8)

/* One per socket that sends with OrbCC or receives telemetry. */
struct tcp_orbcc {
	/* Sender. */
	struct orbcc core;
	struct orbcc_stack echo; /* of the ACK that is being processed */
	u64 last_reading_ns;
	u32 readings;
	u16 header_bytes; /* of a data packet */
	bool sends, has_echo;
	/* Receiver: the block of the newest data packet. */
	bool has_block;
	u8 block[ORBCC_STACK_BYTES(ORBCC_MAX_HOPS)];
};

/* State of a socket, allocated at first use; NULL = no memory. */
struct tcp_orbcc *tcp_orbcc_of(struct sock *sk);

/* Records for which packets of new connections have room. */
u32 tcp_orbcc_hops(const struct net *net);

#endif
