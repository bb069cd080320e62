// SPDX-License-Identifier: Apache-2.0 OR MIT
// The four cases of bench/peers on ns-3. Arguments: type of TCP (TcpNewReno, TcpCubic, TcpBbr),
// flows, links, Mbit/s of the bottleneck, round-trip time in ms, simulated seconds, 1 for a
// dumbbell (the middle link is the bottleneck; the others have 10 Gbit/s, have the delay and belong
// to one flow each), and 1 to trace RTTs and losses, which costs time. Prints JSON.
//
// Defaults of ns-3 that differ from our hosts are overridden: segments of 1448 bytes (1500 with
// headers and timestamps), the application writes full ones, an ACK after 40 ms at the latest, one
// drop-tail queue per port in bytes without a queue discipline above it, static routes. SACK,
// timestamps, an ACK for every second segment are set although they are defaults. Links add the two
// bytes of PPP to each packet, which rates and queues take into account. The smallest RTO remains
// that of ns-3, 1 s: with Linux's 200 ms the start of its BBR ends with a timeout within the
// recovery, after which it sends some packets a round trip permanently (3.37: 5.7 of 100 Mbit/s),
// and the benchmark would time an idle network.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

constexpr double kPpp = 1502.0 / 1500.0;
constexpr double kAccessMbit = 10e3;
constexpr double kAccessQueueBytes = 100e3 * 1500;
constexpr uint16_t kPort = 5000;

struct Case {
    std::string type;
    int flows, links;
    double mbit, rttMs, seconds;
    bool dumbbell, traced;
    double bdpBytes() const { return mbit * 1e6 / 8 * rttMs * 1e-3; }
};

struct Counts {
    unsigned long long crossed = 0, dropped = 0, samples = 0;
    double rttSumMs = 0;
} counts;

void Crossed(Ptr<const Packet>) { counts.crossed++; }
void Dropped(Ptr<const Packet>) { counts.dropped++; }
void Sampled(Time, Time rtt) {
    counts.samples++;
    counts.rttSumMs += rtt.GetSeconds() * 1e3;
}

double CpuSeconds(bool all) {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    const double user = u.ru_utime.tv_sec + 1e-6 * u.ru_utime.tv_usec;
    return all ? user + u.ru_stime.tv_sec + 1e-6 * u.ru_stime.tv_usec : user;
}

void SetDefaults(const Case &asked) {
    const auto buffer = static_cast<uint32_t>(std::min(8 * asked.bdpBytes() + (1 << 20), 1e9));
    const std::string type = "ns3::" + asked.type;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(type)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
}

// A link between two nodes without a queue discipline above its ports; its two interfaces.
Ipv4InterfaceContainer Connect(Ptr<Node> a, Ptr<Node> b, double mbit, double delayMs, double queueBytes) {
    static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6 * kPpp))));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(static_cast<int64_t>(delayMs * 1e6))));
    const QueueSize room(QueueSizeUnit::BYTES, static_cast<uint32_t>(queueBytes * kPpp));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(room));
    // Whoever has one when addresses are given gets FqCoDel above its device.
    link.DisableFlowControl();
    NetDeviceContainer devices = link.Install(a, b);
    for (uint32_t i = 0; i < devices.GetN(); i++) {
        auto device = DynamicCast<PointToPointNetDevice>(devices.Get(i));
        device->TraceConnectWithoutContext("MacRx", MakeCallback(&Crossed));
        device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    }
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    return interfaces;
}

Ptr<Ipv4StaticRouting> RoutesOf(Ptr<Node> node) { return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>()); }

// From `a` everything unknown goes to `b`.
void RouteByDefault(Ptr<Node> a, const Ipv4InterfaceContainer &link, int end) {
    RoutesOf(a)->SetDefaultRoute(link.GetAddress(1 - end), link.Get(end).second);
}

void TraceRtt(Ptr<BulkSendApplication> source) {
    source->GetSocket()->TraceConnectWithoutContext("RTT", MakeCallback(&Sampled));
}

