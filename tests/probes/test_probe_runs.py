from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the probes need PyTorch")

from stallscope_probes import session
from stallscope_probes.catalogue import discover, select
from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine, UnavailableError, open_machine
from stallscope_probes.guards import require_memory
from stallscope_probes.run import RunOptions, run_variant
from stallscope_probes.timing import BLOCKS, time_pair

FAMILIES = discover()
TWICE = RunOptions(repeats=2)


def _idle(_machine: Machine, _params: Params) -> Workload:
    return Workload(lambda _: None, lambda: None)


@pytest.fixture(scope="module")
def machine() -> Machine:
    return open_machine("cpu")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_logic_of_every_variant_runs_without_a_gpu(machine: Machine, family: Family) -> None:
    records = {variant.name: run_variant(machine, family, variant, TWICE) for variant in family.variants}
    for record in records.values():
        assert (record.status, record.reason) == ("ok", "")
        assert record.repeats == 2
        assert record.warm_up >= 10
        assert all(record.valid.values()), record
        assert record.device == {"name": "cpu"}
    if family.numerics == "bit-identical":
        for bad, fixed in family.pairs():
            assert records[bad.name].checksum == records[fixed.name].checksum


def test_checksum_is_of_the_output_bytes(machine: Machine) -> None:
    import torch

    values = torch.tensor([1.0, 2.0])
    variant = Variant("v", "bad", lambda _machine, _params: Workload(lambda _: None, lambda: values))
    record = run_variant(machine, Family("f", "", 4, (variant,)), variant, TWICE)
    assert record.checksum == f"crc32:{zlib.crc32(struct.pack('<2f', 1.0, 2.0)):08x}"


def test_not_finite_output_is_invalid(machine: Machine) -> None:
    import torch

    broken = Workload(lambda _: None, lambda: torch.tensor([float("nan")]))
    variant = Variant("v", "bad", lambda _machine, _params: broken)
    record = run_variant(machine, Family("f", "", 4, (variant,)), variant, TWICE)
    assert record.valid["finite"] is False


def test_error_in_a_step_becomes_the_record_and_closes_the_workload(machine: Machine) -> None:
    closed: list[bool] = []

    def step(_: int) -> None:
        raise RuntimeError("out of memory")

    workload = Workload(step, lambda: None, close=lambda: closed.append(True))
    variant = Variant("v", "bad", lambda _machine, _params: workload)
    record = run_variant(machine, Family("f", "", 4, (variant,)), variant, TWICE)
    assert (record.status, record.reason) == ("failed", "RuntimeError: out of memory")
    assert closed == [True]


def test_numerics_error_is_measured_against_the_reference(machine: Machine) -> None:
    import torch

    workload = Workload(
        lambda _: None, lambda: torch.tensor([3.0, 4.5]), lambda: torch.tensor([3.0, 4.0], dtype=torch.float64)
    )
    variant = Variant("v", "bad", lambda _machine, _params: workload)
    record = run_variant(machine, Family("f", "", 7, (variant,)), variant, TWICE)
    assert record.numerics["relative_frobenius"] == pytest.approx(0.5 / 5.0)
    assert record.numerics["largest_absolute"] == 0.5
    assert record.numerics["wrong_elements"] == 1


def test_pair_is_timed_block_by_block(machine: Machine) -> None:
    family = select(["host_busy"])[0][0]
    bad, fixed = family.pairs()[0]
    timing = time_pair(machine, family, bad, fixed)
    assert timing.status == "ok"
    assert len(timing.bad_ns) == len(timing.fixed_ns) == BLOCKS >= 10
    assert min(timing.bad_ns) >= 1_000_000, "a step of the bad side computes for 1 ms in Python"


@pytest.mark.parametrize(
    ("variant", "free_bytes", "reason"),
    [
        (Variant("v", "bad", _idle, bytes=6 << 30), 8 << 30, "6144 MiB of device memory; 8192 MiB"),
        (Variant("v", "bad", _idle, managed_bytes=512 << 20), 8 << 30, "at most 410 MiB is safe"),
        (Variant("v", "bad", _idle, managed_bytes=2 << 30), 200 << 30, "at most 1024 MiB is safe"),
    ],
)
def test_too_little_memory_is_refused_with_the_numbers(variant: Variant, free_bytes: int, reason: str) -> None:
    with pytest.raises(UnavailableError, match=reason):
        require_memory(variant, free_bytes)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_variant_fits_a_device_of_24_gib(family: Family) -> None:
    for variant in family.variants:
        require_memory(variant, 23 << 30)


def test_session_writes_one_line_a_variant(tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    assert session.main(["--device", "cpu", "--repeats", "2", "--out", str(out), "launch/eager", "copy/pageable"]) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(line["family"], line["variant"], line["status"]) for line in lines] == [
        ("launch", "eager", "ok"),
        ("copy", "pageable", "ok"),
    ]


def test_session_without_a_gpu_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    out = tmp_path / "records.jsonl"
    assert session.main(["--out", str(out), "launch/eager"]) == 4
    assert "--device cpu" in capsys.readouterr().err
    assert not out.exists()
