/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The congestion control of a QUIC stack (RFC 9002) by libperigee_cc, over a path of 20 Mbit/s and 40 ms with an
 * outage of one second. docs/how-to/quic-stack.md explains the calls.
 *
 *   cc quic_stack.c $(pkg-config --cflags --libs perigee-cc) -o quic_stack && ./quic_stack cubic
 */
#include <inttypes.h>
#include <perigee_cc.h>
#include <stdio.h>
#include <stdlib.h>

enum { MSS = 1200, MOST = 100000 };
static const uint64_t MS = 1000000, RTT = 40 * 1000000, SERVICE = MSS * 8 * 50; /* ns per packet */

struct packet { uint64_t sent, delivered, delivered_time, acked; }; /* acked: when its ACK arrives; 0 = never */
static struct packet packets[MOST];
static uint64_t next, oldest, busy_until, recovery_start, persistent, reductions;
static perigee_cc *cc;
static perigee_cx cx = {.size = sizeof cx, .mss = MSS, .srtt = 40 * 1000000, .min_rtt = 40 * 1000000};
static perigee_window w = {.size = sizeof w};
static perigee_caps caps = {.size = sizeof caps};

static uint64_t pto(void) { return 2 * cx.srtt; } /* simplified */

static void check(int32_t code) {
    if (code == 0) return;
    fprintf(stderr, "perigee: %s\n", perigee_cc_strerror(code));
    exit(1);
}

static void transition(uint32_t kind, uint32_t ca) {
    const perigee_transition t = {.size = sizeof t, .kind = kind};
    cx.ca = ca;
    check(perigee_cc_on_transition(cc, &cx, &t));
    check(perigee_cc_get_window(cc, &w));
}

/* A reduction: the controller computes the threshold, the stack applies it unless the controller does. */
static void reduce(uint32_t kind, uint32_t ca) {
    check(perigee_cc_ssthresh(cc, &cx, &w.ssthresh));
    if (kind == PERIGEE_ENTER_RECOVERY && caps.recovery == PERIGEE_RECOVERY_PRR) w.cwnd = w.ssthresh;
    if (kind == PERIGEE_ENTER_RTO && caps.on_rto != PERIGEE_ON_RTO_KEEP) w.cwnd = cx.in_flight + 2 * MSS;
    check(perigee_cc_set_window(cc, &w));
    transition(kind, ca);
    recovery_start = cx.now;
    reductions++;
}

static void send_packet(void) {
    struct packet *p = &packets[next++];
    const int outage = cx.now >= 5000 * MS && cx.now < 6000 * MS;
    if (cx.in_flight == 0) check(perigee_cc_on_tx_start(cc, &cx));
    *p = (struct packet){cx.now, cx.delivered, cx.delivered ? cx.delivered_time : cx.now, 0};
    if (busy_until < cx.now) busy_until = cx.now;
    if (!outage && busy_until - cx.now < 60 * MS) p->acked = (busy_until += SERVICE) + RTT;
    cx.in_flight += MSS, cx.outstanding = cx.in_flight, cx.snd_nxt += MSS, cx.last_sent = cx.now;
}

/* Packets before `end` that are still in flight are lost: this path keeps their order. */
static uint64_t mark_lost(uint64_t end) {
    uint64_t first = 0, last = 0, lost = 0;
    for (; oldest < end; oldest++, lost += MSS) {
        const struct packet *p = &packets[oldest];
        cx.lost += MSS, cx.in_flight -= MSS, cx.outstanding = cx.in_flight;
        if (!first) first = p->sent;
        last = p->sent;
    }
    if (last - first > 3 * pto()) { /* RFC 9002, 7.6 */
        persistent++;
        reduce(PERIGEE_ENTER_RTO, PERIGEE_CA_LOSS);
    } else if (lost && last >= recovery_start) {
        reduce(PERIGEE_ENTER_RECOVERY, PERIGEE_CA_RECOVERY);
    }
    return lost;
}

static void on_ack(uint64_t number) {
    const struct packet *p = &packets[number];
    const uint64_t in_flight = cx.in_flight, newly_lost = mark_lost(number);
    cx.cwnd_limited = in_flight + MSS > w.cwnd;
    cx.in_flight -= MSS, cx.outstanding = cx.in_flight, oldest = number + 1;
    cx.delivered += MSS, cx.delivered_time = cx.now, cx.snd_una = cx.snd_nxt - cx.outstanding;
    if (cx.ca != PERIGEE_CA_OPEN && p->sent > recovery_start)
        transition(cx.ca == PERIGEE_CA_LOSS ? PERIGEE_EXIT_RTO : PERIGEE_EXIT_RECOVERY, PERIGEE_CA_OPEN);
    const perigee_rate_sample rs = {.size = sizeof rs, .valid = 1, .has_prior = 1,
        .delivered = cx.delivered - p->delivered, .interval = cx.now - p->delivered_time,
        .prior_delivered = p->delivered, .ack_elapsed = cx.now - p->delivered_time};
    const perigee_ack_event ack = {.size = sizeof ack, .may_grow = cx.ca == PERIGEE_CA_OPEN, .newly_acked = MSS,
        .newly_cum_acked = MSS, .newly_lost = newly_lost, .rtt = cx.now - p->sent, .seq_rtt = cx.now - p->sent,
        .prior_in_flight = in_flight, .rs = &rs};
    cx.srtt = (7 * cx.srtt + ack.rtt) / 8;
    check(perigee_cc_on_ack(cc, &cx, &ack));
    check(perigee_cc_get_window(cc, &w));
}

int main(int count, char **arguments) {
    char err[256];
    const perigee_conn_init init = {.size = sizeof init, .mss = MSS, .now = RTT, .init_cwnd = 10 * MSS, .srtt = RTT};
    cc = perigee_cc_create(count > 1 ? arguments[1] : "cubic", NULL, &init, err, sizeof err);
    if (!cc) return fprintf(stderr, "perigee: %s\n", err), 1;
    cx.now = RTT;
    check(perigee_cc_caps(cc, &caps));
    check(perigee_cc_on_start(cc, &cx));
    check(perigee_cc_get_window(cc, &w));
    while (cx.now < 10000 * MS && next < MOST) {
        while (cx.in_flight + MSS <= w.cwnd && next < MOST) send_packet();
        uint64_t number = oldest;
        while (number < next && !packets[number].acked) number++;
        if (number == next || packets[number].acked > cx.last_sent + pto()) { /* a probe timeout */
            cx.now = cx.last_sent + pto();
            send_packet();
            continue;
        }
        cx.now = cx.edt = packets[number].acked;
        on_ack(number);
    }
    printf("%s: %.1f Mbit/s, %" PRIu64 " reductions, %" PRIu64 " times persistent congestion, version %s\n",
           count > 1 ? arguments[1] : "cubic", (double)cx.delivered * 8e3 / (double)cx.now, reductions, persistent,
           perigee_cc_version());
    perigee_cc_destroy(cc);
    return 0;
}
