"""How long work reports where it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, "float | None"], None]
"""Told a stage in plain words, and the finished share of it (None: unknown)."""


def silent(stage: str, share: float | None) -> None:
    """Nobody listens."""
    del stage, share
