/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Perigee's congestion controls in UDT 4 (Debian: libudt-dev), whose interface has a class for congestion controls.
 * docs/how-to/quic-stack.md has the mapping of its calls and what it lacks.
 *
 *   perigee_udt::Factory factory("bbr3");
 *   UDT::setsockopt(socket, 0, UDT_CC, &factory, sizeof factory);
 */
#ifndef PERIGEE_UDT_H
#define PERIGEE_UDT_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <perigee_cc.h>
#include <stdexcept>
#include <string>
#include <udt/ccc.h>
#include <udt/udt.h>
#include <vector>

namespace perigee_udt {

/* Headers of IPv4, UDP and UDT (draft-gg-udt-03, section 3.1) within UDT's maximum packet size. */
const int HEADERS = 20 + 8 + 16;
const uint64_t FIRST_PACKETS = 10, LEAST_PACKETS = 2;
/* Packets per ACK of the receiver. */
const int ACK_EVERY = 2;

/* A structure of the library, cleared and with its size. */
template <class T> T sized() {
    T value = T();
    value.size = sizeof value;
    return value;
}

/* State of the connection and the window, for observers. */
struct Report {
    uint64_t delivered, window, srtt_ns; /* bytes, bytes, ns */
    uint64_t sent, lost, timeouts;       /* packets, packets, times */
    std::string error;                   /* of the library; empty = none */
};

/* The controller of a connection: one per socket, on both sides, since the receiver's sets the rate of ACKs. */
class Controller : public CCC {
  public:
    Controller(const std::string &scheme, const std::string &params) : scheme_(scheme), params_(params) {}
    ~Controller() { perigee_cc_destroy(cc_); }
    Controller(const Controller &) = delete;
    Controller &operator=(const Controller &) = delete;

    /* Creates a controller of the library. Throws std::invalid_argument with the reason. */
    static perigee_cc *created(const std::string &scheme, const std::string &params, uint32_t mss, perigee_caps *caps) {
        char err[256];
        perigee_conn_init init = sized<perigee_conn_init>();
        init.mss = mss, init.init_cwnd = FIRST_PACKETS * mss;
        perigee_cc *cc = perigee_cc_create(scheme.c_str(), params.c_str(), &init, err, sizeof err);
        if (!cc) throw std::invalid_argument(err);
        *caps = sized<perigee_caps>();
        perigee_cc_caps(cc, caps);
        if (caps->telemetry != PERIGEE_NEED_NONE) {
            perigee_cc_destroy(cc);
            throw std::invalid_argument(scheme + " needs telemetry, which UDT does not carry");
        }
        return cc;
    }

    Report report() {
        std::lock_guard<std::mutex> guard(lock_);
        return Report{cx_.delivered, w_.cwnd, cx_.srtt, sent_, lost_, timeouts_, error_};
    }

    void init() override {
        std::lock_guard<std::mutex> guard(lock_);
        cx_.mss = static_cast<uint32_t>(m_iMSS - HEADERS);
        cx_.paced = 1;
        cc_ = created(scheme_, params_, cx_.mss, &caps_);
        check(perigee_cc_on_start(cc_, &cx_));
        setACKInterval(ACK_EVERY);
        apply();
    }

    void onPktSent(const CPacket *packet) override {
        std::lock_guard<std::mutex> guard(lock_);
        const uint64_t bytes = cx_.mss; /* the length of a packet is not part of the interface */
        advance();
        if (sent_++ == 0) first_ = packet->m_iSeqNo, next_ = una_ = 0;
        const uint64_t number = unwrapped(packet->m_iSeqNo);
        if (number > next_ || number < una_) return;
        if (cx_.outstanding == 0) {
            first_sent_ = cx_.delivered_time = cx_.now;
            check(perigee_cc_on_tx_start(cc_, &cx_));
        }
        perigee_sent_pkt event = sized<perigee_sent_pkt>();
        event.bytes = static_cast<uint32_t>(bytes), event.retrans = number < next_;
        event.seq = number < next_ ? packets_[number - una_].seq : cx_.snd_nxt;
        uint32_t tag = 0;
        if (caps_.per_packet) check(perigee_cc_on_sent(cc_, &cx_, &event, &tag));
        if (number == next_) {
            next_++, cx_.snd_nxt += bytes;
            packets_.push_back(Packet());
            packets_.back().seq = event.seq;
            cx_.in_flight += bytes, cx_.outstanding += bytes;
        } else if (packets_[number - una_].lost) {
            cx_.in_flight += bytes, waiting_--;
        }
        Packet &p = packets_[number - una_];
        if (p.arrived) return;
        p.bytes = bytes, p.sent = cx_.now, p.first_sent = first_sent_, p.tag = tag;
        p.delivered = cx_.delivered, p.delivered_time = cx_.delivered_time;
        p.lost_before = cx_.lost, p.in_flight = cx_.in_flight;
        p.retrans = event.retrans, p.lost = false;
        cx_.last_sent = cx_.now;
        peak_ = std::max(peak_, cx_.outstanding);
        apply();
    }

