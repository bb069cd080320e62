# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Quoting of untrusted text for output: one function per format. No other module quotes.

The text stays a text whatever it contains: in a shell script, a page, a table opened by a
spreadsheet, a map, a TOML file, a document in LaTeX, a figure, a terminal.
"""

from __future__ import annotations

import html as _html
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from perigee_lab.common.names import UNFIT, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

# Characters that spreadsheets interpret as the start of a formula (OWASP, CSV injection).
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]inf")
# A word of a unit that means itself; others, such as "" and ;, are quoted.
_UNIT_WORD = re.compile(r"[\w@%$+=:,./-]+")
# Ends a script element, opens a comment in it, or is invalid in a script's string.
_IN_SCRIPT = re.compile("[<>&\u2028\u2029]")
# LaTeX's special characters (The LaTeX Companion, section 1.3), and < > | of its older font encodings.
_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # As a character, since a package for a language may make it a command.
    '"': r"\symbol{34}",
}
# Characters to escape on a terminal; lines and columns of a message are preserved.
_ON_SCREEN = re.compile(f"(?![\n\t])[{UNFIT}]")


def shell(text: str) -> str:
    """One word of a command."""
    return shlex.quote(text)


def shell_words(words: Iterable[str]) -> str:
    """A command of these words."""
    return shlex.join(words)


def shell_comment(text: str) -> str:
    """The remainder of a line that starts with #."""
    return visible(text)


def systemd(word: str) -> str:
    """One word of a command in a unit (systemd.syntax(7), systemd.service(5)); it has no control character."""
    escaped = word.replace("%", "%%").replace("$", "$$")
    if _UNIT_WORD.fullmatch(escaped):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def html(text: object) -> str:
    """Text of an element, or of an attribute in quotes."""
    return _html.escape(str(text), quote=True)


def script(data: Any) -> str:
    """JSON for a script element of a page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _IN_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def geojson(data: Any) -> str:
    """GeoJSON or CZML without markup, which some maps render in texts."""
    return script(_without_markup(data))


def _without_markup(data: Any) -> Any:
    if isinstance(data, str):
        return _html.escape(visible(data), quote=False)
    if isinstance(data, dict):
        return {_without_markup(k): _without_markup(v) for k, v in data.items()}
    if isinstance(data, (list, tuple)):
        return [_without_markup(v) for v in data]
    return data


def csv(value: Any) -> Any:
    """A cell that is never a formula and has one line. Other types are left to the writer."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_csv(cell: str) -> str:
    """The text from which `csv` created a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def csv_frame(frame: pd.DataFrame, float_format: str) -> str:
    """A table of pandas as CSV without its index; texts and names of columns are those of `csv`."""
    shown = frame.rename(columns=csv)
    for name in shown.columns:
        if _has_texts(shown[name]):
            shown[name] = shown[name].map(csv).astype(object)
    text: str = shown.to_csv(index=False, float_format=float_format, lineterminator="\n")
    return text


def frame_from_csv(found: pd.DataFrame) -> pd.DataFrame:
    """The table that `csv_frame` wrote, of what pandas read."""
    found = found.rename(columns=from_csv)
    for name in found.columns:
        if _has_texts(found[name]):
            found[name] = found[name].map(lambda cell: from_csv(cell) if isinstance(cell, str) else cell)
    return found


def _has_texts(column: pd.Series[Any]) -> bool:
    """Whether a column has texts, or texts and numbers."""
    return column.dtype.kind not in "biufcmM"


def latex(text: str) -> str:
    """Text of a document in LaTeX: no command, no mathematics, no comment."""
    return "".join(_LATEX.get(c, c) for c in visible(text))


def toml(text: str) -> str:
    """A string. JSON's form suffices except for surrogate halves and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def plot(text: str) -> str:
    """A label of a plot, of one or more lines, with dollar signs that do not start mathematics."""
    return terminal(text).replace("$", r"\$")


def terminal(text: str) -> str:
    """Lines for a terminal or a log: no escape sequence, no carriage return."""
    return _ON_SCREEN.sub(lambda found: visible(found[0]), text)


def cell(text: str) -> str:
    """A cell of a table of Rich: no markup either."""
    from rich.markup import escape

    return escape(visible(text))
