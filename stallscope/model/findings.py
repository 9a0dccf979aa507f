"""Findings: a named wait with its size, its evidence and what removing it is worth."""

from __future__ import annotations

from typing import Literal

import msgspec

from stallscope.model.experiments import Experiment

Severity = Literal["note", "warning", "error"]
EvidenceLevel = Literal["indicated", "supported", "confirmed"]
Unit = Literal["ns", "count", "bytes", "ratio", "bytes/s"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One number that supports a finding and the table (by its name in the export) where a user can look it up."""

    label: str
    value: int | float
    unit: Unit
    source: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a wait happens: innermost NVTX path, API call, kernel that ran next, host thread.

    `nvtx_by` is `time` when the launching thread had no range open and the path is that of the process's
    annotated thread at the same moment (PyTorch's autograd thread launches the backward pass that way).
    """

    nvtx: tuple[str, ...] = ()
    nvtx_by: Literal["thread", "time"] = "thread"
    api: str | None = None
    kernel: str | None = None
    thread: int | None = None
    count: int = 0
    wait_ns: int = 0


class Recoverable(msgspec.Struct, frozen=True, kw_only=True):
    """What removing the wait is worth, as an interval, under the printed assumption."""

    low: int
    high: int
    assumes: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One wait class on one or more devices.

    Raises `ValueError` when built without evidence or with a recoverable interval outside 0…wait_ns.
    """

    id: str
    wait: str
    title: str
    severity: Severity
    evidence_level: EvidenceLevel
    devices: tuple[str, ...]
    count: int
    wait_ns: int
    share: float
    recoverable_ns: Recoverable
    evidence: tuple[Evidence, ...]
    where: tuple[Place, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    experiments: tuple[Experiment, ...] = ()
    caveats: tuple[str, ...] = ()
    docs: str = ""
    ledger: bool = True

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"{self.wait}: a finding needs evidence")
        if not 0 <= self.recoverable_ns.low <= self.recoverable_ns.high <= self.wait_ns:
            raise ValueError(f"{self.wait}: recoverable {self.recoverable_ns} outside 0…{self.wait_ns}")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule concluded. `clean` is a claim; `not_applicable` names the missing data and the flag for it."""

    wait: str
    outcome: Literal["found", "clean", "not_applicable", "failed"]
    reason: str = ""
