/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Invalid calls and their error codes. An invalid call is rejected and changes nothing.
 */
#include "perigee_cc.h"

#include <stdio.h>
#include <string.h>

static int checks, wrong;

static void check(const char *what, int64_t found, int64_t expected) {
    checks++;
    if (found != expected) {
        wrong++;
        printf("%s: %lld instead of %lld\n", what, (long long)found, (long long)expected);
    }
}
#define EXPECT(expected, call) check(#call, (call), (expected))

static perigee_conn_init sound_init(void) {
    perigee_conn_init init = {0};
    init.size = sizeof init;
    init.mss = 1448;
    init.init_cwnd = 14480;
    init.now = 1000;
    return init;
}

static void creation(void) {
    char err[200], tiny[6];
    perigee_conn_init init = sound_init();
    EXPECT(1, perigee_cc_create(NULL, NULL, &init, err, sizeof err) == NULL && strstr(err, "NULL") != NULL);
    EXPECT(1, perigee_cc_create("cubicle", NULL, &init, err, sizeof err) == NULL && strstr(err, "cubicle") != NULL);
    EXPECT(1, perigee_cc_create("\xff\xfe", NULL, &init, err, sizeof err) == NULL && strstr(err, "utf-8") != NULL);
    EXPECT(1, perigee_cc_create("cubic", "{", &init, err, sizeof err) == NULL && strlen(err) > 0);
    EXPECT(1, perigee_cc_create("cubic", "{\"x\": 1}", &init, err, sizeof err) == NULL && strstr(err, "known") != NULL);
    EXPECT(1, perigee_cc_create("cubic", "{\"x\": [1]}", &init, err, sizeof err) == NULL && strlen(err) > 0);
    EXPECT(1, perigee_cc_create("cubic", NULL, NULL, err, sizeof err) == NULL && strstr(err, "init") != NULL);
    EXPECT(1, perigee_cc_create("cubicle", NULL, &init, tiny, sizeof tiny) == NULL && strcmp(tiny, "unkno") == 0);
    EXPECT(1, perigee_cc_create("cubicle", NULL, &init, NULL, 77) == NULL);
    init.size = 3;
    EXPECT(1, perigee_cc_create("cubic", NULL, &init, err, sizeof err) == NULL && strstr(err, "size") != NULL);
    init = sound_init();
    init.mss = 0;
    EXPECT(1, perigee_cc_create("cubic", NULL, &init, err, sizeof err) == NULL && strstr(err, "range") != NULL);
    perigee_cc_destroy(NULL);
}

