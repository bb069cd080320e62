# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How fast the simulator is: the cases of `perigee bench`."""
