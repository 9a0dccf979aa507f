"""Everything known about one interval of the timeline, as facts and as links to the intervals that explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stallscope.model.events import MemoryKind, MigrationCause
from stallscope.model.units import duration, quantity, size
from stallscope.views.lane_parts import DETAILS
from stallscope.views.lanes import NOWHERE, LaneTable
from stallscope.views.text import SHORT_NAME, printable

LONG_NAME = 1_500


@dataclass(frozen=True, slots=True)
class Fact:
    """One property, written out."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Link:
    """Another interval, and its role towards this one. `cause` links lead back in time, the others forward."""

    role: str
    cause: bool
    lane: int
    index: int
    low_ns: int
    high_ns: int
    title: str


@dataclass(frozen=True, slots=True)
class IntervalDetail:
    """One interval. `wait` is its id when it is a charge of the ledger; `charge` its row there."""

    lane: int
    index: int
    low_ns: int
    high_ns: int
    title: str
    kind: str
    family: str
    place: str
    sentence: str
    facts: tuple[Fact, ...]
    links: tuple[Link, ...]
    wait: str = ""
    charge: int = NOWHERE


def interval_detail(table: LaneTable, lane: int, index: int) -> IntervalDetail | None:
    """Details of the interval at that position of the lane; None when there is no such interval."""
    found = table.lanes[lane] if 0 <= lane < len(table.lanes) else None
    if found is None or not 0 <= index < found.after - found.first:
        return None
    at = found.first + index
    intervals = table.intervals
    kind = table.classes[int(intervals.kind[at])]
    detail, row = DETAILS[int(intervals.detail[at])], int(intervals.row[at])
    low, high = int(intervals.start_ns[at]), int(intervals.end_ns[at])
    group = next(g for g in table.groups if g.key == found.group)
    charge = row if detail == "charges" else NOWHERE
    return IntervalDetail(
        lane=lane,
        index=index,
        low_ns=low,
        high_ns=high,
        title=printable(table.names[int(intervals.name[at])], SHORT_NAME),
        kind=kind.label,
        family=kind.family,
        place=f"{group.label} · {found.label}",
        sentence=_sentence(table, charge) if charge != NOWHERE else "",
        facts=tuple(_charge_facts(table, charge) if charge != NOWHERE else _facts(table, detail, row, high - low)),
        links=tuple(_charge_links(table, charge) if charge != NOWHERE else _links(table, at, detail)),
        wait=kind.key if charge != NOWHERE else "",
        charge=charge,
    )


def link_to(table: LaneTable, at: int, role: str, *, cause: bool) -> Iterator[Link]:
    """A link to the interval at that position; nothing when it is NOWHERE."""
    lane = table.lane_of(at) if at != NOWHERE else None
    if lane is None:
        return
    intervals = table.intervals
    title = printable(table.names[int(intervals.name[at])], SHORT_NAME)
    low, high = int(intervals.start_ns[at]), int(intervals.end_ns[at])
    yield Link(role, cause, lane, at - table.lanes[lane].first, low, high, title)


def _links(table: LaneTable, at: int, detail: str) -> Iterator[Link]:
    to = int(table.intervals.link[at])
    if detail == "calls":
        yield from link_to(table, to, "launched", cause=False)
    else:
        yield from link_to(table, to, "launched by", cause=True)


def _charge_links(table: LaneTable, row: int) -> Iterator[Link]:
    charges = table.charges
    if charges.before[row] == NOWHERE:
        yield from link_to(table, int(charges.after[row]), "running then", cause=False)
    else:
        yield from link_to(table, int(charges.call[row]), "ended by the launch", cause=True)
        yield from link_to(table, int(charges.before[row]), "operation before", cause=True)
        yield from link_to(table, int(charges.after[row]), "operation after", cause=False)


def _sentence(table: LaneTable, row: int) -> str:
    """What happened, in the order of cause and effect; only what the trace shows."""
    charges = table.charges
    length = duration(int(charges.end_ns[row] - charges.start_ns[row]))
    device = charges.devices[int(charges.device[row])]
    if charges.before[row] == NOWHERE:
        owner = charges.waits[int(charges.wait[row])]
        return f"{device} was busy for {length}; this part of its time is charged to {owner}."
    text = f"{device} had nothing to run for {length}."
    call = int(charges.call[row])
    if call == NOWHERE:
        return f"{text} The trace does not tell which call launched what ended the gap."
    host = int(charges.host_ns[row])
    name = printable(table.names[int(table.intervals.name[call])], SHORT_NAME)
    thread = charges.threads[int(charges.thread[row])] if charges.thread[row] != NOWHERE else "?"
    if table.intervals.end_ns[call] <= charges.start_ns[row]:
        return f"{text} {name} on thread {thread} had queued the next operation before the gap began."
    text += f" {name} on thread {thread} began {duration(host)} into it"
    outside = int(charges.outside_ns[row])
    idle = f"; before that the thread was up to {duration(outside)} outside any API call" if outside else ""
    return f"{text}{idle}."


def _charge_facts(table: LaneTable, row: int) -> Iterator[Fact]:
    charges = table.charges
    path = charges.paths[int(charges.path[row])]
    if path:
        yield Fact("NVTX", printable(path, LONG_NAME))
    if charges.thread[row] != NOWHERE:
        yield Fact("thread", charges.threads[int(charges.thread[row])])
    if charges.before[row] != NOWHERE and charges.call[row] != NOWHERE:
        yield Fact("before the launch call", duration(int(charges.host_ns[row])))
        yield Fact("longest outside API calls", duration(int(charges.outside_ns[row])))


def _facts(table: LaneTable, detail: str, row: int, length_ns: int) -> Iterator[Fact]:
    columns = table.details.get(detail)
    if columns is None:
        return
    value = {name: int(column[row]) for name, column in columns.items()}
    if detail == "kernels":
        yield Fact("kernel", printable(table.names[value["full_name"]], LONG_NAME))
        yield Fact("grid × block", " × ".join(_shape(value, side) for side in ("grid", "block")))
        yield Fact("registers a thread", str(value["registers"]) if value["registers"] else "not recorded")
        yield Fact("shared memory a block", size(value["shared_bytes"]))
        if value["local_bytes"]:
            yield Fact("local memory a thread", size(value["local_bytes"]))
    if detail in {"copies", "memsets", "migrations"}:
        yield Fact("size", size(value["bytes"]))
        yield Fact("rate", quantity(value["bytes"] / max(length_ns, 1) * 1e9, "bytes/s"))
    if detail == "copies":
        ends = (MemoryKind(value[f"{end}_kind"]).name.lower() for end in ("source", "target"))
        yield Fact("memory", " → ".join(ends))
    if detail == "migrations":
        yield Fact("cause", MigrationCause(value["cause"]).name.lower().replace("_", " "))
    if detail == "faults":
        yield Fact("page faults", f"{value['faults']:,}")
    if value.get("graph_node"):
        yield Fact("graph node", str(value["graph_node"]))
    if detail == "calls":
        yield Fact("result", "success" if value["result"] == 0 else f"error {value['result']}")
    for name in ("context", "stream", "correlation"):
        if name in value:
            yield Fact(name, str(value[name]))


def _shape(value: dict[str, int], side: str) -> str:
    return f"({value[f'{side}_x']}, {value[f'{side}_y']}, {value[f'{side}_z']})"
