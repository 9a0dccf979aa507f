"""The data routes of the scripts: right answers, and clear ones to wrong questions."""

from __future__ import annotations

import csv
import io
import json

import pytest
from flask.testing import FlaskClient
from stallscope_dashboard.app import create_app
from stallscope_dashboard.workspace import Workspace


@pytest.fixture
def client(workspace: Workspace) -> FlaskClient:
    return create_app(workspace).server.test_client()


def test_lanes_tell_span_groups_classes_and_the_session(client: FlaskClient, workspace: Workspace) -> None:
    meta = client.get("/api/lanes").get_json()
    assert meta["version"] == workspace.session
    assert [lane["label"] for lane in meta["lanes"]][:2] == ["waits", "stream 7"]
    assert {group["kind"] for group in meta["groups"]} == {"device", "thread"}
    assert set(meta["classes"][0]) == {"key", "label", "family", "used"}


def test_a_tile_has_the_asked_lanes_and_may_be_kept_by_this_browser(client: FlaskClient) -> None:
    answer = client.get("/api/tile?low=0&high=4000000&pixels=100&lanes=0,1")
    length = int.from_bytes(answer.data[:4], "little")
    assert [entry["lane"] for entry in json.loads(answer.data[4 : 4 + length])["lanes"]] == [0, 1]
    assert answer.headers["Cache-Control"] == "private, max-age=3600"


@pytest.mark.parametrize(
    "query",
    [
        "low=0&high=10&pixels=100",
        "low=10&high=10&pixels=100&lanes=0",
        "low=0&high=10&pixels=0&lanes=0",
        "low=0&high=10&pixels=999999&lanes=0",
        "low=0&high=10&pixels=100&lanes=99",
        "low=0&high=10&pixels=100&lanes=-1",
        "low=0&high=10&pixels=100&lanes=a",
        "low=x&high=10&pixels=100&lanes=0",
        f"low=0&high={10**30}&pixels=100&lanes=0",
        "low=0&high=10&pixels=100&lanes=" + ",".join(["0"] * 97),
    ],
)
def test_wrong_questions_are_refused_not_crashed(client: FlaskClient, query: str) -> None:
    expected = 200 if query.endswith("pixels=100") else 400
    assert client.get(f"/api/tile?{query}").status_code == expected


def test_one_interval_and_none(client: FlaskClient) -> None:
    assert client.get("/api/interval?lane=1&index=0").get_json()["title"] == "vectorized_elementwise_kernel"
    assert client.get("/api/interval?lane=1&index=4000").status_code in {200, 400}
    assert client.get("/api/interval?lane=77&index=0").status_code == 400


def test_next_search_range_and_longest(client: FlaskClient) -> None:
    first = client.get("/api/next?wait=launch.gap&time=-1").get_json()
    second = client.get(f"/api/next?wait=launch.gap&time={first['low_ns']}").get_json()
    assert second["low_ns"] > first["low_ns"]
    back = client.get(f"/api/next?wait=launch.gap&time={second['low_ns']}&direction=back").get_json()
    assert back["low_ns"] == first["low_ns"]
    (match,) = client.get("/api/search?q=StreamSynchronize").get_json()
    assert match["count"] == 4
    assert client.get(f"/api/next?name={match['name']}&time=-1").get_json()["title"] == "cudaStreamSynchronize"
    (account,) = client.get("/api/range?low=0&high=4000000").get_json()
    assert account["group"] == "GPU 0"
    assert client.get("/api/longest?lane=0&low=0&high=4000000").get_json()["kind"]


def test_a_report_has_no_timeline_and_says_so(client: FlaskClient) -> None:
    answer = client.get("/api/lanes?run=train.json")
    assert answer.status_code == 404
    assert "no timeline" in answer.get_data(as_text=True)


def test_the_palette_knows_pages_findings_waits_and_runs(client: FlaskClient) -> None:
    places = client.get("/api/places").get_json()
    assert {place["note"] for place in places} >= {"page", "run"}
    assert any(place["href"].startswith("/finding/F-") for place in places)
    assert any(place["href"] == "/waits?wait=launch.gap" for place in places)


def test_csv_has_the_filtered_rows_in_the_pages_order(client: FlaskClient) -> None:
    answer = client.get("/api/waits.csv?wait=launch.gap&sort=start_ms:asc")
    rows = list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))
    assert {row["wait"] for row in rows} == {"launch.gap"}
    starts = [float(row["start_ms"]) for row in rows]
    assert starts == sorted(starts)
    assert "attachment" in answer.headers["Content-Disposition"]
    model = json.dumps({"duration_us": {"type": "greaterThan", "filter": 29}})
    long = client.get("/api/waits.csv", query_string={"wait": "launch.gap", "filter": model}).get_data(as_text=True)
    assert 1 < len(long.splitlines()) <= len(rows) + 1


def test_csv_cells_are_no_formulas() -> None:
    from dashboard_runs import loaded_from
    from lane_samples import burst_build

    run = loaded_from(burst_build(steps=1, kernel="=cmd|' /C calc'!A0"))
    client = create_app(Workspace.ready({"x": run})).server.test_client()
    cells = [
        cell for row in csv.reader(io.StringIO(client.get("/api/waits.csv").get_data(as_text=True))) for cell in row
    ]
    assert any("cmd" in cell for cell in cells)
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
