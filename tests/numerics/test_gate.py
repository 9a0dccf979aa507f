from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from emulation import operands, rounded, split_k

from stallscope.numerics.gate import GateOptions, check, product_of
from stallscope.numerics.load import Outputs
from stallscope.numerics.report import NumericsReport
from stallscope.numerics.tensor import from_numpy


def outputs(name: str, **arrays: npt.ArrayLike) -> Outputs:
    return Outputs(name, {key: from_numpy(np.asarray(value)) for key, value in arrays.items()})


A, B = operands(1024)
BASE = outputs("base", c=A @ B)
PRODUCT = product_of(outputs("operands", a=A, b=B))


def test_equal_bits_pass() -> None:
    report = check(BASE, [outputs("head", c=A @ B)], "bit-identical")
    assert (report.passed, report.reasons) == (True, ())


def test_missing_event_race_fails_and_is_named() -> None:
    """A consumer that ran before its copy ended saw the last tile of the previous step."""
    stale = (A @ B).copy()
    stale[-16:] = (rounded(A, 10) @ B)[-16:]
    report = check(BASE, [outputs("head", c=stale)], "bit-identical")
    assert not report.passed
    assert report.tensors[0].id == "valid.race"
    assert 0 < report.tensors[0].different <= 16 * 128


def test_race_in_one_of_several_repeats_fails() -> None:
    good, bad = A @ B, (A @ B).copy()
    bad[0, 0] = np.nextafter(bad[0, 0], np.float32(9))
    report = check(BASE, [outputs("h1", c=good), outputs("h2", c=bad), outputs("h3", c=good)], "bit-identical")
    assert [r.passed for r in report.tensors] == [True, False, True]


def test_program_that_never_repeats_its_bits_is_not_accused_of_a_race() -> None:
    """Atomics: the unchanged program differs from itself."""
    options = GateOptions(control=outputs("control", c=split_k(A, B, 3)))
    report = check(BASE, [outputs("head", c=split_k(A, B, 5))], "bit-identical", options)
    assert not report.passed
    assert report.tensors[0].id == "valid.numerics"
    assert "--class kernel" in report.tensors[0].reason


def test_tf32_fails_and_is_recognised() -> None:
    report = check(BASE, [outputs("head", c=rounded(A, 10) @ rounded(B, 10))], "kernel")
    assert not report.passed
    assert report.tensors[0].id == "valid.precision_policy"
    assert "TF32" in report.tensors[0].reason


def test_tf32_passes_when_it_was_the_decision() -> None:
    head = outputs("head", c=rounded(A, 10) @ rounded(B, 10))
    assert check(BASE, [head], "kernel", GateOptions(precision="tf32", product=PRODUCT)).passed


@pytest.mark.parametrize("parts", [2, 8, 32])
@pytest.mark.parametrize("options", [GateOptions(), GateOptions(product=PRODUCT)])
def test_split_k_in_fp32_passes(parts: int, options: GateOptions) -> None:
    report = check(BASE, [outputs("head", c=split_k(A, B, parts))], "kernel", options)
    assert report.passed
    assert report.tensors[0].different > 0


def test_new_kernel_may_be_as_wrong_as_the_old_one() -> None:
    """A BF16 program measured against FP64: the old kernel's own error is the yardstick."""
    old, new = rounded(A, 7) @ rounded(B, 7), split_k(rounded(A, 7), rounded(B, 7), 8)
    assert check(outputs("b", c=old), [outputs("h", c=new)], "kernel", GateOptions(product=PRODUCT)).passed
    assert not check(BASE, [outputs("h", c=new)], "kernel", GateOptions(product=PRODUCT)).passed


def test_reference_by_name_is_used() -> None:
    exact = outputs("ref", c=A.astype(np.float64) @ B.astype(np.float64))
    report = check(BASE, [outputs("h", c=split_k(A, B, 4))], "kernel", GateOptions(reference=exact.tensors))
    result = report.tensors[0]
    assert result.base_relative_frobenius is not None
    assert 0 < result.base_relative_frobenius < 1e-6


def test_few_corrupted_elements_do_not_hide_in_the_norm() -> None:
    """One element of a BF16-sized tolerance: its share of the norm is far below the bound."""
    good = rounded(A @ B, 7)
    bad = good.copy()
    bad[3, 3] += 3 * np.float32(good.std())
    wide = np.tile(good, (40, 1)), np.vstack([bad, np.tile(good, (39, 1))])
    report = check(outputs("b", c=wide[0]), [outputs("h", c=wide[1])], "kernel", GateOptions(precision="bf16-io"))
    assert report.tensors[0].relative_frobenius is not None
    assert report.tensors[0].relative_frobenius < 5e-3
    assert not report.passed


def test_new_nan_fails() -> None:
    bad = (A @ B).copy()
    bad[0, 0] = np.nan
    report = check(BASE, [outputs("h", c=bad)], "kernel")
    assert "NaN" in report.tensors[0].reason


def test_nan_at_the_same_place_is_the_same_result() -> None:
    both = (A @ B).copy()
    both[0, 0] = np.nan
    assert check(outputs("b", c=both), [outputs("h", c=both)], "kernel").passed


def test_integers_must_be_equal_in_the_kernel_class() -> None:
    report = check(outputs("b", i=[1, 2, 3]), [outputs("h", i=[1, 2, 4])], "kernel")
    assert (report.tensors[0].id, report.tensors[0].different) == ("valid.numerics", 1)


def test_changed_shape_or_missing_tensor_is_another_workload() -> None:
    report = check(outputs("b", x=[1.0], y=[1.0]), [outputs("h", x=[[1.0]])], "kernel")
    assert {r.id for r in report.tensors} == {"valid.workload_changed"}
    assert not report.passed


def test_different_precision_switches_fail_even_with_equal_results() -> None:
    base = Outputs("b", BASE.tensors, {"matmul.allow_tf32": "False", "fast_math": "off"})
    head = Outputs("h", BASE.tensors, {"matmul.allow_tf32": "True", "fast_math": "off"})
    report = check(base, [head], "kernel")
    assert not report.passed
    assert report.reasons[0].startswith("valid.precision_policy: ")
    assert check(base, [head], "kernel", GateOptions(ignore_policy=True)).passed


def test_operands_that_are_not_two_are_refused() -> None:
    with pytest.raises(ValueError, match="two operands"):
        product_of(outputs("o", a=A))


def test_report_round_trips() -> None:
    report = check(BASE, [outputs("head", c=split_k(A, B, 2))], "kernel")
    assert NumericsReport.from_json(report.to_json()) == report
