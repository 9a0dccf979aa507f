"""ARIA and data attributes as keyword arguments of Dash's HTML components."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """`aria(label="Pages")` → `{"aria-label": "Pages"}`."""
    return {f"aria-{key}": value for key, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """`data(copy="…")` → `{"data-copy": "…"}`."""
    return {f"data-{key}": value for key, value in values.items()}


HIDDEN = aria(hidden="true")
"""For marks that repeat what stands beside them as text."""
