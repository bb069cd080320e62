// SPDX-License-Identifier: Apache-2.0 OR MIT
// The meter of an egress port for OrbCC, in P4_16 for the v1model architecture: integers only, no multiplication, no
// division, no loop. It is the exact documentation of perigee_telemetry::integer; tests/p4 runs its controls beside that one
// and compares every record bit by bit.
//
// One egress port. A switch has one set of these registers per port, indexed by it. In v1model both pipelines reach all
// registers; where they do not, Enqueue moves into the egress pipeline (packets that the queue drops are then not counted).
//
// The control plane fills registers once: log_table[i] = round(4096 log2(1 + i/2048)), exp_table[i] =
// round(32768 * 2^(i/4096)), the constants of the port, and 1 in flow_count and interval_number. When interval_number has come round to 0 (65,535 intervals: some
// 65 s at a mean RTT of 1 ms) it writes 0 into all cells and 1 into interval_number.

#include <core.p4>
#include <v1model.p4>

// ---- What is on the wire ------------------------------------------------------------------------------------------------

const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<8> NEXT_HOP_BY_HOP = 0;
const bit<8> NEXT_TCP = 6;
// Experimental option that routers may change and skip if they do not know it (RFC 4727).
const bit<8> OPTION_TELEMETRY = 0x3e;
const bit<4> VERSION = 1;
const bit<16> IPV6_BYTES = 40;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header ipv6_t {
    bit<4> version;
    bit<8> traffic_class;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> source;
    bit<128> destination;
}

// Extension header and option header; length in units of 8 bytes beyond the first 8.
header option_t {
    bit<8> next_header;
    bit<8> length;
    bit<8> type;
    bit<8> bytes;
}

header block_t {
    bit<4> version;
    bit<8> hops;
    bit<16> path_id;
    bit<20> base_rtt;
    bit<16> cwnd;
}

