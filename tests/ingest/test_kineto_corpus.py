"""Public traces beyond the repository: each opens, or is refused with a reason; busy time agrees with a plain union."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stallscope.errors import InputError
from stallscope.ingest.kineto import read_kineto
from stallscope.model.events import Copies, Kernels, Memsets
from stallscope.model.trace import Trace
from stallscope.timeline.intervals import union

REFUSED = {
    "benchmark_simple_add_et.json.gz": "execution trace",
    "mtia_inference_rank_0.json.gz": "MTIA",
    "mtia_rank_0.json.gz": "MTIA",
    "1.0.2-chakra.0.0.4.tgz": "archive",
}
WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def traces(shared: Path) -> list[Path]:
    return sorted(p for folder in (shared / "corpus").glob("k0*") for p in folder.iterdir())


def plain_busy_us(path: Path) -> Fraction:
    """Union of the device intervals over the whole JSON document, in exact arithmetic."""
    content = path.read_bytes()
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    document: Any = json.loads(text, parse_float=Fraction)
    events = document if isinstance(document, list) else document["traceEvents"]
    spans = sorted((Fraction(e["ts"]), Fraction(e["ts"]) + Fraction(e["dur"])) for e in events if e.get("cat") in WORK)
    total, reach = Fraction(0), Fraction(-1)
    for start, end in spans:
        total += max(end - max(start, reach), 0)
        reach = max(reach, end)
    return total


def busy_ns(trace: Trace) -> int:
    tables = [found for kind in (Kernels, Copies, Memsets) if (found := trace.table(kind)) is not None]
    if not tables:
        return 0
    return union(np.concatenate([t.start_ns for t in tables]), np.concatenate([t.end_ns for t in tables])).total_ns()


def test_every_public_trace_opens_or_is_refused_for_its_reason(shared: Path) -> None:
    found = traces(shared)
    assert len(found) > 50
    for path in found:
        if path.name in REFUSED:
            with pytest.raises(InputError, match=REFUSED[path.name]):
                read_kineto(path)
        else:
            trace = read_kineto(path)
            assert trace.source.sha256
            assert trace.devices or any(note.id == "env.no_gpu_activity" for note in trace.capture.notes)


def test_busy_time_is_the_union_of_the_device_intervals(shared: Path) -> None:
    for path in traces(shared):
        if path.name not in REFUSED and path.stat().st_size < 500_000:
            assert abs(busy_ns(read_kineto(path)) - plain_busy_us(path) * 1000) <= 1, path.name
