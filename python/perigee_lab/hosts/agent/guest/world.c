/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Files that programs see: those of the machine; changes stay in the guest. */
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The machine's files, and a layer in memory; WORLD is the overlay of both. */
#define MACHINE "/machine"
#define LAYER "/layer"

static void mounted(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
	if (mount(source, target, type, flags, data))
		die("%s cannot be mounted on %s: %s", type, target, strerror(errno));
}

/* Mounts the machine's files as its programs will see them. */
void make_world(char *line)
{
	(void)line;
	mounted("machine", MACHINE, "hostfs", MS_RDONLY, "/");
	mounted("layer", LAYER, "tmpfs", 0, NULL);
	if (mkdir(LAYER "/upper", 0755) || mkdir(LAYER "/work", 0755))
		die("%s: %s", LAYER, strerror(errno));
	mounted("world", WORLD, "overlay", 0, "lowerdir=" MACHINE ",upperdir=" LAYER "/upper,workdir=" LAYER "/work");
	mounted("proc", WORLD "/proc", "proc", 0, NULL);
	mounted("sysfs", WORLD "/sys", "sysfs", 0, NULL);
	mounted("dev", WORLD "/dev", "devtmpfs", 0, NULL);
	mkdir(WORLD "/dev/pts", 0755);
	mkdir(WORLD "/dev/shm", 01777);
	mounted("devpts", WORLD "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620");
	mounted("shm", WORLD "/dev/shm", "tmpfs", 0, NULL);
	mounted("run", WORLD "/run", "tmpfs", 0, NULL);
	if (symlink("pts/ptmx", WORLD "/dev/ptmx") && errno != EEXIST)
		die("/dev/ptmx: %s", strerror(errno));
	if (symlink("/proc/self/fd", WORLD "/dev/fd") || symlink("/proc/self/fd/0", WORLD "/dev/stdin") ||
	    symlink("/proc/self/fd/1", WORLD "/dev/stdout") || symlink("/proc/self/fd/2", WORLD "/dev/stderr"))
		die("/dev: %s", strerror(errno));
}

/* "FOLDER": a folder of the machine that programs may change */
void make_writable(char *folder)
{
	char *path = unescaped(folder, strlen(folder), NULL), target[4096];

	snprintf(target, sizeof(target), "%s%s", WORLD, path);
	mounted("writable", target, "hostfs", 0, path);
	free(path);
}

/* In a guest, the file is in the layer; there are no name servers. */
void own_names(void)
{
	FILE *file;

	unlink(WORLD "/etc/resolv.conf");
	file = fopen(WORLD "/etc/resolv.conf", "w");
	if (file)
		fclose(file);
}

/*
 * Mounting hostfs would open all of the machine for writing, and a process that can trace the agent
 * or load a module can mount: programs get none of these capabilities, not even as root. A second
 * chroot would undo the first and lead to the agent's own root; a process in a chroot cannot create
 * a user namespace either, which would grant them again.
 */
static void drop_privileges(void)
{
	static const int dropped[] = {
		CAP_SYS_ADMIN, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_PTRACE, CAP_SYS_CHROOT, CAP_MKNOD, CAP_BPF,
		CAP_PERFMON, CAP_MAC_ADMIN, CAP_CHECKPOINT_RESTORE,
	};

	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
		if (prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0)) {
			dprintf(2, "perigee: a capability cannot be dropped: %s\n", strerror(errno));
			_exit(126);
		}
}

void enter_world(const char *folder, char *const *environment, const struct host *host)
{
	if (chroot(WORLD) || chdir(folder)) {
		dprintf(2, "perigee: folder %s: %s\n", folder, strerror(errno));
		_exit(126);
	}
	if (unshare(CLONE_NEWUTS) == 0)
		sethostname(host->name, strlen(host->name));
	drop_privileges();
	environ = (char **)environment;
}
