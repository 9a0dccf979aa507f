"""How much a file may unfold to and how long a trace can be: what claims more is damaged or hostile, and is refused."""

from __future__ import annotations

from stallscope.errors import InputError
from stallscope.model.columns import Table
from stallscope.model.events import Span
from stallscope.model.trace import Trace

VALUES_A_BYTE = 4
"""Values that one byte of a column file may stand for; exports of nsys use a byte or more a value."""

SPARE_VALUES = 1 << 20
"""Any table may hold this many values, however well it compresses."""

TEXT_BYTES = 1 << 20
"""Longer texts are cut: no name of code is that long."""

TIME_NS = 1 << 61
"""Times at or beyond this (73 years) on either side of zero are no times: sums of them would not fit an int64."""

TRACE_NS = 1 << 53
"""A trace longer than this (104 days) is none; below it every sum of parts is exact, in doubles too."""

DEVICES = 64
"""GPUs of one trace."""

LINE_NS = 1 << 62
"""All threads' times are put behind each other on one line of int64 nanoseconds."""

_AGAIN = "export or capture it again; if its times are right, please report this"


def require_plausible(values: int, file_bytes: int, *, file: str, next_step: str) -> None:
    """Raise `InputError` when a table claims more values than a file of that size can hold."""
    if values > SPARE_VALUES + VALUES_A_BYTE * file_bytes:
        raise InputError(
            f"damaged file (it claims {values:,} values in {file_bytes:,} bytes)", file=file, next_step=next_step
        )


def require_sane(trace: Trace) -> Trace:
    """The trace; raises `InputError` when it names impossibly many devices or its times lie impossibly far apart."""
    name = trace.source.name
    if len(trace.devices) > DEVICES:
        raise InputError(f"it names {len(trace.devices):,} GPUs: damaged device ids", file=name, next_step=_AGAIN)
    spans = [table for table in trace.tables.values() if isinstance(table, Span) and len(table)]
    low = min((int(table.start_ns.min()) for table in spans), default=0)
    high = max((int(table.end_ns.max()) for table in spans), default=0)
    if high - low > min(TRACE_NS, LINE_NS // (len(trace.threads) + len(trace.devices) + 1)):
        days = (high - low) // (86_400 * 1_000_000_000)
        raise InputError(f"its times span {days:,} days: damaged timestamps", file=name, next_step=_AGAIN)
    for table in spans:
        if len(table) * (high - low) > 2 * TIME_NS and _whole_ns(table) > 2 * TIME_NS:
            what = f"{type(table).__name__} last {_whole_ns(table):.1e} ns in all: damaged timestamps"
            raise InputError(what, file=name, next_step=_AGAIN)
    return trace


def _whole_ns(table: Table) -> float:
    """Sum of the lengths of all rows, in doubles because the sum may not fit an int64."""
    lengths = table.array("end_ns").astype(float) - table.array("start_ns").astype(float)
    return float(lengths.sum())
