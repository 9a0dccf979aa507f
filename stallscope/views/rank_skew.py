"""Several ranks side by side: where each one's time went, and which one differs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Finding
from stallscope.views.overview import totals

CROSS_RANK = ("comm.peer_wait", "comm.exposed", "comm.interference")


@dataclass(frozen=True, slots=True)
class SkewCell:
    """Share of one device's window, and by how much it exceeds the median of all devices."""

    time_ns: int
    share: float
    excess: float


@dataclass(frozen=True, slots=True)
class SkewRow:
    """One device of one rank."""

    title: str
    rank: int | None
    device: str
    window_ns: int
    cells: tuple[SkewCell, ...]


@dataclass(frozen=True, slots=True)
class Skew:
    """Rows are devices by rank, columns are wait ids by size over all ranks."""

    waits: tuple[str, ...]
    rows: tuple[SkewRow, ...]

    @property
    def largest_share(self) -> float:
        """The largest share in the table; the scale of its shading."""
        return max((cell.share for row in self.rows for cell in row.cells), default=0.0)


def skew(analysis: Analysis) -> Skew:
    """The heat map of an analysis with at least two devices."""
    waits = tuple(wait for wait, _ in totals(analysis))
    shares = {
        wait: [d.ledger.get(wait, 0) / d.window_ns if d.window_ns else 0.0 for d in analysis.devices] for wait in waits
    }
    middle = {wait: median(values) if values else 0.0 for wait, values in shares.items()}
    ordered = sorted(enumerate(analysis.devices), key=lambda item: (item[1].rank is None, item[1].rank or 0, item[0]))
    rows = tuple(
        SkewRow(
            title=device.device
            if device.rank is None or "rank" in device.device
            else f"rank {device.rank} {device.device}",
            rank=device.rank,
            device=device.device,
            window_ns=device.window_ns,
            cells=tuple(
                SkewCell(device.ledger.get(w, 0), shares[w][number], shares[w][number] - middle[w]) for w in waits
            ),
        )
        for number, device in ordered
    )
    return Skew(waits, rows)


def cross_rank_findings(analysis: Analysis) -> tuple[Finding, ...]:
    """Findings that only several ranks together can give."""
    return tuple(f for f in analysis.findings if f.wait in CROSS_RANK)
