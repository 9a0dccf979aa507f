"""CSV: one row a finding, numbers plain, text guarded against spreadsheets that run formulas."""

from __future__ import annotations

import csv
from typing import TextIO

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Finding
from stallscope.reporters import phrases
from stallscope.reporters.escape import csv_cell

COLUMNS = (
    "id",
    "wait",
    "title",
    "severity",
    "evidence_level",
    "devices",
    "count",
    "wait_ns",
    "share",
    "recoverable_low_ns",
    "recoverable_high_ns",
    "in_ledger",
    "worst_place",
    "next_experiment",
)


class CsvReporter:
    """Comma-separated, RFC 4180, UTF-8; a text cell that looks like a formula starts with a quote."""

    name = "csv"
    suffix = ".csv"

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the header and one row a finding."""
        writer = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(COLUMNS)
        writer.writerows(_row(finding) for finding in analysis.findings)


def _row(finding: Finding) -> list[str | int | float]:
    return [
        csv_cell(finding.id),
        csv_cell(finding.wait),
        csv_cell(finding.title),
        finding.severity,
        finding.evidence_level,
        csv_cell("; ".join(finding.devices)),
        finding.count,
        finding.wait_ns,
        finding.share,
        finding.recoverable_ns.low,
        finding.recoverable_ns.high,
        "yes" if finding.ledger else "no",
        csv_cell(phrases.worst_place(finding)),
        csv_cell(finding.experiments[0].title) if finding.experiments else "",
    ]


REPORTER = CsvReporter()
