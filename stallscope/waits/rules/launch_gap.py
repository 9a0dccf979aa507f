"""launch.gap: a burst of small launches that cannot keep the device fed.

The thread issues operation after operation, each a little late. The whole gap counts: the framework's time between the
calls, the launch call and the latency behind it; a CUDA graph, compilation or fusion removes all three.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.bursts import late_launches
from stallscope.waits.claims import claim_gaps

NODE_GAP_NS = 1_500
"""Gap between two nodes of one graph replay on an H200 (median of py_launch_gaps_graph_node): what remains of a gap."""

META = RuleMeta(
    id="launch.gap",
    title="Launches arrive one by one and the device waits for each",
    layer="idle",
    needs=(ApiCalls, Kernels),
)

EXPERIMENTS = (
    Experiment(
        title="Replay the step as a CUDA graph",
        change="Compile the step with CUDA graphs, or capture it by hand, so that one launch replaces many",
        apply=(
            'model = torch.compile(model, mode="reduce-overhead")',
            "torch.cuda.make_graphed_callables(model, sample_args)",
        ),
        measure=measure(),
        refuted_if="launches a step fall to about one and the step time stays the same (then the device is the limit)",
        numerics="bit-identical",
    ),
    Experiment(
        title="Launch less: fuse the small kernels",
        change="Fuse chains of element-wise kernels and use the fused or foreach optimizer",
        apply=("model = torch.compile(model)", "torch.optim.AdamW(params, fused=True)"),
        measure=measure(),
        refuted_if="kernel launches a step do not fall, or they fall and the step time stays the same",
        numerics="fp64-gate",
    ),
    Experiment(
        title="Capture the loop with cudaGraph",
        change="Record the launches of one iteration with stream capture and replay the executable graph",
        apply=(
            "cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); …; cudaStreamEndCapture(s, &g);",
            "cudaGraphInstantiate(&exec, g, 0); cudaGraphLaunch(exec, s);",
        ),
        measure=measure("-- ./program"),
        refuted_if="one cudaGraphLaunch an iteration and the iteration takes as long as before",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim every gap whose launch came late out of a burst."""
    burst, _ = late_launches(view)
    gaps = view.gaps
    if not len(burst):
        return None
    return Detection(
        claims=claim_gaps(view, burst, gaps.at(Gaps.start_ns, burst), gaps.at(Gaps.late_end_ns, burst)),
        level="supported",
        assumes="one graph launch replaces the launches of a step; a node-to-node gap of 1.5 µs remains",
        floor_ns=NODE_GAP_NS,
        facts=lambda rows: _parts(view, burst[rows]),
    )


def _parts(view: View, gap: Int64Array) -> tuple[Fact, ...]:
    gaps, calls, operations = view.gaps, view.calls, view.operations
    start, end, host_end = gaps.at(Gaps.start_ns, gap), gaps.at(Gaps.late_end_ns, gap), gaps.at(Gaps.host_end_ns, gap)
    returned = np.clip(calls.end_ns[gaps.at(Gaps.launch, gap)], host_end, end)
    after = gaps.after[gap]
    lasted = operations.end_ns[after] - operations.start_ns[after]
    return (
        Fact("gaps before a late launch", len(gap), "count", ApiCalls),
        Fact("of the gaps: host time before the launch call", int((host_end - start).sum()), "ns", ApiCalls),
        Fact("of the gaps: inside the launch call", int((returned - host_end).sum()), "ns", ApiCalls),
        Fact("of the gaps: from call to kernel start", int((end - returned).sum()), "ns", Kernels),
        Fact("median operation behind such a gap", float(np.median(lasted)), "ns", Kernels),
    )


RULE = Rule(META, detect, EXPERIMENTS)
