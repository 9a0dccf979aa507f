"""The promise that keeps a gate switched on: runs of one program are not called changed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from build_runs import run

from stallscope import analyze
from stallscope.experiments.diff import compare
from stallscope.model.analysis import Analysis


@pytest.fixture(scope="module")
def benchmark(repository: Path) -> ModuleType:
    path = repository / "benchmarks" / "diff_false_alarms.py"
    spec = importlib.util.spec_from_file_location("diff_false_alarms", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def skewed(seed: int, count: int = 50) -> Analysis:
    """Steps with a heavy tail, slow drift and a warm-up, charged to six ids."""
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(0, 1, count)) * 20
    ids = ["launch.gap", "launch.drain", "sync.scalar", "host.busy", "copy.exposed", "ok.compute"]
    waits = {
        wait: (rng.lognormal(0, 0.15, count) * 5_000 * (order + 1) + np.abs(drift)).round().astype(int).tolist()
        for order, wait in enumerate(ids)
    }
    waits["host.busy"][0] += 300_000
    return run(waits)


@pytest.mark.parametrize("runs", [1, 5])
def test_equal_programs_raise_at_most_two_percent_alarms(benchmark: ModuleType, runs: int) -> None:
    rates = benchmark.measure(skewed(11), 200 if runs == 1 else 100, runs=runs)
    assert rates.false_alarms <= 0.02


@pytest.mark.parametrize(("runs", "power"), [(1, 0.0), (5, 0.6)])
def test_five_percent_is_found_or_undecided_but_never_denied(benchmark: ModuleType, runs: int, power: float) -> None:
    """Five runs mostly find it. One run a side cannot, where the host decides; "unchanged" it does not call it."""
    rates = benchmark.measure(skewed(11), 60, runs=runs, seed=3)
    assert rates.found + rates.undecided >= 0.98
    assert rates.found >= power


TWICE = [
    *("launch/eager", "graph_build/recaptured", "alloc/malloc", "sync_scalar/item_small"),
    *("fence/host_same", "copy/pageable", "input_wait/loader", "offload/serial"),
]


@pytest.mark.parametrize("probe", TWICE)
def test_program_captured_twice_is_not_called_changed(repository: Path, probe: str) -> None:
    """Captured back to back on one H200, and on another one before: steps of a probe differ by up to 97 %."""
    second = repository / "tests" / "data" / "captured_again" / f"{probe.replace('/', '.')}.json"
    again = Analysis.from_json(second.read_bytes())
    first = analyze(repository / "sample_traces" / f"{probe}.sqlite")
    found = compare([first], [again])
    assert found.verdict in ("unchanged", "inconclusive")
    assert not {wait for wait, row in found.waits.items() if row.verdict in ("improved", "regressed")}


REPAIRS = [("copy/pageable", "copy/pinned_ahead"), ("alloc/malloc", "alloc/pool"), ("launch/eager", "launch/graph")]


@pytest.mark.parametrize(("bad", "repaired"), REPAIRS)
def test_repairs_of_probes_are_improvements(repository: Path, bad: str, repaired: str) -> None:
    samples = repository / "sample_traces"
    found = compare([analyze(samples / f"{bad}.sqlite")], [analyze(samples / f"{repaired}.sqlite")])
    assert found.verdict == "improved"
    assert found.step is not None
    assert found.step.high_ns < 0
