"""Write the example of README.md again: what `make demo` prints now. With `--check`, only compare."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TRACE = "sample_traces/h200/py_alloc_sync.sqlite"
BEGIN, END = "<!-- example:begin -->", "<!-- example:end -->"


def with_example(text: str) -> str:
    """The README with the report of the bundled trace between the markers."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    command = [sys.executable, "-m", "stallscope", "analyze", "--no-cache", TRACE]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return f"{head}{BEGIN}\n```\n{report.rstrip()}\n```\n{END}{tail}"


def main() -> int:
    """1 when `--check` finds a difference."""
    text = README.read_text("utf-8")
    current = with_example(text)
    if "--check" in sys.argv[1:]:
        return int(current != text)
    README.write_text(current, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
