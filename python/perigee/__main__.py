# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`python -m perigee`."""

from perigee.entry import main

if __name__ == "__main__":
    main()
