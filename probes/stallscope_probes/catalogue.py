"""Finds the families: every module of `stallscope_probes.families` that has a `FAMILY`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

from stallscope_probes import families
from stallscope_probes.contract import Family, Variant


class UnknownProbeError(ValueError):
    """No family or variant has that name."""


def discover() -> tuple[Family, ...]:
    """All families, by name."""
    found = [module.FAMILY for module in _modules() if hasattr(module, "FAMILY")]
    return tuple(sorted(found, key=lambda family: family.name))


def select(names: Iterable[str]) -> tuple[tuple[Family, Variant], ...]:
    """Variants named `family` or `family/variant`; no names means all of them."""
    known = {family.name: family for family in discover()}
    chosen: list[tuple[Family, Variant]] = []
    for name in tuple(names) or tuple(known):
        family_name, _, variant_name = name.partition("/")
        family = known.get(family_name)
        if family is None:
            raise UnknownProbeError(f"no probe family {family_name!r}; there are: {', '.join(known)}")
        try:
            variants = (family.variant(variant_name),) if variant_name else family.variants
        except KeyError:
            there = ", ".join(variant.name for variant in family.variants)
            raise UnknownProbeError(f"no variant {variant_name!r} in {family_name}; there are: {there}") from None
        chosen += [(family, variant) for variant in variants]
    return tuple(chosen)


def _modules() -> Iterator[object]:
    for info in pkgutil.iter_modules(families.__path__):
        yield importlib.import_module(f"{families.__name__}.{info.name}")
