"""Coverage-guided fuzzing of the `.ncu-rep` reader with atheris (`pip install atheris`): `fuzz_guided.py -runs=100000`.

Options are libFuzzer's. Starts from the templates of the seeded campaign; a crash is written to `crash-…` and ends it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "ingest"), str(ROOT / "tests" / "trust"), str(ROOT / "tests")]

with atheris.instrument_imports(include=["stallscope.ingest"]):
    import fuzz_oracle
    import mutate_ncu_rep

TEMPLATES = 48


def one_input(data: bytes) -> None:
    """Every answer but counters and a refusal with a way out is a crash."""
    fuzz_oracle.counters_answer(data, "ncu-rep")


def main() -> None:
    """Fuzz until libFuzzer's options say stop."""
    with tempfile.TemporaryDirectory() as corpus:
        for seed in range(TEMPLATES):
            (Path(corpus) / f"{seed}").write_bytes(mutate_ncu_rep.template(seed))
        atheris.Setup([*sys.argv, corpus], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
