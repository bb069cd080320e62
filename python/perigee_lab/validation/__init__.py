# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Validation: reference measurements, and simulations of the same paths.

Data and provenance: README.md in this folder.
"""
