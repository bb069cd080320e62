/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Terminal of a program: a pseudoterminal in the guest; frames carry the keys. */
#define _GNU_SOURCE
#include "guest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS_TYPE = 0x88b6, KEYS_FRAME = 1514, ETHERNET = 14 };

static int terminal = -1, keyboard = -1;
/* Size of the terminal, or of one not yet opened. */
static struct winsize window;

/* Opens a pseudoterminal, for output and errors. */
void open_terminal(int pipes[2][2])
{
	int number, locked = 0;
	char path[64];

	terminal = open(WORLD "/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (terminal < 0 || ioctl(terminal, TIOCSPTLCK, &locked) || ioctl(terminal, TIOCGPTN, &number))
		die("no terminal: %s", strerror(errno));
	snprintf(path, sizeof(path), WORLD "/dev/pts/%d", number);
	pipes[0][0] = terminal;
	pipes[1][0] = -1;
	pipes[0][1] = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (pipes[0][1] < 0)
		die("%s: %s", path, strerror(errno));
	pipes[1][1] = fcntl(pipes[0][1], F_DUPFD_CLOEXEC, 0);
	ioctl(terminal, TIOCSWINSZ, &window);
}

/* In the program: makes its standard input the controlling terminal of its session. */
void take_terminal(void)
{
	setsid();
	if (ioctl(0, TIOCSCTTY, 0))
		dprintf(2, "perigee: no terminal: %s\n", strerror(errno));
}

/* Handles frames: 'k' and typed bytes, or 's' and the size of the window, "ROWS COLUMNS". */
static void on_keys(uint32_t id)
{
	char frame[KEYS_FRAME + 1];
	ssize_t size = read(keyboard, frame, KEYS_FRAME);

	(void)id;
	if (size <= ETHERNET + 1)
		return;
	frame[size] = '\0';
	if (frame[ETHERNET] == 's' &&
	    sscanf(frame + ETHERNET + 1, "%hu %hu", &window.ws_row, &window.ws_col) == 2 && terminal >= 0)
		ioctl(terminal, TIOCSWINSZ, &window);
	/* Bytes beyond the terminal's buffer are lost, as with any terminal that is not read. */
	if (frame[ETHERNET] == 'k' && write(terminal, frame + ETHERNET + 1, size - ETHERNET - 1) < 0 && errno != EAGAIN)
		return;
}

void await_terminal(void)
{
	struct sockaddr_ll from = { .sll_family = AF_PACKET,
				    .sll_protocol = htons(KEYS_TYPE),
				    .sll_ifindex = if_nametoindex("eth0") };

	keyboard = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (keyboard < 0 || bind(keyboard, (struct sockaddr *)&from, sizeof(from)))
		die("no keyboard: %s", strerror(errno));
	on_event(END_KEYS, on_keys);
	watch(keyboard, EPOLLIN, END_KEYS, 0);
}
