# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measurements of real paths, stored as records."""
