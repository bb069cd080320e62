# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Registry of experiments, in the order of the gallery.

Each is defined in `perigee_studies.figures`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from perigee_lab.common.errors import PerigeeError

if TYPE_CHECKING:
    from perigee_studies.model import Experiment

PAPERS = {
    "orbcc": "OrbCC",
    "leotcp": "LeoTCP",
    "leo-cc": "Mazilu et al.",
    "hypatia": "Barbosa et al.",
    "geo": "Claypool et al.",
}
STUDIES = tuple(PAPERS)
MODULES = (
    "orbcc_responsiveness",
    "orbcc_parking_lot",
    "orbcc_two_flows",
    "orbcc_soft_handover",
    "orbcc_hard_handover",
    "orbcc_initial_phase",
    "orbcc_constellation",
    "orbcc_claims",
    "orbcc_gateways",
    "unpublished_meter",
    "unpublished_carriers",
    "unpublished_hpcc",
    "unpublished_neighbours",
    "unpublished_fallback",
    "unpublished_hops",
    "unpublished_sky",
    "unpublished_attach",
    "unpublished_moving_rtts",
    "unpublished_probes",
    "unpublished_geo",
    "unpublished_rates",
    "unpublished_schemes",
    "unpublished_rain",
    "unpublished_hotspots",
    "unpublished_imperfect",
    "leo_cc_responsiveness",
    "leo_cc_fairness",
    "leo_cc_leoem",
    "hypatia_tables",
    "hypatia_routes",
    "geo_downloads",
    "geo_set_ups",
    "geo_ping",
    "geo_proxy",
    "geo_neighbours",
    "geo_campaign",
)


class UnknownError(PerigeeError, ValueError):
    """A name that is neither an experiment nor a study."""


@lru_cache(maxsize=1)
def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    found: dict[str, Experiment] = {}
    for module in MODULES:
        for experiment in import_module(f"perigee_studies.figures.{module}").EXPERIMENTS:
            found[experiment.name] = experiment
    return dict(sorted(found.items(), key=lambda item: STUDIES.index(item[1].study)))


def published_as(experiment: Experiment) -> str:
    """Where the figure was published: short name of the paper, and name of the figure in it."""
    paper = PAPERS[experiment.study]
    return experiment.figure if experiment.figure.startswith(paper) else f"{paper}: {experiment.figure}"


def choose(names: list[str]) -> list[Experiment]:
    """The experiments for these names: `all`, a study, or `study/experiment`.

    Raises:
        UnknownError: a name is unknown.
    """
    everything = experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        hits = {
            k: e
            for k, e in everything.items()
            if name in {"all", k, e.study} or (name.endswith("/") and k.startswith(name))
        }
        if not hits:
            from difflib import get_close_matches

            close = get_close_matches(name.lower(), [*everything, *STUDIES, "all"], 3)
            hint = f"did you mean {' or '.join(close)}?" if close else "see `perigee study list`"
            raise UnknownError(f"no experiment is called {name!r}; {hint}")
        chosen |= hits
    return list(chosen.values())
