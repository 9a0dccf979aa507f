"""Damages small SQLite exports (cells, rows, types, schema, raw pages) and reads them.

Every fourth input that can be read is analyzed, every sixteenth also rendered in every format. Inputs from number
1,000,000 on have few tables each: `fuzz_sqlite.py --first 1000000`.
"""

from __future__ import annotations

from pathlib import Path

from fuzz_campaign import Target, campaign

TEMPLATES = 48
PAGE_BYTES = (512, 1024, 4096)


def target() -> Target:
    """The reader over mutations of the templates."""
    from fuzz_oracle import WrongAnswerError, nothing_written_outside, trace_answer
    from mutate_sqlite import NARROW_FROM, mutate, write_template

    place = Path.cwd()
    file = place / "template.sqlite"
    templates = [
        [write_template(seed, file, PAGE_BYTES[seed % 3], narrow=narrow) for seed in range(TEMPLATES)]
        for narrow in (False, True)
    ]
    file.unlink()
    written = nothing_written_outside(place).__enter__()

    def answer(number: int, folder: Path) -> str:
        path = mutate(templates[number >= NARROW_FROM][number % TEMPLATES], number, folder / "t.sqlite")
        try:
            return trace_answer(path, depth=2 if number % 16 == 0 else 1 if number % 4 == 0 else 0)
        finally:
            left = sorted(file.name for file in folder.iterdir() if file.name != "t.sqlite")
            for file in left:
                (folder / file).unlink()
            if written or any(not name.endswith(("-wal", "-shm", "-journal")) for name in left):
                raise WrongAnswerError(f"written outside the cache: {written} {left}")

    return answer


if __name__ == "__main__":
    raise SystemExit(campaign("SQLite exports", target))
