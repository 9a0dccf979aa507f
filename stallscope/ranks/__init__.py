"""Many ranks of one run: examine each by itself, compare them, tell it as one analysis."""

from __future__ import annotations

from stallscope.ranks.analyze import analyze_ranks, compare_ranks
from stallscope.ranks.devices import across_devices
from stallscope.ranks.paths import rank_files

__all__ = ["across_devices", "analyze_ranks", "compare_ranks", "rank_files"]
