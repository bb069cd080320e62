/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Programs of the machine, each on one host. */
#define _GNU_SOURCE
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROGRAMS = 256, MAX_WORDS = 1024, EVENT_HEADER = 12 };
/* Reads of output in a row, after which others get their turn: more than a pipe holds. */
enum { OUTPUT = 1200, LARGEST_OUTPUT = 1 << 15, TURN = 64 };
/* Output beyond the limit is only counted: this much, the capacity of a pipe, in each interval. The
 * program blocks in between, as on a slow terminal, so that virtual time advances. */
enum { DISCARDED_AT_ONCE = 1 << 16, DISCARD_NS = 10000000 };

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
	uint64_t room[2];      /* bytes that are still reported of each */
	uint64_t discarded[2]; /* bytes beyond */
	uint64_t discard_ns[2]; /* when the next of them are read, simulated; UINT64_MAX = when there are some */
	pid_t pid;    /* 0 = not started */
	bool ended;
};

static struct program *programs[MAX_PROGRAMS];
static int program_count;
/* The run has ended: programs have received SIGTERM. No process was left then or later. */
static bool ending, gone;

static struct program *find(uint32_t id)
{
	for (int i = 0; i < program_count; i++)
		if (programs[i]->id == id)
			return programs[i];
	die("there is no program %u", id);
}

/* ---- the job ---- */

/* Decodes a word of the job: separators are escaped as %XX. */
char *unescaped(const char *text, size_t length, size_t *size)
{
	char *out = calloc(1, length + 1);
	size_t n = 0;

	if (!out)
		die("no memory");
	for (size_t i = 0; i < length; i++) {
		unsigned int byte = (unsigned char)text[i];

		if (byte == '%' && i + 2 < length && sscanf(text + i + 1, "%2x", &byte) == 1)
			i += 2;
		out[n++] = (char)byte;
	}
	if (size)
		*size = n;
	return out;
}

/* Opens a program's input early, so that an error is one of the job. */
static int open_input(const char *path)
{
	char file[4096];
	int input;

	if (!*path)
		return -1;
	snprintf(file, sizeof(file), "%s%s", platform.files, path);
	input = open(file, O_RDONLY | O_CLOEXEC);
	if (input < 0)
		die("a program's standard input, %s: %s", path, strerror(errno));
	return input;
}

static void add_word(struct program *p, char *text, bool *command)
{
	if (!p->folder)
		p->folder = text;
	else if (!*command && !strcmp(text, "--"))
		*command = true;
	else if (*command && p->word_count < MAX_WORDS - 1)
		p->words[p->word_count++] = text;
	else if (!*command && p->variable_count < MAX_WORDS - 1)
		p->environment[p->variable_count++] = text;
	else
		die("program %u has more than %d words", p->id, MAX_WORDS - 1);
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
	    p->host >= job.host_count || job.hosts[p->host].ns < 0)
		die("a program cannot be read: %s", line);
	for (char *at = line + read; *at;) {
		size_t length = strcspn(at, " ");
		char *text = unescaped(at, length, NULL);

		if (at == line + read)
			p->input = open_input(text);
		else
			add_word(p, text, &command);
		at += length;
		at += strspn(at, " ");
	}
	if (!p->word_count)
		die("program %u has no command", p->id);
	if (!program_count)
		await_end();
	programs[program_count++] = p;
}

/* "ID BYTES": standard input */
void add_input(char *line)
{
	char *rest;
	struct program *p = find(strtoul(line, &rest, 10));
	size_t size, written = 0;
	char *bytes = unescaped(rest + 1, strlen(rest + 1), &size);

	p->input = memfd_create("input", MFD_CLOEXEC);
	while (p->input >= 0 && written < size) {
		ssize_t n = write(p->input, bytes + written, size - written);

		if (n <= 0)
			break;
		written += n;
	}
	if (p->input < 0 || written < size || lseek(p->input, 0, SEEK_SET))
		die("the standard input of program %u: %s", p->id, strerror(errno));
	free(bytes);
}

/* "ID": its input and output are a terminal */
void use_terminal(char *line)
{
	find(strtoul(line, NULL, 10))->terminal = true;
	await_terminal();
}

/* "ID" */
void use_first_namespace(char *line)
{
	find(strtoul(line, NULL, 10))->first = true;
}

