"""`python -m stallscope`."""

from __future__ import annotations

import sys

from stallscope.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
