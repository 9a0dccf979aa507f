"""The kernel pairs: every pair is written, labelled with known ids, and a third is held out."""

from __future__ import annotations

import re
from pathlib import Path

from stallscope_probes.kernels.capture import SOURCES
from stallscope_probes.kernels.pairs import PAIRS

from stallscope.kernels.catalogue import all_kernel_rules


def sources(repository: Path) -> str:
    """All source of the pairs."""
    folder = repository / "probes" / "stallscope_probes" / "kernels"
    return "\n".join((folder / name).read_text() for name in (*SOURCES, "pairs.cuh", "triton_pairs.py"))


def test_every_pair_is_written_and_no_other(repository: Path) -> None:
    text = sources(repository)
    written = set(re.findall(r"^PAIR\(\s*(\w+)", text, re.MULTILINE)) | set(re.findall(r'Case\(\s*"(tri_\w+)"', text))
    assert written == {pair.name for pair in PAIRS}


def test_both_sides_carry_the_name_that_the_profiler_filters_by(repository: Path) -> None:
    text = sources(repository)
    for pair in PAIRS:
        prefix = "" if pair.name.startswith("tri_") else "pk_"
        for side in ("before", "after"):
            assert re.search(rf"\b{prefix}{pair.name}_{side}", text), (pair.name, side)


def test_labels_are_ids_of_the_catalogue() -> None:
    known = {rule.meta.id for rule in all_kernel_rules()}
    assert {wait for pair in PAIRS for wait in pair.expect} <= known


def test_a_third_is_held_out_and_some_are_decoys() -> None:
    assert len(PAIRS) >= 20
    assert 3 * sum(pair.held_out for pair in PAIRS) == len(PAIRS)
    assert sum(pair.decoy for pair in PAIRS) >= 2


def test_no_pair_touches_managed_memory(repository: Path) -> None:
    assert "cudaMallocManaged" not in sources(repository)
