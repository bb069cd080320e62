/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A minimal host: a path of 50 ms without limit, an ACK per packet, Cubic. Its window doubles each
 * round.
 *
 *   cc -std=c99 -I include slow_start.c -lperigee_cc -o slow_start && ./slow_start
 */
#include "perigee_cc.h"

#include <inttypes.h>
#include <stdio.h>

enum { MSS = 1448, ROUNDS = 8 };
static const uint64_t RTT = 50 * 1000 * 1000;

static int failed(const char *what, int32_t code) {
    fprintf(stderr, "%s: %s\n", what, perigee_cc_strerror(code));
    return 1;
}

int main(void) {
    char err[256];
    perigee_conn_init init = {0};
    init.size = sizeof init;
    init.mss = MSS;
    init.now = RTT;
    init.init_cwnd = 10 * MSS;
    init.srtt = RTT;
    init.seed = 1;
    init.hz = 1000;
    perigee_cc *cc = perigee_cc_create("cubic", NULL, &init, err, sizeof err);
    if (!cc) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }

    perigee_window w = {0};
    w.size = sizeof w;
    perigee_cx cx = {0};
    cx.size = sizeof cx;
    cx.mss = MSS;
    cx.now = init.now;
    cx.srtt = RTT;
    cx.min_rtt = RTT;
    int32_t code = perigee_cc_on_start(cc, &cx);
    if (code) return failed("on_start", code);
    code = perigee_cc_get_window(cc, &w);
    if (code) return failed("get_window", code);

    printf("version %s\n", perigee_cc_version());
    for (int round = 1; round <= ROUNDS; round++) {
        const uint64_t packets = w.cwnd / MSS, before = w.cwnd;
        const uint64_t sent = cx.now, delivered_then = cx.delivered;
        /* The full window leaves at once... */
        cx.snd_nxt = cx.snd_una + packets * MSS;
        cx.last_sent = sent;
        /* ...and is acknowledged one RTT later, a microsecond from packet to packet. */
        for (uint64_t i = 0; i < packets; i++) {
            cx.now = sent + RTT + i * 1000;
            cx.edt = cx.now;
            cx.snd_una += MSS;
            cx.delivered += MSS;
            cx.delivered_time = cx.now;
            cx.outstanding = cx.snd_nxt - cx.snd_una;
            cx.in_flight = cx.outstanding;
            cx.cwnd_limited = 1;

            perigee_rate_sample rs = {0};
            rs.size = sizeof rs;
            rs.valid = 1;
            rs.has_prior = 1;
            rs.delivered = cx.delivered - delivered_then;
            rs.prior_delivered = delivered_then;
            rs.interval = cx.now - sent;
            rs.ack_elapsed = rs.interval;

            perigee_ack_event ev = {0};
            ev.size = sizeof ev;
            ev.may_grow = 1;
            ev.newly_acked = MSS;
            ev.newly_cum_acked = MSS;
            ev.rtt = cx.now - sent;
            ev.seq_rtt = ev.rtt;
            ev.prior_in_flight = cx.in_flight + MSS;
            ev.rs = &rs;
            code = perigee_cc_on_ack(cc, &cx, &ev);
            if (code) return failed("on_ack", code);
        }
        code = perigee_cc_get_window(cc, &w);
        if (code) return failed("get_window", code);
        printf("round %d: %" PRIu64 " -> %" PRIu64 " packets\n", round, before / MSS, w.cwnd / MSS);
        if (w.cwnd != 2 * before) {
            fprintf(stderr, "the window did not double\n");
            return 1;
        }
    }
    perigee_cc_destroy(cc);
    return 0;
}
