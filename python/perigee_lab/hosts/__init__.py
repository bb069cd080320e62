# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Real hosts: the Linux kernels that Perigee builds for them, and where these are kept."""
