# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Import of policies from TensorFlow checkpoints, without TensorFlow.

A checkpoint is a *tensor bundle*: `NAME.index`, a sorted table in LevelDB's format
(github.com/google/leveldb, doc/table_format.md) from names to descriptions, and
`NAME.data-00000-of-00001`, the concatenated values (tensorflow/core/util/tensor_bundle and
tensorflow/core/protobuf/tensor_bundle.proto). All checksums are verified.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perigee_lab.common.reading import read_bytes

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
TRAILER = 5
POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8
FLOAT = 1
"""DT_FLOAT of tensorflow/core/framework/types.proto."""
EPSILON = 0.001
"""Epsilon of batch normalisation, TensorFlow's default."""
SLOPE = 0.2
"""Slope of leaky rectifiers, TensorFlow's default."""
SLOTS = ("Adam", "Adam_1", "Momentum", "RMSProp", "ExponentialMovingAverage")

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Entry:
    """Location of a tensor.

    Attributes:
        dtype: number of its type.
        shape: of the tensor.
        offset: in the data, bytes.
        size: bytes.
        checksum: masked CRC-32C of the values.
    """

    dtype: int
    shape: tuple[int, ...]
    offset: int
    size: int
    checksum: int


@functools.cache
def _table() -> tuple[int, ...]:
    def of(byte: int) -> int:
        for _ in range(8):
            byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
        return byte

    return tuple(of(b) for b in range(256))


