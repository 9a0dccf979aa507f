"""Write the schema again from the types of `stallscope.model`: `python -m stallscope.schema.generate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from stallscope.model.analysis import SCHEMA_VERSION, Analysis
from stallscope.schema import FILE_NAME

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# Every document carries these, although the types have a default for them.
ALWAYS_PRESENT = {
    "Analysis": ("schema_version", "tool", "sources", "capture", "devices", "findings", "checks", "kernels"),
    "Finding": ("where", "spans", "experiments", "caveats", "docs"),
    "Tool": ("name", "version"),
    "Capture": ("collected", "notes"),
}


def schema() -> dict[str, Any]:
    """The schema of `Analysis`. Unknown fields are allowed: later versions add some and remove none."""
    generated = msgspec.json.schema(Analysis)
    definitions: dict[str, Any] = generated["$defs"]
    for name, fields in ALWAYS_PRESENT.items():
        required = definitions[name]["required"]
        definitions[name]["required"] = [*required, *(field for field in fields if field not in required)]
    return {
        "$schema": DIALECT,
        "$id": f"urn:stallscope:analysis:{SCHEMA_VERSION}",
        "title": "stallscope analysis",
        **generated,
    }


def text() -> str:
    """The schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name(FILE_NAME).write_text(text(), encoding="utf-8")
