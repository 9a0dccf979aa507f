"""stallscope tells why a GPU waits."""

from __future__ import annotations

__version__ = "0.1.0"
