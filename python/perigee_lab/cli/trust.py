# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command `trust`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from perigee_lab.common.exit_codes import BAD_INPUT
from perigee_lab.common.files import cannot_write
from perigee_lab.common.messages import complain
from perigee_lab.extensions import trust
from perigee_lab.extensions.plugins import existing

if TYPE_CHECKING:
    from collections.abc import Sequence


def trust_command(files: Sequence[Path], *, forget: bool, as_json: bool) -> int:
    """Remembers, forgets or lists. Returns the exit code."""
    try:
        for file in files:
            if not forget:
                trust.remember(existing(file))
            elif not trust.forget(file):
                complain(f"{file} is not remembered")
                return BAD_INPUT
    except trust.PluginError as error:
        complain(str(error))
        return BAD_INPUT
    except OSError as error:
        complain(f"{cannot_write(trust.store(), error)}")
        return BAD_INPUT
    rows = [{"file": f, "unchanged": trust.is_remembered(Path(f))} for f in trust.remembered()]
    if as_json:
        print(json.dumps({"store": str(trust.store()), "files": rows}, indent=1))
        return 0
    for r in rows:
        print(f"{r['file']}" + ("" if r["unchanged"] else "  (has changed or is gone: asked for again)"))
    return 0
