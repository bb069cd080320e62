/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* The clock of the kernel lags behind the network's by up to a microsecond: a sample taken at its
 * instant would arrive after the network has taken its own, and count for the next one. */
#define SAMPLE_LEAD_NS 5000u

static int events, timer;
static uint64_t next_sample_ns;
/* Next instant with work; UINT64_MAX = none. */
static uint64_t due;

void watch(int descriptor, uint32_t what, enum end end, uint32_t id)
{
	struct epoll_event e = { .events = what, .data.u64 = (uint64_t)end << 32 | id };

	if (epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &e) && epoll_ctl(events, EPOLL_CTL_MOD, descriptor, &e))
		die("epoll: %s", strerror(errno));
}

void open_loop(void)
{
	events = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (events < 0 || timer < 0)
		die("epoll or timerfd: %s", strerror(errno));
	watch(timer, EPOLLIN, END_TIMER, 0);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Does the work due by `now`, samples last so that they include it; returns the next instant with
 * work. */
static uint64_t on_time(uint64_t now)
{
	uint64_t next = earlier(earlier(start_and_stop_flows(now), start_programs(now)), send_probes(now));

	if (job.sample_ns && next_sample_ns <= now + SAMPLE_LEAD_NS) {
		sample_flows(REPORT_SAMPLE, next_sample_ns);
		next_sample_ns += job.sample_ns;
	}
	if (job.end_ns <= now + SAMPLE_LEAD_NS) {
		sample_flows(REPORT_END, job.end_ns);
		return UINT64_MAX;
	}
	return earlier(next, earlier(job.sample_ns ? next_sample_ns : UINT64_MAX, job.end_ns) - SAMPLE_LEAD_NS);
}

static void set_timer(uint64_t simulated)
{
	uint64_t at = job.epoch_ns + simulated;
	struct itimerspec when = { .it_value = { .tv_sec = at / 1000000000u, .tv_nsec = at % 1000000000u } };

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		die("timer: %s", strerror(errno));
}

void due_by(uint64_t at)
{
	/* When the timer expires, the work of that instant is done first, and the next instant is computed
	 * then. */
	if (at < due) {
		due = at;
		set_timer(due);
	}
}

static void on_timer(void)
{
	uint64_t expired;

	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	due = on_time(due);
	if (due != UINT64_MAX)
		set_timer(due);
}

void run_loop(void)
{
	if (simulated_ns() > 0)
		die("the hosts were not ready in time: there are too many of them");
	open_listeners();
	next_sample_ns = job.sample_ns;
	set_timer(due);
	report_text(REPORT_READY, 0, "");
	for (;;) {
		struct epoll_event ready[16];
		int count = epoll_wait(events, ready, 16, -1);

		for (int i = 0; i < count; i++) {
			uint32_t id = (uint32_t)ready[i].data.u64;

			switch ((enum end)(ready[i].data.u64 >> 32)) {
			case END_TIMER:
				on_timer();
				break;
			case END_LISTENER:
				on_listener(id);
				break;
			case END_SENDER:
				on_sender(id);
				break;
			case END_RECEIVER:
				on_receiver(id);
				break;
			case END_SYN:
				on_syn(id);
				break;
			case END_OUTPUT:
				on_output(id, 0);
				break;
			case END_ERRORS:
				on_output(id, 1);
				break;
			case END_EXIT:
				on_exit_of(id);
				break;
			case END_KEYS:
				on_keys();
				break;
			case END_NOTICES:
				on_notices();
				break;
			case END_PONG:
				on_pong(id);
				break;
			case END_PROBE:
				on_probe(id);
				break;
			case END_ECHO:
				on_echo(id);
				break;
			}
		}
	}
}
