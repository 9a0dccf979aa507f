"""Streams that take turns: how often, how exactly, and which of the two is told."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import finding, outcome

from stallscope.model.events import SyncKind, Syncs

NS = 0.001
ONE, OTHER = 13, 17


def turns(
    count: int = 20,
    *,
    lengths: tuple[float, float] = (300, 200),
    blocks: tuple[int, int] = (48, 48),
    pause_us: float = 1,
    waits: tuple[bool, bool] = (True, True),
    pids: tuple[int, int] = (1, 1),
    together_us: float = 0,
) -> TraceBuilder:
    """Kernels of two streams by turns, all launched early, each behind a wait for an event of the other.

    `together_us` of the first pair run side by side.
    """
    build = TraceBuilder()
    t = 2_000.0
    for i in range(count):
        for k, stream in enumerate((ONE, OTHER)):
            at = 40 * i + 20 * k
            if waits[k]:
                build.row(
                    Syncs, start_ns=at * US, end_ns=(at + 1) * US, device=0, process=build.process(pids[k]), context=1,
                    stream=stream, correlation=0, kind=SyncKind.STREAM_WAIT_EVENT, event=1, event_sync=0,
                )  # fmt: skip
            number = 2 * i + k + 1
            build.launch(at + 5, at + 7, correlation=number, pid=pids[k], thread=pids[k])
            early = together_us if number == 2 else 0
            build.kernel(
                t - early, t - early + lengths[k], correlation=number, stream=stream, blocks=blocks[k], pid=pids[k]
            )
            t += lengths[k] - early + pause_us
    return build.collected(Syncs)


def told(build: TraceBuilder) -> bool:
    return outcome(build, "dep.stream_wait")[0] == "found"


@pytest.mark.parametrize("lengths", [(300, 200), (200, 300)])
def test_the_stream_with_less_work_is_held_while_the_other_works(lengths: tuple[float, float]) -> None:
    found = finding(turns(lengths=lengths), "dep.stream_wait")
    count = 20 if lengths[1] < lengths[0] else 19
    assert (found.count, found.ledger) == (count, False)
    assert abs(found.wait_ns - count * 301 * US) <= US  # the first from the start of the window
    assert [(e.label, e.value) for e in found.evidence] == [
        ("kernels held by an event of the other stream", count),
        ("median wait from ready to start", 301 * US),
    ]
    assert {p.thread for p in found.where} == {1}


@pytest.mark.parametrize(
    ("of", "found"),
    [
        ({"count": 9}, True),
        ({"count": 8}, False),  # only seven kernels of the first stream lie behind one of the other
        ({"pause_us": 5}, True),
        ({"pause_us": 5 + NS}, False),
        ({"blocks": (131, 131)}, True),
        ({"blocks": (132, 131)}, False),
        ({"blocks": (131, 132)}, False),
        ({"waits": (True, False)}, False),
        ({"waits": (False, True)}, False),
        ({"pids": (1, 2)}, False),
        ({"lengths": (100, 50), "count": 20, "together_us": 50}, True),  # 5 % of 1,000 µs
        ({"lengths": (100, 50), "count": 19, "together_us": 50}, False),
    ],
)
def test_eight_times_each_way_small_kernels_of_one_process_one_after_the_other(
    of: dict[str, int], *, found: bool
) -> None:
    assert told(turns(**of)) is found  # type: ignore[arg-type]


@pytest.mark.parametrize(("length", "found"), [(4.0, True), (4 - NS, False)])
def test_a_wait_of_less_than_5_us_holds_nobody(length: float, *, found: bool) -> None:
    """Each waits for a kernel of the other and the microsecond behind it."""
    assert told(turns(lengths=(length, 4))) is found
