"""Damages the committed Nsight Compute files and counts what the readers answer: `kernels_fuzz.py 10000`."""

from __future__ import annotations

import gzip
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "ingest"))

from ncu_mutations import mutate  # noqa: E402

from stallscope.errors import InputError  # noqa: E402
from stallscope.ingest.ncu_csv import read_ncu_csv  # noqa: E402
from stallscope.model.analysis import Source  # noqa: E402

PAGES = (
    *sorted((ROOT / "tests" / "data" / "ncu").glob("*.csv.gz")),
    *sorted((ROOT / "sample_traces" / "ncu").rglob("*details.csv.gz")),
)


def answer(data: bytes) -> str:
    """`read`, `refused`, or what went wrong."""
    try:
        counters = read_ncu_csv(data, Source(name="damaged.csv", sha256="", format="ncu-csv"))
    except InputError as refusal:
        return "refused" if refusal.next_step else "refused without a way out"
    except Exception as error:  # noqa: BLE001 the point of the exercise
        return f"crash: {error!r}"
    return "read" if counters.kernels and all(kernel.metrics for kernel in counters.kernels) else "silent empty result"


def main() -> int:
    """Print the counts; exit 1 when anything but `read` and `refused` was seen."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    pages = [gzip.decompress(path.read_bytes()) for path in PAGES]
    started = time.monotonic()
    answers = Counter(answer(mutate(pages[seed % len(pages)], seed)) for seed in range(rounds))
    print(f"{rounds} damaged files of {len(pages)} pages in {time.monotonic() - started:.0f} s: {dict(answers)}")
    return 0 if answers.keys() <= {"read", "refused"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
