"""Addresses of pages: the URL holds the whole view, so every link is built here."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlencode


@dataclass(frozen=True, slots=True)
class View:
    """What an address asks for: a page path, the run, and the remaining parameters."""

    path: str
    run: str | None
    parameters: dict[str, str]

    @classmethod
    def parse(cls, path: str | None, search: str | None) -> View:
        """Read a browser's location; repeated parameters keep their first value."""
        query = {key: values[0] for key, values in parse_qs((search or "").lstrip("?")).items()}
        run = query.pop("run", None)
        return cls((path or "/").rstrip("/") or "/", run, query)


def page(path: str, run: str | None, **parameters: str) -> str:
    """Address of a page within a run."""
    query = {**({"run": run} if run else {}), **{key: value for key, value in parameters.items() if value}}
    return f"{path}?{urlencode(query)}" if query else path


def finding(run: str | None, finding_id: str) -> str:
    """Address of one finding."""
    return page(f"/finding/{quote(finding_id, safe='')}", run)


def waits(run: str | None, **parameters: str) -> str:
    """Address of the waits table; `wait`, `device`, `q` … filter it."""
    return page("/waits", run, **parameters)


def timeline(run: str | None, span: tuple[int, int] | None = None, wait: str = "", selection: str = "") -> str:
    """Address of the timeline at a span of the trace clock, with a wait id lit and an interval selected."""
    parts = []
    if span is not None:
        low, high = span
        margin = max((high - low) // 2, 50)
        parts.append(f"t={max(low - margin, 0)}-{high + margin}")
    if wait:
        parts.append(f"w={quote(wait)}")
    if selection:
        parts.append(f"sel={quote(selection, safe='')}")
    address = page("/timeline", run)
    return f"{address}#{'&'.join(parts)}" if parts else address
