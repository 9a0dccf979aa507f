"""A comparison on a terminal: the verdict, then the rows it was computed from, then what weakens it."""

from __future__ import annotations

from stallscope.model.comparison import Comparison, Delta, Verdict
from stallscope.model.units import duration
from stallscope.reporters.terminal import Paper
from stallscope.views.names import short_kernel

STYLES: dict[Verdict, str] = {
    "improved": "green",
    "regressed": "red",
    "inconclusive": "yellow",
    "not comparable": "yellow",
}
MAX_KERNELS = 8
MAX_NAME = 60


def comparison_text(comparison: Comparison, *, width: int = 80, colour: bool = False) -> str:
    """All lines of the report."""
    paper = Paper(width, colour)
    paper.prose(comparison.headline, hanging="  ")
    paper.line(_sides(comparison), "dim")
    if comparison.step is not None:
        _rows(paper, comparison)
        _kernels(paper, comparison)
    _predictions(paper, comparison)
    if comparison.reasons or comparison.noise:
        paper.heading("why not" if comparison.verdict == "not comparable" else "how far to trust this")
        if comparison.noise:
            paper.prose(comparison.noise.message, "  ")
        for reason in comparison.reasons:
            paper.prose(f"{reason.id}: {reason.message}", "  ", hanging="    ")
    return paper.text()


def delta_text(row: Delta) -> str:
    """`-1.66 ms (-1.84 ms … -1.49 ms)`; the interval belongs to head - base."""
    return f"{_signed(row.delta_ns)} ({_signed(row.low_ns)} … {_signed(row.high_ns)})"


def relative_text(row: Delta) -> str:
    """`-87.5 %` of the base value, empty where the base has none."""
    return f"{'+' if row.relative > 0 else ''}{100 * row.relative:.1f} %" if row.base_ns else "new"


def telling_rows(comparison: Comparison) -> list[tuple[str, Delta]]:
    """Wait ids worth a row: changed or undecided first, then by size of the change; zero on both sides never."""
    order = {"regressed": 0, "improved": 1, "inconclusive": 2}
    rows = [(wait, row) for wait, row in comparison.waits.items() if row.base_ns or row.head_ns]
    return sorted(rows, key=lambda item: (order.get(item[1].verdict, 3), -abs(item[1].delta_ns), item[0]))


def _sides(comparison: Comparison) -> str:
    base, head = comparison.base, comparison.head
    steps = f", {base.steps} and {head.steps} steps of {base.step_name!r}" if base.steps else ""
    gpu = base.environment.get("gpu", "")
    return f"{base.runs} against {head.runs} run(s){steps}{f' on {gpu}' if gpu else ''}"


def _rows(paper: Paper, comparison: Comparison) -> None:
    paper.heading("per step" if comparison.base.steps else "per run")
    rows = telling_rows(comparison)
    if comparison.step is not None:
        rows.insert(0, ("step", comparison.step))
    for name, row in rows:
        left = f"  {name:22} {duration(row.base_ns):>9} → {duration(row.head_ns):>9}  {relative_text(row)}"
        paper.columns(left, row.verdict, STYLES.get(row.verdict, ""))
        if row.verdict != "unchanged" or name == "step":
            paper.line(f"  {'':22} {delta_text(row)}", "dim")


def _kernels(paper: Paper, comparison: Comparison) -> None:
    if not comparison.kernels:
        return
    paper.heading("kernels that changed, time a step")
    for row in comparison.kernels[:MAX_KERNELS]:
        name = short_kernel(row.kernel, MAX_NAME)
        launches = f"{row.base_launches:g} → {row.head_launches:g} launches"
        paper.columns(f"  {name}  {launches}", _signed(row.delta_ns))
    if len(comparison.kernels) > MAX_KERNELS:
        paper.line(f"  and {len(comparison.kernels) - MAX_KERNELS} more in the JSON document", "dim")


def _predictions(paper: Paper, comparison: Comparison) -> None:
    if not comparison.predictions and not comparison.untested:
        return
    paper.heading("predictions of the base report")
    for judged in comparison.predictions:
        paper.columns(f"  {judged.wait}: {judged.experiment}", judged.verdict)
        paper.prose(judged.reason, "    ")
    if comparison.untested:
        paper.prose(f"not tested by this change: {', '.join(comparison.untested)}", "  ", hanging="    ")


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else ''}{duration(ns)}"
