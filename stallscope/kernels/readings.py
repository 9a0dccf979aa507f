"""The counters of one kernel as a rule sees them: declared quantities only, absent ones as None."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from stallscope.kernels.metrics import PC_SAMPLES, SAMPLE_METRIC, STALL_METRIC, WARP_LATENCY, Quantity
from stallscope.model.counters import KernelCounters

REASONS = (
    *("long_scoreboard", "lg_throttle", "mio_throttle", "short_scoreboard", "tex_throttle", "math_pipe_throttle"),
    *("wait", "barrier", "membar", "branch_resolving", "no_instruction", "dispatch_stall", "imc_miss", "drain"),
    *("sleeping", "misc", "gmma", "not_selected", "selected"),
)
_SAMPLED_AS = {"no_instruction": "no_instructions", "gmma": "warpgroup_arrive"}
MIN_SAMPLES = 1000
MAX_PASS_DISAGREEMENT = 0.05


@dataclass(frozen=True, slots=True)
class Stalls:
    """What the warps of a kernel waited for: reason → share of warp time, summing to 1 over all reasons.

    `cycles` is the number of warp cycles behind each issued instruction. `trusted` is false when the reasons do not add
    up to the measured latency (replay passes that differ) or rest on fewer than 1,000 samples.
    """

    shares: Mapping[str, float]
    cycles: float
    source: str
    trusted: bool = True

    def __getitem__(self, reason: str) -> float:
        return self.shares.get(reason, 0.0)

    def sum(self, *reasons: str) -> float:
        """Share of several reasons together."""
        return sum(self[reason] for reason in reasons)

    @property
    def leading(self) -> str:
        """The longest reason a warp was held by; `selected` and `not_selected` are progress, not waiting."""
        held = {reason: share for reason, share in self.shares.items() if reason not in ("selected", "not_selected")}
        return max(held, key=lambda reason: held[reason], default="")


def stalls_of(kernel: KernelCounters) -> Stalls | None:
    """Shares from the counters, or from the not-issued PC samples where there are no counters."""
    counted = {reason: kernel.value(STALL_METRIC.format(reason=reason)) for reason in REASONS}
    present = {reason: value for reason, value in counted.items() if value is not None}
    if "long_scoreboard" in present and sum(present.values()) > 0:
        latency = kernel.value(WARP_LATENCY.metrics[0])
        total = sum(present.values())
        trusted = latency is None or abs(total - latency) <= MAX_PASS_DISAGREEMENT * max(total, latency)
        return Stalls(_shares(present), total, "WarpStateStats", trusted)
    sampled = {r: kernel.value(SAMPLE_METRIC.format(reason=_SAMPLED_AS.get(r, r))) for r in REASONS}
    samples = {reason: value for reason, value in sampled.items() if value is not None}
    if "long_scoreboard" not in samples or sum(samples.values()) <= 0:
        return None
    count = kernel.value(PC_SAMPLES.metrics[0]) or sum(samples.values())
    return Stalls(_shares(samples), 0.0, "SourceCounters", count >= MIN_SAMPLES)


def _shares(values: Mapping[str, float]) -> dict[str, float]:
    total = sum(values.values())
    return {reason: value / total for reason, value in values.items()}


@dataclass(frozen=True, slots=True)
class Readings:
    """Values of one kernel. `declared` limits what may be read (None = everything)."""

    kernel: KernelCounters
    stalls: Stalls | None
    declared: Collection[Quantity] | None = None
    before: KernelCounters | None = field(default=None, repr=False)
    after: KernelCounters | None = field(default=None, repr=False)

    def limited_to(self, declared: Collection[Quantity]) -> Readings:
        """The same readings with access to the declared quantities only."""
        return replace(self, declared=declared)

    def get(self, quantity: Quantity) -> float | None:
        """The quantity, or None when it was not collected. Raises `KeyError` for an undeclared one."""
        if self.declared is not None and quantity not in self.declared:
            raise KeyError(f"{quantity.name} is not declared")
        return value_of(self.kernel, quantity)

    def __getitem__(self, quantity: Quantity) -> float:
        value = self.get(quantity)
        if value is None:
            raise KeyError(f"{quantity.name} was not collected")
        return value

    def ratio(self, part: Quantity, whole: Quantity) -> float | None:
        """`part / whole`; None when either is missing or the whole is zero."""
        top, bottom = self.get(part), self.get(whole)
        return None if top is None or not bottom else top / bottom

    def source(self, quantity: Quantity) -> str:
        """Name of the metric the value was read from."""
        return next((m for m in quantity.metrics if m in self.kernel.metrics), quantity.metrics[0])


def value_of(kernel: KernelCounters, quantity: Quantity) -> float | None:
    """The quantity of a kernel; percentages as ratios. A total needs at least one of its parts."""
    found = [kernel.metrics[metric] for metric in quantity.metrics if metric in kernel.metrics]
    if not found:
        return None
    values = [metric.value / 100 if metric.unit == "%" or _is_percent(name) else metric.value for name, metric in
              zip((m for m in quantity.metrics if m in kernel.metrics), found, strict=True)]  # fmt: skip
    return sum(values) if quantity.total else values[0]


def _is_percent(metric: str) -> bool:
    """An exporter that prints no units still names its percentages."""
    return ".pct" in metric or metric.endswith("_pct")


def readings_of(kernels: tuple[KernelCounters, ...]) -> tuple[Readings, ...]:
    """Readings of all launches with their neighbours in profiling order (same run, process and device)."""
    return tuple(
        Readings(
            kernel,
            stalls_of(kernel),
            before=_neighbour(kernel, kernels[at - 1]) if at else None,
            after=_neighbour(kernel, kernels[at + 1]) if at + 1 < len(kernels) else None,
        )
        for at, kernel in enumerate(kernels)
    )


def _neighbour(kernel: KernelCounters, other: KernelCounters) -> KernelCounters | None:
    same = (kernel.run, kernel.process, kernel.device) == (other.run, other.process, other.device)
    return other if same and abs(kernel.order - other.order) == 1 else None
