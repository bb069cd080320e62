/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * libperigee_cc: the congestion controls of Perigee for C callers (C99).
 *
 * A handle owns the controller of one connection and its window, the only copy of it. The host owns
 * everything else: loss detection, recovery, RTT and rate samples, pacing, timers. It reports each
 * event with one call and then reads the window; where it edits the window itself (recovery, idle
 * decay, timeout) it writes it back.
 *
 *   Once:      create, caps, on_start, get_window
 *   Per packet sent:  on_tx_start if nothing is in flight; on_sent if caps.per_packet;
 *              stamp if caps.telemetry
 *   Per ACK:   on_loss for each packet newly marked lost if caps.per_loss; on_transition, with
 *              ssthresh just before PERIGEE_ENTER_RECOVERY, PERIGEE_ENTER_RTO and
 *              PERIGEE_ENTER_CWR; on_ack, once; get_window
 *   Else:      on_timer when window.next_timer is due, on_signal, on_transition; each followed by
 *              get_window
 *
 * Units: times in nanoseconds of the host's clock (which never goes back), sizes in bytes, rates in
 * bit/s, flags 0 or 1. A host that counts packets reports packets x MSS. Times, sizes and rates are
 * at most 2^61 - 1.
 *
 * Zero means "absent" everywhere: clear a structure, set its size, fill in what is known.
 *
 *   perigee_cx cx = {0};
 *   cx.size = sizeof cx;
 *
 * Growth: members are only ever added at the end of a structure, and `size` states which of them
 * the caller has. A structure that is larger than the library knows is accepted as long as the
 * unknown part is zero. Members called `reserved` must be zero.
 *
 * Errors: functions return 0 or a negative PERIGEE_E_... code. A call that fails with anything but
 * PERIGEE_E_PANIC had no effect.
 *
 * Threads: thread-compatible, not thread-safe. A handle may move between threads and several
 * handles may be used at the same time, but calls on one handle must not overlap. The library keeps
 * no pointer that it is given, makes no callbacks, and does no I/O (except for a line on stderr at
 * PERIGEE_E_PANIC).
 */
#ifndef PERIGEE_CC_H
#define PERIGEE_CC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

enum {
    PERIGEE_E_NULL = -1,  /* a required pointer is NULL */
    PERIGEE_E_SIZE = -2,  /* size too small, above 4096, or with members that the library lacks */
    PERIGEE_E_VALUE = -3, /* a member is out of its range */
    PERIGEE_E_TIME = -4,  /* cx.now is earlier than in a previous call */
    PERIGEE_E_PANIC = -5  /* the library failed, now or earlier; destroy the handle */
};

/* ---- State of the host ----------------------------------------------------------------------- */

/* A controller with its window. */
typedef struct perigee_cc perigee_cc;

/* perigee_cx.ca: Linux's congestion avoidance states. */
enum {
    PERIGEE_CA_OPEN = 0,     /* nothing unusual */
    PERIGEE_CA_DISORDER = 1, /* SACKs or duplicate ACKs arrived, nothing is marked lost */
    PERIGEE_CA_CWR = 2,      /* window reduction due to ECN or a loss repaired by a TLP */
    PERIGEE_CA_RECOVERY = 3, /* fast recovery */
    PERIGEE_CA_LOSS = 4      /* after a retransmission timeout */
};

/* Facts known when a connection starts. */
typedef struct perigee_conn_init {
    uint32_t size;      /* sizeof(perigee_conn_init) */
    uint32_t mss;       /* payload of a full segment, 1 to 65535 */
    uint64_t now;       /* now */
    uint64_t init_cwnd; /* initial window, not 0 */
    uint64_t srtt;      /* RTT of the handshake; 0 = there was none */
    uint64_t seed;      /* of the controller's private random numbers */
    uint32_t hz;        /* timer ticks per second of the emulated kernel; 0 = exact clock */
    uint32_t reserved;
} perigee_conn_init;

