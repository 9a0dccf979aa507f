"""The builders of the readers' tests are used here too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "ingest"), str(Path(__file__).parent)]