static FILE *open_names(const char *mode)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/etc/hosts", platform.files);
	file = fopen(path, mode);
	if (!file)
		die("/etc/hosts: %s", strerror(errno));
	return file;
}

/* Writes the names of hosts, without name servers. */
void name_hosts(char *line)
{
	FILE *file;

	(void)line;
	own_names();
	file = open_names("w");
	fprintf(file, "127.0.0.1 localhost\n::1 localhost\n");
	for (int i = 0; i < job.host_count; i++) {
		const struct host *h = &job.hosts[i];

		fprintf(file, "%.*s %s\n", (int)strcspn(h->address4, "/"), h->address4, h->name);
		fprintf(file, "%.*s %s\n", (int)strcspn(h->address6, "/"), h->address6, h->name);
	}
	fclose(file);
}

/* "ADDRESS NAME": a host of another kernel */
void add_name(char *line)
{
	FILE *file = open_names("a");

	fprintf(file, "%s\n", line);
	fclose(file);
}

/* ---- the run ---- */

static void child(const struct program *p, int pipes[2][2]) __attribute__((noreturn));

static void child(const struct program *p, int pipes[2][2])
{
	const struct host *h = &job.hosts[p->host];
	int input = p->terminal ? pipes[0][1] : p->input;
	sigset_t none;

	enter(p->first ? job.root_ns : h->ns);
	dup2(input < 0 ? open("/dev/null", O_RDONLY) : input, 0);
	dup2(pipes[0][1], 1);
	dup2(pipes[1][1], 2);
	if (p->terminal)
		take_terminal();
	else
		setsid();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	enter_world(p->folder, p->environment, h);
	execvp(p->words[0], p->words);
	dprintf(2, "perigee: %s: %s\n", p->words[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void open_pipes(int pipes[2][2])
{
	for (int i = 0; i < 2; i++) {
		if (pipe2(pipes[i], O_CLOEXEC | O_NONBLOCK))
			die("no pipe: %s", strerror(errno));
		/* The program's end of the pipe blocks, as programs expect. */
		fcntl(pipes[i][1], F_SETFL, 0);
	}
}

/* Ends of all children, those that programs have left behind among them, which have no other parent. */
static void watch_children(void)
{
	static int exits = -1;
	sigset_t ended;

	if (exits >= 0)
		return;
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	exits = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
	if (exits < 0)
		die("signalfd: %s", strerror(errno));
	watch(exits, EPOLLIN, END_EXIT, exits);
}

static void begin(struct program *p)
{
	int pipes[2][2];

	watch_children();
	if (p->terminal)
		open_terminal(pipes);
	else
		open_pipes(pipes);
	report_text(REPORT_STARTED, p->id | PROGRAM, "");
	p->pid = fork();
	if (p->pid < 0)
		die("no further process: %s", strerror(errno));
	if (p->pid == 0)
		child(p, pipes);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][1]);
		p->pipes[i] = pipes[i][0];
		/* What a terminal shows is not kept. */
		p->room[i] = p->terminal ? UINT64_MAX : job.output_limit;
		p->discard_ns[i] = UINT64_MAX;
		if (p->pipes[i] >= 0)
			watch(p->pipes[i], EPOLLIN, i == 0 ? END_OUTPUT : END_ERRORS, p->id);
	}
}

/* Starts programs due by `now`; returns the next start. */
uint64_t start_programs(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < program_count && !ending; i++) {
		struct program *p = programs[i];

		if (p->pid == 0 && p->start_ns <= now)
			begin(p);
		else if (p->pid == 0 && p->start_ns < next)
			next = p->start_ns;
	}
	return next;
}

static void close_stream(struct program *p, int stream)
{
	close(p->pipes[stream]);
	p->pipes[stream] = -1;
	p->discard_ns[stream] = UINT64_MAX;
}

/* Reports the bytes of a program beyond the limit, in total. */
static void report_discarded(const struct program *p, int stream)
{
	struct {
		uint64_t at_ns;
		uint32_t which;
		uint64_t total;
	} __attribute__((packed)) payload = {
		.at_ns = simulated_ns(),
		.which = p->id | PROGRAM | (stream ? ERRORS : 0),
		.total = p->discarded[stream],
	};

	report(REPORT_DISCARDED, &payload, sizeof(payload));
	flush_reports();
}

