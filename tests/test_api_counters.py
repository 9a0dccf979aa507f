"""Kernel counters alone and beside a trace of the same program."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope import analyze
from stallscope.errors import UsageError

SAMPLES = Path(__file__).resolve().parent.parent / "sample_traces"
COUNTERS = SAMPLES / "ncu" / "h200" / "kern.raw.csv.gz"


def test_counters_alone_name_a_cause_for_every_kernel_and_claim_no_device_time() -> None:
    found = analyze(COUNTERS)
    assert [source.format for source in found.sources] == ["ncu-csv"]
    assert found.devices == ()
    causes = {kernel.kernel.split("(")[0]: kernel.cause for kernel in found.kernels}
    assert causes["copy_strided"] == "kernel.mem.uncoalesced"
    assert causes["spill_regs"] == "kernel.mem.spill"


def test_counters_of_another_program_are_left_out_of_the_trace_with_a_note() -> None:
    found = analyze([SAMPLES / "h200" / "cu_alloc.sqlite", COUNTERS])
    assert [source.format for source in found.sources] == ["nsys-sqlite", "ncu-csv"]
    assert found.findings[0].wait == "alloc.sync" or found.findings[0].wait.startswith("kernel.")
    assert len(found.devices) == 1
    assert any("%" in note.message for note in found.capture.notes)


def test_counters_with_several_traces_are_a_usage_error() -> None:
    trace = SAMPLES / "h200" / "cu_alloc.sqlite"
    with pytest.raises(UsageError, match="one trace"):
        analyze([trace, trace, COUNTERS])
