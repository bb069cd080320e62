/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A port of a router: a tc program at the egress of its device that meters flows and writes records
 * into packets that have room for them.
 *
 * It runs in front of the queueing discipline. The instant at which a packet will have left, and
 * what is queued until then, are those of a virtual clock of the port's rate: of a queue that
 * serves in order.
 * (Stamps of the instant of enqueueing make u a quotient of bursts.)
 */
#include "vmlinux.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "carriers.h"
#include "orbcc_meter.h"
#include "port_stats.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define PASS TCX_NEXT
#define IPV6_BYTES 40
#define FIRST_AVG_RTT_US 10000

/* Set by the loader. */
const volatile u32 opt_rate_kbit = 0;
const volatile u32 opt_switch = 1;
const volatile u32 opt_link_bytes = 14;
/* What the queue behind the program holds; beyond it packets are lost, and the virtual clock
 * stops. */
const volatile u32 opt_queue_bytes = 0;

enum counter { PORT_PACKETS, PORT_BLOCKS, PORT_OPTIONS, PORT_NO_ROOM, PORT_INTERVALS, PORT_COUNTERS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PORT_COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

struct egress_port {
	struct bpf_spin_lock lock;
	u32 occupied;
	u64 a, b, deadline_us;
	u64 free_ns; /* the virtual clock: when the link is idle again */
	u64 tx;
	u64 utilisation, last_ns;
	struct orbcc_published now;
	u16 interval;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct egress_port);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct orbcc_port_stats);
} stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ORBCC_CELLS);
	__type(key, u32);
	__type(value, u16);
} cells SEC(".maps");

static __always_inline void count(u32 which)
{
	u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		(*n)++;
}

/* A data packet with a header counts. */
static __always_inline void meter(struct egress_port *p, u64 now_us, const struct orbcc_fixed *f, u32 payload, u32 hash)
{
	u64 a = 0, b = 0, sum_a = 0, sum_b = 0;
	u32 occupied = 0, cell = hash & (ORBCC_CELLS - 1);
	u16 *seen = bpf_map_lookup_elem(&cells, &cell);
	u64 interval_us = p->now.avg_rtt_us ? p->now.avg_rtt_us : ORBCC_FIRST_INTERVAL_US;
	int l, fresh, complete = 0;

	if (f->base_rtt_us && f->cwnd && payload) {
		l = orbcc_meter_lg(f->base_rtt_us, f->cwnd, payload);
		a = orbcc_exp2(l + (24 << 12));
		b = orbcc_exp2(l + (int)orbcc_lg(f->base_rtt_us) + (10 << 12));
	}
	fresh = seen && *seen != (u16)(p->interval + 1);
	bpf_spin_lock(&p->lock);
	if (p->deadline_us && p->deadline_us <= now_us) {
		if (p->a) {
			sum_a = p->a;
			sum_b = p->b;
			occupied = p->occupied;
			p->a = p->b = 0;
			p->occupied = 0;
			p->interval++;
			fresh = 1;
			complete = 1;
		}
		p->deadline_us = 0;
	}
	if (!p->deadline_us)
		p->deadline_us = now_us + interval_us;
	p->a += a;
	p->b += b;
	p->occupied += fresh;
	bpf_spin_unlock(&p->lock);
	if (seen)
		*seen = (u16)(p->interval + 1);
	if (complete) {
		orbcc_meter_publish(sum_a, sum_b, occupied, &p->now);
		count(PORT_INTERVALS);
	}
}

/* Every packet moves the clock; makes its record. */
static __always_inline void serve(struct egress_port *p, u64 now_ns, u32 bytes, struct orbcc_hop *h, u64 *wait_ns)
{
	u64 rate = (u64)opt_rate_kbit * 125, service, start, queued, gap, load, weight, mean_us, limit = ~0ull, tx;

	if (!rate)
		rate = 1;
	service = (u64)bytes * 1000000000ull / rate;
	if (opt_queue_bytes)
		limit = (u64)opt_queue_bytes * 1000000000ull / rate;
	bpf_spin_lock(&p->lock);
	start = p->free_ns > now_ns ? p->free_ns : now_ns;
	*wait_ns = start - now_ns;
	if (*wait_ns < limit)
		p->free_ns = start + service;
	p->tx += bytes;
	tx = p->tx;
	gap = start + service - p->last_ns;
	p->last_ns = start + service;
	bpf_spin_unlock(&p->lock);
	queued = *wait_ns / 1000 * (rate / 1000) / 1000;
	h->ts = (u32)((start + service) / 1000) & ORBCC_TS_MASK;
	h->tx = (u32)(tx / 8) & ORBCC_TX_MASK;
	h->rate = orbcc_uf16_encode(opt_rate_kbit);
	h->q_in = h->q_out = orbcc_uf16_encode(queued);
	h->avg_rtt = p->now.avg_rtt_us;
	h->flows = p->now.flows ? p->now.flows : 1;
	h->flags = p->now.flags | ORBCC_FLAG_SHAPER_RATE;
	/* The port's average, for carrier T, over an eighth of the mean RTT. Weighted by time: the packets of a
	 * burst are many. */
	mean_us = h->avg_rtt ? h->avg_rtt : FIRST_AVG_RTT_US;
	load = orbcc_ratio(service, gap ? gap : 1) + orbcc_ratio(*wait_ns / 1000, mean_us);
	weight = orbcc_ratio(gap, gap + mean_us * 125);
	if (load > p->utilisation)
		p->utilisation += orbcc_scale(load - p->utilisation, weight);
	else
		p->utilisation -= orbcc_scale(p->utilisation - load, weight);
}

