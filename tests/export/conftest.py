"""A real capture as lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.api import Examination, examine_trace
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes
from stallscope.views.lanes import LaneTable


@pytest.fixture(scope="session")
def examination(repository: Path) -> Examination:
    trace = open_trace(repository / "sample_traces/h200/py_alloc_sync.sqlite", OpenOptions(use_cache=False))
    return examine_trace(trace)


@pytest.fixture(scope="session")
def lanes(examination: Examination) -> LaneTable:
    return build_lanes(examination.timeline, charges_of(examination.timeline, examination.charges))