/* Reads output beyond the limit, at most a pipe of it. */
static void discard(struct program *p, int stream, uint64_t now)
{
	static unsigned char bytes[LARGEST_OUTPUT];
	size_t total = 0;
	ssize_t n = 0;

	while (total < DISCARDED_AT_ONCE && (n = read(p->pipes[stream], bytes, sizeof(bytes))) > 0)
		total += n;
	p->discarded[stream] += total;
	if (total)
		report_discarded(p, stream);
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		close_stream(p, stream);
		return;
	}
	p->discard_ns[stream] = total ? now + DISCARD_NS : UINT64_MAX;
	watch(p->pipes[stream], total ? 0 : EPOLLIN, stream ? END_ERRORS : END_OUTPUT, p->id);
	if (total)
		due_by(p->discard_ns[stream]);
}

uint64_t discard_output(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < program_count * 2; i++) {
		struct program *p = programs[i / 2];

		if (!p->pid || p->discard_ns[i % 2] == UINT64_MAX)
			continue;
		if (p->discard_ns[i % 2] <= now)
			discard(p, i % 2, now);
		if (p->discard_ns[i % 2] < next)
			next = p->discard_ns[i % 2];
	}
	return next;
}

/* Reports output of a program. */
static void report_output(struct program *p, int stream)
{
	static unsigned char payload[EVENT_HEADER + LARGEST_OUTPUT];
	size_t most = report_room() < sizeof(payload) ? OUTPUT : LARGEST_OUTPUT;
	uint32_t which = p->id | PROGRAM | (stream ? ERRORS : 0);
	bool beyond = false;

	for (int i = 0; i < TURN && p->pipes[stream] >= 0 && p->room[stream]; i++) {
		ssize_t n = read(p->pipes[stream], payload + EVENT_HEADER, most);
		uint64_t now = simulated_ns();

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			close_stream(p, stream);
			break;
		}
		if ((uint64_t)n > p->room[stream]) {
			p->discarded[stream] = n - p->room[stream];
			n = p->room[stream];
			beyond = true;
		}
		p->room[stream] -= n;
		memcpy(payload, &now, 8);
		memcpy(payload + 8, &which, 4);
		report(REPORT_OUTPUT, payload, EVENT_HEADER + n);
	}
	flush_reports();
	/* Nothing may follow that would report it. */
	if (beyond)
		report_discarded(p, stream);
	if (p->pipes[stream] >= 0 && !p->room[stream])
		discard(p, stream, simulated_ns());
}

void on_output(uint32_t id)
{
	report_output(find(id), 0);
}

void on_errors(uint32_t id)
{
	report_output(find(id), 1);
}

/* Reports the exit of a program, after its remaining output. */
static void report_exit(struct program *p, int status)
{
	struct {
		uint64_t at_ns;
		uint32_t id;
		int32_t status;
	} __attribute__((packed)) payload = { .id = p->id | PROGRAM, .status = status };

	p->ended = true;
	report_output(p, 0);
	report_output(p, 1);
	payload.at_ns = simulated_ns();
	report(REPORT_EXITED, &payload, sizeof(payload));
	flush_reports();
}

/* Reports the exits of programs, and at the end of the run the exit of the last process. */
static void reap(void)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < program_count; i++)
			if (programs[i]->pid == pid && !programs[i]->ended)
				report_exit(programs[i], status);
	if (ending && !gone && pid < 0 && errno == ECHILD) {
		gone = true;
		report_text(REPORT_GONE, 0, "");
	}
}

void on_exits(uint32_t exits)
{
	struct signalfd_siginfo known;

	while (read((int)exits, &known, sizeof(known)) > 0)
		;
	reap();
}

void end_programs(void)
{
	/* All processes but this one, which is the first of its kernel or namespace. */
	if (getpid() != 1)
		die("process %d cannot end programs: it is not the first one", getpid());
	ending = true;
	kill(-1, SIGTERM);
	/* Shells with a terminal ignore SIGTERM. */
	for (int i = 0; i < program_count; i++)
		if (programs[i]->terminal && programs[i]->pid && !programs[i]->ended)
			kill(programs[i]->pid, SIGHUP);
	kill(-1, SIGCONT);
	reap();
}
