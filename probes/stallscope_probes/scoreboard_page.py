"""docs/scoreboard.md from a scoreboard; the page holds no figure of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stallscope_probes.gains import Gain
from stallscope_probes.scoreboard import Scoreboard

INTRODUCTION = """\
# Scoreboard

How stallscope does on workloads whose wait is known because it was put in on purpose ([how they are
made](probes.md)). `stallscope probe score sample_traces` writes `sample_traces/scoreboard.json` and this page from
it; the tests analyze the same captures again and fail when a verdict changes. An id counts as found when the report
names it, and as a false alarm when a report names it above a note and the capture's label neither contains nor allows
it.

**These captures are the ones on which rules, thresholds and labels were tuned.** The figures show that the rules do
what they were made for. How they do on captures nobody tuned on is on
[a page of its own](scoreboard-held-out.md)."""


def page(board: Scoreboard) -> str:
    """The page, Markdown."""
    return "\n".join([INTRODUCTION, "", *_summary(board), *_sections(board)]).rstrip() + "\n"


def _summary(board: Scoreboard) -> Iterator[str]:
    made = board.provenance
    yield (
        f"Captures: {made.get('gpu', 'unknown GPU')}, driver {made.get('driver', '?')}, CUDA {made.get('cuda', '?')}, "
        f"PyTorch {made.get('torch', '?')}, Nsight Systems {made.get('nsys', '?')}, {made.get('date', '?')}. "
        f"Scored with stallscope {board.stallscope}."
    )
    yield ""
    yield from _table(
        ("what", "measured"),
        [
            ("families and captures", f"{board.families} and {board.variants}"),
            ("macro-F1 over ids", f"{board.macro_f1:.3f}"),
            ("decoys that set off their label", str(len(board.decoy_alarms))),
            ("largest unattributed share of idle", f"{board.largest_unattributed_of_idle:.1%}"),
            ("repairs whose measured gain lies in the predicted interval", _contained(board)),
            ("median width of the predicted intervals, as a part of the wait", f"{board.median_width:.2f}"),
            ("validation probes judged rightly", f"{sum(r.right for r in board.results)} of {len(board.results)}"),
        ],
    )


def _contained(board: Scoreboard) -> str:
    share = board.gains_contained / board.gains_measured if board.gains_measured else 0.0
    return f"{board.gains_contained} of {board.gains_measured} ({share:.0%})"


def _sections(board: Scoreboard) -> Iterator[str]:
    yield from _section("Ids", "")
    yield from _table(
        ("id", "found", "missed", "false alarms", "precision", "recall", "F1"),
        [
            (f"`{r.wait}`", r.found, r.missed, r.false_alarms, f"{r.precision:.2f}", f"{r.recall:.2f}", f"{r.f1:.2f}")
            for r in board.ids
        ],
    )
    yield from _section("Wrong verdicts", "Every capture with an id missed or named wrongly.")
    wrong = [row for row in board.captures if row.missed or row.false_alarms]
    yield from _table(
        ("capture", "role", "missed", "named wrongly (share of window)"),
        [
            (row.file, row.role, _ids(row.missed), ", ".join(f"`{w}` {row.alarms[w]:.1%}" for w in row.false_alarms))
            for row in wrong
        ],
    )
    yield from _section("Confusions", "The id that was missed, and what was named wrongly in the same report.")
    yield from _table(
        ("put in", "named", "times"), [(f"`{c.expected}`", f"`{c.named}`", c.times) for c in board.confusions]
    )
    yield from _section("Decoys that set off their label", "")
    yield from _table(("capture", "id"), [(alarm.file, f"`{alarm.wait}`") for alarm in board.decoy_alarms])
    yield from _section("Predicted against measured", _GAINS)
    yield from _table(_GAIN_COLUMNS, [_gain(row) for row in board.gains])
    yield from _section("Validation", "Outputs against float64 or the repaired variant, through the numerics gate.")
    yield from _table(
        ("probe", "role", "put in", "found", "relative error"),
        [
            (f"{r.family}/{r.variant}", r.role, _ids(r.expect), _ids(r.found), _error(r.relative_frobenius))
            for r in board.results
        ],
    )
    if board.not_run:
        yield from _section("Not run", "Variants without a capture here: " + ", ".join(board.not_run) + ".")


_GAINS = """\
Microseconds a repeat. Predicted: from the recoverable intervals of the ids that belong to the variant. Its low end
counts what was put in, which the repair removes; its high end also what the label allows beside it. Time behind a
busy device is not counted twice. A captured window of n repeats begins with its first operation, so the low end is a
share of n repeats and the high end of n - 1. Low ends allow for 4.4 µs of profiler an API call ([replay](replay.md)).
Measured: the median difference of bad and repaired, unprofiled, in interleaved blocks, with its 95 % bootstrap
interval. Inside: both intervals have a value in common. An interval from zero to the whole wait is easily met: the
width says how much a prediction says."""
_GAIN_COLUMNS = ("repair", "step before", "predicted", "width", "measured", "95 %", "inside", "why not")


def _gain(row: Gain) -> tuple[str, ...]:
    return (
        f"{row.family}: {row.bad} → {row.fixed}",
        _us(row.bad_ns),
        f"{_us(row.predicted_low_ns)} to {_us(row.predicted_high_ns)}",
        "" if row.width is None else f"{row.width:.2f}",
        _us(row.measured_ns),
        f"{_us(row.measured_low_ns)} to {_us(row.measured_high_ns)}",
        "yes" if row.contained else "no",
        "" if row.contained else row.reason,
    )


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:,.1f}"


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _ids(waits: Iterable[str]) -> str:
    return ", ".join(f"`{wait}`" for wait in waits)


def _section(title: str, text: str) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    if text:
        yield from (text, "")


def _table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    if not lines:
        yield "None."
        return
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from lines
