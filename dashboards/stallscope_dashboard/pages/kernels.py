"""Kernels: what the counters of Nsight Compute say about the kernels that cost most."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import Analysis, KernelCauseItem, KernelCauses
from stallscope.model.units import duration, share
from stallscope.views.families import family_of
from stallscope.views.names import short_kernel
from stallscope.views.roofline import roofline, roofline_figure
from stallscope.views.text import printable
from stallscope.views.warp_states import warp_states, warp_states_figure
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.chart import chart
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import evidence, trace_name, wait_name
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.tables import panel, row, table
from stallscope_dashboard.pages.request import PageRequest

PATH = "/kernels"
TITLE = "Kernels"
JOIN_NOTES = ("ncu.joined", "ncu.join_refused")
_BAR_PX = 34


def layout(request: PageRequest) -> Component:
    """Roofline and warp states, one row a kernel with its first cause, the gain intervals of all its causes."""
    analysis = request.analysis
    if not analysis.kernels:
        return empty(
            "No kernel counters",
            "What happens inside kernels needs Nsight Compute. Profile the costly kernels, then give both files:",
            html.Code("ncu --set full --nvtx --csv --page raw --log-file kernels.csv python train.py"),
            html.Code("stallscope dashboard trace.nsys-rep kernels.csv"),
        )
    charts = [part for part in (_roofline(analysis), _warp_states(analysis)) if part is not None]
    return html.Div(
        [
            html.Div(
                [html.H1(_headline(analysis.kernels), className="headline"), *_coverage(analysis)], className="hero"
            ),
            html.Div(charts, className="columns columns-half"),
            _causes(analysis.kernels, request.run),
            *(_kernel(kernel) for kernel in analysis.kernels),
        ],
        className="page page-kernels",
    )


def _headline(kernels: tuple[KernelCauses, ...]) -> str:
    covered = sum(kernel.share for kernel in kernels)
    where = f", {share(min(covered, 1.0))} of the time" if covered else ""
    return f"{len(kernels)} kernel{'s' if len(kernels) > 1 else ''} with counters{where}"


def _coverage(analysis: Analysis) -> list[Component]:
    """How well counters and trace fit together."""
    notes = [note for note in analysis.capture.notes if note.id in JOIN_NOTES]
    if not notes:
        return [html.P("Counters alone: shares are of the profiled kernels, not of a program's time.", className="dim")]
    return [
        html.P([html.Code(note.id, className="wait-id"), printable(note.message, 600)], className="dim")
        for note in notes
    ]


def _roofline(analysis: Analysis) -> Component | None:
    data = roofline(analysis)
    if not data.points:
        return None
    hint = f"{data.without} kernels without operations or metrics are not in it." if data.without else ""
    label = f"Roofline of {len(data.points)} kernels; the table below gives their causes"
    return panel("Roofline", hint, chart(roofline_figure(data), label))


def _warp_states(analysis: Analysis) -> Component | None:
    rows = warp_states(analysis)
    if not rows:
        return None
    height = max(260, 120 + _BAR_PX * len(rows))
    return panel("What warps did", "", chart(warp_states_figure(rows), f"Warp states of {len(rows)} kernels", height))


def _causes(kernels: tuple[KernelCauses, ...], run: str | None) -> Component:
    rows = [
        row(
            trace_name(short_kernel(k.kernel), 80),
            html.Code(f"{_shape(k.grid)} × {_shape(k.block)}", className="dim"),
            f"{k.launches:,}",
            duration(k.time_ns),
            share(k.share) if k.share else "–",
            link(wait_name(k.cause), urls.finding(run, k.cause)) if k.cause else "–",
            evidence(k.evidence_level),
            _estimate(k),
            numbers=(2, 3, 4),
        )
        for k in kernels
    ]
    heading = ("kernel", "grid × block", "launches", "time", "share", "first cause", "evidence", "NVIDIA's rule")
    return panel("Kernels by time", "", table("Kernels", heading, rows, numbers=(2, 3, 4)))


def _estimate(kernel: KernelCauses) -> str:
    """The largest estimate of the vendor's own rules, for comparison."""
    best = max(kernel.estimates, key=lambda e: e.ratio, default=None)
    if best is None:
        return "–"
    of = {"global": "of its time", "local": "of one unit"}.get(best.kind, "")
    return f"{printable(best.rule, 60)}: {best.ratio:.0%} {of}".strip()


def _kernel(kernel: KernelCauses) -> Component | None:
    if not kernel.causes:
        return None
    rows = [_cause(item) for item in kernel.causes]
    heading = ("cause", "gain of the kernel's own time", "", "stops at", "evidence", "why")
    hint = f"{_shape(kernel.grid)} blocks of {_shape(kernel.block)} threads, {duration(kernel.time_ns)}"
    body = html.Div(table("Causes", heading, rows, numbers=(1,)), className="causes-table")
    return panel(printable(short_kernel(kernel.kernel), 80), hint, body)


def _cause(item: KernelCauseItem) -> Component:
    gain = item.kernel_gain
    look = f"fam-{family_of(item.wait).key}"
    bar = html.Span(
        [
            html.Span(className=f"cost-high {look}", style={"width": f"{100 * gain.high:.1f}%"}),
            html.Span(className=f"cost-low {look}", style={"width": f"{100 * gain.low:.1f}%"}),
        ],
        className="cost-bars gain-bar",
        **HIDDEN,
    )
    likely = f", likely {gain.likely:.0%}" if gain.likely is not None else ""
    return row(
        wait_name(item.wait),
        f"{gain.low:.0%} to {gain.high:.0%}{likely}",
        bar,
        printable(item.ceiling, 80),
        evidence(item.evidence_level),
        printable(item.message, 400),
        numbers=(1,),
    )


def _shape(dimensions: tuple[int, int, int]) -> str:
    return "(" + ", ".join(map(str, dimensions)) + ")"
