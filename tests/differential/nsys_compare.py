"""A trace as `nsys stats` and as stallscope count it: what differs, and which known difference explains it.

Known differences are applied to nsys's rows as exact rewrites before the two are compared, so a known difference never
hides another one: behind it, every count, total, minimum and maximum must be equal to the nanosecond (or byte).
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import our_numbers as ours
from nsys_stats import Answers, Row, stats
from our_numbers import Launch, Projection, Sum, Sums

from stallscope.api import examine_trace
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.trace import Trace
from stallscope.timeline.kernel_work import signature
from stallscope.timeline.timeline import Timeline

DIFFERENCES: Mapping[str, str] = {
    "abi-suffix": "nsys cuts an ABI suffix of four characters (_v7000) only; stallscope cuts every one (_v11060)",
    "call-numbers": "PyTorch numbers its ranges (aten::mul, seq = 45, op_id = 99); stallscope cuts the numbers",
    "gil-trace": "nsys lists the Python GIL trace among the NVTX ranges; stallscope reads it as lock times",
    "tool-domains": "stallscope leaves ranges of libraries (CCCL, NCCL) out of the program's nesting",
    "unnamed-nccl": "a domain created before the capture has no name; stallscope names NCCL's by the calls in it",
    "no-timestamp": "nsys counts rows whose device time is 0 (not collected); stallscope leaves them out and says so",
    "no-name": "without a demangled name nsys prints an empty one; stallscope falls back to the short name",
}
"""Every difference that may appear; docs/differential.md says why each is there and which side is right."""

DOMAINS = ("CCCL", "NCCL")
"""Domains of libraries met in the captures."""

_SUFFIX = re.compile(r"(_ptsz|_ptds|_v\d+)+$")
_NUMBERS = re.compile(r"(, (seq|op_id) = \d+)+")
_GIL = "GIL Trace:"
_NCCL = re.compile(r"nccl[A-Z]\w*$")


@dataclass
class Verdict:
    """How many numbers were compared per report, which known differences applied, what stayed unexplained."""

    compared: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    unanswered: dict[str, str] = field(default_factory=dict)


def compare(nsys: str, trace: Path, folder: Path) -> Verdict:
    """Compare every report that nsys can make of an SQLite export."""
    opened = open_trace(trace, OpenOptions(use_cache=False))
    answers = stats(nsys, trace, folder)
    timeless = _timeless(trace)
    if any(timeless.values()):
        answers = stats(nsys, _with_times(trace, folder), folder / "timed")
    verdict = judge(answers, Timeline(opened))
    _expect_note(timeless, opened, verdict)
    return verdict


def judge(answers: Answers, timeline: Timeline) -> Verdict:
    """Compare what nsys said with the tables of an opened trace."""
    verdict = Verdict(unanswered=dict(answers.missing))
    for report, check in _CHECKS.items():
        if report in answers.rows:
            check(_Check(report, answers, timeline, verdict))
    return verdict


@dataclass(frozen=True)
class _Check:
    report: str
    answers: Answers
    timeline: Timeline
    verdict: Verdict

    @property
    def rows(self) -> Sequence[Row]:
        return self.answers.rows[self.report]

    def known(self, difference: str) -> None:
        assert difference in DIFFERENCES
        self.verdict.known[difference] += 1

    def same(self, theirs: Mapping[Any, Any], mine: Mapping[Any, Any]) -> None:
        """Both sides key by key."""
        for key in sorted(theirs.keys() | mine.keys(), key=str):
            self.verdict.compared[self.report] += 1
            if theirs.get(key) != mine.get(key):
                self.verdict.unexplained.append(
                    f"{self.report}: {key}: nsys {theirs.get(key)}, stallscope {mine.get(key)}"
                )

    def sums(self, name: str, count: str, unit: str, rename: Callable[[str], str | None]) -> Sums:
        """nsys's rows by their rewritten names (None: the row is left out)."""
        found: Sums = {}
        for row in self.rows:
            label = rename(row[name])
            if label is None:
                continue
            total = next(row[k] for k in row if k.startswith("Total") and k.endswith(f"({unit})"))
            one = Sum(int(row[count]), int(total), int(row[f"Min ({unit})"]), int(row[f"Max ({unit})"]))
            two = found.get(label)
            found[label] = one if two is None else _joined(one, two)
        return found


