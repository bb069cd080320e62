/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The job: one item per line, a kind and words. */
#define _GNU_SOURCE
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job job = { .output_limit = UINT64_MAX };

static struct host *host_at(int index)
{
	if (index < 0 || index >= job.host_count)
		die("the job names host %d of %d", index, job.host_count);
	return &job.hosts[index];
}

/* "NAME INTERFACE ADDRESS4 ADDRESS6 MAC [MTU]" */
static void add_host(char *line)
{
	struct host *h = &job.hosts[job.host_count];

	if (job.host_count == MAX_HOSTS)
		die("more than %d hosts", MAX_HOSTS);
	if (sscanf(line, "%63s %15s %19s %43s %19s %u", h->name, h->interface, h->address4, h->address6, h->mac, &h->mtu) < 5)
		die("a host cannot be read: %s", line);
	memcpy(h->device, h->interface, sizeof(h->device));
	make_host(h);
	job.host_count++;
	enter(job.root_ns);
}

/* "HOST ADDRESS MAC" */
static void neighbour(char *line)
{
	char address[44], mac[20];
	int index;
	struct host *h;

	if (sscanf(line, "%d %43s %19s", &index, address, mac) != 3)
		die("a neighbour cannot be read: %s", line);
	h = host_at(index);
	if (h->ns < 0) {
		answer_for(h, address, mac);
		return;
	}
	enter(h->ns);
	add_neighbour(h, address, mac);
	enter(job.root_ns);
}

/* "HOST INITIAL_WINDOW QUICK_ACKS [MTU]" */
static void route(char *line)
{
	unsigned int window, quick, mtu = 0;
	int index;

	if (sscanf(line, "%d %u %u %u", &index, &window, &quick, &mtu) < 3)
		die("a route cannot be read: %s", line);
	if (host_at(index)->ns < 0)
		return;
	enter(host_at(index)->ns);
	set_route(host_at(index), window, quick, mtu);
	enter(job.root_ns);
}

/* "HOST net.ipv4.tcp_rmem VALUE": in the namespace of that host */
static void set(char *line)
{
	char path[256], *key = strchr(line, ' '), *value = key ? strchr(key + 1, ' ') : NULL;
	const struct host *h = host_at(atoi(line));

	if (!value)
		die("a sysctl cannot be read: %s", line);
	*key++ = *value++ = '\0';
	snprintf(path, sizeof(path), "/proc/sys/%s", key);
	for (char *c = path + strlen("/proc/sys/"); *c; c++)
		if (*c == '.')
			*c = '/';
	if (h->ns < 0)
		return;
	enter(h->ns);
	set_sysctl(h, key, path, value);
	enter(job.root_ns);
}

static void set_epoch(char *words)
{
	job.epoch_ns = strtoull(words, NULL, 10);
}

static void set_sample(char *words)
{
	job.sample_ns = strtoull(words, NULL, 10);
}

static void set_end(char *words)
{
	job.end_ns = strtoull(words, NULL, 10);
}

static void set_output_limit(char *words)
{
	job.output_limit = strtoull(words, NULL, 10);
}

static const struct {
	const char *kind;
	void (*read)(char *words);
} kinds[] = {
	{ "epoch", set_epoch },
	{ "sample", set_sample },
	{ "end", set_end },
	{ "output", set_output_limit },
	{ "host", add_host },
	{ "neighbour", neighbour },
	{ "sysctl", set },
	{ "route", route },
	{ "window", add_window },
	{ "flow", add_flow },
	{ "turns", add_turns },
	{ "objects", add_objects },
	{ "relay", add_relay },
	{ "world", make_world },
	{ "writable", make_writable },
	{ "program", add_program },
	{ "input", add_input },
	{ "terminal", use_terminal },
	{ "first", use_first_namespace },
	{ "names", name_hosts },
	{ "name", add_name },
	{ "notices", open_notices },
	{ "ping", add_ping },
	{ "probe", add_probe },
};

static void read_line(char *line)
{
	char *words = strchr(line, ' ');

	if (!words)
		die("a line of the job cannot be read: %s", line);
	*words++ = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(line, kinds[i].kind)) {
			kinds[i].read(words);
			return;
		}
	die("the job says %s, which this agent cannot read: it is of another version", line);
}

void read_job(FILE *file)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			read_line(line);
	}
	free(line);
	fclose(file);
}