/* State of the host at the time of a call. */
typedef struct perigee_cx {
    uint32_t size;           /* sizeof(perigee_cx) */
    uint32_t mss;            /* payload of a full segment, 1 to 65535 */
    uint64_t now;            /* now; never less than in the call before */
    uint64_t in_flight;      /* bytes in flight */
    uint64_t outstanding;    /* bytes between snd_una and snd_nxt */
    uint64_t delivered;      /* bytes acknowledged (cumulatively or by SACK) since the start */
    uint64_t delivered_time; /* when `delivered` last changed */
    uint64_t lost;           /* bytes marked lost since the start; counts repeated losses */
    uint64_t srtt;           /* smoothed RTT; 0 = no sample yet */
    uint64_t min_rtt;        /* windowed minimum RTT; 0 or UINT64_MAX = no sample yet */
    uint64_t snd_una;        /* first unacknowledged byte of the stream */
    uint64_t snd_nxt;        /* next new byte to be sent */
    uint64_t last_sent;      /* when data was last sent before this call; 0 = never */
    uint64_t edt;            /* earliest departure of the next packet; at most `now` if unpaced */
    uint32_t ca;             /* PERIGEE_CA_..., after the transitions of this ACK */
    uint8_t app_limited;     /* the connection is application-limited at the moment */
    uint8_t cwnd_limited;    /* the window limited sending in this round; else it does not grow */
    uint8_t paced;           /* the host paces this connection */
    uint8_t reserved;
} perigee_cx;

/* ---- Decisions of the controller ------------------------------------------------------------- */

/* "No threshold yet": the initial ssthresh. Larger values mean the same. */
#define PERIGEE_INFINITE_SSTHRESH (UINT64_MAX / 4)

typedef struct perigee_window {
    uint32_t size;            /* sizeof(perigee_window) */
    uint32_t quantum;         /* segments to send as one burst; 0 = the host's own rule */
    uint64_t cwnd;            /* congestion window, not 0 */
    uint64_t ssthresh;        /* slow start threshold */
    uint64_t pacing;          /* pacing rate in bit/s; 0 = the host's own rule */
    uint64_t next_timer;      /* when to call on_timer; 0 = not at all */
    uint8_t mark_app_limited; /* mark the connection application-limited, and write back 0 */
    uint8_t reserved[7];
} perigee_window;

/* ---- One ACK --------------------------------------------------------------------------------- */

/* A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation). */
typedef struct perigee_rate_sample {
    uint32_t size;            /* sizeof(perigee_rate_sample) */
    uint8_t valid;            /* `delivered` and `interval` are usable */
    uint8_t has_prior;        /* a packet was delivered by this ACK, so `prior_delivered` is set */
    uint8_t is_app_limited;   /* the sample was taken while application-limited */
    uint8_t is_retrans;       /* the newest delivered packet was a retransmission */
    uint64_t delivered;       /* bytes delivered over `interval` */
    uint64_t interval;        /* the larger of send_elapsed and ack_elapsed */
    uint64_t prior_delivered; /* round clock: cx.delivered when the newest delivered was sent */
    uint64_t send_elapsed;    /* time over which the packets of the sample were sent */
    uint64_t ack_elapsed;     /* time over which they were acknowledged */
    uint64_t lost_since_tx;   /* bytes lost since the newest delivered packet was sent */
    uint64_t tx_in_flight;    /* in flight when the newest delivered was sent, included */
} perigee_rate_sample;

/* A packet newly acknowledged. */
typedef struct perigee_acked_pkt {
    uint32_t size;  /* sizeof(perigee_acked_pkt); the same in all elements of an array */
    uint32_t tag;   /* what on_sent returned for it */
    uint64_t sent;  /* when it was sent */
    uint64_t rtt;   /* its RTT; 0 = it was retransmitted */
    uint32_t bytes; /* payload */
    uint32_t reserved;
} perigee_acked_pkt;

