"""The table of waits: AG Grid that asks the server for the rows it shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dash_ag_grid as dag  # type: ignore[import-untyped]

from stallscope_dashboard import ids

PAGE_ROWS = 100

_TEXT: dict[str, Any] = {
    "filter": "agTextColumnFilter",
    "filterParams": {
        "filterOptions": ["contains", "notContains", "equals", "startsWith"],
        "maxNumConditions": 1,
        "debounceMs": 250,
    },
}
_NUMBER: dict[str, Any] = {
    "filter": "agNumberColumnFilter",
    "filterParams": {
        "filterOptions": ["greaterThan", "lessThan", "equals"],
        "maxNumConditions": 1,
        "debounceMs": 250,
    },
    "type": "rightAligned",
    "cellClass": ["number", "ag-right-aligned-cell"],
    "valueFormatter": {"function": "stallscopeNumber(params.value)"},
}
_NAME: dict[str, Any] = {**_TEXT, "cellClass": "mono"}


def _column(field: str, title: str, width: int, kind: Mapping[str, Any], hint: str = "") -> dict[str, Any]:
    return {"field": field, "headerName": title, "width": width, "headerTooltip": hint or title, **kind}


_COLUMNS: tuple[dict[str, Any], ...] = (
    {**_column("wait", "wait", 200, _TEXT), "cellRenderer": "WaitName", "pinned": "left"},
    _column("duration_us", "duration µs", 125, _NUMBER, "how long the device waited"),
    _column("start_ms", "at ms", 120, _NUMBER, "after the first event of the trace"),
    _column("device", "device", 95, _TEXT),
    _column("before", "operation before", 240, _NAME),
    _column("after", "operation after", 240, _NAME),
    _column("call", "launched by", 180, _NAME, "the call that launched the operation after"),
    _column("outside_us", "outside API µs", 140, _NUMBER, "longest time the thread spent outside API calls"),
    _column("nvtx", "NVTX", 260, _TEXT, "ranges open on the launching thread"),
    _column("thread", "thread", 95, _TEXT),
)


def waits_grid(sort: tuple[str, bool], filters: str) -> dag.AgGrid:
    """The grid, sorted and filtered as its URL says; `filters` is the JSON of an AG Grid filter model."""
    column, descending = sort
    columns = [{**c, "sort": "desc" if descending else "asc"} if c["field"] == column else c for c in _COLUMNS]
    return dag.AgGrid(
        id=ids.WAITS_GRID,
        className="waits-grid",
        rowModelType="infinite",
        columnDefs=columns,
        filterModel=filter_model(filters),
        getRowId="params.data.id",
        defaultColDef={"resizable": True, "sortable": True, "floatingFilter": True, "suppressHeaderMenuButton": True},
        dashGridOptions={
            "cacheBlockSize": PAGE_ROWS,
            "maxBlocksInCache": 20,
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            "ensureDomOrder": True,
            "rowHeight": 28,
            "headerHeight": 32,
            "floatingFiltersHeight": 32,
            "animateRows": False,
            "tooltipShowDelay": 400,
        },
        style={"height": "100%", "width": "100%"},
    )


def filter_model(text: str) -> dict[str, Any]:
    """The filter model of a URL parameter; nothing when it is not one."""
    try:
        model = json.loads(text) if text else {}
    except ValueError:
        return {}
    return model if isinstance(model, dict) else {}
