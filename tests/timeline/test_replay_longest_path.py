"""The fast longest path against the recurrence, and the recurrence against an exact oracle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.longest_path import NEVER, PathModel
from stallscope.timeline.longest_path import sequential_ends as recurrence


class Problem(NamedTuple):
    """A path model and one set of times to ask it with."""

    wait: Int64Array
    offset: Int64Array
    pointer: Int64Array
    before: Int64Array
    lag: Int64Array
    duration: Int64Array
    lane: Int64Array

    @property
    def model(self) -> PathModel:
        return PathModel(self.wait, self.pointer, self.before, self.lane)


def longest_path(problem: Problem) -> Int64Array:
    return problem.model.ends(problem.offset, problem.lag, problem.duration)


def sequential_ends(problem: Problem) -> list[int]:
    return recurrence(problem.model, problem.offset, problem.lag, problem.duration)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Streams of queued nodes, waits among them, extra edges between any of them."""
    count = draw(st.integers(1, 40))
    lanes = draw(st.lists(st.integers(-1, 2), min_size=count, max_size=count))
    wait, offset, duration, pointer, before, lag = [], [], [], [0], [], []
    last: dict[int, int] = {}
    for node, lane in enumerate(lanes):
        waits = [n for n in range(node) if lanes[n] == NO_ROW]
        wait.append(draw(st.sampled_from([NO_ROW, *waits[-2:]])))
        offset.append(draw(st.integers(-5, 60)))
        duration.append(0 if lane == NO_ROW else draw(st.integers(0, 30)))
        edges = {last[lane]} if lane in last and lane != NO_ROW and draw(st.integers(0, 9)) else set()
        if node and draw(st.integers(0, 4)) == 0:
            edges.add(draw(st.integers(0, node - 1)))
        for earlier in sorted(edges):
            before.append(earlier)
            lag.append(draw(st.integers(-3, 9)))
        pointer.append(len(before))
        last[lane] = node
    columns = (wait, offset, pointer, before, lag, duration, lanes)
    return Problem(*(np.array(column, np.int64) for column in columns))


@given(problems())
@settings(max_examples=400, deadline=None)
def test_runs_give_what_the_recurrence_gives(problem: Problem) -> None:
    assert longest_path(problem).tolist() == sequential_ends(problem)


@given(problems())
@settings(max_examples=200, deadline=None)
def test_recurrence_is_the_longest_path_of_the_graph(problem: Problem) -> None:
    """Against relaxation of all edges until nothing changes, which knows no order of the nodes."""
    assert sequential_ends(problem) == relaxed_ends(problem)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_recurrence_is_the_longest_of_all_paths(problem: Problem) -> None:
    """Against every single path into the first nodes, counted out."""
    ends = sequential_ends(problem)
    for node in range(min(len(ends), 10)):
        assert ends[node] == max(all_path_lengths(problem, node))


def into(problem: Problem, node: int) -> list[tuple[int, int]]:
    """(earlier node or NO_ROW for the origin, weight up to the node's start) of everything that leads to a node."""
    first, after = int(problem.pointer[node]), int(problem.pointer[node + 1])
    edges = [(int(problem.before[e]), int(problem.lag[e])) for e in range(first, after)]
    return [(int(problem.wait[node]), int(problem.offset[node])), *edges]


def relaxed_ends(problem: Problem) -> list[int]:
    count = len(problem.wait)
    ends = [-(1 << 40)] * count
    for _ in range(count + 1):
        for node in reversed(range(count)):
            for before, weight in into(problem, node):
                start = (0 if before == NO_ROW else ends[before]) + weight
                ends[node] = max(ends[node], start + int(problem.duration[node]))
    return ends


def all_path_lengths(problem: Problem, node: int) -> list[int]:
    found = []
    for before, weight in into(problem, node):
        heads = [0] if before == NO_ROW else all_path_lengths(problem, before)
        found += [head + weight + int(problem.duration[node]) for head in heads]
    return found


@given(problems(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_taking_something_away_never_makes_a_node_later(problem: Problem, random: object) -> None:
    rng = np.random.default_rng(random.randrange(1 << 32))  # type: ignore[attr-defined]
    less = Problem(
        wait=problem.wait,
        offset=problem.offset - rng.integers(0, 10, len(problem.offset)),
        pointer=problem.pointer,
        before=problem.before,
        lag=problem.lag - rng.integers(0, 10, len(problem.lag)),
        duration=np.maximum(problem.duration - rng.integers(0, 10, len(problem.duration)), 0),
        lane=problem.lane,
    )
    assert (longest_path(less) <= longest_path(problem)).all()


@given(problems(), st.integers(0, 39), st.integers(0, 30))
@settings(max_examples=150, deadline=None)
def test_gain_is_at_most_what_was_taken_away(problem: Problem, node: int, amount: int) -> None:
    node %= len(problem.duration)
    shorter = problem.duration.copy()
    taken = min(amount, int(shorter[node]))
    shorter[node] -= taken
    faster = Problem(problem.wait, problem.offset, problem.pointer, problem.before, problem.lag, shorter, problem.lane)
    gain = longest_path(problem) - longest_path(faster)
    assert (gain >= 0).all()
    assert (gain <= taken).all()


def test_numbers_beyond_64_bits_fall_back_to_the_recurrence() -> None:
    far = 1 << 60
    problem = Problem(
        *(
            np.array(c, np.int64)
            for c in ([-1] * 4, [0, far, -far, 0], [0, 0, 1, 2, 3], [0, 1, 2], [1, 1, 1], [5, 5, 5, 5], [0] * 4)
        )
    )
    assert longest_path(problem).tolist() == sequential_ends(problem)


def test_empty_problem() -> None:
    empty = np.empty(0, np.int64)
    assert longest_path(Problem(empty, empty, np.zeros(1, np.int64), empty, empty, empty, empty)).tolist() == []


@pytest.mark.parametrize("size", [1, 2, 3])
def test_queued_operations_run_back_to_back(size: int) -> None:
    """Launched at 0, 10, 20 and 100 long each, with a lag of 1 between them."""
    count = size
    problem = Problem(
        wait=np.full(count, NO_ROW),
        offset=np.arange(count, dtype=np.int64) * 10,
        pointer=np.maximum(np.arange(count + 1, dtype=np.int64) - 1, 0),
        before=np.arange(count - 1, dtype=np.int64),
        lag=np.ones(count - 1, np.int64),
        duration=np.full(count, 100),
        lane=np.zeros(count, np.int64),
    )
    assert longest_path(problem).tolist() == [100 + 101 * k for k in range(count)]


@given(problems(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_edge_that_never_holds_is_no_edge(problem: Problem, random: object) -> None:
    """Edges into waits are switched off by their lag; the same model without them gives the same ends."""
    rng = np.random.default_rng(random.randrange(1 << 32))  # type: ignore[attr-defined]
    after = np.repeat(np.arange(len(problem.wait)), np.diff(problem.pointer))
    off = (problem.lane[after] == NO_ROW) & (rng.random(len(after)) < 0.5)
    kept = np.flatnonzero(~off)
    pointer = np.searchsorted(after[kept], np.arange(len(problem.wait) + 1)).astype(np.int64)
    without = problem._replace(pointer=pointer, before=problem.before[kept], lag=problem.lag[kept])
    switched = problem._replace(lag=np.where(off, NEVER, problem.lag))
    assert longest_path(switched).tolist() == longest_path(without).tolist()
