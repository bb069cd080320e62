# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The counter of words to avoid: which text counts, allowed uses, warnings on changed lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import words

RUST = """//! Whose head it is.
//! ```
//! let told = 1;
//! ```
fn f<'a>(x: &'a str) -> char {
    // A value `told` is set, and so it goes
    // on; the kernel refuses a connection.
    let url = "https://told"; // beside
    let raw = r#"// told "anew" "#;
    '"' /* told */
}
"""
PYTHON = '''"""A head."""
x = "# told"


def f():
    """Told."""
    return x  # anew
'''


def found(path: Path) -> list[tuple[str, int]]:
    """The listed words in a file, with their lines."""
    return [(entry.name, number) for entry, number, _ in words.uses(words.read(path), words.load())]


def test_comments_of_rust_count_and_strings_and_code_do_not(tmp_path: Path) -> None:
    path = tmp_path / "a.rs"
    path.write_text(RUST)
    expected = [("whose", 1), ("beside", 8), ("go on", 6), ("refuse", 7), ("tell, told", 10)]
    assert sorted(found(path)) == sorted(expected)
    assert words.read(path).head == "Whose head it is."


def test_docstrings_and_comments_of_python_count(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(PYTHON)
    assert sorted(found(path)) == [("anew", 7), ("tell, told", 6)]
    total = words.count(tmp_path, words.load())
    assert (total.words, total.heads, total.wh_heads) == (4, 1, 0)


RUST_STRINGS = r"""
// told in a comment
parameters! {
    rate: Rate = key(Kind::Rate, "the rate that is told; \"asked\" \
        for");
}
fn f(c: char) -> Problem {
    assert!(c != '"', "asked for nothing at all");
    let x = option.expect("somebody asked for it");
    Problem::new("told", format!("port {told} stands in the way")).hint("say {what} beside it")
}
#[cfg(test)]
mod tests {
    const A: &str = "asked for a test";
}
"""
PYTHON_STRINGS = """
def f(told):
    "Told in a docstring."
    assert told, "asked for in an assertion"
    stop(f"{told} goes "
         f"on: say --out")
    print("told", help="what somebody `asked` for")
"""


def test_strings_for_users_count_and_other_strings_do_not() -> None:
    def names(text: words.Text) -> list[str]:
        return sorted(entry.name for entry, _, _ in words.uses(text, words.load()))

    expected = ["ask", "beside", "say", "stands", "tell, told"]
    assert names(words.strings_of_rust(RUST_STRINGS)) == expected
    assert names(words.strings_of_python(PYTHON_STRINGS)) == ["go on", "nobody, somebody", "say"]


@pytest.mark.parametrize(
    ("comment", "names"),
    [
        ("Calls RecordSink::begin first.", []),
        ("Calls begin first.", ["begin"]),
        ("A standing queue.", []),
        ("It stands here.", ["stands"]),
        ("The header says so.", []),
        ("The policy says so.", ["say"]),
    ],
)
def test_allowed_uses_do_not_count(tmp_path: Path, comment: str, names: list[str]) -> None:
    path = tmp_path / "a.c"
    path.write_text(f"/* {comment} */\n")
    assert [name for name, _ in found(path)] == names


def test_every_allowed_use_has_a_reason_and_every_word_a_replacement() -> None:
    data = words.tomllib.loads((words.ROOT / "tests/words.toml").read_text(encoding="utf-8"))
    assert all(allowed["reason"] for allowed in data["allow"])
    assert all(word["write"] for word in data["word"])
    stored = json.loads(words.FILE.read_text(encoding="utf-8"))
    for counts in (stored["before"], *stored["references"].values()):
        assert set(counts["per_10000"]) == {word["name"] for word in data["word"]}


def test_a_rate_may_be_three_times_the_highest_reference_or_one() -> None:
    references = [{"per_10000": {"told": 0.2, "begin": 1.0}}, {"per_10000": {"told": 0.0, "begin": 2.0}}]
    assert words.goal("told", references) == 1.0
    assert words.goal("begin", references) == 6.0


def test_only_changed_lines_are_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(words, "ROOT", tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "a.rs").write_text("// Told before.\nfn f() {}\n")
    git("add", ".")
    git("commit", "-q", "-m", "First")
    words.warn(None, words.load())
    assert capsys.readouterr().out == "words: skipped, no commit to compare with\n"
    (tmp_path / "a.rs").write_text("// Told before.\nfn f() {}\n// Anew, behind it.\n")
    words.warn("HEAD", words.load())
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith('a.rs:3: "anew"; write: again, from scratch')
    assert last.startswith("words: 1 warnings")


def test_comments_speak_the_language_of_the_field() -> None:
    """The rates of this repository, against three times those of two other network stacks."""
    if words.git("rev-parse", "--git-dir") is None:
        pytest.skip("not a git checkout")
    loaded = words.load()
    now = words.summary(words.count(words.ROOT, loaded))
    known = json.loads(words.FILE.read_text(encoding="utf-8"))["references"]
    goals = {entry.name: words.goal(entry.name, list(known.values())) for entry in loaded.entries if not entry.judge}
    assert {name: now["per_10000"][name] for name in goals if now["per_10000"][name] > goals[name]} == {}
    assert now["wh_heads"] == 0


def test_texts_for_users_do_not_return_to_words_to_avoid() -> None:
    """The rates in texts for users: those of words.json, and one use more."""
    if words.git("rev-parse", "--git-dir") is None:
        pytest.skip("not a git checkout")
    loaded = words.load()
    now = words.count_strings(loaded)
    known = json.loads(words.FILE.read_text(encoding="utf-8"))["strings"]["per_10000"]
    names = [entry.name for entry in loaded.entries if not entry.judge]
    one = words.PER / now.words
    assert {n: now.rates()[n] for n in names if now.rates()[n] > known[n] + one} == {}
    assert now.words > 10_000
