# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Small files that would take much memory or time are refused before they are parsed or unpacked."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perigee_lab.common import reading
from perigee_lab.common.reading import MOST_VALUES, counted, parsed_json
from perigee_lab.common.structures import Reader
from perigee_lab.measure.logs import qlog, reader
from perigee_lab.measure.logs.model import MOST_LOG_VALUES, Asked, LogError
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.results import manifest
from perigee_lab.runs import archive
from perigee_studies import digest
from perigee_studies.digest import Digest

EMPTY = ",{}"
QLOG = '{"qlog_version":"0.3","traces":[{"events":[{}EVENTS]}]}'


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any parsing of JSON by the bounded reader fails the test."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(reading.json, "loads", never)


def test_values_are_counted_before_they_are_parsed(unparsed: None) -> None:
    for text in ('{"a": [1, 2, {}]}', b'{"a": [1, 2, {}]}'):
        assert counted(text) == (2, 3)
        with pytest.raises(ValueError, match="more than 4 values"):
            parsed_json(text, 4)
        with pytest.raises(AssertionError):
            parsed_json(text, 5)


def test_a_manifest_of_many_values_is_refused_unparsed(unparsed: None) -> None:
    text = "[{}" + EMPTY * (MOST_VALUES // 2) + "]"
    with pytest.raises(manifest.ManifestError, match="more than 4,000,000 values"):
        manifest.of_text(text, Path("manifest.json"))


def test_an_archive_of_which_the_index_has_many_values_is_refused_unparsed(tmp_path: Path, unparsed: None) -> None:
    """Its 400 kB had 66 MB of an index, which took 1.8 GB of memory and 10 s before any consent."""
    with zipfile.ZipFile(tmp_path / "x.perigee", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            archive.INDEX, "[{}" + EMPTY * 1_000_000 + "," + json.dumps(np.random.default_rng(1).bytes(10**5).hex())
        )
    with pytest.raises(archive.ArchiveError, match="more than 1,000,000 values"):
        archive.open_archive(tmp_path / "x.perigee")


def test_a_large_value_is_not_written_whole_into_a_message() -> None:
    class Endless(dict[str, Any]):
        def items(self) -> Any:
            for i in range(10**9):
                assert i < 100, "more than its start was read"
                yield str(i), [i]

    shown = str(Reader(Path("f"), ValueError).wrong("k", Endless(), "a list"))
    assert shown.startswith('f: k is {"0": [0], "1": [1], ')
    assert shown.endswith(" …, must be a list")
    assert len(shown) < 120


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, -3, "text", "é\n", [], {}, [1, "a", None], {"a": {"b": [1.0, []]}}, [[]], "x" * 50, [0] * 15],
)
def test_a_short_value_is_shown_as_json(value: object) -> None:
    shown = str(Reader(Path("f"), ValueError).wrong("k", value, "a list"))
    assert shown == f"f: k is {json.dumps(value)}, must be a list"


@pytest.mark.parametrize("value", ["x" * 70, "é" * 70, [0] * 70, {"a" * 70: 1}, 10**70, [[[["a" * 30]] * 3]]])
def test_the_start_of_a_long_value_is_shown_as_json(value: object) -> None:
    shown = str(Reader(Path("f"), ValueError).wrong("k", value, "a list"))
    assert shown == f"f: k is {json.dumps(value)[:60]} …, must be a list"


# What 58 kB had: 60 MB, for which an import took 2.9 GB of memory and 91 s.
BOMBS = {
    "a.json.gz": "[{}" + EMPTY * 20_000_000 + "]",
    "b.qlog.gz": QLOG.replace("EVENTS", EMPTY * 20_000_000),
    "c.qlog.gz": '\x1e{"qlog_version":"0.3","qlog_format":"JSON-SEQ"}\n\x1e{"a":[{}' + EMPTY * 20_000_000 + "]}\n",
    "spaces.json.gz": "{" + " " * 60_000_000 + "}",
    "lines.json.gz": "{" + "\n" * 60_000_000 + "}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_log_unpacks_to_no_more_than_its_size_allows(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(BOMBS[name].encode(), 9))
    with pytest.raises(LogError, match="would unpack to more than"):
        read_log(tmp_path / name, Asked())


def test_what_a_log_unpacks_to_is_bounded_whatever_the_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "l.gz").write_bytes(gzip.compress(np.random.default_rng(1).bytes(10**6).hex().encode()))
    monkeypatch.setattr(reader, "MOST_UNPACKED", 10**6)
    with pytest.raises(LogError, match="more than 1 MB"):
        read_log(tmp_path / "l.gz", Asked(), "ping")


@pytest.mark.parametrize("name", ["a.json", "b.qlog", "c.qlog", "lines.qlog", "mtr.json"])
def test_a_log_of_many_values_is_refused_unparsed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader.MOST_LOG_VALUES == qlog.MOST_LOG_VALUES == MOST_LOG_VALUES
    for module in (reader, qlog):
        monkeypatch.setattr(module, "MOST_LOG_VALUES", 100_000)
    many = EMPTY * 50_000
    texts = {
        "a.json": "[{}" + many + "]",
        "b.qlog": QLOG.replace("EVENTS", many),
        "c.qlog": '\x1e{"qlog_version":"0.3","qlog_format":"JSON-SEQ"}\n\x1e{"a":[{}' + many + "]}\n",
        "lines.qlog": '{"qlog_version":"0.3",\n' + "1\n" * 100_000,
        "mtr.json": '{"report": {"hubs": [{}' + many + "]}}",
    }
    (tmp_path / name).write_text(texts[name], encoding="utf-8")
    parsed: list[int] = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text, **keys: parsed.append(len(text)) or loads(text, **keys))
    with pytest.raises(LogError):
        read_log(tmp_path / name, Asked())
    assert max(parsed, default=0) < 1000


