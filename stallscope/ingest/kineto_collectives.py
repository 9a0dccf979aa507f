"""What PyTorch recorded about collectives, laid on the kernels that executed them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest.kineto_columns import match
from stallscope.model.columns import NO_ROW
from stallscope.model.events import Collectives

_OWN = ("operation", "communicator", "members", "sequence", "bytes", "group_size", "source", "target")


def collective_table(columns: dict[str, npt.NDArray[Any]], kernels: dict[str, npt.NDArray[Any]] | None) -> Collectives:
    """Metadata a kernel: its own, else that of the operator with the same external id."""
    if kernels is None:
        return Collectives.empty()
    order = np.argsort(kernels["start_ns"], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    own = columns["kernel"] >= 0
    row = place[columns["kernel"][own]]
    issuers = np.flatnonzero(~own)
    issued = match(columns["external"][issuers], kernels["external"][order])
    issued[row] = NO_ROW
    linked = np.flatnonzero(issued != NO_ROW)
    source = np.concatenate((np.flatnonzero(own), issuers[issued[linked]]))
    target = np.concatenate((row, linked))
    sort = np.argsort(target, kind="stable")
    chosen = source[sort]
    return Collectives.of(kernel=target[sort], **{name: columns[name][chosen] for name in _OWN})
