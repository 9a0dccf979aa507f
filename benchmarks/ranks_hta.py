"""Time and memory beside HolisticTraceAnalysis (HTA) on the same PyTorch traces.

    python -m venv /tmp/hta && /tmp/hta/bin/pip install HolisticTraceAnalysis 'pandas<3'
    python benchmarks/ranks_hta.py /tmp/hta/bin/python [FOLDER OR RANKS] [KERNELS]

HTA does its temporal breakdown, idle breakdown, communication overlap and straggler search; stallscope its whole
analysis. A number simulates that many ranks (8 of 20,000 kernels by default); a folder is taken as it is. The tools
compute different things: the ratio is that of the time to an answer. Both run in fresh processes, HTA first and last.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "ranks")]

MEASURE = """
import json, resource, sys, time
began = time.perf_counter(), time.process_time()
answer = work(sys.argv[1])
own, children = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print("\\nRESULT", json.dumps({
    "wall": time.perf_counter() - began[0],
    "cpu": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
    "peak": max(own.ru_maxrss, children.ru_maxrss) / 1024,
    "answer": answer,
}))
"""

HTA = (
    """
def work(folder):
    import warnings
    warnings.simplefilter("ignore")
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=folder)
    temporal = analysis.get_temporal_breakdown(visualize=False)
    analysis.get_idle_time_breakdown(ranks=list(analysis.t.get_all_traces()), visualize=False)
    analysis.get_comm_comp_overlap(visualize=False)
    try:
        late = analysis.get_potential_stragglers(num_candidates=1)
    except Exception as error:
        late = type(error).__name__
    return {"busy": [float(100 - x) for x in temporal["idle_time_pctg"]], "late": str(late)}
"""
    + MEASURE
)

OURS = (
    """
def work(folder):
    from pathlib import Path
    from stallscope.api import Options
    from stallscope.ranks import compare_ranks, rank_files
    from stallscope.ranks.task import examine_file
    from functools import partial
    analysis = compare_ranks(rank_files([Path(folder)]), partial(examine_file, options=Options()), workers=1)
    busy = [100 * d.busy_ns / d.window_ns for d in analysis.devices]
    late = [f.title for f in analysis.findings if f.wait == "comm.peer_wait"]
    return {"busy": busy, "late": str(late)}
"""
    + MEASURE
)


def measured(python: str, script: str, folder: Path) -> dict[str, float]:
    """Run in a fresh process; wall and CPU seconds, peak MiB, the answer."""
    done = subprocess.run(
        [python, "-c", script, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TQDM_DISABLE": "1"},
    )
    found = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    if not found:
        raise SystemExit(done.stderr[-2000:])
    result: dict[str, float] = json.loads(found.group(1))
    return result


def compare(python: str, folder: Path) -> None:
    """Print both, and the ratios."""
    runs = [measured(python, HTA, folder), measured(sys.executable, OURS, folder), measured(python, HTA, folder)]
    for name, result in zip(("HTA", "stallscope", "HTA again"), runs, strict=True):
        wall, cpu, peak = (result[what] for what in ("wall", "cpu", "peak"))
        print(f"{name}: {wall:.1f} s wall, {cpu:.1f} s CPU, peak of one process {peak:.0f} MiB")
        print(f"  {result['answer']}")
    ours = runs[1]
    for what in ("wall", "cpu", "peak"):
        hta = (runs[0][what] + runs[2][what]) / 2
        print(f"{what}: HTA / stallscope = {hta / ours[what]:.1f}")


def main(python: str, what: str, kernels: int) -> None:
    """Simulate ranks or take a folder."""
    if not what.isdecimal():
        compare(python, Path(what))
        return
    from ranks_scaling import write

    with tempfile.TemporaryDirectory() as place:
        write(Path(place), int(what), kernels)
        compare(python, Path(place))


if __name__ == "__main__":
    given = sys.argv[1:]
    if not given:
        raise SystemExit(__doc__)
    main(given[0], given[1] if len(given) > 1 else "8", int(given[2]) if len(given) > 2 else 20_000)
