/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The control group of a command. */
#ifndef LOADER_GROUP_H
#define LOADER_GROUP_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"

#define GROUP "perigee-orbcc-"

/* Directory of the hierarchy of control groups, version 2. */
static int cgroup_root(void)
{
	char line[1024], where[512], kind[64], place[] = "/tmp/orbcc-XXXXXX";
	FILE *mounts = fopen("/proc/self/mounts", "r");
	int fd = -1;

	while (mounts && fd < 0 && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %511s %63s", where, kind) == 2 && !strcmp(kind, "cgroup2"))
			fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mounts)
		fclose(mounts);
	if (fd >= 0)
		return fd;
	/* The mount is only kept by the descriptor. */
	if (!mkdtemp(place) || mount("none", place, "cgroup2", 0, NULL))
		fail("no cgroup2 hierarchy is mounted, and none can be: %s", strerror(errno));
	fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	umount2(place, MNT_DETACH);
	rmdir(place);
	return fd;
}

/* Removes groups of loaders that were killed together with the child below, as by the end of a
 * namespace of processes. Those in use are locked by their loader, or are not empty. */
static void remove_abandoned(int root)
{
	int own = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), group;
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, GROUP, strlen(GROUP)))
			continue;
		group = openat(root, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (group < 0)
			continue;
		if (!flock(group, LOCK_EX | LOCK_NB))
			unlinkat(root, e->d_name, AT_REMOVEDIR);
		close(group);
	}
	if (d)
		closedir(d);
}

/* A group of this process's own; its descriptor. Process ids are not unique across namespaces. */
static int make_group(int root, char *name, size_t bytes)
{
	struct timespec now;
	int group;

	remove_abandoned(root);
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(name, bytes, GROUP "%d-%lld%09ld", getpid(), (long long)now.tv_sec, now.tv_nsec);
	if (mkdirat(root, name, 0755))
		fail("cgroup %s: %s", name, strerror(errno));
	group = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0 || flock(group, LOCK_EX | LOCK_NB))
		fail("cgroup %s: %s", name, strerror(errno));
	return group;
}

/* A child that removes the group when this process and those of the group have ended. */
static void remove_later(int root, const char *name)
{
	int alive[2];

	if (pipe2(alive, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	if (fork()) {
		close(alive[0]); /* The other end stays open until this process ends. */
		return;
	}
	setsid();
	close(alive[1]);
	char byte;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	while (read(alive[0], &byte, 1) < 0 && errno == EINTR)
		;
	while (unlinkat(root, name, AT_REMOVEDIR) && errno == EBUSY)
		usleep(50000);
	_exit(0);
}

static void write_pid(int group, int pid)
{
	int fd = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%d", pid) < 0)
		fail("cgroup.procs: %s", strerror(errno));
	close(fd);
}

#endif
