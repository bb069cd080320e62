/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A custom transport over UDP with OrbCC, for real hosts: a sender with OrbCC's window and pacing,
 * from libperigee_cc, and a receiver that returns the telemetry that the ports of the path have
 * written into each packet.
 *
 *   cc -O2 -I crates/perigee-capi/include examples/orbcc_udp.c libperigee_cc.a -lpthread -ldl -lm -o orbcc_udp
 *   perigee exec SCENARIO --at new-york -- ./orbcc_udp receive 7000 --at london -- ./orbcc_udp send new-york 7000 20
 *
 * Packets carry the telemetry block in an IPv6 hop-by-hop option of type 0x3E, with room for HOPS
 * records; ports fill it in. Acknowledgements carry the block back as data. Nothing is
 * retransmitted: lost packets are counted and make room.
 */
#define _GNU_SOURCE
#include "perigee_cc.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HOPS = 4,                       /* records that there is room for */
    FIXED = 8, RECORD = 17,         /* bytes of the block's fixed part and of a record */
    BLOCK = FIXED + HOPS * RECORD,  /* of the entire block */
    OPTION = 0x3e, PAD_N = 1,
    EXTENSION = (4 + BLOCK + 7) / 8 * 8, /* its header, the option's, the block, padding */
    MTU = 1500, HEADERS = 40 + EXTENSION + 8,
    MSS = MTU - HEADERS,
    RING = 1 << 16,                 /* packets that can be outstanding */
    REORDERING = 3,                 /* packets by which one may be overtaken */
};
static const uint64_t SECOND = 1000 * 1000 * 1000;

/* Header of each packet, and the acknowledgement. */
struct head { uint64_t number, sent; };
struct ack { struct head head; uint8_t block[BLOCK]; };

/* A packet in flight, with the state when it was sent. */
struct packet { uint64_t number, sent, delivered, delivered_time, in_flight; int outstanding; };

static void die(const char *what, const char *why) {
    fprintf(stderr, "orbcc_udp: %s: %s\n", what, why);
    exit(1);
}

static void check(const char *what, int32_t code) {
    if (code < 0) die(what, perigee_cc_strerror(code));
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * (uint64_t)SECOND + (uint64_t)t.tv_nsec;
}

/* ---- The block: big endian, fields packed without gaps --------------------------------------- */

/* `count` bits from bit `at` on. */
static uint64_t bits(const uint8_t *bytes, unsigned at, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = at; i < at + count; i++) value = value << 1 | (bytes[i / 8] >> (7 - i % 8) & 1);
    return value;
}

static void set_bits(uint8_t *bytes, unsigned at, unsigned count, uint64_t value) {
    for (unsigned i = 0; i < count; i++) {
        const unsigned bit = at + i, mask = 1u << (7 - bit % 8);
        bytes[bit / 8] = (uint8_t)((bytes[bit / 8] & ~mask) | (value >> (count - 1 - i) & 1 ? mask : 0));
    }
}

/* uf16: an exponent of 5 bits and a mantissa of 11; exact below 4096. */
static uint64_t decoded(uint64_t code) {
    const uint64_t exponent = code >> 11, mantissa = code & 2047;
    return exponent == 0 ? mantissa : (2048 + mantissa) << (exponent - 1);
}

static uint64_t coded(uint64_t value) {
    uint64_t exponent = 0;
    while (value >= 4096) {
        value = (value + 1) >> 1;
        exponent++;
    }
    return value < 2048 ? value : (exponent + 1) << 11 | (value - 2048);
}

/* The extension header with a block that has no records yet. */
static void write_extension(uint8_t *out, const perigee_stamp *stamp) {
    const uint64_t rtt_us = (stamp->base_rtt + 500) / 1000;
    memset(out, 0, EXTENSION);
    out[1] = EXTENSION / 8 - 1;
    out[2] = OPTION;
    out[3] = BLOCK;
    set_bits(out + 4, 0, 4, 1); /* version */
    set_bits(out + 4, 28, 20, rtt_us < 1 << 20 ? rtt_us : (1 << 20) - 1);
    set_bits(out + 4, 48, 16, coded(stamp->cwnd));
    if (EXTENSION > 4 + BLOCK + 1) {
        out[4 + BLOCK] = PAD_N;
        out[5 + BLOCK] = EXTENSION - BLOCK - 6;
    }
}

static size_t read_block(const uint8_t *block, perigee_hop hops[HOPS], uint64_t *path_id) {
    const size_t count = bits(block, 4, 8) < HOPS ? bits(block, 4, 8) : HOPS;
    *path_id = bits(block, 12, 16);
    memset(hops, 0, HOPS * sizeof *hops);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *r = block + FIXED + i * RECORD;
        hops[i].size = sizeof hops[i];
        hops[i].ts = bits(r, 0, 24) * 1000;
        hops[i].bw = decoded(bits(r, 24, 16)) * 1000;
        hops[i].q_out = decoded(bits(r, 40, 16));
        hops[i].q_in = decoded(bits(r, 56, 16));
        hops[i].tx_bytes = bits(r, 72, 28) * 8;
        hops[i].avg_rtt = bits(r, 100, 20) * 1000;
        hops[i].flows = (uint32_t)bits(r, 120, 12);
    }
    return count;
}

