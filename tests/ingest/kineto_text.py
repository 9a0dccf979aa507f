"""Writes small PyTorch profiler traces: one line of test, one event."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from stallscope.ingest.kineto import read_kineto
from stallscope.model.trace import Trace


def event(category: str, name: str, ts: Any, dur: Any, **more: Any) -> dict[str, Any]:
    """One complete event; keyword arguments with a capital or in ARGS go to `args`."""
    pid, tid = more.pop("pid", 100), more.pop("tid", 100)
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": more}


def kernel(ts: Any, dur: Any, correlation: Any = 0, name: str = "k", **more: Any) -> dict[str, Any]:
    args = {"device": 0, "context": 1, "stream": 7, "grid": [4, 2, 1], "block": [128, 1, 1], **more}
    return event("kernel", name, ts, dur, pid=0, tid=7, correlation=correlation, **args)


def call(ts: Any, dur: Any, correlation: Any = 0, name: str = "cudaLaunchKernel", **more: Any) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, dur, correlation=correlation, **more)


def write(folder: Path, events: Any, name: str = "t.json", *, packed: bool = False, **header: Any) -> Path:
    """Write a document (or, with a header `bare=True`, only the list)."""
    bare = header.pop("bare", False)
    document = events if bare else {"schemaVersion": 1, **header, "traceEvents": events, "traceName": "/home/me/x.json"}
    text = json.dumps(document).encode()
    path = folder / name
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def read(folder: Path, *events: dict[str, Any], **header: Any) -> Trace:
    """Write and read back."""
    return read_kineto(write(folder, list(events), **header))
