"""Where the history lives: in the user's data folder, never beside a trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "STALLSCOPE_HISTORY"
FILE = "history.sqlite"


def history_file(environment: Mapping[str, str]) -> Path:
    """`STALLSCOPE_HISTORY` if set, else `history.sqlite` in the platform's data folder for stallscope."""
    chosen = environment.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("stallscope", appauthor=False) / FILE
