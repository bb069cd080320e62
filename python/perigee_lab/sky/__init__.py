# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Networks without packets: paths over a constellation, maps, weather, timelines."""