static __always_inline void publish(const struct egress_port *p, u64 wait_ns)
{
	u32 zero = 0;
	struct orbcc_port_stats *s = bpf_map_lookup_elem(&stats, &zero);

	if (!s)
		return;
	s->bytes = p->tx;
	s->utilisation = p->utilisation;
	s->wait_ns = wait_ns;
	s->rate_kbit = opt_rate_kbit;
	s->avg_rtt_us = p->now.avg_rtt_us;
	s->flows = p->now.flows;
}

static __always_inline void on_block(struct __sk_buff *skb, struct egress_port *p, struct orbcc_hop *h, u64 now_ns, u32 at)
{
	u8 x[ORBCC_H_BLOCK + ORBCC_FIXED_BYTES], record[ORBCC_HOP_BYTES];
	struct orbcc_fixed f = {};
	u32 room, headers;

	if (bpf_skb_load_bytes(skb, at, x, sizeof(x)) || orbcc_h_get_block(x, &f, &room))
		return;
	headers = at + ((u32)x[1] + 1) * 8 + 32;
	meter(p, now_ns / 1000, &f, skb->len > headers ? skb->len - headers : 0, bpf_get_hash_recalc(skb));
	if (f.hops >= room) {
		count(PORT_NO_ROOM);
		return;
	}
	orbcc_put_hop(record, h);
	if (bpf_skb_store_bytes(skb, at + sizeof(x) + f.hops * ORBCC_HOP_BYTES, record, sizeof(record), 0))
		return;
	f.hops++;
	f.path ^= opt_switch;
	orbcc_put_fixed(x + ORBCC_H_BLOCK, &f);
	bpf_skb_store_bytes(skb, at + ORBCC_H_BLOCK, x + ORBCC_H_BLOCK, ORBCC_FIXED_BYTES, 0);
	count(PORT_BLOCKS);
}

/* Place of carrier T's option behind a TCP header at `at`; 0 = there is none. */
static __always_inline u32 find_option(struct __sk_buff *skb, u32 at, u32 end)
{
	u8 kind[4];
	u32 i, place = at + sizeof(struct tcphdr);

	for (i = 0; i < 20; i++) {
		if (place + ORBCC_T_DATA_BYTES > end || bpf_skb_load_bytes(skb, place, kind, sizeof(kind)))
			return 0;
		if (kind[0] == 0)
			return 0;
		if (kind[0] == 1) {
			place++;
			continue;
		}
		if (kind[0] == ORBCC_T_KIND && kind[1] == ORBCC_T_DATA_BYTES)
			return place;
		if (kind[1] < 2)
			return 0;
		place += kind[1];
	}
	return 0;
}

static __always_inline void on_option(struct __sk_buff *skb, struct egress_port *p, struct orbcc_hop *h, u64 now_ns, u32 at,
				      u64 wait_ns)
{
	u8 x[ORBCC_T_DATA_BYTES], old[ORBCC_T_DATA_BYTES];
	struct orbcc_t_data d = {};
	struct tcphdr tcp;
	u32 end, place;
	u64 u, wait_us;
	s64 difference;

	if (bpf_skb_load_bytes(skb, at, &tcp, sizeof(tcp)))
		return;
	end = at + tcp.doff * 4;
	place = find_option(skb, at, end);
	if (!place || (place - at) & 1 || bpf_skb_load_bytes(skb, place, old, sizeof(old)) || orbcc_t_get_data(old, &d))
		return;
	meter(p, now_ns / 1000, &d.fixed, skb->len > end ? skb->len - end : 0, bpf_get_hash_recalc(skb));
	u = p->utilisation >> 20;
	u = u > 65535 ? 65535 : u ? u : 1;
	wait_us = orbcc_uf16_decode(d.port.queueing) + wait_ns / 1000;
	d.port.queueing = orbcc_uf16_encode(wait_us);
	if (u > d.port.u) {
		d.port.u = (u16)u;
		d.port.rate = h->rate;
		d.port.avg_rtt = h->avg_rtt;
		d.port.flows = h->flows;
		d.port.hop = d.fixed.hops;
	}
	if (d.fixed.hops < 15)
		d.fixed.hops++;
	d.fixed.path ^= opt_switch;
	orbcc_t_put_data(x, &d, old[22]);
	difference = bpf_csum_diff((__be32 *)old, sizeof(old), (__be32 *)x, sizeof(x), 0);
	if (difference < 0)
		return;
	bpf_skb_store_bytes(skb, place, x, sizeof(x), 0);
	bpf_l4_csum_replace(skb, at + __builtin_offsetof(struct tcphdr, check), 0, difference, 0);
	count(PORT_OPTIONS);
}

SEC("tc")
int orbcc_port(struct __sk_buff *skb)
{
	u32 zero = 0, at = opt_link_bytes;
	struct egress_port *p = bpf_map_lookup_elem(&ports, &zero);
	u64 now_ns = bpf_ktime_get_ns(), wait_ns = 0;
	struct orbcc_hop h = {};
	u8 ip[10];

	if (!p || bpf_skb_load_bytes(skb, at, ip, sizeof(ip)))
		return PASS;
	count(PORT_PACKETS);
	serve(p, now_ns, skb->len, &h, &wait_ns);
	publish(p, wait_ns);
	if (skb->protocol == bpf_htons(0x86dd) && ip[6] == 0)
		on_block(skb, p, &h, now_ns, at + IPV6_BYTES);
	else if (skb->protocol == bpf_htons(0x86dd) && ip[6] == ORBCC_TCP)
		on_option(skb, p, &h, now_ns, at + IPV6_BYTES, wait_ns);
	else if (skb->protocol == bpf_htons(0x0800) && ip[9] == ORBCC_TCP)
		on_option(skb, p, &h, now_ns, at + (ip[0] & 15) * 4, wait_ns);
	return PASS;
}
