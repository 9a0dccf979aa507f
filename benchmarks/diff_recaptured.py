"""How often `diff` calls two captures of one program changed: folders of real captures held against each other.

Every folder is what `stallscope probe capture` wrote; a workload is compared with itself between any two of them, one
run a side, and two against three where there are five. A false alarm is *any* improved or regressed row.

    python benchmarks/diff_recaptured.py FOLDER FOLDER [FOLDER …]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from stallscope import Analysis, analyze
from stallscope.experiments.diff import compare
from stallscope.model.comparison import Comparison

CHANGED = ("improved", "regressed")
SEVERAL = 5


def captures(folder: Path) -> dict[str, Analysis]:
    """Every capture of a folder by family and variant."""
    return {str(path.relative_to(folder)): analyze(path) for path in sorted(folder.rglob("*.sqlite"))}


def rows(comparison: Comparison) -> list[str]:
    """What the comparison calls changed."""
    step = ["step"] if comparison.verdict in CHANGED else []
    return [*step, *(wait for wait, row in comparison.waits.items() if row.verdict in CHANGED)]


def report(label: str, comparisons: Iterable[tuple[str, Comparison]]) -> None:
    """Print the share of alarms, the verdicts of the step, and the workloads with most alarms."""
    verdicts: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    for name, comparison in comparisons:
        verdicts[comparison.verdict] += 1
        alarms[name] += bool(rows(comparison))
    total, count = sum(verdicts.values()), sum(alarms.values())
    print(f"{label}: {total} comparisons, {count} false alarms ({count / max(total, 1):.1%}); {dict(verdicts)}")
    for name, times in alarms.most_common(8):
        if times:
            print(f"    {name}: {times}")


def main(folders: Sequence[str]) -> None:
    """Compare every workload with itself."""
    sets = [captures(Path(folder)) for folder in folders]
    names = sorted(set(sets[0]).intersection(*sets))
    pairs = list(combinations(sets, 2))
    report("one run a side", ((name, compare([a[name]], [b[name]])) for name in names for a, b in pairs))
    if len(sets) >= SEVERAL:
        splits = [([sets[0], sets[2]], [sets[1], *sets[3:]]), ([sets[1], sets[3]], [sets[0], sets[2], *sets[4:]])]
        sides = ((name, [a[name] for a in x], [b[name] for b in y]) for name in names for x, y in splits)
        report("two against three or more", ((name, compare(base, head)) for name, base, head in sides))


if __name__ == "__main__":
    main(sys.argv[1:])
