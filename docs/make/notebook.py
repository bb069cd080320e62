# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outputs of a notebook: runs its cells and stores what they display, or compares the stored texts.

    python docs/make/notebook.py examples/lecture.ipynb           # in a folder for its records
    python docs/make/notebook.py examples/lecture.ipynb --check   # exit code 3: a text differs

Figures are stored as PNG, tables as HTML and text; interactive pages, which have megabytes, as a text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"
DPI = 64
MOST_HTML = 30_000
PAGE = "An interactive page: run the cell to display it."
DIFFERS = 3


def executed(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The outputs of the code cells, run in order as one program."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(n, "".join(c["source"]), names) for n, c in enumerate(cells, 1)]


def _outputs(number: int, source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    found = []
    if said.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(said.getvalue())})
    if value is not None:
        shown = {"data": _data(value), "metadata": {}, "execution_count": number}
        found.append({"output_type": "execute_result", **shown})
    return found


def _data(value: Any) -> dict[str, Any]:
    """A value by media type, as notebooks store it."""
    from matplotlib.figure import Figure

    if isinstance(value, Figure):
        pixels = io.BytesIO()
        value.savefig(pixels, format="png", dpi=DPI, metadata={"Software": None})
        return {"image/png": base64.b64encode(pixels.getvalue()).decode(), "text/plain": [repr(value)]}
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if html is not None and ("<iframe" in html or len(html) > MOST_HTML):
        return {"text/plain": [PAGE]}
    return {**({} if html is None else {"text/html": _lines(html)}), "text/plain": _lines(repr(value))}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """The texts of a cell's outputs, without markup and with single spaces."""
    found = []
    for output in outputs:
        data = {"text/plain": output["text"]} if "text" in output else output["data"]
        if "text/html" in data:
            found.append(re.sub(r"<style.*?</style>|<[^>]*>", " ", "".join(data["text/html"]), flags=re.S))
        if "text/plain" in data:
            found.append("".join(data["text/plain"]))
    return [" ".join(text.split()) for text in found]


def main(file: Path, *, check: bool) -> int:
    """Stores or compares; returns the exit code."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    try:
        fresh = executed(cells)
    except SystemExit:
        print(f"{file.name}: a cell ends the program")
        return DIFFERS
    if check:
        wrong = [(c, f) for c, f in zip(cells, fresh, strict=True) if texts(c["outputs"]) != texts(f)]
        for cell, found in wrong:
            print(f"{file.name}, {cell['id']}: stored\n{texts(cell['outputs'])}\nis now\n{texts(found)}")
        return DIFFERS if wrong else 0
    for n, (cell, found) in enumerate(zip(cells, fresh, strict=True), 1):
        cell["outputs"], cell["execution_count"] = found, n
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), check="--check" in sys.argv[2:]))
