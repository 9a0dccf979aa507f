"""sync.scalar: the host reads a few bytes back and waits for them (`.item()`, `nonzero()`, `if tensor:`).

The wait itself is free while the device works. What costs is the idle time that follows the drain: the call
returns, and only then the thread prepares and launches the next operation.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, Copies
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked_by
from stallscope.waits.host_syncs import ASSUMES
from stallscope.waits.readbacks import SCALAR_BYTES, scalar_calls

META = RuleMeta(
    id="sync.scalar",
    title="The host reads a scalar back and waits for it",
    layer="idle",
    needs=(ApiCalls, Copies),
)

EXPERIMENTS = (
    Experiment(
        title="Read the scalar every N steps",
        change="Keep the loss on the device and call .item() once every N steps, or copy it without waiting",
        apply=("if step % 50 == 0: log(loss.item())", "loss_host.copy_(loss, non_blocking=True)"),
        measure=measure(),
        refuted_if="the read-back happens every N steps only and the step takes as long as before",
        numerics="bit-identical",
    ),
    Experiment(
        title="Find the line that reads back",
        change="Let torch name it; replace boolean-mask indexing by torch.where and Python branches by masks",
        apply=("torch.cuda.set_sync_debug_mode('warn')", "y = torch.where(mask, a, b)  # instead of a[mask]"),
        measure=measure(),
        refuted_if="no warning names a line inside the loop (then the call comes from another library)",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time inside and behind the read-backs."""
    wanted = np.zeros(len(view.calls), np.bool_)
    wanted[scalar_calls(view)] = True
    what = f"waits for a copy of at most {SCALAR_BYTES} bytes"
    return blocked_detection(view, claim_blocked_by(view, wanted), what, ASSUMES)


RULE = Rule(META, detect, EXPERIMENTS)
