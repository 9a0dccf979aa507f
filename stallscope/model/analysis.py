"""The analysis document: frozen, JSON round-trips, the only thing reporters, gates and the dashboard see."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stallscope.model.findings import Check, EvidenceLevel, Finding
from stallscope.model.replay import ReplaySummary
from stallscope.model.workload import Workload

SCHEMA_VERSION = "1.0"
UNATTRIBUTED = "unknown.unattributed"

SourceFormat = Literal[
    "nsys-rep", "nsys-sqlite", "nsys-parquet", "nsys-arrow", "ncu-csv", "ncu-rep", "kineto", "memory"
]
Answer = Literal["yes", "no", "unknown"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote the document."""

    name: str = "stallscope"
    version: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One input file; `name` is its base name, never a path."""

    name: str
    sha256: str
    format: SourceFormat
    producer: str = ""
    schema: str = ""
    rank: int | None = None


class CaptureNote(msgspec.Struct, frozen=True, kw_only=True):
    """Something about the capture that limits what can be claimed, or explains a number."""

    id: str
    message: str


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """What was collected; graph_trace tells whether CUDA-graph replays are visible."""

    collected: dict[str, Answer | Literal["node", "graph", "none"]] = {}
    notes: tuple[CaptureNote, ...] = ()


class DeviceLedger(msgspec.Struct, frozen=True, kw_only=True):
    """Exclusive account of one physical device: the ledger's values sum to `window_ns` exactly.

    `start_ns` is the trace-clock time at which the window begins.
    """

    device: str
    uuid: str
    name: str
    window_ns: int
    busy_ns: int
    idle_ns: int
    ledger: dict[str, int]
    start_ns: int = 0
    rank: int | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Repeated NVTX range that stands for one iteration of the program."""

    name: str
    durations_ns: tuple[int, ...]


class KernelGain(msgspec.Struct, frozen=True, kw_only=True):
    """Relative gain of the kernel's own time, as an interval; `likely` is what a fix is expected to give."""

    low: float
    high: float
    likely: float | None = None


class KernelCauseItem(msgspec.Struct, frozen=True, kw_only=True):
    """One in-kernel cause with the gain its removal allows and the ceiling that stops it."""

    wait: str
    kernel_gain: KernelGain
    ceiling: str
    evidence_level: EvidenceLevel = "indicated"
    message: str = ""


class VendorEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """NVIDIA's own rule estimate for a kernel, where the report holds one: `global` = of its run time."""

    rule: str
    kind: Literal["global", "local", "unknown"]
    ratio: float


class Intensity(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel's place under the roofline: its operations and DRAM bytes a second, beside the peaks of its clocks."""

    pipe: str
    flop_per_s: float
    bytes_per_s: float
    peak_flop_per_s: float
    peak_bytes_per_s: float


class KernelCauses(msgspec.Struct, frozen=True, kw_only=True):
    """In-kernel diagnosis of one kernel (name, grid, block).

    `time_ns` and `share` are the trace's where there is one, else the profiled kernels'; `profiled_ns` is the duration
    of one launch under ncu. `stalls` holds the shares of its warp time by reason.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    time_ns: int
    share: float
    cause: str
    evidence_level: EvidenceLevel
    causes: tuple[KernelCauseItem, ...] = ()
    profiled_ns: int = 0
    stalls: dict[str, float] = {}
    intensity: Intensity | None = None
    estimates: tuple[VendorEstimate, ...] = ()


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything stallscope concluded about one run. Findings are ordered by recoverable_ns.high, descending."""

    schema_version: str = SCHEMA_VERSION
    tool: Tool = Tool()
    sources: tuple[Source, ...] = ()
    capture: Capture = Capture()
    devices: tuple[DeviceLedger, ...] = ()
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    kernels: tuple[KernelCauses, ...] = ()
    workload: Workload | None = None
    replay: ReplaySummary | None = None

    def to_json(self, *, indent: int = 2) -> str:
        """The document of `docs/report.md`; the same analysis gives the same bytes."""
        text = msgspec.json.encode(self, order="deterministic")
        return msgspec.json.format(text, indent=indent).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Analysis:
        """Read a saved document. Raises `msgspec.ValidationError` when it is not one."""
        return msgspec.json.decode(text, type=cls)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def to_pandas(self) -> Any:
        """One row a finding (pandas.DataFrame), for notebooks."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "id": f.id,
                    "wait": f.wait,
                    "title": f.title,
                    "severity": f.severity,
                    "evidence_level": f.evidence_level,
                    "count": f.count,
                    "wait_ns": f.wait_ns,
                    "share": f.share,
                    "recoverable_low_ns": f.recoverable_ns.low,
                    "recoverable_high_ns": f.recoverable_ns.high,
                }
                for f in self.findings
            ]
        )
