// SPDX-License-Identifier: Apache-2.0 OR MIT
// The four cases of bench/peers on ns-3. Arguments: type of TCP (TcpNewReno, TcpCubic, TcpBbr), flows, links, Mbit/s of the bottleneck,
// round-trip time in ms, simulated seconds, 1 for a dumbbell (the middle link is the bottleneck, the others are ten times as fast
// and belong to one flow each). Prints JSON. Nothing is traced but the receptions of links, which are counted.

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

static unsigned long long crossed = 0;

static void Crossed(Ptr<const Packet>) { crossed++; }

static double CpuSeconds() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Connects two nodes and gives the link a subnet of its own; the address of the second.
static Ipv4Address Connect(Ptr<Node> a, Ptr<Node> b, double mbit, double delayMs, double queueBytes, Ipv4AddressHelper &addresses) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbit * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(static_cast<int64_t>(delayMs * 1e3))));
    const auto packets = static_cast<uint32_t>(queueBytes / 1500) + 1;
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    NetDeviceContainer devices = link.Install(a, b);
    for (uint32_t i = 0; i < devices.GetN(); i++) {
        devices.Get(i)->TraceConnectWithoutContext("MacRx", MakeCallback(&Crossed));
    }
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    return interfaces.GetAddress(1);
}

int main(int argc, char **argv) {
    if (argc != 8) {
        std::fprintf(stderr, "usage: ns3_cases TYPE FLOWS LINKS MBIT RTT_MS SECONDS DUMBBELL\n");
        return 2;
    }
    const int flows = std::atoi(argv[2]), links = std::atoi(argv[3]);
    const double mbit = std::atof(argv[4]), rttMs = std::atof(argv[5]), seconds = std::atof(argv[6]);
    const bool dumbbell = std::atoi(argv[7]) != 0;
    const double bdp = mbit * 1e6 / 8 * rttMs * 1e-3, delay = rttMs / 2 / links;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(std::string("ns3::") + argv[1])));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(static_cast<uint32_t>(8 * bdp) + (1 << 20)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(static_cast<uint32_t>(8 * bdp) + (1 << 20)));

    // Routers of the links that all flows share.
    const int shared = dumbbell ? 1 : links;
    NodeContainer routers, hosts;
    routers.Create(shared + 1);
    hosts.Create(dumbbell ? 2 * flows : 0);
    InternetStackHelper internet;
    internet.Install(routers);
    internet.Install(hosts);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4Address end;
    for (int i = 0; i < shared; i++) {
        end = Connect(routers.Get(i), routers.Get(i + 1), mbit, delay, bdp, addresses);
    }
    std::vector<Ptr<PacketSink>> sinks;
    for (int i = 0; i < flows; i++) {
        Ptr<Node> from = routers.Get(0), to = routers.Get(shared);
        Ipv4Address address = end;
        if (dumbbell) {
            from = hosts.Get(2 * i);
            to = hosts.Get(2 * i + 1);
            Connect(from, routers.Get(0), 10 * mbit, delay, 10 * bdp, addresses);
            address = Connect(routers.Get(1), to, 10 * mbit, delay, 10 * bdp, addresses);
        }
        const uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer sinkApp = sink.Install(to);
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        ApplicationContainer sourceApp = source.Install(from);
        sourceApp.Start(MicroSeconds(1000 * i / flows));
        sinks.push_back(DynamicCast<PacketSink>(sinkApp.Get(0)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(seconds));
    const double begin = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - begin;
    unsigned long long delivered = 0;
    for (const auto &sink : sinks) delivered += sink->GetTotalRx() / 1448;
    std::printf("{\"data_packets\": %llu, \"packet_hops\": %llu, \"cpu_s\": %.4f}\n", delivered, crossed, cpu);
    Simulator::Destroy();
    return 0;
}
