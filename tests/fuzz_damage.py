# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Structured damage to files: bytes, JSON, TOML, lines and cells, Parquet tables, NumPy archives."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 0.5, -0.0, float("nan"), float("inf"), 2**31, 2**32, 2**62, 2**63, 2**64, 10**30, 1e308,
    "", "x", "a\nb", "\ud800", "../x", "nan", "1e999", [], {}, [None], {"": None}, [[[[]]]], "9" * 5000,
)  # fmt: skip
ODD_WORDS = (
    *ODD, "-5 ms", "0 s", "1e400 s", "99999999 Gbit", "*", "all", "-inf", "1,", ",", '"', "[[", "\\u0000", "\x00",
    "1_0", "\u202e", "1e-320", "-1e308", "18446744073709551616", "true", "../../x", "/dev/zero", "shortest", "#",
)  # fmt: skip
OTHER_TYPES = (
    pa.uint64(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null(), pa.list_(pa.int64()),
    pa.timestamp("us"), pa.binary(), pa.float32(), pa.uint32(),
)  # fmt: skip


Damage = Callable[[random.Random, Path], None]
"""Damages a file, or one of those in a folder."""


@dataclass(frozen=True)
class Target:
    """A reader: its undamaged input, the damage, and what is done with it."""

    name: str
    make: Callable[[Path], None]
    damage: Damage
    read: Callable[[Path], object]


def bytes_of(draw: random.Random, data: bytes) -> bytes:
    """Flipped, cut, doubled, inserted or exchanged bytes."""
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(found) + 1)
        kind = draw.randrange(6)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del found[at:]
        elif kind == 2:
            found[at:at] = found[at : at + draw.randint(1, 200)]
        elif kind == 3:
            found[at:at] = draw.randbytes(draw.randint(1, 8))
        elif kind == 4:
            del found[at : at + draw.randint(1, 200)]
        elif at < len(found):
            found[at] = draw.choice((0, 255, 127, 128, 10, 34))
    return bytes(found)


def damage_json(draw: random.Random, data: Any) -> Any:
    """JSON with a value replaced, removed, doubled or renamed somewhere."""
    places = list(_places(data))
    for _ in range(draw.randint(1, 3)):
        holder, key = draw.choice(places)
        kind = draw.randrange(5)
        try:
            if kind == 0:
                del holder[key]
            elif kind == 1 and isinstance(holder, dict):
                holder[draw.choice(("x", "", "a\nb", str(key) + " "))] = holder[key]
            elif kind == 2 and isinstance(holder, list):
                holder.extend([holder[key]] * draw.choice((1, 1000)))
            else:
                holder[key] = draw.choice(ODD)
        except (KeyError, IndexError):
            continue
    return data


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in list(pairs):
        yield data, key
        yield from _places(part)


def json_file(draw: random.Random, path: Path) -> None:
    """Damages a JSON file, by structure or by bytes."""
    if draw.random() < 0.2:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    found = damage_json(draw, json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(found), encoding="utf-8")


def json_lines(draw: random.Random, path: Path) -> None:
    """Damages a file with one JSON value per line: values of a line, the lines, or bytes."""
    if draw.random() < 0.5:
        text_file(draw, path)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    at = draw.randrange(len(lines))
    lines[at] = json.dumps(damage_json(draw, json.loads(lines[at])))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def toml_file(draw: random.Random, path: Path) -> None:
    """Damages a TOML file: its values, its words, or bytes."""
    if draw.random() < 0.4:
        text_file(draw, path)
        return
    found = damage_json(draw, tomllib.loads(path.read_text(encoding="utf-8")))
    lines = [f"{_key(k)} = {toml_value(v)}\n" for k, v in found.items() if v is not None]
    path.write_bytes("".join(lines).encode("utf-8", "replace"))


def toml_value(value: Any) -> str:
    """A value in TOML, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(v) for v in value if v is not None) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _key(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)


def text_file(draw: random.Random, path: Path) -> None:
    """Damages text: lines removed, doubled or exchanged, words replaced by odd ones, or bytes."""
    data = path.read_bytes()
    if draw.random() < 0.2:
        path.write_bytes(bytes_of(draw, data))
        return
    lines = data.decode("utf-8", "replace").splitlines() or [""]
    for _ in range(draw.randint(1, 3)):
        at, kind = draw.randrange(len(lines)), draw.randrange(6)
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines[at:at] = [lines[draw.randrange(len(lines))]] * draw.choice((1, 1000))
        elif kind == 2:
            other = draw.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            words = re.split(r"(\s+|[,=:$\[\]{}\"<>/]+)", lines[at])
            words[draw.randrange(len(words))] = str(draw.choice(ODD_WORDS))
            lines[at] = "".join(words)
    path.write_bytes("\n".join([*lines, ""]).encode("utf-8", "replace"))


def column_of(draw: random.Random, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with odd values, of its type or another one."""
    rows = len(column)
    kind = column.type
    for _ in range(20):
        new = draw.choice((kind, kind, kind, *OTHER_TYPES))
        values = column.to_pylist()
        for _ in range(draw.choice((1, 3, rows))):
            if rows:
                values[draw.randrange(rows)] = draw.choice(ODD)
        if draw.random() < 0.3:
            draw.shuffle(values)
        try:
            if pa.types.is_dictionary(new):
                return pa.chunked_array([pa.array(values, pa.string()).dictionary_encode().cast(new)])
            return pa.chunked_array([pa.array(values, new)])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return column


def table_file(draw: random.Random, path: Path) -> None:
    """Damages a Parquet file, by columns, rows or bytes."""
    kind = draw.randrange(8)
    if kind == 0:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    table = pq.read_table(path)
    name = draw.choice(table.column_names)
    at = table.column_names.index(name)
    if kind == 1:
        table = table.drop_columns([name])
    elif kind == 2:
        table = pa.concat_tables([table] * draw.choice((2, 50)))
    elif kind == 3 and table.num_rows:
        table = table.slice(draw.randrange(table.num_rows))
    elif kind == 4:
        table = table.append_column(draw.choice(("x", name, "a\nb", "linux.y")), column_of(draw, table[name]))
    else:
        table = table.set_column(at, name, column_of(draw, table[name]))
    pq.write_table(table, path, compression="zstd")


def npz_file(draw: random.Random, path: Path) -> None:
    """Damages a measurement, by its description, its columns or bytes."""
    if draw.random() < 0.2:
        path.write_bytes(bytes_of(draw, path.read_bytes()))
        return
    with np.load(path) as data:
        parts = {k: data[k] for k in data.files}
    if draw.random() < 0.5:
        about = damage_json(draw, json.loads(parts["about"].tobytes()))
        parts["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    else:
        name = draw.choice([k for k in parts if k != "about"])
        kind, values = draw.randrange(7), parts[name]
        if kind == 0:
            del parts[name]
        elif kind == 1:
            parts[name] = values[: draw.randrange(len(values) + 1)]
        elif kind == 2:
            parts[name] = values.astype(draw.choice((np.float64, np.int8, np.uint64, "U8", bool, np.complex128)))
        elif kind == 3:
            parts[name] = draw.choice((np.zeros((3, 3), np.int64), np.int64(5), np.zeros(0, np.int64), values[:, None]))
        else:
            values = values.copy()
            flat = values.reshape(-1)
            for _ in range(draw.choice((1, 5, len(flat)))):
                if len(flat):
                    flat[draw.randrange(len(flat))] = draw.choice((0, -1, 1, 2**62, -(2**62), 2**63 - 1, -(2**63)))
            parts[name] = values
    np.savez_compressed(path, **parts)  # type: ignore[arg-type]
