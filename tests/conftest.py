"""Fixtures every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is slow, not wrong: no example has a deadline.
settings.register_profile("stallscope", deadline=None)
settings.load_profile("stallscope")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with large real captures that only the project's own machines have."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "README.md").is_file():
        pytest.skip("../shared is absent: real captures beyond sample_traces/ are not tested here")
    return folder
