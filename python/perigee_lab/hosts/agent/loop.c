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

static void (*handlers[ENDS])(uint32_t id);
static int events, timer;
static uint64_t next_sample_ns;
/* Next instant with work; UINT64_MAX = none. */
static uint64_t due;

void on_event(enum end end, void (*handler)(uint32_t id))
{
	handlers[end] = handler;
}

void watch(int descriptor, uint32_t what, enum end end, uint32_t id)
{
	struct epoll_event e = { .events = what, .data.u64 = (uint64_t)end << 32 | id };

	/* Hang-ups are events even if none is awaited. */
	if (!what)
		epoll_ctl(events, EPOLL_CTL_DEL, descriptor, NULL);
	else if (epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &e) && epoll_ctl(events, EPOLL_CTL_MOD, descriptor, &e))
		die("epoll: %s", strerror(errno));
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Does the work due by `now`, samples last so that they include it; returns the next instant with
 * work. */
static uint64_t on_time(uint64_t now)
{
	uint64_t discards = discard_output(now);
	uint64_t next = earlier(earlier(start_and_stop_flows(now), start_programs(now)), send_probes(now));
	uint64_t seen = now + platform.sample_lead_ns;

	while (job.sample_ns && next_sample_ns <= seen) {
		sample_flows(REPORT_SAMPLE, next_sample_ns);
		next_sample_ns += job.sample_ns;
	}
	if (job.end_ns <= seen) {
		sample_flows(REPORT_END, job.end_ns);
		return discards;
	}
	next = earlier(next, discards);
	return earlier(next, earlier(job.sample_ns ? next_sample_ns : UINT64_MAX, job.end_ns) - platform.sample_lead_ns);
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

static void on_timer(uint32_t id)
{
	uint64_t expired;

	(void)id;
	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	due = on_time(platform.timers_are_exact ? due : simulated_ns());
	if (due != UINT64_MAX)
		set_timer(due);
}

void open_loop(void)
{
	events = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (events < 0 || timer < 0)
		die("epoll or timerfd: %s", strerror(errno));
	watch(timer, EPOLLIN, END_TIMER, 0);
	on_event(END_TIMER, on_timer);
	on_event(END_LISTENER, on_listener);
	on_event(END_SENDER, on_sender);
	on_event(END_RECEIVER, on_receiver);
	on_event(END_SYN, on_syn);
	on_event(END_OUTPUT, on_output);
	on_event(END_ERRORS, on_errors);
	on_event(END_EXIT, on_exits);
	on_event(END_PONG, on_pong);
	on_event(END_PROBE, on_probe);
	on_event(END_ECHO, on_echo);
}

void handle_events(int patience_ms)
{
	struct epoll_event ready[16];
	int count = epoll_wait(events, ready, 16, patience_ms);

	for (int i = 0; i < count; i++)
		handlers[ready[i].data.u64 >> 32]((uint32_t)ready[i].data.u64);
}

void run_loop(void)
{
	next_sample_ns = job.sample_ns;
	set_timer(due);
	for (;;)
		handle_events(-1);
}
