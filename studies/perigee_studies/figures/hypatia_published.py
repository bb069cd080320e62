# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Published tables of Barbosa et al., with their schemes, numbers and ceilings."""

from __future__ import annotations

SCHEMES = ("newreno", "cubic", "vegas", "bbr")
CEILING_MBIT, LINE_MBIT = 1924.7, 2000.0
TABLES = {
    (11000, "shortest"): {
        "Sao Paulo": (1920.01, 1921.06, 1827.25, 1816.95), "San Jose": (1856.36, 1918.09, 1116.27, 1779.95),
        "Montreal": (1842.74, 1912.05, 644.29, 1835.06), "Victoria": (1914.12, 1918.74, 1783.68, 1808.39),
    },
    (5500, "shortest"): {
        "Sao Paulo": (1922.62, 1923.09, 1435.72, 1879.28), "San Jose": (1921.46, 1922.08, 1125.63, 1870.85),
        "Montreal": (1914.88, 1920.61, 1297.19, 1820.78), "Victoria": (1922.28, 1922.72, 1160.50, 1876.50),
    },
    (11000, "nearest"): {
        "Sao Paulo": (1368.54, 1872.43, 1124.36, 896.76), "San Jose": (1628.87, 1902.00, 522.62, 1807.49),
        "Montreal": (1220.80, 1899.28, 859.25, 1805.64), "Victoria": (1301.54, 1893.24, 152.47, 1746.70),
    },
    (5500, "nearest"): {
        "Sao Paulo": (1244.25, 1862.03, 1071.29, 1653.81), "San Jose": (1724.94, 1838.47, 300.30, 1746.87),
        "Montreal": (1114.34, 1860.15, 622.12, 1801.20), "Victoria": (1393.29, 1886.12, 238.96, 1746.85),
    },
}  # fmt: skip
"""Mbit received in 200 s, by scheme in the order of SCHEMES."""
WIRED_TABLE = {
    "Sao Paulo": (1992.99, 1997.65, 1727.59, 1881.86), "San Jose": (1977.29, 1995.68, 1789.71, 1862.17),
    "Montreal": (1917.44, 1990.88, 1570.98, 1823.09), "Victoria": (1988.19, 1996.31, 1942.33, 1806.93),
}  # fmt: skip
NUMBER = {(11000, "shortest"): 1, (5500, "shortest"): 2, (11000, "nearest"): 3, (5500, "nearest"): 4}
