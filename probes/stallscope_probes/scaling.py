"""The same workloads at another size, so that stallscope can be scored on captures that no threshold was fitted on."""

from __future__ import annotations

from dataclasses import replace

from stallscope_probes.contract import Variant

UNSCALED = 100
_LENGTHS = ("mib", "kib", "us")


def scaled(variant: Variant, percent: int) -> Variant:
    """`variant` with every size and duration at `percent` of its own; counts and switches stay.

    Durations and sizes keep their relation, so the label holds as far as it does not depend on the machine's fixed
    costs. Unified memory is never scaled: its bounds are checked before anything runs.
    """
    if percent == UNSCALED or variant.managed_bytes:
        return variant
    params = {key: _length(value, percent) if _is_length(key) else value for key, value in variant.params.items()}
    return replace(variant, params=params, bytes=max(variant.bytes, _length(variant.bytes, percent)))


def _is_length(key: str) -> bool:
    return key.rpartition("_")[2] in _LENGTHS


def _length(value: int, percent: int) -> int:
    return 0 if value == 0 else max(1, value * percent // 100)
