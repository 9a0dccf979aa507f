"""The numerics gate on a terminal."""

from __future__ import annotations

from stallscope.numerics.report import NumericsReport, TensorResult
from stallscope.reporters.terminal import Paper

MAX_ROWS = 40


def numerics_text(report: NumericsReport, *, width: int = 80, colour: bool = False) -> str:
    """All lines of the report."""
    paper = Paper(width, colour)
    verdict = "passed" if report.passed else "FAILED"
    paper.line(f"numerics gate {verdict} ({report.gate})", "green" if report.passed else "red")
    paper.prose(f"{report.base} against {', '.join(report.head)}{_reference(report)}", "  ", hanging="  ")
    for result in sorted(report.tensors, key=lambda item: item.passed)[:MAX_ROWS]:
        state = "same bits" if not result.different and result.passed else "ok" if result.passed else result.id
        paper.columns(f"  {result.name}  {result.dtype} {list(result.shape)}", state, "" if result.passed else "red")
        if detail := _detail(result):
            paper.line(f"    {detail}", "dim")
    if len(report.tensors) > MAX_ROWS:
        paper.line(f"  and {len(report.tensors) - MAX_ROWS} more in the JSON document", "dim")
    if report.reasons:
        paper.heading("why")
        for reason in report.reasons[:MAX_ROWS]:
            paper.prose(reason, "  ", hanging="    ")
    return paper.text()


def _reference(report: NumericsReport) -> str:
    return f", reference {report.reference}" if report.reference else ""


def _detail(result: TensorResult) -> str:
    parts = []
    if result.different:
        parts.append(f"{result.different:,} of {result.elements:,} differ")
    if result.relative_frobenius is not None:
        own = result.base_relative_frobenius
        base = f" (base {own:.1e})" if own is not None else ""
        parts.append(f"relative error {result.relative_frobenius:.1e}{base}, bound {result.bound or 0:.0e}")
    if result.scaled_max is not None:
        parts.append(f"max over |A||B| {result.scaled_max:.1e}")
    elif result.largest_error:
        parts.append(f"largest error {result.largest_error:.1e}")
    return ", ".join(parts)
