"""A comparison as a pull-request comment: one headline computed from the rows, one table, the rest folded away."""

from __future__ import annotations

from collections.abc import Iterator

from stallscope.model.comparison import Comparison, Delta, Verdict
from stallscope.model.units import duration
from stallscope.reporters.budgeted import Section, fit
from stallscope.reporters.comparison_text import delta_text, relative_text, telling_rows
from stallscope.reporters.escape import markdown_code, markdown_text
from stallscope.reporters.markdown import MAX_CHARACTERS, marker
from stallscope.views.names import short_kernel

MARKS: dict[Verdict, str] = {
    "improved": "improved",
    "regressed": "**regressed**",
    "unchanged": "unchanged",
    "inconclusive": "unclear",
    "not comparable": "not comparable",
}


def comparison_markdown(comparison: Comparison, *, key: str = "diff", limit: int = MAX_CHARACTERS) -> str:
    """The comment, in at most `limit` characters."""
    return fit([*_sections(comparison, key)], _footer(comparison), limit)


def _sections(comparison: Comparison, key: str) -> Iterator[Section]:
    yield Section("headline", f"{marker(key)}\n### stallscope: {markdown_text(comparison.headline)}\n")
    if comparison.step is None:
        reasons = [f"- {markdown_text(reason.message)}" for reason in comparison.reasons]
        yield Section("reasons", "\n".join(reasons) + "\n")
        return
    rows = telling_rows(comparison)
    loud = [item for item in rows if item[1].verdict != "unchanged"]
    quiet = [item for item in rows if item[1].verdict == "unchanged"]
    yield Section("table", _table([("step", comparison.step), *loud]))
    if comparison.predictions:
        lines = [
            f"- {markdown_code(j.wait)} {markdown_text(j.experiment)}: **{j.verdict}**. {markdown_text(j.reason)}"
            for j in comparison.predictions
        ]
        yield Section("predictions", "**Predictions of the base report**\n\n" + "\n".join(lines) + "\n")
    if quiet:
        yield Section("unchanged waits", _fold(f"{len(quiet)} unchanged", _table(quiet)))
    if comparison.kernels:
        yield Section("kernels", _fold(f"Kernels that changed ({len(comparison.kernels)})", _kernels(comparison)))
    notes = [markdown_text(reason.message) for reason in comparison.reasons]
    if comparison.noise:
        notes.insert(0, markdown_text(comparison.noise.message))
    yield Section("caveats", _fold("How far to trust this", "\n".join(f"- {note}" for note in notes)))


def _table(rows: list[tuple[str, Delta]]) -> str:
    lines = ["| per step | base | head | change | | verdict |", "|---|--:|--:|--:|--:|---|"]
    lines += [
        f"| {markdown_code(name)} | {duration(row.base_ns)} | {duration(row.head_ns)} | {delta_text(row)} "
        f"| {relative_text(row)} | {MARKS[row.verdict]} |"
        for name, row in rows
    ]
    return "\n".join(lines) + "\n"


def _kernels(comparison: Comparison) -> str:
    lines = ["| kernel | launches a step | time a step |", "|---|--:|--:|"]
    lines += [
        f"| {markdown_code(short_kernel(row.kernel))} | {row.base_launches:g} → {row.head_launches:g} "
        f"| {duration(row.base_ns)} → {duration(row.head_ns)} |"
        for row in comparison.kernels
    ]
    return "\n".join(lines)


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>\n"


def _footer(comparison: Comparison) -> str:
    environment = ", ".join(f"{key} {value}" for key, value in sorted(comparison.base.environment.items()))
    runs = f"{comparison.base.runs} against {comparison.head.runs} run(s)"
    return f"<sub>{markdown_text(f'{runs}; {environment}', 400)}</sub>\n"
