"""Writes the analysis of every sample trace again, beside the trace: run it when a verdict is meant to change.

The difference in `git diff sample_traces` is what a reviewer reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stallscope import analyze

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SAMPLES = Path(__file__).resolve().parent.parent / "sample_traces"


def main() -> None:
    """Analyze each trace of the manifest and save its document."""
    manifest = tomllib.loads((SAMPLES / "MANIFEST.toml").read_text("utf-8"))
    for entry in manifest["trace"]:
        trace = SAMPLES / entry["file"]
        trace.with_suffix(".json").write_text(analyze(trace).to_json(), "utf-8")


if __name__ == "__main__":
    main()
