/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef PERIGEE_NAMESPACES_H
#define PERIGEE_NAMESPACES_H

#include "../agent.h"

/* The core's end of the pair of a host is an interface of this prefix, in the first namespace. */
#define OUTER "sky"

/* hosts.c */
void open_hosts(int count, char **places); /* HOST=netns:NAME or HOST=interface:NAME */
void check_places(void);
int socket_of_host(int host); /* at the core's end */
void set_carrier(uint32_t host, bool carrier);
void try_hosts(void) __attribute__((noreturn)); /* whether this machine has all that hosts need */

/* ports.c */
void plain_frames(const char *interface);
int open_port(const char *interface);
int open_attached(const char *interface);
void answer_arp(int device, const char *interface); /* on behalf of the other hosts */

#endif
