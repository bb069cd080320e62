/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
	struct nlmsghdr header;
	char body[512];
};

static void begin(struct message *m, int type, int flags, const void *body, size_t size)
{
	memset(m, 0, sizeof(*m));
	m->header.nlmsg_type = type;
	m->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	m->header.nlmsg_len = NLMSG_LENGTH(size);
	memcpy(NLMSG_DATA(&m->header), body, size);
}

static void attribute(struct message *m, int type, const void *value, size_t size)
{
	struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->header.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(size);
	memcpy(RTA_DATA(a), value, size);
	m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

/* Sends a request in the current namespace and awaits its acknowledgement. */
static void request(struct message *m, const char *what)
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

static unsigned int index_of(const char *interface)
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

	begin(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	request(&m, interface);
}

/* Makes the host's namespace and moves its interface there, renamed to eth0. */
void make_namespace(struct host *host)
{
	struct ifinfomsg link = { .ifi_index = index_of(host->interface) };
	struct message m;

	if (unshare(CLONE_NEWNET))
		die("no further network namespace: %s", strerror(errno));
	host->ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (host->ns < 0)
		die("/proc/self/ns/net: %s", strerror(errno));
	enter(job.root_ns);
	begin(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	attribute(&m, IFLA_NET_NS_FD, &host->ns, sizeof(host->ns));
	attribute(&m, IFLA_IFNAME, "eth0", sizeof("eth0"));
	request(&m, host->interface);
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

static void add_address(const char *text)
{
	unsigned char bytes[16];
	size_t size;
	int prefix, family = parse(text, bytes, &size, &prefix);
	struct ifaddrmsg address = {
		.ifa_family = family,
		.ifa_prefixlen = prefix,
		.ifa_flags = IFA_F_NODAD | IFA_F_PERMANENT,
		.ifa_index = index_of("eth0"),
	};
	struct message m;

	begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &address, sizeof(address));
	attribute(&m, IFA_LOCAL, bytes, size);
	attribute(&m, IFA_ADDRESS, bytes, size);
	request(&m, text);
}

/* Sets the MTU of the host's interface, which must be down: its receive buffers follow. */
static void set_mtu(const struct host *host)
{
	struct ifinfomsg link = { .ifi_index = index_of("eth0") };
	struct message m;

	begin(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	attribute(&m, IFLA_MTU, &host->mtu, sizeof(host->mtu));
	request(&m, "MTU");
}

/* Configures addresses and links, in the host's namespace. */
void bring_up(const struct host *host)
{
	/* All neighbours are static: no router solicitation, no address generation. */
	write_file("/proc/sys/net/ipv6/conf/eth0/accept_ra", "0");
	write_file("/proc/sys/net/ipv6/conf/eth0/router_solicitations", "0");
	write_file("/proc/sys/net/ipv6/conf/eth0/addr_gen_mode", "1");
	link_up("lo");
	if (host->mtu)
		set_mtu(host);
	link_up("eth0");
	add_address(host->address4);
	add_address(host->address6);
}

/* Adds a permanent neighbour entry, in the host's namespace. */
void add_neighbour(const struct host *host, const char *address, const char *mac)
{
	unsigned char bytes[16], hardware[6];
	size_t size;
	int prefix, family = parse(address, bytes, &size, &prefix);
	struct ndmsg neighbour = { .ndm_family = family, .ndm_ifindex = index_of("eth0"), .ndm_state = NUD_PERMANENT };
	struct message m;

	if (sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &hardware[0], &hardware[1], &hardware[2], &hardware[3],
		   &hardware[4], &hardware[5]) != 6)
		die("%s of host %s is no hardware address", mac, host->name);
	begin(&m, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &neighbour, sizeof(neighbour));
	attribute(&m, NDA_DST, bytes, size);
	attribute(&m, NDA_LLADDR, hardware, sizeof(hardware));
	request(&m, address);
}

/* Sets the route of IPv4 to all other hosts, in the host's namespace, with an initial window in
 * segments, immediate acknowledgement of every segment, and an MTU; 0 = kernel default. Replaces the
 * route that was added with the address. */
void set_route(const struct host *host, uint32_t initial_window, uint32_t quick_acks, uint32_t mtu)
{
	unsigned char bytes[16], metrics[3 * RTA_SPACE(sizeof(uint32_t))] = { 0 };
	size_t size;
	int prefix, family = parse(host->address4, bytes, &size, &prefix), interface = index_of("eth0");
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
	begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route));
	attribute(&m, RTA_PREFSRC, bytes, size);
	for (int bit = prefix; bit < (int)size * 8; bit++)
		bytes[bit / 8] &= ~(0x80 >> bit % 8);
	attribute(&m, RTA_DST, bytes, size);
	attribute(&m, RTA_OIF, &interface, sizeof(interface));
	attribute(&m, RTA_METRICS, metrics, count * RTA_SPACE(sizeof(uint32_t)));
	request(&m, "route");
}
