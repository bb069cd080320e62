# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages that stand alone: nothing that a scenario or a record says becomes markup or script (`common.quoting`).

A page's policy lets run exactly the scripts and styles that it was written with, by their hashes (Content Security
Policy, W3C), and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with its placeholders `%NAME%` replaced, in one pass: what is put in is not looked at again."""
    return re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], template)


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The policy of a page with these texts in its script and style elements."""
    allowed = {"script-src": scripts, "style-src": styles}
    rules = [" ".join([name, *(map(hash_of, texts) if texts else ["'none'"])]) for name, texts in allowed.items()]
    return "; ".join(["default-src 'none'", *rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def hash_of(text: str) -> str:
    """What a policy calls the text of a script or style element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
