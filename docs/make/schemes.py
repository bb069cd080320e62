# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generator of docs/reference/cc: one page per congestion control, and an index.

A page has the head of the scheme's file, its parameters and one run.

python docs/make/schemes.py (part of `make docs`)
"""

import csv
import re
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

import perigee_lab as perigee

mpl.use("Agg")
import matplotlib.pyplot as plt

from perigee_lab.results.plots import OFTEN, cap, overview

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "crates/perigee-cc/src"
OUT = ROOT / "docs/reference/cc"
# Written by `perigee validate --out`.
STEPS = ROOT / "scenarios/micro/rtt-steps.toml"
RESULTS = ROOT / "python/perigee_lab/validation/results.csv"

# The path of the figure: half of the rate from 10 s to 20 s, twice the RTT from 30 s to 40 s.
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

# Schemes that are defined by a file, with an example.
EXAMPLES = {"policy": f"policy:{SOURCE}/astraea/reproduction.policy"}

# Columns of the index: the signals to which a scheme reacts, from the tables in the heads of the
# files.
SIGNALS = ("loss", "ECN", "delay", "delivery rate", "telemetry", "notices")
REACTS = {
    "newreno": "loss ECN",
    "cubic": "loss ECN",
    "vegas": "loss ECN delay",
    "copa": "delay",
    "hybla": "loss ECN",
    "bbr": "delay delivery rate",
    "bbr3": "loss ECN delay delivery rate",
    "bbr3_hint": "loss ECN delay delivery rate notices",
    "prague": "loss ECN",
    "ledbatpp": "loss ECN delay",
    "c4": "loss delay delivery rate",
    "satcp": "loss ECN notices",
    "leo-cubic": "loss ECN delay",
    "leo-bbr": "delay delivery rate",
    "satpipe": "delay delivery rate",
    "ppb": "loss ECN delay delivery rate notices",
    "starquic_cubic": "loss ECN notices",
    "starquic_bbr3": "loss ECN delay delivery rate notices",
    "leocc": "delay delivery rate notices",
    "leocc_omnet": "delay delivery rate notices",
    "vivace": "loss delay delivery rate",
    "astraea": "loss delay delivery rate",
    "astraea_leo": "loss delay delivery rate notices",
    "policy": "loss delay delivery rate",
    "hpcc": "telemetry",
    "hpcc_tcp": "loss telemetry",
    "xcp": "loss telemetry",
    "rcp": "telemetry",
}


def homes() -> dict[str, str]:
    """The module of each scheme, from the list of schemes."""
    text = (SOURCE / "schemes.rs").read_text(encoding="utf-8")
    text = text[text.index("\nschemes! {") :]
    found = {}
    for module, body in re.findall(r"\n    \w+\((\w+)::\w+\).*? => \{\n(.*?)\n    \}", text, flags=re.DOTALL):
        for name in re.findall(r'^\s*"([^"]+)", "', body, flags=re.MULTILINE):
            found[name] = module
    return found


def head(module: str) -> str:
    """The text of the module's head, without comment marks."""
    lines = (SOURCE / f"{module}.rs").read_text(encoding="utf-8").splitlines()
    return plain("\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!")), set(homes()))


def plain(text: str, schemes: set[str]) -> str:
    """The text without links of rustdoc: those to schemes lead to their pages, others are code."""

    def link(found: re.Match[str]) -> str:
        name = found[1]
        return f"[`{name}`]({name}.md)" if name in schemes else f"`{name}`"

    return re.sub(r"\[`([^`]+)`\](?:\((?:crate|super|self)::[^)]*\))?(?!\()", link, text)


