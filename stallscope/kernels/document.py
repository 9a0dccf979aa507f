"""Puts what the kernel rules concluded into the analysis document."""

from __future__ import annotations

import msgspec

from stallscope.kernels.runner import KernelDiagnosis
from stallscope.model.analysis import Analysis, Source


def with_kernels(analysis: Analysis, diagnosis: KernelDiagnosis, source: Source) -> Analysis:
    """The analysis with kernels, their findings and checks; findings stay ordered by what removing them gives."""
    findings = sorted(
        (*analysis.findings, *diagnosis.findings), key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait, f.id)
    )
    notes = (*analysis.capture.notes, *diagnosis.notes)
    return msgspec.structs.replace(
        analysis,
        sources=(*analysis.sources, source),
        capture=msgspec.structs.replace(analysis.capture, notes=notes),
        findings=tuple(findings),
        checks=(*analysis.checks, *diagnosis.checks),
        kernels=diagnosis.kernels,
    )
