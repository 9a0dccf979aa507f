"""stallscope tells why a GPU waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallscope.api import Options, analyze
    from stallscope.model.analysis import Analysis
    from stallscope.model.findings import Finding

__version__ = "0.1.0"
__all__ = ["Analysis", "Finding", "Options", "__version__", "analyze"]

_HOMES = {
    "Analysis": "stallscope.model.analysis",
    "Finding": "stallscope.model.findings",
    "Options": "stallscope.api",
    "analyze": "stallscope.api",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use: `import stallscope` stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'stallscope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
