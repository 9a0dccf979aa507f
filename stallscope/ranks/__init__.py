"""Many ranks of one run: examine each by itself, compare them, tell it as one analysis."""

from __future__ import annotations

from stallscope.ingest.paths import rank_files
from stallscope.ranks.analyze import analyze_ranks, compare_ranks
from stallscope.ranks.devices import across_devices

__all__ = ["across_devices", "analyze_ranks", "compare_ranks", "rank_files"]