def checked(name: str) -> list[str]:
    """The results of `perigee validate` for single flows of a scheme, as a table."""
    with RESULTS.open(encoding="utf-8") as f:
        rows = [
            r for r in csv.DictReader(f) if r["cc"] == name and r["quantity"] != "order" and " flow " not in r["cell"]
        ]
    cells: dict[str, dict[str, dict[str, str]]] = {}
    for r in rows:
        cells.setdefault(r["cell"], {})[r["quantity"]] = r
    if not cells:
        return []
    lines = [
        "Simulated values and, in brackets, measured references, from `perigee validate` (definition of the paths:",
        '[README](../../../python/perigee_lab/validation/README.md)). Verdict "good": all quantities are within their',
        'tolerances. Otherwise the others are named: "chance" = within the 95 % interval of the difference,',
        '"explained" = outside for a known reason, to which it links. "At start" are the retransmissions at start-up.',
        "",
        "| path | goodput, Mbit/s | queue, ms | retransmissions | loss events | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for cell, found in cells.items():
        shown = [_shown(found.get(q)) for q in ("goodput", "queue", "retransmits", "loss events")]
        bad = [f"{q}: {_verdict(r['verdict'])}" for q, r in found.items() if r["verdict"] != "good"]
        path = cell.replace(f"_{name}_", "_", 1)
        lines.append(f"| {path} | {' | '.join(shown)} | {'; '.join(bad) or 'good'} |")
    return [*lines, ""]


def _verdict(text: str) -> str:
    """A verdict, with a link to the heading that explains it."""
    kind, _, heading = text.partition(": ")
    anchor = re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
    return f"{kind}: [{heading}](../../../design/differences.md#{anchor})" if heading else kind


def _shown(row: dict[str, str] | None) -> str:
    return "" if row is None else f"{float(row['ours']):.4g} ({float(row['reference']):.4g})"


def page(scheme: dict, module: str, first: str, warnings: list[str]) -> str:
    """The page of one scheme; for schemes in the same file, it states their differences."""
    name = scheme["id"]
    summary = scheme["summary"]
    lines = [f"# {scheme['label']} (`{name}`)", "", f"{summary[0].upper()}{summary[1:]}.", ""]
    if name != first:
        lines += [f"A variant of [`{first}`]({first}.md), which describes its rules.", ""]
    else:
        lines += [head(module), ""]
    lines += ["## Parameters", ""]
    if scheme["params"]:
        lines += ["| name | default | allowed | meaning | source |", "|---|---|---|---|---|"]
        for p in scheme["params"]:
            unit = f" {p['unit']}" if p["unit"] else ""
            row = (f"`{p['name']}`", f"`{p['default']}`{unit}", p["allowed"], p["help"], p["source"])
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    else:
        lines.append("None.")
    lines += [
        "",
        "## Example run",
        "",
        f"![goodput and RTT over time]({name}.png)",
        "",
        "50 Mbit/s, 40 ms, a queue of one bandwidth-delay product; half the rate from 10 s to 20 s, twice the RTT from",
        "30 s to 40 s (without notifications).",
        "",
        *(f"Warning of the run: {w}.\n" for w in warnings),
        "## Validation",
        "",
        f"Tests at the end of `crates/perigee-cc/src/{module}.rs`, acceptance tests in `battery.rs`, comparison with",
        "measured curves where available. Known differences: [differences](../../../design/differences.md).",
        "",
        *checked(name),
    ]
    return "\n".join(lines)


def draw(name: str) -> list[str]:
    """Draws goodput and RTT of one run; returns its warnings."""
    run = perigee.loads(SCENARIO).run(EXAMPLES.get(name, name))
    flows = run.to_pandas("flows")
    seconds = flows["t_ns"] / 1e9
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True, layout="constrained")
    top.plot(seconds, flows["goodput_bps"] / 1e6, color="#0072b2", linewidth=1)
    top.step(seconds, flows["path_rate_bps"] / 1e6, color="#999999", linewidth=0.8, where="post")
    top.set_ylabel("goodput\nMbit/s")
    bottom.plot(seconds, flows["rtt_ns"] / 1e6, color="#d55e00", linewidth=1)
    bottom.step(seconds, flows["base_rtt_ns"] / 1e6, color="#999999", linewidth=0.8, where="post")
    bottom.set_ylabel("RTT, ms")
    bottom.set_xlabel("time, s (grey: the link's rate, the path's RTT)")
    cap(top, OFTEN)
    cap(bottom)
    figure.savefig(OUT / f"{name}.png", dpi=70, metadata={"Software": None})
    plt.close(figure)
    return list(run.manifest["warnings"])


def index(schemes: list[dict]) -> str:
    """The index, with the signals to which each scheme reacts."""
    lines = [
        "# Congestion controls",
        "",
        "Congestion signals of each congestion control (generated by `make docs`):",
        "",
        f"| | {' | '.join(SIGNALS)} | summary |",
        "|---" * (len(SIGNALS) + 2) + "|",
    ]
    for s in schemes:
        reacts = REACTS.get(s["id"], "telemetry" if s["id"].startswith(("orbcc", "leotcp")) else "")
        marks = " | ".join("x" if signal in reacts else "" for signal in SIGNALS)
        lines.append(f"| [{s['label']}]({s['id']}.md) | {marks} | {s['summary']} |")
    lines += [
        "",
        "Telemetry requires ports with `metered = true`. Without it, or if the queue of a hop without telemetry fills,",
        "OrbCC and its variants fall back to Cubic. Notices: see [`[notices]`](../scenario/handover.md).",
        "",
        "## Steps of the RTT",
        "",
        "![goodput, RTT and queue over RTT steps](rtt-steps.png)",
        "",
        "The RTT alternates between 20 and 100 ms, at 100 Mbit/s (`scenarios/micro/rtt-steps.toml`). BBR and BBRv3",
        "mistake the longer RTT for queueing delay until their minimum expires; LeoCC is notified and restarts its",
        "path model; the telemetry of OrbCC reports empty queues, and it grows by 5 % of the bandwidth-delay product",
        "per round trip. When the path becomes shorter, all have too much data in flight for a while; all but OrbCC",
        "lose packets. Triangles: values beyond the axis (an ACK that fills a hole delivers much data at once).",
        "",
    ]
    return "\n".join(lines)


def draw_steps() -> None:
    """Draws the RTT steps of the acceptance tests, with four schemes on the same axes."""
    with tempfile.TemporaryDirectory() as folder:
        done = perigee.load(STEPS).run_all(cc=["bbr", "bbr3", "leocc", "orbcc"], seeds=[1], out=Path(folder) / "steps")
        figure = overview(done)
    figure.savefig(OUT / "rtt-steps.png", dpi=90, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Writes all pages, or those of the named schemes."""
    OUT.mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    if not wanted:
        draw_steps()
    schemes, modules = perigee.schemes(), homes()
    missing = [s["id"] for s in schemes if s["id"] not in modules]
    if missing:
        sys.exit(f"not found in schemes.rs: {', '.join(missing)}")
    first: dict[str, str] = {}
    for s in schemes:
        module = modules[s["id"]]
        leader = first.setdefault(module, s["id"])
        if wanted and s["id"] not in wanted:
            continue
        text = page(s, module, leader, draw(s["id"]))
        (OUT / f"{s['id']}.md").write_text(
            "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n" + text, encoding="utf-8"
        )
    head_line = "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->\n"
    (OUT / "README.md").write_text(head_line + index(schemes), encoding="utf-8")


if __name__ == "__main__":
    main()
