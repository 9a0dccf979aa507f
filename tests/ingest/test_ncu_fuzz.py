"""Damaged exports: the reader gives counters or a refusal with the way out, never a crash or an empty success."""

from __future__ import annotations

import pytest
from ncu_mutations import mutate
from ncu_pages import LOCALE_PAGES, page, read

from stallscope.errors import InputError

SEEDS = 150


def answer(data: bytes) -> str:
    """`read`, `refused`, or empty for an answer that is neither counters nor a refusal with the way out."""
    try:
        counters = read(data)
    except InputError as refusal:
        return "refused" if refusal.next_step else ""
    return "read" if counters.kernels and all(kernel.metrics for kernel in counters.kernels) else ""


@pytest.mark.parametrize("name", ["warmup.en_US.raw", "warmup.de_DE.details"])
def test_a_damaged_page_is_read_or_refused(name: str) -> None:
    original = page(LOCALE_PAGES / f"{name}.csv.gz")
    answers = [answer(mutate(original, seed)) for seed in range(SEEDS)]
    assert all(answers), answers.index("")
    assert answers.count("read") > SEEDS / 4
