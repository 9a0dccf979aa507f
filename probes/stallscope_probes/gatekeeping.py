"""What the numerics gate says about the kept outputs of the validation probes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stallscope.numerics.gate import GateOptions, check
from stallscope.numerics.load import Outputs, load_outputs
from stallscope.numerics.report import GateClass
from stallscope_probes.catalogue import discover
from stallscope_probes.contract import Family
from stallscope_probes.samples import Expected, Result


class ResultVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Validity ids that were found in one result, and those that should have been."""

    family: str
    variant: str
    role: str
    expect: tuple[str, ...]
    found: tuple[str, ...]
    relative_frobenius: float | None = None

    @property
    def right(self) -> bool:
        """Whether both sets are the same."""
        return set(self.expect) == set(self.found)


def judge_results(samples: Path, expected: Expected) -> tuple[ResultVerdict, ...]:
    """Gate every kept output against the repaired variant's, and every refusal against the device's limits."""
    if not expected.results:
        return ()
    family = next(family for family in discover() if family.name == expected.family)
    return tuple(_judge(samples, family, result) for result in expected.results)


def _judge(samples: Path, family: Family, result: Result) -> ResultVerdict:
    found: tuple[str, ...] = ()
    error = None
    if result.refusal:
        found = ("valid.environment",)
    elif result.file:
        found, error = _gate(samples, family, result)
    return ResultVerdict(
        family=result.family,
        variant=result.variant,
        role=result.role,
        expect=result.expect,
        found=found,
        relative_frobenius=error,
    )


def _gate(samples: Path, family: Family, result: Result) -> tuple[tuple[str, ...], float | None]:
    sound = next(variant for variant in family.variants if variant.role == "fixed")
    base, _ = _outputs(samples / family.name / f"{sound.name}.npz")
    head, reference = _outputs(samples / result.file)
    gate: GateClass = "bit-identical" if family.numerics == "bit-identical" else "kernel"
    options = GateOptions(reference=reference.tensors, precision=family.precision if gate == "kernel" else None)
    report = check(base, [head], gate, options)
    tensor = report.tensors[0]
    return tuple(sorted({row.id for row in report.tensors if row.id})), tensor.relative_frobenius


def _outputs(path: Path) -> tuple[Outputs, Outputs]:
    kept = load_outputs(path)
    output, reference = kept.tensors["output"], kept.tensors["reference"]
    return Outputs(path.stem, {"output": output}), Outputs("float64", {"output": reference})
