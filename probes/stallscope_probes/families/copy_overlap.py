"""Pinned copies in the compute stream against a stream of their own; and copies too small to matter."""

from __future__ import annotations

from stallscope_probes.contract import Family, Variant, but
from stallscope_probes.families.copy import ahead, in_order

MUST_NOT = ("copy.pageable", "launch.gap", "alloc.sync", "sync.device", "input.wait")

FAMILY = Family(
    name="copy_overlap",
    title="Pinned copies that do not overlap",
    topic=2,
    variants=(
        Variant(
            "same_stream",
            "bad",
            in_order,
            {"kib": 32768, "pinned": 1, "load_us": 1000},
            ("copy.exposed",),
            MUST_NOT,
            fix="own_stream",
        ),
        Variant(
            "own_stream",
            "fixed",
            ahead,
            {"kib": 32768, "load_us": 1000},
            (),
            but(("copy.exposed", *MUST_NOT), "launch.gap", "copy.exposed"),
            may=("launch.gap", "copy.exposed"),
        ),
        Variant(
            "too_small",
            "decoy",
            in_order,
            {"kib": 64, "pinned": 1, "load_us": 1000},
            (),
            ("copy.exposed", *MUST_NOT),
        ),
    ),
)
