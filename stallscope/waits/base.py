"""What a wait rule is: static metadata, one pure function of declared tables, claims and facts out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Column, Table
from stallscope.model.events import Span
from stallscope.model.experiments import Experiment
from stallscope.model.findings import EvidenceLevel, Severity, Unit
from stallscope.model.names import Names
from stallscope.model.trace import Device, Trace
from stallscope.timeline.blocking import BlockedGaps
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.nvtx import RangeTree
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import RowArray
from stallscope.timeline.stream_order import StreamOrder
from stallscope.timeline.timeline import EVERY, Timeline
from stallscope.timeline.windows import DeviceWindow

TableT = TypeVar("TableT", bound=Table)

Layer = Literal["kernel", "busy", "idle", "beside", "note"]
"""Where a rule's claims lie: inside kernels, on other busy time, on idle time, or beside the ledger.

`kernel`, `busy` and `idle` claims are settled in the ledger. `beside` findings describe waits behind a busy device and
`note` findings explain; neither is charged.
"""

DEFAULT_LOW_RATIO = 0.3
"""Low end of a recoverable interval as a part of its high end, where nothing better is known.

Removing one wait often exposes another; the 0.3 is the prediction interval of the counterfactual engine's notes and is
checked against the measured bad → fixed differences in docs/scoreboard.md.
"""


@dataclass(frozen=True, slots=True)
class RuleMeta:
    """Static description of a rule.

    `needs` are the event tables without which the rule cannot answer; `uses` are optional ones.
    """

    id: str
    title: str
    layer: Layer
    needs: tuple[type[Table], ...]
    uses: tuple[type[Table], ...] = ()
    severity: Severity | None = None

    @property
    def docs(self) -> str:
        """Page of the documentation."""
        return f"waits/{self.id}"


class Claims(Span):
    """Spans of device time a rule explains. Spans of one rule may overlap; the ledger counts each nanosecond once."""

    device = Column(np.int32, "index into Trace.devices")
    process = Column(np.int32, "index into Trace.processes of the operation that waited")
    call = Column(np.int32, "row in HostCalls that is to blame or that launched late; -1 = none")
    operation = Column(np.int32, "row in Operations that waited; -1 = none")
    thread = Column(np.int32, "host thread to blame; -1 = none")
    time_ns = Column(np.int64, "when to look up the thread's NVTX path")

    @classmethod
    def joined(cls, parts: Iterable[Claims]) -> Claims:
        """All rows of the parts, in that order; none where there is no part."""
        tables = [cls.empty(), *parts]
        return cls.of(**{name: np.concatenate([table.array(name) for table in tables]) for name in cls.COLUMNS})

    def between(self, starts: Int64Array, ends: Int64Array) -> Claims:
        """The same claims on other spans of time."""
        return self.with_columns(start_ns=starts, end_ns=ends)


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of evidence and the table it was read from."""

    label: str
    value: int | float
    unit: Unit
    table: type[Table]


@dataclass(frozen=True, slots=True)
class Detection:
    """What a rule found.

    `facts` may be a function of the claim rows that the ledger left something to, so that evidence and wait agree.
    `floor_ns` is the part of every claim that stays when the wait is removed; `low_ratio` gives the low end of the
    recoverable interval from its high end; `assumes` is printed beside the interval. `beside` is the same wait behind a
    busy device, where no ledger can charge it: it is told instead where it is longer.
    """

    claims: Claims
    level: EvidenceLevel
    assumes: str
    facts: tuple[Fact, ...] | Callable[[RowArray], tuple[Fact, ...]] = ()
    floor_ns: int = 0
    low_ratio: float = DEFAULT_LOW_RATIO
    caveats: tuple[str, ...] = ()
    reason: str = ""
    beside: Detection | None = None


DEFAULT_SMS = 100
"""Number of SMs of a device whose capture does not tell it."""


class UndecidableError(Exception):
    """The rule's tables are there but do not decide; the message says what to collect."""


class View:
    """The part of a timeline a rule declared; asking for an undeclared table is a programming error."""

    def __init__(self, timeline: Timeline, meta: RuleMeta) -> None:
        self._timeline = timeline
        self._declared = {*meta.needs, *meta.uses}

    def __getitem__(self, kind: type[TableT]) -> TableT:
        found = self.find(kind)
        if found is None:
            raise KeyError(kind.__name__)
        return found

    def find(self, kind: type[TableT]) -> TableT | None:
        """A declared table, or None when it was not collected."""
        if kind not in self._declared:
            raise KeyError(f"{kind.__name__} is not declared by the rule")
        return self._timeline.trace.table(kind)

    @property
    def names(self) -> Names:
        """Strings of the trace."""
        return self._timeline.trace.names

    @property
    def devices(self) -> tuple[Device, ...]:
        """Devices of the trace."""
        return self._timeline.trace.devices

    @property
    def trace(self) -> Trace:
        """Facts about the capture (not its tables)."""
        return self._timeline.trace

    @property
    def operations(self) -> Operations:
        """Everything that occupied a device."""
        return self._timeline.operations

    @property
    def calls(self) -> HostCalls:
        """API calls by (thread, start)."""
        return self._timeline.calls

    @property
    def kernel_shape(self) -> RowArray:
        """Number of the distinct (name, grid, block) of every row of Kernels."""
        return self._timeline.kernel_shapes.of

    def blocks(self, rows: npt.NDArray[np.intp]) -> Int64Array:
        """Thread blocks of operations that are kernels."""
        return self._timeline.blocks(self.operations.row[rows])

    @property
    def launch(self) -> RowArray:
        """Row in `calls` of each operation's launch."""
        return self._timeline.launch

    def launched_ns(self, rows: Int64Array | RowArray | slice = EVERY) -> Int64Array:
        """When operations were asked for: the start of their launch call, else their own."""
        return self._timeline.launched_ns(rows)

    @property
    def stream_order(self) -> StreamOrder:
        """The operations of every stream in the order in which they were submitted."""
        return self._timeline.stream_order

    @property
    def multiprocessors(self) -> Int64Array:
        """Number of SMs of each device of the trace."""
        return np.array([device.sm_count or DEFAULT_SMS for device in self.devices], np.int64)

    @property
    def from_graph(self) -> npt.NDArray[np.bool_]:
        """Operations started by a graph launch."""
        return self._timeline.from_graph

    @property
    def gaps(self) -> Gaps:
        """Idle gaps of every device."""
        return self._timeline.gaps

    @property
    def held_gaps(self) -> Int64Array:
        """Rows of the gaps in which the successor lay in its stream for longer than launch latency."""
        return self._timeline.held_gaps

    @property
    def blocked(self) -> BlockedGaps:
        """Idle time caused by calls that held the launching thread back."""
        return self._timeline.blocked

    @property
    def recompiles(self) -> npt.NDArray[np.bool_]:
        """Calls that load code compiled anew again and again in the steady state."""
        return self._timeline.recompiles

    @property
    def ranges(self) -> RangeTree:
        """NVTX ranges."""
        return self._timeline.ranges

    @property
    def windows(self) -> tuple[DeviceWindow, ...]:
        """Accounted windows."""
        return self._timeline.windows


Detect = Callable[[View], "Detection | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A wait class: `detect` returns None when there is nothing to claim."""

    meta: RuleMeta
    detect: Detect
    experiments: tuple[Experiment, ...] = ()


def measure(command: str = "-- python train.py") -> str:
    """How to check an experiment, as every rule prints it."""
    return f"stallscope run -o after.nsys-rep {command} && stallscope diff before.nsys-rep --to after.nsys-rep"