// A bulk flow between two nodes that starts with its fellows within a millisecond.
Ptr<PacketSink> Flow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, int i, const Case &asked) {
    const auto port = static_cast<uint16_t>(kPort + i);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    source.SetAttribute("SendSize", UintegerValue(1448));
    ApplicationContainer sinkApp = sink.Install(to), sourceApp = source.Install(from);
    const Time start = MicroSeconds(1000 * i / asked.flows);
    sourceApp.Start(start);
    if (asked.traced) {
        auto bulk = DynamicCast<BulkSendApplication>(sourceApp.Get(0));
        Simulator::Schedule(start + NanoSeconds(1), &TraceRtt, bulk);
    }
    return DynamicCast<PacketSink>(sinkApp.Get(0));
}

std::vector<Ptr<PacketSink>> Dumbbell(const Case &asked) {
    NodeContainer routers(2), hosts(2 * asked.flows);
    InternetStackHelper internet;
    internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.Install(routers);
    internet.Install(hosts);
    const auto middle = Connect(routers.Get(0), routers.Get(1), asked.mbit, 0, asked.bdpBytes());
    RouteByDefault(routers.Get(0), middle, 0);
    RouteByDefault(routers.Get(1), middle, 1);
    std::vector<Ptr<PacketSink>> sinks;
    for (int i = 0; i < asked.flows; i++) {
        const auto from = hosts.Get(2 * i), to = hosts.Get(2 * i + 1);
        const auto first = Connect(from, routers.Get(0), kAccessMbit, asked.rttMs / 4, kAccessQueueBytes);
        const auto last = Connect(routers.Get(1), to, kAccessMbit, asked.rttMs / 4, kAccessQueueBytes);
        RouteByDefault(from, first, 0);
        RouteByDefault(to, last, 1);
        sinks.push_back(Flow(from, to, last.GetAddress(1), i, asked));
    }
    return sinks;
}

std::vector<Ptr<PacketSink>> Chain(const Case &asked) {
    NodeContainer routers(asked.links + 1);
    InternetStackHelper internet;
    internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.Install(routers);
    Ipv4InterfaceContainer link, first;
    for (int i = 0; i < asked.links; i++) {
        const auto a = routers.Get(i), b = routers.Get(i + 1);
        link = Connect(a, b, asked.mbit, asked.rttMs / 2 / asked.links, asked.bdpBytes());
        RouteByDefault(a, link, 0);
        if (i == 0) first = link;
        // Back to the first node.
        RoutesOf(b)->AddHostRouteTo(first.GetAddress(0), link.GetAddress(0), link.Get(1).second);
    }
    std::vector<Ptr<PacketSink>> sinks;
    for (int i = 0; i < asked.flows; i++) {
        sinks.push_back(Flow(routers.Get(0), routers.Get(asked.links), link.GetAddress(1), i, asked));
    }
    return sinks;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 9) {
        std::fprintf(stderr, "usage: ns3_cases TYPE FLOWS LINKS MBIT RTT_MS SECONDS DUMBBELL TRACED\n");
        return 2;
    }
    const auto number = [argv](int i) { return std::atof(argv[i]); };
    const Case asked{argv[1],   std::atoi(argv[2]), std::atoi(argv[3]), number(4),
                     number(5), number(6),          number(7) != 0,     number(8) != 0};
    SetDefaults(asked);
    const auto sinks = asked.dumbbell ? Dumbbell(asked) : Chain(asked);
    Simulator::Stop(Seconds(asked.seconds));
    const double begin = CpuSeconds(true), beginUser = CpuSeconds(false);
    Simulator::Run();
    const double cpu = CpuSeconds(true) - begin, user = CpuSeconds(false) - beginUser;
    unsigned long long bytes = 0;
    for (const auto &sink : sinks) bytes += sink->GetTotalRx();
    std::printf("{\"data_packets\": %llu, \"packet_hops\": %llu, \"cpu_s\": %.4f, \"user_s\": %.4f, ", bytes / 1448, counts.crossed, cpu,
                user);
    std::printf("\"goodput_mbps\": %.3f, \"drops\": %llu, \"rtt_ms\": ", bytes * 8 / asked.seconds / 1e6, counts.dropped);
    std::printf(counts.samples ? "%.3f}\n" : "null}\n", counts.rttSumMs / counts.samples);
    Simulator::Destroy();
    return 0;
}
