"""The waits table as CSV, filtered and sorted as the page's URL says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from flask import Blueprint, Response, abort, request

from stallscope.reporters.escape import csv_cell
from stallscope.views.charge_query import COLUMNS, ChargeQuery, ChargeRows, conditions_of, parse_query
from stallscope_dashboard.components.waits_grid import filter_model
from stallscope_dashboard.workspace import Workspace

BLOCK_ROWS = 2_000


def export_routes(workspace: Workspace) -> Blueprint:
    """/api/waits.csv."""
    routes = Blueprint("export", __name__, url_prefix="/api")

    @routes.get("/waits.csv")
    def waits() -> Response:
        run = workspace.run(request.args.get("run"))
        if run is None or run.loaded is None or run.loaded.rows is None:
            abort(404, "this run has no list of waits")
        parameters = {key: value for key, value in request.args.items() if key != "run"}
        query = parse_query(parameters, conditions_of(filter_model(parameters.get("filter", ""))))
        response = Response(_lines(run.loaded.rows, query), mimetype="text/csv; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="waits.csv"'
        return response

    return routes


def _lines(rows: ChargeRows, query: ChargeQuery) -> Iterator[str]:
    """The header, then block after block, so that a million rows need no more memory than one block."""
    matching = rows.matching(query)
    yield _text([list(COLUMNS)])
    for first in range(0, len(matching), BLOCK_ROWS):
        page = rows.page(matching[first : first + BLOCK_ROWS])
        yield _text([[_cell(entry[column]) for column in COLUMNS] for entry in page])


def _cell(value: str | float) -> str | float:
    return csv_cell(value) if isinstance(value, str) else value


def _text(lines: list[list[str]] | list[list[str | float]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows(lines)
    return buffer.getvalue()