static void events(perigee_cc *cc) {
    perigee_cx cx = {0}, bad;
    cx.size = sizeof cx;
    cx.mss = 1448;
    cx.now = 2000;
    perigee_ack_event ack = {0};
    ack.size = sizeof ack;

    EXPECT(PERIGEE_E_NULL, perigee_cc_on_ack(NULL, &cx, &ack));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_ack(cc, NULL, &ack));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_ack(cc, &cx, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_start(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_timer(NULL, &cx));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_tx_start(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_sent(cc, &cx, NULL, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_loss(cc, &cx, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_transition(cc, &cx, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_signal(cc, &cx, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_ssthresh(cc, &cx, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_caps(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_stamp(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_get_window(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_set_window(cc, NULL));
    EXPECT(PERIGEE_E_NULL, perigee_cc_get_state_json(NULL, NULL, 0));

    static const uint32_t garbage[] = {0, 1, 4, sizeof(perigee_cx) - 1, 4097, 0x7fffffff, 0xdeadbeef, 0xffffffff};
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        bad = cx;
        bad.size = garbage[i];
        EXPECT(PERIGEE_E_SIZE, perigee_cc_on_ack(cc, &bad, &ack));
        perigee_window w;
        memset(&w, 0xa5, sizeof w);
        w.size = garbage[i] < sizeof w || garbage[i] > 4096 ? garbage[i] : 5;
        EXPECT(PERIGEE_E_SIZE, perigee_cc_get_window(cc, &w));
        EXPECT(PERIGEE_E_SIZE, perigee_cc_set_window(cc, &w));
        EXPECT(0xa5, w.reserved[6]);
    }

    bad = cx;
    bad.mss = 0;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &bad, &ack));
    bad = cx;
    bad.ca = 5;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &bad, &ack));
    bad = cx;
    bad.in_flight = UINT64_MAX;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &bad, &ack));
    bad = cx;
    bad.now = 999;
    EXPECT(PERIGEE_E_TIME, perigee_cc_on_start(cc, &bad));

    ack.acked_count = 1;
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_ack(cc, &cx, &ack));
    perigee_acked_pkt acked[2] = {{0}, {0}};
    ack.acked = acked;
    EXPECT(PERIGEE_E_SIZE, perigee_cc_on_ack(cc, &cx, &ack));
    acked[0].size = sizeof acked[0];
    ack.acked_count = 2;
    EXPECT(PERIGEE_E_SIZE, perigee_cc_on_ack(cc, &cx, &ack));
    ack.acked_count = SIZE_MAX;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &cx, &ack));
    ack.acked_count = 0;

    perigee_telemetry t = {0};
    t.size = sizeof t;
    ack.telemetry = &t;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &cx, &ack));
    t.kind = PERIGEE_TELEMETRY_STACK;
    t.hop_count = 256;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &cx, &ack));
    t.hop_count = 3;
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_ack(cc, &cx, &ack));
    t.kind = PERIGEE_TELEMETRY_PINT;
    t.u = -1.0;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_ack(cc, &cx, &ack));

    perigee_transition tr = {0};
    tr.size = sizeof tr;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_transition(cc, &cx, &tr));
    tr.kind = PERIGEE_UNDO;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_transition(cc, &cx, &tr));
    perigee_loss_event loss = {0};
    loss.size = sizeof loss;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_loss(cc, &cx, &loss));
    perigee_signal s = {0};
    s.size = sizeof s;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_signal(cc, &cx, &s));
    s.kind = PERIGEE_MSS_CHANGED;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_on_signal(cc, &cx, &s));
    s.kind = PERIGEE_CUSTOM;
    s.data_len = 1;
    EXPECT(PERIGEE_E_NULL, perigee_cc_on_signal(cc, &cx, &s));
    perigee_window w = {0};
    w.size = sizeof w;
    EXPECT(PERIGEE_E_VALUE, perigee_cc_set_window(cc, &w));
}

int main(void) {
    creation();
    char err[100] = "untouched", before[4096], after[4096], tiny[9];
    perigee_conn_init init = sound_init();
    perigee_cc *cc = perigee_cc_create("cubic", "{}", &init, err, sizeof err);
    EXPECT(1, cc != NULL && err[0] == 0);

    const int64_t length = perigee_cc_get_state_json(cc, before, sizeof before);
    EXPECT(length, (int64_t)strlen(before));
    EXPECT(length, perigee_cc_get_state_json(cc, NULL, 0));
    EXPECT(length, perigee_cc_get_state_json(cc, tiny, sizeof tiny));
    EXPECT(8, (int64_t)strlen(tiny));
    events(cc);
    EXPECT(length, perigee_cc_get_state_json(cc, after, sizeof after));
    EXPECT(0, strcmp(before, after));

    perigee_cx cx = {0};
    cx.size = sizeof cx;
    cx.mss = 1448;
    cx.now = 1000;
    EXPECT(0, perigee_cc_on_start(cc, &cx));
    EXPECT(1, perigee_cc_schemes_json(NULL, 0) > 1000);
    EXPECT(0, strcmp("no error", perigee_cc_strerror(0)));
    EXPECT(0, strcmp("unknown error", perigee_cc_strerror(-99)));
    perigee_cc_destroy(cc);
    printf("%d checks, %d wrong\n", checks, wrong);
    return wrong != 0;
}
