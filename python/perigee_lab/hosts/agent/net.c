/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "net.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void begin_message(struct message *m, int type, int flags, const void *body, size_t size)
{
	memset(m, 0, sizeof(*m));
	m->header.nlmsg_type = type;
	m->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	m->header.nlmsg_len = NLMSG_LENGTH(size);
	memcpy(NLMSG_DATA(&m->header), body, size);
}

struct rtattr *add_attribute(struct message *m, int type, const void *value, size_t size)
{
	struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(a), value, size);
	m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}

void end_nested(struct message *m, struct rtattr *outer)
{
	outer->rta_len = (char *)m + m->header.nlmsg_len - (char *)outer;
}

/* Sends a request and awaits its acknowledgement. */
void request(struct message *m, const char *what)
{
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct message answer;
	const struct nlmsgerr *error;

	if (s < 0 || send(s, m, m->header.nlmsg_len, 0) < 0 || recv(s, &answer, sizeof(answer), 0) < 0)
		die("%s: %s", what, strerror(errno));
	close(s);
	error = NLMSG_DATA(&answer.header);
	if (answer.header.nlmsg_type != NLMSG_ERROR || error->error)
		die("%s: %s", what, strerror(-error->error));
}

unsigned int index_of(const char *interface)
{
	unsigned int index = if_nametoindex(interface);

	if (!index)
		die("there is no interface %s", interface);
	return index;
}

void link_up(const char *interface)
{
	struct ifinfomsg link = { .ifi_index = index_of(interface), .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct message m;

	begin_message(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	request(&m, interface);
}

int new_namespace(void)
{
	int ns = unshare(CLONE_NEWNET) ? -1 : open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (ns < 0)
		die("no further network namespace: %s", strerror(errno));
	return ns;
}

/* Bytes and prefix length of "ADDRESS/PREFIX"; returns the family. */
static int parse(const char *text, unsigned char *bytes, size_t *size, int *prefix)
{
	char address[64];
	const char *slash = strchr(text, '/');
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	snprintf(address, sizeof(address), "%.*s", slash ? (int)(slash - text) : (int)strlen(text), text);
	if (inet_pton(family, address, bytes) != 1)
		die("%s is no address", text);
	*size = family == AF_INET ? 4 : 16;
	*prefix = slash ? atoi(slash + 1) : (int)*size * 8;
	return family;
}

static void add_address(const char *device, const char *text)
{
	unsigned char bytes[16];
	size_t size;
	int prefix, family = parse(text, bytes, &size, &prefix);
	struct ifaddrmsg address = {
		.ifa_family = family,
		.ifa_prefixlen = prefix,
		.ifa_flags = IFA_F_NODAD | IFA_F_PERMANENT,
		.ifa_index = index_of(device),
	};
	struct message m;

	begin_message(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &address, sizeof(address));
	add_attribute(&m, IFA_LOCAL, bytes, size);
	add_attribute(&m, IFA_ADDRESS, bytes, size);
	request(&m, text);
}

/* Sets the MTU of the host's interface, which must be down: its receive buffers follow. */
static void set_mtu(const struct host *host)
{
	struct ifinfomsg link = { .ifi_index = index_of(host->device) };
	struct message m;

	begin_message(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	add_attribute(&m, IFLA_MTU, &host->mtu, sizeof(host->mtu));
	request(&m, "MTU");
}

static void set_ipv6(const struct host *host, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/%s", host->device, name);
	write_file(path, value);
}

/* Configures addresses and links, in the host's namespace. */
void bring_up(const struct host *host)
{
	/* All neighbours are static: no router solicitation, no address generation. */
	set_ipv6(host, "accept_ra", "0");
	set_ipv6(host, "router_solicitations", "0");
	set_ipv6(host, "addr_gen_mode", "1");
	link_up("lo");
	if (host->mtu)
		set_mtu(host);
	link_up(host->device);
	add_address(host->device, host->address4);
	add_address(host->device, host->address6);
}

void parse_mac(const char *text, unsigned char bytes[6])
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
		   &bytes[5]) != 6)
		die("%s is no hardware address", text);
}

/* Adds a permanent neighbour entry, in the host's namespace. */
void add_neighbour(const struct host *host, const char *address, const char *mac)
{
	unsigned char bytes[16], hardware[6];
	size_t size;
	int prefix, family = parse(address, bytes, &size, &prefix);
	struct ndmsg neighbour = {
		.ndm_family = family, .ndm_ifindex = index_of(host->device), .ndm_state = NUD_PERMANENT
	};
	struct message m;

	parse_mac(mac, hardware);
	begin_message(&m, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour, sizeof(neighbour));
	add_attribute(&m, NDA_DST, bytes, size);
	add_attribute(&m, NDA_LLADDR, hardware, sizeof(hardware));
	request(&m, address);
}

/* Sets the route of IPv4 to all other hosts, in the host's namespace, with an initial window in
 * segments, immediate acknowledgement of every segment, and an MTU; 0 = kernel default. Replaces the
 * route that was added with the address. */
void set_route(const struct host *host, uint32_t initial_window, uint32_t quick_acks, uint32_t mtu)
{
	unsigned char bytes[16], metrics[3 * RTA_SPACE(sizeof(uint32_t))] = { 0 };
	size_t size;
	int prefix, family = parse(host->address4, bytes, &size, &prefix), interface = index_of(host->device);
	struct rtmsg route = {
		.rtm_family = family,
		.rtm_dst_len = prefix,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_KERNEL,
		.rtm_scope = RT_SCOPE_LINK,
		.rtm_type = RTN_UNICAST,
	};
	const uint32_t values[3][2] = {
		{ RTAX_INITCWND, initial_window }, { RTAX_QUICKACK, quick_acks }, { RTAX_MTU, mtu }
	};
	int count = mtu ? 3 : 2;
	struct message m;

	for (int i = 0; i < count; i++) {
		struct rtattr *a = (struct rtattr *)(metrics + i * RTA_SPACE(sizeof(uint32_t)));

		a->rta_type = values[i][0];
		a->rta_len = RTA_LENGTH(sizeof(uint32_t));
		memcpy(RTA_DATA(a), &values[i][1], sizeof(uint32_t));
	}
	begin_message(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route));
	add_attribute(&m, RTA_PREFSRC, bytes, size);
	for (int bit = prefix; bit < (int)size * 8; bit++)
		bytes[bit / 8] &= ~(0x80 >> bit % 8);
	add_attribute(&m, RTA_DST, bytes, size);
	add_attribute(&m, RTA_OIF, &interface, sizeof(interface));
	add_attribute(&m, RTA_METRICS, metrics, count * RTA_SPACE(sizeof(uint32_t)));
	request(&m, "route");
}
