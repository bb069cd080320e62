/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The agent: the first program of a guest. It makes a network namespace for each host of the
 * scenario, opens the sockets of its flows, and reports their kernel state. It receives its job in
 * the file /job, and sends reports over an interface of its own, so that every report has an
 * instant of virtual time.
 */
#ifndef PERIGEE_AGENT_H
#define PERIGEE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_HOSTS = 64, MAX_FLOWS = 4096, NAME = 64 };

struct host {
	char name[NAME];
	char interface[16];
	char address4[20], address6[44]; /* with their prefix */
	uint32_t mtu;		 /* 0 = that of the interface */
	int ns;			 /* descriptor of its network namespace */
};

struct job {
	uint64_t epoch_ns;	/* CLOCK_MONOTONIC at simulated time zero */
	uint64_t sample_ns;	/* 0 = no samples */
	uint64_t end_ns;	/* simulated */
	struct host hosts[MAX_HOSTS];
	int host_count;
	int root_ns;
};

extern struct job job;

/* util.c: ends the guest, with a reason for the run's error message */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t simulated_ns(void); /* time now; 0 before the epoch */
void write_file(const char *path, const char *text);
void enter(int ns);

/* net.c: interfaces by rtnetlink(7) */
void make_namespace(struct host *host);
void bring_up(const struct host *host);
void add_neighbour(const struct host *host, const char *address, const char *mac);
void link_up(const char *interface);
void set_route(const struct host *host, uint32_t initial_window, uint32_t quick_acks, uint32_t mtu);

/* report.c: records with kind, length and payload, in frames of the interface eth0 */
enum report {
	REPORT_SAMPLE = 1, /* a socket at a sampling instant */
	REPORT_STOPPED,	   /* when its flow stops sending new data */
	REPORT_END,	   /* when the run ends */
	REPORT_STARTED,
	REPORT_COMPLETE,
	REPORT_FAILED,
	REPORT_READY,
	REPORT_OUTPUT, /* output of a program */
	REPORT_EXITED,
	REPORT_IDLE, /* an application has nothing to send or to receive, and nothing is in flight */
	REPORT_BUSY, /* it has data again */
	REPORT_OBJECT, /* a requested object is complete */
	REPORT_ANSWERED, /* the answer to a ping has arrived */
};
/* Flags in the number of a report's subject: a program; its standard error. */
enum { PROGRAM = 1 << 30, ERRORS = 1 << 29 };
void open_reports(void);
void report(enum report kind, const void *payload, size_t size);
void report_text(enum report kind, uint32_t flow, const char *text);
void flush_reports(void);

/* loop.c: event loop */
enum end { END_TIMER, END_LISTENER, END_SENDER, END_RECEIVER, END_SYN, END_OUTPUT, END_ERRORS, END_EXIT, END_KEYS, END_NOTICES, END_PONG, END_PROBE, END_ECHO };
void open_loop(void);
void watch(int descriptor, uint32_t what, enum end end, uint32_t id);
void due_by(uint64_t at); /* sets the timer to this instant, if it is earlier */
void run_loop(void) __attribute__((noreturn));

/* flows.c: instants are simulated; the functions of time return their next instant with work */
void add_flow(char *line);
void open_listeners(void);
uint64_t start_and_stop_flows(uint64_t now);
void sample_flows(enum report kind, uint64_t at_ns);
void on_listener(uint32_t id);
void on_sender(uint32_t id);
void on_receiver(uint32_t id);

/* apps.c: random draws of applications */
void add_turns(char *line);
void add_objects(char *line);

/* relay.c */
void add_relay(const char *line);
void on_syn(uint32_t id);

/* programs.c */
void add_program(char *line);
void make_world(void);
void make_writable(const char *folder);
void name_hosts(void);
void add_name(const char *line);
uint64_t start_programs(uint64_t now);
void on_output(uint32_t id, int stream);
void on_exit_of(uint32_t id);

void use_first_namespace(uint32_t id);

/* windows.c */
void add_window(const char *line);
bool has_window(uint32_t flow);
void limit_window(uint32_t flow, int listener);
void keep_window(uint32_t flow, int receiver);

/* notices.c */
void open_notices(void);
void on_notices(void);

/* ping.c */
void send_ping(const char *line);
void on_pong(uint32_t id);

/* probes.c */
void add_probe(const char *line);
uint64_t send_probes(uint64_t now);
void on_probe(uint32_t id);
void on_echo(uint32_t id);

/* terminal.c */
int open_terminal(int *end_of_program);
void take_terminal(void);
void open_keyboard(void);
void on_keys(void);

#endif
