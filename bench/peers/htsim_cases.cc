// SPDX-License-Identifier: Apache-2.0 OR MIT
// The four cases of bench/peers on htsim: flows over a chain of links, each a queue and a pipe.
// Arguments: flows, links, Mbit/s of the bottleneck, round-trip time in ms, simulated seconds, 1
// for a dumbbell (the middle link is the bottleneck, the others are ten times as fast and belong to
// one flow each). Prints JSON. No loggers; as htsim's TCP is: without SACK, an ACK for each packet.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

static double cpu_s() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// A link: its queue and its propagation delay.
struct Link {
    Queue *queue;
    Pipe *pipe;
    Link(double mbit, mem_b limit, double delay_ms, EventList &events)
        : queue(new Queue(speedFromMbps(mbit), limit, events, nullptr)),
          pipe(new Pipe(timeFromMs(delay_ms), events)) {}
    void append_to(Route *route) const {
        route->push_back(queue);
        route->push_back(pipe);
    }
};

int main(int argc, char **argv) {
    if (argc != 7) {
        std::fprintf(stderr, "usage: htsim_cases FLOWS LINKS MBIT RTT_MS SECONDS DUMBBELL\n");
        return 2;
    }
    const int flows = std::atoi(argv[1]), links = std::atoi(argv[2]);
    const double mbit = std::atof(argv[3]), rtt_ms = std::atof(argv[4]), seconds = std::atof(argv[5]);
    const bool dumbbell = std::atoi(argv[6]) != 0;
    const int packet = 1500;
    // Its output on connections would be timed as well.
    std::cout.setstate(std::ios::failbit);

    EventList &events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(packet);
    const mem_b bdp = static_cast<mem_b>(mbit * 1e6 / 8 * rtt_ms * 1e-3);
    const double delay = rtt_ms / 2 / links;

    // Links that all share, in both directions; those of a dumbbell that do not are made below.
    std::vector<Link> there, back;
    for (int i = 0; i < (dumbbell ? 1 : links); i++) {
        there.emplace_back(mbit, bdp, delay, events);
        back.emplace_back(mbit, bdp, delay, events);
    }
    TcpRtxTimerScanner timers(timeFromMs(10.0), events);
    std::vector<TcpSink *> sinks;
    auto way = [&](const std::vector<Link> &shared) {
        Route *route = new Route();
        if (dumbbell) Link(10 * mbit, 10 * bdp, delay, events).append_to(route);
        for (const Link &link : shared) link.append_to(route);
        if (dumbbell) Link(10 * mbit, 10 * bdp, delay, events).append_to(route);
        return route;
    };
    for (int i = 0; i < flows; i++) {
        TcpSrc *source = new TcpSrc(nullptr, nullptr, events);
        TcpSink *sink = new TcpSink();
        source->set_ssthresh(0xffffffffu);
        timers.registerTcp(*source);
        Route *out = way(there), *in = way(back);
        out->push_back(sink);
        in->push_back(source);
        source->connect(*out, *in, *sink, timeFromMs(1.0 * i / flows));
        sinks.push_back(sink);
    }
    const double begin = cpu_s();
    while (EventList::doNextEvent()) {
    }
    const double cpu = cpu_s() - begin;
    unsigned long long delivered = 0;
    for (const TcpSink *sink : sinks) delivered += sink->_packets / packet;
    // Each packet that arrived and its ACK crossed all links; those lost or in flight are not
    // counted.
    std::printf("{\"data_packets\": %llu, \"packet_hops\": %llu, \"cpu_s\": %.4f}\n", delivered, 2 * delivered * links, cpu);
    return 0;
}
