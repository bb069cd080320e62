# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Logs of other tools: a module each, found by what is in the file; `model` is what they are read into."""
