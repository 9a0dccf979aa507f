"""Random small programs that say the same in other words get the same analysis; times often tie."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_program import Act, programs, run
from rank_files import write_rank
from rank_simulation import Run, simulate
from rewrite_export import (
    Change,
    busy_bystander,
    contexts_renamed,
    correlations_renamed,
    idle_device,
    new_tid,
    processes_renamed,
    rewritten,
    scaled,
    shifted,
    shuffled,
    streams_renamed,
    strings_renamed,
)
from same_verdict import EVERYTHING, differences, document, without_host_counts

from stallscope.api import analyze
from stallscope.model.analysis import Analysis

EXAMPLES = settings(max_examples=int(os.environ.get("STALLSCOPE_EXAMPLES", "20")), deadline=None)


def both(program: Sequence[Sequence[Act]], *changes: Change) -> tuple[Analysis, Analysis]:
    with tempfile.TemporaryDirectory() as folder:
        plain = run(program).write(Path(folder) / "trace.sqlite")
        other = rewritten(plain, Path(folder) / "again.sqlite", *changes)
        first = analyze(plain, EVERYTHING)
        return first, analyze(other, EVERYTHING)


@EXAMPLES
@given(programs, st.integers(0, 1_000), st.sampled_from([10**9, 1_764_667_000 * 10**9]))
def test_shift_order_and_ids(program: list[list[Act]], seed: int, by_ns: int) -> None:
    renamings = (streams_renamed, contexts_renamed, correlations_renamed, strings_renamed, processes_renamed)
    one, two = both(program, shifted(by_ns), *renamings, shuffled(seed))
    assert list(differences(document(one, thread=new_tid), document(two, shift_ns=by_ns))) == []


@EXAMPLES
@given(programs)
@example([[Act(what="range", stream=7, call_us=1, work_us=1, pause_us=0)] * 3])  # calls nothing
def test_an_idle_device_and_an_unrelated_process(program: list[list[Act]]) -> None:
    one, two = both(program, idle_device, busy_bystander)
    changed = list(differences(without_host_counts(document(one)), without_host_counts(document(two))))
    # With several GPUs in the machine, this export does not tell whether two processes used the same one.
    assert [difference for difference in changed if not (len(program) > 1 and ".notes" in difference)] == []


@EXAMPLES
@given(programs, st.integers(2, 1_000))
def test_the_account_scales_with_the_unit(program: list[list[Act]], factor: int) -> None:
    one, two = both(program, scaled(factor))
    assert len(one.devices) == len(two.devices)
    for once, more in zip(one.devices, two.devices, strict=True):
        assert (more.window_ns, more.busy_ns) == (factor * once.window_ns, factor * once.busy_ns)
        for wait in ("ok.compute", "ok.memset"):
            assert more.ledger.get(wait, 0) == factor * once.ledger.get(wait, 0)


def test_the_order_in_which_ranks_are_given_changes_nothing(tmp_path: Path) -> None:
    files = []
    for trace in simulate(Run(ranks=3, steps=8, late={1: 2_000_000})):
        files.append(tmp_path / f"trace-{trace.source.rank}.json.gz")
        write_rank(trace, files[-1])
    expected = analyze(files, EVERYTHING).to_json()
    assert "for rank 1" in expected
    for order in permutations(files):
        assert analyze(list(order), EVERYTHING).to_json() == expected


@pytest.mark.parametrize("wait", ["sync.device", "launch.gap", "copy.exposed", "alloc.sync"])
def test_the_random_programs_do_wait(wait: str) -> None:
    """The properties above say something: such programs have findings."""
    steps = [
        Act("kernel", 7, 20, 10, 10),
        Act("copy", 7, 2, 100, 0),
        Act("sync", 7, 1, 1, 0),
        Act("free", 7, 300, 1, 1),
    ]
    found, _ = both([[*steps, Act("free", 7, 300, 1, 1), Act("kernel", 13, 5, 3, 200)] * 5])
    assert wait in {finding.wait for finding in found.findings}
