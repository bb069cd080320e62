# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes docs/cc: a page per congestion control from the head of its file, its parameters and one run; and an index.

python docs/schemes.py (part of `make docs`)
"""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import perigee

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates/perigee-cc/src"
OUT = ROOT / "docs/cc"

# The figure's path: half of the rate from 10 s to 20 s, the double RTT from 30 s to 40 s.
SCENARIO = """
title = "a rate that halves, an RTT that doubles"
[run]
duration = "50 s"
[source.dumbbell]
rtt = "40 ms"
[port.bottleneck]
rate = "50 Mbit"
queue = "1 bdp"
[port.all]
metered = true
[[flow]]
cc = "*"
[[change]]
at = "10 s"
rate = "25 Mbit"
[[change]]
at = "20 s"
rate = "50 Mbit"
[[change]]
at = "30 s"
rtt = "80 ms"
[[change]]
at = "40 s"
rtt = "40 ms"
"""

# What each reacts to, from the sheets that the heads of the files name. Columns of the index.
SIGNALS = ("loss", "ECN", "delay", "delivery rate", "telemetry", "notices")
REACTS = {
    "newreno": "loss ECN",
    "cubic": "loss ECN",
    "vegas": "loss delay",
    "copa": "delay",
    "hybla": "loss ECN",
    "bbr": "delay delivery rate",
    "bbr3": "loss delay delivery rate",
    "bbr3_hint": "loss delay delivery rate notices",
    "satcp": "loss ECN notices",
    "starquic_cubic": "loss ECN notices",
    "starquic_bbr3": "loss delay delivery rate notices",
    "leocc": "delay delivery rate notices",
    "leocc_omnet": "delay delivery rate notices",
    "vivace": "loss delay delivery rate",
    "astraea": "loss delay delivery rate",
    "hpcc": "telemetry",
    "hpcc_tcp": "loss telemetry",
}


def homes() -> dict[str, str]:
    """Module of each scheme, from the one list."""
    text = (SOURCE / "schemes.rs").read_text(encoding="utf-8")
    text = text[text.index("\nschemes! {") :]
    found = {}
    for module, body in re.findall(r"\n    \w+\((\w+)::\w+\).*? => \{\n(.*?)\n    \}", text, flags=re.DOTALL):
        for name in re.findall(r'^\s*"([^"]+)", "', body, flags=re.MULTILINE):
            found[name] = module
    return found


def head(module: str) -> str:
    """The module's text, without comment marks."""
    lines = (SOURCE / f"{module}.rs").read_text(encoding="utf-8").splitlines()
    return "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!"))


def page(scheme: dict, module: str, first: str) -> str:
    """The page of one scheme; those that share a file say what sets them apart."""
    name = scheme["id"]
    lines = [f"# {scheme['label']} (`{name}`)", "", f"{scheme['summary']}.", ""]
    if name != first:
        lines += [f"Shares its file, and the text about its rules, with [`{first}`]({first}.md).", ""]
    else:
        lines += [head(module), ""]
    lines += ["## Parameters", ""]
    if scheme["params"]:
        lines += ["| name | default | allowed | what it is | source |", "|---|---|---|---|---|"]
        for p in scheme["params"]:
            unit = f" {p['unit']}" if p["unit"] else ""
            row = (f"`{p['name']}`", f"`{p['default']}`{unit}", p["allowed"], p["help"], p["source"])
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    else:
        lines.append("None.")
    lines += [
        "",
        "## At work",
        "",
        f"![window and queueing delay over time]({name}.png)",
        "",
        "50 Mbit/s, 40 ms, a queue of one bandwidth-delay product; from 10 s to 20 s half the rate, from 30 s to 40 s",
        "twice the RTT (nobody is told).",
        "",
        "## How it was checked",
        "",
        f"Tests at the end of `crates/perigee-cc/src/{module}.rs` and the battery of `battery.rs`; against the measured",
        "kernel where that has the scheme: [differences](../differences.md), `perigee validate`.",
        "",
    ]
    return "\n".join(lines)


def draw(name: str) -> None:
    """Window and RTT of one run."""
    flows = perigee.loads(SCENARIO).run(name).to_pandas("flows")
    seconds = flows["t_ns"] / 1e9
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
    top.plot(seconds, flows["goodput_bps"] / 1e6, color="#0072b2", linewidth=1)
    top.step(seconds, flows["path_rate_bps"] / 1e6, color="#999999", linewidth=0.8, where="post")
    top.set_ylabel("goodput\nMbit/s")
    bottom.plot(seconds, flows["rtt_ns"] / 1e6, color="#d55e00", linewidth=1)
    bottom.step(seconds, flows["base_rtt_ns"] / 1e6, color="#999999", linewidth=0.8, where="post")
    bottom.set_ylabel("RTT, ms")
    bottom.set_xlabel("time, s (grey: the link's rate, the path's RTT)")
    figure.savefig(OUT / f"{name}.png", dpi=70, metadata={"Software": None})
    plt.close(figure)


def index(schemes: list[dict]) -> str:
    """What each reacts to."""
    lines = [
        "# Congestion controls",
        "",
        "Made by `make docs` from the heads of the files. What each reacts to:",
        "",
        f"| | {' | '.join(SIGNALS)} | what it does |",
        "|---" * (len(SIGNALS) + 2) + "|",
    ]
    for s in schemes:
        reacts = REACTS.get(s["id"], "telemetry" if s["id"].startswith(("orbcc", "leotcp")) else "")
        marks = " | ".join("x" if signal in reacts else "" for signal in SIGNALS)
        lines.append(f"| [{s['label']}]({s['id']}.md) | {marks} | {s['summary']} |")
    lines += [
        "",
        "Telemetry needs ports with `metered = true`; without it, or where a hop that it does not see makes the RTT rise,",
        "OrbCC and its kin fall back to Cubic. Notices and probes: `[notices]` in [scenario.md](../scenario.md).",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Writes everything."""
    OUT.mkdir(exist_ok=True)
    schemes, modules = perigee.schemes(), homes()
    missing = [s["id"] for s in schemes if s["id"] not in modules]
    if missing:
        sys.exit(f"not found in schemes.rs: {', '.join(missing)}")
    first: dict[str, str] = {}
    for s in schemes:
        module = modules[s["id"]]
        text = page(s, module, first.setdefault(module, s["id"]))
        (OUT / f"{s['id']}.md").write_text(
            "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n" + text, encoding="utf-8"
        )
        draw(s["id"])
    head_line = "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n"
    (OUT / "README.md").write_text(head_line + index(schemes), encoding="utf-8")


if __name__ == "__main__":
    main()
