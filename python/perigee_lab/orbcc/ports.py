# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ports of this machine that stamp telemetry: their counters and load."""

from __future__ import annotations

from typing import Any

from perigee_lab.orbcc import programs

PREFIX = "perigee-port-"
COUNTERS = {
    "packets": "Packets that left the port.",
    "blocks": "Packets with a record in their IPv6 header.",
    "options": "Packets with a record in their TCP option.",
    "no_room": "Packets without room for a record.",
    "intervals": "Intervals after which the mean RTT was published.",
}
GAUGES = {
    "rate_kbit": ("rate_bits_per_second", 1000.0, "Rate of the link."),
    "utilisation": ("utilisation", 1.0, "Load, with the queue: 1 = the link is busy."),
    "wait_us": ("queueing_seconds", 1e-6, "Queueing delay of the last packet."),
    "avg_rtt_us": ("flows_rtt_seconds", 1e-6, "Mean RTT of the flows without queues."),
    "flows": ("flows", 1.0, "Flows of the last interval."),
}


def attached() -> list[str]:
    """Devices with a port that stamps."""
    return sorted(path.name.removeprefix(PREFIX) for path in programs.PINS.glob(f"{PREFIX}*"))


def stats(device: str) -> dict[str, Any]:
    """Counters and load of a device's port. Raises OrbccError."""
    found: dict[str, Any] = programs.call(["port-status", "--pin", str(programs.port_pin(device))])
    return found


def prometheus(ports: dict[str, dict[str, Any]]) -> str:
    """Statistics of devices in the text format of Prometheus."""
    lines = []

    def metric(name: str, kind: str, text: str, values: dict[str, float]) -> None:
        lines.extend([f"# HELP perigee_port_{name} {text}", f"# TYPE perigee_port_{name} {kind}"])
        for device, value in values.items():
            label = device.replace("\\", r"\\").replace('"', r"\"")
            lines.append(f'perigee_port_{name}{{device="{label}"}} {value:.15g}')

    metric("bytes_total", "counter", "Bytes that left the port.", {d: p["bytes"] for d, p in ports.items()})
    for name, text in COUNTERS.items():
        metric(f"{name}_total", "counter", text, {d: p["counters"][name] for d, p in ports.items()})
    for key, (name, unit, text) in GAUGES.items():
        metric(name, "gauge", text, {d: p[key] * unit for d, p in ports.items()})
    return "\n".join(lines) + "\n"


def table(ports: dict[str, dict[str, Any]]) -> str:
    """Statistics of devices as text."""
    rows = [["device", "rate Mbit/s", "load", "wait ms", "flows", "mean RTT ms", "packets", "records"]]
    for device, p in ports.items():
        counters = p["counters"]
        numbers = [f"{p['rate_kbit'] / 1e3:g}", f"{p['utilisation']:.3f}", f"{p['wait_us'] / 1e3:.2f}", str(p["flows"])]
        records = counters["blocks"] + counters["options"]
        rows.append([device, *numbers, f"{p['avg_rtt_us'] / 1e3:.1f}", str(counters["packets"]), str(records)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(word.ljust(w) for word, w in zip(row, widths, strict=True)).rstrip() for row in rows)
