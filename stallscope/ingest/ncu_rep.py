r"""`.ncu-rep` → counters, by NVIDIA's published description of the file (Customization Guide, "Report File Format").

`NVR\0`, a sized FileHeader, then blocks: a sized BlockHeader and a payload of sized messages (sources, kernel results,
range, command-list and graph results). Metric names are numbers into string tables that the blocks add up. Values are
full doubles in base units. The format may change without notice: another version is refused, with the way out.
Nothing of the session (host, user, environment, command line) is looked at.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stallscope.errors import InputError
from stallscope.ingest.identify import NCU_REPORT
from stallscope.ingest.ncu_wire import Field, WireError, fields
from stallscope.model.analysis import CaptureNote, Source
from stallscope.model.counters import CounterSet, Dim3, EstimateKind, KernelCounters, Metric, RuleEstimate

KNOWN_VERSION = 7
_SIZE = struct.Struct("<I")
_MAX_BYTES = 8 << 30
_MAX_MESSAGES = 1_000_000
_EXPORT = "export it with the ncu that made it: ncu -i report.ncu-rep --csv --page raw > kernels.csv"
_KINDS: dict[int, EstimateKind] = {1: "local", 2: "global"}


@dataclass(slots=True)
class _Report:
    """What the blocks of a report add up to while they are read."""

    strings: list[str] = field(default_factory=list)
    results: list[tuple[memoryview, int | None]] = field(default_factory=list)
    attributes: dict[int, list[memoryview]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def read_ncu_rep(data: bytes, source: Source) -> CounterSet:
    """Counters of every kernel in the report.

    Raises `InputError` for another version, for a damaged file and for a report without a kernel.
    """
    if len(data) > _MAX_BYTES:
        raise InputError("the report is larger than 8 GiB", file=source.name, next_step="profile fewer kernels")
    if not data.startswith(NCU_REPORT):
        raise InputError("not an Nsight Compute report (no NVR header)", file=source.name, next_step=_EXPORT)
    try:
        report = _read_blocks(memoryview(data), source)
    except WireError as error:
        raise InputError(f"the report is damaged: {error}", file=source.name, next_step=_EXPORT) from error
    kernels = []
    for place, (message, process) in enumerate(report.results):
        try:
            kernel = _kernel(message, report, place, process)
        except WireError:
            report.skipped["kernel results that are damaged"] += 1
            continue
        if kernel.metrics:
            kernels.append(kernel)
    if not kernels:
        what = "the report holds no kernel with counters"
        if report.skipped:
            what += f" ({', '.join(f'{count} {kind}' for kind, count in report.skipped.items())})"
        raise InputError(what, file=source.name, next_step=_EXPORT)
    return CounterSet(source, tuple(kernels), _notes(report))


def _read_blocks(data: memoryview, source: Source) -> _Report:
    header, at = _sized(data, len(NCU_REPORT))
    version = next((one.integer for one in fields(header) if one.number == 1), 0)
    if version != KNOWN_VERSION:
        what = f"report format version {version} is not known (this reader knows {KNOWN_VERSION})"
        raise InputError(what, file=source.name, next_step=_EXPORT)
    report = _Report()
    while at < len(data):
        block, at = _sized(data, at)
        at = _read_block(block, data, at, report)
    return report


def _read_block(header: memoryview, data: memoryview, at: int, report: _Report) -> int:
    """One block; returns where the next begins. Counts and sizes come from the file and are checked against it."""
    counts = dict.fromkeys((1, 2, 5, 7, 8, 9), 0)
    process = None
    for one in fields(header):
        if one.number in counts:
            counts[one.number] = one.integer
        elif one.number == 3:
            _session(one.data, report)
        elif one.number == 4:
            report.strings += [text.text for text in fields(one.data) if text.number == 1]
        elif one.number == 6:
            process = next((part.integer for part in fields(one.data) if part.number == 1), None)
    payload = counts.pop(5)
    if payload > len(data) - at or sum(counts.values()) > _MAX_MESSAGES:
        raise WireError("a block that is larger than the file")
    _payload(data[at : at + payload], counts, process, report)
    return at + payload


def _payload(payload: memoryview, counts: dict[int, int], process: int | None, report: _Report) -> None:
    """Sized messages in the order of the description: sources, kernels, ranges, command lists, graphs."""
    at = 0
    for _ in range(counts[1]):
        _, at = _sized(payload, at)
    for _ in range(counts[2]):
        message, at = _sized(payload, at)
        report.results.append((message, process))
    for number, what in ((7, "range results"), (8, "command lists"), (9, "graph results")):
        report.skipped[what] += counts[number]
    report.skipped += Counter()


def _sized(data: memoryview, at: int) -> tuple[memoryview, int]:
    """A message behind its 32-bit size, and where the next byte is."""
    if at + _SIZE.size > len(data):
        raise WireError("cut at the size of a message")
    (size,) = _SIZE.unpack_from(data, at)
    start = at + _SIZE.size
    if size > len(data) - start:
        raise WireError("cut inside a message")
    return data[start : start + size], start + size


def _session(message: memoryview, report: _Report) -> None:
    """Device attributes only: name and value of each, by device id."""
    for one in fields(message):
        if one.number != 6:
            continue
        parts = list(fields(one.data))
        device = next((part.integer for part in parts if part.number == 1), 0)
        report.attributes.setdefault(device, []).extend(part.data for part in parts if part.number == 3)


def _kernel(message: memoryview, report: _Report, place: int, process: int | None) -> KernelCounters:
    names = dict.fromkeys((5, 6, 7), "")
    grid: Dim3 = (0, 0, 0)
    block: Dim3 = (0, 0, 0)
    thread = 0
    nvtx: memoryview | None = None
    metrics: dict[str, Metric] = {}
    texts: dict[str, str] = {}
    estimates: list[RuleEstimate] = []
    for one in fields(message):
        if one.number == 1:
            thread = one.integer
        elif one.number in names:
            names[one.number] = one.text
        elif one.number == 10:
            grid = _dim(one.data)
        elif one.number == 11:
            block = _dim(one.data)
        elif one.number == 13:
            _metric(one.data, report.strings, metrics, texts)
        elif one.number == 19:
            estimates += _estimates(one.data)
        elif one.number == 21:
            nvtx = one.data
    device = metrics.get("launch__device_id")
    number = int(device.value) if device else 0
    for attribute in report.attributes.get(number, ()):
        _attribute(attribute, metrics, texts)
    return KernelCounters(
        name=names[7] or names[6],
        grid=grid,
        block=block,
        order=place,
        device=number,
        compute_capability=_capability(metrics),
        process=process,
        nvtx=tuple(_ranges(nvtx, thread)) if nvtx is not None else (),
        metrics=metrics,
        texts=texts,
        estimates=tuple(estimates),
        mangled_name=names[5],
    )


def _dim(message: memoryview) -> Dim3:
    sides = {1: 0, 2: 0, 3: 0}
    for one in fields(message):
        if one.number in sides:
            sides[one.number] = one.integer
    return sides[1], sides[2], sides[3]


def _metric(message: memoryview, strings: list[str], metrics: dict[str, Metric], texts: dict[str, str]) -> None:
    """One metric; a result without a value is absent, never 0. Instance lists are left alone."""
    name, value = "", None
    for one in fields(message):
        if one.number == 1 and one.integer < len(strings):
            name = strings[one.integer]
        elif one.number == 2:
            value = _value(one.data)
        elif one.number == 3:  # instances follow name and value; there may be 100,000 of them
            break
    if name:
        _put(name, value, metrics, texts)


def _attribute(message: memoryview, metrics: dict[str, Metric], texts: dict[str, str]) -> None:
    parts = {one.number: one for one in fields(message)}
    if 1 in parts and 2 in parts:
        name = parts[1].text
        name = name if name.startswith("device__attribute_") else f"device__attribute_{name}"
        _put(name, _value(parts[2].data), metrics, texts)


def _put(name: str, value: float | str | None, metrics: dict[str, Metric], texts: dict[str, str]) -> None:
    if isinstance(value, str):
        texts[name] = value
    elif value is not None and math.isfinite(value):
        metrics[name] = Metric(value, unit_of(name))


def _value(message: memoryview) -> float | str | None:
    """A ProfileMetricValue: text, float, double, or unsigned integer."""
    found: float | str | None = None
    for one in fields(message):
        found = _one_value(one, found)
    return found


def _one_value(one: Field, found: float | str | None) -> float | str | None:
    match one.number:
        case 1:
            return one.text
        case 2 | 3:
            return one.double
        case 4 | 5:
            return one.integer
        case _:
            return found


def unit_of(name: str) -> str:
    """The base unit of a metric by its name (reports hold none): %, ns, byte, hz, byte/s, or empty for counts."""
    if ".pct" in name or name.endswith("_pct"):
        return "%"
    if name.startswith("gpu__time_"):
        return "ns"
    if name.startswith("derived__") or "_sustained" in name or ".per_cycle" in name:
        return ""
    if ".per_second" in name:
        return "byte/s" if "bytes" in name else "hz" if "__cycles" in name else ""
    return "byte" if "__bytes_" in name or "__bytes." in name else ""


def _capability(metrics: dict[str, Metric]) -> str:
    parts = [metrics.get(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")]
    return ".".join(str(int(part.value)) for part in parts if part is not None)


def _estimates(message: memoryview) -> Iterator[RuleEstimate]:
    """Speed-ups that NVIDIA's own rules stored with the kernel: RuleResult.Body.Items[].Speedup."""
    parts = list(fields(message))
    rule = next((one.text for one in parts if one.number == 1), "")
    for body in (one for one in parts if one.number == 3):
        for item in (one for one in fields(body.data) if one.number == 1):
            for speedup in (one for one in fields(item.data) if one.number == 10):
                values = {one.number: one for one in fields(speedup.data)}
                if 1 in values and 2 in values:
                    yield RuleEstimate(rule, _KINDS.get(values[1].integer, "unknown"), values[2].double)


def _ranges(message: memoryview, thread: int) -> Iterator[str]:
    """Open push/pop ranges of the launching thread, outermost first."""
    for one in fields(message):
        if one.number != 2:
            continue
        parts = list(fields(one.data))
        if any(part.number == 1 and part.integer != thread for part in parts):
            continue
        for domain in (part for part in parts if part.number == 2):
            for pushed in (part for part in fields(domain.data) if part.number == 3):
                yield from (part.text for part in fields(pushed.data) if part.number == 1)


def _notes(report: _Report) -> tuple[CaptureNote, ...]:
    return tuple(
        CaptureNote(id="ncu.skipped", message=f"{count} {what} hold no counters of single kernels and were left out")
        for what, count in report.skipped.items()
        if count
    )
