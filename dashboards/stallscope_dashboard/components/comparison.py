"""A comparison of two runs: verdict, step and waits with their intervals, kernels, predictions."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.comparison import Comparison, Delta, Judgement, KernelDelta, Reason, Verdict
from stallscope.model.units import duration
from stallscope.views.families import family_of
from stallscope.views.text import printable
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.marks import trace_name, wait_name
from stallscope_dashboard.components.tables import panel, row, table

MAX_KERNELS = 40
_SIGNS: dict[Verdict, str] = {
    "improved": "▼",
    "regressed": "▲",
    "unchanged": "=",
    "inconclusive": "?",
    "not comparable": "✕",
}
_HEADING = ("wait", "base", "head", "difference", "interval", "", "verdict")


def verdict_mark(verdict: str) -> Component:
    """A verdict as a sign and a word."""
    sign = _SIGNS.get(verdict, "")  # type: ignore[call-overload]
    look = f"verdict verdict-{verdict.replace(' ', '-')}"
    return html.Span([html.Span(sign, **HIDDEN), html.Span(verdict)], className=look)


def reasons_list(reasons: tuple[Reason, ...]) -> Component | None:
    """Why two runs cannot be compared, or what weakens the comparison."""
    if not reasons:
        return None
    entries = [
        html.Li([html.Code(reason.id, className="wait-id"), printable(reason.message, 500)]) for reason in reasons
    ]
    return html.Ul(entries, className="reasons")


def step_panel(comparison: Comparison) -> Component | None:
    """The step and every wait: both sides, the difference and its interval."""
    if comparison.step is None:
        return None
    rows = [("step", comparison.step)]
    rows += sorted(comparison.waits.items(), key=lambda item: -max(abs(item[1].low_ns), abs(item[1].high_ns)))
    scale = max((max(abs(d.low_ns), abs(d.high_ns), abs(d.delta_ns)) for _, d in rows), default=1) or 1
    body = [_delta(name, delta, scale) for name, delta in rows if delta.base_ns or delta.head_ns]
    hint = "Device time a step. The interval holds the true difference with the confidence given below."
    return panel("What changed", hint, table("Differences", _HEADING, body, numbers=(1, 2, 3, 4)), _noise(comparison))


def _delta(name: str, delta: Delta, scale: int) -> Component:
    title: Component = html.Strong("step") if name == "step" else wait_name(name)
    relative = f" ({delta.relative:+.1%})" if delta.base_ns else ""
    return row(
        title,
        duration(delta.base_ns),
        duration(delta.head_ns),
        f"{_signed(delta.delta_ns)}{relative}",
        f"{_signed(delta.low_ns)} to {_signed(delta.high_ns)}",
        _whisker(name, delta, scale),
        verdict_mark(delta.verdict),
        numbers=(1, 2, 3, 4),
        look="row-step" if name == "step" else "",
    )


def _whisker(name: str, delta: Delta, scale: int) -> Component:
    """The interval around zero; left is faster."""
    low, high = (50 + 48 * ns / scale for ns in (delta.low_ns, delta.high_ns))
    look = "fam-work" if name == "step" else f"fam-{family_of(name).key}"
    return html.Span(
        [
            html.Span(className="whisker-zero"),
            html.Span(
                className=f"whisker-range {look}",
                style={"left": f"{low:.2f}%", "width": f"{max(high - low, 0.6):.2f}%"},
            ),
            html.Span(className="whisker-middle", style={"left": f"{50 + 48 * delta.delta_ns / scale:.2f}%"}),
        ],
        className="whisker",
        **HIDDEN,
    )


def _noise(comparison: Comparison) -> Component | None:
    if comparison.noise is None:
        return None
    noise = comparison.noise
    samples = f"{noise.base_samples} against {noise.head_samples} samples"
    return html.P(f"Confidence {100 * noise.confidence:.4g} %, {samples}: {noise.message}.", className="dim noise")


def kernels_panel(kernels: tuple[KernelDelta, ...]) -> Component | None:
    """Kernels whose launches or time changed."""
    if not kernels:
        return None
    rows = [
        row(
            trace_name(k.kernel, 90),
            f"{k.base_launches:,.4g} → {k.head_launches:,.4g}",
            duration(k.base_ns),
            duration(k.head_ns),
            _signed(k.delta_ns),
            numbers=(1, 2, 3, 4),
        )
        for k in kernels[:MAX_KERNELS]
    ]
    heading = ("kernel", "launches", "base", "head", "difference")
    hint = f"The {MAX_KERNELS} that changed most." if len(kernels) > MAX_KERNELS else "Per step."
    return panel("Kernels", hint, table("Kernels that changed", heading, rows, numbers=(1, 2, 3, 4)))


def predictions_panel(judgements: tuple[Judgement, ...], title: str = "Predictions") -> Component | None:
    """What became of the base run's predictions."""
    if not judgements:
        return None
    rows = [
        row(
            wait_name(j.wait),
            f"{duration(j.predicted_low_ns)} to {duration(j.predicted_high_ns)}",
            f"{_signed(j.measured_low_ns)} to {_signed(j.measured_high_ns)}",
            html.Span(j.verdict, className=f"outcome-word outcome-{j.verdict}"),
            printable(j.reason, 300),
            numbers=(1, 2),
        )
        for j in judgements
    ]
    heading = ("wait", "predicted gain", "measured gain", "verdict", "why")
    return panel(title, "Gain a step, predicted by the base run.", table(title, heading, rows, numbers=(1, 2)))


def _signed(ns: float) -> str:
    return f"{'+' if ns > 0 else '−' if ns < 0 else '±'}{duration(abs(ns))}"
