# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Archives for tests: taken apart, changed, and put together again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perigee_lab.runs.archive import INDEX

RATES = "t_s,rate_mbps\n0,10\n1,5\n2,8\n"


def rebuilt(source: Path, target: Path, changed: dict[str, bytes]) -> None:
    """An archive with other contents under the same names, and an index that fits them."""
    with zipfile.ZipFile(source) as file:
        content = {n: file.read(n) for n in file.namelist()}
    content |= changed
    index = json.loads(content.pop(INDEX))
    index["entries"] = [
        {"name": n, "size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in content.items()
    ]
    zipped(target, content, index)


def zipped(
    target: Path,
    content: dict[str, bytes],
    index: dict[str, Any],
    edit: Callable[[zipfile.ZipInfo], None] = lambda _: None,
) -> None:
    """An archive of these contents and this index; `edit` changes the properties of entries."""
    with zipfile.ZipFile(target, "w") as file:
        for name, data in {**content, INDEX: json.dumps(index).encode()}.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o100600 << 16
            edit(info)
            file.writestr(info, data)


def parts(path: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The contents of an archive by name, and its index."""
    with zipfile.ZipFile(path) as file:
        content = {n: file.read(n) for n in file.namelist()}
    return content, json.loads(content.pop(INDEX))


def changed(source: Path, target: Path, name: str, edit: Callable[[Any], object]) -> None:
    """An archive with one changed JSON, and an index that fits it."""
    with zipfile.ZipFile(source) as file:
        data = json.loads(file.read(name))
    edit(data)
    rebuilt(source, target, {name: json.dumps(data).encode()})


def without(source: Path, target: Path, *names: str) -> None:
    """An archive without some entries, and an index that fits it."""
    content, index = parts(source)
    kept = {n: d for n, d in content.items() if n not in names}
    index["entries"] = [e for e in index["entries"] if e["name"] in kept]
    zipped(target, kept, index)
