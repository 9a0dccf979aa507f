"""Real captures that say the same in other words get the same analysis: every number, place and sentence of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from rewrite_export import (
    Change,
    busy_bystander,
    contexts_renamed,
    correlations_renamed,
    events_renamed,
    graph_nodes_renamed,
    idle_device,
    new_tid,
    processes_renamed,
    repeated,
    rewritten,
    scaled,
    shifted,
    shuffled,
    streams_renamed,
    strings_renamed,
    twin,
)
from same_verdict import EVERYTHING, differences, document, without_host_counts

from stallscope.api import analyze
from stallscope.model.analysis import Analysis, DeviceLedger

SAMPLES = Path(__file__).resolve().parent.parent.parent / "sample_traces"
CAPTURES = [
    "comm_exposed/dependent",
    "fence/host_same",
    "gil/computing_thread",
    "graph_build/recaptured",
    "h200/cu_uvm",
    "h200/py_dataloader",
    "h200/py_host_sync",
    "host_callback/in_stream",
    "host_lock/contended",
    "jit/ptx",
    "null_stream/legacy",
    "stream_wait/too_strict",
    "sync_calls/event",
]
HOUR_NS = 3_600 * 10**9
EPOCH_NS = 1_764_667_000 * 10**9
"""A time stamp of the year 2025: some tools write times since 1970."""

every_capture = pytest.mark.parametrize("capture", CAPTURES)

ABSOLUTE = {"launch.gap", "host.busy", "launch.drain", "unknown.unattributed", "uvm.fault_cpu"}
"""Idle ids told apart by a length in nanoseconds (docs/metamorphic.md lists them)."""
REPETITION = {"h200/cu_uvm"}
"""Captures whose waits mean something else when everything happens again: pages that come back are thrashing."""


@cache
def original(capture: str) -> Analysis:
    return analyze(SAMPLES / f"{capture}.sqlite", EVERYTHING)


def again(capture: str, folder: Path, *changes: Change) -> Analysis:
    return analyze(
        rewritten(SAMPLES / f"{capture}.sqlite", folder / f"{Path(capture).name}.sqlite", *changes), EVERYTHING
    )


@every_capture
@pytest.mark.parametrize("by_ns", [HOUR_NS, EPOCH_NS])
def test_a_time_shift_changes_nothing(capture: str, by_ns: int, tmp_path: Path) -> None:
    later = document(again(capture, tmp_path, shifted(by_ns)), shift_ns=by_ns)
    assert list(differences(document(original(capture)), later)) == []


@every_capture
def test_the_order_of_rows_changes_nothing(capture: str, tmp_path: Path) -> None:
    mixed = document(again(capture, tmp_path, shuffled(len(capture))))
    assert list(differences(document(original(capture)), mixed)) == []


RENAMINGS: Mapping[str, Change] = {
    "streams": streams_renamed,
    "contexts": contexts_renamed,
    "correlations": correlations_renamed,
    "events": events_renamed,
    "graph nodes": graph_nodes_renamed,
    "strings": strings_renamed,
}


@every_capture
def test_other_ids_change_nothing(capture: str, tmp_path: Path) -> None:
    """All ids at once; a failure names the renamings that cause it."""
    renamed = again(capture, tmp_path, *RENAMINGS.values(), processes_renamed)
    expected = document(original(capture), thread=new_tid)
    if not list(differences(expected, document(renamed))):
        return
    alone = {
        name: list(differences(document(original(capture)), document(again(capture, tmp_path, change))))
        for name, change in RENAMINGS.items()
    }
    pytest.fail(str({name: found for name, found in alone.items() if found} or list(differences(expected, renamed))))


@every_capture
def test_an_idle_device_and_an_unrelated_process_change_nothing(capture: str, tmp_path: Path) -> None:
    """The other process makes the same calls with the same correlation ids, and its device is not in the trace."""
    beside = again(capture, tmp_path, idle_device, busy_bystander)
    expected = without_host_counts(document(original(capture)))
    assert list(differences(expected, without_host_counts(document(beside)))) == []


def account(device: DeviceLedger) -> tuple[int, int, dict[str, int]]:
    return device.window_ns, device.busy_ns, device.ledger


@every_capture
def test_the_same_program_on_a_second_device_doubles_every_finding(capture: str, tmp_path: Path) -> None:
    one, two = original(capture), again(capture, tmp_path, twin)
    assert [account(device) for device in two.devices] == [account(one.devices[0])] * 2
    assert [finding.wait for finding in two.findings] == [finding.wait for finding in one.findings]
    for single, double in zip(one.findings, two.findings, strict=True):
        assert (double.count, double.wait_ns) == (2 * single.count, 2 * single.wait_ns)
        assert double.recoverable_ns.high == 2 * single.recoverable_ns.high
        assert double.share == pytest.approx(single.share, abs=1e-6)
        assert double.devices == ("GPU 0", "GPU 1")


@every_capture
def test_everything_twice_in_a_row_doubles_what_was_told(capture: str, tmp_path: Path) -> None:
    """Only the idle time between the two copies, and the waits at its edges, come on top."""
    one, two = original(capture), again(capture, tmp_path, repeated)
    once, twice = one.devices[0], two.devices[0]
    between = twice.window_ns - 2 * once.window_ns
    assert twice.busy_ns == 2 * once.busy_ns
    assert twice.idle_ns == 2 * once.idle_ns + between
    if capture in REPETITION:
        return
    step_ns = once.window_ns // 10
    for finding in one.findings:
        if finding.share >= 0.05:
            found = next(f for f in two.findings if f.wait == finding.wait)
            assert 2 * finding.wait_ns - step_ns <= found.wait_ns <= 2 * finding.wait_ns + between
    told = [finding.wait for finding in one.findings if finding.severity != "note" and finding.share >= 0.05]
    assert set(told) <= {finding.wait for finding in two.findings}


@every_capture
@pytest.mark.parametrize("factor", [2, 3])
def test_another_unit_scales_what_no_absolute_threshold_tells_apart(capture: str, factor: int, tmp_path: Path) -> None:
    one, two = original(capture), again(capture, tmp_path, scaled(factor))
    once, more = one.devices[0], two.devices[0]
    assert (more.window_ns, more.busy_ns, more.idle_ns) == tuple(
        factor * ns for ns in (once.window_ns, once.busy_ns, once.idle_ns)
    )
    waits = (once.ledger.keys() | more.ledger.keys()) - ABSOLUTE
    slack = sum(abs(more.ledger.get(wait, 0) - factor * once.ledger.get(wait, 0)) for wait in waits)
    moved = sum(abs(more.ledger.get(wait, 0) - factor * once.ledger.get(wait, 0)) for wait in ABSOLUTE)
    assert slack <= moved
    assert slack <= 0.02 * more.window_ns