/* ---- Sockets --------------------------------------------------------------------------------- */

static int opened(void) {
    const int s = socket(AF_INET6, SOCK_DGRAM, 0), room = 8 << 20;
    if (s < 0) die("socket", strerror(errno));
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    return s;
}

static void receive(const char *port) {
    const int s = opened(), on = 1;
    struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(port))};
    if (bind(s, (struct sockaddr *)&here, sizeof here)) die(port, strerror(errno));
    if (setsockopt(s, IPPROTO_IPV6, IPV6_RECVHOPOPTS, &on, sizeof on)) die("IPV6_RECVHOPOPTS", strerror(errno));
    for (;;) {
        uint8_t data[MTU], control[512];
        struct sockaddr_in6 from;
        struct iovec part = {data, sizeof data};
        struct msghdr m = {&from, sizeof from, &part, 1, control, sizeof control, 0};
        const ssize_t size = recvmsg(s, &m, 0);
        if (size < (ssize_t)sizeof(struct head)) continue;
        struct ack ack = {0};
        memcpy(&ack.head, data, sizeof ack.head);
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
            const uint8_t *e = CMSG_DATA(c);
            if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPOPTS && e[2] == OPTION && e[3] == BLOCK)
                memcpy(ack.block, e + 4, BLOCK);
        }
        sendto(s, &ack, sizeof ack, 0, (struct sockaddr *)&from, sizeof from);
    }
}

/* ---- The sender ------------------------------------------------------------------------------ */

static struct packet ring[RING];
static perigee_cx cx = {.size = sizeof cx, .mss = MSS};
static perigee_window window = {.size = sizeof window};
static uint64_t next_number = 1, oldest = 1, highest_acked, lost_packets;

static void send_one(int s, perigee_cc *cc) {
    uint8_t data[MSS] = {0}, control[CMSG_SPACE(EXTENSION)] = {0};
    const struct head head = {next_number, cx.now};
    perigee_stamp stamp = {.size = sizeof stamp};
    if (cx.in_flight == 0) check("on_tx_start", perigee_cc_on_tx_start(cc, &cx));
    check("stamp", perigee_cc_stamp(cc, &stamp));
    memcpy(data, &head, sizeof head);
    struct iovec part = {data, sizeof data};
    struct msghdr m = {NULL, 0, &part, 1, control, sizeof control, 0};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = IPPROTO_IPV6;
    c->cmsg_type = IPV6_HOPOPTS;
    c->cmsg_len = CMSG_LEN(EXTENSION);
    write_extension(CMSG_DATA(c), &stamp);
    if (sendmsg(s, &m, 0) < 0) die("sendmsg with a hop-by-hop option", strerror(errno));
    cx.in_flight += MSS;
    cx.last_sent = cx.now;
    cx.snd_nxt += MSS;
    ring[next_number % RING] =
        (struct packet){next_number, cx.now, cx.delivered, cx.delivered_time, cx.in_flight, 1};
    next_number++;
    if (window.pacing) cx.edt = (cx.edt > cx.now ? cx.edt : cx.now) + MTU * 8 * SECOND / window.pacing;
}

/* Packets that were overtaken, or all at a timeout, are lost. */
static uint64_t lose(uint64_t below) {
    uint64_t lost = 0;
    for (; oldest < next_number && oldest < below; oldest++) {
        if (!ring[oldest % RING].outstanding) continue;
        ring[oldest % RING].outstanding = 0;
        lost += MSS;
        lost_packets++;
    }
    cx.in_flight -= lost;
    cx.lost += lost;
    return lost;
}

static void on_ack(perigee_cc *cc, const struct ack *ack) {
    struct packet *p = &ring[ack->head.number % RING];
    if (p->number != ack->head.number || !p->outstanding) return;
    const uint64_t rtt = cx.now - p->sent, before = cx.in_flight;
    perigee_hop hops[HOPS];
    perigee_telemetry telemetry = {.size = sizeof telemetry, .kind = PERIGEE_TELEMETRY_STACK, .hops = hops, .covered = 1};
    telemetry.hop_count = read_block(ack->block, hops, &telemetry.path_id);
    p->outstanding = 0;
    if (p->number > highest_acked) highest_acked = p->number;
    cx.in_flight -= MSS;
    cx.delivered += MSS;
    cx.delivered_time = cx.now;
    cx.srtt = cx.srtt ? cx.srtt - cx.srtt / 8 + rtt / 8 : rtt;
    cx.min_rtt = cx.min_rtt && cx.min_rtt < rtt ? cx.min_rtt : rtt;
    const uint64_t lost = highest_acked > REORDERING ? lose(highest_acked - REORDERING) : 0;
    cx.snd_una = cx.snd_nxt - cx.in_flight;
    cx.outstanding = cx.in_flight;
    perigee_rate_sample rate = {.size = sizeof rate, .valid = 1, .has_prior = 1};
    rate.delivered = cx.delivered - p->delivered;
    rate.prior_delivered = p->delivered;
    rate.interval = rate.ack_elapsed = cx.now - (p->delivered_time ? p->delivered_time : p->sent);
    rate.tx_in_flight = p->in_flight;
    perigee_ack_event ev = {.size = sizeof ev, .may_grow = 1, .newly_acked = MSS, .newly_cum_acked = MSS};
    ev.newly_lost = lost;
    ev.rtt = ev.seq_rtt = rtt;
    ev.prior_in_flight = before;
    ev.rs = &rate;
    ev.telemetry = telemetry.hop_count ? &telemetry : NULL;
    check("on_ack", perigee_cc_on_ack(cc, &cx, &ev));
    check("get_window", perigee_cc_get_window(cc, &window));
}