    void onACK(int32_t ack) override {
        std::lock_guard<std::mutex> guard(lock_);
        if (sent_ == 0) return;
        advance();
        const uint64_t end = unwrapped(ack);
        if (end > next_ || end <= una_) return;
        const uint64_t in_flight = cx_.in_flight;
        Covered covered = Covered();
        for (; una_ < end; una_++, packets_.pop_front()) {
            Packet &p = packets_.front();
            cx_.outstanding -= p.bytes;
            if (p.lost) waiting_--;
            if (!p.arrived) arrive(p, covered);
        }
        cx_.snd_una = cx_.snd_nxt - cx_.outstanding;
        conclude(covered, in_flight);
        apply();
    }

    /* Numbers, or pairs of the first number with its top bit set and the last (draft-gg-udt-03, appendix A). The receiver
     * reports a gap when a packet after it arrives: all packets up to that one that are in no report have arrived. */
    void onLoss(const int32_t *list, int size) override {
        std::lock_guard<std::mutex> guard(lock_);
        advance();
        const uint64_t in_flight = cx_.in_flight;
        uint64_t newest = 0, end = 0;
        for (int i = 0; i < size; i++) {
            const bool range = list[i] < 0 && i + 1 < size;
            const uint64_t from = unwrapped(list[i] & INT32_MAX), to = range ? unwrapped(list[++i]) : from;
            for (uint64_t n = std::max(from, una_); n <= to && n < next_; n++) newest = std::max(newest, lose(n, false));
            if (to < next_) end = std::max(end, to + 2);
        }
        Covered covered = Covered();
        for (uint64_t n = una_; n < std::min(end, next_); n++) {
            Packet &p = packets_[n - una_];
            if (!p.lost && !p.retrans && !p.arrived) arrive(p, covered);
        }
        if (newest > recovery_start_) reduce(PERIGEE_ENTER_RECOVERY, PERIGEE_CA_RECOVERY);
        conclude(covered, in_flight);
        apply();
    }

    /* UDT sends everything unacknowledged again (draft-gg-udt-03, section 6.1). */
    void onTimeout() override {
        std::lock_guard<std::mutex> guard(lock_);
        timeouts_++;
        advance();
        uint64_t newest = 0;
        for (uint64_t n = una_; n < next_; n++) newest = std::max(newest, lose(n, true));
        if (newest > 0) reduce(PERIGEE_ENTER_RTO, PERIGEE_CA_LOSS);
        apply();
    }

  private:
    /* A packet, with the connection's state when it was last sent. */
    struct Packet {
        uint64_t seq, bytes, sent, first_sent, delivered, delivered_time, lost_before, in_flight;
        uint32_t tag;
        bool retrans, lost, arrived;
    };

    /* What a report of the receiver newly covers. */
    struct Covered {
        uint64_t bytes;
        Packet newest;
        bool unclear; /* a packet was sent twice: no sample of the RTT (RFC 6298, section 3) */
    };

    void check(int32_t code) {
        if (code != 0 && error_.empty()) error_ = perigee_cc_strerror(code);
    }

    /* Time of this call. UDT has no timers for controllers: one that is due is called with the next event. */
    void advance() {
        const auto since = std::chrono::steady_clock::now() - start_;
        const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
        cx_.now = cx_.edt = std::max<uint64_t>(cx_.now, static_cast<uint64_t>(ns) + 1);
        if (w_.next_timer != 0 && w_.next_timer <= cx_.now) {
            check(perigee_cc_on_timer(cc_, &cx_));
            read();
        }
    }

