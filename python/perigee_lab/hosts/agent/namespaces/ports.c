/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packet sockets at the core's ends of pairs, and at interfaces of the machine. */
#define _GNU_SOURCE
#include "namespaces.h"
#include "../net.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET_BYTES = 16 << 20 };

/* Gets or sets a feature of an interface by ethtool; -1 = it cannot. */
static int feature(const char *interface, uint32_t command, uint32_t value)
{
	struct ethtool_value data = { .cmd = command, .data = value };
	struct ifreq request;
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

	memset(&request, 0, sizeof(request));
	strncpy(request.ifr_name, interface, sizeof(request.ifr_name) - 1);
	request.ifr_data = (char *)&data;
	failed = ioctl(s, SIOCETHTOOL, &request);
	close(s);
	return failed ? -1 : (int)data.data;
}

/* Turns offloads off: single packets, with their checksums, are on the wire. */
void plain_frames(const char *interface)
{
	static const struct {
		uint32_t command;
		const char *name;
		bool needed;
	} offloads[] = {
		{ ETHTOOL_SRXCSUM, "rx", false }, { ETHTOOL_STXCSUM, "tx", true }, { ETHTOOL_STSO, "tso", true },
		{ ETHTOOL_SGSO, "gso", true },	  { ETHTOOL_SGRO, "gro", true },
	};

	for (size_t i = 0; i < sizeof(offloads) / sizeof(*offloads); i++)
		if (feature(interface, offloads[i].command, 0) < 0 && offloads[i].needed)
			die("%s: %s offload cannot be turned off: %s", interface, offloads[i].name, strerror(errno));
}

static void set(int s, int level, int option, int value)
{
	if (setsockopt(s, level, option, &value, sizeof(value)))
		die("option %d of a packet socket: %s", option, strerror(errno));
}

static int open_packets(const char *interface, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = index_of(interface)
	};
	/* Protocol 0: it receives nothing until it is bound. */
	int s = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (s < 0)
		die("no packet socket: %s", strerror(errno));
	if (protocol == ETH_P_ALL) {
		/* As large as the machine's limit allows; the core raises it if permitted. Overflows are
		 * counted. */
		set(s, SOL_SOCKET, SO_RCVBUF, SOCKET_BYTES);
		set(s, SOL_SOCKET, SO_SNDBUF, SOCKET_BYTES);
		set(s, SOL_SOCKET, SO_TIMESTAMPNS, 1);
		set(s, SOL_SOCKET, SO_RXQ_OVFL, 1);
		set(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
		set(s, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	}
	if (bind(s, (struct sockaddr *)&at, sizeof(at)))
		die("a packet socket at %s: %s", interface, strerror(errno));
	return s;
}

int open_port(const char *interface)
{
	return open_packets(interface, ETH_P_ALL);
}

/* A socket at an interface of the machine that a device is attached to. */
int open_attached(const char *interface)
{
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int s;

	if (feature(interface, ETHTOOL_GGRO, 0) > 0)
		die("interface %s merges packets (gro): as root, ethtool -K %s gro off", interface, interface);
	s = open_port(interface);
	all.mr_ifindex = index_of(interface);
	if (setsockopt(s, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		die("all packets at %s: %s", interface, strerror(errno));
	return s;
}

/* ---- requests of attached devices (RFC 826) ---- */

struct arp {
	struct ethhdr ethernet;
	uint16_t hardware, protocol;
	uint8_t hardware_size, protocol_size;
	uint16_t operation;
	uint8_t sender[6], sender_ip[4], target[6], target_ip[4];
} __attribute__((packed));

/* Where a device finds the others. */
static struct neighbour {
	int device;
	uint8_t ip[4], mac[6];
} *known;
static size_t known_count;
/* By device: where its requests arrive. */
static int requests[MAX_HOSTS];

void answer_for(const struct host *device, const char *address, const char *mac)
{
	struct neighbour n = { .device = (int)(device - job.hosts) };

	/* Neighbours of version 6 are configured by hand. */
	if (inet_pton(AF_INET, address, n.ip) != 1)
		return;
	parse_mac(mac, n.mac);
	known = realloc(known, (known_count + 1) * sizeof(*known));
	if (!known)
		die("no memory for neighbours");
	known[known_count++] = n;
}

static void answer(int s, const struct arp *request, const uint8_t mac[6])
{
	struct arp reply = *request;

	memcpy(reply.ethernet.h_dest, request->ethernet.h_source, 6);
	memcpy(reply.ethernet.h_source, mac, 6);
	reply.operation = htons(2);
	memcpy(reply.sender, mac, 6);
	memcpy(reply.sender_ip, request->target_ip, 4);
	memcpy(reply.target, request->sender, 6);
	memcpy(reply.target_ip, request->sender_ip, 4);
	send(s, &reply, sizeof(reply), MSG_DONTWAIT);
}

static void on_arp(uint32_t device)
{
	union {
		struct arp arp;
		char room[2048];
	} frame;
	ssize_t size = recv(requests[device], &frame, sizeof(frame), MSG_DONTWAIT);

	if (size < (ssize_t)sizeof(frame.arp) || frame.arp.hardware != htons(1) || frame.arp.protocol != htons(ETH_P_IP) ||
	    frame.arp.hardware_size != 6 || frame.arp.protocol_size != 4 || frame.arp.operation != htons(1))
		return;
	for (size_t i = 0; i < known_count; i++)
		if (known[i].device == (int)device && !memcmp(known[i].ip, frame.arp.target_ip, 4))
			answer(requests[device], &frame.arp, known[i].mac);
}

void answer_arp(int device, const char *interface)
{
	requests[device] = open_packets(interface, ETH_P_ARP);
	on_event(END_ARP, on_arp);
	watch(requests[device], EPOLLIN, END_ARP, device);
}
