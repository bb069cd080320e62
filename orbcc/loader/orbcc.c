/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Loader of OrbCC's programs.
 *
 *   orbcc run    [OPTIONS] -- COMMAND...   for the connections of a command; nothing outlives this process
 *   orbcc attach [OPTIONS]                 for a cgroup and devices, until `detach`
 *   orbcc port   --dev NAME --rate KBIT    a router's port that stamps records, until `detach`
 *   orbcc status [--pin DIR]               counters and connections, as JSON
 *   orbcc port-status --pin DIR            counters and load of a port, as JSON
 *   orbcc detach [--pin DIR]
 *
 * Everything is attached by links: those of `run` are held by this process and end with it however
 * it ends; `attach` pins them.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "group.h"
#include "report.h"

/* Of newer headers. */
#define STRUCT_OPS_LINK 44
#define TCX_INGRESS 46
#define TCX_EGRESS 47
#define MAP_WITH_LINK (1U << 13)

#define PINS "/sys/fs/bpf"
#define MAX_DEVICES 16
#define MAX_LINKS (2 * MAX_DEVICES + 8)
#define SNAPSHOT_US 200000

struct settings {
	const char *object, *pin, *cgroup, *report, *log, *devices[MAX_DEVICES];
	unsigned carrier, fallback, trust, room, rate_kbit, switch_id, queue_bytes;
	int n_devices, receiver;
	char **command;
};

struct attached {
	struct bpf_object *object;
	int fd[MAX_LINKS];
	char name[MAX_LINKS][64];
	int n, listing, counters;
};

static int verbose;

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG || (!verbose && level != LIBBPF_WARN) ? 0 : vfprintf(stderr, format, args);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static unsigned one_of(const char *option, const char *word, const char *const *words)
{
	unsigned i;

	for (i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return i;
	fail("%s %s is unknown", option, word);
}

static void parse(int argc, char **argv, struct settings *s)
{
	static const char *const carriers[] = { "auto", "ip6", "tcp", "ioam", NULL };
	static const char *const fallbacks[] = { "cubic", "bbr", "leocc", NULL };
	int i;

	for (i = 2; i < argc; i++) {
		const char *option = argv[i];

		if (!strcmp(option, "--")) {
			s->command = argv + i + 1;
			return;
		}
		if (!strcmp(option, "--trust-path")) {
			s->trust = 0;
			continue;
		}
		if (!strcmp(option, "--receiver")) {
			s->receiver = 1;
			continue;
		}
		if (!strcmp(option, "--verbose")) {
			verbose = 1;
			continue;
		}
		if (i + 1 == argc)
			fail("%s needs a value", option);
		const char *value = argv[++i];

		if (!strcmp(option, "--object"))
			s->object = value;
		else if (!strcmp(option, "--pin"))
			s->pin = value;
		else if (!strcmp(option, "--cgroup"))
			s->cgroup = value;
		else if (!strcmp(option, "--report"))
			s->report = value;
		else if (!strcmp(option, "--log"))
			s->log = value;
		else if (!strcmp(option, "--room"))
			s->room = (unsigned)atoi(value);
		else if (!strcmp(option, "--rate"))
			s->rate_kbit = (unsigned)strtoul(value, NULL, 0);
		else if (!strcmp(option, "--switch"))
			s->switch_id = (unsigned)strtoul(value, NULL, 0);
		else if (!strcmp(option, "--queue"))
			s->queue_bytes = (unsigned)strtoul(value, NULL, 0);
		else if (!strcmp(option, "--carrier"))
			s->carrier = one_of(option, value, carriers);
		else if (!strcmp(option, "--fallback"))
			s->fallback = one_of(option, value, fallbacks);
		else if (!strcmp(option, "--dev") && s->n_devices < MAX_DEVICES)
			s->devices[s->n_devices++] = value;
		else
			fail("unknown option %s", option);
	}
}

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Gives up every capability that is not in `keep`. */
static void keep_capabilities(unsigned long long keep)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		fail("capget: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (unsigned)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data))
		fail("capset: %s", strerror(errno));
}

#define CAPABILITY(c) (1ULL << (c))
#define NEEDED (CAPABILITY(CAP_BPF) | CAPABILITY(CAP_NET_ADMIN) | CAPABILITY(CAP_PERFMON))

/* ---- loading --------------------------------------------------------------------------------- */

static void set(struct bpf_object *o, const char *name, unsigned value)
{
	const struct btf *btf = bpf_object__btf(o);
	struct bpf_map *map;
	int section, i;

	bpf_object__for_each_map(map, o) {
		if (!strstr(bpf_map__name(map), ".rodata"))
			continue;
		size_t size;
		char *data = (char *)bpf_map__initial_value(map, &size);

		section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
		const struct btf_type *t = btf__type_by_id(btf, (unsigned)section);

		if (!data || section < 0 || !t)
			continue;
		const struct btf_var_secinfo *v = (const void *)(t + 1);

		for (i = 0; i < (int)(t->info & 0xffff); i++, v++) {
			const struct btf_type *var = btf__type_by_id(btf, v->type);

			if (!strcmp(btf__name_by_offset(btf, var->name_off), name)) {
				memcpy(data + v->offset, &value, sizeof(value));
				return;
			}
		}
	}
	fail("the object has no setting %s", name);
}

static void add(struct attached *a, int fd, const char *what, const char *of)
{
	if (fd < 0)
		fail("%s %s: %s", what, of, strerror(errno));
	snprintf(a->name[a->n], sizeof(a->name[a->n]), "%s%s%s", what, *of ? "-" : "", of);
	a->fd[a->n++] = fd;
}

static int program(struct bpf_object *o, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, name);

	if (!p)
		fail("the object has no program %s", name);
	return bpf_program__fd(p);
}

