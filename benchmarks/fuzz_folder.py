"""Damages small Parquet and Arrow export folders and reads them: `fuzz_folder.py --arrow --inputs 100000`.

Inputs from number 1,000,000 on have few tables each (`--first 1000000`).
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

from fuzz_campaign import Target, campaign

TEMPLATES = 48


def target(suffix: str) -> Target:
    """The reader over mutations of the templates."""
    from fuzz_oracle import WrongAnswerError, nothing_written_outside, trace_answer
    from mutate_folder import mutate, template_tables
    from mutate_sqlite import NARROW_FROM

    place = Path.cwd()
    file = place / "template.sqlite"
    templates = [[template_tables(seed, file, narrow=narrow) for seed in range(TEMPLATES)] for narrow in (False, True)]
    file.unlink()
    written = nothing_written_outside(place).__enter__()

    def answer(number: int, folder: Path) -> str:
        export = folder / "export"
        export.mkdir()
        try:
            mutate(templates[number >= NARROW_FROM][number % TEMPLATES], number, export, suffix)
            before = sorted(file.name for file in export.iterdir())
            found = trace_answer(export, depth=2 if number % 16 == 0 else 1 if number % 4 == 0 else 0)
            if written or before != sorted(file.name for file in export.iterdir()):
                raise WrongAnswerError(f"written outside the cache: {written}")
            return found
        finally:
            shutil.rmtree(export)

    return answer


if __name__ == "__main__":
    chosen = ".arrow" if "--arrow" in sys.argv else ".parquet"
    sys.argv = [argument for argument in sys.argv if argument not in {"--arrow", "--parquet"}]
    raise SystemExit(campaign(f"{chosen} export folders", partial(target, chosen)))
