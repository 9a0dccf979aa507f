"""SARIF 2.1.0 for code scanning: only findings whose NVTX range names a file and line of the repository.

Most waits of a GPU have no line of code in the trace, so a run is often empty; the Markdown report has them all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Finding, Place, Severity
from stallscope.model.units import duration, share
from stallscope.reporters import phrases
from stallscope.reporters.escape import sarif_text, visible

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 5_000
FINGERPRINT = "stallscope/v1"

_LEVELS: dict[Severity, Literal["note", "warning", "error"]] = {"note": "note", "warning": "warning", "error": "error"}
_CODE_PLACE = re.compile(
    r"(?<![\w./\\~-])(?P<file>(?:[\w-][\w.+-]*/)*[\w-][\w.+-]*\.(?:py|pyx|cu|cuh|c|cc|cpp|cxx|h|hpp|rs|jl)):(?P<line>[1-9]\d{0,6})\b"
)


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a file, relative to the repository's root."""

    file: str
    line: int


class SarifReporter:
    """One run, one result for every finding and line of code; results never decide the exit code."""

    name = "sarif"
    suffix = ".sarif"

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the log."""
        results = list(_results(analysis))[:MAX_RESULTS]
        rules = sorted({result["ruleId"] for result in results})
        titles = {finding.wait: finding.title for finding in analysis.findings}
        driver = {
            "name": "stallscope",
            "semanticVersion": visible(analysis.tool.version),
            "rules": [{"id": rule, "shortDescription": {"text": visible(titles[rule])}} for rule in rules],
        }
        run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
        json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, out, indent=2, ensure_ascii=False)
        out.write("\n")


def code_place(where: Place) -> CodePlace | None:
    """The innermost NVTX range whose text is or ends in `path/file.py:123`, with a path inside the repository."""
    for name in reversed(where.nvtx):
        for found in _CODE_PLACE.finditer(name[:4_096]):
            if ".." not in found["file"].split("/"):
                return CodePlace(found["file"], int(found["line"]))
    return None


def _results(analysis: Analysis) -> Iterator[dict[str, Any]]:
    for finding in analysis.findings:
        for where in finding.where:
            code = code_place(where)
            if code is not None:
                yield _result(finding, where, code)


def _result(finding: Finding, where: Place, code: CodePlace) -> dict[str, Any]:
    rest = f"{duration(where.wait_ns)} in {where.count:,} waits, {share(finding.share)} of the window in all"
    message = f"{finding.title} ({finding.wait}): {rest}; {phrases.place(where, finding.wait)}"
    region = {"startLine": code.line}
    artifact = {"uri": code.file, "uriBaseId": "%SRCROOT%"}
    return {
        "ruleId": visible(finding.wait),
        "level": _LEVELS[finding.severity],
        "message": {"text": sarif_text(message)},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "partialFingerprints": {FINGERPRINT: _fingerprint(finding, where, code)},
        "properties": {
            "finding": visible(finding.id),
            "evidenceLevel": finding.evidence_level,
            "recoverableLowNs": finding.recoverable_ns.low,
            "recoverableHighNs": finding.recoverable_ns.high,
        },
    }


def _fingerprint(finding: Finding, where: Place, code: CodePlace) -> str:
    """Equal for the same wait at the same place of the program, whatever the run and the line number."""
    parts = (finding.wait, code.file, where.api or "", *(_CODE_PLACE.sub("", name) for name in where.nvtx))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


REPORTER = SarifReporter()