/* In-network telemetry of one hop, decoded. */
typedef struct perigee_hop {
    uint32_t size;     /* sizeof(perigee_hop); the same in all elements of an array */
    uint32_t flows;    /* flows that use the port */
    uint64_t ts;       /* time of dequeue by the hop's clock, modulo 2^24 us */
    uint64_t bw;       /* nominal rate of the outgoing link, bit/s */
    uint64_t q_out;    /* bytes queued after this packet was removed */
    uint64_t q_in;     /* bytes queued before this packet was inserted */
    uint64_t tx_bytes; /* bytes transmitted by the port, this packet included, modulo 2^31 */
    uint64_t avg_rtt;  /* mean base RTT of the flows that use the port; 0 = not yet measured */
} perigee_hop;

/* perigee_telemetry.kind */
enum {
    PERIGEE_TELEMETRY_STACK = 1,      /* the complete stack of the data packet: hops */
    PERIGEE_TELEMETRY_BOTTLENECK = 2, /* hop, u, tau, bw, avg_rtt, flows, queue_delay */
    PERIGEE_TELEMETRY_PINT = 3        /* fixed size: u, bw, flows, starting, queue_delay */
};

/* Telemetry echoed by an ACK. path_id, covered and partial always apply, the rest by kind. */
typedef struct perigee_telemetry {
    uint32_t size;           /* sizeof(perigee_telemetry) */
    uint32_t kind;           /* PERIGEE_TELEMETRY_... */
    uint64_t path_id;        /* identifies the ports on the path */
    const perigee_hop *hops; /* in path order */
    size_t hop_count;        /* at most PERIGEE_MAX_HOPS */
    double u;                /* utilisation, finite and not negative */
    uint64_t tau;            /* time between the two samples that were differenced */
    uint64_t bw;             /* nominal rate of the port's outgoing link, bit/s */
    uint64_t avg_rtt;        /* mean base RTT of the flows that use the port */
    uint64_t queue_delay;    /* sum of queue / rate over all hops */
    uint32_t flows;          /* flows that use the port */
    uint32_t starting;       /* flows in their start-up among them, if has_starting */
    uint32_t covered;        /* packets covered by the ACK (1 unless the receiver aggregates) */
    uint8_t has_starting;    /* the port counts flows in their start-up */
    uint8_t partial;         /* instrumented hops are fewer than the hops of the path */
    uint8_t hop;             /* index of the hop; 255 with u = 0 marks a baseline */
    uint8_t reserved;
} perigee_telemetry;

/* Longest arrays. */
#define PERIGEE_MAX_HOPS 255
#define PERIGEE_MAX_ACKED (1 << 20)

typedef struct perigee_ack_event {
    uint32_t size;                      /* sizeof(perigee_ack_event) */
    uint8_t is_dup;                     /* nothing was newly delivered */
    uint8_t ack_delayed;                /* possibly a delayed ACK (of a single short packet) */
    uint8_t acks_tlp;                   /* it covers a tail loss probe that was a retransmission */
    uint8_t may_grow;                   /* the window may grow (progress, no reduction) */
    uint64_t newly_acked;               /* bytes newly delivered, cumulatively or selectively */
    uint64_t newly_cum_acked;           /* bytes by which snd_una advanced */
    uint64_t newly_lost;                /* bytes newly marked lost while this ACK was processed */
    uint64_t rtt;                       /* RTT of the newest packet if sent once; 0 = none */
    uint64_t seq_rtt;                   /* sample for SRTT (oldest packet covered); 0 = none */
    uint64_t prior_in_flight;           /* bytes in flight before this ACK */
    uint64_t ece;                       /* bytes newly marked with congestion experienced */
    const perigee_rate_sample *rs;      /* NULL = none */
    const perigee_acked_pkt *acked;     /* newly acknowledged; only with caps.per_packet */
    size_t acked_count;                 /* at most PERIGEE_MAX_ACKED */
    const perigee_telemetry *telemetry; /* NULL = none */
    /* Since 0.3: departure and arrival of the newest packet that the receiver had when it sent the
     * ACK, in nanoseconds, each by the clock of its end (the offset of the clocks is unknown). */
    int64_t sent_ns;                    /* sender's clock */
    int64_t received_ns;                /* receiver's clock */
    uint8_t has_arrival;                /* 0 = the peer does not report it */
    uint8_t reserved[7];
} perigee_ack_event;