def masked_crc(data: bytes) -> int:
    """CRC-32C as LevelDB and TensorFlow store it: rotated, with a constant added."""
    crc, table = 0xFFFFFFFF, _table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + MASK) & 0xFFFFFFFF


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if at >= len(data):
            raise ValueError("the index ends within a number")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        shift += 7
    raise ValueError("a number of the index is too long")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer: numbers and values."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, -1), at)
        if size < 0 or at + size > len(data):
            raise ValueError("the index has a damaged description")
        part = data[at : at + size]
        yield key >> 3, part if kind == 2 else int.from_bytes(part, "little")
        at += size


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of a block."""
    end = offset + size
    if end + TRAILER > len(data) or size < 4:
        raise ValueError("the index is cut off")
    kind, crc = struct.unpack_from("<BI", data, end)
    if masked_crc(data[offset : end + 1]) != crc:
        raise ValueError("a checksum of the index is wrong")
    if kind != 0:
        raise ValueError("the index is compressed, which TensorFlow's own checkpoints are not")
    (restarts,) = struct.unpack_from("<I", data, end - 4)
    at, stop, key = offset, end - 4 * (restarts + 1), b""
    while at < stop:
        shared, at = _varint(data, at)
        own, at = _varint(data, at)
        length, at = _varint(data, at)
        if at + own + length > stop:
            raise ValueError("the index has a damaged block")
        key = key[:shared] + data[at : at + own]
        yield key, data[at + own : at + own + length]
        at += own + length


def index(data: bytes) -> dict[str, Entry]:
    """The tensors of an index by name.

    Raises:
        ValueError: it is no index of a tensor bundle, is damaged, or has more than one data file.
    """
    if len(data) < FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise ValueError("no index of a TensorFlow checkpoint")
    footer = data[-FOOTER:]
    _, at = _varint(footer, 0)
    _, at = _varint(footer, at)
    offset, at = _varint(footer, at)
    size, at = _varint(footer, at)
    found: dict[str, Entry] = {}
    for _, handle in _block(data, offset, size):
        start, at = _varint(handle, 0)
        length, _ = _varint(handle, at)
        for key, value in _block(data, start, length):
            if key:
                found[key.decode("utf-8")] = _entry(value)
            elif dict(_fields(value)).get(1, 1) != 1:
                raise ValueError("the checkpoint has several data files; save it as one")
    return found


def _entry(value: bytes) -> Entry:
    numbers: dict[int, int] = {}
    shape: list[int] = []
    for number, field in _fields(value):
        if isinstance(field, int):
            numbers[number] = field
        elif number == 2:
            dims = [f for n, f in _fields(field) if n == 2 and isinstance(f, bytes)]
            shape = [int(s) for d in dims for n, s in _fields(d) if n == 1 and isinstance(s, int)]
    return Entry(numbers.get(1, 0), tuple(shape), numbers.get(4, 0), numbers.get(5, 0), numbers.get(6, 0))


def tensors(prefix: Path) -> dict[str, Array]:
    """The single-precision tensors of a checkpoint: `PREFIX.index`, `PREFIX.data-00000-of-00001`.

    Raises:
        ValueError: a file is missing or damaged; with its name.
    """
    files = Path(f"{prefix}.index"), Path(f"{prefix}.data-00000-of-00001")
    try:
        described, data = read_bytes(files[0]), read_bytes(files[1])
    except OSError as error:
        raise ValueError(f"{error.filename}: cannot read: {error.strerror}") from error
    try:
        entries = index(described)
    except ValueError as error:
        raise ValueError(f"{files[0]}: {error}") from error
    found = {}
    for name, e in entries.items():
        if e.dtype != FLOAT:
            continue
        part = data[e.offset : e.offset + e.size]
        if len(part) != e.size or e.size != 4 * int(np.prod(e.shape, dtype=np.int64)):
            raise ValueError(f"{files[1]}: cut off within {name!r}")
        if masked_crc(part) != e.checksum:
            raise ValueError(f"{files[1]}: the checksum of {name!r} is wrong")
        found[name] = np.frombuffer(part, "<f4").reshape(e.shape)
    return found


def _scopes(found: dict[str, Array], inputs: int) -> dict[str, list[str]]:
    """Layers (names of matrices) of networks with these inputs and one output, by scope."""
    matrices = [n for n, a in found.items() if a.ndim == 2 and n.split("/")[-1] not in SLOTS]
    by_scope: dict[str, list[str]] = {}
    for name in matrices:
        parts = name.split("/")
        for k in range(1, len(parts) - 1):
            by_scope.setdefault("/".join(parts[:k]), []).append(name)
    chains: dict[str, list[str]] = {}
    for scope, names in by_scope.items():
        chain = _chain({n: found[n].shape for n in names}, inputs)
        if chain and not any(other.startswith(f"{scope}/") for other in chains):
            chains[scope] = chain
    longest: dict[tuple[str, ...], str] = {}
    for scope, chain in chains.items():
        longest[tuple(chain)] = max(scope, longest.get(tuple(chain), ""), key=len)
    return {scope: list(chain) for chain, scope in longest.items()}


def _chain(shapes: dict[str, tuple[int, ...]], inputs: int) -> list[str]:
    """These layers in order; empty if they do not form a chain from the inputs to one output."""
    chain, width, left = [], inputs, dict(shapes)
    while left:
        fitting = [n for n, s in left.items() if s[0] == width]
        if len(fitting) != 1:
            return []
        chain.append(fitting[0])
        width = left.pop(fitting[0])[1]
    return chain if width == 1 else []


def policy(prefix: Path, scope: str | None = None, inputs: int = 50) -> str:
    """The text of Perigee's policy file with the actor of a checkpoint.

    Args:
        prefix: the checkpoint without the extensions of its files.
        scope: the actor's scope; default: the only matching network, except targets.
        inputs: number of inputs of the actor.

    Raises:
        ValueError: the files are damaged, or the actor is not found; with the available scopes.
    """
    found = tensors(prefix)
    scopes = _scopes(found, inputs)
    asked = [scope] if scope is not None else [s for s in scopes if "target" not in s.lower()]
    if len(asked) != 1 or asked[0] not in scopes:
        there = ", ".join(sorted(scopes)) or "none"
        raise ValueError(f"{prefix}: name the actor's scope with --scope; networks with {inputs} inputs: {there}")
    name = asked[0]
    lines = [f"# from a TensorFlow checkpoint, {prefix.name}, scope {name}", "perigee-policy 1", f"input {inputs}"]
    vectors = {n: a for n, a in found.items() if n.startswith(f"{name}/") and a.ndim == 1}
    chain = scopes[name]
    for matrix in chain:
        last = matrix == chain[-1]
        lines += _layer(found[matrix], matrix, vectors)
        lines.append("tanh" if last else f"leaky_relu {SLOPE}")
    return "\n".join([*lines, "end", ""])


def _layer(kernel: Array, name: str, vectors: dict[str, Array]) -> list[str]:
    width = kernel.shape[1]

    def one(*endings: str, home: str = "") -> Array | None:
        fits = [a for n, a in vectors.items() if n.split("/")[-1] in endings and len(a) == width and n.startswith(home)]
        if len(fits) > 1:
            raise ValueError(f"{name}: several of {', '.join(endings)} fit this layer")
        return fits[0] if fits else None

    home = name.rpartition("/")[0]
    bias = one("bias", "biases", "b", home=home)
    rows = [*kernel.T, bias if bias is not None else np.zeros(width, np.float32)]
    lines = [f"dense {width}", *(_words(row) for row in rows)]
    mean, variance = one("moving_mean"), one("moving_variance")
    if mean is not None and variance is not None:
        offset = one("beta")
        if one("gamma") is not None:
            raise ValueError(f"{name}: normalisation with a scale (gamma), which policies do not have")
        offset = np.zeros(width, np.float32) if offset is None else offset
        lines += [f"batch_norm {EPSILON}", *(_words(v) for v in (mean, variance, offset))]
    return lines


def _words(values: Array) -> str:
    return " ".join(np.format_float_positional(x, unique=True, trim="0") for x in values)


def widths(text: str) -> list[int]:
    """Widths of a policy's layers, for messages."""
    words = text.split()
    return [int(b) for a, b in pairwise(words) if a in ("input", "dense")]
