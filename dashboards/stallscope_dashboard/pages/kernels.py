"""Kernels: what the counters of Nsight Compute say about the kernels that cost most."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import KernelCauseItem, KernelCauses
from stallscope.model.units import duration, share
from stallscope.views.families import family_of
from stallscope.views.names import short_kernel
from stallscope.views.text import printable
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.marks import evidence, trace_name, wait_name
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.tables import panel, row, table
from stallscope_dashboard.pages.request import PageRequest

PATH = "/kernels"
TITLE = "Kernels"


def layout(request: PageRequest) -> Component:
    """One row a kernel with its first cause, and the gain intervals of all its causes."""
    kernels = request.analysis.kernels
    if not kernels:
        return empty(
            "No kernel counters",
            "What happens inside kernels needs Nsight Compute. Profile the costly kernels, then give both files:",
            html.Code("ncu --set full --nvtx --csv --page raw --log-file kernels.csv python train.py"),
            html.Code("stallscope dashboard trace.nsys-rep kernels.csv"),
        )
    return html.Div(
        [html.H1(_headline(kernels), className="headline"), _causes(kernels), *(_kernel(k) for k in kernels)],
        className="page page-kernels",
    )


def _headline(kernels: tuple[KernelCauses, ...]) -> str:
    covered = sum(k.share for k in kernels)
    where = f", {share(covered)} of the window" if covered else ""
    return f"{len(kernels)} kernels with counters{where}"


def _causes(kernels: tuple[KernelCauses, ...]) -> Component:
    rows = [
        row(
            trace_name(short_kernel(k.kernel), 80),
            html.Code(f"{_shape(k.grid)} × {_shape(k.block)}", className="dim"),
            f"{k.launches:,}",
            duration(k.time_ns),
            share(k.share) if k.share else "–",
            wait_name(k.cause),
            evidence(k.evidence_level),
            numbers=(2, 3, 4),
        )
        for k in kernels
    ]
    heading = ("kernel", "grid × block", "launches", "time", "share", "first cause", "evidence")
    return panel("Kernels by time", "", table("Kernels", heading, rows, numbers=(2, 3, 4)))


def _kernel(kernel: KernelCauses) -> Component | None:
    if not kernel.causes:
        return None
    rows = [_cause(item) for item in kernel.causes]
    heading = ("cause", "gain of the kernel's own time", "", "stops at", "evidence", "why")
    hint = f"{_shape(kernel.grid)} blocks of {_shape(kernel.block)} threads, {duration(kernel.time_ns)}"
    return panel(printable(short_kernel(kernel.kernel), 80), hint, table("Causes", heading, rows, numbers=(1,)))


def _cause(item: KernelCauseItem) -> Component:
    low, high = item.kernel_gain.low, item.kernel_gain.high
    bar = html.Span(
        [
            html.Span(className=f"cost-high fam-{family_of(item.wait).key}", style={"width": f"{100 * high:.1f}%"}),
            html.Span(className=f"cost-low fam-{family_of(item.wait).key}", style={"width": f"{100 * low:.1f}%"}),
        ],
        className="cost-bars gain-bar",
        **HIDDEN,
    )
    gain = f"{100 * low:.0f} to {100 * high:.0f} %"
    return row(
        wait_name(item.wait),
        gain,
        bar,
        item.ceiling,
        evidence(item.evidence_level),
        printable(item.message, 300),
        numbers=(1,),
    )


def _shape(dimensions: tuple[int, int, int]) -> str:
    return "(" + ", ".join(map(str, dimensions)) + ")"
