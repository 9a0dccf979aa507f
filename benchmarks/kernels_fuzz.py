"""Damages Nsight Compute files and counts what the readers answer: `kernels_fuzz.py 10000 [REPORT.ncu-rep …]`.

Without reports given, a built one is used beside the committed pages.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "ingest"))

from ncu_mutations import mutate  # noqa: E402
from ncu_reports import device, estimate, kernel_result, report  # noqa: E402

from stallscope.errors import InputError  # noqa: E402
from stallscope.ingest.ncu_csv import read_ncu_csv  # noqa: E402
from stallscope.ingest.ncu_rep import MAGIC, read_ncu_rep  # noqa: E402
from stallscope.model.analysis import Source  # noqa: E402

PAGES = (
    *sorted((ROOT / "tests" / "data" / "ncu").glob("*.csv.gz")),
    *sorted((ROOT / "sample_traces" / "ncu").rglob("*details.csv.gz")),
)


def built_report() -> bytes:
    """A small report of the published format."""
    kernels = [kernel_result(f"k{i}", {0: 1000 + i, 1: 12.5, 2: "x"}, rules=(estimate("R", 2, 5.0),)) for i in range(8)]
    return report(("a__b.sum", "c__d.pct", "launch__x"), *kernels, session=device({"compute_capability_major": 9}))


def answer(data: bytes, *, is_report: bool) -> str:
    """`read`, `refused`, or what went wrong."""
    source = Source(name="damaged", sha256="", format="ncu-rep" if is_report else "ncu-csv")
    try:
        counters = read_ncu_rep(data, source) if is_report else read_ncu_csv(data, source)
    except InputError as refusal:
        return "refused" if refusal.next_step else "refused without a way out"
    except Exception as error:  # noqa: BLE001 the point of the exercise
        return f"crash: {error!r}"
    return "read" if counters.kernels and all(kernel.metrics for kernel in counters.kernels) else "silent empty result"


def main() -> int:
    """Print the counts; exit 1 when anything but `read` and `refused` was seen."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    files = [gzip.decompress(path.read_bytes()) for path in PAGES]
    files += [Path(name).read_bytes() for name in sys.argv[2:]] or [built_report()]
    started = time.monotonic()
    answers: Counter[str] = Counter()
    for seed in range(rounds):
        data = files[seed % len(files)]
        answers[answer(mutate(data, seed), is_report=data.startswith(MAGIC))] += 1
    print(f"{rounds} damaged copies of {len(files)} files in {time.monotonic() - started:.0f} s: {dict(answers)}")
    return 0 if answers.keys() <= {"read", "refused"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
