"""A small urgent copy behind a large one of the same direction, before it, and behind one of the other direction."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "copy.pageable", "alloc.sync", "sync.device", "dep.default_stream")
SMALL = 64 << 8


def _build(machine: Machine, params: Params) -> Workload:
    count = machine.size(params["mib"] << 20) // 4
    host, resident = machine.host(count, pinned=True), machine.random(count)
    urgent, arrived = machine.host(SMALL, pinned=True, seed=3), machine.random(SMALL)
    bulk, work = machine.stream(), machine.stream()
    load = Load(machine, params["load_us"], stream=work)
    urgent_arrived = machine.event()
    done = [machine.event(), machine.event()]
    machine.synchronize()

    def large() -> None:
        with machine.use(bulk):
            if params["other_direction"]:
                host.copy_(resident, non_blocking=True)
            else:
                resident.copy_(host, non_blocking=True)

    def small() -> None:
        with machine.use(work):
            arrived.copy_(urgent, non_blocking=True)
            urgent_arrived.record(work)
        if params["urgent_first"]:  # streams alone do not order copies: the large one won the engine on an H200
            bulk.wait_event(urgent_arrived)
        load.launch()

    def step(_: int) -> None:
        for part in (small, large) if params["urgent_first"] else (large, small):
            part()
        done[0].record(bulk)
        done[1].record(work)
        bulk.wait_event(done[1])
        work.wait_event(done[0])

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="copy_queue",
    title="A small copy queued behind a large one",
    topic=2,
    variants=(
        Variant(
            "behind",
            "bad",
            _build,
            {"mib": 32, "load_us": 600, "urgent_first": 0, "other_direction": 0},
            ("copy.engine_queue",),
            MUST_NOT,
            ("copy.exposed",),
            "before",
        ),
        Variant(
            "before",
            "fixed",
            _build,
            {"mib": 32, "load_us": 600, "urgent_first": 1, "other_direction": 0},
            (),
            but(("copy.engine_queue", *MUST_NOT), "copy.exposed", "launch.gap"),
            ("copy.exposed", "launch.gap"),
        ),
        Variant(
            "other_direction",
            "decoy",
            _build,
            {"mib": 32, "load_us": 600, "urgent_first": 0, "other_direction": 1},
            (),
            ("copy.engine_queue", *MUST_NOT),
            ("copy.exposed",),
        ),
    ),
)
