# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The former import name `perigee`: the same objects, with a warning."""

from __future__ import annotations

import subprocess
import sys


def test_the_former_name_imports_the_same_objects_and_warns() -> None:
    program = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    import perigee, perigee.results.record as old\n"
        "    from perigee.common.files import RecordError\n"
        "import perigee_lab, perigee_lab.results.record as new, perigee_lab.common.files as files\n"
        "assert perigee is perigee_lab and old is new and RecordError is files.RecordError\n"
        "assert new.__spec__.name == new.__name__ == 'perigee_lab.results.record'\n"
        "print(*(w.category.__name__ for w in seen), seen[0].message)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (
        "DeprecationWarning the package is called perigee_lab: `import perigee_lab as perigee`\n",
        "",
    )


def test_the_former_name_runs_as_a_program() -> None:
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-m"]
    old, new = (
        subprocess.run([*words, name, "--version"], capture_output=True, text=True, check=True)
        for name in ("perigee", "perigee_lab")
    )
    assert old.stdout == new.stdout
