/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs of the host machine, each on one host: they see its files; their changes stay in the
 * guest. */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROGRAMS = 256, MAX_WORDS = 1024, OUTPUT = 1200 };
/* The machine's files, a layer in memory, and the overlay of both. */
#define MACHINE "/machine"
#define LAYER "/layer"
#define WORLD "/world"

struct program {
	uint32_t id;
	int host;
	uint64_t start_ns; /* simulated */
	char *folder;
	char *words[MAX_WORDS];
	char *environment[MAX_WORDS];
	int word_count, variable_count;
	int input;    /* standard input; -1 = none */
	bool terminal;
	bool first; /* in the kernel's first network namespace, not in that of its host */
	int pipes[2]; /* its output and its errors; -1 = closed */
	pid_t pid;    /* 0 = not started */
	int handle;   /* readable once it has ended */
	bool ended;
};

static struct program *programs[MAX_PROGRAMS];
static int program_count;

/* Decodes a word of the job: separators are escaped as %XX. */
static char *word(const char *text, size_t length)
{
	char *out = calloc(1, length + 1);
	size_t n = 0;

	if (!out)
		die("no memory");
	for (size_t i = 0; i < length; i++) {
		unsigned int byte = (unsigned char)text[i];

		if (byte == '%' && i + 2 < length + 1 && sscanf(text + i + 1, "%2x", &byte) == 1)
			i += 2;
		out[n++] = (char)byte;
	}
	return out;
}

/* Opens a program's input early: files of the job are gone once the guest has booted. */
static int open_input(const char *path)
{
	int file = *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (*path && file < 0)
		die("a program's standard input, %s: %s", path, strerror(errno));
	return file;
}

/* "ID HOST START INPUT FOLDER WORD...": INPUT is a file or empty; words with '=' before a word "--"
 * are environment variables. */
void add_program(char *line)
{
	struct program *p = calloc(1, sizeof(*p));
	int read = 0;
	bool command = false;

	if (!p || program_count == MAX_PROGRAMS)
		die("too many programs: at most %d", MAX_PROGRAMS);
	if (sscanf(line, "%u %d %lu %n", &p->id, &p->host, &p->start_ns, &read) != 3 || p->host < 0 ||
	    p->host >= job.host_count)
		die("a program cannot be read: %s", line);
	for (char *at = line + read; *at;) {
		size_t length = strcspn(at, " ");
		char *text = word(at, length);

		if (at == line + read) {
			p->terminal = !strcmp(text, "/dev/tty");
			p->input = p->terminal ? -1 : open_input(text);
			if (p->terminal)
				open_keyboard();
		}
		else if (!p->folder)
			p->folder = text;
		else if (!command && !strcmp(text, "--"))
			command = true;
		else if (command && p->word_count < MAX_WORDS - 1)
			p->words[p->word_count++] = text;
		else if (!command && p->variable_count < MAX_WORDS - 1)
			p->environment[p->variable_count++] = text;
		else
			die("program %u has more than %d words", p->id, MAX_WORDS - 1);
		at += length;
		at += strspn(at, " ");
	}
	if (!p->word_count)
		die("program %u has no command", p->id);
	programs[program_count++] = p;
}

static void mounted(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
	if (mount(source, target, type, flags, data))
		die("%s cannot be mounted on %s: %s", type, target, strerror(errno));
}

