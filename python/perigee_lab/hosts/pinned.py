# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The source of Linux that this release builds, and what its building amounts to.

Debian's package is a tar archive within a deb; the hash is that of the archive, so that one that was kept apart counts
as the same source.
"""

from __future__ import annotations

PACKAGE = "linux-source-6.12"
VERSION = "6.12.117-1~deb12u1"
SHA256 = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f"

# What the kernel is not made of, two thirds of the files: other processors, devices, documentation, tests. The source
# of this release is built without them, unless there are patches of the user's own; the kernel is the same to the bit.
_PROCESSORS = (
    "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh sparc "
    "xtensa"
)
_DEVICES = (
    "accel clk crypto gpu hwmon iio infiniband media mtd net/ethernet net/wireless phy pinctrl power regulator "
    "scsi soc staging usb video"
)
LEFT_OUT = (
    # Not their Kconfig files and Makefiles, which are read.
    *(f"*/arch/{name}/*.[chS]" for name in _PROCESSORS.split()),
    *(f"*/drivers/{name}/*.[ch]" for name in _DEVICES.split()),
    "*/arch/*.dts",
    "*/arch/*.dtsi",
    "*/sound/*.[ch]",
    "*/Documentation/*/*",
    "*/tools/perf",
    "*/tools/testing",
)

# For progress only: files in the archive, wholly and without these, and lines that `make` prints.
FILES, FEWER_FILES = 92_500, 33_900
LINES = 1_300
# Bytes on disk while it is being built.
ROOM, LESS_ROOM = 2_500_000_000, 1_000_000_000