/* ---- Other events ---------------------------------------------------------------------------- */

/* A packet about to be sent. */
typedef struct perigee_sent_pkt {
    uint32_t size;   /* sizeof(perigee_sent_pkt) */
    uint32_t bytes;  /* payload */
    uint64_t seq;    /* first byte of the stream that it carries */
    uint8_t retrans; /* it was sent before */
    uint8_t reserved[7];
} perigee_sent_pkt;

/* perigee_loss_event.kind */
enum {
    PERIGEE_LOSS_RACK = 1, /* found by RACK (RFC 8985) */
    PERIGEE_LOSS_RTO = 2   /* found by a retransmission timeout */
};

/* A packet newly marked lost. tx_...: the host's state when it was sent. */
typedef struct perigee_loss_event {
    uint32_t size;              /* sizeof(perigee_loss_event) */
    uint32_t kind;              /* PERIGEE_LOSS_... */
    uint64_t bytes;             /* payload */
    uint64_t lost_total;        /* bytes lost by the connection, this packet included */
    uint64_t tx_sent;           /* when it was sent (its scheduled departure) */
    uint64_t tx_first_sent;     /* send time of the first packet of the sampling window */
    uint64_t tx_delivered_time; /* when `delivered` last changed before */
    uint64_t tx_delivered;      /* bytes delivered */
    uint64_t tx_lost;           /* bytes lost */
    uint64_t tx_in_flight;      /* bytes in flight, this packet included */
    uint32_t tag;               /* what on_sent returned for it */
    uint8_t tx_app_limited;     /* the connection was application-limited */
    uint8_t reserved[3];
} perigee_loss_event;

/* perigee_transition.kind */
enum {
    PERIGEE_ENTER_RECOVERY = 1, /* fast recovery starts; ssthresh was called just before */
    PERIGEE_EXIT_RECOVERY = 2,  /* it is complete; window schemes are at ssthresh now */
    PERIGEE_ENTER_RTO = 3,      /* timeout; if the first reduction, ssthresh was called before */
    PERIGEE_EXIT_RTO = 4,       /* everything outstanding at the timeout is repaired */
    PERIGEE_ENTER_CWR = 5,      /* ECN or TLP reduction starts; ssthresh was called just before */
    PERIGEE_EXIT_CWR = 6,       /* it is complete */
    PERIGEE_UNDO = 7,           /* the reduction was spurious: `undo` is the reason */
    PERIGEE_TLP_REPAIRED = 8    /* a TLP repaired a loss: `app_limited` is of its snapshot */
};

/* perigee_transition.undo */
enum {
    PERIGEE_UNDO_DSACK = 1,     /* every retransmission was reported as duplicate */
    PERIGEE_UNDO_TIMESTAMP = 2, /* a timestamp proves that the original arrived (Eifel) */
    PERIGEE_UNDO_FRTO = 3       /* the timeout was spurious (F-RTO) */
};

/* A change of the transport's state. */
typedef struct perigee_transition {
    uint32_t size;       /* sizeof(perigee_transition) */
    uint32_t kind;       /* PERIGEE_ENTER_... to PERIGEE_TLP_REPAIRED */
    uint32_t undo;       /* PERIGEE_UNDO_... with PERIGEE_UNDO */
    uint8_t app_limited; /* with PERIGEE_TLP_REPAIRED */
    uint8_t reserved[3];
} perigee_transition;

/* perigee_signal.kind */
enum {
    PERIGEE_HANDOVER_BEGIN = 1, /* a handover starts: expected_end (0 = unknown) */
    PERIGEE_HANDOVER_END = 2,   /* it is over */
    PERIGEE_PATH_CHANGE = 3,    /* the path changed: path_id */
    PERIGEE_PROBE_RTT = 4,      /* reply to an out-of-band probe: rtt, gap */
    PERIGEE_MSS_CHANGED = 5,    /* the segment size changed: mss */
    PERIGEE_CUSTOM = 6          /* anything that a plug-in and its host agree on: data */
};

