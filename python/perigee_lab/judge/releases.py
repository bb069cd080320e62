# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Released crates of QUIC as programs: a small server and client, built by cargo.

`NAME@VERSION` sets the version of a crate in the adapter's Cargo.toml and nothing else; cargo
resolves what it depends on. Builds are kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from perigee_lab.common import quoting
from perigee_lab.common.errors import PerigeeError
from perigee_lab.judge.programs import Pair

ADAPTERS = Path(__file__).parent / "adapters"
BINARY = "perigee-judged"
PATTERN = re.compile(r"(?P<name>[a-z][a-z0-9-]*)@(?P<version>\d+\.\d+\.\d+[A-Za-z0-9.+-]*)")


class ReleaseError(PerigeeError):
    """A release cannot be judged; the message has the remedy."""


@dataclass(frozen=True)
class Adapter:
    """A program over a family of crates."""

    folder: str
    crate: str
    proto: str
    """Crate of its state machine, with the congestion controls."""
    any_version: str
    """Versions of both crates if the other one is named."""
    schemes: tuple[str, ...]
    features: str = ""


ADAPTER_OF = {
    "quinn": Adapter("quinn", "quinn", "quinn-proto", "0.11", ("cubic", "newreno", "bbr")),
    "quinn-proto": Adapter("quinn", "quinn", "quinn-proto", "0.11", ("cubic", "newreno", "bbr")),
    "noq": Adapter("quinn", "noq", "noq-proto", "1", ("cubic", "newreno", "bbr3"), "noq"),
    "noq-proto": Adapter("quinn", "noq", "noq-proto", "1", ("cubic", "newreno", "bbr3"), "noq"),
}


@dataclass(frozen=True)
class Release:
    """A version of a crate."""

    name: str
    version: str
    cc: str

    @property
    def adapter(self) -> Adapter:
        """Its adapter."""
        return ADAPTER_OF[self.name]

    @property
    def label(self) -> str:
        """Name in tables and files."""
        return f"{self.name}@{self.version}:{self.cc}"

    def manifest(self) -> str:
        """The text of the adapter's Cargo.toml with this version."""
        a = self.adapter
        exact = f"={self.version}"
        versions = (exact, "*") if self.name == a.crate else (a.any_version, exact)
        text = (ADAPTERS / a.folder / "Cargo.toml.in").read_text(encoding="utf-8")
        values = {"CRATE": a.crate, "VERSION": versions[0], "PROTO": a.proto, "PROTO_VERSION": versions[1]}
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        return text


def parsed(what: str) -> Release | None:
    """The release that `NAME@VERSION` or `NAME@VERSION:CC` names; None if it has another form.

    Raises ReleaseError for crates and congestion controls without an adapter.
    """
    text, _, cc = what.partition(":")
    found = PATTERN.fullmatch(text)
    if found is None:
        return None
    name = found["name"]
    if name not in ADAPTER_OF:
        raise ReleaseError(f"{what!r}: there is no adapter for {name}; there are {', '.join(ADAPTER_OF)}")
    schemes = ADAPTER_OF[name].schemes
    cc = cc or schemes[0]
    if cc not in schemes:
        raise ReleaseError(f"{what!r}: {name} has no congestion control {cc!r}; it has {', '.join(schemes)}")
    return Release(name, found["version"], cc)


def folder_of(release: Release) -> Path:
    """Folder of the build, by the hash of its inputs."""
    sources = release.manifest() + (ADAPTERS / release.adapter.folder / "main.rs").read_text(encoding="utf-8")
    key = hashlib.sha256(sources.encode()).hexdigest()[:12]
    return cache() / f"{release.name}-{release.version}-{key}"


def cache() -> Path:
    """Folder of all builds; they share what they have in common."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perigee" / "judged"


def prepared(release: Release) -> Path:
    """Writes the crate of a release with its lock file; returns its folder. Raises ReleaseError."""
    if shutil.which("cargo") is None:
        raise ReleaseError("released crates are built by cargo, which is not on PATH: install Rust (https://rustup.rs)")
    folder = folder_of(release)
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(release.manifest(), encoding="utf-8")
    shutil.copyfile(ADAPTERS / release.adapter.folder / "main.rs", folder / "src" / "main.rs")
    if not (folder / "Cargo.lock").exists():
        _cargo(folder, "generate-lockfile")
    return folder


def plan(release: Release) -> list[str]:
    """What cargo will build, as name and version; empty if it is built. Raises ReleaseError."""
    folder = prepared(release)
    if binary_of(folder).exists():
        return []
    tree = _cargo(folder, "tree", "--prefix", "none", "--edges", "normal,build", *_features(release))
    return sorted({" ".join(line.split()[:2]) for line in tree.splitlines() if line and BINARY not in line})


def build(release: Release) -> Path:
    """The program, built if it is not yet. Raises ReleaseError."""
    folder = prepared(release)
    if not binary_of(folder).exists():
        _cargo(folder, "build", "--release", "--locked", *_features(release))
        shutil.copy2(cache() / "target" / "release" / BINARY, binary_of(folder))
    return binary_of(folder)


def binary_of(folder: Path) -> Path:
    """The program in the folder of a build."""
    return folder / BINARY


def pair(release: Release, binary: Path) -> Pair:
    """The commands of a built release."""
    program = quoting.shell_words([str(binary)])
    client = f"{program} client {{host}} {{port}} {{seconds}} {{bytes}} {{qlog}} {release.cc}"
    return Pair(f"{program} server {{port}}", client, label=release.label)


def _features(release: Release) -> list[str]:
    return ["--features", release.adapter.features] if release.adapter.features else []


def _cargo(folder: Path, *words: str) -> str:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(cache() / "target")}
    environment.pop("RUSTFLAGS", None)
    done = subprocess.run(["cargo", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        wrong = [k for k, line in enumerate(lines) if line.startswith("error")]
        shown = "\n".join(lines[wrong[0] : wrong[0] + 8] if wrong else lines[-8:])
        raise ReleaseError(f"cargo {words[0]} failed in {folder}:\n{shown}")
    return done.stdout
