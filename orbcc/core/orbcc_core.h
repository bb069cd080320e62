/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* OrbCC in integers: the same text for BPF, for a kernel module and for user space. No libc, no
 * floating point, no 128-bit types, no signed division; loops and divisors are bounded. Under BPF
 * and in the kernel u8, u16, u32 and u64 come from the file that includes this one.
 *
 *   orbcc_codec.h     wire format
 *   orbcc_load.h      utilisation of hops, receiver
 *   orbcc_state.h     constants, state
 *   orbcc_evidence.h  what packets prove, for the profile `open`
 *   orbcc_fallback.h  whether telemetry suffices
 *   orbcc_law.h       one call per ACK
 *   orbcc_ioam.h      IOAM of routers without OrbCC, for receivers
 */
#ifndef ORBCC_CORE_H
#define ORBCC_CORE_H

#include "orbcc_law.h"

#endif
