/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hosts: namespaces with a virtual Ethernet pair each, and what the machine already has. */
#define _GNU_SOURCE
#include "namespaces.h"
#include "../net.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONGESTION "net.ipv4.tcp_congestion_control"
#define ALLOWED "/proc/sys/net/ipv4/tcp_allowed_congestion_control"

/* A host's place on the machine: "HOST=KIND:NAME". */
static struct place {
	const char *host, *kind, *name;
	bool used;
} places[MAX_HOSTS];
static int place_count;

static int sockets[MAX_HOSTS];
/* The machine's network namespace; a socket of the first one of the run, for its interfaces. */
static int machine = -1, interfaces = -1;

void open_hosts(int count, char **given)
{
	machine = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	/* Without places, this process has a namespace of its own. */
	job.root_ns = count ? new_namespace() : machine;
	interfaces = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (machine < 0 || interfaces < 0)
		die("the network namespace: %s", strerror(errno));
	for (; count && place_count < MAX_HOSTS; count--, given++) {
		struct place *p = &places[place_count++];

		p->host = strsep(given, "=");
		p->kind = strsep(given, ":");
		p->name = *given;
		if (!p->kind || !p->name)
			die("a place of a host cannot be read: %s", p->host);
	}
}

void check_places(void)
{
	char names[800] = "";

	for (int i = 0; i < job.host_count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "", job.hosts[i].name);
	for (int i = 0; i < place_count; i++)
		if (!places[i].used)
			die("the scenario has no real host '%s'; it has %s", places[i].host, names);
}

static const struct place *place_of(const struct host *host)
{
	for (int i = 0; i < place_count; i++)
		if (!strcmp(places[i].host, host->name)) {
			places[i].used = true;
			return &places[i];
		}
	return NULL;
}

int socket_of_host(int host)
{
	return sockets[host];
}

/* ---- namespaces ---- */

/* "link add OUTER type veth peer name DEVICE address MAC netns NS" */
static void make_pair(const char *outer, const struct host *host)
{
	struct ifinfomsg link = { 0 };
	unsigned char mac[6];
	struct message m;
	struct rtattr *info, *data, *peer;

	parse_mac(host->mac, mac);
	begin_message(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	add_attribute(&m, IFLA_IFNAME, outer, strlen(outer) + 1);
	info = add_attribute(&m, IFLA_LINKINFO, NULL, 0);
	add_attribute(&m, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = add_attribute(&m, IFLA_INFO_DATA, NULL, 0);
	peer = add_attribute(&m, VETH_INFO_PEER, &link, sizeof(link));
	add_attribute(&m, IFLA_IFNAME, host->device, strlen(host->device) + 1);
	add_attribute(&m, IFLA_ADDRESS, mac, sizeof(mac));
	add_attribute(&m, IFLA_NET_NS_FD, &host->ns, sizeof(host->ns));
	end_nested(&m, peer);
	end_nested(&m, data);
	end_nested(&m, info);
	request(&m, host->device);
}

static int namespace_named(const char *name)
{
	char path[256];
	int ns;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		die("%s: %s", path, strerror(errno));
	return ns;
}

/* A device that is attached to an interface of the machine. */
static void attach(struct host *host, const char *interface)
{
	host->ns = -1;
	enter(machine);
	sockets[job.host_count] = open_attached(interface);
	answer_arp(job.host_count, interface);
	dprintf(2, "perigee: %s is behind %s: its addresses are %s and %s\n", host->name, interface, host->address4,
		host->address6);
}

void make_host(struct host *host)
{
	const struct place *place = place_of(host);
	char outer[32], path[96];

	if (place && !strcmp(place->kind, "interface")) {
		attach(host, place->name);
		return;
	}
	host->ns = place ? namespace_named(place->name) : new_namespace();
	enter(job.root_ns);
	snprintf(outer, sizeof(outer), OUTER "%d", job.host_count);
	make_pair(outer, host);
	/* No addresses, so that this end sends no neighbour discovery. */
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", outer);
	write_file(path, "1");
	link_up(outer);
	plain_frames(outer);
	sockets[job.host_count] = open_port(outer);
	enter(host->ns);
	plain_frames(host->device);
	bring_up(host);
}

/* ---- settings ---- */

/* How to allow a congestion control that users may not take. */
static void remedy(char *out, size_t size, const char *scheme)
{
	char allowed[300];
	int file = open(ALLOWED, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, allowed, sizeof(allowed) - 1);

	if (length <= 0)
		return;
	allowed[length] = '\0';
	allowed[strcspn(allowed, "\n")] = '\0';
	snprintf(out, size,
		 "; this machine lets users take %s: choose one of these, or as root: sysctl "
		 "net.ipv4.tcp_allowed_congestion_control='%s %s'",
		 allowed, allowed, scheme);
}

/* Settings of an existing namespace are not changed, since they would persist. */
void set_sysctl(const struct host *host, const char *name, const char *path, const char *value)
{
	char how[1000] = "";
	int file, error;

	if (place_of(host))
		return;
	file = open(path, O_WRONLY | O_CLOEXEC);
	error = file < 0 || write(file, value, strlen(value)) < 0 ? errno : 0;
	if (file >= 0)
		close(file);
	if (error == EPERM && !strcmp(name, CONGESTION))
		remedy(how, sizeof(how), value);
	if (error)
		die("%s: %s = '%s' cannot be set: %s%s", host->name, name, value, strerror(error), how);
}

/* The carrier of a host is the state of the other end of its pair. */
void set_carrier(uint32_t host, bool carrier)
{
	struct ifreq request;

	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, sizeof(request.ifr_name), OUTER "%u", host);
	/* A program may have removed the pair. */
	if (ioctl(interfaces, SIOCGIFFLAGS, &request))
		return;
	request.ifr_flags = carrier ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
	ioctl(interfaces, SIOCSIFFLAGS, &request);
}

void try_hosts(void)
{
	struct host host = { .name = "a", .device = "eth1", .mac = "02:00:00:00:00:01" };

	open_hosts(0, NULL);
	host.ns = new_namespace();
	enter(job.root_ns);
	make_pair(OUTER "0", &host);
	_exit(0);
}
