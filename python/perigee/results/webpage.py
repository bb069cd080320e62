# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages that stand alone: nothing that a scenario or a record says becomes markup or script.

A page's policy lets run exactly the scripts and styles that it was written with, by their hashes (Content Security
Policy, W3C), and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What ends a script element, begins a comment in it, or is no character of a script's string.
_UNSAFE = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with its placeholders `%NAME%` replaced, in one pass: what is put in is not looked at again."""
    return re.sub(r"%([A-Z]+)%", lambda found: parts[found[1]], template)


def in_script(data: Any) -> str:
    """JSON for a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: _UNSAFE[found[0]], text)


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The policy of a page with these texts in its script and style elements."""
    allowed = {"script-src": scripts, "style-src": styles}
    rules = [" ".join([name, *(map(hash_of, texts) if texts else ["'none'"])]) for name, texts in allowed.items()]
    return "; ".join(["default-src 'none'", *rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def hash_of(text: str) -> str:
    """What a policy calls the text of a script or style element."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
