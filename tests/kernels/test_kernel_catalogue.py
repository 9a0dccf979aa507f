"""Each kernel rule has its page, its test and an experiment; the ids are those of the taxonomy."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stallscope.kernels.rules as rules_package
from stallscope.kernels.base import KernelRule, Stage
from stallscope.kernels.catalogue import all_kernel_rules
from stallscope.kernels.tiles import Author, Knobs

RULES = all_kernel_rules()
IDS = {
    *(f"kernel.mem.{name}" for name in ("dram", "l2", "l1", "uncoalesced", "bank_conflict", "spill", "local_array")),
    *("kernel.mem.atomic", "kernel.mem.sysmem", "kernel.unfused", "pipe.copy_wait"),
    *(f"kernel.latency.{name}" for name in ("long_scoreboard", "barrier", "membar", "occupancy", "small_grid")),
    *(f"kernel.latency.{name}" for name in ("tail_wave", "imbalance", "dependency")),
    *(f"kernel.compute.{name}" for name in ("pipe_bound", "tensor_idle", "divergence")),
    *("ok.compute_bound", "ok.memory_bound", "ok.too_small"),
}
HEADINGS = ["## What it means", "## How it is detected", "## When it is wrong", "## What to try next"]


def test_the_rules_are_the_in_kernel_ids_of_the_taxonomy() -> None:
    assert {rule.meta.id for rule in RULES} == IDS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.meta.id)
def test_a_rule_has_its_file_its_test_and_its_page(rule: KernelRule, repository: Path) -> None:
    name = rule.meta.id.replace(".", "_")
    assert (repository / "stallscope" / "kernels" / "rules" / f"{name}.py").is_file()
    assert (repository / "tests" / "kernels" / f"test_{name}.py").is_file()
    page = (repository / "docs" / "waits" / f"{rule.meta.id}.md").read_text()
    assert page.startswith(f"# {rule.meta.id}\n")
    assert [line for line in page.splitlines() if line.startswith("## ")] == HEADINGS


@pytest.mark.parametrize("author", ["triton", "inductor", "cutlass", "cublas", "torch", "cuda"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.meta.id)
def test_an_experiment_names_its_knob_its_metric_and_what_refutes_it(rule: KernelRule, author: Author) -> None:
    proposed = rule.propose(Knobs(author=author, name="void ns::mm<int>(float *)", warps=4))
    assert bool(proposed) == (rule.meta.stage not in (Stage.OK, Stage.TRUST))
    for experiment in proposed:
        assert experiment.title
        assert experiment.apply
        assert experiment.refuted_if
        assert "gpu__time_duration.sum" in experiment.measure
        assert "-k regex:mm " in experiment.measure


def test_rules_do_not_know_each_other() -> None:
    for path in Path(rules_package.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and "kernels.rules" in (node.module or "")), path.name
