"""What a page is asked to draw."""

from __future__ import annotations

from dataclasses import dataclass

from stallscope.model.analysis import Analysis
from stallscope_dashboard.urls import View
from stallscope_dashboard.workspace import Loaded, Workspace


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The address, the run it names, and all runs for pages that look at several."""

    view: View
    loaded: Loaded
    workspace: Workspace

    @property
    def analysis(self) -> Analysis:
        """Conclusions about the run."""
        return self.loaded.analysis

    @property
    def run(self) -> str | None:
        """Slug of the run, as links carry it."""
        return self.view.run