static void register_scheme(struct attached *a, struct bpf_map *scheme)
{
	int fd;

	/* Fills the table; the link registers it. */
	if (!bpf_map__attach_struct_ops(scheme))
		fail("congestion control: %s", strerror(errno));
	fd = bpf_link_create(bpf_map__fd(scheme), 0, STRUCT_OPS_LINK, NULL);
	if (fd < 0 && errno == EEXIST)
		fail("a congestion control \"orbcc\" is registered already; detach it first");
	add(a, fd, "congestion", "");
}

static void attach_devices(const struct settings *s, struct attached *a)
{
	struct bpf_object *o = a->object;

	for (int i = 0; i < s->n_devices; i++) {
		const char *device = s->devices[i];
		int index = (int)if_nametoindex(device);

		if (!index)
			fail("no device %s", device);
		add(a, bpf_link_create(program(o, "orbcc_egress"), index, TCX_EGRESS, NULL), "egress", device);
		add(a, bpf_link_create(program(o, "orbcc_ingress"), index, TCX_INGRESS, NULL), "ingress", device);
	}
}

static void load(const struct settings *s, struct attached *a)
{
	struct bpf_object *o = bpf_object__open(s->object);
	struct bpf_map *scheme;

	if (!o)
		fail("%s: %s", s->object, strerror(errno));
	set(o, "opt_carrier", s->carrier);
	set(o, "opt_fallback", s->fallback);
	set(o, "opt_trust", s->trust);
	set(o, "opt_room", s->room);
	set(o, "opt_sender", !s->receiver);
	scheme = bpf_object__find_map_by_name(o, "orbcc");
	bpf_map__set_map_flags(scheme, MAP_WITH_LINK);
	if (bpf_object__load(o))
		fail("the kernel does not load %s: %s", s->object, strerror(errno));
	a->object = o;
	if (!s->receiver)
		register_scheme(a, scheme);
	attach_devices(s, a);
	a->listing = bpf_link_create(program(o, "orbcc_list"), 0, BPF_TRACE_ITER, NULL);
	add(a, a->listing, "list", "");
	a->counters = bpf_object__find_map_fd_by_name(o, "counters");
}

static void attach_cgroup(struct attached *a, int cgroup)
{
	add(a, bpf_link_create(program(a->object, "orbcc_sockops"), cgroup, BPF_CGROUP_SOCK_OPS, NULL), "cgroup", "");
}

/* ---- run ------------------------------------------------------------------------------------- */

/* The command, which waits for `go` before it starts. */
static pid_t start(char **command, int group, const int *go)
{
	pid_t child = fork();
	char byte;

	if (child)
		return child;
	close(go[1]);
	write_pid(group, 0);
	if (read(go[0], &byte, 1) != 1)
		_exit(2);
	execvp(*command, command);
	fprintf(stderr, "orbcc: %s: %s\n", *command, strerror(errno));
	_exit(127);
}