/* Knowledge from outside the transport. */
typedef struct perigee_signal {
    uint32_t size;         /* sizeof(perigee_signal) */
    uint32_t kind;         /* PERIGEE_HANDOVER_BEGIN ... PERIGEE_CUSTOM */
    uint64_t expected_end; /* when the handover should be over */
    uint64_t path_id;      /* identifier of the new path */
    uint64_t rtt;          /* measured by the probe */
    uint64_t gap;          /* time since the previous reply to the same prober; 0 = the first */
    const uint8_t *data;   /* NULL only with data_len 0 */
    size_t data_len;
    uint32_t mss;          /* payload of a full segment from now on, 1 to 65535 */
    uint32_t reserved;
} perigee_signal;

/* ---- Output of the controller ---------------------------------------------------------------- */

/* Fields of the telemetry header of each data packet; 0 = unknown. */
typedef struct perigee_stamp {
    uint32_t size; /* sizeof(perigee_stamp) */
    uint32_t reserved;
    uint64_t base_rtt; /* the flow's queue-free RTT */
    uint64_t cwnd;     /* the flow's congestion window */
} perigee_stamp;

/* perigee_caps: values of its members. */
enum {
    PERIGEE_RECOVERY_PRR = 1,              /* proportional rate reduction of the host */
    PERIGEE_RECOVERY_OWN = 2,              /* the controller reduces; the host only selects data */
    PERIGEE_PACING_HOST_DEFAULT = 1,       /* the host's setting decides */
    PERIGEE_PACING_REQUIRED = 2,           /* always paced */
    PERIGEE_NEED_NONE = 0,                 /* no telemetry */
    PERIGEE_NEED_STACK = 1,                /* the complete stack echoed */
    PERIGEE_NEED_BOTTLENECK = 2,           /* the receiver's bottleneck record */
    PERIGEE_NEED_LAW = 3,                  /* feedback of ports (xcp, rcp), which no call here passes */
    PERIGEE_ON_RTO_IN_FLIGHT_PLUS_ONE = 1, /* a timeout sets it to in flight + 1 segment */
    PERIGEE_ON_RTO_KEEP = 2,               /* the window stays */
    PERIGEE_TX_BYTES_PAYLOAD = 1,          /* ports count TCP payload */
    PERIGEE_TX_BYTES_IP = 2,               /* ports count IP packets */
    PERIGEE_TX_BYTES_WIRE = 3,             /* ports count everything on the wire */
    PERIGEE_SCOPE_PATH = 1,                /* signals of its own path */
    PERIGEE_SCOPE_HOST = 2,                /* signals of every path that starts at its host */
    PERIGEE_SCOPE_MACHINE = 3              /* signals of every path */
};

/* Requirements of a controller on its host. */
typedef struct perigee_caps {
    uint32_t size;              /* sizeof(perigee_caps) */
    uint32_t recovery;          /* PERIGEE_RECOVERY_... */
    uint32_t pacing;            /* PERIGEE_PACING_... */
    uint32_t telemetry;         /* PERIGEE_NEED_... */
    uint32_t tx_bytes_unit;     /* PERIGEE_TX_BYTES_..., with telemetry */
    uint32_t on_rto;            /* PERIGEE_ON_RTO_... */
    uint32_t signal_scope;      /* PERIGEE_SCOPE_... */
    uint32_t ack_every;         /* ACK every n-th full packet; 0 = the host's choice */
    uint32_t min_cwnd;          /* floor of the window in segments */
    uint32_t unpaced_start;     /* the first n packets are not paced even if the rest is */
    uint64_t probe_interval;    /* time between out-of-band probes; 0 = none wanted */
    uint32_t probe_payload;     /* payload of such a probe in bytes */
    uint8_t pint;               /* ports write the record of fixed size (with PERIGEE_NEED_STACK) */
    uint8_t telemetry_on_wire;  /* telemetry bytes are on the wire */
    uint8_t host_restores_cwnd; /* at PERIGEE_UNDO the host restores the window that it saved */
    uint8_t idle_decay;         /* the host decays the window when idle or application-limited */
    uint8_t per_packet;         /* on_sent and perigee_ack_event.acked are wanted */
    uint8_t per_loss;           /* on_loss is wanted */
    uint8_t scalable;           /* ECT(1); it reacts to marks, counted per packet (RFC 9331) */
    uint8_t reserved[5];
} perigee_caps;

