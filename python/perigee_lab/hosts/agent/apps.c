/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Intermittent applications: on/off sources, and clients that request objects in turn. */
#define _GNU_SOURCE
#include "flow.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Payload of a request: with headers 200 bytes, as in the simulator. */
enum { REQUEST = 148 };
#define SHORTEST_NS 1000u

/* "FLOW NUMBER NUMBER …": the flow, and the numbers after it */
static struct flow *numbers(char *line, uint64_t **out, size_t *count)
{
	size_t room = 64;
	char *rest = line;
	struct flow *f = find_flow(strtoul(rest, &rest, 10));

	if (!f)
		die("numbers of no flow: %.40s", line);
	*out = malloc(room * sizeof(**out));
	for (*count = 0; *out && *rest == ' '; ++*count) {
		if (*count == room) {
			room *= 2;
			*out = realloc(*out, room * sizeof(**out));
			if (!*out)
				break;
		}
		(*out)[*count] = strtoull(rest, &rest, 10);
	}
	if (!*out)
		die("no memory for what flow %u draws", f->id);
	return f;
}

/* "FLOW LENGTH LENGTH …" */
void add_turns(char *line)
{
	uint64_t *turns;
	size_t count;
	struct flow *f = numbers(line, &turns, &count);

	f->app = (struct application){ .kind = APP_ON_OFF, .due_ns = UINT64_MAX, .turns = turns, .count = count };
	f->offered = 0;
}

/* "FLOW WANTED PERIOD BYTES THINK BYTES THINK …" */
void add_objects(char *line)
{
	uint64_t *drawn;
	size_t count;
	struct flow *f = numbers(line, &drawn, &count);

	if (count < 2)
		die("the objects of flow %u cannot be read", f->id);
	f->app = (struct application){
		.kind = APP_REQUEST,
		.due_ns = UINT64_MAX,
		.wanted = drawn[0],
		.period_ns = drawn[1] > SHORTEST_NS ? drawn[1] : SHORTEST_NS,
		.objects = (struct object *)(drawn + 2),
		.count = (count - 2) / 2,
	};
	f->offered = 0;
}

/* ---- on/off sources ---- */

static void note_silence(struct flow *f)
{
	struct application *a = &f->app;

	if (!a->sending && !a->silent && received(f) >= f->written) {
		a->silent = true;
		report_text(REPORT_IDLE, f->id, "");
	}
}

static void turn(struct flow *f, uint64_t now)
{
	struct application *a = &f->app;
	/* Counted from the due instant rather than the current one, except for the first period. */
	uint64_t begun = a->due_ns == UINT64_MAX ? now : a->due_ns;

	a->sending = !a->sending;
	/* The draws cover the time until the flow stops. */
	a->due_ns = a->next < a->count ? begun + a->turns[a->next++] : UINT64_MAX;
	f->offered = a->sending ? UINT64_MAX : f->written;
	if (a->sending && a->silent) {
		a->silent = false;
		report_text(REPORT_BUSY, f->id, "");
	}
	if (a->sending)
		send_offered(f);
	else
		note_silence(f);
}

/* ---- clients and servers ---- */

static void ask(struct flow *f)
{
	struct application *a = &f->app;
	char request[REQUEST] = { 0 };

	a->due_ns = UINT64_MAX;
	if (a->next == a->wanted)
		return;
	if (a->next == a->count) {
		fail_flow(f, "it asks for more objects than can be drawn ahead of a run");
		return;
	}
	a->asking = true;
	a->asked_ns = simulated_ns();
	a->first_ns = 0;
	a->before = a->end;
	a->end += a->objects[a->next++].bytes;
	report_text(REPORT_BUSY, f->id, "");
	/* One request is in flight at a time, so that it fits the buffer. */
	if (write(f->receiver, request, REQUEST) != REQUEST)
		fail_flow(f, strerror(errno));
}

/* The server reads requests and offers the requested bytes. */
void app_requests(struct flow *f)
{
	struct application *a = &f->app;
	char requests[REQUEST * 8];
	ssize_t n;

	while ((n = recv(f->sender, requests, sizeof(requests), 0)) > 0)
		a->requested += n;
	for (; a->answered < a->requested / REQUEST && a->answered < a->count; a->answered++)
		f->offered += a->objects[a->answered].bytes;
}

static void complete(struct flow *f, uint64_t now)
{
	struct application *a = &f->app;
	const struct object *o = &a->objects[a->next - 1];
	uint64_t thought = now + o->think_ns, soonest = a->asked_ns + a->period_ns;
	struct {
		uint64_t at_ns;
		uint32_t flow;
		uint64_t number, bytes, asked_ns, first_ns;
	} __attribute__((packed)) told = { now, f->id, a->next - 1, o->bytes, a->asked_ns, a->first_ns };

	a->asking = false;
	report(REPORT_OBJECT, &told, sizeof(told));
	flush_reports();
	a->due_ns = thought > soonest ? thought : soonest;
	if (!f->stopped)
		due_by(a->due_ns);
}

/* ---- events ---- */

/* Requests and ends of objects must not wait for acknowledgements (Nagle). */
void no_delay(int s)
{
	int on = 1;

	if (setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("TCP_NODELAY: %s", strerror(errno));
}

void app_connected(struct flow *f, uint64_t now)
{
	if (f->app.kind != APP_ON_OFF)
		return;
	turn(f, now);
	due_by(f->app.due_ns);
}

void app_accepted(struct flow *f)
{
	if (f->app.kind != APP_REQUEST)
		return;
	no_delay(f->receiver);
	if (!f->stopped)
		ask(f);
}

void app_due(struct flow *f, uint64_t now)
{
	if (f->app.kind == APP_ON_OFF)
		turn(f, now);
	else
		ask(f);
}

void app_received(struct flow *f)
{
	struct application *a = &f->app;
	uint64_t have, now;

	if (a->kind == APP_ON_OFF)
		note_silence(f);
	if (!a->asking)
		return;
	have = received(f);
	now = simulated_ns();
	if (!a->first_ns && have > a->before)
		a->first_ns = now;
	if (have >= a->end)
		complete(f, now);
}
