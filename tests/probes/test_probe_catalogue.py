from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from stallscope_probes.catalogue import UnknownProbeError, discover, select
from stallscope_probes.contract import Family, Variant

FAMILIES = discover()
ASKED_FOR = {
    "launch gaps": ("launch.gap", "host.busy", "init.graph"),
    "allocation syncs": ("alloc.sync", "alloc.pool_trim", "alloc.pinned", "alloc.retry", "alloc.relocate", "alloc.map"),
    "UVM faults": ("uvm.fault_gpu", "uvm.fault_cpu", "uvm.thrash"),
    "fence interference": ("fence.interference", "comm.exposed", "comm.interference"),
}
WAIT = re.compile(r"^[a-z]+\.[a-z_]+$")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_family_has_all_roles_and_repairs(family: Family) -> None:
    roles = [variant.role for variant in family.variants]
    assert {"bad", "fixed", "decoy"} <= set(roles)
    assert len(roles) >= 3
    assert len({variant.name for variant in family.variants}) == len(roles)
    labels = {wait for bad, _ in family.pairs() for wait in bad.expect}
    decoys = [variant for variant in family.variants if variant.role == "decoy"]
    assert any(labels & set(decoy.must_not) for decoy in decoys), "a decoy has to forbid a label of its family"
    for bad, fixed in family.pairs():
        assert (bad.role, fixed.role) == ("bad", "fixed")
        assert bad.expect


@pytest.mark.parametrize(
    "variant",
    [variant for family in FAMILIES for variant in family.variants],
    ids=[f"{family.name}-{variant.name}" for family in FAMILIES for variant in family.variants],
)
def test_labels_do_not_contradict_each_other(variant: Variant) -> None:
    expect, must_not, may = set(variant.expect), set(variant.must_not), set(variant.may)
    assert not expect & must_not
    assert not may & must_not
    assert not may & expect
    assert all(WAIT.match(wait) for wait in expect | must_not | may)


def test_enough_families_for_every_class_asked_for() -> None:
    assert len(FAMILIES) >= 20
    assert all(len(family.variants) >= 3 for family in FAMILIES)
    for waits in ASKED_FOR.values():
        naming = {family.name for family in FAMILIES for bad, _ in family.pairs() if set(bad.expect) & set(waits)}
        assert len(naming) >= 2, waits


def test_range_name_carries_family_variant_and_parameters() -> None:
    family, variant = select(["launch/eager"])[0]
    assert variant.range_name(family.name) == "stallscope:launch/eager/kernels=50,elements=4096"


@pytest.mark.parametrize("name", ["nothing_like_it", "launch/nothing_like_it"])
def test_unknown_name_says_what_there_is(name: str) -> None:
    with pytest.raises(UnknownProbeError, match="there are: "):
        select([name])


def test_catalogue_needs_neither_torch_nor_cuda(repository: Path) -> None:
    program = (
        "import sys; from stallscope_probes.catalogue import discover; discover(); "
        "sys.exit(sum(name.split('.')[0] in ('torch', 'cuda', 'numpy', 'polars') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, env={"PYTHONPATH": str(repository / "probes")}, timeout=60
    )
    assert done.returncode == 0
