# SPDX-License-Identifier: Apache-2.0 OR MIT
"""From a record to a scenario: what is seen of a path, its model, the files that replay it, and how well they do."""
