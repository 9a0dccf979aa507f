"""What README.md shows is what the program prints now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_example_is_what_the_demo_prints(repository: Path) -> None:
    command = [sys.executable, repository / "tools" / "readme.py", "--check"]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0, "run `make readme`"
