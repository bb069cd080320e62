# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Matrix of schemes and RFC 9743's criteria, docs/reference/deployment.md.

python docs/make/judge_matrix.py [--out FOLDER] [--jobs N]    # all runs, some 20 minutes on two cores
python docs/make/judge_matrix.py --from FOLDER                # from the results of an earlier call
python docs/make/judge_matrix.py --add SCHEME                 # runs of one scheme, added to the page
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/deployment.md"
# fmt: off
SCHEMES = [
    "newreno", "cubic", "vegas", "hybla", "copa", "vivace", "bbr", "bbr3",
    "prague", "ledbatpp", "leocc", "satcp", "starquic_cubic", "starquic_bbr3",
    "astraea", "astraea_leo", "hpcc", "hpcc_tcp", "orbcc", "leotcp", "orbcc-next",
    "c4", "satpipe", "leo-cubic", "leo-bbr", "ppb",
]
# fmt: on
"""All schemes that need nothing but the scenario; variants of OrbCC and HPCC for other simulators are left out."""
SIGNS = {"passed": "✓", "failed": "✗", "undecided": "?", "not observable": "-"}
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 OR MIT -->
<!-- Written by docs/make/judge_matrix.py. -->
# Deployment criteria

Perigee's congestion controls by the criteria of [RFC 9743](https://www.rfc-editor.org/rfc/rfc9743), in 26 experiments
with bounds of our own ([catalogue `rfc9743`](../how-to/judge.md#catalogues)).

```sh
perigee judge bbr3 --catalogue rfc9743
```

✓: all expectations of the case are met; ✗: at least one fails; ?: the 95 % interval over five seeds crosses a bound.
Each mark links to the first expectation that is not met, and its value.

A ✗ calls for a closer look and is no verdict on a scheme: each case is a single path, with bounds that we chose.
OrbCC, HPCC and LeoTCP depend on telemetry, which all ports of these paths provide, but ports of the Internet do not.

"""


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="made", type=Path, help="folder of an earlier call of perigee judge")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/matrix")
    parser.add_argument("--add", help="a scheme whose rows the page gets or changes")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    folder = given.made or given.out
    if given.made is None:
        schemes = given.add or ",".join(SCHEMES)
        words = ["judge", schemes, "--catalogue", "rfc9743", "--out", str(folder), "--jobs", str(given.jobs)]
        done = subprocess.run([sys.executable, "-m", "perigee_lab", *words], check=False)
        if done.returncode not in (0, 4, 5):
            return done.returncode
    results = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    if given.add is None:
        text = page(results["catalogues"])
    else:
        text = added(PAGE.read_text(encoding="utf-8"), results["catalogues"][0])
    PAGE.write_text(text, encoding="utf-8")
    return 0


def page(judgements: list[dict[str, Any]]) -> str:
    """The text of the page."""
    cases = judgements[0]["cases"]
    lines = [HEAD + "## Matrix\n"]
    lines.append("| | " + " | ".join(f"{n}" for n in range(1, len(cases) + 1)) + " | ✓ |")
    lines.append("|---|" + ":-:|" * len(cases) + "--:|")
    for j in judgements:
        lines.append(marks(j))
    lines += ["", "## Cases", "", "| | case | source | purpose |", "|--:|---|---|---|"]
    lines += [f"| {n} | {c['title']} | {c['source']} | {c['purpose']} |" for n, c in enumerate(cases, 1)]
    for j in judgements:
        lines += section(j)
    return "\n".join(lines) + "\n"


def marks(j: dict[str, Any]) -> str:
    """The line of a scheme in the matrix."""
    signs = [f"[{SIGNS[c['verdict']]}](#{j['cc'].replace('_', '-')}-{c['case'][:2]})" for c in j["cases"]]
    name = f"[{j['cc']}](cc/{j['cc']}.md)" if (ROOT / f"docs/reference/cc/{j['cc']}.md").exists() else j["cc"]
    return f"| {name} | {' | '.join(signs)} | {j['verdicts']['passed']} |"


def section(j: dict[str, Any]) -> list[str]:
    """The lines of a scheme's cases."""
    lines = ["", f"## {j['cc']}", "", f"`perigee judge {j['cc']} --catalogue rfc9743`", ""]
    lines += ["| case | verdict | first expectation that is not met, and its value | records |", "|---|---|---|---|"]
    return lines + [row(j["cc"], n, c) for n, c in enumerate(j["cases"], 1)]


def added(text: str, j: dict[str, Any]) -> str:
    """The page with the rows of a scheme, in place of earlier ones or at the end."""
    matrix, cases, rest = (part.splitlines() for part in re.split(r"(?=^## (?:Cases|newreno)$)", text, flags=re.M))
    matrix = [line for line in matrix if not line.startswith(f"| [{j['cc']}]")]
    matrix[len(matrix) - 1 : len(matrix) - 1] = [marks(j)]
    sections = re.split(r"(?=^## )", "\n".join(rest) + "\n", flags=re.M)
    kept = "".join(s.rstrip("\n") + "\n\n" for s in sections if s and not s.startswith(f"## {j['cc']}\n"))
    return "\n".join([*matrix, *cases, ""]) + kept.rstrip("\n") + "\n" + "\n".join(section(j)) + "\n"


def row(cc: str, n: int, case: dict[str, Any]) -> str:
    """A case of a scheme, with the anchor of its mark."""
    anchor = f'<a id="{cc.replace("_", "-")}-{case["case"][:2]}"></a>'
    order = ("failed", "undecided", "not observable")
    bad = [e for v in order for e in case["expectations"] if e["verdict"] == v]
    what = f"{bad[0]['title']}: {value(bad[0])}" if bad else ""
    records = f"`judge-{cc}/rfc9743/cells/{case['case']}/{cc}`"
    return f"| {anchor}{n} {case['title']} | {case['verdict']} | {what} | {records} |"


def value(e: dict[str, Any]) -> str:
    """The value of an expectation with its bounds."""
    bounds = [f"≥ {shown(e, 'at_least')}"] if e["at_least"] is not None else []
    bounds += [f"≤ {shown(e, 'at_most')}"] if e["at_most"] is not None else []
    spread = f" ± {shown(e, 'half_95')}" if e["half_95"] else ""
    return f"{shown(e, 'value')}{spread}, expected {', '.join(bounds)}"


def shown(e: dict[str, Any], key: str) -> str:
    """A number of an expectation in the unit of its metric."""
    from perigee_lab.judge.expectations import Expectation

    found = e[key]
    return "never" if found is None else Expectation(e["metric"], {}, "").shown(found)


if __name__ == "__main__":
    sys.exit(main())
