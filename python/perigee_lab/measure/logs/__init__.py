# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Logs of other tools: a module per family, chosen by content; `model` has the common result."""
