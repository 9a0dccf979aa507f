"""Runs for tests of the dashboard, and a server for them that lives as long as a `with` block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from build import TraceBuilder
from lane_samples import examined
from stallscope_dashboard.app import create_app
from stallscope_dashboard.workspace import Loaded, Workspace
from waitress.server import create_server

from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes


def loaded_from(build: TraceBuilder) -> Loaded:
    """A run as the loader leaves it."""
    found = examined(build)
    return Loaded.of(found.analysis, build_lanes(found.timeline, charges_of(found.timeline, found.charges)))


@contextmanager
def served(workspace: Workspace) -> Iterator[str]:
    """The address of a dashboard of that workspace."""
    server = create_server(create_app(workspace).server, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(5)