def _joined(one: Sum, two: Sum) -> Sum:
    return Sum(one.count + two.count, one.total + two.total, min(one.least, two.least), max(one.most, two.most))


def _kernels(check: _Check) -> None:
    mine = ours.kernels(check.timeline.trace)
    theirs = check.sums("Name", "Instances", "ns", str)
    nameless = theirs.pop("", None)
    if nameless is not None:
        check.known("no-name")
        apart = [mine.pop(name) for name in [*mine] if name not in theirs]
        mine[""], theirs[""] = _all(apart), nameless
    check.same(theirs, mine)


def _all(parts: Sequence[Sum]) -> Sum:
    joined = parts[0]
    for part in parts[1:]:
        joined = _joined(joined, part)
    return joined


def _workload(check: _Check) -> None:
    """Launches and time of every kernel and shape, as the analysis document states them."""
    if any(not row["Name"] for row in check.rows):
        return
    theirs: Counter[tuple[str, str]] = Counter()
    for row in check.rows:
        shape = [int(part) for part in (*row["GridXYZ"].split(), *row["BlockXYZ"].split())]
        key = signature(row["Name"], shape)
        theirs[key, "launches"] += int(row["Instances"])
        theirs[key, "time_ns"] += int(row["Total Time (ns)"])
    mine: Counter[tuple[str, str]] = Counter()
    for kernel in examine_trace(check.timeline.trace).analysis.workload.kernels:
        mine[kernel.signature, "launches"] += kernel.launches
        mine[kernel.signature, "time_ns"] += kernel.time_ns
    check.same(theirs, mine)


def _memory_time(check: _Check) -> None:
    check.same(check.sums("Operation", "Count", "ns", str), ours.memory(check.timeline.trace, sizes=False))


def _memory_size(check: _Check) -> None:
    check.same(check.sums("Operation", "Count", "B", str), ours.memory(check.timeline.trace, sizes=True))


def _busy(check: _Check) -> None:
    """Busy time of every device; unified-memory migrations do not occupy a stream."""
    spans = [
        (row["Device"], int(row["Start (ns)"]), int(row["Duration (ns)"]))
        for row in check.rows
        if not row["Name"].startswith("[CUDA memcpy Unified")
    ]
    theirs = ours.busy(spans)
    mine = {window.device: window.busy.total_ns() for window in check.timeline.windows}
    check.same(Counter(theirs.values()), Counter(mine.values()))


def _call(check: _Check, name: str) -> str:
    cut = _SUFFIX.sub("", name)
    if cut != name:
        check.known("abi-suffix")
    return cut


def _calls(check: _Check) -> None:
    theirs = check.sums("Name", "Num Calls", "ns", lambda name: _call(check, name))
    check.same(theirs, ours.calls(check.timeline.trace))


def _os_calls(check: _Check) -> None:
    check.same(check.sums("Name", "Num Calls", "ns", str), ours.os_calls(check.timeline.trace))


def _launches(check: _Check) -> None:
    theirs = Counter(
        Launch(
            int(row["Kernel Start (ns)"]),
            int(row["Kernel Dur (ns)"]),
            int(row["API Start (ns)"]),
            int(row["API Dur (ns)"]),
            _call(check, row["API Function"]),
            row["Kernel Name"],
        )
        for row in check.rows
    )
    mine = ours.launches(check.timeline)
    nameless = {launch.kernel_ns for launch in theirs if not launch.kernel}
    if nameless:
        check.known("no-name")
        mine = [replace(launch, kernel="") if launch.kernel_ns in nameless else launch for launch in mine]
    check.same(theirs, Counter(mine))


