# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Findings as JUnit XML and TAP, for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from perigee_lab.common import names
from perigee_lab.common.files import write_text
from perigee_lab.judge.verdicts import Finding, Verdict

# Not in XML 1.0 (section 2.2), even as references; others that it forbids are already visible.
_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
NO_PROBLEMS: Mapping[str, str] = {}
RUN = "run"
"""Name of the test that stands for a group without findings because of a problem."""


def write(
    groups: Mapping[str, Sequence[Finding]],
    junit: Path | None,
    tap: Path | None,
    problems: Mapping[str, str] = NO_PROBLEMS,
) -> None:
    """Writes findings, grouped by scenario or case, into the requested files.

    `problems` has the reason for each group that did not run to its end.
    """
    if junit is not None:
        write_text(junit, as_junit(groups, problems))
    if tap is not None:
        write_text(tap, as_tap(groups, problems))


def as_junit(groups: Mapping[str, Sequence[Finding]], problems: Mapping[str, str] = NO_PROBLEMS) -> str:
    """JUnit XML: a test suite per group, a test case per finding or problem.

    Problems and undecided findings are errors, and those that cannot be observed are skipped.
    """
    root = ElementTree.Element("testsuites", name="perigee")
    for group, findings in groups.items():
        counts = {v: sum(f.verdict is v for f in findings) for v in Verdict}
        problem = problems.get(group)
        broken = int(problem is not None)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(group),
            tests=str(len(findings) + broken),
            failures=str(counts[Verdict.FAILED]),
            errors=str(counts[Verdict.UNDECIDED] + broken),
            skipped=str(counts[Verdict.NOT_OBSERVABLE]),
        )
        if problem is not None:
            case = ElementTree.SubElement(suite, "testcase", classname=_xml(group), name=RUN)
            ElementTree.SubElement(case, "error", message=_xml(problem))
        for f in findings:
            case = ElementTree.SubElement(suite, "testcase", classname=_xml(f"{group}.{f.cc}"), name=_xml(_name(f)))
            tag = {Verdict.FAILED: "failure", Verdict.UNDECIDED: "error", Verdict.NOT_OBSERVABLE: "skipped"}.get(
                f.verdict
            )
            if tag is not None:
                found = ElementTree.SubElement(case, tag, message=_xml(_result(f)))
                found.text = _xml(f.expectation.place)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def as_tap(groups: Mapping[str, Sequence[Finding]], problems: Mapping[str, str] = NO_PROBLEMS) -> str:
    """TAP version 13: a line per finding or problem; not observable ones have the directive SKIP."""
    findings: list[tuple[str, Finding | str]] = []
    for group, every in groups.items():
        findings += [(group, problems[group])] if group in problems else []
        findings += [(group, f) for f in every]
    lines = ["TAP version 13", f"1..{len(findings)}"]
    for n, (group, f) in enumerate(findings, start=1):
        if isinstance(f, str):
            name = _tap(f"{group}: {RUN}")
            lines += [f"not ok {n} - {name}", "  ---", f"  message: {_quoted(f)}", "  ..."]
            continue
        bad = f.verdict in (Verdict.FAILED, Verdict.UNDECIDED)
        name = _tap(f"{group}: {f.cc}: {_name(f)}")
        skip = " # SKIP " + _tap(_result(f)) if f.verdict is Verdict.NOT_OBSERVABLE else ""
        lines.append(f"{'not ok' if bad else 'ok'} {n} - {name}{skip}")
        if bad:
            lines += ["  ---", f"  message: {_quoted(_result(f))}", f"  at: {_quoted(f.expectation.place)}", "  ..."]
    return "\n".join(lines) + "\n"


def _name(f: Finding) -> str:
    cell = f"[{f.cell}] " if f.cell else ""
    return names.visible(f"{cell}{f.expectation.title}: {f.expectation.bound()}")


def _result(f: Finding) -> str:
    detail = f" ({f.detail})" if f.detail else ""
    return names.visible(f"{f.verdict.value}: {f.shown()}, expected {f.expectation.bound()}{detail}")


def _quoted(text: str) -> str:
    return '"' + names.visible(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tap(text: str) -> str:
    """A description in TAP (version 14, "Escaping"): backslashes and # are preceded by a backslash."""
    return names.visible(text).replace("\\", "\\\\").replace("#", "\\#")


def _xml(text: str) -> str:
    """Text that XML 1.0 may have; each character that it may not is U+FFFD."""
    return _NOT_IN_XML.sub("\ufffd", names.visible(text))