static int run(const struct settings *s)
{
	struct attached a = { 0 };
	char name[64], *flows = calloc(1, 1), *now;
	FILE *log = s->log ? fopen(s->log, "w") : NULL;
	int root, group, go[2], status;
	pid_t child;

	if (!s->command || !*s->command)
		fail("run needs a command after --");
	root = cgroup_root();
	group = make_group(root, name, sizeof(name));
	remove_later(root, name);
	if (pipe2(go, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	child = start(s->command, group, go);
	close(go[0]);
	keep_capabilities(NEEDED);
	load(s, &a);
	attach_cgroup(&a, group);
	signal(SIGINT, SIG_IGN); /* For the command, and its end ends this. */
	if (write(go[1], "", 1) != 1)
		fail("the command has ended");
	close(go[1]);
	if (s->log && !log)
		fail("%s: %s", s->log, strerror(errno));
	if (log)
		setvbuf(log, NULL, _IOLBF, 0); /* Whole lines, however this process ends. */
	while (!waitpid(child, &status, WNOHANG)) {
		now = s->report || s->log ? flows_of(a.listing) : calloc(1, 1);
		if (log)
			write_log(log, now);
		if (*now) {
			free(flows);
			flows = now;
		} else {
			free(now);
		}
		usleep(SNAPSHOT_US);
	}
	if (log)
		fclose(log);
	if (s->report) {
		FILE *out = fopen(s->report, "w");

		if (!out)
			fail("%s: %s", s->report, strerror(errno));
		report(out, a.counters, flows);
		fclose(out);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- attach, status, detach ------------------------------------------------------------------ */

static void make_pins(const struct settings *s)
{
	struct statfs fs;

	/* Where nothing is mounted for pins, it is done here, as bpftool and iproute2 do. */
	if (!strncmp(s->pin, PINS, strlen(PINS)) && !statfs(PINS, &fs) && (unsigned long)fs.f_type != BPF_FS_MAGIC &&
	    mount("bpf", PINS, "bpf", 0, "mode=0700"))
		fail("%s: %s; mount a bpf file system there", PINS, strerror(errno));
	if (mkdir(s->pin, 0700) && errno != EEXIST)
		fail("%s: %s; is a bpf file system mounted there?", s->pin, strerror(errno));
}

static void pin(const struct settings *s, const struct attached *a)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/counters", s->pin);
	if (bpf_obj_pin(a->counters, path))
		fail("%s: %s; detach what is attached first", path, strerror(errno));
	for (int i = 0; i < a->n; i++) {
		snprintf(path, sizeof(path), "%s/%s", s->pin, a->name[i]);
		if (bpf_obj_pin(a->fd[i], path))
			fail("%s: %s", path, strerror(errno));
	}
}

static int attach_port(const struct settings *s)
{
	struct attached a = { 0 };
	struct bpf_object *o = bpf_object__open(s->object);
	int index = s->n_devices == 1 ? (int)if_nametoindex(s->devices[0]) : 0;

	if (!o)
		fail("%s: %s", s->object, strerror(errno));
	if (!index || !s->rate_kbit)
		fail("port needs one existing --dev and its --rate in kbit/s");
	make_pins(s);
	keep_capabilities(NEEDED);
	set(o, "opt_rate_kbit", s->rate_kbit);
	set(o, "opt_switch", s->switch_id & 0xffff);
	set(o, "opt_queue_bytes", s->queue_bytes);
	if (bpf_object__load(o))
		fail("the kernel does not load %s: %s", s->object, strerror(errno));
	a.counters = bpf_object__find_map_fd_by_name(o, "counters");
	add(&a, bpf_object__find_map_fd_by_name(o, "stats"), "stats", "");
	add(&a, bpf_link_create(program(o, "orbcc_port"), index, TCX_EGRESS, NULL), "port", s->devices[0]);
	pin(s, &a);
	return 0;
}

static int attach(const struct settings *s)
{
	struct attached a = { 0 };
	int cgroup = s->cgroup ? open(s->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (s->cgroup && cgroup < 0)
		fail("%s: %s", s->cgroup, strerror(errno));
	make_pins(s);
	keep_capabilities(NEEDED);
	load(s, &a);
	if (cgroup >= 0)
		attach_cgroup(&a, cgroup);
	pin(s, &a);
	return 0;
}

static int status(const struct settings *s)
{
	char path[512];
	int counters, listing;

	snprintf(path, sizeof(path), "%s/counters", s->pin);
	counters = bpf_obj_get(path);
	if (counters < 0)
		fail("nothing is attached at %s", s->pin);
	snprintf(path, sizeof(path), "%s/list", s->pin);
	listing = bpf_obj_get(path);
	report(stdout, counters, flows_of(listing));
	return 0;
}

static int port_status(const struct settings *s)
{
	char path[512];
	int counters, stats;

	snprintf(path, sizeof(path), "%s/counters", s->pin);
	counters = bpf_obj_get(path);
	snprintf(path, sizeof(path), "%s/stats", s->pin);
	stats = bpf_obj_get(path);
	if (counters < 0 || stats < 0)
		fail("no port is attached at %s", s->pin);
	report_port(stdout, counters, stats);
	return 0;
}

static int detach(const struct settings *s)
{
	DIR *d = opendir(s->pin);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			n += !unlinkat(dirfd(d), e->d_name, 0);
	if (!d || rmdir(s->pin))
		fail("nothing is attached at %s", s->pin);
	closedir(d);
	printf("{\"detached\":%d}\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	struct settings s = { .pin = "/sys/fs/bpf/perigee-orbcc", .object = "orbcc.bpf.o", .trust = 1, .room = 3, .switch_id = 1 };

	if (argc < 2)
		fail("run, attach, port, status, port-status or detach");
	parse(argc, argv, &s);
	libbpf_set_print(print);
	if (!strcmp(argv[1], "run"))
		return run(&s);
	if (!strcmp(argv[1], "attach"))
		return attach(&s);
	if (!strcmp(argv[1], "port"))
		return attach_port(&s);
	if (!strcmp(argv[1], "status"))
		return status(&s);
	if (!strcmp(argv[1], "port-status"))
		return port_status(&s);
	if (!strcmp(argv[1], "detach"))
		return detach(&s);
	fail("%s is none of run, attach, port, status, port-status and detach", argv[1]);
}
