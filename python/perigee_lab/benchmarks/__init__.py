# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Performance benchmarks of the simulator: the cases of `perigee bench`."""
