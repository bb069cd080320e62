# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios fitted to records: observations of a path, its model, its replay, and the quality of the fit."""
