# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Scenarios fitted to records: observations and model of a path, replay, quality of the fit."""
