"""Runs and applications for tests of the dashboard."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "views"))

pytest.importorskip("dash", reason="the dashboard extra is not installed")

from lane_samples import burst_build, examined
from stallscope_dashboard.workspace import Loaded, Workspace

from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes


def loaded_from(build: object) -> Loaded:
    """A run as the loader leaves it."""
    found = examined(build)  # type: ignore[arg-type]
    return Loaded.of(found.analysis, build_lanes(found.timeline, charges_of(found.timeline, found.charges)))


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """A small run with findings, steps and waits."""
    return loaded_from(burst_build())


@pytest.fixture
def workspace(loaded: Loaded) -> Workspace:
    """That run and a saved report of it."""
    return Workspace.ready({"train.sqlite": loaded, "train.json": Loaded(loaded.analysis)})
