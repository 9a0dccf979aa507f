"""Warp states of the profiled kernels: what their warps did or waited for, one bar a kernel."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stallscope.model.analysis import Analysis, KernelCauses
from stallscope.model.units import share
from stallscope.views.names import short_kernel
from stallscope.views.text import printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LONGEST_NAME = 40
MAX_KERNELS = 20
OTHER = "other"
GROUPS = {
    "issuing": ("selected",),
    "ready, another warp issued": ("not_selected",),
    "global and local memory": ("long_scoreboard", "lg_throttle", "tex_throttle", "drain"),
    "shared memory and special functions": ("short_scoreboard", "mio_throttle"),
    "barriers and fences": ("barrier", "membar", "gmma", "sleeping"),
    "arithmetic": ("wait", "math_pipe_throttle", "dispatch_stall"),
    "instruction fetch and branches": ("no_instruction", "branch_resolving", "imc_miss"),
}
"""Reasons that belong together; the first two are progress, the others waiting."""


@dataclass(frozen=True, slots=True)
class WarpStates:
    """One kernel: shares of its warp time by group of reasons (sum 1), and the single reasons behind them."""

    kernel: str
    cause: str
    share: float
    groups: dict[str, float]
    reasons: dict[str, float]


def warp_states(analysis: Analysis, limit: int = MAX_KERNELS) -> tuple[WarpStates, ...]:
    """Kernels with warp states, by time."""
    return tuple(_states(kernel) for kernel in analysis.kernels if kernel.stalls)[:limit]


def _states(kernel: KernelCauses) -> WarpStates:
    groups = {name: sum(kernel.stalls.get(reason, 0.0) for reason in reasons) for name, reasons in GROUPS.items()}
    groups[OTHER] = max(0.0, 1 - sum(groups.values()))
    return WarpStates(
        kernel=short_kernel(kernel.kernel, LONGEST_NAME),
        cause=kernel.cause,
        share=kernel.share,
        groups={name: part for name, part in groups.items() if part > 0},
        reasons=dict(sorted(kernel.stalls.items(), key=lambda pair: -pair[1])),
    )


def warp_states_figure(rows: tuple[WarpStates, ...]) -> Figure:
    """A plotly figure: one stacked bar a kernel, longest on top."""
    import plotly.graph_objects as go

    figure = go.Figure()
    labels = [f"{html.escape(printable(row.kernel))} ({share(row.share)})" for row in rows]
    for name in (*GROUPS, OTHER):
        parts = [row.groups.get(name, 0.0) for row in rows]
        if any(parts):
            figure.add_trace(
                go.Bar(
                    y=list(range(len(rows))),
                    x=parts,
                    name=name,
                    orientation="h",
                    text=[_reasons(row, name) for row in rows],
                    textposition="none",
                    hovertemplate="%{text}<extra></extra>",
                )
            )
    figure.update_layout(
        barmode="stack",
        xaxis={"range": [0, 1], "tickformat": ".0%", "title": {"text": "share of warp time"}},
        yaxis={"autorange": "reversed", "tickvals": list(range(len(rows))), "ticktext": labels},
        legend={"orientation": "h"},
        margin={"l": 240, "r": 20, "t": 20, "b": 50},
    )
    return figure


def _reasons(row: WarpStates, group: str) -> str:
    """The reasons of a group as a hover shows them."""
    inside = GROUPS.get(group, ())
    known = [f"{reason} {share(part)}" for reason, part in row.reasons.items() if reason in inside]
    lines = (html.escape(printable(row.kernel)), f"{group} {share(row.groups.get(group, 0.0))}", *known)
    return "<br>".join(lines)
