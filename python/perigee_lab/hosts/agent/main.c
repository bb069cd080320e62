/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

struct job job;

static struct host *host_at(int index)
{
	if (index < 0 || index >= job.host_count)
		die("the job names host %d of %d", index, job.host_count);
	return &job.hosts[index];
}

static void add_host(const char *line)
{
	struct host *h = &job.hosts[job.host_count];

	if (job.host_count++ == MAX_HOSTS)
		die("more than %d hosts", MAX_HOSTS);
	if (sscanf(line, "%63s %15s %19s %43s %u", h->name, h->interface, h->address4, h->address6, &h->mtu) < 4)
		die("a host cannot be read: %s", line);
	make_namespace(h);
	enter(h->ns);
	bring_up(h);
	enter(job.root_ns);
}

static void neighbour(const char *line)
{
	char address[44], mac[20];
	int index;
	struct host *h;

	if (sscanf(line, "%d %43s %19s", &index, address, mac) != 3)
		die("a neighbour cannot be read: %s", line);
	h = host_at(index);
	enter(h->ns);
	add_neighbour(h, address, mac);
	enter(job.root_ns);
}

/* "HOST INITIAL_WINDOW QUICK_ACKS [MTU]" */
static void route(const char *line)
{
	unsigned int window, quick, mtu = 0;
	int index;

	if (sscanf(line, "%d %u %u %u", &index, &window, &quick, &mtu) < 3)
		die("a route cannot be read: %s", line);
	enter(host_at(index)->ns);
	set_route(host_at(index), window, quick, mtu);
	enter(job.root_ns);
}

/* "HOST net.ipv4.tcp_rmem VALUE": in the namespace of that host */
static void sysctl(char *line)
{
	char path[256] = "/proc/sys/";
	char *key = strchr(line, ' '), *value = key ? strchr(key + 1, ' ') : NULL;

	if (!value)
		die("a sysctl cannot be read: %s", line);
	*key++ = *value++ = '\0';
	strncat(path, key, sizeof(path) - strlen(path) - 1);
	for (char *c = path + strlen("/proc/sys/"); *c; c++)
		if (*c == '.')
			*c = '/';
	enter(host_at(atoi(line))->ns);
	write_file(path, value);
	enter(job.root_ns);
}

static void handle(char *line)
{
	char *rest = strchr(line, ' ');

	if (!rest)
		die("a line of the job cannot be read: %s", line);
	*rest++ = '\0';
	if (!strcmp(line, "epoch"))
		job.epoch_ns = strtoull(rest, NULL, 10);
	else if (!strcmp(line, "sample"))
		job.sample_ns = strtoull(rest, NULL, 10);
	else if (!strcmp(line, "end"))
		job.end_ns = strtoull(rest, NULL, 10);
	else if (!strcmp(line, "host"))
		add_host(rest);
	else if (!strcmp(line, "neighbour"))
		neighbour(rest);
	else if (!strcmp(line, "sysctl"))
		sysctl(rest);
	else if (!strcmp(line, "route"))
		route(rest);
	else if (!strcmp(line, "window"))
		add_window(rest);
	else if (!strcmp(line, "flow"))
		add_flow(rest);
	else if (!strcmp(line, "turns"))
		add_turns(rest);
	else if (!strcmp(line, "objects"))
		add_objects(rest);
	else if (!strcmp(line, "relay"))
		add_relay(rest);
	else if (!strcmp(line, "world"))
		make_world();
	else if (!strcmp(line, "writable"))
		make_writable(rest);
	else if (!strcmp(line, "program"))
		add_program(rest);
	else if (!strcmp(line, "names"))
		name_hosts();
	else if (!strcmp(line, "name"))
		add_name(rest);
	else if (!strcmp(line, "notices"))
		open_notices();
	else if (!strcmp(line, "ping"))
		send_ping(rest);
	else if (!strcmp(line, "probe"))
		add_probe(rest);
	else if (!strcmp(line, "first"))
		use_first_namespace(strtoul(rest, NULL, 10));
	else
		die("the job says %s", line);
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

static void read_job(void)
{
	FILE *file = fopen("/job", "r");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		die("/job: %s", strerror(errno));
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			handle(line);
	}
	free(line);
	fclose(file);
}

int main(int count, char **arguments)
{
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
	read_job();
	run_loop();
}
