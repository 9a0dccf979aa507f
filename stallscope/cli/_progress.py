"""Progress on stderr: a bar on a terminal, now and then a plain line elsewhere, nothing for short work."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click
from typing_extensions import Self

from stallscope.reporters.escape import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUIET_S = 0.7
LINE_EVERY_S = 10.0


class StageProgress:
    """Callable `(stage, done)`; `done` is the finished share of the stage, None when unknown. Use it as a context."""

    def __init__(self) -> None:
        self._interactive = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._begin = self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, stage: str, done: float | None) -> None:
        """Show the stage."""
        now = time.monotonic()
        if self._interactive:
            if now - self._begin >= QUIET_S:
                self._show(stage, done)
        elif now - self._last >= LINE_EVERY_S:
            self._last = now
            share = "" if done is None else f" {done:.0%}"
            click.echo(f"{visible(stage)}{share}, {now - self._begin:.0f} s", err=True)

    def _show(self, stage: str, done: float | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        if self._task is not None:
            description = visible(stage).replace("[", "\\[")
            self._bar.update(
                self._task, description=description, total=None if done is None else 1.0, completed=done or 0
            )
