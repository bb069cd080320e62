# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Entry point of `python -m perigee_lab`, the same as the command `perigee`."""

from perigee_lab.entry import main

if __name__ == "__main__":
    main()
