/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The agent as first program of a guest, in virtual time. It receives its job in the file /job, and
 * sends reports over an interface of its own, so that every report has an instant of virtual time.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "../net.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct platform platform = {
	.files = WORLD,
	/* The clock of the kernel lags behind the network's by up to a microsecond: a sample taken at its
	 * instant would arrive after the network has taken its own, and count for the next one. */
	.sample_lead_ns = 5000,
	.frame_bytes = 1514,
	.timers_are_exact = true,
	.forces_buffers = true,
	.discards = true,
};

/* The interface of reports. */
static int packets = -1;

void die(const char *format, ...)
{
	va_list arguments;

	printf("perigee: ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void open_reports(void)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = 0, .sll_ifindex = if_nametoindex("eth0") };

	/* It carries reports only: no address, no router solicitation. */
	write_file("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "1");
	link_up("eth0");
	/* Protocol 0: the socket receives nothing. */
	packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (packets < 0 || bind(packets, (struct sockaddr *)&to, sizeof(to)))
		die("no socket for reports: %s", strerror(errno));
}

void send_frame(const void *frame, size_t size)
{
	if (send(packets, frame, size, 0) != (ssize_t)size)
		die("a report cannot be sent: %s", strerror(errno));
}

/* Makes the host's namespace and moves its interface there, renamed to eth0. */
void make_host(struct host *host)
{
	struct ifinfomsg link = { .ifi_index = index_of(host->interface) };
	struct message m;

	memcpy(host->device, "eth0", sizeof("eth0"));
	host->ns = new_namespace();
	enter(job.root_ns);
	begin_message(&m, RTM_NEWLINK, 0, &link, sizeof(link));
	add_attribute(&m, IFLA_NET_NS_FD, &host->ns, sizeof(host->ns));
	add_attribute(&m, IFLA_IFNAME, "eth0", sizeof("eth0"));
	request(&m, host->interface);
	enter(host->ns);
	bring_up(host);
}

void set_sysctl(const struct host *host, const char *name, const char *path, const char *value)
{
	(void)host;
	(void)name;
	write_file(path, value);
}

/* All hosts of a guest are its own. */
void answer_for(const struct host *device, const char *address, const char *mac)
{
	die("host %s has no namespace for %s at %s", device->name, address, mac);
}

/* User-supplied congestion controls, compiled for this kernel. */
static void load_modules(void)
{
	DIR *folder = opendir("/modules");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char path[512];
		int file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", entry->d_name);
		file = open(path, O_RDONLY | O_CLOEXEC);
		if (file < 0 || syscall(SYS_finit_module, file, "", 0))
			die("module %s: %s", entry->d_name, strerror(errno));
		close(file);
	}
	if (folder)
		closedir(folder);
}

/* Lets hosts use any congestion control as default, not only unrestricted ones. */
static void allow_all_schemes(void)
{
	char names[1024];
	int file = open("/proc/sys/net/ipv4/tcp_available_congestion_control", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, names, sizeof(names) - 1);

	if (length <= 0)
		die("tcp_available_congestion_control: %s", strerror(errno));
	close(file);
	names[length] = '\0';
	write_file("/proc/sys/net/ipv4/tcp_allowed_congestion_control", names);
}

int main(int count, char **arguments)
{
	FILE *file;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (mount("proc", "/proc", "proc", 0, NULL))
		die("/proc: %s", strerror(errno));
	for (int i = 1; i < count; i++) {
		if (!strcmp(arguments[i], "boot-test")) {
			printf("perigee: ok\n");
			fflush(stdout);
			reboot(RB_POWER_OFF);
		}
	}
	job.root_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (job.root_ns < 0)
		die("/proc/self/ns/net: %s", strerror(errno));
	open_reports();
	load_modules();
	allow_all_schemes();
	open_loop();
	file = fopen("/job", "r");
	if (!file)
		die("/job: %s", strerror(errno));
	read_job(file);
	send_pings(true);
	if (simulated_ns() > 0)
		die("the hosts were not ready in time: there are too many of them");
	open_listeners();
	report_text(REPORT_READY, 0, "");
	run_loop();
}
