/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hostile packets through the tc programs, as loaded into this kernel (BPF_PROG_TEST_RUN).
 *
 *   hostile FOLDER N [SEED]      N packets for each program
 *
 * A program must pass every packet on, with its length; packets without our headers unchanged.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS ((unsigned)-1)

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t z = (state += 0x9E3779B97F4A7C15ull);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

/* A packet that looks like ours more or less; its length. */
static int make(unsigned char *p, int most, int *ours)
{
	int v6 = draw() % 3 != 0, n = 60 + (int)(draw() % (unsigned)(most - 60)), at = 14 + (v6 ? 40 : 20);

	for (int i = 0; i < n; i++)
		p[i] = (unsigned char)draw();
	p[12] = v6 ? 0x86 : 0x08;
	p[13] = v6 ? 0xdd : 0x00;
	p[14] = v6 ? 0x60 : 0x45;
	*ours = draw() % 4 != 0;
	if (v6) {
		p[14 + 6] = *ours ? (unsigned char[]){ 0, 60, 6 }[draw() % 3] : 17;
		if (p[14 + 6] != 6 && n > at + 12) {
			p[at] = 6;
			p[at + 1] = draw() % 2 ? 7 : p[at + 1] & 31;
			p[at + 2] = p[14 + 6] == 0 ? 0x3e : 0x1e;
			p[at + 3] = draw() % 2 ? 59 : p[at + 3];
			p[at + 4] = 0x10 | (p[at + 4] & (draw() % 4 ? 0 : 15));
			p[at + 5] = draw() % 2 ? p[at + 5] & 0x3f : p[at + 5];
		}
	} else {
		p[14 + 9] = *ours ? 6 : 17;
	}
	if (*ours && p[v6 ? 20 : 23] == 6 && n > at + 50) {
		p[at + 12] = 0xd0;
		if (draw() % 2) {
			p[at + 20] = p[at + 21] = 1;
			p[at + 22] = 253;
			p[at + 23] = draw() % 8 ? 24 : p[at + 23];
			p[at + 24] = 0x4f;
			p[at + 25] = 0x44;
			p[at + 26] = 0x10 | (p[at + 26] & 15);
		}
	}
	return n;
}

static void attack(struct bpf_object *o, const char *name, unsigned long long n)
{
	struct bpf_program *program = bpf_object__find_program_by_name(o, name);
	unsigned char in[1514], out[2048];
	unsigned long long changed = 0;
	int ours;

	if (!program)
		exit(2);
	for (unsigned long long i = 0; i < n; i++) {
		int length = make(in, sizeof(in), &ours);
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = (unsigned)length, .data_out = out,
			    .data_size_out = sizeof(out));
		int rc = bpf_prog_test_run_opts(bpf_program__fd(program), &opts);
		int same = !rc && opts.data_size_out == (unsigned)length && !memcmp(in, out, (size_t)length);

		changed += !same;
		if (rc || opts.retval != PASS || opts.data_size_out != (unsigned)length || (!ours && !same)) {
			fprintf(stderr, "%s, packet %llu: %d, verdict %u, %d bytes, then %u\n", name, i, rc, opts.retval,
				length, opts.data_size_out);
			exit(1);
		}
	}
	printf("%s: %llu packets, %llu with other bytes than before, no finding\n", name, n, changed);
}

static struct bpf_object *load(const char *folder, const char *name)
{
	char path[512];
	struct bpf_object *o;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	o = bpf_object__open(path);
	if (!o)
		exit(2);
	if (bpf_object__load(o))
		exit(2);
	return o;
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 2 ? strtoull(argv[2], 0, 0) : 100000;

	if (argc < 2)
		return 2;
	state = argc > 3 ? strtoull(argv[3], 0, 0) : 1;
	attack(load(argv[1], "port.bpf.o"), "orbcc_port", n);
	struct bpf_object *host = load(argv[1], "orbcc.bpf.o");

	attack(host, "orbcc_ingress", n);
	attack(host, "orbcc_egress", n);
	return 0;
}
