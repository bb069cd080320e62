# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The source of Linux that this release builds, and what its building amounts to.

Debian's package is a tar archive within a deb; the hash is that of the archive, so that one that was kept apart counts
as the same source.
"""

from __future__ import annotations

PACKAGE = "linux-source-6.12"
VERSION = "6.12.117-1~deb12u1"
SHA256 = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f"

# For progress only: files in the archive, and lines that `make` prints.
FILES = 92_500
LINES = 2_000
# Bytes on disk while it is being built.
ROOM = 2_500_000_000
