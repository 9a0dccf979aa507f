"""A consumer that does not wait for its producer, one that does, and one ordered by the stream itself."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

STEPS = 32
WIDTH = 256


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    main = machine.stream()
    side = main if params["one_stream"] else machine.stream()
    load = Load(machine, 300, stream=side)
    message = machine.random(WIDTH)
    seen = torch.zeros(STEPS, WIDTH, device=machine.device)
    sent = machine.event()
    last = [0] * STEPS
    machine.synchronize()

    def step(index: int) -> None:
        with machine.use(side):
            load.launch()
            message.fill_(float(index))
            sent.record(side)
        with machine.use(main):
            if params["event"]:
                main.wait_event(sent)
            seen[index % STEPS].copy_(message)
        machine.synchronize()
        last[index % STEPS] = index

    def reference() -> object:
        return torch.tensor(last, dtype=torch.float64).unsqueeze(1).expand(STEPS, WIDTH)

    return Workload(step, lambda: seen, reference)


FAMILY = Family(
    name="race",
    title="A missing event between two streams",
    topic=7,
    collect="nothing",
    variants=(
        Variant("missing_event", "bad", _build, {"event": 0, "one_stream": 0}, ("valid.race",), fix="event"),
        Variant("event", "fixed", _build, {"event": 1, "one_stream": 0}, (), ("valid.race", "valid.numerics")),
        Variant("one_stream", "decoy", _build, {"event": 0, "one_stream": 1}, (), ("valid.race", "valid.numerics")),
    ),
)
