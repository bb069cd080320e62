# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Definitions of the columns of tables, summary.csv and report, in one place.

docs/reference/columns.md and `perigee columns` are generated from these definitions, and the report
shows them as tooltips of the headings. Tests check `perigee_lab.results.metrics` against them with
cases computed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from perigee_lab.results.sender_limits import CAUSES

MORE, LESS = "more", "less"


@dataclass(frozen=True)
class Column:
    """A column: its name in summary.csv, unit, meaning, and the kinds of rows that have it."""

    name: str
    unit: str
    meaning: str
    rows: str = "run, flow"
    heading: str = ""
    """Heading in the table of the terminal and of the report; empty = only in summary.csv."""
    form: str = "{:.2f}"
    better: str = ""
    """`MORE` or `LESS` where that is better; empty where neither is."""


RTT_OVER = "Over all samples of all flows, or the mean of the flows' values: as given by rtt_over."
COMPLETIONS = (
    ("object", 'objects that applications requested (app = "request"), from the request to the last byte'),
    ("page", 'pages (app = "web"), from the request for the document to the last byte of the last object'),
    ("segment", 'segments of videos (app = "video"), from the request to the last byte'),
    (
        "transfer",
        "limited transfers, from the start of the connection (of a split one: of its first leg) to the last byte",
    ),
)
TIMES = (
    ("s", "", "Number of {0}: those requested after the warm-up and complete before the end."),
    ("_mean_s", "s", "Mean time of {0}."),
    ("_median_s", "s", "Median of these times."),
    ("_p95_s", "s", "95th percentile of these times: the smallest that 95 % do not exceed."),
    ("_p99_s", "s", "99th percentile of these times."),
    ("_first_mean_s", "s", "Mean time to the first byte of {0}: from the same instant to the first payload."),
)
FIRST = (
    ("byte", "the first byte of payload"),
    ("10kb", "10,000 bytes"),
    ("100kb", "100,000 bytes"),
    ("1mb", "1,000,000 bytes"),
    ("10mb", "10,000,000 bytes"),
)
COLUMNS = (
    Column(
        "cc",
        "",
        'The compared congestion control: the value of "*" in the scenario.',
    ),
    Column(
        "seed",
        "",
        "Seed of all random draws.",
    ),
    Column(
        "flow",
        "",
        "Name of the flow; `all` in the row of a run.",
    ),
    Column(
        "flow_cc",
        "",
        "The flow's own congestion control, or `ping`, `cbr`, `voice`.",
    ),
    Column(
        "class",
        "",
        "Kind of traffic: bulk (without end), transfer (a limited amount), on-off, request (objects), cbr (a "
        "constant rate), web (pages), video, voice (a call), ping.",
        rows="flow",
    ),
    Column(
        "group",
        "",
        "Group of the flow (`group` of a [[flow]]); in a row of a group its name. The row of a run excludes "
        "flows of groups with `background = true`.",
        rows="flow, group",
    ),
    Column(
        "goodput_mbps",
        "Mbit/s",
        "Payload handed in order to the receiving application, over the flow's window: from its start, or the "
        "last sampling instant before the end of the warm-up, to its stop, its completion or the end. In the "
        "row of a run: payload of all flows over TCP in their windows, over the time from the start of the first "
        "window to the end of the last. Data that was queued or incomplete when a window started counts when it is "
        "handed over, so that a short window can exceed the rate of the path, with a warning. Of programs: payload of "
        "TCP and UDP that has reached the flow's destination, retransmitted data included, until the run ends "
        "(active_goodput_mbps: until the last packet).",
        heading="goodput\nMbit/s",
        form="{:.2f}",
        better=MORE,
    ),
    Column(
        "active_goodput_mbps",
        "Mbit/s",
        "Goodput from first to last packet, of flows of programs: the payload of goodput_mbps, over active_s. In the "
        "row of a run: of all flows of programs together.",
        better=MORE,
    ),
    Column(
        "active_s",
        "s",
        "Time from the first packet of a flow of programs (not before the end of the warm-up) to the sampling instant "
        "by which its last payload had arrived: up to one run.sample longer than to that packet. In the row of a run: "
        "from the first to the last of all flows.",
        form="{:.3f}",
    ),
    Column(
        "share",
        "",
        "Of achievable: payload in the window, over the capacity of the path while the flow was active "
        "(capacity_mbps x there_s x payload_share). In the row of a run: payload of all flows over TCP, over "
        "the capacity of the network for them while one was active, with the largest payload share among them; "
        "shared ports count once.",
        heading="of achiev-\nable",
        form="{:.1%}",
        better=MORE,
    ),
    Column(
        "net_share",
        "",
        "share with a payload share of 1448/1500 for all schemes, so that headers and telemetry count as a cost.",
        better=MORE,
    ),
    Column(
        "payload_share",
        "",
        "Payload of the flow's largest packet over its bytes on the slowest port: headers, telemetry and "
        "framing count. In the row of a run: the largest of its flows over TCP.",
    ),
    Column(
        "capacity_mbps",
        "Mbit/s",
        "Capacity of the path, mean over the time in which the flow was active: the rate of its slowest "
        "port at each instant (of one with dama_delay its rate, not the grants); 0 without a route and while a link "
        "of the route is down. In the row of a run: "
        "at each instant the smallest sum of port rates found such that each active flow over TCP "
        "crosses one of these ports.",
    ),
    Column(
        "there_s",
        "s",
        "Time of the window in which the flow was active: without the silences of its application, when it "
        "has nothing to send or to request and nothing in flight. In the row of a run: time in which at "
        "least one flow over TCP was active.",
    ),
    Column(
        "rtt_over",
        "",
        "Population of the run's RTTs and inflation, set by the scenario for all its schemes and seeds alike: "
        "samples (of all flows together) where the flows have one base RTT by construction, that is, one pair of ends "
        "that no seed draws, or hosts of a dumbbell, of copies of a chain, or of crossing dumbbells, with one rtt and "
        "without ports or changes of single pairs; otherwise flows (the mean of their values).",
        rows="run",
    ),
    Column(
        "rtt_mean_ms",
        "ms",
        "Mean of the transport's RTT samples (of probes: their RTTs) sent after the warm-up. In the row of a "
        f"run: of its flows over TCP, or of its probes if there are none. {RTT_OVER}",
        heading="mean RTT\nms",
        form="{:.1f}",
        better=LESS,
    ),
    Column(
        "rtt_median_ms",
        "ms",
        f"Half of the samples are at most this, exact to a microsecond. {RTT_OVER}",
        heading="median\nms",
        form="{:.1f}",
        better=LESS,
    ),
    Column(
        "rtt_p95_ms",
        "ms",
        f"95 % of the samples are at most this. {RTT_OVER}",
        heading="p95\nms",
        form="{:.1f}",
        better=LESS,
    ),
    Column(
        "rtt_p99_ms",
        "ms",
        f"99 % of the samples are at most this. {RTT_OVER}",
        heading="p99\nms",
        form="{:.1f}",
        better=LESS,
    ),
    Column(
        "base_rtt_ms",
        "ms",
        "Mean over the samples of the base RTT when the packet was sent: that of the route without queues, "
        "serialisation of the flow's largest packet and of a plain ACK included. Empty for a run with flows "
        "of different base RTTs.",
    ),
    Column(
        "inflation",
        "",
        f"Delay inflation: mean over samples of RTT over the base RTT when the packet was sent. {RTT_OVER}",
        heading="delay\ninflation",
        form="{:.3f}",
        better=LESS,
    ),
    Column(
        "inflation_min",
        "",
        f"Mean RTT over the smallest base RTT of the flow's samples. {RTT_OVER}",
        better=LESS,
    ),
    Column(
        "rtt_samples",
        "",
        "Number of RTT samples.",
    ),
    Column(
        "queue_mean_ms",
        "ms",
        "Mean time that packets waited before their own transmission, at the port where they waited longest "
        "on average; entire run, packets that did not wait included.",
        rows="run",
        heading="mean\nqueue ms",
        form="{:.2f}",
        better=LESS,
    ),
    Column(
        "retransmits",
        "",
        "Retransmitted data packets, entire run; those of programs are not counted.",
        heading="retrans-\nmits",
        form="{:.0f}",
        better=LESS,
    ),
    Column(
        "retransmit_pct",
        "%",
        "Retransmitted data packets, as a percentage of all data packets sent.",
        better=LESS,
    ),
    Column(
        "timeouts",
        "",
        "Retransmission timeouts, entire run.",
        better=LESS,
    ),
    Column(
        "jain",
        "",
        "Jain's index (sum x)^2 / (n sum x^2) over the goodputs of the bulk flows in the time in which all of "
        "them were active (jain_s); empty with fewer than two, or no such time.",
        rows="run",
        heading="Jain",
        form="{:.3f}",
        better=MORE,
    ),
    Column(
        "jain_s",
        "s",
        "The time over which Jain's index is computed, in full sampling intervals.",
        rows="run",
    ),
    Column(
        "path_changes",
        "",
        "Changes of the forward route while a flow was active; of a run: sum over pairs of nodes, each counted once.",
        heading="path\nchanges",
        form="{:.0f}",
    ),
    Column(
        "unreachable",
        "",
        "Number of times that the forward route was lost; counted like path_changes.",
    ),
    Column(
        "handovers",
        "",
        "Number of changes of satellite of terminals and stations.",
        rows="run",
    ),
    Column(
        "outages",
        "",
        "Number of outages that started.",
        rows="run",
        heading="outages",
        form="{:.0f}",
    ),
    Column(
        "no_path_s",
        "s",
        "Time of a flow's life, warm-up included, without a route; of a run: the longest of its flows.",
        heading="no path\ns",
        form="{:.1f}",
    ),
    Column(
        "completed_s",
        "s",
        "Completion of a limited transfer, since the start of the run.",
        rows="flow",
    ),
    *(
        Column(f"{name}{column}", unit, meaning.format(words), "run", better=LESS if unit == "s" else "")
        for name, words in COMPLETIONS
        for column, unit, meaning in TIMES
    ),
    *(
        Column(
            f"first_{name}_s",
            "s",
            f"Time from the flow's start (its first SYN) until {what} had arrived in order; empty if it never had, "
            "or with real hosts, which do not report it.",
            rows="flow (over TCP)",
        )
        for name, what in FIRST
    ),
    Column(
        "videos",
        "",
        "Number of videos.",
        rows="run",
    ),
    Column(
        "start_up_s",
        "s",
        "Time from the flow's start to the start of playback. Of a run: mean over its videos that played.",
        rows="run, flow (video)",
        better=LESS,
    ),
    Column(
        "stalls",
        "",
        "Number of stalls of a video for lack of data after it had started, entire run. Of a run: sum over its videos.",
        rows="run, flow (video)",
        better=LESS,
    ),
    Column(
        "stalled_s",
        "s",
        "Total time of these stalls, including one truncated by the end of the run. Of a run: sum over its videos.",
        rows="run, flow (video)",
        better=LESS,
    ),
    Column(
        "stalled_pct",
        "%",
        "Rebuffering ratio: time in stalls, of that and the media time played. Of a run: mean over its videos.",
        rows="run, flow (video)",
        better=LESS,
    ),
    Column(
        "video_mbps",
        "Mbit/s",
        "Mean rate of the qualities fetched: bits of the segments that arrived over their media time. Of a run: mean "
        "over its videos.",
        rows="run, flow (video)",
        better=MORE,
    ),
    Column(
        "switches",
        "",
        "Segments requested in another quality than the previous one. Of a run: sum over its videos.",
        rows="run, flow (video)",
    ),
    Column(
        "calls",
        "",
        "Number of calls.",
        rows="run",
    ),
    Column(
        "late_pct",
        "%",
        "Packets of a call that arrived too late to be played (later than the first of their talk spurt by more than "
        "the playout buffer), of those that arrived. Of a run: mean over its calls.",
        rows="run, flow (voice)",
        better=LESS,
    ),
    Column(
        "mouth_ear_ms",
        "ms",
        "Mean time from mouth to ear of the packets played: speech in a packet, look-ahead of the codec, delay of the "
        "first packet of the talk spurt, playout buffer. Of a run: mean over its calls.",
        rows="run, flow (voice)",
        better=LESS,
    ),
    Column(
        "mos",
        "",
        "Mean opinion score, 1 to 4.5, by the E-model of ITU-T G.107, simplified: R = 93.2 - Idd(mouth_ear_ms) - "
        "Ie,eff(packets lost or late; codec's Ie and Bpl of G.113, random losses). Of a run: mean over its calls.",
        rows="run, flow (voice)",
        better=MORE,
    ),
    Column(
        "mos_min",
        "",
        "That of the worst call.",
        rows="run",
        better=MORE,
    ),
    Column(
        "lost_probes",
        "",
        "Probes and replies that were dropped, whatever the cause; entire run.",
        rows="flow (ping)",
    ),
    Column(
        "cbr_flows",
        "",
        "Number of flows with a constant rate.",
        rows="run",
    ),
    Column(
        "cbr_goodput_mbps",
        "Mbit/s",
        "Sum of their goodputs: UDP payload that arrived in their windows.",
        rows="run",
        better=MORE,
    ),
    Column(
        "loss_pct",
        "%",
        "Datagrams of a constant rate, or of a call, that were dropped, whatever the cause, of those sent and no "
        "longer in flight; entire run. Of a run (this and the next three): of all with a constant rate together.",
        rows="run, flow (cbr, voice)",
        better=LESS,
    ),
    Column(
        "delay_mean_ms",
        "ms",
        "Mean one-way delay of datagrams that arrived, sent after the warm-up.",
        rows="run, flow (cbr, voice)",
        better=LESS,
    ),
    Column(
        "delay_max_ms",
        "ms",
        "The longest of these delays.",
        rows="run, flow (cbr, voice)",
        better=LESS,
    ),
    Column(
        "jitter_ms",
        "ms",
        "Mean difference, without sign, between the delays of datagrams of a flow that arrived one after the "
        "other (|D| of RFC 3550 section 6.4.1).",
        rows="run, flow (cbr, voice)",
        better=LESS,
    ),
)
TABLE = tuple(c for c in COLUMNS if c.heading)
"""The columns of the table in the terminal and in the report."""
BY_NAME = {c.name: c for c in COLUMNS}
LATER = frozenset({"active_goodput_mbps", "active_s"})
"""Columns that tables of Perigee 0.2.0 lack."""
SPANS = (
    Column("t_s", "s", "Start of the span, since the start of the run.", rows="span"),
    Column("length_s", "s", "Part of the span in which the flow lived.", rows="span"),
    *(Column(c.name, "", f"Share of the span: {c.meaning[0].lower()}{c.meaning[1:]}", rows="span") for c in CAUSES),
)
"""Columns of `perigee why --csv`, after scheme, seed and flow."""


