/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* State of a flow, shared by the files of the agent. */
#ifndef PERIGEE_FLOW_H
#define PERIGEE_FLOW_H

#include "agent.h"

/* An object that a client requests. */
struct object {
	uint64_t bytes;
	uint64_t think_ns; /* from its end to the next request */
};

/* State of an application; perigee-sim/src/host/apps.rs has the same for simulated hosts. All
 * random draws come with the job. */
struct application {
	enum { APP_BULK, APP_ON_OFF, APP_REQUEST } kind;
	uint64_t due_ns; /* next action; UINT64_MAX = it waits for the network */
	size_t count, next;
	uint64_t *turns;       /* on/off: lengths in ns, alternating, on first */
	bool sending, silent;  /* silent: nothing of it is in flight */
	struct object *objects;
	uint64_t wanted;       /* objects in all, of which `count` are drawn */
	uint64_t period_ns;    /* shortest time between requests */
	bool asking;
	uint64_t asked_ns, first_ns; /* of the current object */
	uint64_t before, end;	     /* bytes received before the current object, and including it */
	uint64_t requested;	     /* bytes of requests that the server has read */
	size_t answered;	     /* requests that it has read completely */
};

/* One TCP transfer. Its descriptors are -1 while closed. */
struct flow {
	uint32_t id;
	int from, to; /* -1 = a host of another kernel */
	char address[44];
	uint16_t port;
	uint64_t start_ns, stop_ns; /* simulated */
	uint64_t bytes;		    /* UINT64_MAX = until it stops */
	uint64_t offered, written;  /* offered: bytes available for sending so far */
	char scheme[16];
	int listener, sender, receiver;
	uint32_t awaited; /* events watched on the sender's descriptor */
	bool begun, connected, stopped, complete;
	struct application app;
	/* Legs of a split connection: relay state, and the flows of the next and the previous leg. */
	struct relay *relay;
	struct flow *after, *before;
};

/* flows.c */
struct flow *find_flow(uint32_t id);
uint64_t received(const struct flow *f); /* bytes received in order */
void send_offered(struct flow *f);
void start_flow(struct flow *f);
void await_sender(struct flow *f, uint32_t what); /* an event of epoll(7), or 0 */
void fail_flow(struct flow *f, const char *why);

/* apps.c: events of an application */
void no_delay(int s);
void app_connected(struct flow *f, uint64_t now);
void app_accepted(struct flow *f);
void app_due(struct flow *f, uint64_t now);
void app_requests(struct flow *f);
void app_received(struct flow *f);

/* relay.c */
void limit_leg(const struct flow *f, int s, bool receives);
void open_relay(struct flow *f);
void carry_on(struct flow *f);

#endif
