"""JUnit XML for any CI: one test case a budget; without budgets, one a wait id, of which none can fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO
from xml.etree import ElementTree as ET

from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis
from stallscope.model.findings import Check
from stallscope.model.units import duration, share
from stallscope.reporters import phrases
from stallscope.reporters.escape import visible


class JunitReporter:
    """A budget that is exceeded fails, one that cannot be decided is skipped with its reason."""

    name = "junit"
    suffix = ".xml"

    def __init__(self, gates: Sequence[GateResult] = ()) -> None:
        self._gates = gates

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the document."""
        cases = [_gate_case(gate) for gate in self._gates] or list(_check_cases(analysis))
        counts = {
            "tests": len(cases),
            "failures": sum(case.find("failure") is not None for case in cases),
            "errors": sum(case.find("error") is not None for case in cases),
            "skipped": sum(case.find("skipped") is not None for case in cases),
        }
        totals = {key: str(value) for key, value in counts.items()}
        root = ET.Element("testsuites", {"name": "stallscope", **totals})
        suite = ET.SubElement(root, "testsuite", {"name": "budgets" if self._gates else "waits", **totals, "time": "0"})
        suite.extend(cases)
        said = ET.SubElement(suite, "system-out")
        said.text = visible(phrases.headline(analysis))
        ET.indent(root)
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        out.write(ET.tostring(root, encoding="unicode") + "\n")


def _case(name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": "stallscope", "name": visible(name), "time": "0"})


def _gate_case(gate: GateResult) -> ET.Element:
    case = _case(gate.budget.name)
    if gate.state == "fail":
        failure = ET.SubElement(case, "failure", {"type": "budget", "message": visible(gate.reason)})
        failure.text = f"measured {gate.shown}, budget {gate.budget.limit}"
    elif gate.state == "inconclusive":
        ET.SubElement(case, "skipped", {"message": visible(f"inconclusive: {gate.reason}")})
    else:
        ET.SubElement(case, "system-out").text = f"measured {gate.shown}, budget {gate.budget.limit}"
    return case


def _check_cases(analysis: Analysis) -> Iterator[ET.Element]:
    lost = {finding.wait: finding for finding in analysis.findings}
    for check in analysis.checks:
        case = _case(check.wait)
        _outcome(case, check)
        finding = lost.get(check.wait)
        if finding is not None:
            cost = f"{duration(finding.wait_ns)} ({share(finding.share)}), {finding.evidence_level}"
            ET.SubElement(case, "system-out").text = visible(f"{finding.title}: {cost}; {phrases.worst_place(finding)}")
        yield case


def _outcome(case: ET.Element, check: Check) -> None:
    if check.outcome == "failed":
        ET.SubElement(case, "error", {"type": "rule", "message": visible(check.reason)})
    elif check.outcome == "not_applicable":
        ET.SubElement(case, "skipped", {"message": visible(check.reason)})


REPORTER = JunitReporter()
