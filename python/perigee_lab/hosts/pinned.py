# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pinned Linux source of this release, and the size of its build.

Debian's package is a tar archive within a deb; the hash is that of the archive, so that an archive
stored separately counts as the same source.
"""

from __future__ import annotations

PACKAGE = "linux-source-6.12"
VERSION = "6.12.117-1~deb12u1"
SHA256 = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f"

# Files that the kernel does not use, two thirds of all: other processors, devices, documentation,
# tests. The source of this release is unpacked without them, unless there are user-supplied
# patches; the resulting kernel is identical to the bit.
_PROCESSORS = (
    "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh sparc "
    "xtensa"
)
_DEVICES = (
    "accel clk crypto gpu hwmon iio infiniband media mtd net/ethernet net/wireless phy pinctrl power regulator "
    "scsi soc staging usb video"
)
LEFT_OUT = (
    # Kconfig files and Makefiles are excepted, as they are read.
    *(f"*/arch/{name}/*.[chS]" for name in _PROCESSORS.split()),
    *(f"*/drivers/{name}/*.[ch]" for name in _DEVICES.split()),
    "*/arch/*.dts",
    "*/arch/*.dtsi",
    "*/sound/*.[ch]",
    "*/Documentation/*/*",
    "*/tools/perf",
    "*/tools/testing",
)

# Used only for progress: number of files in the archive, in total and without these, and of lines
# of `make`.
FILES, FEWER_FILES = 92_500, 33_900
LINES = 1_300
# Bytes on disk during a build.
ROOM, LESS_ROOM = 2_500_000_000, 1_000_000_000