def test_wide_characters_count_as_the_memory_that_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_JSON_CHARS", 1_000_000)
    (tmp_path / "l.json").write_text('{"a": "' + "😀" * 300_000 + '"}', encoding="utf-8")
    with pytest.raises(LogError, match="JSON is read completely; split it"):
        read_log(tmp_path / "l.json", Asked())


def event(number: int) -> dict[str, Any]:
    return {"time": number, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 20.0 + number % 7}}


def test_a_sequence_is_read_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records together may have more values than a document."""
    monkeypatch.setattr(qlog, "MOST_LOG_VALUES", 1000)
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "client"}}}
    records = [head, *map(event, range(2000))]
    (tmp_path / "l.sqlog").write_text("".join(f"\x1e{json.dumps(r)}\n" for r in records), encoding="utf-8")
    assert len(read_log(tmp_path / "l.sqlog", Asked()).flows[0].rows) == 2000
    # One with too many values is left out, as a damaged one is.
    records[5] = {"a": [0] * qlog.MOST_RECORD_VALUES}
    (tmp_path / "l.sqlog").write_text("".join(f"\x1e{json.dumps(r)}\n" for r in records), encoding="utf-8")
    log = read_log(tmp_path / "l.sqlog", Asked())
    assert len(log.flows[0].rows) == 1999
    assert any("a record is damaged" in remark for remark in log.remarks)


MEMORY = r"""
import re, sys
from pathlib import Path
from perigee_lab.measure.logs.reader import read_log
from perigee_lab.measure.logs.model import Asked
print(len(read_log(Path(sys.argv[1]), Asked()).flows[0].rows))
# That of resource.getrusage may be of the process that started this one.
print(1024 * int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("l.qlog", 1e9), ("l.sqlog", 5e8), ("l.qlog.gz", 1e9)])
def test_a_qlog_of_a_hundred_megabytes_is_read_within_a_gigabyte(name: str, most: float, tmp_path: Path) -> None:
    count, text = 0, io.StringIO()
    text.write('{"qlog_version":"0.3","traces":[{"vantage_point":{"type":"client"},"events":[{}')
    sequence = name.endswith(".sqlog")
    if sequence:
        text = io.StringIO()
        text.write('\x1e{"qlog_version":"0.3","trace":{"vantage_point":{"type":"client"}}}\n')
    while text.tell() < 100_000_000:
        sent = {
            "header": {"packet_type": "1RTT", "packet_number": count, "dcid": "0123456789abcdef"},
            "raw": {"length": 1280},
        }
        sent |= {"frames": [{"frame_type": "stream", "stream_id": 0, "offset": count * 1200, "length": 1200}]}
        of = event(count) if count % 5 == 0 else {"time": count, "name": "transport:packet_sent", "data": sent}
        text.write(f"\x1e{json.dumps(of)}\n" if sequence else f",{json.dumps(of)}")
        count += 1
    text.write("" if sequence else "]}]}")
    data = text.getvalue().encode()
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
    words = [sys.executable, "-c", MEMORY, tmp_path / name]
    rows, memory = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert int(rows) == (count + 4) // 5
    assert int(memory) < most


def zipped(**members: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name.replace("__", "."), data)
    return made.getvalue()


def saved(array: Any) -> bytes:
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return made.getvalue()


ABOUT = b'{"flows": [], "routes": [], "events": [], "info": {}}'
HUGE = saved(np.zeros(1)).replace(b"(1,)", b"(9,)").replace(b"(9,), }" + b" " * 11, b"(9" + b"0" * 11 + b",), }")


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"t_s__npy": saved(np.zeros(20 << 20))}, "would unpack to"),
        ({"t_s__npy": saved(np.zeros(100, dtype=np.int8))}, "not one of a digest"),
        ({"t_s__npy": saved(np.zeros(100, dtype="U1"))}, "not one of a digest"),
        ({"t_s__npy": HUGE}, "not one of a digest"),
        ({"digest__json": b"[{}" + b",{}" * (MOST_VALUES // 2) + b"]"}, "more than 4,000,000 values"),
    ],
)
def test_a_digest_unpacks_to_no_more_than_digests_have(members: dict[str, bytes], says: str) -> None:
    given = {"digest__json": ABOUT, "t_s__npy": saved(np.zeros(2)), "rtt_ms__npy": saved(np.zeros((1, 2)))}
    assert Digest.from_bytes(zipped(**given)).t_s.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=says):
        Digest.from_bytes(zipped(**(given | members)))


def test_a_digest_is_bounded_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "MOST_UNPACKED", 100)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(ValueError, match="at most 100 are read"):
        Digest.from_bytes(zipped(digest__json=ABOUT, t_s__npy=saved(np.zeros(100))))
