from __future__ import annotations

import pytest

from stallscope.experiments.student import t_quantile


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [  # tables of the t distribution
        (0.95, 1, 12.7062),
        (0.95, 4, 2.7764),
        (0.99, 8, 3.3554),
        (0.999, 30, 3.6460),
        (0.9999, 2, 99.9925),
        (0.95, 1e6, 1.9600),
    ],
)
def test_quantile_matches_the_tables(confidence: float, freedom: float, expected: float) -> None:
    assert t_quantile(confidence, freedom) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("confidence", "freedom"), [(0.0, 3), (1.0, 3), (0.95, 0)])
def test_impossible_question_is_refused(confidence: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(confidence, freedom)
