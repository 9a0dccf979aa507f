"""The analysis document itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TextIO

from stallscope.model.analysis import Analysis

# JSON escapes C0 controls by itself. A terminal also obeys DEL and the C1 controls, and the bidirectional and invisible
# characters make a name read as another one. All of them can only stand inside strings, where an escape means the same.
_UNSAFE_ON_A_TERMINAL = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


@dataclass(frozen=True, slots=True)
class JsonReporter:
    """The document of `docs/report.md`, indented."""

    name: str = "json"
    suffix: str = ".json"

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the document; characters that act on a terminal are escaped, so the bytes are safe to print."""
        out.write(_UNSAFE_ON_A_TERMINAL.sub(lambda found: f"\\u{ord(found[0]):04x}", analysis.to_json()))


REPORTER = JsonReporter()
