"""Runs and applications for tests of the dashboard."""

from __future__ import annotations

import pytest
from lane_samples import burst_build

pytest.importorskip("dash", reason="the dashboard extra is not installed")

from dashboard_runs import loaded_from
from stallscope_dashboard.workspace import Loaded, Workspace


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """A small run with findings, steps and waits."""
    return loaded_from(burst_build())


@pytest.fixture
def workspace(loaded: Loaded) -> Workspace:
    """That run and a saved report of it."""
    return Workspace.ready({"train.sqlite": loaded, "train.json": Loaded(loaded.analysis)})
