# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Users of a constellation as a fluid: records, summaries, maps, pages."""