static int connected(const char *host, const char *port) {
    struct addrinfo hints = {.ai_family = AF_INET6, .ai_socktype = SOCK_DGRAM}, *found;
    const int code = getaddrinfo(host, port, &hints, &found), s = opened();
    if (code) die(host, gai_strerror(code));
    if (connect(s, found->ai_addr, found->ai_addrlen)) die(host, strerror(errno));
    freeaddrinfo(found);
    return s;
}

/* The RTT of an empty packet, before there is a window. */
static uint64_t handshake(int s) {
    struct ack ack;
    for (int tries = 0; tries < 10; tries++) {
        const struct head head = {0, now()};
        struct pollfd readable = {s, POLLIN, 0};
        if (send(s, &head, sizeof head, 0) < 0 || poll(&readable, 1, 1000) <= 0) continue;
        if (recv(s, &ack, sizeof ack, 0) == sizeof ack) return now() - ack.head.sent;
    }
    die("handshake", "no answer within ten seconds");
    return 0;
}

static perigee_cc *controller(void) {
    char why[256];
    perigee_conn_init init = {.size = sizeof init, .mss = MSS, .now = cx.now, .init_cwnd = 10 * MSS, .srtt = cx.srtt, .seed = 1};
    perigee_cc *cc = perigee_cc_create("orbcc", NULL, &init, why, sizeof why);
    if (!cc) die("orbcc", why);
    check("on_start", perigee_cc_on_start(cc, &cx));
    check("get_window", perigee_cc_get_window(cc, &window));
    return cc;
}

/* Runs the controller's timer if it is due; how long to wait for packets, timer or pacing. */
static uint64_t wait_time(perigee_cc *cc) {
    if (window.next_timer && window.next_timer <= cx.now) {
        check("on_timer", perigee_cc_on_timer(cc, &cx));
        check("get_window", perigee_cc_get_window(cc, &window));
    }
    uint64_t until = cx.now + SECOND;
    if (window.next_timer && window.next_timer < until) until = window.next_timer;
    if (window.pacing && !cx.cwnd_limited && cx.edt < until) until = cx.edt;
    return until > cx.now ? until - cx.now : 1;
}

/* Sends for this many seconds; prints goodput and RTT after the first two. */
static int send_for(const char *host, const char *port, double seconds) {
    const int s = connected(host, port);
    const uint64_t begin = now(), end = begin + (uint64_t)(seconds * 1e9), warm = begin + 2 * SECOND;
    uint64_t delivered_then = 0, samples = 0;
    double rtt_sum = 0;
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    cx.srtt = cx.min_rtt = handshake(s);
    cx.now = now();
    perigee_cc *cc = controller();
    while ((cx.now = now()) < end) {
        while (cx.in_flight + MSS <= window.cwnd && (!window.pacing || cx.edt <= cx.now)) send_one(s, cc);
        cx.cwnd_limited = cx.in_flight + MSS > window.cwnd;
        const uint64_t wait = wait_time(cc);
        const struct timespec time = {(time_t)(wait / SECOND), (long)(wait % SECOND)};
        struct pollfd readable = {s, POLLIN, 0};
        if (ppoll(&readable, 1, &time, NULL) == 0 && wait == SECOND) lose(next_number);
        struct ack ack;
        while (recv(s, &ack, sizeof ack, MSG_DONTWAIT) == sizeof ack) {
            cx.now = now();
            if (cx.now >= warm) rtt_sum += (double)(cx.now - ack.head.sent), samples++;
            else delivered_then = cx.delivered + MSS;
            on_ack(cc, &ack);
        }
    }
    const double bits = 8.0 * (double)(cx.delivered - delivered_then);
    printf("{\"goodput_mbps\": %.3f, \"rtt_ms\": %.3f, \"sent\": %" PRIu64 ", \"lost\": %" PRIu64 "}\n",
           bits / (double)(end - warm) * 1e3, samples ? rtt_sum / (double)samples / 1e6 : 0.0, next_number - 1, lost_packets);
    perigee_cc_destroy(cc);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "receive") == 0) receive(argv[2]);
    if (argc == 5 && strcmp(argv[1], "send") == 0) return send_for(argv[2], argv[3], atof(argv[4]));
    fprintf(stderr, "usage: orbcc_udp receive PORT | orbcc_udp send HOST PORT SECONDS (more than 2)\n");
    return 2;
}
