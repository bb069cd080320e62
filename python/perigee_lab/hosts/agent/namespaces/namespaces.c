/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The agent as process 1 of a user, network, mount and process namespace of this machine, in real
 * time. Its standard input is a socket of the core (perigee-guest/src/live.rs), over which it receives
 * its job, and sends reports and a packet socket for each host. When this process exits, or the
 * socket is closed, the kernel kills all programs and removes all namespaces and devices.
 */
#define _GNU_SOURCE
#include "namespaces.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <linux/capability.h>
#include <unistd.h>

const struct platform platform = {
	.files = "",
	.sample_lead_ns = 2000000,
	.frame_bytes = 1 << 16,
};

/* The core's socket; its standard input, which a program with a terminal gets; the socket that the next
 * frame takes along, or -1. */
static int control = -1, terminal = -1, attached = -1;
static bool started;

/* Instead of the number of a host in a message of the core. */
static const uint32_t END_OF_RUN = UINT32_MAX;

static void write_fully(struct msghdr *message)
{
	struct iovec *part = message->msg_iov;

	while (message->msg_iovlen) {
		ssize_t n = sendmsg(control, message, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(0); /* the core has ended */
		message->msg_control = NULL;
		message->msg_controllen = 0;
		for (; message->msg_iovlen && (size_t)n >= part->iov_len; message->msg_iovlen--)
			n -= part++->iov_len;
		message->msg_iov = part;
		if (message->msg_iovlen) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= n;
		}
	}
}

/* A frame follows its length. */
void send_frame(const void *frame, size_t size)
{
	uint32_t length = size;
	struct iovec parts[] = { { &length, sizeof(length) }, { (void *)frame, size } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} rights = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) } };

	if (attached >= 0) {
		memcpy(CMSG_DATA(&rights.header), &attached, sizeof(attached));
		message.msg_control = &rights;
		message.msg_controllen = sizeof(rights.room);
		attached = -1;
	}
	write_fully(&message);
}

void die(const char *format, ...)
{
	static bool dying;
	va_list arguments;
	char why[1000];

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	if (control >= 0 && !started && !dying) {
		dying = true;
		report_text(REPORT_FAILED, 0, why);
		_exit(0);
	}
	dprintf(2, "perigee: %s\n", why);
	_exit(1);
}

/* Ends the process if the core has closed its end. */
static void read_fully(void *into, size_t size)
{
	while (size) {
		ssize_t n = read(control, into, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		into = (char *)into + n;
		size -= n;
	}
}

/* Receives the size of the job and the standard input of the core; then the job. */
static char *receive_job(size_t *size)
{
	uint32_t length = 0;
	struct iovec part = { &length, sizeof(length) };
	char room[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	ssize_t n = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *rights = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	char *text;

	if (!rights || rights->cmsg_type != SCM_RIGHTS)
		_exit(0);
	memcpy(&terminal, CMSG_DATA(rights), sizeof(terminal));
	read_fully((char *)&length + n, sizeof(length) - n);
	text = malloc(length + 1);
	if (!text)
		die("no memory for a job of %u bytes", length);
	read_fully(text, length);
	*size = length;
	return text;
}

/* Messages of the core: the instant of time zero, then carriers of hosts and the end of the run. */
static void on_control(uint32_t id)
{
	uint32_t words[2];

	(void)id;
	if (started) {
		read_fully(words, sizeof(words));
		if (words[0] == END_OF_RUN)
			end_programs();
		else
			set_carrier(words[0], words[1]);
		return;
	}
	read_fully(&job.epoch_ns, sizeof(job.epoch_ns));
	started = true;
}

/* ---- programs ---- */

/* Programs see the machine's files as they are. */
void make_world(char *line)
{
	(void)line;
}

void make_writable(char *folder)
{
	(void)folder;
}

/* Notices are those of guests. */
void open_notices(char *line)
{
	(void)line;
}

/* It is a message of the core. */
void await_end(void)
{
}

/* Replaces /etc/hosts in the mount namespace by a file in memory, made in a file system that is mounted
 * briefly over a folder that every machine has. */
void own_names(void)
{
	int file;

	if (mount("perigee", "/sys", "tmpfs", 0, NULL))
		die("/sys cannot be mounted in the namespace: %s", strerror(errno));
	file = open("/sys/hosts", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (file < 0 || mount("/sys/hosts", "/etc/hosts", NULL, MS_BIND, NULL))
		die("/etc/hosts cannot be mounted in the namespace: %s", strerror(errno));
	close(file);
	if (umount2("/sys", MNT_DETACH))
		die("/sys cannot be unmounted: %s", strerror(errno));
}

/* The terminal of a program is that of the core. */
void await_terminal(void)
{
}

void open_terminal(int pipes[2][2])
{
	for (int i = 0; i < 2; i++)
		pipes[i][0] = -1;
	pipes[0][1] = fcntl(1, F_DUPFD_CLOEXEC, 0);
	pipes[1][1] = fcntl(2, F_DUPFD_CLOEXEC, 0);
}

void take_terminal(void)
{
	dup2(terminal, 0);
}

/* Programs have the environment of the core; CAP_SYS_CHROOT is dropped (capabilities(7)). */
void enter_world(const char *folder, char *const *environment, const struct host *host)
{
	(void)host;
	for (; *environment; environment++)
		putenv(*environment);
	if (chdir(folder)) {
		dprintf(2, "perigee: folder %s: %s\n", folder, strerror(errno));
		_exit(126);
	}
	if (prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT) == 1 && prctl(PR_CAPBSET_DROP, CAP_SYS_CHROOT, 0, 0, 0)) {
		dprintf(2, "perigee: the capability CAP_SYS_CHROOT cannot be dropped: %s\n", strerror(errno));
		_exit(126);
	}
}

/* ---- start ---- */

static void ignore(int number)
{
	(void)number;
}

/* Ctrl-C is for programs and the core. Programs would inherit ignored signals, so there is a handler. */
static void keep_running(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int main(int count, char **arguments)
{
	size_t size;
	char *text;

	if (count == 2 && !strcmp(arguments[1], "try"))
		try_hosts();
	keep_running();
	control = fcntl(0, F_DUPFD_CLOEXEC, 3);
	text = receive_job(&size);
	open_loop();
	open_hosts(count - 1, arguments + 1);
	read_job(fmemopen(text, size, "r"));
	check_places();
	open_listeners();
	for (int i = 0; i < job.host_count; i++) {
		int s = socket_of_host(i);

		attached = s;
		report_text(REPORT_READY, i, "");
		close(s);
	}
	on_event(END_CONTROL, on_control);
	watch(control, EPOLLIN, END_CONTROL, 0);
	/* An interface that was just made may lose packets for some milliseconds. */
	while (!started) {
		send_pings(false);
		handle_events(100);
	}
	close_pings();
	run_loop();
}
