"""Does the changed program still compute the same thing? The gate every experiment has to pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stallscope.numerics.errors import (
    largest_error,
    relative_frobenius,
    same_non_finite,
    scaled_max,
    stray_elements,
)
from stallscope.numerics.load import Outputs
from stallscope.numerics.policy import policy_differences
from stallscope.numerics.report import GateClass, NumericsReport, TensorResult
from stallscope.numerics.tensor import Float64Array, Tensor
from stallscope.numerics.tolerances import TOLERANCES, Precision, looks_like, precision_of

ALLOWED_GROWTH = 2.0
"""A new kernel may be this much less accurate than the old one, where both are measured against a reference."""


@dataclass(frozen=True, slots=True)
class Product:
    """Double-precision A·B and |A||B| of known operands: the reference and the scale of its rounding."""

    reference: Float64Array
    scale: Float64Array


@dataclass(frozen=True, slots=True)
class GateOptions:
    """`reference` holds double-precision results by tensor name, `product` the operands' product for the one output.

    `control` is a second run of the unchanged program: where that differs from the first one, bit-identity proves
    nothing. `precision` overrules what the element type suggests; `ignore_policy` only reports policy differences.
    """

    reference: Mapping[str, Tensor] = field(default_factory=dict)
    reference_name: str = ""
    product: Product | None = None
    control: Outputs | None = None
    precision: Precision | None = None
    ignore_policy: bool = False


def product_of(operands: Outputs) -> Product:
    """Reference and scale of a matrix product from its two operands. Raises `ValueError` when they do not fit."""
    if len(operands.tensors) != 2:
        raise ValueError(f"two operands are needed, {operands.name} holds {len(operands.tensors)} tensors")
    left, right = (tensor.float64().reshape(tensor.shape) for tensor in operands.tensors.values())
    return Product((left @ right).reshape(-1), (np.abs(left) @ np.abs(right)).reshape(-1))


def check(
    base: Outputs, heads: Sequence[Outputs], gate: GateClass, options: GateOptions | None = None
) -> NumericsReport:
    """Compare every head's tensors with the base's of the same name."""
    options = options or GateOptions()
    results = [result for head in heads for result in _tensors(base, head, gate, options)]
    policy = tuple({p.switch: p for head in heads for p in policy_differences(base.policy, head.policy)}.values())
    reasons = [f"{r.id}: {r.name}: {r.reason}" for r in results if not r.passed]
    if policy:
        switches = ", ".join(f"{p.switch} ({p.base} → {p.head})" for p in policy)
        reasons.append(f"valid.precision_policy: the sides ran under different precision switches: {switches}")
    return NumericsReport(
        passed=all(result.passed for result in results) and (not policy or options.ignore_policy),
        gate=gate,
        base=base.name,
        head=tuple(head.name for head in heads),
        reference=options.reference_name,
        tensors=tuple(results),
        policy=policy,
        reasons=tuple(reasons),
    )


def _tensors(base: Outputs, head: Outputs, gate: GateClass, options: GateOptions) -> list[TensorResult]:
    results = []
    for name in sorted(base.tensors.keys() | head.tensors.keys()):
        mine, other = base.tensors.get(name), head.tensors.get(name)
        if mine is None or other is None:
            side, there = ("base", other) if mine is None else ("head", mine)
            results.append(_failed(name, there, "valid.workload_changed", f"missing on the {side} side"))
        elif (mine.dtype, mine.shape) != (other.dtype, other.shape):
            what = f"{mine.dtype} {mine.shape} became {other.dtype} {other.shape}"
            results.append(_failed(name, mine, "valid.workload_changed", what))
        elif gate == "bit-identical" or mine.is_exact:
            results.append(_bits(name, (mine, other), gate, options.control))
        else:
            results.append(_kernel(name, mine, other, options))
    return results


def _failed(name: str, tensor: Tensor | None, reason_id: str, reason: str) -> TensorResult:
    return TensorResult(
        name=name,
        dtype=tensor.dtype if tensor else "",
        shape=tensor.shape if tensor else (),
        passed=False,
        elements=tensor.size if tensor else 0,
        id=reason_id,
        reason=reason,
    )


def _bits(name: str, pair: tuple[Tensor, Tensor], gate: GateClass, control: Outputs | None) -> TensorResult:
    """The change has no business in the arithmetic, so the smallest difference means a race or a stale buffer."""
    base, head = pair
    different = int(np.count_nonzero(base.different_bits(head)))
    error = largest_error(head.float64(), base.float64()) if different else 0.0
    reason_id = reason = ""
    if different:
        reason_id, reason = "valid.numerics", f"{different:,} of {base.size:,} elements differ"
    if different and gate == "bit-identical":
        if _reproducible(name, base, control):
            reason_id = "valid.race"
            reason += " after a change that must not change results: a race or a stale buffer"
        else:
            reason += ", and the unchanged program does not repeat its own bits: use --class kernel"
    return TensorResult(
        name=name,
        dtype=base.dtype,
        shape=base.shape,
        passed=not different,
        elements=base.size,
        different=different,
        id=reason_id,
        reason=reason,
        largest_error=error,
        bound=0.0,
    )


def _reproducible(name: str, base: Tensor, control: Outputs | None) -> bool:
    """Whether the unchanged program gave the same bits twice; assumed where no second run was given."""
    repeat = control.tensors.get(name) if control else None
    if repeat is None or (repeat.dtype, repeat.shape) != (base.dtype, base.shape):
        return True
    return not base.different_bits(repeat).any()


def _kernel(name: str, base: Tensor, head: Tensor, options: GateOptions) -> TensorResult:
    tolerance = TOLERANCES[options.precision or precision_of(base.dtype)]
    old, new = base.float64(), head.float64()
    reference, scale = _reference(name, base, options)
    truth = old if reference is None else reference
    error = relative_frobenius(new, truth)
    own = None if reference is None else relative_frobenius(old, reference)
    bound = max(tolerance.relative_frobenius, ALLOWED_GROWTH * (own or 0.0))
    scaled = None if scale is None else scaled_max(new, truth, scale)
    own_scaled = 0.0 if scale is None else scaled_max(old, truth, scale)
    scaled_bound = max(tolerance.scaled_max, ALLOWED_GROWTH * own_scaled)
    reason_id, reason = _complaint(new, truth, (error, bound), (scaled or 0.0, scaled_bound))
    return TensorResult(
        name=name,
        dtype=base.dtype,
        shape=base.shape,
        passed=not reason_id,
        elements=base.size,
        different=int(np.count_nonzero(base.different_bits(head))),
        id=reason_id,
        reason=reason,
        relative_frobenius=error,
        base_relative_frobenius=own,
        scaled_max=scaled,
        largest_error=largest_error(new, truth),
        bound=bound,
    )


def _reference(name: str, base: Tensor, options: GateOptions) -> tuple[Float64Array | None, Float64Array | None]:
    if options.product is not None and options.product.reference.size == base.size:
        return options.product.reference, options.product.scale
    given = options.reference.get(name)
    if given is None or given.size != base.size:
        return None, None
    return given.float64(), None


def _complaint(
    new: Float64Array, truth: Float64Array, frobenius: tuple[float, float], scaled: tuple[float, float]
) -> tuple[str, str]:
    """Validity id and reason of a failure from pairs (error, bound); empty when the result is good enough."""
    error, bound = frobenius
    if not same_non_finite(new, truth):
        return "valid.numerics", "NaN or infinity appears where the reference has none, or the other way round"
    if error > bound:
        hint = looks_like(error)
        if hint:
            return "valid.precision_policy", f"relative error {error:.1e} above {bound:.0e}: typical of {hint}"
        return "valid.numerics", f"relative error {error:.1e} above {bound:.0e}"
    stray = stray_elements(new, truth, bound)
    if stray:
        return "valid.numerics", f"{stray:,} elements are off by far more than rounding: wrong indices or a race"
    if scaled[0] > scaled[1]:
        return "valid.numerics", f"largest error over |A||B| {scaled[0]:.1e} above {scaled[1]:.0e}"
    return "", ""