/* ---- Functions ------------------------------------------------------------------------------- */

/* Creates a controller of scheme `name` ("cubic", "bbr3", ...; see perigee_cc_schemes_json).
 *
 * params_json: an object of parameters, {"beta": 0.7}; NULL or "" for defaults. Numbers, booleans,
 * words, and times with their unit ("50 ms"). A scheme's file (Astraea's "weights") is given as its
 * content.
 * err: receives the reason of a failure or "", cut to err_len with its zero byte; may be NULL.
 * Returns NULL on failure. */
perigee_cc *perigee_cc_create(const char *name, const char *params_json, const perigee_conn_init *init, char *err,
                              size_t err_len);

/* Destroys a controller; NULL is allowed. */
void perigee_cc_destroy(perigee_cc *cc);

/* Requirements on the host; called once. Set out->size before. */
int32_t perigee_cc_caps(perigee_cc *cc, perigee_caps *out);

/* The connection is established; may change the initial window. */
int32_t perigee_cc_on_start(perigee_cc *cc, const perigee_cx *cx);

/* A packet is about to be sent. *tag (may be NULL) is to be passed with its ACK or loss. */
int32_t perigee_cc_on_sent(perigee_cc *cc, const perigee_cx *cx, const perigee_sent_pkt *packet, uint32_t *tag);

/* An ACK was processed. Once per ACK, after losses and transitions. */
int32_t perigee_cc_on_ack(perigee_cc *cc, const perigee_cx *cx, const perigee_ack_event *event);

/* A packet was marked lost. */
int32_t perigee_cc_on_loss(perigee_cc *cc, const perigee_cx *cx, const perigee_loss_event *event);

/* The transport changed state. */
int32_t perigee_cc_on_transition(perigee_cc *cc, const perigee_cx *cx, const perigee_transition *transition);

/* A packet is about to be sent and nothing is in flight. */
int32_t perigee_cc_on_tx_start(perigee_cc *cc, const perigee_cx *cx);

/* window.next_timer is due. The library clears it first; the controller may set it again. */
int32_t perigee_cc_on_timer(perigee_cc *cc, const perigee_cx *cx);

/* Knowledge from outside the transport. */
int32_t perigee_cc_on_signal(perigee_cc *cc, const perigee_cx *cx, const perigee_signal *signal);

/* The new threshold in bytes, to *out: called once per reduction, before the host reduces. It is
 * returned, not set: the host writes it into window.ssthresh with set_window, for any
 * caps.recovery. */
int32_t perigee_cc_ssthresh(perigee_cc *cc, const perigee_cx *cx, uint64_t *out);

/* Fields for the telemetry header of the next data packet. Set out->size before. */
int32_t perigee_cc_stamp(perigee_cc *cc, perigee_stamp *out);

/* Reads the window. Set out->size before. */
int32_t perigee_cc_get_window(perigee_cc *cc, perigee_window *out);

/* Replaces the window: read it, change what is to change, write it back. */
int32_t perigee_cc_set_window(perigee_cc *cc, const perigee_window *window);

/* The controller's state as JSON (scheme, params, mode, window, probe), cut to len with its zero
 * byte. Returns the full length of the text without the zero byte, or an error. buf may be NULL. */
int64_t perigee_cc_get_state_json(perigee_cc *cc, char *buf, size_t len);

/* Every scheme with its parameters as JSON; otherwise as perigee_cc_get_state_json. */
int64_t perigee_cc_schemes_json(char *buf, size_t len);

/* The library's version, "major.minor.patch". Never freed. */
const char *perigee_cc_version(void);

/* Description of an error code. Never freed. */
const char *perigee_cc_strerror(int32_t code);

#ifdef __cplusplus
}
#endif

#endif
