"""Mutation score of stallscope/timeline and stallscope/waits: small faults are planted, the tests should notice.

`mutation.py cover` learns which test runs which line (with and without the compiled loops) and how long it takes.
`mutation.py run --sample 400 --seed 1` draws mutants, runs for each the tests that run its line, fastest first, in a
fork of a process that has collected the suite, and appends one line a mutant to the results. `mutation.py report`
counts them. A mutant whose line no test runs counts as a survivor. Needs Python 3.11, pytest-cov and fork.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from mutants import ROOT, Mutant, described, mutants, tree_of
from planting import plant

WORK = ROOT / ".mutation"
ROOMS = ("timeline", "waits")
SUITE = (
    "tests/timeline",
    "tests/waits",
    "tests/ranks",
    "tests/test_golden.py",
    "tests/metamorphic/test_captures_rewritten.py",
)
EQUIVALENT = ROOT / "benchmarks" / "mutation_equivalent.jsonl"
"""Mutants that do the same as the original, each with the reason."""

_NOTICED = ("killed", "timeout")
MOST_TESTS = 400
MOST_S = 30.0
LIMIT_S = 90

# Which tests run which line --------------------------------------------------------------------------------------


def cover() -> None:
    """Two runs of the suite with one coverage context a test."""
    WORK.mkdir(exist_ok=True)
    for mode in ("pure", "native"):
        environment = {**os.environ, "COVERAGE_FILE": str(WORK / f"{mode}.coverage"), "POLARS_MAX_THREADS": "1"}
        environment |= {"STALLSCOPE_PURE": "1"} if mode == "pure" else {}
        sources = [f"--cov=stallscope.{room}" for room in ROOMS]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SUITE, *sources]
        command += ["--cov-context=test", "--cov-report=", f"--junit-xml={WORK / mode}.xml"]
        subprocess.run(command, cwd=ROOT, env=environment, check=False)


class Coverage:
    """Tests by (file, line), fastest first."""

    def __init__(self, mode: str) -> None:
        self._seconds = _durations(WORK / f"{mode}.xml")
        fails = _fails(WORK / f"{mode}.xml")
        self._tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        connection = sqlite3.connect(f"file:{WORK / mode}.coverage?mode=ro", uri=True)
        query = (
            "SELECT file.path, context.context, line_bits.numbits FROM line_bits "
            "JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        )
        for path, context, bits in connection.execute(query):
            test = context.partition("|")[0]
            if test and _plain(test) not in fails:
                file = "stallscope" + path.rpartition("/stallscope")[2]
                for index, byte in enumerate(bits):
                    for bit in range(8):
                        if byte & (1 << bit):
                            self._tests[file, index * 8 + bit].append(test)
        connection.close()

    def tests(self, file: str, lines: range) -> list[str]:
        """Distinct tests that run any of the lines, fastest first, as many as MOST_TESTS and MOST_S allow."""
        found = {test for line in lines for test in self._tests.get((file, line), ())}
        ordered = sorted(found, key=lambda test: (self._seconds.get(_plain(test), 1.0), test))
        spent = accumulate(self._seconds.get(_plain(test), 1.0) for test in ordered)
        quick = [test for test, so_far in zip(ordered, spent, strict=True) if so_far <= MOST_S]
        return quick[:MOST_TESTS] or ordered[:1]


def _plain(test: str) -> str:
    file, _, name = test.partition("::")
    return f"{file.removesuffix('.py').replace('/', '.')}::{name}"


def _durations(report: Path) -> dict[str, float]:
    return {_name(case): float(case.get("time", 1.0)) for case in _cases(report)}


def _fails(report: Path) -> set[str]:
    """Tests that failed without any fault: they judge nothing."""
    return {_name(case) for case in _cases(report) if {"failure", "error"} & {part.tag for part in case}}


def _cases(report: Path) -> Iterator[Element]:
    return ElementTree.parse(report).iter("testcase")  # noqa: S314


def _name(case: Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"


# One mutant ------------------------------------------------------------------------------------------------------


class Warm:
    """The suite, imported and collected once; every mutant is judged in a fork of this process."""

    def __init__(self) -> None:
        from _pytest.config import _prepareconfig
        from _pytest.main import Session

        config = _prepareconfig([*SUITE, "-q", "-p", "no:cacheprovider", "-p", "no:cov"], [_NoShrinking()])
        config._do_configure()  # noqa: SLF001 (what pytest.main does, but the session stays)
        session = Session.from_config(config)
        config.hook.pytest_sessionstart(session=session)
        config.hook.pytest_collection(session=session)
        self._items = {item.nodeid: item for item in session.items}
        measured = {_plain(test) for test in self._items} & _durations(WORK / "pure.xml").keys()
        younger = [test for test in self._items if _plain(test) not in measured]
        self.new = [test for test in younger if self.judge("", -1, [test], pure=True) == "survived"]
        """Tests younger than the coverage that pass without any fault: they may run any line."""

    def judge(self, file: str, number: int, tests: Sequence[str], *, pure: bool) -> str:
        """`killed`, `survived`, `timeout`, or `unpatched` where the fault has no place in an imported module."""
        child = os.fork()
        if not child:
            os._exit(self._tested(file, number, tests, pure=pure))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "timeout" if os.WTERMSIG(status) in {signal.SIGXCPU, signal.SIGKILL} else "killed"
        return {0: "survived", 1: "killed", 4: "unpatched"}[os.WEXITSTATUS(status)]

    def _tested(self, file: str, number: int, tests: Sequence[str], *, pure: bool) -> int:
        from _pytest.runner import runtestprotocol

        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))  # not wall time: the machine may be busy
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if pure:
            os.environ["STALLSCOPE_PURE"] = "1"
        sys.modules["stallscope.timeline.native"].sweeps.cache_clear()  # collecting may have asked for the loops
        try:
            if number >= 0 and not plant(file, number):
                return 4
            chosen = [self._items[test] for test in tests if test in self._items]
            return int(any(r.failed for item in chosen for r in runtestprotocol(item, log=False, nextitem=None)))
        except BaseException:  # noqa: BLE001 (whatever a fault does, it was noticed)
            return 1


class _NoShrinking:
    """hypothesis looks for any failing example, not for the smallest, and for the same ones every time."""

    @staticmethod
    def pytest_sessionstart() -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", deadline=None, derandomize=True, database=None, phases=phases)
        settings.load_profile("mutation")


def run(sample: int, seed: int, rooms: Sequence[str], results: Path, only: str) -> None:
    """Judge a random sample of each room; mutants that the results hold already are left out."""
    os.chdir(ROOT)
    os.environ["POLARS_MAX_THREADS"] = "1"
    covered = {mode: Coverage(mode) for mode in ("pure", "native")}
    warm = Warm()
    _require_healthy(warm, covered["pure"])
    known = {(line["file"], line["number"]) for line in _lines(results)} if not only else set()
    for room in rooms:
        every = mutants(room)
        random.Random(seed).shuffle(every)  # noqa: S311
        if only:
            every = [m for m in every if f"{m[0]}:{m[1]}" in only.split(",")]
        for file, number in every[:sample]:
            if (file, number) not in known:
                _record(warm, room, described(file, number), covered, results)
    _require_healthy(warm, covered["pure"])  # a process that broke on the way would have "noticed" everything since


def _require_healthy(warm: Warm, coverage: Coverage) -> None:
    file = "stallscope/timeline/gaps.py"
    if warm.judge(file, -1, _module_tests(file, coverage)[:10], pure=True) != "survived":
        raise SystemExit("the tests fail without any fault: this run judges nothing")


def _record(warm: Warm, room: str, mutant: Mutant, covered: dict[str, Coverage], results: Path) -> None:
    began = time.monotonic()
    outcome, judged_by = "uncovered", 0
    for mode in ("pure", "native"):
        tests = _tests_of(mutant, covered[mode])
        if outcome not in _NOTICED and (tests or (warm.new and outcome == "uncovered")):
            judged_by += len(tests)
            outcome = warm.judge(mutant.file, mutant.number, [*tests, *warm.new], pure=mode == "pure")
    line = {
        "room": room,
        **asdict(mutant),
        "tests": judged_by,
        "outcome": outcome,
        "s": round(time.monotonic() - began, 1),
    }
    with results.open("a") as file:
        file.write(json.dumps(line) + "\n")
    place = f"{mutant.file}:{mutant.line}"
    print(f"{outcome:9} {line['s']:5} {judged_by:4} {place} {mutant.before} -> {mutant.after}", flush=True)


def _tests_of(mutant: Mutant, coverage: Coverage) -> list[str]:
    """Those that run the changed line, else its statement, else (constants are read on import) the module."""
    statements = [n for n in ast.walk(tree_of(mutant.file)) if isinstance(n, (ast.Assign, ast.AnnAssign, ast.Return))]
    around = [range(n.lineno, n.end_lineno + 1) for n in statements if n.end_lineno]
    lines = range(mutant.line, mutant.line + 1)
    tests = coverage.tests(mutant.file, lines)
    for statement in [statement for statement in around if mutant.line in statement]:
        tests = tests or coverage.tests(mutant.file, statement)
    if not tests and mutant.line <= _first_function(mutant.file):
        tests = _module_tests(mutant.file, coverage)
    return tests


def _first_function(file: str) -> int:
    return max((n.lineno for n in tree_of(file).body if not isinstance(n, ast.FunctionDef)), default=0)


def _module_tests(file: str, coverage: Coverage) -> list[str]:
    """Tests that run anything of the file: constants of a module are read when it is imported, before any test."""
    return coverage.tests(file, range(len((ROOT / file).read_text("utf-8").splitlines()) + 2))


# Counting --------------------------------------------------------------------------------------------------------


def _lines(results: Path) -> Iterator[dict[str, object]]:
    if results.is_file():
        yield from map(json.loads, results.read_text("utf-8").splitlines())


def report(results: Path) -> None:
    """Score of each room with its 95 % interval (Wilson), and survivors by module; equivalent mutants do not count."""
    alike = {_identity(line) for line in _lines(EQUIVALENT)}
    for room in ROOMS:
        lines = [line for line in _lines(results) if line["room"] == room]
        judged = [line for line in lines if line["outcome"] in _NOTICED or _identity(line) not in alike]
        left = Counter(str(line["file"]) for line in judged if line["outcome"] not in _NOTICED)
        noticed = len(judged) - left.total()
        low, high = wilson(noticed, len(judged))
        print(f"{room}: {noticed} of {len(judged)} noticed = {noticed / max(len(judged), 1):.1%}")
        print(f"  95 % {low:.1%} to {high:.1%}; {len(mutants(room))} mutants, {len(lines) - len(judged)} equivalent")
        for file, count in left.most_common():
            print(f"  {count:3} {file}")


def _identity(line: Mapping[str, object]) -> tuple[object, ...]:
    return line["file"], line["before"], line["after"]


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """95 % interval of a proportion."""
    if not trials:
        return 0.0, 1.0
    z, share = 1.96, successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (middle - spread) / (1 + z * z / trials), (middle + spread) / (1 + z * z / trials)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("cover", "run", "report"))
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--results", type=Path, default=WORK / "results.jsonl")
    parser.add_argument("--only", default="", help="FILE:NUMBER[,…] of mutants to judge again")
    options = parser.parse_args()
    if options.action == "cover":
        cover()
    elif options.action == "run":
        run(options.sample, options.seed, options.rooms.split(","), options.results, options.only)
    else:
        report(options.results)


if __name__ == "__main__":
    main()
