"""Fixtures of the reporter tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

sys.path.insert(0, str(Path(__file__).parent))


class ReportSnapshot(SingleFileSnapshotExtension):
    """One readable file a snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def report(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares a rendered report with its file in __snapshots__/."""
    return snapshot.use_extension(ReportSnapshot)
