# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Logs of other tools: one module per family, selected by content.

`model` defines the common result.
"""