    /* Number of a packet from 0, from UDT's 31 bits: the one nearest to the next new packet. */
    uint64_t unwrapped(int32_t seq) const {
        const uint32_t ahead = static_cast<uint32_t>(seq) - static_cast<uint32_t>(first_) - static_cast<uint32_t>(next_);
        const int32_t signed_ahead = static_cast<int32_t>(ahead << 1) / 2;
        return next_ + static_cast<uint64_t>(static_cast<int64_t>(signed_ahead));
    }

    uint64_t sampled(uint64_t rtt) {
        cx_.srtt = cx_.srtt ? (7 * cx_.srtt + rtt) / 8 : rtt; /* RFC 6298 */
        cx_.min_rtt = cx_.min_rtt ? std::min(cx_.min_rtt, rtt) : rtt;
        return rtt;
    }

    /* Delivery rate (draft-cheng-iccrg-delivery-rate-estimation), from the newest packet of an ACK. */
    perigee_rate_sample sample(const Packet &p) const {
        perigee_rate_sample rs = sized<perigee_rate_sample>();
        rs.send_elapsed = p.sent - p.first_sent, rs.ack_elapsed = cx_.now - p.delivered_time;
        rs.interval = std::max(rs.send_elapsed, rs.ack_elapsed);
        rs.valid = rs.interval > 0 && rs.interval >= cx_.min_rtt;
        rs.has_prior = 1, rs.is_retrans = p.retrans;
        rs.delivered = cx_.delivered - p.delivered, rs.prior_delivered = p.delivered;
        rs.lost_since_tx = cx_.lost - p.lost_before, rs.tx_in_flight = p.in_flight;
        return rs;
    }

    /* Marks a packet lost; when it was sent, or 0 if that is not new. */
    uint64_t lose(uint64_t number, bool timeout) {
        Packet &p = packets_[number - una_];
        /* The receiver repeats its reports: one that is older than a retransmission does not concern it. */
        if (p.lost || p.arrived || (!timeout && p.retrans && cx_.now - p.sent < cx_.srtt)) return 0;
        p.lost = true, lost_++, waiting_++;
        cx_.lost += p.bytes, cx_.in_flight -= p.bytes, newly_lost_ += p.bytes;
        if (caps_.per_loss) {
            perigee_loss_event event = sized<perigee_loss_event>();
            event.kind = timeout ? PERIGEE_LOSS_RTO : PERIGEE_LOSS_RACK;
            event.bytes = p.bytes, event.lost_total = cx_.lost, event.tag = p.tag;
            event.tx_sent = p.sent, event.tx_first_sent = p.first_sent;
            event.tx_delivered = p.delivered, event.tx_delivered_time = p.delivered_time;
            event.tx_lost = p.lost_before, event.tx_in_flight = p.in_flight;
            check(perigee_cc_on_loss(cc_, &cx_, &event));
        }
        return p.sent;
    }

    void arrive(Packet &p, Covered &covered) {
        if (!p.lost) cx_.in_flight -= p.bytes;
        p.arrived = true;
        cx_.delivered += p.bytes, covered.bytes += p.bytes;
        covered.unclear = covered.unclear || p.retrans || p.lost;
        if (p.sent >= covered.newest.sent) covered.newest = p;
        if (!caps_.per_packet) return;
        perigee_acked_pkt one = sized<perigee_acked_pkt>();
        one.tag = p.tag, one.sent = p.sent, one.bytes = static_cast<uint32_t>(p.bytes);
        one.rtt = p.retrans || p.lost ? 0 : cx_.now - p.sent;
        acked_.push_back(one);
    }

    /* Reports what has newly arrived, after losses and reductions. */
    void conclude(const Covered &covered, uint64_t prior_in_flight) {
        if (covered.bytes == 0) return;
        perigee_ack_event event = sized<perigee_ack_event>();
        event.newly_acked = covered.bytes, event.newly_lost = newly_lost_, newly_lost_ = 0;
        event.prior_in_flight = prior_in_flight;
        event.newly_cum_acked = cx_.snd_una - reported_una_, reported_una_ = cx_.snd_una;
        cx_.delivered_time = cx_.now;
        if (!covered.unclear) event.rtt = event.seq_rtt = sampled(cx_.now - covered.newest.sent);
        if (cx_.ca != PERIGEE_CA_OPEN && covered.newest.sent > recovery_start_)
            transition(cx_.ca == PERIGEE_CA_LOSS ? PERIGEE_EXIT_RTO : PERIGEE_EXIT_RECOVERY, PERIGEE_CA_OPEN);
        const uint64_t near = w_.cwnd < w_.ssthresh ? w_.cwnd / 2 : 4 * uint64_t(cx_.mss);
        cx_.cwnd_limited = peak_ + near >= w_.cwnd, peak_ = cx_.outstanding;
        const perigee_rate_sample rs = sample(covered.newest);
        event.rs = &rs, event.may_grow = cx_.ca == PERIGEE_CA_OPEN;
        event.acked = acked_.data(), event.acked_count = acked_.size();
        check(perigee_cc_on_ack(cc_, &cx_, &event));
        acked_.clear(), first_sent_ = covered.newest.sent;
    }

