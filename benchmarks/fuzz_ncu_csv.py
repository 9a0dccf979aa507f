"""Damages the committed Nsight Compute pages (bytes, lines, quotes, encodings) and reads them: `fuzz_ncu_csv.py`."""

from __future__ import annotations

import gzip
from pathlib import Path

from fuzz_campaign import ROOT, Target, campaign

LARGEST_BYTES = 60_000


def target() -> Target:
    """The reader over mutations of the pages; of long pages only their first kernels."""
    from fuzz_oracle import WrongAnswerError, counters_answer, nothing_written_outside
    from ncu_mutations import mutate

    files = [*(ROOT / "tests" / "data" / "ncu").glob("*.csv.gz"), *(ROOT / "sample_traces" / "ncu").rglob("*.csv.gz")]
    pages = [gzip.decompress(file.read_bytes())[:LARGEST_BYTES] for file in sorted(files)]
    written = nothing_written_outside(Path.cwd()).__enter__()

    def answer(number: int, _: Path) -> str:
        found = counters_answer(mutate(pages[number % len(pages)], number))
        if written:
            raise WrongAnswerError(f"written outside the cache: {written}")
        return found

    return answer


if __name__ == "__main__":
    raise SystemExit(campaign("Nsight Compute CSV", target))
