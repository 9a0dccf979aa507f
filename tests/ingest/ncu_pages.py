"""Small Nsight Compute pages for tests: built from a few values, or the committed ones."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

from stallscope.ingest.ncu_csv import read_ncu_csv
from stallscope.model.analysis import Source
from stallscope.model.counters import CounterSet

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = REPOSITORY / "sample_traces" / "ncu" / "h200"
LOCALE_PAGES = REPOSITORY / "tests" / "data" / "ncu"

META = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream")
SHAPE = ("Block Size", "Grid Size", "Device", "CC")


def page(path: Path) -> bytes:
    """A committed page."""
    return gzip.decompress(path.read_bytes())


def read(data: bytes | str, name: str = "kernels.csv") -> CounterSet:
    """Read a page from memory."""
    raw = data.encode() if isinstance(data, str) else data
    return read_ncu_csv(raw, Source(name=name, sha256="", format="ncu-csv"))


def table(*rows: tuple[str, ...]) -> str:
    """Rows as ncu prints them: every field quoted."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue()


def launch(
    order: int = 0, kernel: str = "mm(float *)", grid: str = "(64, 2, 1)", block: str = "(128, 1, 1)"
) -> tuple[str, ...]:
    """Leading cells of one launch, up to the metrics."""
    return (str(order), "7", "app", "127.0.0.1", kernel, "1", "7", block, grid, "0", "9.0")


def raw_page(metrics: dict[str, tuple[str, str]], *launches: tuple[str, ...]) -> str:
    """A raw page: {metric: (unit, printed value)}, the same values for every launch."""
    names, units, values = (
        tuple(metrics),
        [unit for unit, _ in metrics.values()],
        [value for _, value in metrics.values()],
    )
    blank = ("",) * (len(META) + len(SHAPE))
    return table((*META, *SHAPE, *names), (*blank, *units), *((*one, *values) for one in (launches or (launch(),))))
