# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`python -m perigee_lab`."""

from perigee_lab.entry import main

if __name__ == "__main__":
    main()
