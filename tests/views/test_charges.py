"""The account as rows: it tiles every window, and every idle row knows its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from lane_samples import burst_build, examined

from stallscope.api import Examination
from stallscope.model.columns import NO_ROW
from stallscope.views.charges import Charges, charges_of


@pytest.fixture(scope="module")
def run() -> Examination:
    return examined(burst_build())


@pytest.fixture(scope="module")
def charges(run: Examination) -> Charges:
    return charges_of(run.timeline, run.charges)


def test_rows_tile_the_window_of_the_device(run: Examination, charges: Charges) -> None:
    window = run.analysis.devices[0]
    assert charges.start_ns[0] == window.start_ns
    assert charges.end_ns[-1] == window.start_ns + window.window_ns
    assert np.array_equal(charges.start_ns[1:], charges.end_ns[:-1])


def test_time_of_every_id_is_what_the_ledger_says(run: Examination, charges: Charges) -> None:
    ledger = {wait: ns for wait, ns in run.analysis.devices[0].ledger.items() if ns}
    lengths = charges.end_ns - charges.start_ns
    found = {wait: int(lengths[charges.wait == i].sum()) for i, wait in enumerate(charges.ids)}
    assert {wait: ns for wait, ns in found.items() if ns} == ledger


def test_an_idle_row_lies_between_its_operations_and_names_the_late_launch(run: Examination, charges: Charges) -> None:
    operations, calls = run.timeline.operations, run.timeline.calls
    idle = np.flatnonzero(charges.before != NO_ROW)
    assert len(idle)
    assert np.all(operations.end_ns[charges.before[idle]] <= charges.start_ns[idle])
    assert np.all(operations.start_ns[charges.after[idle]] >= charges.end_ns[idle])
    late = idle[charges.wait[idle] == charges.ids.index("launch.gap")]
    assert len(late)
    names = {run.timeline.trace.names[calls.name[c]] for c in charges.call[late]}
    assert "cudaLaunchKernel" in names
    assert {charges.paths[p] for p in charges.path[late]} <= {"", "step", "step / layer"}


def test_the_host_part_ends_where_the_launch_call_begins(run: Examination, charges: Charges) -> None:
    calls = run.timeline.calls
    rows = np.flatnonzero((charges.before != NO_ROW) & (charges.call != NO_ROW))
    expected = np.clip(calls.start_ns[charges.call[rows]], charges.start_ns[rows], charges.end_ns[rows])
    assert np.array_equal(charges.host_ns[rows], expected - charges.start_ns[rows])
    assert np.all(charges.outside_ns <= charges.host_ns)


def test_a_busy_row_names_the_operation_that_runs(run: Examination, charges: Charges) -> None:
    operations = run.timeline.operations
    rows = np.flatnonzero((charges.before == NO_ROW) & (charges.after != NO_ROW))
    after = charges.after[rows]
    assert np.all(operations.start_ns[after] <= charges.start_ns[rows])
    assert np.all(operations.end_ns[after] > charges.start_ns[rows])


def test_a_trace_without_devices_has_no_rows() -> None:
    from build import TraceBuilder

    build = TraceBuilder()
    build.call("cudaFree", 0, 5)
    run = examined(build)
    assert len(charges_of(run.timeline, run.charges)) == 0
