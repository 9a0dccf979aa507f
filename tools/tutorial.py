"""Write the outputs in docs/tutorial.md again: what its commands print now. With `--check`, only compare.

A block is an indented command line behind the comment `<!-- run -->`, and the fenced output that follows it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"<!-- run -->\n\n {4}stallscope ([^\n]*)\n\n```\n.*?\n```\n", re.DOTALL)


def output(command: str) -> str:
    """What stallscope prints for these words, run at the root of the checkout."""
    words = [sys.executable, "-m", "stallscope", *shlex.split(command)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.rstrip()  # noqa: S603


def with_outputs(text: str) -> str:
    """The page with what its commands print."""
    return BLOCK.sub(lambda found: f"<!-- run -->\n\n    stallscope {found[1]}\n\n```\n{output(found[1])}\n```\n", text)


def main() -> int:
    """1 when `--check` finds a difference, or no command."""
    text = PAGE.read_text("utf-8")
    current = with_outputs(text)
    if "--check" in sys.argv[1:]:
        return int(current != text or not BLOCK.search(text))
    PAGE.write_text(current, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
