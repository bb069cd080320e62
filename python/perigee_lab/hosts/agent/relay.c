/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proxies of split connections: data that arrives over one leg is written to the next. The SYN of a
 * leg opens the next one: proxies read SYNs from a packet socket, while the kernel answers them at
 * once.
 */
#define _GNU_SOURCE
#include "flow.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BLOCK = 1 << 15,
	/* A send buffer with any room accepts a complete packet of this size, before segmentation. */
	LARGEST = 1 << 16,
};

struct relay {
	int syns; /* the packet socket */
	int buffer;
	size_t held, at; /* of the block: read from one leg and not yet written to the next */
	char block[BLOCK];
};

/* "FLOW NEXT BUFFER STANDING" */
void add_relay(char *line)
{
	unsigned int id, next;
	unsigned long buffer;
	int standing;
	struct flow *f, *after;

	if (sscanf(line, "%u %u %lu %d", &id, &next, &buffer, &standing) != 4)
		die("a relay cannot be read: %s", line);
	f = find_flow(id);
	after = find_flow(next);
	if (!f || !after)
		die("a relay of no flow: %s", line);
	f->relay = calloc(1, sizeof(*f->relay));
	if (!f->relay)
		die("no memory for a relay");
	f->relay->buffer = buffer < INT_MAX / 2 ? (int)buffer : INT_MAX / 2;
	f->after = after;
	after->before = f;
	after->offered = 0;
	/* It starts when a SYN arrives; a standing connection is opened in advance. */
	after->start_ns = standing ? 0 : UINT64_MAX;
}

/* Half of the proxy's buffer is the receive buffer of one leg together with the block between the
 * two, half is the send buffer of the next leg. The kernel doubles the given size, and counts
 * memory, which is more than payload. */
void limit_leg(const struct flow *f, int s, bool receives)
{
	int in = f->relay ? (f->relay->buffer / 2 - BLOCK) / 2 : 0;
	int out = f->before ? (f->before->relay->buffer / 2 - LARGEST) / 2 : 0;

	if (!platform.forces_buffers)
		return; /* settings of the namespace do it */
	if (receives && in && setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &in, sizeof(in)))
		die("receive buffer of flow %u: %s", f->id, strerror(errno));
	if (!receives && out && setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &out, sizeof(out)))
		die("send buffer of flow %u: %s", f->id, strerror(errno));
}

/* Opens a socket for the SYNs of this flow, in the proxy's namespace. */
static void hear_syns(struct flow *f)
{
	bool is_v6 = strchr(f->address, ':');
	/* Offsets in packets without options. */
	unsigned int protocol = is_v6 ? 6 : 9, tcp = is_v6 ? 40 : 20;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, protocol),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 6),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, tcp + 2), /* destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, f->port, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, tcp + 13), /* flags */
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	struct sockaddr_ll on = { .sll_family = AF_PACKET, .sll_protocol = htons(is_v6 ? ETH_P_IPV6 : ETH_P_IP) };

	enter(job.hosts[f->to].ns);
	on.sll_ifindex = if_nametoindex(job.hosts[f->to].device);
	f->relay->syns = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (f->relay->syns < 0 ||
	    setsockopt(f->relay->syns, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    bind(f->relay->syns, (struct sockaddr *)&on, sizeof(on)))
		die("a proxy cannot hear SYNs: %s", strerror(errno));
	watch(f->relay->syns, EPOLLIN, END_SYN, f->id);
}

void open_relay(struct flow *f)
{
	if (f->relay)
		hear_syns(f);
}

void on_syn(uint32_t id)
{
	struct flow *f = find_flow(id);

	/* One SYN is enough; later packets cost nothing. */
	close(f->relay->syns);
	f->relay->syns = -1;
	if (!f->after->begun)
		start_flow(f->after);
}

/* Forwards data that fits the buffer, and waits for either leg. */
void carry_on(struct flow *f)
{
	struct relay *r = f->relay;
	struct flow *after = f->after;

	while (f->receiver >= 0 && after->connected && after->sender >= 0) {
		ssize_t n;

		if (!r->held) {
			n = recv(f->receiver, r->block, BLOCK, 0);
			if (n <= 0) {
				await_sender(after, 0);
				watch(f->receiver, n < 0 ? EPOLLIN : 0, END_RECEIVER, f->id);
				return;
			}
			r->held = n;
			r->at = 0;
		}
		n = write(after->sender, r->block + r->at, r->held);
		if (n < 0 && errno == EAGAIN) {
			await_sender(after, EPOLLOUT);
			watch(f->receiver, 0, END_RECEIVER, f->id);
			return;
		}
		if (n < 0) {
			fail_flow(after, strerror(errno));
			return;
		}
		r->at += n;
		r->held -= n;
		after->written += n;
	}
	/* Data that arrives before the next leg is open waits in the kernel. */
	if (f->receiver >= 0)
		watch(f->receiver, 0, END_RECEIVER, f->id);
	if (after->connected && after->sender >= 0)
		await_sender(after, 0);
}
