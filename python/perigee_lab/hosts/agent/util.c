/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t simulated_ns(void)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return ns < job.epoch_ns ? 0 : ns - job.epoch_ns;
}

void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);
	size_t length = strlen(text);

	if (file < 0 || write(file, text, length) != (ssize_t)length)
		die("%s refuses \"%s\": %s", path, text, strerror(errno));
	close(file);
}

void enter(int ns)
{
	if (setns(ns, CLONE_NEWNET))
		die("a network namespace cannot be entered: %s", strerror(errno));
}