    void transition(uint32_t kind, uint32_t ca) {
        perigee_transition event = sized<perigee_transition>();
        event.kind = kind, cx_.ca = ca;
        check(perigee_cc_on_transition(cc_, &cx_, &event));
        read();
    }

    void reduce(uint32_t kind, uint32_t ca) {
        read();
        check(perigee_cc_ssthresh(cc_, &cx_, &w_.ssthresh));
        const uint64_t least = LEAST_PACKETS * cx_.mss;
        if (ca == PERIGEE_CA_LOSS && caps_.on_rto == PERIGEE_ON_RTO_IN_FLIGHT_PLUS_ONE) w_.cwnd = least;
        if (ca == PERIGEE_CA_RECOVERY && caps_.recovery == PERIGEE_RECOVERY_PRR) w_.cwnd = std::max(w_.ssthresh, least);
        check(perigee_cc_set_window(cc_, &w_));
        recovery_start_ = cx_.now;
        transition(kind, ca);
    }

    void read() { check(perigee_cc_get_window(cc_, &w_)); }

    /* Window and pacing to UDT: packets, and microseconds between them. */
    void apply() {
        read();
        if (w_.mark_app_limited) {
            w_.mark_app_limited = 0;
            check(perigee_cc_set_window(cc_, &w_));
        }
        const double mss = cx_.mss, window = static_cast<double>(w_.cwnd) / mss;
        m_dCWndSize = std::max(window, static_cast<double>(LEAST_PACKETS));
        /* Without a rate of the controller: 1.25 windows per RTT (RFC 9002, 7.7), 2 in slow start. */
        const double gain = w_.cwnd < w_.ssthresh ? 2.0 : 1.25;
        const double own = cx_.srtt ? static_cast<double>(cx_.srtt) / 1e3 / (gain * m_dCWndSize) : 0.0;
        m_dPktSndPeriod = w_.pacing ? mss * 8e6 / static_cast<double>(w_.pacing) : own;
        /* UDT's window does not limit retransmissions. */
        if (waiting_ > 0) m_dPktSndPeriod = std::max(m_dPktSndPeriod, static_cast<double>(cx_.srtt) / 1e3 / m_dCWndSize);
    }

    std::string scheme_, params_, error_;
    std::mutex lock_; /* UDT calls from its threads for sending and for receiving */
    perigee_cc *cc_ = nullptr;
    perigee_caps caps_ = sized<perigee_caps>();
    perigee_cx cx_ = sized<perigee_cx>();
    perigee_window w_ = sized<perigee_window>();
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::deque<Packet> packets_; /* from una_ to next_ */
    std::vector<perigee_acked_pkt> acked_;
    int32_t first_ = 0; /* UDT's number of the first packet */
    uint64_t una_ = 0, next_ = 0, first_sent_ = 0, recovery_start_ = 0, newly_lost_ = 0, peak_ = 0;
    uint64_t reported_una_ = 0;
    uint64_t sent_ = 0, lost_ = 0, timeouts_ = 0;
    uint64_t waiting_ = 0; /* packets lost and not yet sent again */
};

/* Makes a controller per connection; UDT copies it with clone(). */
class Factory : public CCCVirtualFactory {
  public:
    /* Throws std::invalid_argument if the library has no such scheme, or UDT cannot carry it. */
    explicit Factory(const std::string &scheme, const std::string &params = "") : scheme_(scheme), params_(params) {
        perigee_caps caps;
        perigee_cc_destroy(Controller::created(scheme, params, 1456, &caps));
    }
    CCC *create() override { return new Controller(scheme_, params_); }
    CCCVirtualFactory *clone() override { return new Factory(*this); }

  private:
    std::string scheme_, params_;
};

}
#endif
