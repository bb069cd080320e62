# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC in this machine's TCP over an emulated path from London to New York with handovers.

    make setup ebpf
    sudo .venv/bin/python bench/orbcc.py [--seconds 20] [--repeat 3] [--programs iperf3,curl,rtts]

Programs know nothing of OrbCC: iperf3, and curl that downloads from Python's web server; `rtts` are three transfers of
OrbCC with RTTs of 20, 40 and 80 ms through one port. The path changes four times in 13 s; a handover of a terminal
loses what is in flight. `share` is the part of what full packets carry at the link's rate while it is up, from the
connection's start on; `inflation` the mean smoothed RTT over that of the path without queues. Medians of the
repetitions. One sender with OrbCC runs on a machine at a time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "orbcc"))

import emulated
import network
from emulated import CARRIERS, Carrier, Transfer


def row(carrier: Carrier, program: str, transfers: list[Transfer]) -> str:
    """A line of the table."""
    median = sorted(transfers, key=lambda t: t.share)[len(transfers) // 2]
    seen = f"{median.flow['path_changes']} of {median.changes}" if median.flow else ""
    base = f"{median.flow['base_rtt_us'] / 1e3:.1f} ({median.last_base_ms:.1f})" if median.flow else ""
    words = [
        f"{carrier.name}, {program}",
        f"{median.mbit:.1f}",
        f"{median.share:.3f}",
        f"{median.inflation:.3f}" if median.rtt_ms else "",
        seen,
        base,
        str(median.retransmissions) if program == "iperf3" else "",
    ]
    return "| " + " | ".join(words) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--programs", default="iperf3,curl,rtts")
    options = parser.parse_args()
    lack = network.missing()
    if lack:
        sys.exit(f"bench/orbcc.py: {lack}")
    programs = options.programs.split(",")
    print("| scheme, program | Mbit/s | share | inflation | path changes | base RTT, ms (true) | retransmissions |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for program, transfer in (("iperf3", emulated.over_the_sky), ("curl", emulated.download)):
        for carrier in CARRIERS if program == "iperf3" else CARRIERS[:3]:
            if program not in programs:
                continue
            transfers = [transfer(carrier, options.seconds) for _ in range(options.repeat)]
            print(row(carrier, program, transfers), flush=True)
    if "rtts" in programs:
        for carrier in CARRIERS[:2]:
            rates = emulated.unequal(carrier, options.seconds)
            apart = (max(rates) - min(rates)) / statistics.fmean(rates)
            shown = ", ".join(f"{rate:.2f}" for rate in rates)
            print(f"{carrier.name}, RTTs of 20, 40 and 80 ms: {shown} Mbit/s, apart by {apart:.1%}")


if __name__ == "__main__":
    main()