def _range(check: _Check, name: str) -> str | None:
    if name.startswith(_GIL):
        check.known("gil-trace")
        return None
    if _NCCL.match(name):
        check.known("unnamed-nccl")
        return f"NCCL:{name}"
    cut = _NUMBERS.sub("", name)
    if cut != name:
        check.known("call-numbers")
    return cut


def _ranges(check: _Check) -> None:
    theirs = check.sums("Range", "Instances", "ns", lambda name: _range(check, name))
    check.same(theirs, ours.ranges(check.timeline.trace))


def _own_range(check: _Check, name: str) -> str | None:
    label = _range(check, name)
    if label is not None and label.partition(":")[0] in DOMAINS:
        check.known("tool-domains")
        return None
    return label


def _projections(check: _Check) -> None:
    theirs: Counter[Projection] = Counter()
    for row in check.rows:
        label = _own_range(check, row["Name"]) if row["Orig Start (ns)"] else None
        if label is not None:  # nsys collects operations outside any range in a nameless row
            times = ("Orig Start (ns)", "Orig Duration (ns)", "Projected Start (ns)", "Projected Duration (ns)")
            theirs[Projection(*(int(row[column]) for column in times), int(row["NumGPUOps"]), label)] += 1
    check.same(theirs, Counter(ours.projections(check.timeline)))


def _projected(check: _Check) -> None:
    """The same by name: instances, projected total and extremes."""
    theirs: Sums = {}
    for row in check.rows:
        label = _own_range(check, row["Range"])
        if label is not None:
            columns = ("Range Instances", "Total Proj Time (ns)", "Proj Min (ns)", "Proj Max (ns)")
            one = Sum(*(int(row[column]) for column in columns))
            theirs[label] = _joined(one, theirs[label]) if label in theirs else one
    mine: Sums = {}
    for found in ours.projections(check.timeline):
        one = Sum(1, found.device_length_ns, found.device_length_ns, found.device_length_ns)
        mine[found.name] = _joined(one, mine[found.name]) if found.name in mine else one
    check.same(theirs, mine)


_CHECKS: Mapping[str, Callable[[_Check], None]] = {
    "cuda_gpu_kern_sum": _kernels,
    "cuda_gpu_kern_gb_sum": _workload,
    "cuda_gpu_mem_time_sum": _memory_time,
    "cuda_gpu_mem_size_sum": _memory_size,
    "cuda_gpu_trace": _busy,
    "cuda_api_sum": _calls,
    "cuda_kern_exec_trace": _launches,
    "nvtx_sum": _ranges,
    "nvtx_gpu_proj_sum": _projected,
    "nvtx_gpu_proj_trace": _projections,
    "osrt_sum": _os_calls,
}

_DEVICE_TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")


def _timeless(trace: Path) -> dict[str, int]:
    """How many device rows of each table have no time."""
    connection = sqlite3.connect(f"{trace.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    rows = {
        table: connection.execute(f'SELECT count(*) FROM "{table}" WHERE "start" <= 0').fetchone()[0]  # noqa: S608
        for table in _DEVICE_TABLES
        if table in present
    }
    connection.close()
    return rows


def _expect_note(timeless: Mapping[str, int], opened: Trace, verdict: Verdict) -> None:
    """Stallscope must tell how many rows it left out."""
    told = " ".join(note.message for note in opened.capture.notes)
    for table, count in timeless.items():
        if count:
            verdict.known["no-timestamp"] += 1
            if f"{count:,} of {table}: no timestamp" not in told:
                verdict.unexplained.append(f"{table}: {count} rows without a time, but the notes say: {told}")


def _with_times(trace: Path, folder: Path) -> Path:
    """A copy without the device rows that have no time."""
    copy = folder / f"timed{trace.suffix}"
    copy.write_bytes(trace.read_bytes())
    with sqlite3.connect(copy) as connection:
        for table in _timeless(trace):
            connection.execute(f'DELETE FROM "{table}" WHERE "start" <= 0')  # noqa: S608
    connection.close()
    return copy
