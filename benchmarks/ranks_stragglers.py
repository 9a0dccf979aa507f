"""How often planted stragglers are found, and how often one is named where there is none.

    python benchmarks/ranks_stragglers.py [RUNS]

Every run is drawn at random: 4 to 16 ranks, 20 to 60 steps, normal or exponential arrival noise, clocks up to an hour
and 50 ppm apart, sequence numbers recorded or not, one rank's trace missing in a quarter of the runs. In half of them
one rank is late by 2 to 6 standard deviations of the noise in every step. Each run goes through the whole analysis.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "ranks"))

from rank_simulation import Run, simulate
from straggler_score import named_ranks

HOUR_NS = 3_600_000_000_000


def drawn(seed: int, *, planted: bool) -> tuple[Run, int | None]:
    """A random run and its straggler."""
    random = np.random.default_rng(seed)
    ranks, noise = int(random.integers(4, 17)), float(random.uniform(40_000, 120_000))
    straggler = int(random.integers(ranks))
    missing = int(random.integers(ranks))
    late = {straggler: int(noise * random.uniform(2, 6))} if planted else {}
    run = Run(
        ranks=ranks,
        steps=int(random.integers(20, 61)),
        noise_ns=noise,
        noise="normal" if random.random() < 0.5 else "exponential",
        late=late,
        cause="input" if random.random() < 0.5 else "compute",
        drift_ppm=50,
        offset_ns=HOUR_NS,
        sequences=bool(random.random() < 0.5),
        dropped=frozenset({missing} - {straggler}) if random.random() < 0.25 else frozenset(),
        seed=seed,
    )
    return run, straggler if planted else None


def main(runs: int) -> None:
    """Print the two rates."""
    began = time.perf_counter()
    right = wrong = named = 0
    for seed in range(runs):
        run, straggler = drawn(seed, planted=True)
        found = named_ranks(simulate(run))
        right += found == {straggler}
        wrong += bool(found - {straggler})
        run, _ = drawn(runs + seed, planted=False)
        named += bool(named_ranks(simulate(run)))
    print(
        f"planted stragglers, skew 2-6 x noise: {right} of {runs} found alone ({right / runs:.2%}), "
        f"{wrong} name another rank"
    )
    print(f"no straggler: {named} of {runs} name one ({named / runs:.2%})")
    print(f"{(time.perf_counter() - began) / (2 * runs) * 1e3:.0f} ms a run")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
