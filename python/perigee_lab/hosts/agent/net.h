/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Interfaces, in the current network namespace, by rtnetlink(7). */
#ifndef PERIGEE_NET_H
#define PERIGEE_NET_H

#include "agent.h"
#include <linux/rtnetlink.h>

struct message {
	struct nlmsghdr header;
	char body[512];
};
void begin_message(struct message *m, int type, int flags, const void *body, size_t size);
struct rtattr *add_attribute(struct message *m, int type, const void *value, size_t size);
void end_nested(struct message *m, struct rtattr *outer); /* an attribute with those added after it */
void request(struct message *m, const char *what);

unsigned int index_of(const char *interface);
void link_up(const char *interface);
void parse_mac(const char *text, unsigned char bytes[6]);
int new_namespace(void); /* the process is in it afterwards */
void bring_up(const struct host *host);
void add_neighbour(const struct host *host, const char *address, const char *mac);
void set_route(const struct host *host, uint32_t initial_window, uint32_t quick_acks, uint32_t mtu);

#endif
