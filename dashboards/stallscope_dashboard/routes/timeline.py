"""Routes of the timeline: lanes, tiles, one interval, the next wait, search, the account of a range."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
from flask import Blueprint, Response, abort, request

from stallscope.views import tile, wayfinding
from stallscope.views.interval_detail import interval_detail
from stallscope.views.lanes import Lane, LaneTable
from stallscope.views.range_account import range_account
from stallscope_dashboard.workspace import Workspace

MAX_SEARCH = 200
_SECONDS_KEPT = 3600


def timeline_routes(workspace: Workspace) -> Blueprint:
    """All of them, under /api."""
    routes = Blueprint("timeline", __name__, url_prefix="/api")

    @routes.get("/lanes")
    def lanes() -> Response:
        table = _table(workspace)
        low, high = table.span_ns
        used = {cover.kind for covers in table.covers for cover in covers}
        return _json(
            {
                "version": workspace.session,
                "span": [low, high],
                "groups": table.groups,
                "lanes": [_lane_entry(lane) for lane in table.lanes],
                "classes": [{**asdict(c), "used": n in used} for n, c in enumerate(table.classes)],
            }
        )

    @routes.get("/tile")
    def one_tile() -> Response:
        table = _table(workspace)
        low, high = _window()
        pixels = _integer("pixels", 1, tile.MAX_PIXELS)
        wanted = _lane_list(table)
        response = Response(
            tile.encode(table, wanted, tile.Window(low, high, pixels)), mimetype="application/octet-stream"
        )
        response.headers["Cache-Control"] = f"private, max-age={_SECONDS_KEPT}"
        return response

    @routes.get("/interval")
    def interval() -> Response:
        table = _table(workspace)
        lane = _lane(table)
        return _json(interval_detail(table, lane, _integer("index", 0, len(table))))

    @routes.get("/longest")
    def longest() -> Response:
        table = _table(workspace)
        low, high = _window()
        return _place(table, wayfinding.longest_inside(table, _lane(table), low, high))

    @routes.get("/next")
    def following() -> Response:
        table = _table(workspace)
        time, forward = _integer("time"), request.args.get("direction") != "back"
        if "name" in request.args:
            name = _integer("name", 0, len(table.names))
            return _place(table, wayfinding.next_occurrence(table, name, time, forward=forward))
        return _place(table, wayfinding.next_wait(table, request.args.get("wait", ""), time, forward=forward))

    @routes.get("/search")
    def search() -> Response:
        return _json(wayfinding.search(_table(workspace), request.args.get("q", "")[:MAX_SEARCH]))

    @routes.get("/range")
    def account() -> Response:
        return _json(range_account(_table(workspace), *_window()))

    return routes


def _lane_entry(lane: Lane) -> dict[str, str | int]:
    return {
        "key": lane.key,
        "label": lane.label,
        "group": lane.group,
        "kind": lane.kind,
        "depth": lane.depth,
        "count": lane.after - lane.first,
    }


def _table(workspace: Workspace) -> LaneTable:
    run = workspace.run(request.args.get("run"))
    if run is None or run.loaded is None or run.loaded.lanes is None:
        abort(404, "this run has no timeline")
    return run.loaded.lanes


def _place(table: LaneTable, position: wayfinding.Position | None) -> Response:
    return _json(interval_detail(table, *position) if position else None)


def _integer(name: str, low: int = -(2**62), high: int = 2**62) -> int:
    try:
        value = int(request.args[name])
    except (KeyError, ValueError):
        abort(400, f"{name} has to be a whole number")
    if not low <= value <= high:
        abort(400, f"{name} has to be from {low} to {high}")
    return value


def _window() -> tuple[int, int]:
    low, high = _integer("low"), _integer("high")
    if high <= low:
        abort(400, "high has to be above low")
    return low, high


def _lane(table: LaneTable) -> int:
    return _integer("lane", 0, len(table.lanes) - 1)


def _lane_list(table: LaneTable) -> list[int]:
    try:
        wanted = [int(text) for text in request.args.get("lanes", "").split(",") if text]
    except ValueError:
        abort(400, "lanes has to be whole numbers with commas between")
    if len(wanted) > tile.MAX_LANES or not all(0 <= lane < len(table.lanes) for lane in wanted):
        abort(400, f"lanes has to be at most {tile.MAX_LANES} known lanes")
    return wanted


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content), mimetype="application/json")
