"""The work on one rank: everything that needs its trace, reduced to what the comparison needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stallscope.api import Examination, Options, examine_apart
from stallscope.errors import StallscopeError
from stallscope.ingest.open import open_trace
from stallscope.model.analysis import Analysis
from stallscope.model.collection import table_source
from stallscope.model.events import Kernels
from stallscope.waits.ranks.base import RankSummary, summarize

Examine = Callable[[Path], Examination]
"""Opens and diagnoses one trace. A module-level function or a partial of one, so that it can travel to a worker."""


def examine_file(path: Path, options: Options) -> Examination:
    """Open and diagnose one trace, its devices not yet compared: that is done over all ranks."""
    return examine_apart(open_trace(path, options.opening), options.scope, everything=options.everything)


@dataclass(frozen=True, slots=True)
class RankReport:
    """What travels back from a rank: its analysis, and one summary a device."""

    analysis: Analysis
    summaries: tuple[RankSummary, ...]


@dataclass(frozen=True, slots=True)
class RankFailure:
    """Why a rank could not be analyzed."""

    what: str
    next_step: str | None = None


Outcome = RankReport | RankFailure


def report_rank(examine: Examine, path: Path) -> Outcome:
    """Examine one rank; whatever goes wrong with it is its own result and costs the others nothing."""
    try:
        examined = examine(path)
        summaries = summarize(examined.timeline, examined.charges, table=table_source(examined.timeline.trace, Kernels))
    except StallscopeError as error:
        return RankFailure(error.what, error.next_step)
    except MemoryError:
        return RankFailure("not enough memory for this rank")
    except Exception as error:  # noqa: BLE001 - one broken rank must not cost the report of the others
        return RankFailure(f"{type(error).__name__}: {error}")
    return RankReport(examined.analysis, summaries)
