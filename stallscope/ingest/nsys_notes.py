"""Notes about a capture: what limits the claims that can be made from it, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from stallscope.ingest.nsys_capture import Diagnostic, ExportInfo
from stallscope.ingest.nsys_registry import Quality
from stallscope.model.analysis import CaptureNote
from stallscope.model.trace import Collected

_LOST = re.compile(
    r"\bdrop|\blost\b|missing|size limit|couldn't allocate|could not be collected|"
    r"not all .* (?:have been|were) (?:collected|traced)|incomplete",
    re.IGNORECASE,
)
_TOLD = 4
"""Messages of nsys that one note repeats."""

_NEWEST_KNOWN_SCHEMA = (3, 28)


def data_quality(quality: Quality) -> Iterator[CaptureNote]:
    """Rows that were left out."""
    if quality.dropped:
        parts = [f"{rows:,} of {table}: {reason}" for (table, reason), rows in sorted(quality.dropped.items())]
        yield CaptureNote(id="env.data_quality", message="rows left out: " + "; ".join(parts))


def dropped_events(diagnostics: Iterable[Diagnostic]) -> Iterator[CaptureNote]:
    """Nsys says that the report lacks events."""
    said = [d.text for d in diagnostics if d.severity in {"warning", "error"} and _LOST.search(d.text)]
    if said:
        yield CaptureNote(
            id="env.dropped_events", message="nsys lost events, counts are lower bounds: " + _listed(said)
        )


def no_gpu_activity(cuda: Collected, device_rows: bool, diagnostics: Iterable[Diagnostic]) -> Iterator[CaptureNote]:  # noqa: FBT001
    """Nothing ran on a GPU, or nothing of it was recorded; nsys's own warnings say more."""
    if device_rows:
        return
    said = [d.text for d in diagnostics if d.severity in {"warning", "error"}]
    why = {
        "no": "CUDA was not traced: profile with --trace=cuda,nvtx",
        "unknown": "the report holds no CUDA event at all",
        "yes": "CUDA calls were recorded, but no kernel, copy or memset",
    }[cuda]
    yield CaptureNote(id="env.no_gpu_activity", message=why + (f"; nsys says: {_listed(said)}" if said else ""))


def graph_level(launches_hidden: bool) -> Iterator[CaptureNote]:  # noqa: FBT001
    """Graph replays run on the device, but no table of this export holds them."""
    if launches_hidden:
        yield CaptureNote(
            id="env.graph_level_trace",
            message="CUDA graphs were launched, but this export holds no GPU time for them, so idle time may be graph "
            "work: profile with --cuda-graph-trace=node, or with nsys 2024.1 or newer",
        )


def partial_capture(info: ExportInfo) -> Iterator[CaptureNote]:
    """The export holds only some tables or times of the report."""
    if info.partial:
        what = " and ".join(sorted(info.partial))
        yield CaptureNote(
            id="env.partial_capture", message=f"this export holds only some {what} of the report: export all of it"
        )


def newer_schema(info: ExportInfo) -> Iterator[CaptureNote]:
    """The exporter is newer than every one this reader was tested with."""
    numbers = re.match(r"(\d+)\.(\d+)", info.schema_version)
    if numbers and (int(numbers[1]), int(numbers[2])) > _NEWEST_KNOWN_SCHEMA:
        known = ".".join(map(str, _NEWEST_KNOWN_SCHEMA))
        yield CaptureNote(
            id="env.newer_export",
            message=f"export schema {info.schema_version} is newer than {known}, the newest one tested here",
        )


def shared_device_numbers(guessed: bool) -> Iterator[CaptureNote]:  # noqa: FBT001
    """Processes were put on one GPU because they use one device number."""
    if guessed:
        yield CaptureNote(
            id="env.device_mapping",
            message="several processes use the same CUDA device number and this export does not say which GPU each of "
            "them means: they are taken as one GPU, which is wrong if CUDA_VISIBLE_DEVICES differs between them; "
            "export with nsys 2024.1 or newer",
        )


def no_ranges(answers: Mapping[str, Collected], ranges: int) -> Iterator[CaptureNote]:
    """NVTX was traced and nothing came of it."""
    if answers.get("nvtx") == "yes" and not ranges:
        yield CaptureNote(
            id="env.no_nvtx_ranges",
            message="NVTX was traced but the program recorded no range: waits cannot be named by step or layer "
            "(the Python package nvtx from 0.2.13 on records nothing under nsys 2023.4: use 0.2.10 or torch.cuda.nvtx)",
        )


def _listed(texts: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    more = f" (and {len(distinct) - _TOLD} more)" if len(distinct) > _TOLD else ""
    return " ".join(f"“{text}”" for text in distinct[:_TOLD]) + more
