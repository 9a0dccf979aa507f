"""Public PyTorch traces whose trouble is known: what must come first, and what must not be said."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from stallscope import Analysis, analyze


@cache
def analysis_of(path: Path) -> Analysis:
    return analyze(path)


def told(path: Path) -> list[str]:
    """Waits above a note, the most recoverable first."""
    return [f.wait for f in analysis_of(path).findings if f.severity != "note"]


def share(path: Path, wait: str) -> float:
    return next((f.share for f in analysis_of(path).findings if f.wait == wait), 0.0)


@pytest.fixture
def hta(shared: Path) -> Path:
    return shared / "corpus" / "k01-hta"


@pytest.fixture
def tracelens(shared: Path) -> Path:
    return shared / "corpus" / "k03-tracelens"


def test_training_without_a_pool_on_an_mi300_is_allocation(tracelens: Path) -> None:
    assert told(tracelens / "train_resnet18.json.gz")[0] == "alloc.sync"


def test_resnet50_waits_for_input_without_workers_only(shared: Path) -> None:
    folder = shared / "corpus" / "k02-kineto-tb"
    alone = [*folder.glob("*num_workers_0*"), folder / "worker0.1623143089861.pt.trace.json.gz"]
    helped = [*folder.glob("*num_workers_4*"), folder / "worker0.1623212756351.pt.trace.json.gz"]
    assert (len(alone), len(helped)) == (3, 3)
    assert all(told(path)[0] == "input.wait" for path in alone)
    assert not any("input.wait" in told(path) for path in helped)


def test_graph_replays_of_vllm_are_no_launch_finding(tracelens: Path) -> None:
    replays = list(tracelens.glob("*graph_execution.json.gz"))
    assert len(replays) == 2
    for path in replays:
        assert not any(wait.startswith("launch.") for wait in told(path))


def test_owlv2_waits_for_its_loader_and_not_for_the_busy_sync(tracelens: Path) -> None:
    (path,) = tracelens.glob("*owlv2*")
    assert told(path) == ["input.wait"]
    assert 0.55 < share(path, "input.wait") < 0.65


def test_a_copy_behind_held_work_is_not_blamed(tracelens: Path) -> None:
    """sglang on an MI300X: a kernel lies in its stream behind an event for half a second, a copy call behind it."""
    for path in tracelens.glob("sglang_*.json.gz"):
        assert told(path) == ["dep.stream_wait"]
        assert analysis_of(path).findings[0].evidence_level == "indicated"


def test_the_first_convolution_sets_cudnn_up(hta: Path) -> None:
    path = hta / "benchmark_result_2869224_1695835535_trace.json.gz"
    assert told(path)[0] == "init.context"
    assert share(path, "init.context") > 3 * share(path, "alloc.sync")


def test_sparse_features_that_travel_are_neither_input_nor_fences(hta: Path) -> None:
    """A recommendation model on A100s with workers that load: six `__next__` calls take 0.4 ms together."""
    found = told(hta / "control.json.gz")
    assert found[0] == "comm.exposed"
    assert "comm.interference" in found
    assert not {"input.wait", "fence.interference"} & set(found)
