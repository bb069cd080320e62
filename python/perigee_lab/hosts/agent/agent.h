/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The agent: the process that opens the sockets of flows in the network namespaces of hosts, runs
 * programs there, and reports the kernel's state. It is the first process of a guest in virtual
 * time (guest/), and that of namespaces of this machine in real time (namespaces/). All else is the
 * same: the job that it receives (perigee-guest/src/job.rs), and the reports that it sends
 * (perigee-guest/src/report.rs).
 */
#ifndef PERIGEE_AGENT_H
#define PERIGEE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { MAX_HOSTS = 1024, MAX_FLOWS = 4096, NAME = 64 };

struct host {
	char name[NAME];
	char interface[16];	 /* its name in the job */
	char device[16];	 /* its name in the host's namespace */
	char mac[20];
	char address4[20], address6[44]; /* with their prefix */
	uint32_t mtu;		 /* 0 = that of the interface */
	int ns;			 /* descriptor of its network namespace; -1 = an attached device */
};

struct job {
	uint64_t epoch_ns;	/* CLOCK_MONOTONIC at simulated time zero */
	uint64_t sample_ns;	/* 0 = no samples */
	uint64_t end_ns;	/* simulated */
	uint64_t output_limit;	/* bytes kept of each output stream of a program */
	struct host hosts[MAX_HOSTS];
	int host_count;
	int root_ns;
};

extern struct job job;

/* ---- the platform: guest/ or namespaces/ ---- */

struct platform {
	const char *files;	  /* prefix of paths of the machine's files */
	uint64_t sample_lead_ns;  /* by which a sample precedes its instant, to arrive in time */
	size_t frame_bytes;	  /* largest frame of reports */
	bool timers_are_exact;	  /* a timer expires at its instant */
	bool forces_buffers;	  /* sockets may have larger buffers than the kernel's limits */
	bool discards;		  /* the kernel has the socket option TCP_DISCARD of our patch */
};
extern const struct platform platform;

/* Ends the agent, with a reason for the run's error message. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void send_frame(const void *frame, size_t size);
void make_host(struct host *host);
void set_sysctl(const struct host *host, const char *name, const char *path, const char *value);
void answer_for(const struct host *device, const char *address, const char *mac); /* ARP */
void make_world(char *line); /* the files that programs see */
void make_writable(char *folder);
void own_names(void); /* makes /etc/hosts of programs a file of the run */
void open_notices(char *line);
void await_end(void); /* receives the request to end programs */
void await_terminal(void); /* a program of the job has one */
void open_terminal(int pipes[2][2]); /* per output of a program: our end, and the program's */
void take_terminal(void); /* in the program */
void enter_world(const char *folder, char *const *environment, const struct host *host); /* in the program */

/* ---- util.c ---- */

uint64_t simulated_ns(void); /* time now; 0 before the epoch */
void write_file(const char *path, const char *text);
void enter(int ns);

/* ---- job.c ---- */

void read_job(FILE *file);

/* ---- report.c: records with kind, length and payload, in Ethernet frames ---- */

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
	REPORT_GONE, /* no process of programs is left at the end of the run */
	REPORT_DISCARDED, /* total output of a program beyond the limit */
};
/* Flags in the number of a report's subject: a program; its standard error. */
enum { PROGRAM = 1 << 30, ERRORS = 1 << 29 };
size_t report_room(void); /* bytes of the largest payload */
void report(enum report kind, const void *payload, size_t size);
void report_text(enum report kind, uint32_t subject, const char *text);
void flush_reports(void);

/* ---- loop.c ---- */

enum end {
	END_TIMER, END_LISTENER, END_SENDER, END_RECEIVER, END_SYN, END_OUTPUT, END_ERRORS, END_EXIT, END_PONG,
	END_PROBE, END_ECHO,
	/* of platforms */
	END_KEYS, END_NOTICES, END_RUN, END_CONTROL, END_ARP,
	ENDS
};
void open_loop(void);
void on_event(enum end end, void (*handler)(uint32_t id));
void watch(int descriptor, uint32_t what, enum end end, uint32_t id); /* events of epoll(7), or 0 */
void due_by(uint64_t at); /* sets the timer to this instant, if it is earlier */
void handle_events(int patience_ms); /* -1 = until there are some */
void run_loop(void) __attribute__((noreturn)); /* from the epoch on */

/* ---- flows.c: instants are simulated; the functions of time return their next instant with work ---- */

void add_flow(char *line);
void open_listeners(void);
uint64_t start_and_stop_flows(uint64_t now);
void sample_flows(enum report kind, uint64_t at_ns);
void on_listener(uint32_t id);
void on_sender(uint32_t id);
void on_receiver(uint32_t id);

/* ---- apps.c: random draws of applications ---- */

void add_turns(char *line);
void add_objects(char *line);

/* ---- relay.c ---- */

void add_relay(char *line);
void on_syn(uint32_t id);

/* ---- programs.c ---- */

char *unescaped(const char *text, size_t length, size_t *size);
void add_program(char *line);
void add_input(char *line);
void use_terminal(char *line);
void use_first_namespace(char *line);
void name_hosts(char *line);
void add_name(char *line);
uint64_t start_programs(uint64_t now);
void on_output(uint32_t id);
void on_errors(uint32_t id);
uint64_t discard_output(uint64_t now); /* returns its next instant */
void on_exits(uint32_t id);
void end_programs(void); /* SIGTERM to all of them */

/* ---- windows.c ---- */

void add_window(char *line);
bool has_window(uint32_t flow);
void limit_window(uint32_t flow, int listener);
void keep_window(uint32_t flow, int receiver);

/* ---- ping.c ---- */

void add_ping(char *line);
void send_pings(bool report_errors); /* those without an answer */
void close_pings(void);
void on_pong(uint32_t id);

/* ---- probes.c ---- */

void add_probe(char *line);
uint64_t send_probes(uint64_t now);
void on_probe(uint32_t id);
void on_echo(uint32_t id);

#endif
