# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurements as records: captures of others."""
