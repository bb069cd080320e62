/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Counters and connections, as JSON. */
#ifndef LOADER_REPORT_H
#define LOADER_REPORT_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <time.h>
#include <unistd.h>

#include "../bpf/port_stats.h"
#include "fail.h"

static const char *const COUNTERS[] = { "acks", "readings", "tagged", "too_large", "no_room", "blocks", "echoes",
					"feeds", "no_socket", "implausible", "to_fallback", "back", "connections",
					"options_written", "options_read", "hints", "traces" };

/* Lines of the iterator; to be freed. */
static char *flows_of(int listing)
{
	char *text = calloc(1, 1);
	size_t n = 0;
	int fd = bpf_iter_create(listing);
	ssize_t got;
	char part[4096];

	while (fd >= 0 && (got = read(fd, part, sizeof(part))) > 0) {
		text = realloc(text, n + (size_t)got + 1);
		memcpy(text + n, part, (size_t)got);
		n += (size_t)got;
		text[n] = 0;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

static const char *const PORT_COUNTERS[] = { "packets", "blocks", "options", "no_room", "intervals", NULL };

/* Sum of a counter over processors. */
static unsigned long long total(int counters, unsigned which)
{
	unsigned long long of_cpu[libbpf_num_possible_cpus()], sum = 0;

	if (!bpf_map_lookup_elem(counters, &which, of_cpu))
		for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
			sum += of_cpu[cpu];
	return sum;
}

static void report_port(FILE *out, int counters, int stats)
{
	struct orbcc_port_stats s = { 0 };
	unsigned zero = 0;

	bpf_map_lookup_elem(stats, &zero, &s);
	fputs("{\"counters\":{", out);
	for (unsigned i = 0; PORT_COUNTERS[i]; i++)
		fprintf(out, "%s\"%s\":%llu", i ? "," : "", PORT_COUNTERS[i], total(counters, i));
	fprintf(out, "},\"bytes\":%llu,\"rate_kbit\":%u,\"utilisation\":%.4f,\"wait_us\":%llu,", s.bytes, s.rate_kbit,
		(double)s.utilisation / 4294967296.0, s.wait_ns / 1000);
	fprintf(out, "\"avg_rtt_us\":%u,\"flows\":%u}\n", s.avg_rtt_us, s.flows);
}

static void report(FILE *out, int counters, const char *flows)
{
	unsigned i;
	const char *p;

	fputs("{\"counters\":{", out);
	for (i = 0; i < sizeof(COUNTERS) / sizeof(*COUNTERS); i++)
		fprintf(out, "%s\"%s\":%llu", i ? "," : "", COUNTERS[i], total(counters, i));
	fputs("},\"flows\":[", out);
	for (p = flows; *p; p++)
		fputc(*p == '\n' && p[1] ? ',' : *p == '\n' ? ' ' : *p, out);
	fputs("]}\n", out);
}

/* A line per connection, with the time of CLOCK_MONOTONIC. */
static void write_log(FILE *out, const char *flows)
{
	const char *p = flows, *end;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (; *p == '{' && (end = strchr(p, '\n')); p = end + 1)
		fprintf(out, "{\"t_ms\":%lld,%.*s\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, (int)(end - p - 1),
			p + 1);
}

#endif
