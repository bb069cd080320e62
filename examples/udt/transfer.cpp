/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A transfer over UDT with a congestion control of Perigee (perigee_udt.h).
 *
 *   transfer server PORT
 *   transfer client HOST PORT SECONDS SCHEME [PARAMS]
 */
#include "perigee_udt.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netdb.h>

using Clock = std::chrono::steady_clock;

static const int CHUNK = 1 << 16;
/* UDT's largest packet, by the headers of IPv4: 1500 bytes with those of IPv6. */
static const int MSS = 1480;

static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

static void must(int code, const char *what) {
    if (code != UDT::ERROR) return;
    std::fprintf(stderr, "%s: %s\n", what, UDT::getlasterror().getErrorMessage());
    std::exit(1);
}

static addrinfo *address(const char *host, const char *port) {
    addrinfo hints = addrinfo(), *found = nullptr;
    hints.ai_family = AF_INET6, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = host ? AI_V4MAPPED : AI_PASSIVE;
    if (const int code = getaddrinfo(host, port, &hints, &found)) {
        std::fprintf(stderr, "%s: %s\n", host ? host : port, gai_strerror(code));
        std::exit(1);
    }
    return found;
}

static UDTSOCKET opened(const addrinfo *at, perigee_udt::Factory *factory) {
    const UDTSOCKET socket = UDT::socket(at->ai_family, SOCK_STREAM, 0);
    must(UDT::setsockopt(socket, 0, UDT_CC, factory, sizeof *factory), "UDT_CC");
    must(UDT::setsockopt(socket, 0, UDT_MSS, &MSS, sizeof MSS), "UDT_MSS");
    return socket;
}

static int serve(const char *port) {
    addrinfo *at = address(nullptr, port);
    perigee_udt::Factory factory("newreno");
    const UDTSOCKET listening = opened(at, &factory);
    must(UDT::bind(listening, at->ai_addr, static_cast<int>(at->ai_addrlen)), "bind");
    must(UDT::listen(listening, 1), "listen");
    const UDTSOCKET socket = UDT::accept(listening, nullptr, nullptr);
    must(socket, "accept");
    std::vector<char> chunk(CHUNK);
    unsigned long long total = 0;
    const auto start = Clock::now();
    for (int n; (n = UDT::recv(socket, chunk.data(), CHUNK, 0)) != UDT::ERROR;) total += static_cast<unsigned>(n);
    std::printf("received %llu bytes, %.1f Mbit/s\n", total, static_cast<double>(total) * 8e-6 / seconds_since(start));
    return 0;
}

static int send_for(const char *host, const char *port, double seconds, const char *scheme, const char *params) {
    perigee_udt::Factory factory(scheme, params);
    addrinfo *at = address(host, port);
    const UDTSOCKET socket = opened(at, &factory);
    const linger none = {0, 0}; /* what is unsent at the end is not sent */
    must(UDT::setsockopt(socket, 0, UDT_LINGER, &none, sizeof none), "UDT_LINGER");
    must(UDT::connect(socket, at->ai_addr, static_cast<int>(at->ai_addrlen)), "connect");
    perigee_udt::Controller *controller = nullptr;
    int size = sizeof controller;
    must(UDT::getsockopt(socket, 0, UDT_CC, &controller, &size), "getsockopt");
    const std::vector<char> chunk(CHUNK);
    for (const auto start = Clock::now(); seconds_since(start) < seconds;)
        must(UDT::send(socket, chunk.data(), CHUNK, 0), "send");
    const perigee_udt::Report r = controller->report();
    using count = unsigned long long;
    std::printf("%s: %.1f Mbit/s, window %llu bytes, RTT %.1f ms, %llu packets sent, %llu lost, %llu timeouts\n", scheme,
                static_cast<double>(r.delivered) * 8e-6 / seconds, count(r.window), static_cast<double>(r.srtt_ns) / 1e6,
                count(r.sent), count(r.lost), count(r.timeouts));
    if (!r.error.empty()) std::fprintf(stderr, "perigee: %s\n", r.error.c_str());
    UDT::close(socket);
    return r.error.empty() ? 0 : 1;
}

int main(int count, char **words) {
    UDT::startup();
    int code = 2;
    try {
        if (count == 3 && !std::strcmp(words[1], "server"))
            code = serve(words[2]);
        else if ((count == 6 || count == 7) && !std::strcmp(words[1], "client"))
            code = send_for(words[2], words[3], std::atof(words[4]), words[5], count == 7 ? words[6] : "");
        else
            std::fprintf(stderr, "transfer server PORT | client HOST PORT SECONDS SCHEME [PARAMS]\n");
    } catch (const std::invalid_argument &why) {
        std::fprintf(stderr, "perigee: %s\n", why.what());
        code = 1;
    }
    UDT::cleanup();
    return code;
}
