# SPDX-License-Identifier: Apache-2.0 OR MIT
"""OrbCC in this machine's own TCP: the programs that `make ebpf` builds, and their loader."""