// 17 bytes. The sender has reserved room for as many as its path has hops.
header record_t {
    bit<24> ts;
    bit<16> bw;
    bit<16> q_out;
    bit<16> q_in;
    bit<28> tx;
    bit<20> avg_rtt;
    bit<12> flows;
    bit<4> flags;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> seq;
    bit<32> ack;
    bit<4> data_offset;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers_t {
    ethernet_t ethernet;
    ipv6_t ipv6;
    option_t option;
    block_t block;
    record_t[14] done;
    record_t record;
}

struct metadata_t {
    bit<1> metered;
    bit<8> left;
    bit<16> hash;
    bit<16> payload;
}

// ---- State of the port --------------------------------------------------------------------------------------------------

register<bit<64>>(1) sum_a;
register<bit<64>>(1) sum_b;
register<bit<48>>(1) deadline;
register<bit<20>>(1) avg_rtt;
register<bit<12>>(1) flow_count;
register<bit<1>>(1) saturated;
register<bit<16>>(1) interval_number;
register<bit<17>>(1) occupied;
register<bit<31>>(1) tx_bytes;
register<bit<16>>(65536) cells;

// Shared by all ports.
register<bit<16>>(2048) log_table;
register<bit<16>>(4096) exp_table;

// Of the port: its rate in kbit/s as uf16, the id of its switch, and bytes of framing that a packet has on the link beside IP.
register<bit<16>>(1) bw_code;
register<bit<16>>(1) switch_id;
register<bit<16>>(1) framing;

const bit<48> FIRST_INTERVAL = 10000;
const int<32> SHIFT_A = 98304;      // 24 * 4096
const int<32> SHIFT_B = 40960;      // 10 * 4096
const int<32> SHIFT_AB = 57344;     // 14 * 4096
const int<32> LG_2M = 69632;        // 4096 log2(2 * 65536)
const int<32> LG_3MM = 137564;      // 4096 log2(3 * 65536^2), rounded
const bit<20> RTT_MAX = 0xfffff;
const bit<64> FLOWS_MAX = 4095;

// ---- Arithmetic ---------------------------------------------------------------------------------------------------------

// 4096 log2 of a 64-bit word above zero. Where shifts by a variable are not to be had: a table with a row per leading bit.
control Log(in bit<64> x, out int<32> result) {
    apply {
        bit<8> place = 0;
        bit<64> y = x;
        if ((y >> 32) != 0) { place = place + 32; y = y >> 32; }
        if ((y >> 16) != 0) { place = place + 16; y = y >> 16; }
        if ((y >> 8) != 0) { place = place + 8; y = y >> 8; }
        if ((y >> 4) != 0) { place = place + 4; y = y >> 4; }
        if ((y >> 2) != 0) { place = place + 2; y = y >> 2; }
        if ((y >> 1) != 0) { place = place + 1; }
        bit<64> aligned;
        if (place > 11) {
            bit<8> shift = place - 11;
            bit<64> half = ((bit<64>)1 << shift) >> 1;
            aligned = (x + half) >> shift;
        } else {
            aligned = x << (11 - place);
        }
        // Rounding may carry into the next power of two.
        bit<32> index = (bit<32>)(aligned[10:0]);
        if (aligned[12:12] == 1) {
            place = place + 1;
            index = 0;
        }
        bit<16> fraction;
        log_table.read(fraction, index);
        result = (int<32>)(((bit<32>)place << 12) + (bit<32>)fraction);
    }
}

// 4096 log2 of a uf16 code above zero: five bits of exponent, eleven of mantissa.
control LogCode(in bit<16> code, out int<32> result) {
    Log() lg;
    apply {
        bit<5> exponent = code[15:11];
        if (exponent == 0) {
            lg.apply((bit<64>)code, result);
        } else {
            bit<16> fraction;
            log_table.read(fraction, (bit<32>)(code[10:0]));
            result = (int<32>)((((bit<32>)exponent + 10) << 12) + (bit<32>)fraction);
        }
    }
}

// 2^(l/4096), rounded down: zero below zero, at most 2^62.
control Exp(in int<32> l, out bit<64> result) {
    apply {
        if (l < 0) {
            result = 0;
        } else {
            bit<32> bits = (bit<32>)l;
            bit<8> whole = bits[19:12];
            bit<16> mantissa;
            exp_table.read(mantissa, (bit<32>)(bits[11:0]));
            if (whole < 16) {
                result = (bit<64>)mantissa >> (15 - whole);
            } else if (whole < 62) {
                result = (bit<64>)mantissa << (whole - 15);
            } else {
                result = (bit<64>)1 << 62;
            }
        }
    }
}

// uf16 of a queue in bytes: below 2048 itself, else the eleven bits behind the leading one, rounded.
control Code(in bit<32> bytes, out bit<16> code) {
    apply {
        bit<8> place = 0;
        bit<32> y = bytes;
        if ((y >> 16) != 0) { place = place + 16; y = y >> 16; }
        if ((y >> 8) != 0) { place = place + 8; y = y >> 8; }
        if ((y >> 4) != 0) { place = place + 4; y = y >> 4; }
        if ((y >> 2) != 0) { place = place + 2; y = y >> 2; }
        if ((y >> 1) != 0) { place = place + 1; }
        if (place < 11) {
            code = bytes[15:0];
        } else {
            bit<8> shift = place - 11;
            bit<33> half = ((bit<33>)1 << shift) >> 1;
            bit<33> mantissa = ((bit<33>)bytes + half) >> shift;
            code = ((bit<16>)(shift + 1) << 11) + ((bit<16>)mantissa - 2048);
        }
    }
}

// ---- The timer ----------------------------------------------------------------------------------------------------------

// The interval that ends at `end` is complete: publishes, clears, and returns the end of the next one; 0 turns the timer off.
control Expire(in bit<48> end, out bit<48> next) {
    Log() lg;
    Exp() exp;
    apply {
        bit<64> a;
        bit<64> b;
        sum_a.read(a, 0);
        sum_b.read(b, 0);
        if (a == 0) {
            next = 0;
        } else {
            if (b == 0) { b = 1; }
            int<32> lg_a;
            int<32> lg_b;
            bit<64> mean;
            lg.apply(a, lg_a);
            lg.apply(b, lg_b);
            exp.apply(lg_b - lg_a + SHIFT_AB, mean);
            bit<20> rtt = RTT_MAX;
            if (mean == 0) { rtt = 1; } else if (mean < (bit<64>)RTT_MAX) { rtt = mean[19:0]; }
            avg_rtt.write(0, rtt);

            // n + n^2/2m + n^3/3m^2 flows hash into n of m cells.
            bit<17> n;
            occupied.read(n, 0);
            bit<64> distinct = 0;
            if (n != 0) {
                int<32> lg_n;
                bit<64> pairs;
                bit<64> triples;
                lg.apply((bit<64>)n, lg_n);
                exp.apply(lg_n + lg_n - LG_2M, pairs);
                exp.apply(lg_n + lg_n + lg_n - LG_3MM, triples);
                distinct = (bit<64>)n + pairs + triples;
            }
            if (distinct > FLOWS_MAX) {
                flow_count.write(0, 4095);
                saturated.write(0, 1);
            } else {
                flow_count.write(0, distinct[11:0]);
                saturated.write(0, 0);
            }

            sum_a.write(0, 0);
            sum_b.write(0, 0);
            occupied.write(0, 0);
            bit<16> number;
            interval_number.read(number, 0);
            interval_number.write(0, number + 1);
            next = end + (bit<48>)rtt;
        }
    }
}

// Lets the timer expire as often as it would have by `now`: at most twice, for an interval that begins at an expiry is
// empty when it ends without a packet.
control Advance(in bit<48> now) {
    Expire() expire;
    apply {
        bit<48> end;
        deadline.read(end, 0);
        if (end != 0 && end <= now) {
            bit<48> next;
            expire.apply(end, next);
            if (next != 0 && next <= now) {
                bit<48> after;
                expire.apply(next, after);
                next = after;
            }
            deadline.write(0, next);
        }
    }
}

// ---- Packets ------------------------------------------------------------------------------------------------------------

// A packet with a telemetry header is about to be queued.
control Enqueue(inout headers_t hdr, inout metadata_t meta, in bit<48> now) {
    Advance() advance;
    Log() lg;
    LogCode() lg_code;
    Exp() exp;
    apply {
        advance.apply(now);
        bit<48> end;
        deadline.read(end, 0);
        if (end == 0) {
            bit<20> rtt;
            avg_rtt.read(rtt, 0);
            if (rtt == 0) {
                deadline.write(0, now + FIRST_INTERVAL);
            } else {
                deadline.write(0, now + (bit<48>)rtt);
            }
        }

        if (hdr.block.base_rtt != 0 && hdr.block.cwnd != 0 && meta.payload != 0) {
            int<32> lg_r;
            int<32> lg_s;
            int<32> lg_w;
            lg.apply((bit<64>)hdr.block.base_rtt, lg_r);
            lg.apply((bit<64>)meta.payload, lg_s);
            lg_code.apply(hdr.block.cwnd, lg_w);
            int<32> weight = lg_s + lg_r - lg_w;
            bit<64> more_a;
            bit<64> more_b;
            exp.apply(weight + SHIFT_A, more_a);
            exp.apply(weight + lg_r + SHIFT_B, more_b);
            bit<64> a;
            bit<64> b;
            sum_a.read(a, 0);
            sum_b.read(b, 0);
            sum_a.write(0, a |+| more_a);
            sum_b.write(0, b |+| more_b);
        }

        bit<16> number;
        bit<16> seen;
        interval_number.read(number, 0);
        cells.read(seen, (bit<32>)meta.hash);
        if (seen != number) {
            cells.write((bit<32>)meta.hash, number);
            bit<17> n;
            occupied.read(n, 0);
            occupied.write(0, n + 1);
        }
    }
}

// The packet was just taken out of the queue, which held `found` bytes when it came and holds `left` now: writes its record.
// `bytes` are those of the packet that the port counts.
control Dequeue(inout headers_t hdr, in bit<48> now, in bit<32> found, in bit<32> left, in bit<31> bytes) {
    Advance() advance;
    Code() code;
    apply {
        advance.apply(now);
        bit<31> sent;
        tx_bytes.read(sent, 0);
        sent = sent + bytes;
        tx_bytes.write(0, sent);

        bit<20> rtt;
        bit<12> flows;
        bit<1> flag;
        bit<16> rate;
        bit<16> id;
        avg_rtt.read(rtt, 0);
        flow_count.read(flows, 0);
        saturated.read(flag, 0);
        bw_code.read(rate, 0);
        switch_id.read(id, 0);
        bit<16> q_in;
        bit<16> q_out;
        code.apply(found, q_in);
        code.apply(left, q_out);
        hdr.record.ts = now[23:0];
        hdr.record.bw = rate;
        hdr.record.q_out = q_out;
        hdr.record.q_in = q_in;
        hdr.record.tx = sent[30:3];
        hdr.record.avg_rtt = rtt;
        hdr.record.flows = flows;
        hdr.record.flags = (bit<4>)flag;
        hdr.block.hops = hdr.block.hops + 1;
        hdr.block.path_id = hdr.block.path_id ^ id;
    }
}

// ---- The program around them --------------------------------------------------------------------------------------------

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            NEXT_HOP_BY_HOP: option;
            default: accept;
        }
    }
    state option {
        packet.extract(hdr.option);
        transition select(hdr.option.type, hdr.option.next_header) {
            (OPTION_TELEMETRY, NEXT_TCP): block;
            default: accept;
        }
    }
    state block {
        packet.extract(hdr.block);
        meta.left = hdr.block.hops;
        transition select(hdr.block.version) {
            VERSION: records;
            default: accept;
        }
    }
    state records {
        transition select(meta.left) {
            0: room;
            default: one;
        }
    }
    state one {
        packet.extract(hdr.done.next);
        meta.left = meta.left - 1;
        transition records;
    }
    // The first room that nobody has written into; a sender that reserved too little gets no record.
    state room {
        transition select((bit<16>)hdr.option.bytes >=
                          25 + ((bit<16>)hdr.block.hops << 4) + (bit<16>)hdr.block.hops) {
            true: slot;
            default: accept;
        }
    }
    state slot {
        packet.extract(hdr.record);
        meta.metered = 1;
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Enqueue() enqueue;
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv6.destination: lpm; }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }
    apply {
        routes.apply();
        if (meta.metered == 1) {
            // TCP's header is 8 words with time stamps, as all packets of these flows have it. The extension header is
            // 8 + 8 * length bytes.
            meta.payload = hdr.ipv6.payload_length - 8 - ((bit<16>)hdr.option.length << 3) - 32;
            // The flow label stands for the two ports (RFC 6437): they lie behind a block of any length.
            hash(meta.hash, HashAlgorithm.crc16, (bit<16>)0,
                 { hdr.ipv6.source, hdr.ipv6.destination, hdr.ipv6.flow_label }, (bit<32>)65536);
            enqueue.apply(hdr, meta, standard.ingress_global_timestamp);
        }
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Dequeue() dequeue;
    apply {
        if (meta.metered == 1) {
            bit<16> more;
            framing.read(more, 0);
            bit<31> bytes = (bit<31>)IPV6_BYTES + (bit<31>)hdr.ipv6.payload_length + (bit<31>)more;
            // The reference switch of v1model counts its queues in packets; a target for this meter counts bytes.
            dequeue.apply(hdr, standard.egress_global_timestamp, (bit<32>)standard.enq_qdepth,
                          (bit<32>)standard.deq_qdepth, bytes);
        }
    }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.option);
        packet.emit(hdr.block);
        packet.emit(hdr.done);
        packet.emit(hdr.record);
    }
}

V1Switch(Parse(), Verify(), Ingress(), Egress(), Compute(), Deparse()) main;