/* Mounts the machine's files as its programs will see them. */
void make_world(void)
{
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
void make_writable(const char *folder)
{
	char *path = word(folder, strlen(folder)), target[4096];

	snprintf(target, sizeof(target), "%s%s", WORLD, path);
	mounted("writable", target, "hostfs", 0, path);
	free(path);
}

/* Writes the names of hosts, without name servers. */
void name_hosts(void)
{
	FILE *file = fopen(WORLD "/etc/hosts", "w");

	if (!file)
		die("/etc/hosts: %s", strerror(errno));
	fprintf(file, "127.0.0.1 localhost\n::1 localhost\n");
	for (int i = 0; i < job.host_count; i++) {
		const struct host *h = &job.hosts[i];

		fprintf(file, "%.*s %s\n", (int)strcspn(h->address4, "/"), h->address4, h->name);
		fprintf(file, "%.*s %s\n", (int)strcspn(h->address6, "/"), h->address6, h->name);
	}
	fclose(file);
	unlink(WORLD "/etc/resolv.conf");
	file = fopen(WORLD "/etc/resolv.conf", "w");
	if (file)
		fclose(file);
}

/* "ADDRESS NAME": a host of another kernel */
void add_name(const char *line)
{
	FILE *file = fopen(WORLD "/etc/hosts", "a");

	if (!file)
		die("/etc/hosts: %s", strerror(errno));
	fprintf(file, "%s\n", line);
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

static void child(struct program *p, const int pipes[2][2]) __attribute__((noreturn));

static void child(struct program *p, const int pipes[2][2])
{
	const struct host *h = &job.hosts[p->host];
	sigset_t none;

	enter(p->first ? job.root_ns : h->ns);
	if (chroot(WORLD) || chdir(p->folder)) {
		dprintf(pipes[1][1], "perigee: folder %s: %s\n", p->folder, strerror(errno));
		_exit(126);
	}
	if (unshare(CLONE_NEWUTS) == 0)
		sethostname(h->name, strlen(h->name));
	if (p->terminal)
		p->input = pipes[0][1];
	dup2(p->input < 0 ? open("/dev/null", O_RDONLY) : p->input, 0);
	dup2(pipes[0][1], 1);
	dup2(pipes[1][1], 2);
	setsid();
	if (p->terminal)
		take_terminal();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	drop_privileges();
	environ = p->environment;
	execvp(p->words[0], p->words);
	dprintf(2, "perigee: %s: %s\n", p->words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void begin(struct program *p)
{
	int pipes[2][2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(pipes[i], O_CLOEXEC | O_NONBLOCK))
			die("no pipe: %s", strerror(errno));
		/* The program's end of the pipe blocks, as programs expect. */
		fcntl(pipes[i][1], F_SETFL, 0);
	}
	if (p->terminal) {
		close(pipes[0][0]);
		close(pipes[0][1]);
		pipes[0][0] = open_terminal(&pipes[0][1]);
		close(pipes[1][0]);
		close(pipes[1][1]);
		pipes[1][0] = -1;
		pipes[1][1] = fcntl(pipes[0][1], F_DUPFD_CLOEXEC, 0);
	}
	report_text(REPORT_STARTED, p->id | PROGRAM, "");
	p->pid = fork();
	if (p->pid < 0)
		die("no further process: %s", strerror(errno));
	if (p->pid == 0)
		child(p, (const int(*)[2])pipes);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		p->pipes[i] = pipes[i][0];
		if (p->pipes[i] >= 0)
			watch(p->pipes[i], EPOLLIN, i == 0 ? END_OUTPUT : END_ERRORS, p->id);
	}
	p->handle = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->handle < 0)
		die("pidfd_open: %s", strerror(errno));
	watch(p->handle, EPOLLIN, END_EXIT, p->id);
}

static struct program *find(uint32_t id)
{
	for (int i = 0; i < program_count; i++)
		if (programs[i]->id == id)
			return programs[i];
	die("there is no program %u", id);
}

void use_first_namespace(uint32_t id)
{
	find(id)->first = true;
}

/* Starts programs due by `now`; returns the next start. */
uint64_t start_programs(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < program_count; i++) {
		struct program *p = programs[i];

		if (p->pid == 0 && p->start_ns <= now)
			begin(p);
		else if (p->pid == 0 && p->start_ns < next)
			next = p->start_ns;
	}
	return next;
}

/* Reports output of a program. */
void on_output(uint32_t id, int stream)
{
	struct program *p = find(id);
	unsigned char payload[12 + OUTPUT];
	uint32_t which = id | PROGRAM | (stream ? ERRORS : 0);

	while (p->pipes[stream] >= 0) {
		ssize_t n = read(p->pipes[stream], payload + 12, OUTPUT);
		uint64_t now = simulated_ns();

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			close(p->pipes[stream]);
			p->pipes[stream] = -1;
			break;
		}
		memcpy(payload, &now, 8);
		memcpy(payload + 8, &which, 4);
		report(REPORT_OUTPUT, payload, 12 + n);
	}
	flush_reports();
}

/* Reports the exit of a program, after its remaining output. */
void on_exit_of(uint32_t id)
{
	struct program *p = find(id);
	struct {
		uint64_t at_ns;
		uint32_t id;
		int32_t status;
	} __attribute__((packed)) payload = { .id = id | PROGRAM };
	int status;

	if (p->ended || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	payload.status = status;
	p->ended = true;
	close(p->handle);
	on_output(id, 0);
	on_output(id, 1);
	payload.at_ns = simulated_ns();
	report(REPORT_EXITED, &payload, sizeof(payload));
	flush_reports();
}
