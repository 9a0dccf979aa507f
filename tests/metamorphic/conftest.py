"""The builders of the readers' tests and the simulated ranks are used here too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / room) for room in ("ingest", "ranks", "metamorphic")]