def one_line(heading: str) -> str:
    """A heading without its line break."""
    return heading.replace("-\n", "").replace("\n", " ")


def markdown() -> str:
    """The text of docs/reference/columns.md."""
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->",
        "<!-- Written by `perigee columns --markdown`; definitions: python/perigee_lab/results/columns.py. -->",
        "# Columns",
        "",
        "Columns of `summary.csv`, of the table of `perigee run` and of the report, which shows the definition of a",
        "heading under the pointer. A row is a run (flow `all`) or a flow; the rows of more than 1,000 flows are in",
        "`summary-flows.parquet`, with the same columns. Tables over several seeds show means, and half of the 95 %",
        "t-interval where the seeds' values differ. [record.md](record.md) has the tables of a record.",
        "",
        "| column | in the table | unit | rows | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    cells = ((f"`{c.name}`", one_line(c.heading), c.unit, c.rows, c.meaning.replace("|", "\\|")) for c in COLUMNS)
    spans = ["", "## Limits of senders", "", "Columns of `perigee why --csv`; the shares of a row add up to one.", ""]
    head = ["| column | unit | meaning |", "| --- | --- | --- |"]
    limits = [f"| `{c.name}` | {c.unit} | {c.meaning} |" for c in SPANS]
    rows = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([*lines, *rows, *spans, *head, *limits]) + "\n"


NAMES = {
    "rtt_mean_ms": "mean RTT",
    "rtt_p99_ms": "RTT p99",
    "share": "share of achievable",
    "inflation": "delay inflation",
    "queue_mean_ms": "mean queue",
    "retransmit_pct": "retransmitted",
    "jain": "Jain's index",
}
UNITS = ("_mbps", "_ms", "_pct", "_s")
"""Units at the end of names of columns."""


def named(metric: str) -> str:
    """Name of a column in figures, without its unit."""
    unit = next((u for u in UNITS if metric.endswith(u)), "")
    return NAMES.get(metric) or metric.removesuffix(unit).replace("_", " ").replace("rtt", "RTT")
