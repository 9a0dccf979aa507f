"""Damages small Nsight Compute reports (fields, lengths, nesting, raw bytes) and reads them: `fuzz_ncu_rep.py`."""

from __future__ import annotations

from pathlib import Path

from fuzz_campaign import Target, campaign

TEMPLATES = 48


def target() -> Target:
    """The reader over mutations of the templates."""
    from fuzz_oracle import WrongAnswerError, counters_answer, nothing_written_outside
    from mutate_ncu_rep import mutate, template

    templates = [template(seed) for seed in range(TEMPLATES)]
    written = nothing_written_outside(Path.cwd()).__enter__()

    def answer(number: int, _: Path) -> str:
        found = counters_answer(mutate(templates[number % TEMPLATES], number), "ncu-rep")
        if written:
            raise WrongAnswerError(f"written outside the cache: {written}")
        return found

    return answer


if __name__ == "__main__":
    raise SystemExit(campaign("Nsight Compute reports", target))
